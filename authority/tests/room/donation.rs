//! Snapshots: donors, newcomers, and the history that they replace (A7, R02). The peers are raw, so each can be slow or malicious.

use std::collections::BTreeMap;

use retick_authority::room::{
    CloseCause, ConnectionId, DELIVERY_WINDOW_CHUNKS, DonationConfig, Durability, MAX_DELIVERIES,
    MAX_SNAPSHOT_ATTEMPTS, MAX_SNAPSHOT_CHUNKS_PER_CALL, RoomConfig, RoomEvent, SEGMENT_FRAMES,
};
use retick_core::config::SessionConfig;
use retick_core::tick::{Tick, TickRate};
use retick_core::wire::{
    ClientMessage, CloseReason, History, NoSnapshot, SNAPSHOT_CHUNK_BYTES, SNAPSHOT_WINDOW_CHUNKS, TransferId,
};

use crate::donors::{Donor, Peers, Taker, encoded, header, state};
use crate::driver::{Match, Notice, Transfer, config, descriptor, seat, zig};

/// Twelve chunks once encoded, as R02 has it.
pub const STATE_BYTES: usize = 12 * SNAPSHOT_CHUNK_BYTES - 4096;
/// Newcomers come at this tick, when the frames of their first ticks are gone.
pub const ENTRY: u64 = 900;
/// The last report state before it.
pub const REPORTED: u64 = 841;

/// A room that forgets soon, and asks for no snapshot unless somebody needs one.
pub fn forgetful(seats: usize) -> RoomConfig {
    let mut config = config(seats, 6);
    config.rules.checksum_cadence_ticks = 60;
    config.grace_millis = 600_000;
    config.donation = DonationConfig {
        history_millis: 5_000,
        replay_millis: 1_000,
        snapshot_interval_millis: 1_000_000,
        hydration_millis: 8_000,
        ..DonationConfig::default()
    };
    config
}

/// Three players, and `newcomers` more who lost everything that they had; the players have played up to [`ENTRY`].
pub struct Scene {
    pub game: Match,
    pub peers: Peers,
    pub players: Vec<ConnectionId>,
    newcomers: Vec<ConnectionId>,
}

impl Scene {
    pub fn before(config: RoomConfig, state_bytes: usize, newcomers: usize) -> Scene {
        let (mut game, mut players) = Match::started(config);
        let away = players.split_off(players.len() - newcomers);
        away.iter().for_each(|client| game.disconnect(*client));
        let mut peers = Peers::new(state_bytes);
        peers.play(&mut game, &players, ENTRY);
        Scene { game, peers, players, newcomers: away }
    }

    fn new(state_bytes: usize, newcomers: usize) -> Scene {
        let mut scene = Scene::before(forgetful(3 + newcomers), state_bytes, newcomers);
        scene.enter();
        scene
    }

    /// All newcomers come in this tick, without anything.
    pub fn enter(&mut self) {
        for newcomer in &mut self.newcomers {
            let away = self.game.peer(*newcomer);
            let (index, token) = (away.seat.expect("seated").index(), away.token());
            *newcomer = self.game.resume(seat(index), token, 0);
        }
    }

    pub fn play(&mut self, until: u64) {
        self.peers.play(&mut self.game, &self.players, until);
    }

    fn told(&self, newcomer: usize) -> Vec<Transfer> {
        Peers::told(&self.game, self.newcomers[newcomer])
    }

    /// Numbers of the chunks that a newcomer was sent.
    fn chunks(&self, newcomer: usize) -> Vec<u32> {
        let notices = self.game.peer(self.newcomers[newcomer]).notices.iter();
        let index = |notice: &Notice| match notice {
            Notice::Transfer(Transfer::Chunk { index, .. }) => Some(*index),
            _ => None,
        };
        notices.filter_map(index).collect()
    }

    pub fn hydrated(&self, newcomer: usize) -> Option<(u64, bool)> {
        self.peers.hydrated.get(&self.newcomers[newcomer]).map(|(tick, _, verified)| (*tick, *verified))
    }

