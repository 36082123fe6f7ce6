//! R02: two joiners, one donor, and the donor goes away.
//!
//! The room takes one donation for both joiners and gives it on to each in a transfer of its own. So "the donor has sent chunk 5 to
//! one and chunk 3 to the other" is here: the donor's chunks before 5 have arrived, and neither joiner has anything.

use std::sync::Arc;

use retick_authority::room::DonationConfig;
use retick_core::client::{Client, ClientConfig, ClientEvent, EndReason, HydrationError, Output};
use retick_core::digest::Digest;
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::{ControlEpoch, Generation, SeatSet};
use retick_core::session::{Budget, Session, SessionPolicy, Standing};
use retick_core::snapshot::Snapshot;
use retick_core::tick::{Moment, Tick};
use retick_core::wire::{
    ChunkError, Claim, ClaimId, ClientMessage, CloseReason, History, NoSnapshot, ResumeToken, RoomClock, RoomMessage,
    RoomRules, SNAPSHOT_CHUNK_BYTES, SnapshotHeader, TransferId, Welcome, Witness,
};
use retick_testing::fixtures::{bulky_factory, zig};
use retick_testing::sim::{ClientSetup, MatchReport, MatchSetup, SimulatedMatch};

use crate::support::{RATE, client, seat};

/// Twelve chunks of 256 KiB once encoded.
const LOAD: usize = 12 * SNAPSHOT_CHUNK_BYTES - 8192;
const TOO_LARGE: usize = (4 << 20) + 1;
/// The joiners come in this authority tick, when the first frames are forgotten.
const JOIN: u64 = 620;
const CHUNKS: u32 = 12;
/// Two donor timeouts of 10 s (A7).
const TWO_TIMEOUTS: u64 = 2 * 600;

fn player() -> ClientSetup {
    client(zig).latency_ticks(RATE, 2)
}

/// Three players, and two seats more. The room asks for no snapshot unless somebody needs one.
fn room(factory: Arc<dyn RuntimeFactory>) -> MatchSetup {
    let mut setup = MatchSetup::new(factory).seats(5).hard_tolerance_ticks(10).checksum_cadence_ticks(60);
    setup.donation = DonationConfig {
        replay_millis: 1_000,
        history_millis: 3_000,
        snapshot_interval_millis: 1_000_000,
        hydration_millis: 10_000,
        ..DonationConfig::default()
    };
    setup.client(player()).client(player()).client(player())
}

fn two_joiners(setup: MatchSetup) -> MatchSetup {
    setup.late_client(JOIN, player()).late_client(JOIN, player())
}

/// What happened to a joiner's state.
fn hydrations(report: &MatchReport, joiner: u8) -> Vec<ClientEvent> {
    let told = |event: &&ClientEvent| {
        matches!(
            event,
            ClientEvent::Hydrated { .. } | ClientEvent::HydrationFailed { .. } | ClientEvent::NoSnapshot { .. }
        )
    };
    let events = report.client(joiner).expect("a client").events.iter().map(|(_, event)| event);
    events.filter(told).cloned().collect()
}

fn hydrated_at(report: &MatchReport, joiner: u8) -> Option<(u64, u64, bool)> {
    report.client(joiner)?.events.iter().find_map(|(at, event)| match event {
        ClientEvent::Hydrated { tick, verified } => Some((at.index(), tick.index(), *verified)),
        _ => None,
    })
}

fn is_hydrated(sim: &SimulatedMatch, joiner: usize) -> bool {
    let session = sim.client(joiner).and_then(Client::session);
    session.is_some_and(|session| session.confirmed() > Tick::new(JOIN))
}

