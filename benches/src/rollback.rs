//! Retick's side of a measurement: a session that rolls back equally far in every tick.

use retick_core::digest::Checksum;
use retick_core::frame::{Frame, SeatFrame};
use retick_core::identity::MatchDescriptor;
use retick_core::runtime::{Runtime, RuntimeFactory};
use retick_core::seat::{Generation, Presence, Seat, SeatCount};
use retick_core::session::{Budget, Session, SessionPolicy};
use retick_core::tick::Tick;

use crate::bulk::{Store, bulk_factory, bulk_match};
use crate::counters::{counters_factory, counters_match};
use crate::game::Inputs;

/// How often the session computes a checksum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Checksums {
    /// At the default cadence.
    Default,
    /// Once, of `S(1)`: GGRS is given none either.
    Never,
}

/// What a measured session is to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setup {
    /// How many ticks each confirmed frame comes late, and so how many are resimulated when it was guessed wrongly.
    pub depth: u16,
    /// What the seats press.
    pub inputs: Inputs,
    /// How often a checksum is computed.
    pub checksums: Checksums,
}

/// A session, and the authority's frames for it. One seat is local; with a single seat none is, since a local seat is never
/// guessed wrongly.
pub struct Rollback {
    session: Session,
    frame: Frame,
    seats: SeatCount,
    local: Option<Seat>,
    setup: Setup,
}

impl Rollback {
    /// A session at `S(0)` of a match.
    ///
    /// # Panics
    /// When the match is not the runtime's.
    #[must_use]
    pub fn new(runtime: Box<dyn Runtime>, descriptor: &MatchDescriptor, setup: Setup) -> Rollback {
        let seats = descriptor.seats();
        let local = seats.seats().next().filter(|_| seats.count() > 1);
        let mut policy = SessionPolicy::default();
        policy.prediction_window_ticks = policy.prediction_window_ticks.max(setup.depth + 1);
        if setup.checksums == Checksums::Never {
            (policy.checksum_cadence_ticks, policy.checkpoint_window_ticks) = (u32::MAX, u32::MAX);
        }
        let session = Session::new(runtime, descriptor, policy, local.into_iter().collect());
        let session = session.expect("a policy that the match can have");
        Rollback { session, frame: Frame::new(Generation(0), Tick::ZERO), seats, local, setup }
    }

    /// A match of [`Counters`](crate::counters::Counters).
    ///
    /// # Panics
    /// For no seats, and for more than a match can have.
    #[must_use]
    pub fn counters(seats: u8, setup: Setup) -> Rollback {
        let factory = counters_factory().expect("a valid manifest");
        let descriptor = counters_match(&factory, SeatCount::new(seats).expect("a seat count"));
        Rollback::new(factory.create(&descriptor).expect("the factory's own match"), &descriptor, setup)
    }

    /// A match of [`Bulk`](crate::bulk::Bulk) with two seats.
    ///
    /// # Panics
    /// For a size that the game does not take.
    #[must_use]
    pub fn bulk<B: Store>(bytes: u32, setup: Setup) -> Rollback {
        let factory = bulk_factory::<B>().expect("a valid manifest");
        let descriptor = bulk_match(&factory, SeatCount::new(2).expect("two seats"), bytes);
        Rollback::new(factory.create(&descriptor).expect("the factory's own match"), &descriptor, setup)
    }

    /// The ticks played.
    #[must_use]
    pub fn played(&self) -> u64 {
        self.session.head().index()
    }

    /// One tick: learn what was played `depth` ticks ago, roll back if it was guessed wrongly, predict one more.
    ///
    /// # Panics
    /// When the session resimulated another number of ticks than it had to.
    pub fn turn(&mut self) {
        self.submit();
        self.confirm();
        self.advance();
    }

    /// The first part of a turn.
    ///
    /// # Panics
    /// When the session refuses it.
    pub fn submit(&mut self) {
        let head = self.session.head();
        if let Some(seat) = self.local {
            let packed = [self.setup.inputs.of(seat.index(), head.index())];
            self.session.submit(seat, head, &packed).expect("the next tick");
        }
    }

    /// The second part: the frame of the tick that is `depth` ticks old, if there is one.
    pub fn confirm(&mut self) {
        if let Some(late) = self.played().checked_sub(u64::from(self.setup.depth)) {
            self.confirm_tick(late);
        }
    }

    fn confirm_tick(&mut self, tick: u64) {
        self.frame.reset(Generation(0), Tick::new(tick));
        for seat in self.seats.seats() {
            let packed = [self.setup.inputs.of(seat.index(), tick)];
            let presence = Presence::Human;
            self.frame.push_seat(SeatFrame { input: Some(&packed), presence, ..SeatFrame::default() });
        }
        self.session.confirm(&self.frame).expect("the next frame");
    }

    /// The third part.
    ///
    /// # Panics
    /// When the session resimulated another number of ticks than it had to.
    pub fn advance(&mut self) {
        let head = self.session.head();
        let budget = Budget { confirmed_frames: usize::MAX, target: head.saturating_add(1) };
        let progress = self.session.advance(budget).expect("the game never faults");
        let depth = u64::from(self.setup.depth);
        let wrong = self.setup.inputs == Inputs::Moving && head.index() >= depth;
        // The neutral input is a right guess of a held zero alone, so the first turns of held inputs may roll back.
        if self.setup.inputs == Inputs::Moving || head.index() > 2 * depth {
            assert_eq!(progress.resimulated, if wrong { depth } else { 0 }, "resimulated at tick {head}");
        }
        assert_eq!(self.session.head(), head.saturating_add(1), "one tick is played in every turn");
        while self.session.poll_event().is_some() {}
    }

    /// Confirms all that was played, and gives the checksum of the state: it depends on true inputs alone then.
    ///
    /// # Panics
    /// When the session faults.
    pub fn settle(&mut self) -> Checksum {
        let head = self.session.head();
        (self.session.received().index()..head.index()).for_each(|tick| self.confirm_tick(tick));
        let budget = Budget { confirmed_frames: usize::MAX, target: head };
        let _ = self.session.advance(budget).expect("the game never faults");
        while self.session.poll_event().is_some() {}
        assert_eq!((self.session.confirmed(), self.session.head()), (head, head), "everything is confirmed");
        self.head_checksum()
    }

    /// The checksum of the present.
    ///
    /// # Panics
    /// When the state has none.
    pub fn head_checksum(&mut self) -> Checksum {
        self.session.head_checksum().expect("a state with a canonical form")
    }
}
