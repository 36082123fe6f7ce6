//! Solo to co-op: a session's world becomes another local session's (S7).
//!
//! Co-op means another local session of the same number of seats: a shared screen, or a game's own transport. A room can't take
//! a promoted world, since it begins its matches at tick 0; and the new session exports no replay.

use alloc::boxed::Box;

use super::{Session, SessionPolicy};
use crate::identity::MatchDescriptor;
use crate::runtime::Runtime;
use crate::seat::SeatSet;
use crate::snapshot::{Origin, PromotionError, PromotionSnapshot, SnapshotError};

impl Session {
    /// The last confirmed state as a world that another local session goes on from, at the same tick. This session plays on.
    ///
    /// # Errors
    /// [`SnapshotError`] when the state can't be read.
    pub fn export_promotion(&mut self) -> Result<PromotionSnapshot, SnapshotError> {
        let snapshot = self.export_snapshot(self.confirmed())?;
        Ok(PromotionSnapshot::new(&self.descriptor, snapshot))
    }

    /// A local session that goes on with a promoted world, at its tick. The match must be the world's own, seed and generation
    /// included, and of as many seats; which of them are local is free. `runtime` is a fresh one of that match.
    ///
    /// Play goes on at one machine, or over a transport of the game's own: a room can't take a promoted world, since it begins its
    /// matches at tick 0. The session stays marked: it exports no replay
    /// ([`ReplayExportError::Promoted`](super::ReplayExportError::Promoted)), its snapshots carry the mark, and only promoted
    /// sessions take them.
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
    /// #         let (config_schema, capabilities) = (ConfigSchema::empty(), Capabilities { commands: false, projection: true });
    /// #         let state_schema = "count/v1";
    /// #         GameDescription { tick_rate: TickRate::Hz60, state_schema, config_schema, seats: 2..=2, capabilities }
    /// #     }
    /// #     fn init(_: &InitContext<'_>) -> Result<Self, u32> { Ok(Count(0)) }
    /// #     fn step(&mut self, context: &StepContext<'_, Self>) {
    /// #         self.0 += context.seats().map(|seat| u64::from(context.input(seat).0)).sum::<u64>();
    /// #     }
    /// #     fn project(&self, out: &mut Vec<u8>) { out.extend_from_slice(&self.0.to_le_bytes()) }
    /// # }
    /// # let factory = NativeFactory::<Count>::new(|sources| sources.module("count.rs", b"its source"))?;
    /// # let seats = SeatCount::new(2).expect("two seats");
    /// # let descriptor = MatchDescriptor::new(factory.manifest(), SessionConfig::empty(), SessionSeed::from_u64(1), seats);
    /// use core::time::Duration;
    /// use retick_core::session::{HeldInputs, LocalConfig, LocalSession, ReplayExportError, Session, SessionPolicy};
    /// use retick_core::snapshot::PromotionSnapshot;
    ///
    /// // One player, in a match of two seats from the start: a promotion widens nothing.
    /// let [me, friend] = [0, 1].map(|seat| Seat::new(seat).expect("below the limit"));
    /// let mut solo = LocalSession::new(factory.create(&descriptor)?, &descriptor, LocalConfig::default())?;
    /// solo.set_input(me, &[1])?;
    /// solo.update(Duration::from_millis(100), &mut HeldInputs)?;
    /// let saved = solo.export_promotion()?.to_bytes();
    ///
    /// // The friend is here: the world goes on with two players.
    /// let promotion = PromotionSnapshot::from_bytes(&saved)?;
    /// let (runtime, players) = (factory.create(promotion.descriptor())?, [me, friend].into_iter().collect());
    /// let mut session = Session::from_promotion(runtime, &descriptor, SessionPolicy::default(), players, &promotion)?;
    /// assert_eq!((session.confirmed(), session.projections().0), (Tick::new(6), &6u64.to_le_bytes()[..]));
    /// assert_eq!(session.export_replay(), Err(ReplayExportError::Promoted));
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`PromotionError`] naming what differs.
    pub fn from_promotion(
        runtime: Box<dyn Runtime>,
        descriptor: &MatchDescriptor,
        policy: SessionPolicy,
        local_seats: SeatSet,
        promotion: &PromotionSnapshot,
    ) -> Result<Session, PromotionError> {
        promotion.check(descriptor, runtime.manifest().identity())?;
        let mut session = Session::new(runtime, descriptor, policy, local_seats)?;
        session.origin = Origin::Promotion;
        session.hydrate(promotion.snapshot())?;
        Ok(session)
    }

    /// Where this session's world began. A world that was promoted stays so, whatever snapshot it takes later.
    pub fn origin(&self) -> Origin {
        self.origin
    }
}
