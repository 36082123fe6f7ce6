//! Which states stay readable, and how they are read (S5). Results never depend on it.

use alloc::vec::Vec;

use super::Session;
use crate::digest::Checksum;
use crate::runtime::CheckpointError;
use crate::tick::Tick;

/// What a session keeps of the states behind its frontier (S5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Retention {
    /// What the match can still ask for: the last confirmed state onward, the report ticks' of the window, and the whole window
    /// while the session is not [`Standing::Live`]. Offline, where nobody asks, the last confirmed state alone.
    #[default]
    Required,
    /// Every confirmed state of the last [`super::SessionPolicy::checkpoint_window_ticks`]; for games that read old ones.
    Window,
}

/// How a session stands to its authority, told by whoever feeds it: a session can't know what it has not received (S5).
///
/// Frames that wait in the session's own queue are no catch-up: it holds them, and applies them within its budget.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Standing {
    /// It has received what the authority has confirmed, but for what is under way.
    #[default]
    Live,
    /// It misses confirmed frames that it has not received: the history of a late join or a reconnect still arrives.
    CatchingUp,
    /// It waits for a snapshot.
    AwaitingHydration,
}

/// Who may ask for old states.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Readers {
    /// A room, for the states of its report ticks.
    #[default]
    Room,
    /// Nobody: play is offline.
    Nobody,
}

/// The rule by which states are kept and released.
#[derive(Clone, Copy, Debug)]
pub(super) struct RetentionRule {
    pub(super) retention: Retention,
    pub(super) standing: Standing,
    pub(super) readers: Readers,
    pub(super) window_ticks: u32,
    pub(super) cadence_ticks: u32,
}

impl RetentionRule {
    /// Whether `S(state)` stays readable once the frontier is at `confirmed`.
    pub(super) fn keeps(&self, state: Tick, confirmed: Tick) -> bool {
        state >= confirmed || (state >= self.oldest(confirmed) && (self.keeps_all() || self.keeps_report(state)))
    }

    /// The oldest state that could be readable.
    pub(super) fn oldest(&self, confirmed: Tick) -> Tick {
        confirmed.saturating_sub(u64::from(self.window_ticks))
    }

    /// Whether the whole window is kept.
    pub(super) fn keeps_all(&self) -> bool {
        self.retention == Retention::Window || self.standing != Standing::Live
    }

    /// Whether a checksum of `S(state)` is due: `state = t + 1` for a tick `t` of the cadence (A8).
    pub(super) fn is_report(&self, state: Tick) -> bool {
        state > Tick::ZERO && state.saturating_sub(1).index().is_multiple_of(u64::from(self.cadence_ticks))
    }

    fn keeps_report(&self, state: Tick) -> bool {
        self.readers == Readers::Room && self.is_report(state)
    }
}

/// Why a confirmed state can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateReadError {
    /// The tick is beyond the confirmed frontier: what is predicted is never read as confirmed.
    #[error("S({tick}) is not confirmed yet")]
    NotConfirmed {
        /// The tick.
        tick: Tick,
    },
    /// The state was released, or the session began after it.
    #[error("S({tick}) is not kept any more")]
    Released {
        /// The tick.
        tick: Tick,
    },
    /// The runtime can't read the checkpoint.
    #[error("{0}")]
    Checkpoint(#[from] CheckpointError),
}

impl Session {
    /// Says how the session stands to its authority, which decides what [`Retention::Required`] keeps from here on.
    pub fn set_standing(&mut self, standing: Standing) {
        let kept_all = self.retention_rule().keeps_all();
        self.standing = standing;
        if !kept_all && self.retention_rule().keeps_all() {
            // The frontier's state stays readable from here on, so what a snapshot says beside it does too.
            self.timeline.keep_last_inputs();
        }
    }

    /// How the session stands to its authority, as it was told last.
    pub fn standing(&self) -> Standing {
        self.standing
    }

    pub(super) fn retention_rule(&self) -> RetentionRule {
        RetentionRule {
            retention: self.policy.retention,
            standing: self.standing,
            readers: self.readers,
            window_ticks: self.policy.checkpoint_window_ticks,
            cadence_ticks: self.policy.checksum_cadence_ticks,
        }
    }

    /// The checksum of the confirmed `S(tick)`: that of the last confirmed state is always there, others as [`Retention`] says.
    /// One that was not taken while the state was current is computed from its checkpoint.
    ///
    /// # Errors
    /// [`StateReadError`] tells a state that is not confirmed from one that was released.
    pub fn checksum_at(&mut self, tick: Tick) -> Result<Checksum, StateReadError> {
        match self.confirmed_checksum(tick) {
            Some(checksum) => Ok(checksum),
            None => Ok(Checksum::of(&self.read_state(tick)?)),
        }
    }

    /// The canonical bytes of the confirmed `S(tick)`. The live state is not disturbed (K4).
    pub(super) fn read_state(&mut self, tick: Tick) -> Result<Vec<u8>, StateReadError> {
        if tick > self.confirmed() {
            return Err(StateReadError::NotConfirmed { tick });
        }
        let checkpoint = self.timeline.checkpoint(tick).ok_or(StateReadError::Released { tick })?;
        let mut state = Vec::new();
        loop {
            let total = self.runtime.export(checkpoint, state.len() as u64, usize::MAX, &mut state)?;
            if state.len() as u64 >= total {
                return Ok(state);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(rule: RetentionRule, confirmed: u64) -> Vec<u64> {
        let states = 0..confirmed + 3;
        states.filter(|state| rule.keeps(Tick::new(*state), Tick::new(confirmed))).collect()
    }

    #[test]
    fn s5_each_rule_keeps_its_own_states() {
        let required = RetentionRule {
            retention: Retention::Required,
            standing: Standing::Live,
            readers: Readers::Room,
            window_ticks: 6,
            cadence_ticks: 4,
        };
        let window = RetentionRule { retention: Retention::Window, ..required };
        let whole: Vec<u64> = (14..23).collect();
        assert_eq!(kept(required, 20), [17, 20, 21, 22]);
        assert_eq!(kept(RetentionRule { readers: Readers::Nobody, ..required }, 20), [20, 21, 22]);
        assert_eq!(kept(window, 20), whole);
        assert_eq!(kept(RetentionRule { readers: Readers::Nobody, ..window }, 20), whole);
        for standing in [Standing::CatchingUp, Standing::AwaitingHydration] {
            assert_eq!(kept(RetentionRule { standing, ..required }, 20), whole);
        }
        assert_eq!(kept(window, 2), [0, 1, 2, 3, 4]);
    }
}
