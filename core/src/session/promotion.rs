//! Solo to co-op: a session's world becomes another local session's (S7).

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
    /// It is no membership of a room, and the session stays marked: it exports no replay
    /// ([`ReplayExportError::Promoted`](super::ReplayExportError::Promoted)), its snapshots carry the mark, and only promoted
    /// sessions take them.
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