    fn closed(&self, newcomer: usize) -> Option<CloseCause> {
        self.game.peer(self.newcomers[newcomer]).closed
    }

    /// Every newcomer has this verified state, and every frame since; the players' ticks were confirmed as if nobody had come.
    fn check_hydrated(&self, tick: u64) {
        for (index, newcomer) in self.newcomers.iter().enumerate() {
            assert_eq!(self.hydrated(index), Some((tick, true)), "newcomer {index}: {:?}", self.closed(index));
            let bytes = &self.peers.hydrated[newcomer].1;
            assert_eq!(*bytes, encoded(&self.game, tick, &state(tick, self.peers.state_bytes)));
            let peer = self.game.peer(*newcomer);
            assert_eq!((peer.first, peer.next()), (tick, self.game.room.frontier().index()), "newcomer {index}");
        }
        self.check_undisturbed();
    }

    pub fn check_undisturbed(&self) {
        let newcomers = self.newcomers.len();
        let control = Scene::control(newcomers, self.peers.state_bytes, self.game.tick);
        assert_eq!(self.game.when, control, "nobody is held up");
        self.game.check_everyone();
    }

    /// When each tick is confirmed if nobody comes.
    fn control(newcomers: usize, state_bytes: usize, until: u64) -> Vec<u64> {
        let mut scene = Scene::before(forgetful(3 + newcomers), state_bytes, newcomers);
        scene.play(until);
        scene.game.when
    }
}

#[test]
fn a7_who_lost_everything_is_given_a_verified_state_and_the_frames_since() {
    let mut scene = Scene::new(STATE_BYTES, 2);
    assert!(scene.game.room.history_start() > Tick::ZERO, "guard: tick 0 is gone");
    for newcomer in &scene.newcomers {
        assert_eq!(scene.game.peer(*newcomer).history, Some(History::Snapshot));
    }
    scene.play(1_000);
    scene.check_hydrated(REPORTED);
    assert_eq!(scene.peers.asked, [(scene.players[0], REPORTED)]);
    let kept = RoomEvent::SnapshotKept { generation: Default::default(), tick: Tick::new(REPORTED), verified: true };
    assert_eq!(scene.game.events.iter().filter(|event| **event == kept).count(), 1);
    // Each download has a transfer of its own.
    let transfer = |newcomer: usize| match scene.told(newcomer)[0] {
        Transfer::Snapshot { header, .. } => header.transfer,
        ref other => panic!("{other:?}"),
    };
    assert_ne!(transfer(0), transfer(1));
    let start = scene.game.room.history_start().index();
    assert!(start <= REPORTED && REPORTED - start < SEGMENT_FRAMES, "history begins where the snapshot does: {start}");
    let kept = scene.game.room.newest_snapshot().expect("it is kept");
    assert_eq!((kept.tick, kept.verified), (Tick::new(REPORTED), true));
}

