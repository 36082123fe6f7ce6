//! Rounds: who wins one, the pause after it, and the end of the match.

use core::cmp::Reverse;

use retick_core::seat::Seat;
use serde::{Deserialize, Serialize};

use crate::player::{Player, Standing};
use crate::world::Skirmish;

/// Ticks between two rounds.
pub const INTERMISSION_TICKS: u16 = 180;

/// What the match is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Phase {
    /// The round is being played.
    #[default]
    Playing,
    /// The round is over; nobody moves.
    Intermission {
        /// Who won it.
        winner: Seat,
        /// Ticks until the next round.
        ticks_left: u16,
    },
    /// The match is over.
    Over {
        /// Who won most rounds; nobody when two won as many.
        winner: Option<Seat>,
    },
}

/// How far the match is.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Progress {
    pub phase: Phase,
    /// The round that is being played, or was last, from 1.
    pub round: u8,
}

impl Default for Progress {
    fn default() -> Self {
        Progress { phase: Phase::Playing, round: 1 }
    }
}

impl Skirmish {
    /// Whether this tick is played. Counts the intermission down, and starts the next round at its end.
    pub(crate) fn is_playing(&mut self) -> bool {
        match &mut self.progress.phase {
            Phase::Playing => return true,
            Phase::Intermission { ticks_left: 0 | 1, .. } => self.next_round(),
            Phase::Intermission { ticks_left, .. } => *ticks_left -= 1,
            Phase::Over { .. } => {}
        }
        false
    }

    fn next_round(&mut self) {
        self.progress = Progress { phase: Phase::Playing, round: self.progress.round.saturating_add(1) };
        self.bullets.clear();
        self.pickups.clear();
        self.players.iter_mut().for_each(|player| player.score = 0);
        for seat in (0..).map_while(Seat::new).take(self.players.len()) {
            let standing = self.players.get(seat.index()).map(|player| player.standing);
            if matches!(standing, Some(Standing::Alive | Standing::Down { .. })) {
                self.spawn(seat);
            }
        }
    }

    /// Ends the round when somebody has reached the score limit: for the highest score, and of equal ones for the first seat.
    pub(crate) fn finish_round(&mut self) {
        let key = |(seat, player): &(Seat, &Player)| (player.score, Reverse(*seat));
        let Some(winner) = self.seated().max_by_key(key).map(|(seat, _)| seat) else { return };
        let Some(player) = self.players.get_mut(winner.index()) else { return };
        if player.score < self.rules.score_limit {
            return;
        }
        player.rounds_won = player.rounds_won.saturating_add(1);
        self.progress.phase = if self.progress.round < self.rules.rounds {
            Phase::Intermission { winner, ticks_left: INTERMISSION_TICKS }
        } else {
            Phase::Over { winner: self.match_winner() }
        };
    }

    fn match_winner(&self) -> Option<Seat> {
        let most = self.players.iter().map(|player| player.rounds_won).max()?;
        let mut winners = self.seated().filter(|(_, player)| player.rounds_won == most);
        let (winner, _) = winners.next()?;
        if winners.next().is_none() { Some(winner) } else { None }
    }
}
