//! Confirmed frames that a session keeps itself, and the replay that it makes of them (S5, R1, R2, R4).

use retick_core::frame::Frame;
use retick_core::replay::{Replay, ReplayEnd, Verdict, verify};
use retick_core::seat::{Generation, SeatSet};
use retick_core::session::{FrameReadError, InputRetention, ReplayExportError, Session, SessionPolicy, StateReadError};
use retick_core::tick::Tick;
use retick_testing::fixtures::tally_factory;

use crate::support::{Table, fold, frame};

const TICKS: u64 = 250;

fn frames() -> Vec<Frame> {
    (0..TICKS).map(|tick| frame(tick, [1, (tick % 3) as i32], [tick % 7 == 0, false])).collect()
}

/// A table that predicted, rolled back and confirmed all of [`frames`].
fn played(input_retention: InputRetention) -> Table {
    let policy = SessionPolicy { input_retention, checksum_cadence_ticks: 60, ..SessionPolicy::default() };
    let mut table = Table::new(policy);
    for frame in frames() {
        let tick = frame.tick().index();
        table.submit_before(tick + 4, |_| 1);
        table.advance(tick + 4).expect("plays");
        table.session.confirm(&frame).expect("next");
    }
    table.advance(TICKS + 4).expect("plays");
    assert!(table.rollbacks.len() > 100, "guard");
    table
}

fn read(session: &mut Session, tick: u64) -> Result<Frame, FrameReadError> {
    let mut found = Frame::new(Generation(7), Tick::ZERO);
    session.read_frame(Tick::new(tick), &mut found).map(|()| found)
}

#[test]
fn r4_an_exported_replay_is_of_the_confirmed_timeline_and_verifies() {
    let mut table = played(InputRetention::All);
    assert!(table.session.head() > table.session.confirmed(), "guard: more is predicted");
    let file = table.session.export_replay().expect("all is retained");
    let replay = Replay::parse(&file).expect("a replay");
    assert_eq!((replay.end(), replay.ticks()), (ReplayEnd::Complete, Tick::new(TICKS)));
    assert!(replay.frames().eq(frames()));
    let folded = fold(&frames());
    let states: Vec<_> = replay.checksums().to_vec();
    let due: Vec<_> = [1, 61, 121, 181, 241, TICKS].map(|tick| (Tick::new(tick), folded[tick as usize])).to_vec();
    assert_eq!(states, due);
    let verdict = verify(&file, &tally_factory());
    let ticks = Tick::new(TICKS);
    assert_eq!(verdict, Verdict::Verified { ticks, checksums: 6, final_checksum: folded[TICKS as usize] });
    // The session plays on, and exports the longer match.
    table.session.confirm(&frame(TICKS, [1, 1], [false; 2])).expect("next");
    assert_eq!(
        Replay::parse(&table.session.export_replay().expect("retained")).map(|replay| replay.ticks()),
        Ok(ticks)
    );
    table.advance(0).expect("plays");
    let longer = verify(&table.session.export_replay().expect("retained"), &tally_factory());
    assert!(
        matches!(longer, Verdict::Verified { ticks, checksums: 6, .. } if ticks == Tick::new(TICKS + 1)),
        "{longer:?}"
    );
    table.probe.assert_clean();
}

#[test]
fn r4_a_match_of_no_ticks_is_a_replay_too() {
    let policy = SessionPolicy { input_retention: InputRetention::All, ..SessionPolicy::default() };
    let file = Table::new(policy).session.export_replay().expect("all is retained");
    assert!(matches!(verify(&file, &tally_factory()), Verdict::Verified { ticks: Tick::ZERO, checksums: 1, .. }));
}

