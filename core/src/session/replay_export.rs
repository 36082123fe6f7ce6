//! A session's own match as a replay (R1, R4).

use alloc::vec::Vec;

use super::{FrameReadError, Session, StateReadError};
use crate::frame::Frame;
use crate::replay::Recorder;
use crate::snapshot::Origin;
use crate::tick::Tick;

/// Why a session exports no replay.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReplayExportError {
    /// The policy retains no frames: [`SessionPolicy::input_retention`](super::SessionPolicy::input_retention) is
    /// [`InputRetention::Off`](super::InputRetention::Off).
    #[error("no frames are retained: SessionPolicy::input_retention must be All")]
    NotRetained,
    /// The oldest frames were dropped, by the policy or at [`super::MAX_RETAINED_INPUT_BYTES`].
    #[error("frames are retained from tick {first} on only, where a replay begins at tick 0")]
    Dropped {
        /// The first tick whose frame is retained.
        first: Tick,
    },
    /// The session's world came out of a promotion: it began outside the match, and nothing vouches for its start (S7).
    #[error("the session was promoted")]
    Promoted,
    /// The session was made of a snapshot, and never had the frames before it.
    #[error("the session began at the snapshot of S({tick})")]
    Hydrated {
        /// The snapshot's tick.
        tick: Tick,
    },
    /// A retained frame can't be read.
    #[error("{0}")]
    Frame(#[from] FrameReadError),
    /// The last state can't be read.
    #[error("{0}")]
    State(#[from] StateReadError),
}

impl Session {
    /// The match so far as a complete replay: every confirmed frame, the checksums of the report ticks, and that of the last
    /// confirmed state (R1, R4). Nothing that is predicted or queued stands in it.
    ///
    /// ```
    /// # use retick_core::{config::*, frame::*, identity::*, input::*, rng::SessionSeed, runtime::*, seat::*, tick::*};
    /// # #[derive(Clone, serde::Serialize, serde::Deserialize)]
    /// # struct Count(u64);
    /// # #[derive(Clone)]
    /// # struct Add(bool);
    /// # impl GameInput for Add {
    /// #     fn schema() -> InputSchema { InputSchema::builder("add/v1").boolean("add").build().expect("valid") }
    /// #     fn pack(&self, packer: &mut Packer<'_>) { packer.boolean(self.0) }
    /// #     fn unpack(unpacker: &mut Unpacker<'_>) -> Self { Add(unpacker.boolean()) }
    /// # }
    /// # impl Simulation for Count {
    /// #     type Input = Add;
    /// #     type Command = NoCommand;
    /// #     fn describe() -> GameDescription {
    /// #         let (config_schema, capabilities) = (ConfigSchema::empty(), Capabilities::default());
    /// #         let state_schema = "count/v1";
    /// #         GameDescription { tick_rate: TickRate::Hz60, state_schema, config_schema, seats: 1..=1, capabilities }
    /// #     }
    /// #     fn init(_: &InitContext<'_>) -> Result<Self, u32> { Ok(Count(0)) }
    /// #     fn step(&mut self, context: &StepContext<'_, Self>) {
    /// #         self.0 += context.seats().map(|seat| u64::from(context.input(seat).0)).sum::<u64>();
    /// #     }
    /// # }
    /// # let factory = NativeFactory::<Count>::new(|sources| sources.module("count.rs", b"its source"))?;
    /// # let seats = SeatCount::new(1).expect("one seat");
    /// # let descriptor = MatchDescriptor::new(factory.manifest(), SessionConfig::empty(), SessionSeed::from_u64(1), seats);
    /// use retick_core::replay::{Verdict, verify};
    /// use retick_core::session::{Budget, InputRetention, ReplayExportError, Session, SessionPolicy};
    ///
    /// let play = |input_retention| {
    ///     let policy = SessionPolicy { input_retention, ..SessionPolicy::default() };
    ///     let mut session = Session::new(factory.create(&descriptor)?, &descriptor, policy, SeatSet::EMPTY)?;
    ///     for tick in 0..100 {
    ///         let mut frame = Frame::new(Generation(0), Tick::new(tick));
    ///         frame.push_seat(SeatFrame { input: Some(&[1]), presence: Presence::Human, ..SeatFrame::default() });
    ///         session.confirm(&frame)?;
    ///     }
    ///     session.advance(Budget { confirmed_frames: 100, target: Tick::ZERO })?;
    ///     Ok::<_, Box<dyn core::error::Error>>(session)
    /// };
    /// let replay = play(InputRetention::All)?.export_replay()?;
    /// assert!(matches!(verify(&replay, &factory), Verdict::Verified { checksums: 2, .. }));
    ///
    /// let refused = play(InputRetention::Last(60))?.export_replay();
    /// assert_eq!(refused, Err(ReplayExportError::Dropped { first: Tick::new(40) }));
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ReplayExportError`], when the session does not hold the whole match.
    pub fn export_replay(&mut self) -> Result<Vec<u8>, ReplayExportError> {
        self.check_exportable()?;
        let end = self.confirmed();
        let mut recorder = Recorder::new(self.runtime.manifest(), &self.descriptor);
        let mut frame = Frame::new(self.descriptor.generation(), Tick::ZERO);
        let (mut tick, mut reported) = (Tick::ZERO, 0);
        while tick < end {
            self.read_frame(tick, &mut frame)?;
            recorder.push_frame(&frame);
            tick = tick.saturating_add(1);
            if let Some((state, checksum)) =
                self.input_log.checksums().get(reported).filter(|(state, _)| *state == tick)
            {
                recorder.push_checksum(*state, *checksum);
                reported += 1;
            }
        }
        if self.input_log.checksums().back().is_none_or(|(state, _)| *state != end) {
            recorder.push_checksum(end, self.checksum_at(end)?);
        }
        recorder.finish();
        Ok(recorder.take_bytes())
    }

    fn check_exportable(&self) -> Result<(), ReplayExportError> {
        if self.origin == Origin::Promotion {
            return Err(ReplayExportError::Promoted);
        }
        if let Some(tick) = self.hydrated_at {
            return Err(ReplayExportError::Hydrated { tick });
        }
        match self.first_retained_frame() {
            None => Err(ReplayExportError::NotRetained),
            Some(Tick::ZERO) => Ok(()),
            Some(first) => Err(ReplayExportError::Dropped { first }),
        }
    }
}
