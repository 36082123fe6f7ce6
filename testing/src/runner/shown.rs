//! What a runner showed: each picture's projections, with the checksum of the state that they are of.

use retick_core::digest::Checksum;
use retick_core::tick::Tick;

use super::{Player, RunnerHarness};

/// Whether a harness keeps whole pictures, beside where they stood.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Pictures {
    /// Where they stood, alone.
    #[default]
    Placed,
    /// Their projections too, and the checksum of the state that each is of.
    Whole,
}

/// A picture, whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shown {
    /// The present.
    pub tick: Tick,
    /// Whether the present was confirmed.
    pub confirmed: bool,
    /// The checksum of the present.
    pub checksum: Checksum,
    /// The projection of the present; empty for a game that projects nothing.
    pub current: Vec<u8>,
    /// The projection of the tick before it.
    pub previous: Vec<u8>,
}

impl RunnerHarness {
    /// The pictures after each update, when the harness [keeps them whole](Pictures::Whole).
    pub fn shown(&self, player: usize) -> &[Shown] {
        &self.players[player].record.shown
    }

    /// Keeps what a runner shows now.
    pub(super) fn note_shown(&mut self, player: usize) {
        if self.setup.pictures == Pictures::Whole {
            let player = &mut self.players[player];
            let shown = shown(player);
            player.record.shown.extend(shown);
        }
    }
}

fn shown(player: &mut Player) -> Option<Shown> {
    let session = player.runner.session()?;
    let (tick, confirmed) = (session.head(), session.confirmed() >= session.head());
    let (current, previous) = session.projections();
    let (current, previous) = (current.to_vec(), previous.to_vec());
    let checksum = match player.runner.local_mut() {
        Some(local) => local.checksum_at(tick).ok()?,
        None => player.runner.session_mut()?.head_checksum().ok()?,
    };
    Some(Shown { tick, confirmed, checksum, current, previous })
}
