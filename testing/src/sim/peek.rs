//! What the proofs look at while a match runs, without taking a copy of everything that was observed.

use retick_core::frame::Frame;

use super::SimulatedMatch;
use super::players::Kind;

impl SimulatedMatch {
    /// The frames that a real client has confirmed and applied so far, in order; none of a raw seat's.
    pub(crate) fn confirmed_frames(&self, seat: usize) -> &[Frame] {
        match self.players.list.get(seat).map(|player| &player.kind) {
            Some(Kind::Client(client)) => client.frames(),
            _ => &[],
        }
    }
}
