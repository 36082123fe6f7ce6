//! Sending history to who was away, a bounded piece at a time, until it has caught up with the frontier (A7).

use retick_core::frame::Frame;
use retick_core::tick::Tick;
use retick_core::wire::ReleaseTag;

use super::Room;
use super::connections::Feed;
use super::history::History;
use super::release::Release;

/// Most messages of history that one piece of catching up sends to one connection.
pub const MAX_CATCH_UP_CHUNKS_PER_CONNECTION: usize = 1;
/// Least time between two pieces, on the room's clock, in nanoseconds. The pace is the room's, not that of whoever makes its
/// driver call often: about 1 MB a second, which an ordinary connection carries while it plays.
pub const CATCH_UP_INTERVAL_NANOS: u64 = 15_000_000;
/// Most messages of history that one call sends to all connections together.
pub const MAX_CATCH_UP_CHUNKS_PER_CALL: usize = 16;

impl Room {
    /// Sends the next pieces of history. A connection that has all of it gets every later release like anyone else.
    pub(super) fn send_history(&mut self) {
        let now = self.clock.time();
        // What waits for the log is not made more.
        if now < self.next_catch_up || self.outbox.is_held_up() {
            return;
        }
        self.next_catch_up = now.plus_nanos(CATCH_UP_INTERVAL_NANOS);
        self.send_snapshots();
        let generation = self.config.descriptor.generation();
        let Room { connections, history, release, replayed, outbox, .. } = self;
        let mut chunks_left = MAX_CATCH_UP_CHUNKS_PER_CALL;
        for (connection, feed) in connections.feeds_mut() {
            for _ in 0..chunks_left.min(MAX_CATCH_UP_CHUNKS_PER_CONNECTION) {
                let Feed::CatchUp { next } = *feed else {
                    break;
                };
                // Without a frame it goes on waiting here: the first one that it gets must stand alone.
                let Some((last, tag)) = read_chunk(history, next, release, replayed) else {
                    break;
                };
                outbox.transmit([connection], &release.message(generation, tag));
                chunks_left -= 1;
                let next = last.saturating_add(1);
                *feed = if next < history.frontier() { Feed::CatchUp { next } } else { Feed::Live };
            }
        }
        release.clear();
    }
}

/// Puts the frames from `next` on into `release`, the first one complete, and gives the last one's tick and tag.
fn read_chunk(
    history: &History,
    next: Tick,
    release: &mut Release,
    frames: &mut [Frame; 2],
) -> Option<(Tick, ReleaseTag)> {
    let [frame, before] = frames;
    let (mut tick, mut last) = (next, None);
    release.clear();
    while !release.is_full() && history.read(tick, frame) {
        release.add(frame, last.map(|_| &*before));
        core::mem::swap(frame, before);
        last = Some(tick);
        tick = tick.saturating_add(1);
    }
    let last = last?;
    Some((last, history.tag(last)?))
}