#[test]
fn r02_a_donor_that_goes_away_is_replaced_and_nothing_of_its_chunks_is_used() {
    let mut scene = Scene::before(forgetful(5), STATE_BYTES, 2);
    scene.peers.donors.insert(scene.players[0], Donor::Stops(6));
    scene.enter();
    scene.play(ENTRY + 4);
    let told = Peers::told(&scene.game, scene.players[0]);
    let first = match told[0] {
        Transfer::Wanted { transfer, .. } => transfer,
        ref other => panic!("{other:?}"),
    };
    assert_eq!(told.last(), Some(&Transfer::Progress { transfer: first, next: 6 }), "guard: six chunks arrived");
    assert!((0..2).all(|newcomer| scene.told(newcomer).is_empty()), "guard: both are waiting");
    let gone = scene.players[0];
    scene.game.disconnect(gone);
    scene.players.remove(0);
    // Its other chunks come too late for anybody.
    let bytes = encoded(&scene.game, REPORTED, &state(REPORTED, STATE_BYTES));
    let late = ClientMessage::SnapshotChunk { transfer: first, index: 6, bytes: &bytes[..SNAPSHOT_CHUNK_BYTES] };
    scene.game.send(gone, &late);
    scene.game.send(scene.players[0], &late);
    scene.game.step();
    let wanted = match Peers::told(&scene.game, scene.players[0]).last() {
        Some(Transfer::Wanted { transfer, tick: REPORTED }) => *transfer,
        other => panic!("another donor is asked in the same tick: {other:?}"),
    };
    assert_ne!(wanted, first);
    let stats = scene.game.room.stats();
    assert_eq!((stats.stray_transfers, stats.stray_messages), (1, 1));
    // The seat of the lost donor is first in line, so inputs go by connection.
    for _ in 0..60 {
        let tick = scene.game.tick;
        for (index, player) in scene.players.clone().into_iter().enumerate() {
            scene.game.input(player, tick, zig(index as u64 + 1, tick));
        }
        scene.game.step();
        scene.peers.serve(&mut scene.game);
    }
    let asked: Vec<_> = scene.peers.asked.iter().map(|(client, _)| *client).collect();
    assert_eq!(asked, [gone, scene.players[0]]);
    for (index, newcomer) in scene.newcomers.iter().enumerate() {
        assert_eq!(scene.hydrated(index), Some((REPORTED, true)));
        assert_eq!(scene.game.peer(*newcomer).next(), scene.game.room.frontier().index());
    }
    scene.game.check_everyone();
}

#[test]
fn a7_a_silent_donor_is_replaced_after_its_timeout_and_a_refusing_or_false_one_at_once() {
    for (donor, within) in [
        (Donor::Silent, 600..640),
        (Donor::Stops(0), 600..640),
        (Donor::Stops(7), 600..660),
        (Donor::Refuses(NoSnapshot::NoState), 0..30),
        (Donor::Refuses(NoSnapshot::TooLarge), 0..30),
        (Donor::Lies, 0..40),
        (Donor::Forges, 0..40),
        (Donor::Differs, 0..40),
        (Donor::Damages(7), 0..40),
    ] {
        let mut config = forgetful(4);
        config.donation.hydration_millis = 60_000;
        let mut scene = Scene::before(config, STATE_BYTES, 1);
        scene.peers.donors.insert(scene.players[0], donor.clone());
        scene.enter();
        while scene.peers.hydrated.is_empty() && scene.game.tick < ENTRY + 1_000 {
            let next = scene.game.tick + 1;
            scene.play(next);
        }
        let took = scene.game.tick - ENTRY;
        assert!(within.contains(&took), "{donor:?} took {took} ticks");
        assert_eq!(scene.peers.asked.len(), 2, "{donor:?}");
        assert_eq!(scene.peers.asked[1].0, scene.players[1], "{donor:?}");
        assert_eq!(scene.game.room.stats().refused_snapshots, 1, "{donor:?}");
        let refused_itself = matches!(donor, Donor::Refuses(_));
        assert_eq!(scene.peers.canceled.is_empty(), refused_itself, "{donor:?}");
        let tick = scene.peers.asked[1].1;
        scene.play(scene.game.tick + 30);
        scene.check_hydrated(tick);
        assert!(scene.players.iter().all(|player| scene.game.peer(*player).closed.is_none()));
    }
}

#[test]
fn a7_a_state_that_another_seat_contradicts_is_refused_and_an_older_one_is_taken() {
    let mut scene = Scene::before(forgetful(4), STATE_BYTES, 1);
    let (liar, honest) = (scene.players[0], scene.players[1]);
    scene.peers.donors.insert(liar, Donor::Silent);
    scene.game.step_to(910);
    // One seat reports S(901) first, and falsely; it is asked before anyone contradicts it.
    scene.game.report(liar, 901, b"false");
    scene.enter();
    scene.game.step_to(912);
    let asked = Peers::told(&scene.game, liar).pop();
    let Some(Transfer::Wanted { transfer, tick: 901 }) = asked else { panic!("{asked:?}") };
    let bytes = encoded(&scene.game, 901, b"false");
    scene.game.send(liar, &ClientMessage::SnapshotOffer(header(transfer, 901, b"false", &bytes)));
    scene.game.report(honest, 901, &state(901, STATE_BYTES));
    scene.game.send(liar, &ClientMessage::SnapshotChunk { transfer, index: 0, bytes: &bytes });
    scene.play(1_000);
    let stats = scene.game.room.stats();
    assert_eq!((stats.refused_snapshots, stats.snapshots, stats.desyncs), (1, 1, 1));
    assert_eq!((scene.peers.asked.last(), scene.hydrated(0)), (Some(&(honest, REPORTED)), Some((REPORTED, true))));
}

