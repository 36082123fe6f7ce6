//! A match in which nothing is drawn, for tests that change one thing about it.

use retick_testing::simulate::{
    ActorPlan, Game, Happening, LinkPlan, Permitted, Planned, Role, RoomPlan, Schedule, StartPlan, Waits,
};

/// Three players of MEDLEY 20 ms from their room, with commands, ephemerals and snapshots.
pub fn plain() -> Schedule {
    let events = [
        (700, Happening::Command { actor: 1, count: 3 }),
        (900, Happening::Ephemeral { actor: 0, count: 3 }),
        (1_400, Happening::Command { actor: 0, count: 2 }),
    ];
    Schedule {
        seed: 1,
        game: Game::Medley60,
        seats: 3,
        safety_millis: 2_000,
        liveness_millis: 3_000,
        room: RoomPlan {
            hard_tolerance_ticks: 20,
            checksum_cadence_ticks: 10,
            grace_millis: 10_000,
            recycles: false,
            humans_claim_bots: false,
            bots_on_leave: false,
            initial_bots: 0,
            start: StartPlan::Full,
            pause: Permitted::Nobody,
            reconfigure: Permitted::Nobody,
            durability: Waits::EveryFrame,
            max_observers: 2,
            snapshot_interval_millis: 1_000,
            replay_millis: 1_000,
            history_millis: 4_000,
            transfer_timeout_millis: 1_000,
            tickets: true,
            sync_micros: 500,
            sync_interval_millis: 300,
            clock_ppm: 0,
            outbound_cap_bytes: 1 << 20,
        },
        actors: (0..3).map(player).collect(),
        events: events.map(|(at_millis, event)| Planned { at_millis, event }).into(),
    }
}

/// The same, in a room whose log may lack frames, and which is killed once.
pub fn killed() -> Schedule {
    let mut schedule = plain();
    schedule.room.durability = Waits::Interval;
    schedule.room.sync_interval_millis = 2_000;
    let event = Happening::Kill { down_millis: 100, keeps_percent: 0 };
    schedule.events.push(Planned { at_millis: 1_600, event });
    schedule
}

fn player(number: u32) -> ActorPlan {
    let link = LinkPlan { latency_micros: 20_000, ..LinkPlan::default() };
    ActorPlan {
        number,
        role: Role::Player,
        arrives_millis: 0,
        up: link.clone(),
        down: link,
        datagrams: false,
        clock_ppm: 0,
        turns_per_second: 60,
        window_ticks: 8,
        predicts: true,
        guesses_neutral: false,
        delay_ticks: (0, 0),
        steps_per_turn: 4,
        frames_per_turn: 0,
        keeps_all: false,
        retry_millis: 50,
        holds_ticks: 3,
    }
}
