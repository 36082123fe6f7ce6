//! What a client holds back while the game prepares a match: its session, and the frames that come meanwhile (K12, N7).

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::{Client, ClientEvent, EndReason};
use crate::identity::MatchDescriptor;
use crate::seat::Seat;
use crate::tick::Moment;
use crate::wire::{MAX_ROOM_MESSAGE_BYTES, RoomMessage};

/// Most messages that wait for a preparation: more than four minutes of one a tick at 60 Hz.
pub const MAX_HELD_MESSAGES: usize = 16_384;
/// Most bytes of them.
pub const MAX_HELD_BYTES: usize = 8 << 20;

const _: () = assert!(MAX_HELD_BYTES > MAX_ROOM_MESSAGE_BYTES, "the longest message can wait");

/// Whether a game prepares a match, for example by loading its assets, before the session is built (N7).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Preparation {
    /// The session is built as soon as the greeting was verified.
    #[default]
    None,
    /// It is built by [`Client::complete_preparation`]; until then the room does not wait for the seat.
    Awaited,
}

/// A match whose session is not built yet.
pub(super) struct HeldMatch {
    descriptor: MatchDescriptor,
    /// Whether the client had a session before, of an earlier generation.
    resumed: bool,
    messages: VecDeque<Vec<u8>>,
    bytes: usize,
}

impl HeldMatch {
    fn new(descriptor: &MatchDescriptor) -> HeldMatch {
        HeldMatch { descriptor: descriptor.clone(), resumed: false, messages: VecDeque::new(), bytes: 0 }
    }

    /// The next connection brings everything again.
    pub(super) fn forget_messages(&mut self) {
        self.messages.clear();
        self.bytes = 0;
    }
}

impl Client {
    /// The match that waits for [`Client::complete_preparation`], if one does.
    pub fn preparing(&self) -> Option<&MatchDescriptor> {
        self.held.as_ref().map(|held| &held.descriptor)
    }

    /// The game has prepared the match: builds its session, and takes what came meanwhile. Does nothing when no match waits.
    ///
    /// # Errors
    /// [`EndReason`], when the client is over because of it, or was before.
    pub fn complete_preparation(&mut self, now: Moment) -> Result<(), EndReason> {
        if let Some(end) = &self.end {
            return Err(end.clone());
        }
        let Some(held) = self.held.take() else { return Ok(()) };
        self.now = now;
        self.build_held(&held, now).map_err(|reason| self.finish(reason))
    }

    fn build_held(&mut self, held: &HeldMatch, now: Moment) -> Result<(), EndReason> {
        let (rules, seat) = (self.terms.ok_or(EndReason::Protocol)?.rules, self.seat());
        self.build_session(&held.descriptor, rules, seat)?;
        self.outbox.push_event(match seat {
            Some(seat) => ClientEvent::Joined { seat, resumed: held.resumed },
            None => ClientEvent::Watching { resumed: held.resumed },
        });
        if self.started {
            self.outbox.push_event(ClientEvent::Started);
        }
        if !self.greeted {
            // The next greeting says the rest.
            return Ok(());
        }
        self.send_ready_if_caught_up();
        for bytes in &held.messages {
            let message = RoomMessage::decode(bytes).map_err(EndReason::Message)?;
            // One of them may begin a generation that is to be prepared in its turn.
            if self.holds_back(&message) {
                self.hold(bytes)?;
            } else {
                self.take(message, now)?;
            }
        }
        Ok(())
    }

    /// Whether this message is of no use before there is a session: whatever is neither about the connection nor for the lobby.
    pub(super) fn holds_back(&self, message: &RoomMessage<'_>) -> bool {
        use RoomMessage::{Closing, Desync, Draining, Ephemeral, Pong, Refused, Roster, Started, Welcome};
        let is_for_now = match message {
            Welcome(_) | Refused(_) | Closing(_) | Pong { .. } | Ephemeral { .. } | Roster { .. } | Draining { .. } => {
                true
            }
            // A generation whose beginning is held back itself waits for it.
            Started { generation, .. } | Desync { generation, .. } => {
                self.terms.is_some_and(|terms| terms.generation == *generation)
            }
            _ => false,
        };
        self.held.is_some() && !is_for_now
    }

    pub(super) fn hold(&mut self, bytes: &[u8]) -> Result<(), EndReason> {
        let Some(held) = &mut self.held else { return Err(EndReason::Protocol) };
        let total = held.bytes + bytes.len();
        if held.messages.len() >= MAX_HELD_MESSAGES || total > MAX_HELD_BYTES {
            return Err(EndReason::PreparationOverflow);
        }
        held.bytes = total;
        held.messages.push_back(bytes.to_vec());
        Ok(())
    }

    /// Lets a greeted match wait for its preparation, or says that this one does already.
    pub(super) fn hold_match(&mut self, descriptor: &MatchDescriptor, seat: Option<Seat>) -> Result<(), EndReason> {
        self.check_match(descriptor, seat)?;
        let Some(held) = &self.held else {
            self.held = Some(HeldMatch::new(descriptor));
            return Ok(());
        };
        let (before, after, resumed) = (held.descriptor.digest(), descriptor.digest(), held.resumed);
        if before != after {
            if !self.follows(descriptor) {
                return Err(EndReason::MatchChanged { before, after });
            }
            self.held = Some(HeldMatch { resumed, ..HeldMatch::new(descriptor) });
        }
        if self.seat() == seat { Ok(()) } else { Err(EndReason::Protocol) }
    }

    /// Lets a new generation wait for its preparation: nothing is left of the session before.
    pub(super) fn hold_generation(&mut self, descriptor: &MatchDescriptor) -> Result<(), EndReason> {
        self.check_match(descriptor, self.seat())?;
        (self.session, self.chain) = (None, None);
        self.held = Some(HeldMatch { resumed: true, ..HeldMatch::new(descriptor) });
        Ok(())
    }
}