#[test]
fn a7_a_state_that_nobody_else_reported_is_marked() {
    let mut scene = Scene::before(forgetful(2), STATE_BYTES, 1);
    scene.enter();
    scene.play(1_000);
    assert_eq!((scene.players.len(), scene.hydrated(0)), (1, Some((REPORTED, false))));
    assert_eq!(scene.game.room.newest_snapshot().map(|kept| kept.verified), Some(false));
    // Who comes back later says whether it was right.
    scene.game.report(scene.newcomers[0], REPORTED, &state(REPORTED, STATE_BYTES));
    assert_eq!(scene.game.room.newest_snapshot().map(|kept| kept.verified), Some(true));
}

#[test]
fn r02_a_state_beyond_the_ceiling_is_a_typed_refusal_and_the_room_goes_on() {
    for (state_bytes, refuses) in [(STATE_BYTES, true), (1_000, false)] {
        let mut config = forgetful(5);
        config.donation.max_snapshot_bytes = if refuses { u32::try_from(STATE_BYTES).expect("small") } else { 4 << 20 };
        let mut scene = Scene::before(config, state_bytes, 2);
        scene.enter();
        scene.play(ENTRY + 60);
        for newcomer in 0..2 {
            let closed = CloseCause::Ended(CloseReason::NoHistory(NoSnapshot::TooLarge));
            assert_eq!(scene.closed(newcomer), refuses.then_some(closed));
            assert_eq!(scene.told(newcomer).contains(&Transfer::None { cause: NoSnapshot::TooLarge }), refuses);
            assert_eq!(scene.hydrated(newcomer).is_some(), !refuses);
        }
        assert_eq!(scene.peers.asked.len(), if refuses { 3 } else { 1 }, "every donor is asked, once");
        // The room keeps a bounded window.
        scene.play(3_000);
        let kept = scene.game.room.frontier().since(scene.game.room.history_start());
        assert!(kept <= 300 + SEGMENT_FRAMES || !refuses, "{kept}");
        scene.check_undisturbed();
    }
}

#[test]
fn r02_chunks_may_come_in_any_order_and_twice() {
    let mut scene = Scene::before(forgetful(5), STATE_BYTES, 2);
    scene.peers.donors.insert(scene.players[0], Donor::Shuffles(vec![0, 2, 1, 1, 3]));
    scene.enter();
    scene.play(ENTRY + 100);
    assert_eq!((scene.peers.asked.len(), scene.game.room.stats().snapshots), (1, 1), "assembled once");
    scene.check_hydrated(REPORTED);
}

#[test]
fn r02_whoever_is_hydrating_is_never_asked_and_a_newcomer_without_a_donor_is_told_so() {
    let mut scene = Scene::before(forgetful(4), STATE_BYTES, 2);
    for player in scene.players.clone() {
        scene.game.disconnect(player);
    }
    scene.players.clear();
    scene.enter();
    // What it says of a state makes no donor of somebody who has none.
    scene.game.report(scene.newcomers[0], REPORTED, &state(REPORTED, STATE_BYTES));
    assert_eq!(scene.game.room.stats().seats.refused_reports, 0, "guard: the report counts");
    scene.play(ENTRY + 60);
    for newcomer in 0..2 {
        assert_eq!(scene.told(newcomer), [Transfer::None { cause: NoSnapshot::NoDonor }], "told once");
        assert_eq!(scene.closed(newcomer), None, "it waits");
    }
    scene.play(ENTRY + 8 * 60 + 60);
    for newcomer in 0..2 {
        let closed = CloseCause::Ended(CloseReason::NoHistory(NoSnapshot::NoDonor));
        assert_eq!(scene.closed(newcomer), Some(closed));
    }
    assert!(scene.peers.asked.is_empty());
}

