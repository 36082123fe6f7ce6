//! A06: nobody's private thinking may touch the shared world. A twin whose queries do is what `StrictRuntime` catches (K9).

use std::sync::Arc;

use retick_core::client::ClientConfig;
use retick_core::runtime::{Keep, Output, RuntimeFactory, SeatStep, StepBatch};
use retick_core::seat::{ControlEpoch, Presence, SeatSet};
use retick_core::tick::Tick;
use retick_testing::assert::{Compared, GameFault, check_convergence, check_deterministic};
use retick_testing::fixtures::{TallyView, pack_tally, tally_descriptor, zig_packed};
use retick_testing::strict::{StrictFactory, Violation};
use retick_testing::twins::{HiddenCache, HonestCounter, Leak, QueryCache, twin_factory};

use crate::support::{seat, view};
use crate::table::{Party, Table};

const TICKS: u64 = 600;
const QUERIES: usize = 1_000;

/// Four seats, two of them bots' from the start; one client asks everything it can between ticks, the other nothing. Seat 0 gives
/// inputs before `leaves_at`, and leaves then.
fn play(leaves_at: u64) -> Table {
    let bots: SeatSet = [seat(2), seat(3)].into_iter().collect();
    let mut table = Table::new(4, |config| {
        config.seats.initial_bots = bots;
        config.rules.checksum_cadence_ticks = 60;
    });
    let player = |last| Party::new(ClientConfig::default()).until(last);
    let asks = table.seat(0, player(leaves_at));
    table.seat(1, player(TICKS));
    table.advance_to(1);
    assert!(table.room.clock_tick().is_some(), "guard: bots make the room full");
    let origin = table.a;
    while (table.when.len() as u64) < TICKS {
        // Before the room confirms the tick with that number.
        if leaves_at < TICKS && table.a == origin + leaves_at {
            table.party(asks).client.leave().expect("it plays");
            table.send_all(asks);
        }
        table.advance(|_, _| true);
        if table.party(asks).end.is_none() {
            ask(table.party(asks));
        }
    }
    (0..3).for_each(|_| table.advance(|_, _| true));
    table
}

/// Every query, many times: the state is the same before and after.
fn ask(party: &mut Party) {
    let checksum = |party: &mut Party| {
        let session = party.client.session_mut()?;
        session.export_snapshot(session.confirmed()).ok().map(|snapshot| snapshot.checksum())
    };
    let before = checksum(party);
    for _ in 0..QUERIES {
        let client = &party.client;
        let Some(session) = client.session() else { return };
        let shown = TallyView::read(session.projections().0);
        assert!(shown.is_some_and(|shown| shown.sum.len() == 4));
        let asked =
            || (client.status(), client.room_tick(), client.stats(), client.wanted_input(), client.next_timeout());
        assert_eq!(asked(), asked());
        assert!(session.head() >= session.confirmed() && session.queued_frames() < 1_000);
    }
    assert_eq!(checksum(party), before);
}

fn check_bots(table: &mut Table) {
    let asks_nothing = table.parties.values().next_back().expect("the second");
    assert_eq!(asks_nothing.frames.len() as u64, TICKS);
    for frame in &asks_nothing.frames {
        for bot in [seat(2), seat(3)] {
            let it = frame.seat(bot);
            assert_eq!((it.input, it.substituted, it.presence), (None, false, Presence::Bot), "{}", frame.tick());
        }
    }
}

#[test]
fn a06_bots_go_on_and_queries_change_nothing() {
    let mut table = play(TICKS);
    check_bots(&mut table);
    let parties: Vec<_> = table.parties.values().collect();
    for party in &parties {
        assert_eq!(party.shown(), view(&[-2, 5, 0, 0], &[0; 4], 0xD7D9_9A58));
    }
    assert!(parties[0].checksums.len() >= 10 && parties[0].checksums == parties[1].checksums);
}

#[test]
fn a06_bots_go_on_when_a_player_leaves() {
    let mut table = play(300);
    check_bots(&mut table);
    let stays = table.parties.values().next_back().expect("the second");
    assert_eq!(stays.shown(), view(&[-5, 5, 0, 0], &[0; 4], 0x2012_9DBB));
    assert_eq!(stays.frames[299].seat(seat(0)).presence, Presence::Human);
    assert_eq!(stays.frames[300].seat(seat(0)).presence, Presence::Empty);
}

/// Steps a twin ten ticks under the purity check, asking of each state or of none; what the check found.
fn violations<L: Leak>(asked: Keep) -> Vec<Violation> {
    let factory = StrictFactory::new(Arc::new(twin_factory::<L>()));
    let mut runtime = factory.create(&tally_descriptor(&factory, 1, 1)).expect("a match of the twin");
    let (mut batch, mut output) = (StepBatch::default(), Output::default());
    for tick in (0..10).map(Tick::new) {
        batch.reset(tick);
        batch.push_step(Keep::CHECKSUM | asked);
        let (presence, epoch) = (Presence::Human, ControlEpoch(1));
        batch.push_seat(SeatStep { input: &pack_tally(1), substituted: false, malformed: false, presence, epoch });
        output.clear();
        runtime.advance(&batch, &mut output).expect("it steps");
    }
    factory.probes()[0].violations()
}

#[test]
fn a06_faulty_query_cache_is_flagged_by_the_purity_check_on_the_first_query() {
    let found = violations::<QueryCache>(Keep::PROJECTION);
    assert_eq!(found.first(), Some(&Violation::ProjectionChangedState { tick: Tick::new(1) }), "{found:?}");
    assert_eq!(violations::<HonestCounter>(Keep::PROJECTION), []);
    // Guard: nobody asks, and nothing is found.
    assert_eq!(violations::<QueryCache>(Keep::NOTHING), []);
}

#[test]
fn a06_faulty_query_cache_that_no_checksum_covers_is_flagged_in_the_step_after_the_first_query() {
    assert_eq!(violations::<HiddenCache>(Keep::PROJECTION), [], "guard: no checksum can see it");
    let factory = twin_factory::<HiddenCache>();
    let descriptor = tally_descriptor(&factory, 2, 1);
    let fault = check_deterministic(&factory, &descriptor, zig_packed, 60).expect_err("flagged");
    // The first picture is of S(1).
    assert!(
        matches!(fault, GameFault::Differs { compared: Compared::Instances, tick, .. } if tick.index() == 2),
        "{fault}"
    );
    // Guard: nobody asks, and the twin passes.
    assert!(check_convergence([&factory, &factory], &descriptor, zig_packed, 60).is_ok());
}
