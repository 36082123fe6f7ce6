//! What belongs to one connection reaches no other: the raw bytes of everything that leaves the room are searched.

use std::collections::{BTreeMap, BTreeSet};

use retick_authority::room::ConnectionId;
use retick_core::tick::Moment;
use retick_core::wire::{ClientMessage, RoomMessage};

use super::super::game::mix;
use super::super::host::room_secret;
use super::super::trace::{Seen, Who};
use super::{Breach, Check, Rule, Terms, breach};

/// Bytes by which a mark is found; what follows them decides.
const PREFIX_BYTES: usize = 8;

#[derive(Clone, Debug)]
enum Mark {
    /// For this connection alone.
    Token(Vec<u8>, ConnectionId),
    /// For nobody.
    Secret(Vec<u8>),
    /// For whoever is there when it comes, but its sender; these, once it has come.
    Ephemeral(Vec<u8>, BTreeSet<ConnectionId>),
}

impl Mark {
    fn bytes(&self) -> &[u8] {
        match self {
            Mark::Token(bytes, _) | Mark::Secret(bytes) | Mark::Ephemeral(bytes, _) => bytes,
        }
    }
}

/// Everything that must be seen in certain places alone.
pub(super) struct Leaks {
    marks: BTreeMap<[u8; PREFIX_BYTES], Mark>,
    opened: BTreeMap<ConnectionId, Who>,
    /// Every connection that was ever greeted.
    greeted: BTreeSet<ConnectionId>,
    there: BTreeSet<ConnectionId>,
}

impl Leaks {
    pub(super) fn new(terms: &Terms) -> Leaks {
        let mut leaks =
            Leaks { marks: BTreeMap::new(), opened: BTreeMap::new(), greeted: BTreeSet::new(), there: BTreeSet::new() };
        leaks.mark(Mark::Secret(room_secret(terms.schedule.seed).0.to_vec()));
        for actor in &terms.schedule.actors {
            let first = mix(0x1D00 + u64::from(actor.number) * 16 + 1).to_le_bytes();
            leaks.mark(Mark::Secret(first.to_vec()));
        }
        leaks
    }

    fn mark(&mut self, mark: Mark) {
        if let Some(prefix) = mark.bytes().first_chunk() {
            self.marks.insert(*prefix, mark);
        }
    }

    fn find(&self, bytes: &[u8]) -> Vec<&Mark> {
        let windows = bytes.windows(PREFIX_BYTES).zip(0..);
        let found = windows.filter_map(|(window, start): (&[u8], usize)| {
            let mark = self.marks.get(window.first_chunk::<PREFIX_BYTES>()?)?;
            bytes[start..].starts_with(mark.bytes()).then_some(mark)
        });
        found.collect()
    }

    fn is_private(&self, bytes: &[u8]) -> bool {
        self.find(bytes).iter().any(|mark| matches!(mark, Mark::Ephemeral(..) | Mark::Token(..)))
    }

    /// An ephemeral has come: whoever is there now may have it, but its sender.
    fn handed(&mut self, connection: ConnectionId, bytes: &[u8]) {
        let Ok(ClientMessage::Ephemeral { payload }) = ClientMessage::decode(bytes) else { return };
        let Some(Mark::Ephemeral(_, there)) = payload.first_chunk().and_then(|prefix| self.marks.get_mut(prefix))
        else {
            return;
        };
        there.extend(self.there.iter().filter(|it| **it != connection));
    }

    fn sent(&mut self, at: Moment, to: &[ConnectionId], bytes: &[u8]) -> Result<(), Breach> {
        if let (Ok(RoomMessage::Welcome(welcome)), [connection]) = (RoomMessage::decode(bytes), to) {
            self.greeted.insert(*connection);
            if let Some(claim) = welcome.claim {
                let token = claim.token.0.to_vec();
                // A token that its owner may not have received is given out again, to a connection of the same owner.
                let owner = self.opened.get(connection).map(|who| who.actor);
                let before = self.marks.get(&token[..PREFIX_BYTES]).cloned();
                if let Some(Mark::Token(_, earlier)) = before
                    && self.opened.get(&earlier).map(|who| who.actor) != owner
                {
                    return Err(breach(Rule::TokenLeak, at).by(owner.unwrap_or(u32::MAX)));
                }
                self.mark(Mark::Token(token, *connection));
            }
        }
        for mark in self.find(bytes) {
            let leaked = match mark {
                Mark::Secret(_) => Some(Rule::SecretLeak),
                Mark::Token(_, owner) => (to != [*owner]).then_some(Rule::TokenLeak),
                Mark::Ephemeral(_, there) => {
                    let is_ephemeral = matches!(RoomMessage::decode(bytes), Ok(RoomMessage::Ephemeral { .. }));
                    let is_due = is_ephemeral && to.iter().all(|it| there.contains(it) && self.greeted.contains(it));
                    (!is_due).then_some(Rule::EphemeralLeak)
                }
            };
            if let Some(rule) = leaked {
                return Err(breach(rule, at));
            }
        }
        Ok(())
    }
}

impl Check for Leaks {
    fn see(&mut self, at: Moment, seen: &Seen) -> Result<(), Breach> {
        match seen {
            Seen::Opened { connection, who } => {
                self.opened.insert(*connection, *who);
                self.there.insert(*connection);
            }
            Seen::Lost { connection } => drop(self.there.remove(connection)),
            Seen::RoomDown => self.there.clear(),
            Seen::Marked { mark, .. } => self.mark(Mark::Ephemeral(mark.clone(), BTreeSet::new())),
            Seen::Handed { connection, bytes, read: true } => self.handed(*connection, bytes),
            Seen::Sent { to, bytes } => self.sent(at, to, bytes)?,
            // The log holds the secret and the names, and nothing else that is private.
            Seen::Record { bytes, .. } if self.is_private(bytes) => return Err(breach(Rule::EphemeralLeak, at)),
            _ => {}
        }
        Ok(())
    }
}
