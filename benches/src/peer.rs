//! GGRS's side of a measurement: its `SyncTestSession`, which rolls back equally far in every tick too.
//!
//! States are saved and loaded as GGRS's users do: cloned into the cell, cloned out of it. No checksum is given.

use std::hint::black_box;
use std::marker::PhantomData;

use ggrs::{Config, GgrsRequest, PredictRepeatLast, SessionBuilder, SyncTestSession};
use retick_core::digest::Checksum;

use crate::game::{ByteInput, Game, Inputs, checksum_of};

/// The version that is measured, as the workspace's manifest asks for it.
pub const GGRS_VERSION: &str = "0.13";

struct Peer<G>(PhantomData<fn() -> G>);

impl<G: Game> Config for Peer<G> {
    type Input = ByteInput;
    type InputPredictor = PredictRepeatLast;
    type State = G;
    type Address = u8;
}

/// A GGRS session, and the state that it drives.
pub struct Ggrs<G: Game> {
    session: SyncTestSession<Peer<G>>,
    state: G,
    played: u64,
}

impl<G: Game> Ggrs<G> {
    /// A session before its first tick, which resimulates `distance` ticks in every tick.
    ///
    /// # Panics
    /// For a number of players or a distance that GGRS refuses.
    #[must_use]
    pub fn new(seats: u8, distance: u16, state: G) -> Ggrs<G> {
        let distance = usize::from(distance);
        let builder = SessionBuilder::<Peer<G>>::new().with_num_players(usize::from(seats)).expect("a player count");
        // Its default is a window of eight; the distance must be smaller than the window.
        let builder = builder.with_max_prediction_window(distance.max(7) + 1);
        let session = builder.with_check_distance(distance).start_synctest_session().expect("a valid session");
        Ggrs { session, state, played: 0 }
    }

    /// One tick.
    ///
    /// # Panics
    /// When GGRS reports an error.
    pub fn turn(&mut self) {
        for seat in 0..self.session.num_players() {
            let input = ByteInput(Inputs::Moving.of(seat, self.played));
            self.session.add_local_input(seat, input).expect("a local player");
        }
        for request in self.session.advance_frame().expect("no mismatch") {
            match request {
                GgrsRequest::SaveGameState { cell, frame } => cell.save(frame, Some(self.state.clone()), None),
                GgrsRequest::LoadGameState { cell, .. } => self.state = cell.load().expect("a saved state"),
                GgrsRequest::AdvanceFrame { inputs } => self.state.play(inputs.iter().map(|(input, _)| input.0)),
            }
        }
        self.played += 1;
        black_box(&self.state);
    }

    /// The ticks played.
    #[must_use]
    pub fn played(&self) -> u64 {
        self.played
    }

    /// The state.
    #[must_use]
    pub fn state(&self) -> &G {
        &self.state
    }

    /// The checksum that Retick would give to the state.
    ///
    /// # Panics
    /// When the state has no canonical form.
    #[must_use]
    pub fn checksum(&self) -> Checksum {
        checksum_of(self.played, &self.state).expect("a state with a canonical form")
    }
}