/// The players' ticks up to when the joiners take part are confirmed as if nobody had come.
fn check_undisturbed(report: &MatchReport, control: &MatchReport) {
    let joined = [3, 4].iter().filter_map(|joiner| hydrated_at(report, *joiner)).map(|(at, ..)| at).min();
    let until = usize::try_from(joined.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    let until = until.min(report.confirm_times.len()).min(control.confirm_times.len());
    assert!(until > usize::try_from(JOIN).expect("small"), "guard: {until} ticks are compared");
    assert_eq!(report.confirm_times[..until], control.confirm_times[..until], "nobody is held up");
}

fn control(ticks: u64, disconnect: Option<(u64, usize)>) -> MatchReport {
    let setup = room(Arc::new(bulky_factory::<LOAD>()));
    let setup = disconnect.into_iter().fold(setup, |setup, (at, seat)| setup.disconnect(at, seat));
    let mut sim = setup.build();
    sim.run_ticks(ticks);
    sim.report()
}

#[test]
fn r02_1_another_donor_takes_over_when_the_first_goes_away() {
    let mut sim = two_joiners(room(Arc::new(bulky_factory::<LOAD>()))).build();
    let progress = |sim: &SimulatedMatch| sim.room().donation().map(|donation| donation.received_chunks);
    sim.run_until(JOIN + 600, |sim| progress(sim).is_some_and(|received| received >= 5));
    let first = sim.room().donation().expect("it runs");
    let Witness::Seat(donor) = first.donor else { panic!("no seat donates: {first:?}") };
    assert!(first.received_chunks < CHUNKS && first.chunks == Some(CHUNKS), "guard: both are unfinished: {first:?}");
    assert!((3..5).all(|joiner| !is_hydrated(&sim, joiner)), "guard");
    let at = sim.authority_tick().index();
    sim.disconnect(donor.index());
    sim.advance();
    let second = sim.room().donation().expect("another is asked at once");
    assert!(second.donor != first.donor && second.received_chunks == 0, "nothing of the first is used: {second:?}");
    sim.run_until(TWO_TIMEOUTS, |sim| (3..5).all(|joiner| is_hydrated(sim, joiner)));
    sim.run_ticks(130);
    let report = sim.finish();
    for joiner in [3, 4] {
        let (when, tick, verified) = hydrated_at(&report, joiner).expect("it was hydrated");
        assert!(when - JOIN <= TWO_TIMEOUTS, "joiner {joiner} took {} ticks", when - JOIN);
        assert_eq!((tick, verified), (second.tick.index(), true));
        assert_eq!(hydrations(&report, joiner).len(), 1);
        // It reports the same states as everyone else from then on; the checkers held them against the fold.
        assert!(!report.client(joiner).expect("a client").reports.is_empty(), "joiner {joiner}");
    }
    assert_eq!((report.room.snapshots, report.room.refused_snapshots, report.desyncs()), (1, 1, 0));
    check_undisturbed(&report, &control(report.authority_ticks.index(), Some((at, donor.index()))));
}

#[test]
fn r02_2_a_flipped_bit_is_found_before_the_state_is_touched_and_the_other_joiner_is_not_affected() {
    let mut damaged = player();
    damaged.damaged_chunk = Some(7);
    let play = |first: ClientSetup| {
        let setup = room(Arc::new(bulky_factory::<LOAD>())).late_client(JOIN, first).late_client(JOIN, player());
        let mut sim = setup.build();
        sim.run_until(JOIN + 1_200, |sim| (3..5).all(|joiner| is_hydrated(sim, joiner)));
        sim.run_ticks(130);
        sim.finish()
    };
    let (report, honest) = (play(damaged), play(player()));
    let failed = ClientEvent::HydrationFailed { error: HydrationError::Chunk(ChunkError::Digest) };
    let told = hydrations(&report, 3);
    assert_eq!((told.len(), &told[0]), (2, &failed), "{told:?}");
    assert!(matches!(told[1], ClientEvent::Hydrated { verified: true, .. }));
    // Until the second one there was no state but S(0).
    let (when, tick, _) = hydrated_at(&report, 3).expect("the second one was taken");
    let before = report.clients[3].turns.iter().filter(|turn| turn.at.index() < when);
    assert!(before.clone().count() > 0 && before.clone().all(|turn| turn.confirmed == Tick::ZERO));
    assert!(before.clone().any(|turn| turn.standing == Standing::AwaitingHydration));
    assert_eq!(hydrated_at(&report, 4), hydrated_at(&honest, 4));
    assert_eq!(hydrated_at(&report, 4).map(|(_, tick, _)| tick), Some(tick));
    assert_eq!((report.room.snapshots, report.room.failed_deliveries, report.desyncs()), (1, 1, 0));
    check_undisturbed(&report, &control(report.authority_ticks.index(), None));
}

#[test]
fn r02_3_a_state_beyond_the_ceiling_is_a_typed_refusal_and_the_room_goes_on() {
    let mut sim = two_joiners(room(Arc::new(bulky_factory::<TOO_LARGE>()))).build();
    sim.run_ticks(JOIN + 200);
    let report = sim.finish();
    for joiner in [3, 4] {
        let too_large = NoSnapshot::TooLarge;
        assert_eq!(hydrations(&report, joiner), [ClientEvent::NoSnapshot { cause: too_large }]);
        let end = EndReason::Closed(CloseReason::NoHistory(too_large));
        assert_eq!(report.client(joiner).and_then(|client| client.end.clone()), Some(end));
    }
    assert_eq!(report.room.refused_snapshots, 3, "everyone was asked");
    assert!(report.clients[..3].iter().all(|client| client.frames.len() as u64 > JOIN + 180), "the room goes on");
    check_undisturbed(&report, &control(report.authority_ticks.index(), None));
}

/// A client that is told to wait for a snapshot, and what it sends.
struct Joiner(Client);

impl Joiner {
    fn hear(&mut self, message: &RoomMessage<'_>) -> Result<(), EndReason> {
        let mut bytes = Vec::new();
        message.encode_into(&mut bytes);
        self.0.handle_message(&bytes, Moment::ZERO)
    }

    /// The chunks that it has said are there, and its events.
    fn outputs(&mut self) -> (Vec<u32>, Vec<ClientEvent>) {
        let (mut progress, mut events) = (Vec::new(), Vec::new());
        while let Some(output) = self.0.poll_output() {
            match output {
                Output::Event(event) => events.push(event),
                Output::Transmit(bytes) => {
                    if let Ok(ClientMessage::SnapshotProgress { next, .. }) = ClientMessage::decode(bytes) {
                        progress.push(next);
                    }
                }
            }
        }
        (progress, events)
    }
}

#[test]
fn r02_4_chunks_in_any_order_are_accepted_and_assembled_once() {
    let factory = bulky_factory::<LOAD>();
    let descriptor = retick_testing::fixtures::tally_descriptor(&factory, 2, 1);
    let runtime = factory.create(&descriptor).expect("a match");
    let mut donor = Session::new(runtime, &descriptor, SessionPolicy::default(), SeatSet::EMPTY).expect("a session");
    donor.advance(Budget { confirmed_frames: 0, target: Tick::ZERO }).expect("nothing to do");
    let snapshot = donor.export_snapshot(Tick::ZERO).expect("there").without_frames();
    let bytes = Snapshot::to_bytes(&snapshot);
    let header = |transfer| SnapshotHeader {
        transfer: TransferId(transfer),
        generation: Generation(0),
        tick: Tick::ZERO,
        checksum: snapshot.checksum(),
        byte_count: u32::try_from(bytes.len()).expect("small"),
        digest: Digest::of(&bytes),
    };
    let mut joiner = Joiner(Client::new(ClientConfig::default(), Box::new(factory)));
    joiner.0.handle_connected(Moment::ZERO);
    let claim = Claim { seat: seat(0), id: ClaimId(1), epoch: ControlEpoch(1), token: ResumeToken([7; 32]) };
    let descriptor = descriptor.to_bytes();
    let rules = RoomRules { hard_tolerance_ticks: 6, checksum_cadence_ticks: 60 };
    let (frontier, history) = (Tick::new(500), History::Snapshot);
    let welcome = Welcome { claim: Some(claim), descriptor: &descriptor, rules, frontier, history };
    joiner.hear(&RoomMessage::Welcome(welcome)).expect("greeted");
    let started = RoomMessage::Started { generation: Generation(0), clock: RoomClock { micros: 9_000_000 } };
    joiner.hear(&started).expect("it runs");
    joiner.0.handle_turn(Moment::ZERO);
    assert_eq!(joiner.0.wanted_input(), None, "there is no state to play on");
    joiner.hear(&RoomMessage::Snapshot { header: header(9), verified: false }).expect("announced");
    assert_eq!(joiner.outputs().0, [0]);
    let order = [0, 2, 1, 1, 3].into_iter().chain(4..CHUNKS);
    let mut progress = Vec::new();
    for index in order {
        let chunk = bytes.chunks(SNAPSHOT_CHUNK_BYTES).nth(index as usize).expect("there");
        // What is left of a transfer that is over changes nothing.
        let stray = RoomMessage::SnapshotChunk { transfer: TransferId(8), index, bytes: &chunk[..chunk.len() / 2] };
        joiner.hear(&stray).expect("passed over");
        let message = RoomMessage::SnapshotChunk { transfer: TransferId(9), index, bytes: chunk };
        joiner.hear(&message).expect("taken");
        let (told, events) = joiner.outputs();
        progress.extend(told);
        let hydrated = events.iter().filter(|event| matches!(event, ClientEvent::Hydrated { verified: false, .. }));
        assert_eq!(hydrated.count(), usize::from(index == CHUNKS - 1), "chunk {index}");
    }
    assert_eq!(progress, [1, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    let session = joiner.0.session_mut().expect("built");
    assert_eq!(session.head_checksum(), donor.head_checksum());
    assert_eq!(joiner.0.chain_head(), None, "the frames before it are not known");
}

#[test]
fn r02_5_whoever_is_hydrating_itself_is_no_donor() {
    let setup = two_joiners(room(Arc::new(bulky_factory::<LOAD>())));
    // The players are gone before anybody asks them.
    let mut sim = (0..3).fold(setup, |setup, seat| setup.disconnect(JOIN, seat)).build();
    sim.run_ticks(JOIN + 100);
    for joiner in 3..5 {
        assert!(sim.client(joiner).is_some_and(|client| client.end().is_none()), "it waits");
    }
    sim.run_ticks(700);
    let report = sim.report();
    for joiner in [3, 4] {
        let no_donor = NoSnapshot::NoDonor;
        assert_eq!(hydrations(&report, joiner), [ClientEvent::NoSnapshot { cause: no_donor }]);
        let end = EndReason::Closed(CloseReason::NoHistory(no_donor));
        assert_eq!(report.client(joiner).and_then(|client| client.end.clone()), Some(end));
    }
    assert_eq!(report.room.snapshots, 0);
}
