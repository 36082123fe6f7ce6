//! D05: the wall clock, the frame rate or the view reaches the step.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use retick_core::digest::Checksum;
use retick_core::runtime::RuntimeFactory;
use retick_core::tick::Tick;
use retick_testing::assert::{
    Compared, GameFault, assert_deterministic, assert_hydration, check_deterministic, check_hydration, check_synctest,
    synctest,
};
use retick_testing::environment::{CLOCK_DISTANCE_MILLIS, MACHINES, Machine, Zone};
use retick_testing::fixtures::{tally_descriptor, tally_factory, zig, zig_packed};
use retick_testing::sim::{ClientSetup, MatchReport, MatchSetup};
use retick_testing::twins::wall_clocked_factory;

use crate::support::{RATE, authority_tally, client, shown_tally, view};

const TICKS: u64 = 1200;
/// One second before 2^31 seconds, and the first day of 2100, in milliseconds since 1970.
const CLOCK_STARTS: [u64; 3] = [0, ((1 << 31) - 1) * 1000, 4_102_444_800_000];
/// Summer ends in the middle of the run.
const ZONES: [Zone; 2] = [Zone::Utc, Zone::Changing { after_millis: 12_000, before_minutes: 120, after_minutes: 60 }];

/// What is drawn of a run: a camera that turns with every frame, by what it sees and by where it stands.
#[derive(Default)]
struct Camera {
    frames: AtomicU64,
    angle: AtomicU64,
}

impl Camera {
    fn turn(&self, shown: &[u8]) {
        self.frames.fetch_add(1, Ordering::Relaxed);
        let seen: u64 = shown.iter().map(|byte| u64::from(*byte)).sum();
        self.angle.store(self.angle.load(Ordering::Relaxed).wrapping_mul(31).wrapping_add(seen), Ordering::Relaxed);
    }
}

/// One combination of what must not matter.
#[derive(Clone)]
struct View {
    turns_per_second: u32,
    clock_start_millis: u64,
    zone: Zone,
    camera: Option<Arc<Camera>>,
}

impl View {
    fn player(&self, number: u8) -> ClientSetup {
        let mut player = client(zig).latency_ticks(RATE, 2).window_ticks(16);
        player.turns_per_second = NonZeroU32::new(self.turns_per_second);
        let clock_start_millis = self.clock_start_millis + u64::from(number) * CLOCK_DISTANCE_MILLIS;
        player.machine = Some(Machine { number, clock_start_millis, zone: self.zone });
        if let Some(camera) = self.camera.clone() {
            player.render = Some(Arc::new(move |client| {
                camera.turn(client.session().map_or(&[], |session| session.projections().0));
            }));
        }
        player
    }

    fn setup(&self, players: [ClientSetup; 2]) -> MatchSetup {
        let setup = MatchSetup::new(Arc::new(tally_factory())).hard_tolerance_ticks(30).last_tick(TICKS);
        players.into_iter().fold(setup, MatchSetup::client)
    }

    fn play(&self) -> MatchReport {
        let mut sim = self.setup([self.player(0), self.player(1)]).checksum_cadence_ticks(20).build();
        sim.run_until_confirmed(TICKS);
        sim.finish()
    }
}

/// Every clock, zone and view, at one rate.
fn views(turns_per_second: u32) -> Vec<View> {
    let mut views = Vec::new();
    for clock_start_millis in CLOCK_STARTS {
        for zone in ZONES {
            for camera in [None, Some(Arc::new(Camera::default()))] {
                views.push(View { turns_per_second, clock_start_millis, zone, camera });
            }
        }
    }
    views
}

fn checksums(report: &MatchReport) -> [Vec<(Tick, Checksum)>; 2] {
    [0, 1].map(|client| report.clients[client].checksums.clone())
}

