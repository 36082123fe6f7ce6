//! The room's machine: a process that runs the room, its clock, and its storage.

use std::collections::VecDeque;

use retick_authority::room::{
    ConnectionId, Durability, OnLeave, Output, PausePolicy, ReconfigurePolicy, RestoreError, Room, RoomConfig,
    RoomEvent, RoomSecret, SeatPolicy, StartPolicy,
};
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::{Seat, SeatSet};
use retick_core::tick::Moment;

use super::clock::LocalClock;
use super::game::mix;
use super::schedule::{Permitted, Schedule, StartPlan, Waits};
use super::storage::Storage;
use super::trace::RoomSeen;
use super::world::Due;

/// One thing that the room wants done, out of the room's own buffers.
#[derive(Debug)]
pub(super) enum Wanted {
    Transmit(Vec<ConnectionId>, Vec<u8>),
    Persist(u64, Vec<u8>),
    Close(ConnectionId),
    Event(RoomEvent),
}

/// A run of the room.
pub(super) struct Run {
    pub(super) room: Room,
    pub(super) clock: LocalClock,
    /// A sync is under way.
    pub(super) is_syncing: bool,
    last_call: Moment,
}

/// The machine.
pub(super) struct Host {
    /// There is none while the machine is down, and after the match.
    pub(super) run: Option<Run>,
    pub(super) runs: u32,
    pub(super) storage: Storage,
    /// The process does nothing before then.
    pub(super) frozen_until: Moment,
    /// What arrived meanwhile, in order.
    pub(super) inbox: VecDeque<Due>,
    /// Nothing is synced before then.
    pub(super) stalled_until: Moment,
    /// Whether the match is over for good.
    pub(super) is_over: bool,
}

impl Host {
    pub(super) fn new() -> Host {
        Host {
            run: None,
            runs: 0,
            storage: Storage::default(),
            frozen_until: Moment::ZERO,
            inbox: VecDeque::new(),
            stalled_until: Moment::ZERO,
            is_over: false,
        }
    }

    /// Starts the process: with a new room, or the one in the log. Gives whether there is one.
    pub(super) fn start(&mut self, now: Moment, schedule: &Schedule, factory: &dyn RuntimeFactory) -> bool {
        let config = room_config(schedule, factory);
        let durability = config.durability;
        let room = if self.runs == 0 {
            Room::new(config, room_secret(schedule.seed)).unwrap_or_else(|error| panic!("no room: {error}"))
        } else {
            match Room::restore(self.storage.log_mut(), durability) {
                Ok(room) => room,
                Err(RestoreError::Ended { .. }) => {
                    self.is_over = true;
                    return false;
                }
                Err(error) => panic!("a crash is no damage: {error}"),
            }
        };
        let clock = LocalClock::new(now, schedule.room.clock_ppm);
        self.runs += 1;
        self.run = Some(Run { room, clock, is_syncing: false, last_call: now });
        true
    }

    /// Everything that the room wants done by now.
    pub(super) fn poll(&mut self) -> Vec<Wanted> {
        let Some(run) = &mut self.run else { return Vec::new() };
        let mut wanted = Vec::new();
        while let Some(output) = run.room.poll_output() {
            wanted.push(match output {
                Output::Transmit { to, bytes } => Wanted::Transmit(to.to_vec(), bytes.to_vec()),
                Output::Persist { sequence, record } => Wanted::Persist(sequence, record.to_vec()),
                Output::Close { connection, .. } => Wanted::Close(connection),
                Output::Event(event) => Wanted::Event(event),
            });
        }
        wanted
    }

    /// When the room wants to be called, on the virtual clock. A call at one moment is never the last of many.
    pub(super) fn next_call(&self) -> Option<Moment> {
        let run = self.run.as_ref()?;
        let due = run.clock.moment_of(run.room.next_timeout()?);
        Some(due.max(run.last_call.plus_nanos(1)).max(self.frozen_until))
    }

    /// Calls the room with its clock.
    pub(super) fn call(&mut self, now: Moment) {
        if let Some(run) = &mut self.run {
            run.last_call = now;
            run.room.handle_timeout(run.clock.read(now));
        }
    }

    pub(super) fn seen(&self, now: Moment) -> Option<RoomSeen> {
        let Run { room, clock, .. } = self.run.as_ref()?;
        Some(RoomSeen {
            clock: clock.read(now),
            clock_tick: room.clock_tick(),
            frontier: room.frontier(),
            history_start: room.history_start(),
            generation: room.descriptor().generation(),
            paused: room.is_paused(),
            donating: room.donation().is_some(),
            recovering: room.is_recovering(),
            loose_records: self.storage.last() - self.storage.synced(),
        })
    }
}

fn room_config(schedule: &Schedule, factory: &dyn RuntimeFactory) -> RoomConfig {
    let plan = &schedule.room;
    let mut config = RoomConfig::new(schedule.descriptor(factory));
    config.rules.hard_tolerance_ticks = plan.hard_tolerance_ticks;
    config.rules.checksum_cadence_ticks = plan.checksum_cadence_ticks;
    config.grace_millis = plan.grace_millis;
    let bots = (schedule.seats.saturating_sub(plan.initial_bots)..schedule.seats).filter_map(Seat::new);
    config.seats = SeatPolicy {
        recycle_vacated: plan.recycles,
        humans_claim_bots: plan.humans_claim_bots,
        on_leave: if plan.bots_on_leave { OnLeave::Bot } else { OnLeave::Empty },
        initial_bots: bots.collect::<SeatSet>(),
    };
    config.start = match plan.start {
        StartPlan::Full => StartPolicy::WhenFull,
        StartPlan::Minimum { seats, countdown_millis } => StartPolicy::Minimum { seats, countdown_millis },
        StartPlan::Creator { .. } => StartPolicy::Creator,
        StartPlan::Manual { .. } => StartPolicy::Manual,
    };
    config.pause = match plan.pause {
        Permitted::Nobody => PausePolicy::Nobody,
        Permitted::Creator => PausePolicy::Creator,
        Permitted::Anyone => PausePolicy::Anyone,
    };
    config.reconfigure = match plan.reconfigure {
        Permitted::Nobody => ReconfigurePolicy::Nobody,
        Permitted::Creator => ReconfigurePolicy::Creator,
        Permitted::Anyone => ReconfigurePolicy::Anyone,
    };
    config.durability = match plan.durability {
        Waits::None => Durability::None,
        Waits::Interval => Durability::Interval,
        Waits::EveryFrame => Durability::EveryFrame,
    };
    config.max_observers = plan.max_observers;
    config.donation.snapshot_interval_millis = plan.snapshot_interval_millis;
    config.donation.replay_millis = plan.replay_millis;
    config.donation.history_millis = plan.history_millis;
    config.donation.transfer_timeout_millis = plan.transfer_timeout_millis;
    config
}

/// The room's secret, which nobody may ever see.
pub(super) fn room_secret(seed: u64) -> RoomSecret {
    let mut bytes = [0; 32];
    for (chunk, number) in bytes.chunks_exact_mut(8).zip(0..) {
        chunk.copy_from_slice(&mix(seed ^ 0x5EC4 ^ (number << 48)).to_le_bytes());
    }
    RoomSecret(bytes)
}
