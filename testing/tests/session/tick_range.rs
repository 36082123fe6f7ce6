//! The end of the tick range is a typed refusal at the door, never a fault of the session (K1).

use retick_core::runtime::RuntimeFactory;
use retick_core::seat::{ControlEpoch, Presence};
use retick_core::session::{
    ConfirmError, HeldInputs, LocalConfig, LocalError, LocalSession, Session, SessionPolicy, SubmitError,
};
use retick_core::snapshot::{LastInput, Snapshot};
use retick_core::tick::Tick;
use retick_testing::fixtures::{pack_tally, tally_factory, tally_state};

use crate::local::TICK;
use crate::support::{Table, descriptor, frame, seat};

fn hydrated(tick: u64) -> Table {
    let last = LastInput::new(&pack_tally(0), Presence::Human, ControlEpoch(0));
    let tick = Tick::new(tick);
    let snapshot = Snapshot::new(&descriptor(), tick, vec![last.clone(), last], &tally_state(tick, 2));
    let mut table = Table::new(SessionPolicy::default());
    table.session.hydrate(&snapshot).expect("a snapshot of this match");
    table
}

fn is_as_before(session: &Session) -> bool {
    (session.confirmed(), session.head(), session.fault()) == (Tick::MAX, Tick::MAX, None)
}

#[test]
fn k1_the_last_tick_is_neither_submitted_nor_confirmed() {
    let mut table = hydrated(u64::MAX);
    assert_eq!(table.session.submit(seat(0), Tick::MAX, &pack_tally(1)), Err(SubmitError::TickRange));
    assert_eq!(table.session.confirm(&frame(u64::MAX, [1, 1], [false; 2])), Err(ConfirmError::TickRange));
    let progress = table.advance(u64::MAX).expect("nothing to do");
    assert_eq!((progress.steps, progress.held), (0, None));
    assert!(is_as_before(&table.session));
    table.probe.assert_clean();
}

#[test]
fn k1_the_tick_before_it_is_played_as_any_other() {
    let mut table = hydrated(u64::MAX - 2);
    for tick in [u64::MAX - 2, u64::MAX - 1] {
        table.session.submit(seat(0), Tick::new(tick), &pack_tally(1)).expect("next");
    }
    assert_eq!(table.session.submit(seat(0), Tick::MAX, &pack_tally(1)), Err(SubmitError::TickRange));
    assert_eq!(table.advance(u64::MAX).expect("predicts").predicted, 2);
    for tick in [u64::MAX - 2, u64::MAX - 1] {
        table.session.confirm(&frame(tick, [1, 5], [false; 2])).expect("next");
    }
    assert_eq!(table.session.confirm(&frame(u64::MAX, [1, 1], [false; 2])), Err(ConfirmError::TickRange));
    assert_eq!(table.advance(u64::MAX).expect("rolls back").resimulated, 2);
    assert!(is_as_before(&table.session));
    table.probe.assert_clean();
}

/// Local play gets there by a promotion, and stays there.
#[test]
fn k1_local_play_ends_with_the_tick_range() {
    let mut table = hydrated(u64::MAX - 1);
    let promotion = table.session.export_promotion().expect("a confirmed state");
    let runtime = tally_factory().create(&descriptor()).expect("a match of TALLY");
    let mut local = LocalSession::from_promotion(runtime, &promotion, LocalConfig::default()).expect("the same match");
    assert_eq!(local.update(TICK, &mut HeldInputs).map(|progress| progress.steps), Ok(1));
    let state = local.checksum_at(Tick::MAX);
    for _ in 0..3 {
        assert_eq!(local.update(TICK, &mut HeldInputs), Err(LocalError::TickRange));
        assert_eq!((local.tick(), local.checksum_at(Tick::MAX)), (Tick::MAX, state.clone()));
    }
    assert!(is_as_before(local.session()));
}
