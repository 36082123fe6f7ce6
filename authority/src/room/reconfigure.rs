//! Swapping the session config under a live room (A10): a new generation, in which everyone starts over at tick 0.

use retick_core::config::SessionConfig;
use retick_core::frame::{Frame, FrameChain};
use retick_core::identity::MatchDescriptor;
use retick_core::seat::{Generation, Seat};
use retick_core::tick::{Moment, Tick};
use retick_core::wire::RoomMessage;

use super::commands::CommandQueue;
use super::connections::Feed;
use super::event::RoomEvent;
use super::history::History;
use super::policy::ReconfigurePolicy;
use super::reports::Reports;
use super::seats::{Hold, SeatSlot};
use super::settlement::Results;
use super::{Phase, Room};
use crate::log::Record;

/// How long a new generation waits for everyone to be ready for it, in milliseconds of the room's clock. Then it begins, and
/// whoever is still not ready is waited for as for any late player, up to the tolerance of each tick.
pub const RECONFIGURE_WAIT_MILLIS: u64 = 10_000;
/// Least time between two reconfigurations, in milliseconds of the room's clock: each sends the whole config to everyone.
pub const RECONFIGURE_INTERVAL_MILLIS: u64 = 1_000;

/// Why the session config can't be swapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReconfigureError {
    /// The room has ended, or its generations are used up.
    #[error("the room has ended")]
    Closed,
    /// The generation before has not begun yet, or has only just been set up.
    #[error("the last reconfiguration is not over")]
    TooSoon,
}

impl Room {
    /// Swaps the session config (A10). Identity, seed and seats stay; ticks, history, reports and results begin anew. The clock
    /// runs once everyone who plays is ready for it, or after [`RECONFIGURE_WAIT_MILLIS`]; a room that waits in its lobby goes on
    /// waiting there.
    ///
    /// The room can't know whether the game takes this config: a client that can't build its match from it is over.
    ///
    /// # Errors
    /// [`ReconfigureError`] when the room has ended, or it is too soon.
    pub fn reconfigure(&mut self, config: SessionConfig, now: Moment) -> Result<(), ReconfigureError> {
        self.clock.observe(now);
        let descriptor = self.config.descriptor.reconfigured(config).ok_or(ReconfigureError::Closed)?;
        match self.phase {
            Phase::Closed => return Err(ReconfigureError::Closed),
            Phase::Restarting { .. } | Phase::Recovering => return Err(ReconfigureError::TooSoon),
            Phase::Lobby | Phase::Running { .. } | Phase::Paused { .. } => {}
        }
        if self.clock.present() < self.next_reconfigure {
            return Err(ReconfigureError::TooSoon);
        }
        self.next_reconfigure = self.clock.present().plus_millis(RECONFIGURE_INTERVAL_MILLIS);
        self.begin_generation(descriptor);
        self.start_if_due();
        self.send_roster_if_changed();
        Ok(())
    }

    /// A player swaps the config, where the policy lets it.
    pub(super) fn handle_reconfigure(&mut self, seat: Seat, generation: Generation, config: &[u8], now: Moment) {
        let may = match self.config.reconfigure {
            ReconfigurePolicy::Nobody => false,
            ReconfigurePolicy::Creator => self.creator() == Some(seat),
            ReconfigurePolicy::Anyone => true,
        };
        let current = generation == self.config.descriptor.generation();
        let config = SessionConfig::from_bytes(config).ok().filter(|_| may && current);
        let done = config.is_some_and(|config| self.reconfigure(config, now).is_ok());
        self.stats.refused_requests += u64::from(!done);
    }

    fn begin_generation(&mut self, descriptor: MatchDescriptor) {
        let generation = descriptor.generation();
        self.set_generation(descriptor);
        let descriptor = &self.descriptor_bytes;
        self.outbox.persist(&Record::Reconfigured { descriptor });
        self.outbox.transmit(self.connections.greeted(), &RoomMessage::Reconfigured { descriptor });
        self.outbox.event(RoomEvent::Reconfigured { generation });
        self.roster_changed = true;
    }

    /// Everything that has a tick begins anew, and seats keep their holders.
    pub(super) fn set_generation(&mut self, descriptor: MatchDescriptor) {
        let generation = descriptor.generation();
        self.reset_donation();
        self.reset_inquiries();
        self.chain = FrameChain::new(&descriptor);
        self.descriptor_bytes = descriptor.to_bytes();
        self.history = History::new(descriptor.seats());
        self.reports = Reports::new(self.config.rules.checksum_cadence_ticks);
        self.results = Results::default();
        self.fences.forget_frames();
        self.commands = CommandQueue::new(descriptor.seats());
        self.release.clear();
        for frame in [&mut self.current, &mut self.previous] {
            *frame = Frame::new(generation, Tick::ZERO);
        }
        self.config.descriptor = descriptor;
        self.start_seats_over();
        // Tick 0 stands alone, so that everyone can take it as it is.
        self.connections.feeds_mut().for_each(|(_, feed)| *feed = Feed::Live);
        self.countdown_end = None;
        if self.phase != Phase::Lobby {
            self.phase = Phase::Restarting { deadline: self.clock.present().plus_millis(RECONFIGURE_WAIT_MILLIS) };
        }
    }

    /// Nothing of another generation counts any more, and everyone who is connected is to be ready for this one.
    fn start_seats_over(&mut self) {
        for slot in &mut self.seats {
            slot.forget_deliveries();
            let connected = slot.connection.is_some();
            let Some(holder) = &mut slot.holder else { continue };
            match holder.hold {
                Hold::Active(_) => {
                    holder.hold = Hold::Active(Tick::ZERO);
                    holder.awaited = connected;
                }
                Hold::Joining | Hold::Ready | Hold::Scheduled(_) => holder.hold = Hold::Joining,
                Hold::Retained => {}
            }
        }
        self.update_next_activation();
    }

    /// Whether a player who takes part is there, and not ready for the generation.
    pub(super) fn is_anyone_awaited(&self) -> bool {
        let awaited = |slot: &SeatSlot| slot.connection.is_some() && slot.holder.is_some_and(|it| it.awaited);
        self.seats.iter().any(awaited)
    }
}