#[test]
fn s5_bounded_input_retention_is_read_back_and_refuses_a_replay_once_a_frame_was_dropped() {
    // One frame more than there are drops nothing; one less drops the first.
    let whole = played(InputRetention::Last(TICKS as u32)).session.export_replay();
    assert_eq!(whole, played(InputRetention::All).session.export_replay());
    let refused = played(InputRetention::Last(TICKS as u32 - 1)).session.export_replay();
    assert_eq!(refused, Err(ReplayExportError::Dropped { first: Tick::new(1) }));

    let mut table = played(InputRetention::Last(100));
    let first = Tick::new(TICKS - 100);
    assert_eq!(table.session.first_retained_frame(), Some(first));
    assert_eq!(table.session.export_replay(), Err(ReplayExportError::Dropped { first }));
    let frames = frames();
    for tick in 0..TICKS + 10 {
        let expected = match tick {
            TICKS.. => Err(FrameReadError::NotConfirmed { tick: Tick::new(tick) }),
            tick if tick < first.index() => Err(FrameReadError::Dropped { first }),
            tick => Ok(frames[tick as usize].clone()),
        };
        assert_eq!(read(&mut table.session, tick), expected, "{tick}");
    }
}

#[test]
fn s5_nothing_is_retained_unless_asked_for() {
    let mut table = played(SessionPolicy::default().input_retention);
    assert_eq!(table.session.first_retained_frame(), None);
    assert_eq!(read(&mut table.session, TICKS - 1), Err(FrameReadError::NotRetained));
    let refused = table.session.export_replay().expect_err("nothing is retained");
    assert_eq!(refused, ReplayExportError::NotRetained);
    assert!(refused.to_string().contains("SessionPolicy::input_retention"), "{refused}");
}

#[test]
fn s5_a_session_that_began_in_a_snapshot_exports_no_replay() {
    for tick in [0, 241] {
        let mut donor = Table::new(SessionPolicy { input_retention: InputRetention::All, ..SessionPolicy::default() });
        frames().iter().take(tick).for_each(|frame| donor.session.confirm(frame).expect("next"));
        donor.advance(0).expect("plays");
        let at = Tick::new(tick as u64);
        let snapshot = donor.session.export_snapshot(at).expect("kept");
        let mut heir = Table::new(SessionPolicy { input_retention: InputRetention::All, ..SessionPolicy::default() });
        heir.session.hydrate_with_frames(&snapshot).expect("a snapshot of this match");
        frames().iter().skip(tick).for_each(|frame| heir.session.confirm(frame).expect("next"));
        heir.advance(0).expect("plays");
        // Also at S(0): what a snapshot says of it is not what the game's init made.
        assert_eq!(heir.session.export_replay(), Err(ReplayExportError::Hydrated { tick: at }));
        assert_eq!(heir.session.first_retained_frame(), Some(at));
        assert_eq!(read(&mut heir.session, TICKS - 1).as_ref(), Ok(&frames()[TICKS as usize - 1]));
        let released = StateReadError::Released { tick: Tick::new(100) };
        assert_eq!(heir.session.checksum_at(Tick::new(100)), Err(released));
    }
}

#[test]
fn s5_a_frame_beyond_the_limits_of_frames_is_named_and_nothing_else_is_lost() {
    let factory = tally_factory();
    let descriptor = crate::support::descriptor();
    let runtime = retick_core::runtime::RuntimeFactory::create(&factory, &descriptor).expect("a match of TALLY");
    let policy = SessionPolicy { input_retention: InputRetention::All, ..SessionPolicy::default() };
    let mut session = Session::new(runtime, &descriptor, policy, SeatSet::EMPTY).expect("valid");
    let mut wild = Frame::new(Generation(0), Tick::ZERO);
    let long = [0; 300];
    (0..2).for_each(|_| wild.push_seat(retick_core::frame::SeatFrame { input: Some(&long), ..Default::default() }));
    session.confirm(&wild).expect("a malformed input is neutral (K7)");
    session.confirm(&frame(1, [1, 1], [false; 2])).expect("next");
    let budget = retick_core::session::Budget { confirmed_frames: 9, target: Tick::ZERO };
    session.advance(budget).expect("plays");
    assert!(matches!(read(&mut session, 0), Err(FrameReadError::Frame(_))));
    assert_eq!(read(&mut session, 1), Ok(frame(1, [1, 1], [false; 2])));
    assert!(matches!(session.export_replay(), Err(ReplayExportError::Frame(FrameReadError::Frame(_)))));
}
