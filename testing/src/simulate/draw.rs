//! From a seed to a schedule: everything about a match that nobody chose.

use std::num::NonZeroU32;

use retick_core::rng::{RngStream, SessionSeed};

use super::happening::{Happening, Planned};
use super::schedule::{ActorPlan, Game, LinkPlan, Permitted, Role, RoomPlan, Schedule, StartPlan, Waits};

/// How long everything is healthy in the end: longer than a restored room waits for its clients, and than a grace.
const LIVENESS_MILLIS: u64 = 8_000;
/// Most events of a match.
const MOST_EVENTS: u32 = 20;
const HUNDRED: NonZeroU32 = NonZeroU32::new(100).expect("not zero");

/// The match of this seed.
#[must_use]
pub fn draw(seed: u64) -> Schedule {
    let mut dice = Dice(RngStream::derive(&SessionSeed::from_u64(seed), "schedule"));
    let game = dice.pick(&Game::ALL);
    let seats = dice.pick(&[1, 2, 2, 2, 3, 3, 4, 4, 5, 6, 8]);
    let safety_millis = u64::from(dice.range(2_500..=9_000));
    let is_lossy = dice.percent(60);
    let mut actors: Vec<ActorPlan> = Vec::new();
    let room = room_plan(&mut dice, game, seats);
    // Everyone, some of them late, and sometimes one too many.
    let players = u32::from(seats) + u32::from(dice.percent(15));
    let observers = if dice.percent(30) { dice.range(1..=2) } else { 0 };
    let liars = if seats > 1 && dice.percent(35) { 1 } else { 0 };
    let late_percent = if room.start == StartPlan::Full { 0 } else { 30 };
    for number in 0..players + observers {
        let role = match number {
            number if number >= players => Role::Observer,
            number if number > 0 && number <= liars => Role::Liar,
            _ => Role::Player,
        };
        actors.push(actor_plan(&mut dice, number, role, is_lossy));
        let is_late = number > 0 && dice.percent(if role == Role::Observer { 60 } else { late_percent });
        let latest = u32::try_from(safety_millis).unwrap_or(u32::MAX);
        actors[number as usize].arrives_millis =
            u64::from(if is_late { dice.range(0..=latest) } else { dice.range(0..=300) });
    }
    let mut schedule = Schedule {
        seed,
        game,
        seats,
        safety_millis,
        liveness_millis: LIVENESS_MILLIS,
        room,
        actors,
        events: Vec::new(),
    };
    let intensity = dice.range(0..=MOST_EVENTS);
    for _ in 0..intensity {
        let at_millis = u64::from(dice.range(400..=u32::try_from(safety_millis).unwrap_or(u32::MAX)));
        let event = happening(&mut dice, &schedule);
        schedule.events.push(Planned { at_millis, event });
    }
    if let Some(liar) = schedule.actors.iter().find(|actor| actor.role == Role::Liar).map(|actor| actor.number) {
        for _ in 0..dice.range(2..=6) {
            let at_millis = u64::from(dice.range(400..=2_500));
            schedule.events.push(Planned { at_millis, event: malice(&mut dice, liar) });
        }
    }
    schedule
}

/// Draws in the ranges that a schedule needs.
struct Dice(RngStream);

impl Dice {
    fn range(&mut self, range: std::ops::RangeInclusive<u32>) -> u32 {
        self.0.range(range)
    }

    fn millis(&mut self, range: std::ops::RangeInclusive<u32>) -> u64 {
        u64::from(self.range(range))
    }

    fn percent(&mut self, percent: u32) -> bool {
        self.0.chance(percent, HUNDRED)
    }

    fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        let item = self.0.pick(items).unwrap_or_else(|| panic!("nothing to pick from"));
        item.clone()
    }
}

fn room_plan(dice: &mut Dice, game: Game, seats: u8) -> RoomPlan {
    let rate = game.rate().hz();
    let initial_bots = if seats > 1 && dice.percent(15) { 1 } else { 0 };
    let at_millis = dice.millis(500..=1_200);
    let start = match dice.range(0..=4) {
        0 | 1 => StartPlan::Full,
        2 => StartPlan::Minimum { seats: 1, countdown_millis: dice.range(200..=800) },
        3 => StartPlan::Creator { at_millis },
        _ => StartPlan::Manual { at_millis },
    };
    RoomPlan {
        hard_tolerance_ticks: u16::try_from(dice.pick(&[1, 3, 6, 6, 12, 20])).unwrap_or(6),
        checksum_cadence_ticks: dice.pick(&[1, 7, rate / 2, rate, 2 * rate]),
        grace_millis: dice.pick(&[600, 2_000, 6_000, 15_000]),
        recycles: dice.percent(60),
        humans_claim_bots: dice.percent(50),
        bots_on_leave: dice.percent(40),
        initial_bots,
        start,
        pause: dice.pick(&[Permitted::Nobody, Permitted::Creator, Permitted::Anyone]),
        reconfigure: dice.pick(&[Permitted::Nobody, Permitted::Creator, Permitted::Anyone]),
        durability: dice.pick(&[Waits::None, Waits::Interval, Waits::EveryFrame]),
        max_observers: u16::try_from(dice.range(0..=4)).unwrap_or(4),
        snapshot_interval_millis: dice.millis(700..=3_000),
        replay_millis: dice.millis(300..=3_000),
        history_millis: dice.pick(&[4_000, 20_000]),
        transfer_timeout_millis: dice.millis(800..=2_500),
        tickets: dice.percent(50),
        sync_micros: u64::from(dice.range(0..=9_000)),
        sync_interval_millis: dice.millis(20..=1_200),
        clock_ppm: ppm(dice),
        outbound_cap_bytes: dice.pick(&[3_000, 20_000, 1 << 20]),
    }
}

