//! How a room's status gets out: at once when something has happened, and else now and then, since ticks and inputs alone change
//! nothing but counts.

use tokio::sync::watch;
use tokio::time::{Duration, Instant};

use super::status::{RoomPhase, RoomStatus};

/// How old a room's counts may be.
const INTERVAL: Duration = Duration::from_millis(100);

/// The room's end of its status.
#[derive(Debug)]
pub(super) struct StatusFeed {
    sender: watch::Sender<RoomStatus>,
    has_news: bool,
    /// Turns were taken since it was published.
    is_behind: bool,
    next: Instant,
}

impl StatusFeed {
    pub(super) fn new(status: RoomStatus) -> (StatusFeed, watch::Receiver<RoomStatus>) {
        let (sender, receiver) = watch::channel(status);
        (StatusFeed { sender, has_news: false, is_behind: false, next: Instant::now() }, receiver)
    }

    /// Something has happened that is to be known at once.
    pub(super) fn mark_news(&mut self) {
        self.has_news = true;
    }

    /// Whether it is to be published, at the end of a turn at `now`.
    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        self.is_behind = true;
        self.has_news || self.next <= now
    }

    /// When it is to be published, if nothing happens before.
    pub(super) fn due(&self) -> Option<Instant> {
        self.is_behind.then_some(self.next)
    }

    pub(super) fn publish(&mut self, now: Instant, update: impl FnOnce(&mut RoomStatus)) {
        (self.has_news, self.is_behind, self.next) = (false, false, now + INTERVAL);
        self.sender.send_modify(update);
    }
}

impl Drop for StatusFeed {
    fn drop(&mut self) {
        // However the room's task ends, nobody may take the room for a living one.
        self.sender.send_modify(|status| {
            status.phase = RoomPhase::Closed;
            status.connections = 0;
        });
    }
}

#[cfg(test)]
mod tests {
    use retick_core::config::SessionConfig;
    use retick_core::identity::{IdentityManifest, MatchDescriptor};
    use retick_core::input::InputSchema;
    use retick_core::rng::SessionSeed;
    use retick_core::seat::SeatCount;
    use retick_core::tick::TickRate;

    use super::*;
    use crate::room::{Room, RoomConfig, RoomSecret};

    fn feed() -> (StatusFeed, watch::Receiver<RoomStatus>) {
        let schema = InputSchema::builder("feed/v1").integer("x", 0..=1).build().expect("a schema");
        let manifest = IdentityManifest::builder("native", 1, TickRate::Hz60).input_schema(schema).build();
        let (manifest, seats) = (manifest.expect("a manifest"), SeatCount::new(1).expect("one"));
        let descriptor = MatchDescriptor::new(&manifest, SessionConfig::empty(), SessionSeed::from_u64(1), seats);
        let room = Room::new(RoomConfig::new(descriptor), RoomSecret([0; 32])).expect("the default rules");
        StatusFeed::new(RoomStatus::new(&room))
    }

    #[test]
    fn v1_news_is_published_at_once_and_counts_within_a_tenth_of_a_second() {
        let (mut feed, mut status) = feed();
        let begin = feed.next;
        assert!(feed.is_due(begin), "nothing was published yet");
        feed.publish(begin, |status| status.connections = 1);
        assert_eq!((status.borrow_and_update().connections, feed.due()), (1, None));
        let soon = begin + Duration::from_millis(99);
        assert!(!feed.is_due(soon));
        assert_eq!(feed.due(), Some(begin + INTERVAL), "a turn is to be told of, even if no other follows");
        feed.mark_news();
        assert!(feed.is_due(soon));
        feed.publish(soon, |status| status.connections = 2);
        assert!(!feed.is_due(soon + Duration::from_millis(99)) && feed.is_due(soon + INTERVAL));
        drop(feed);
        assert_eq!((status.borrow().connections, status.borrow().phase), (0, RoomPhase::Closed));
    }
}
