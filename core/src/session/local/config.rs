//! Who plays locally, where their inputs come from, and what an update did.

use alloc::vec::Vec;

use super::LocalSetupError;
use crate::frame::{MAX_COMMAND_BYTES, MAX_COMMANDS_PER_FRAME};
use crate::identity::MatchDescriptor;
use crate::seat::{MAX_SEATS, Presence, Seat, SeatSet};
use crate::session::{MAX_QUEUED_FRAME_BYTES, SessionPolicy};
use crate::tick::Tick;

/// Default of [`LocalConfig::max_steps_per_update`] (S6).
pub const DEFAULT_MAX_STEPS_PER_UPDATE: u16 = 8;
/// Most that it can be.
pub const MAX_STEPS_PER_UPDATE: u16 = 64;
/// Most commands that wait for a frame; a frame takes [`MAX_COMMANDS_PER_FRAME`] of them.
pub const MAX_PENDING_COMMANDS: usize = 4 * MAX_COMMANDS_PER_FRAME;

const _: () = assert!(DEFAULT_MAX_STEPS_PER_UPDATE <= MAX_STEPS_PER_UPDATE, "the default is allowed");
const _: () = {
    let frame_bytes = MAX_COMMANDS_PER_FRAME * (MAX_COMMAND_BYTES + 64) + MAX_SEATS as usize * 1024;
    assert!(MAX_STEPS_PER_UPDATE as usize * frame_bytes < MAX_QUEUED_FRAME_BYTES, "one update's frames can wait");
};

/// Who plays, and how (S6). A seat that is neither local nor a bot's is empty: its input is null.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocalConfig {
    /// The seats of the players at this machine.
    pub local_seats: SeatSet,
    /// The seats whose inputs are given by [`TickInputs::bot`].
    pub bot_seats: SeatSet,
    /// Most ticks stepped in one [`super::LocalSession::update`]; the time beyond is dropped.
    pub max_steps_per_update: u16,
    /// What the session keeps and hands out. Its prediction window and remote prediction have no effect: nothing is predicted.
    pub policy: SessionPolicy,
}

impl Default for LocalConfig {
    /// One player on seat 0, nobody else.
    fn default() -> Self {
        LocalConfig {
            local_seats: Seat::new(0).into_iter().collect(),
            bot_seats: SeatSet::EMPTY,
            max_steps_per_update: DEFAULT_MAX_STEPS_PER_UPDATE,
            policy: SessionPolicy::default(),
        }
    }
}

impl LocalConfig {
    pub(super) fn presence(&self, seat: Seat) -> Presence {
        if self.local_seats.contains(seat) {
            Presence::Human
        } else if self.bot_seats.contains(seat) {
            Presence::Bot
        } else {
            Presence::Empty
        }
    }

    pub(super) fn check(&self, descriptor: &MatchDescriptor) -> Result<(), LocalSetupError> {
        if let Some(seat) = self.local_seats.iter().find(|seat| self.bot_seats.contains(*seat)) {
            return Err(LocalSetupError::SeatTwice { seat });
        }
        let seats = descriptor.seats();
        if let Some(seat) = self.bot_seats.first_beyond(seats) {
            return Err(LocalSetupError::BotSeat { seat, seats });
        }
        let found = self.max_steps_per_update;
        if (1..=MAX_STEPS_PER_UPDATE).contains(&found) {
            Ok(())
        } else {
            Err(LocalSetupError::StepsPerUpdate { found })
        }
    }
}

/// Where the inputs of a tick come from. Each is asked for once for each tick, in the order of ticks and seats; a tick whose
/// inputs were not valid is asked for again.
///
/// Each call gets a buffer that holds a valid packed input already, and replaces its content: of the game's own type with
/// [`InputSchema::pack_into`](crate::input::InputSchema::pack_into). A buffer left as it is counts as it is; there is nothing to
/// append.
///
/// A closure `FnMut(Seat, Tick, &mut Vec<u8>)` plays the bots and leaves local seats to [`super::LocalSession::set_input`]:
///
/// ```
/// # use retick_core::{input::*, seat::Seat, session::TickInputs, tick::Tick};
/// # #[derive(Clone)]
/// # struct Go(bool);
/// # impl GameInput for Go {
/// #     fn schema() -> InputSchema { InputSchema::builder("go/v1").boolean("go").build().expect("valid") }
/// #     fn pack(&self, packer: &mut Packer<'_>) { packer.boolean(self.0) }
/// #     fn unpack(unpacker: &mut Unpacker<'_>) -> Self { Go(unpacker.boolean()) }
/// # }
/// let schema = Go::schema();
/// let mut bots = |_: Seat, tick: Tick, packed: &mut Vec<u8>| {
///     schema.pack_into(&Go(tick.index() % 2 == 0), packed).expect("in range");
/// };
/// # let (seat, mut packed) = (Seat::new(0).expect("below the limit"), schema.neutral().to_vec());
/// # bots.bot(seat, Tick::ZERO, &mut packed);
/// # assert_eq!(packed, [1]);
/// ```
pub trait TickInputs {
    /// The packed input of a bot's seat. `packed` holds the neutral input, in each tick anew, and not what the bot played last.
    fn bot(&mut self, seat: Seat, tick: Tick, packed: &mut Vec<u8>);

    /// The packed input of a local seat, for games that sample each tick. `packed` holds what was set last, which stays unless it
    /// is changed.
    fn local(&mut self, seat: Seat, tick: Tick, packed: &mut Vec<u8>) {
        let _ = (seat, tick, packed);
    }
}

impl<F: FnMut(Seat, Tick, &mut Vec<u8>)> TickInputs for F {
    fn bot(&mut self, seat: Seat, tick: Tick, packed: &mut Vec<u8>) {
        self(seat, tick, packed);
    }
}

/// No provider: local seats hold what was set last, bots are neutral.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HeldInputs;

impl TickInputs for HeldInputs {
    fn bot(&mut self, _: Seat, _: Tick, _: &mut Vec<u8>) {}
}

/// What one [`super::LocalSession::update`] did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LocalProgress {
    /// Ticks stepped.
    pub steps: u16,
    /// Ticks whose time was dropped.
    pub dropped_ticks: u64,
}

/// Counts since the session was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LocalStats {
    /// Ticks stepped.
    pub steps: u64,
    /// Ticks whose time was dropped, because more had passed than an update may step.
    pub dropped_ticks: u64,
    /// Commands ordered into frames.
    pub commands: u64,
}