fn check_rate(turns_per_second: u32) {
    let plain = View { turns_per_second: 60, clock_start_millis: 0, zone: Zone::Utc, camera: None };
    let expected = checksums(&plain.play());
    assert_eq!((expected[0].len(), &expected[0]), (60, &expected[1]));
    for view_of_it in views(turns_per_second) {
        let report = view_of_it.play();
        assert_eq!(checksums(&report), expected);
        let end = view(&[-5, -2], &[0, 0], 0x675A_1CF4);
        assert_eq!(authority_tally(&report, 1200), end);
        assert!(report.clients.iter().all(|client| shown_tally(client) == end));
        assert_eq!((report.flagged_ticks(), report.desyncs()), (vec![], 0));
        // Guard: it really ran at that rate, in pieces of its own, and was drawn as often.
        let authority_ticks = report.authority_ticks.index();
        let turns = authority_ticks * u64::from(turns_per_second) / 60;
        let taken = report.clients[0].turns.len() as u64;
        assert!(taken.abs_diff(turns) <= 1, "guard: {taken} turns in {authority_ticks} ticks");
        let most = report.clients[0].turns.iter().map(|turn| turn.progress.predicted).max();
        assert!(most >= Some(if turns_per_second < 60 { 2 } else { 1 }), "guard");
        if let Some(camera) = view_of_it.camera {
            assert!(camera.frames.load(Ordering::Relaxed) >= 2 * turns, "guard");
            assert_ne!(camera.angle.load(Ordering::Relaxed), 0, "guard");
        }
    }
}

#[test]
fn d05_clean_at_30_updates_a_second_whatever_clock_zone_and_view() {
    check_rate(30);
}

#[test]
fn d05_clean_at_60_updates_a_second_whatever_clock_zone_and_view() {
    check_rate(60);
}

#[test]
fn d05_clean_at_144_updates_a_second_whatever_clock_zone_and_view() {
    check_rate(144);
}

#[test]
fn d05_clean_at_1_000_updates_a_second_whatever_clock_zone_and_view() {
    check_rate(1000);
}

#[test]
fn d05_clean_passes_every_check_for_10_000_frames() {
    let factory = tally_factory();
    let descriptor = tally_descriptor(&factory, 2, 1);
    assert_eq!(assert_deterministic(&factory, &descriptor, zig_packed, 10_000).states, 10_001);
    synctest(&factory, &descriptor, zig_packed, 10_000, 3);
    assert_hydration(&factory, &descriptor, zig_packed, 10_000, 20);
}

#[test]
fn d05_faulty_wall_clock_is_flagged_within_2_frames() {
    let [one, other] = MACHINES.map(|machine| machine.clock_start_millis);
    assert_eq!(one.abs_diff(other) % 2, 1, "guard: the instances' clocks differ by an odd number of milliseconds");
    let factory = wall_clocked_factory();
    assert_eq!(factory.manifest().identity(), tally_factory().manifest().identity(), "no manifest can see it");
    let descriptor = tally_descriptor(&factory, 2, 1);
    let fault = check_deterministic(&factory, &descriptor, zig_packed, 60).expect_err("flagged");
    assert!(
        matches!(fault, GameFault::Differs { compared: Compared::Instances, tick, .. } if tick.index() <= 2),
        "{fault}"
    );
    let fault = check_synctest(&factory, &descriptor, zig_packed, 60, 3).expect_err("flagged");
    assert!(
        matches!(fault, GameFault::Differs { compared: Compared::Resimulated { .. }, tick, .. } if tick.index() <= 2),
        "{fault}"
    );
    let fault = check_hydration(&factory, &descriptor, zig_packed, 60, 30).expect_err("flagged");
    assert!(
        matches!(fault, GameFault::Differs { compared: Compared::Hydrated { .. }, tick, .. } if tick.index() <= 2),
        "{fault}"
    );
}

#[test]
fn d05_faulty_wall_clock_is_flagged_by_two_clients_within_2_frames() {
    let plain = View { turns_per_second: 60, clock_start_millis: 0, zone: Zone::Utc, camera: None };
    let twin = |number| plain.player(number).factory(Arc::new(wall_clocked_factory()));
    let mut sim = plain.setup([twin(0), twin(1)]).checksum_cadence_ticks(1).build();
    sim.run_ticks(60);
    let report = sim.report();
    let first = report.room_events.iter().find_map(|(_, event)| match event {
        retick_authority::room::RoomEvent::Desync { tick } => Some(tick.index()),
        _ => None,
    });
    assert!(first.is_some_and(|tick| tick <= 2), "{first:?}");
}
