//! Games for proofs over whole matches, and what each proof is measured by: a runtime that only ever steps forward.

use std::sync::Arc;

use retick_core::digest::Checksum;
use retick_core::frame::{Frame, SeatFrame};
use retick_core::identity::MatchDescriptor;
use retick_core::runtime::{Checkpoint, Keep, Output, Runtime, RuntimeFactory, StepBatch};
use retick_core::seat::{ControlEpoch, Generation, Presence, Seat, SeatSet};
use retick_core::session::{Budget, Progress, Session, SessionEvent, SessionPolicy};
use retick_core::tick::Tick;
use retick_testing::fixtures::{ent_factory, pack_ent, tally_descriptor, tally_factory, zig_packed};
use retick_testing::strict::{StrictFactory, StrictProbe};

use crate::support::seat;

/// One state of a match: its canonical bytes and their checksum.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    pub bytes: Vec<u8>,
    pub checksum: Checksum,
}

/// A game of two seats whose inputs change in every tick, so that repeating the last one is wrong in every tick.
pub struct Game {
    pub factory: Arc<dyn RuntimeFactory>,
    pub input: fn(Seat, Tick) -> Vec<u8>,
}

/// Sums and a mix that depends on the order; and entities with a generator inside the state.
pub fn games() -> [Game; 2] {
    let pressing = |seat: Seat, tick: Tick| pack_ent((tick.index() + u64::from(seat.number())) % 2 == 1);
    [
        Game { factory: Arc::new(tally_factory()), input: zig_packed },
        Game { factory: Arc::new(ent_factory()), input: pressing },
    ]
}

impl Game {
    pub fn descriptor(&self) -> MatchDescriptor {
        tally_descriptor(self.factory.as_ref(), 2, 1)
    }

    /// The frames of the first `count` ticks.
    pub fn frames(&self, count: u64) -> Vec<Frame> {
        let frame = |tick| {
            let mut frame = Frame::new(Generation(0), Tick::new(tick));
            for seat in self.descriptor().seats().seats() {
                let input = (self.input)(seat, Tick::new(tick));
                let (presence, epoch) = (Presence::Human, ControlEpoch(0));
                frame.push_seat(SeatFrame { input: Some(&input), substituted: false, presence, epoch });
            }
            frame
        };
        (0..count).map(frame).collect()
    }

    /// A session whose seat 0 is local.
    pub fn player(&self, policy: SessionPolicy) -> Player<'_> {
        let factory = StrictFactory::new(self.factory.clone());
        let runtime = factory.create(&self.descriptor()).expect("a match of the game");
        let local: SeatSet = [seat(0)].into_iter().collect();
        let session = Session::new(runtime, &self.descriptor(), policy, local).expect("a valid policy");
        Player { game: self, session, probe: factory.probes().remove(0), rollbacks: vec![] }
    }
}

/// A session of a game, and the rollbacks that it reported.
pub struct Player<'a> {
    game: &'a Game,
    pub session: Session,
    pub probe: StrictProbe,
    pub rollbacks: Vec<(u64, u64)>,
}

impl Player<'_> {
    /// Predicts until `S(head)`.
    pub fn predict_to(&mut self, head: u64) {
        self.advance(0, head);
        assert_eq!(self.session.head(), Tick::new(head), "the window reaches that far");
    }

    /// Applies the frames before `end`, and predicts until `S(head)`.
    pub fn confirm_to(&mut self, frames: &[Frame], end: u64, head: u64) {
        let (next, end) = (self.session.received().index() as usize, end as usize);
        frames[next..end].iter().for_each(|frame| self.session.confirm(frame).expect("the next frame"));
        self.advance(usize::MAX, head);
    }

    fn advance(&mut self, confirmed_frames: usize, head: u64) -> Progress {
        let me = seat(0);
        self.session.skip_inputs_before(me, self.session.received());
        while self.session.next_input(me) < Tick::new(head) {
            let tick = self.session.next_input(me);
            self.session.submit(me, tick, &(self.game.input)(me, tick)).expect("the next tick");
        }
        let progress = self.session.advance(Budget { confirmed_frames, target: Tick::new(head) });
        while let Some(event) = self.session.poll_event() {
            if let SessionEvent::RolledBack { from, to } = event {
                self.rollbacks.push((from.index(), to.index()));
            }
        }
        progress.expect("the game does not fault")
    }

    /// The confirmed `S(tick)`.
    pub fn state(&mut self, tick: u64) -> Option<State> {
        state_of(&mut self.session, tick)
    }
}

/// The confirmed `S(tick)` of a session, if it is kept.
pub fn state_of(session: &mut Session, tick: u64) -> Option<State> {
    let snapshot = session.export_snapshot(Tick::new(tick)).ok()?;
    let bytes = snapshot.verify(session.descriptor()).expect("its own snapshot");
    Some(State { bytes, checksum: snapshot.checksum() })
}

/// `S(0)` and every state after it, by a runtime that only ever steps forward.
pub fn straight(factory: &dyn RuntimeFactory, descriptor: &MatchDescriptor, frames: &[Frame]) -> Vec<State> {
    let mut runtime = factory.create(descriptor).expect("a match of the game");
    let (mut batch, mut output) = (StepBatch::default(), Output::default());
    let keep = Keep::CHECKPOINT | Keep::CHECKSUM;
    runtime.keep(keep, &mut output).expect("S(0) is captured");
    batch.reset(Tick::ZERO);
    frames.iter().for_each(|frame| batch.push_frame(frame, factory.manifest().input_schema(), keep));
    runtime.advance(&batch, &mut output).expect("the game does not fault");
    let kept = output.kept.iter().filter_map(|kept| Some((kept.checkpoint?, kept.checksum?)));
    kept.map(|(checkpoint, checksum)| State { bytes: exported(runtime.as_mut(), checkpoint), checksum }).collect()
}

/// The canonical bytes of a kept state.
pub fn exported(runtime: &mut dyn Runtime, checkpoint: Checkpoint) -> Vec<u8> {
    let mut bytes = vec![];
    let total = runtime.export(checkpoint, 0, usize::MAX, &mut bytes).expect("a valid handle");
    assert_eq!(bytes.len() as u64, total);
    bytes
}