#[test]
fn a7_a_newcomer_that_can_use_none_is_given_up_after_some_and_others_are_not_touched() {
    let mut scene = Scene::new(STATE_BYTES, 2);
    scene.peers.takers.insert(scene.newcomers[0], Taker::Fails);
    scene.play(ENTRY + 400);
    let offers = |newcomer: usize| {
        let told = scene.told(newcomer).into_iter();
        let headers = told.filter_map(|told| match told {
            Transfer::Snapshot { header, .. } => Some(header),
            _ => None,
        });
        headers.collect::<Vec<_>>()
    };
    let refused = offers(0);
    assert_eq!(refused.len(), usize::from(MAX_SNAPSHOT_ATTEMPTS));
    assert!(refused[0].digest == refused[1].digest && refused[0].transfer != refused[1].transfer, "the same once more");
    assert_ne!(refused[2].digest, refused[0].digest, "then another donor's");
    assert_eq!(scene.peers.asked.len(), 2);
    assert_ne!(scene.peers.asked[0].0, scene.peers.asked[1].0);
    assert_eq!(scene.closed(0), Some(CloseCause::Ended(CloseReason::NoHistory(NoSnapshot::Mismatch))));
    assert_eq!((offers(1).len(), scene.hydrated(1)), (1, Some((REPORTED, true))));
    scene.check_undisturbed();
}

#[test]
fn a7_a_download_goes_on_where_the_transport_was_lost() {
    let mut scene = Scene::new(STATE_BYTES, 1);
    let first = scene.newcomers[0];
    while scene.peers.downloads.get(&first).is_none_or(|download| download.next() < 5) {
        let next = scene.game.tick + 1;
        scene.play(next);
    }
    scene.game.disconnect(first);
    let token = scene.game.peer(first).token();
    scene.newcomers[0] = scene.game.resume(seat(3), token, 0);
    let kept = scene.peers.downloads.remove(&first).expect("it has some");
    let has = kept.next();
    scene.peers.downloads.insert(scene.newcomers[0], kept);
    scene.play(ENTRY + 200);
    scene.check_hydrated(REPORTED);
    assert_eq!(scene.chunks(0), (has..12).collect::<Vec<_>>(), "no chunk comes twice");
}

#[test]
fn a7_many_newcomers_are_served_a_bounded_amount_in_each_call() {
    let newcomers = MAX_DELIVERIES + 3;
    let mut scene = Scene::new(STATE_BYTES, newcomers);
    let (mut sent, mut most) = (0, 0);
    while scene.peers.hydrated.len() < newcomers && scene.game.tick < ENTRY + 600 {
        let next = scene.game.tick + 1;
        scene.play(next);
        let now: usize = (0..newcomers).map(|newcomer| scene.chunks(newcomer).len()).sum();
        (most, sent) = (most.max(now - sent), now);
        let is_announced = |newcomer: &usize| {
            scene.told(*newcomer).iter().any(|transfer| matches!(transfer, Transfer::Snapshot { .. }))
        };
        let announced = (0..newcomers).filter(is_announced).count();
        assert!(announced <= scene.peers.hydrated.len() + MAX_DELIVERIES, "{announced} at once");
    }
    assert_eq!((most, sent), (MAX_SNAPSHOT_CHUNKS_PER_CALL, 12 * newcomers));
    assert_eq!(scene.peers.asked.len(), 1, "one donation serves all");
    scene.play(scene.game.tick + 60);
    scene.check_hydrated(REPORTED);
}

#[test]
fn a7_a_newcomer_that_reads_nothing_holds_up_nobody_and_is_closed() {
    let mut scene = Scene::new(STATE_BYTES, 2);
    scene.peers.takers.insert(scene.newcomers[0], Taker::Stalls);
    scene.play(ENTRY + 100);
    let window: Vec<_> = (0..DELIVERY_WINDOW_CHUNKS).collect();
    assert_eq!(scene.chunks(0), window, "no more than its window is under way");
    assert_eq!(scene.hydrated(1), Some((REPORTED, true)));
    scene.play(ENTRY + 700);
    assert_eq!(scene.closed(0), Some(CloseCause::Ended(CloseReason::SlowConsumer)));
    scene.check_undisturbed();
}

