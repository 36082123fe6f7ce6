//! What goes in from a transport, and what comes out of a runner.

use alloc::boxed::Box;

#[cfg(doc)]
use super::Runner;
use super::{Lifecycle, Occupancy, Status};
use crate::asset::AssetPins;
use crate::client::ClientEvent;
use crate::identity::MatchDescriptor;

/// One start of a networked match, and the transport that serves it. Later ones are greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LinkId(pub(super) u64);

impl LinkId {
    /// The link of a runner's first networked match.
    pub const FIRST: LinkId = LinkId(0);
}

/// One preparation. Whoever completes it shows its ticket, so that a late one is told apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PreparationTicket(pub(super) u64);

/// What a transport has to say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransportEvent<'a> {
    /// It is open, for the first time or anew.
    Connected,
    /// A message of the room's.
    Message(&'a [u8]),
    /// It was lost and is being replaced. Not terminal.
    Reconnecting,
    /// It is lost for good. Terminal.
    Disconnected,
    /// It failed, with this for a person to read. Terminal.
    Error(&'a str),
    /// How full the room is.
    Occupancy(Occupancy),
}

/// Asks the game to prepare a match before tick 0: to find its assets by their names, and to verify them (K12).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PreparationRequest {
    /// What [`Runner::complete_preparation`] is called with.
    pub ticket: PreparationTicket,
    /// The room's match, which the loaded game plays.
    pub descriptor: MatchDescriptor,
    /// The assets that its config pins.
    pub assets: AssetPins,
}

/// What happened, for the game.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RunnerEvent {
    /// What is to be shown has changed.
    Status(Status),
    /// What the runner is doing has changed.
    Lifecycle(Lifecycle),
    /// A preparation is of no use any more: stop loading.
    PreparationAborted {
        /// Its ticket.
        ticket: PreparationTicket,
    },
    /// Something in the match, as the client told it; offline, the session's events alone. Confirmed frames come out by
    /// [`Runner::pop_confirmed_frame`], and rollbacks are counted.
    Match(ClientEvent),
}

/// What comes out of a runner.
#[must_use]
#[derive(Debug)]
pub enum Output<'a> {
    /// Send these bytes as one message, if the link is still the transport's.
    Transmit {
        /// The link.
        link: LinkId,
        /// The message.
        bytes: &'a [u8],
    },
    /// Close this link's transport, and that of every older link, once what was to be transmitted before is sent.
    Hangup {
        /// The link.
        link: LinkId,
    },
    /// Prepare a match.
    Prepare(Box<PreparationRequest>),
    /// Tell the game.
    Event(RunnerEvent),
}