fn ppm(dice: &mut Dice) -> i32 {
    let most = dice.pick(&[0, 200, 5_000]);
    i32::try_from(dice.range(0..=2 * most)).unwrap_or(0) - i32::try_from(most).unwrap_or(0)
}

fn link_plan(dice: &mut Dice, is_lossy: bool) -> LinkPlan {
    let latency_micros = dice.pick(&[0_u64, 3_000, 20_000, 50_000, 120_000]);
    let loss = if is_lossy { dice.range(0..=800) } else { 0 };
    LinkPlan {
        latency_micros,
        jitter_micros: dice.pick(&[0, 2_000, 10_000, 30_000]),
        loss,
        duplication: if is_lossy { dice.range(0..=500) } else { 0 },
        straggling: if is_lossy { dice.range(0..=300) } else { 0 },
        straggle_micros: u64::from(dice.range(5_000..=80_000)),
        resend_micros: 2 * latency_micros + u64::from(dice.range(20_000..=200_000)),
    }
}

fn actor_plan(dice: &mut Dice, number: u32, role: Role, is_lossy: bool) -> ActorPlan {
    let delay_ticks = match dice.range(0..=3) {
        0 => (1, 6),
        1 => (2, 2),
        _ => (0, 0),
    };
    ActorPlan {
        number,
        role,
        arrives_millis: 0,
        up: link_plan(dice, is_lossy),
        down: link_plan(dice, is_lossy),
        datagrams: dice.percent(30),
        clock_ppm: ppm(dice),
        turns_per_second: dice.pick(&[30, 60, 60, 60, 120]),
        window_ticks: u16::try_from(dice.pick(&[0, 2, 8, 8, 8, 16])).unwrap_or(8),
        predicts: dice.percent(85),
        guesses_neutral: dice.percent(25),
        delay_ticks,
        steps_per_turn: u16::try_from(dice.pick(&[2, 4, 8])).unwrap_or(4),
        frames_per_turn: dice.pick(&[0, 0, 8, 20]),
        keeps_all: dice.percent(10),
        retry_millis: dice.millis(20..=600),
        holds_ticks: dice.pick(&[1, 5, 15, 40]),
    }
}

fn happening(dice: &mut Dice, schedule: &Schedule) -> Happening {
    let actor = dice.pick(&schedule.actors).number;
    let seat = u8::try_from(dice.range(0..=u32::from(schedule.seats) - 1)).unwrap_or(0);
    match dice.range(0..=24) {
        0 | 1 => Happening::Cut { actor, millis: dice.pick(&[60, 300, 1_000, 2_500, 7_000]) },
        2 | 3 => Happening::HalfOpen {
            actor,
            client_notices_millis: dice.millis(200..=2_500),
            room_notices_millis: dice.millis(200..=2_500),
        },
        4 | 5 => Happening::Drop { actor },
        6 => Happening::Supersede { actor, room_notices_millis: dice.millis(1..=1_500) },
        7 => Happening::Restart { actor },
        8 => Happening::Freeze { actor, millis: dice.pick(&[30, 200, 900, 2_500, 7_000]) },
        9 => Happening::Slow {
            actor,
            millis: dice.millis(300..=7_000),
            bytes_per_second: dice.pick(&[50, 500, 2_000, 6_000]),
        },
        10 => Happening::Lossy { actor, millis: dice.millis(300..=3_000), loss: dice.range(1_000..=6_000) },
        11 => Happening::Jump { actor, millis: dice.millis(10..=5_000) },
        // Somebody stays, or there is nothing to see.
        12 if actor > 0 => Happening::Leave { actor },
        13 | 14 => Happening::Kill {
            down_millis: dice.millis(1..=1_500),
            keeps_percent: u8::try_from(dice.range(0..=100)).unwrap_or(0),
        },
        15 => Happening::RoomFreeze { millis: dice.millis(20..=1_500) },
        16 => Happening::RoomJump { millis: dice.millis(20..=4_000) },
        17 => Happening::StorageStall { millis: dice.millis(50..=2_000) },
        18 => Happening::Pause { actor, millis: dice.millis(50..=1_500) },
        19 => Happening::Reconfigure { actor, stride: u16::try_from(dice.range(0..=999)).unwrap_or(0) },
        20 if dice.percent(50) => Happening::SeatBot { seat },
        20 => Happening::RemoveBot { seat },
        21 => Happening::Lock { millis: dice.millis(100..=2_000) },
        22 => Happening::Command { actor, count: u8::try_from(dice.range(1..=20)).unwrap_or(1) },
        23 => Happening::Ephemeral { actor, count: u8::try_from(dice.range(1..=12)).unwrap_or(1) },
        _ => Happening::Result { actor },
    }
}

fn malice(dice: &mut Dice, actor: u32) -> Happening {
    match dice.range(0..=3) {
        0 => Happening::Forge { actor, count: u16::try_from(dice.range(1..=40)).unwrap_or(1) },
        1 => Happening::Mutate { actor, chance: dice.range(20..=1_500) },
        2 => Happening::Lie { actor },
        _ => Happening::SpoilDonations { actor },
    }
}