/// The fault that this pins: a newcomer was closed as one that reads too slowly, while its room waited for its own storage.
#[test]
fn a7_a_newcomer_is_not_blamed_for_the_storage_that_its_room_waits_for() {
    let mut config = RoomConfig { durability: Durability::EveryFrame, ..forgetful(4) };
    config.donation.transfer_timeout_millis = 1_000;
    let mut scene = Scene::before(config, STATE_BYTES, 1);
    scene.enter();
    while scene.chunks(0).is_empty() {
        scene.play(scene.game.tick + 1);
    }
    assert!(scene.chunks(0).len() < 12, "guard: the transfer is under way");
    scene.game.persists = false;
    scene.play(scene.game.tick + 90);
    scene.game.persists = true;
    let written = scene.game.log.records().count() as u64;
    scene.game.persist_through(written);
    scene.play(scene.game.tick + 100);
    assert_eq!(scene.closed(0), None);
    assert!(scene.hydrated(0).is_some());
}

#[test]
fn a7_messages_that_no_honest_peer_sends_end_their_sender_alone() {
    let mut scene = Scene::new(STATE_BYTES, 2);
    scene.play(ENTRY + 10);
    let unknown = TransferId(1_000);
    let bytes = [0; 10];
    scene.game.send(scene.players[2], &ClientMessage::SnapshotChunk { transfer: unknown, index: 0, bytes: &bytes });
    let malformed = Some(CloseCause::Ended(CloseReason::Malformed));
    assert_eq!(scene.game.peer(scene.players[2]).closed, malformed);
    scene.players.pop();
    // Offers, refusals and progress of no transfer are dropped.
    let state = state(REPORTED, 100);
    let offer = header(unknown, REPORTED, &state, &encoded(&scene.game, REPORTED, &state));
    for message in [
        ClientMessage::SnapshotOffer(offer),
        ClientMessage::SnapshotRefused { transfer: unknown, cause: NoSnapshot::NoState },
        ClientMessage::SnapshotProgress { transfer: unknown, next: 3 },
        ClientMessage::SnapshotFailed { transfer: unknown },
    ] {
        scene.game.send(scene.players[1], &message);
    }
    assert_eq!(scene.game.peer(scene.players[1]).closed, None);
    assert_eq!(scene.game.room.stats().stray_transfers, 4);
    // Progress that was never sent.
    let transfer = match scene.told(0).first() {
        Some(Transfer::Snapshot { header, .. }) => header.transfer,
        other => panic!("{other:?}"),
    };
    let newcomer = scene.newcomers[0];
    scene.game.send(newcomer, &ClientMessage::SnapshotProgress { transfer, next: 12 });
    assert_eq!(scene.game.peer(newcomer).closed, malformed);
    scene.play(ENTRY + 100);
    assert_eq!(scene.hydrated(1), Some((REPORTED, true)));
}

/// A room of this rate that plays for five minutes, with everything else at its default.
fn check_interval(rate: TickRate) {
    let (mut game, players) = Match::started(RoomConfig::new(descriptor(2, rate)));
    let mut peers = Peers::new(1_000);
    let hz = u64::from(rate.hz());
    let (mut kept, mut most) = (vec![0], 0);
    while game.tick < 300 * hz {
        let (next, before) = (game.tick + hz, game.room.stats().snapshots);
        peers.play(&mut game, &players, next);
        if game.room.stats().snapshots > before {
            kept.push(game.tick);
        }
        most = most.max(game.room.frontier().since(game.room.history_start()));
    }
    kept.push(game.tick);
    let longest = kept.windows(2).map(|pair| pair[1] - pair[0]).max();
    assert!(longest.is_some_and(|ticks| ticks <= 60 * hz), "{rate:?}: {kept:?}");
    assert!(kept.len() >= 7, "{rate:?}: {kept:?}");
    // One interval, the age of the state that is asked for, and the rest of a segment.
    assert!(most <= 45 * hz + 2 * 120 + SEGMENT_FRAMES, "{rate:?}: {most} frames were kept");
    let donors: BTreeMap<_, usize> = peers.asked.iter().fold(BTreeMap::new(), |mut donors, (donor, _)| {
        *donors.entry(*donor).or_default() += 1;
        donors
    });
    assert!(donors.len() == 2 && donors.values().all(|asked| *asked >= 3), "donors take turns: {donors:?}");
    game.check_everyone();
}

#[test]
fn a7_there_is_a_snapshot_every_minute_at_every_rate_and_history_is_bounded() {
    check_interval(TickRate::Hz10);
    check_interval(TickRate::Hz60);
}

#[test]
fn a7_without_any_donor_history_is_a_bounded_window_and_a_gap_is_a_typed_end() {
    let (mut game, players) = Match::started(config(2, 0));
    let (window, mut most) = (120 * 60, 0);
    while game.tick < 3 * window {
        game.step();
        most = most.max(game.room.frontier().since(game.room.history_start()));
    }
    assert!((window..=window + SEGMENT_FRAMES).contains(&most), "{most}");
    let token = game.peer(players[1]).token();
    let back = game.resume(seat(1), token, 0);
    let inside = game.room.history_start().index();
    game.step_to(3 * window + 61 * 60);
    let gone = CloseReason::NoHistory(NoSnapshot::NoDonor);
    assert_eq!(game.peer(back).closed, Some(CloseCause::Ended(gone)));
    // Who misses what is still there gets it.
    let start = game.room.history_start().index();
    assert!(start > inside);
    let near = game.resume(seat(1), token, start);
    game.step_to(game.tick + 60);
    assert_eq!(game.peer(near).next(), game.room.frontier().index());
    game.check_everyone();
}

/// Also where the window of time would keep far more.
#[test]
fn a7_history_takes_no_more_bytes_than_it_may() {
    let start = |max_history_bytes: u64| {
        let mut config = config(2, 0);
        config.donation.max_history_bytes = max_history_bytes;
        let (mut game, _) = Match::started(config);
        game.step_to(6 * SEGMENT_FRAMES);
        game.room.history_start().index() / SEGMENT_FRAMES
    };
    // A segment of these frames takes between 2 and 20 kB.
    assert_eq!((start(1 << 20), start(0)), (0, 5));
    assert!((1..5).contains(&start(20_000)), "{}", start(20_000));
}

/// A state of the old generation is none of the new one, whether it is kept or under way.
#[test]
fn a10_no_snapshot_outlives_its_generation() {
    let mut scene = Scene::new(STATE_BYTES, 1);
    scene.play(1_000);
    assert_eq!(scene.hydrated(0), Some((REPORTED, true)));
    assert!(scene.game.room.newest_snapshot().is_some(), "guard");
    let now = scene.game.now();
    scene.game.room.reconfigure(SessionConfig::empty(), now).expect("it runs");
    scene.game.drain();
    assert_eq!((scene.game.room.newest_snapshot(), scene.game.room.donation()), (None, None));
    let mut scene = Scene::before(forgetful(4), STATE_BYTES, 1);
    scene.peers.donors.insert(scene.players[0], Donor::Stops(7));
    scene.enter();
    scene.play(ENTRY + 20);
    assert_eq!(scene.game.room.donation().map(|donation| donation.received_chunks), Some(7), "guard");
    let now = scene.game.now();
    scene.game.room.reconfigure(SessionConfig::empty(), now).expect("it runs");
    scene.game.drain();
    assert_eq!((scene.game.room.newest_snapshot(), scene.game.room.donation()), (None, None));
    assert!(matches!(Peers::told(&scene.game, scene.players[0]).last(), Some(Transfer::Canceled { .. })));
}

const _: () = assert!(DELIVERY_WINDOW_CHUNKS <= SNAPSHOT_WINDOW_CHUNKS);
