//! One caller at a time looks for a room and makes one if it must, so that two callers find one room and don't make two (V1).

use std::sync::{Mutex, PoisonError};

/// Held while a quick match looks for a room or makes one.
#[derive(Debug, Default)]
pub(super) struct Matching(Mutex<()>);

impl Matching {
    /// What `find` gives, or else what `make` does. Nobody finds or makes anything in between.
    pub(super) fn find_or_make<T>(&self, find: impl FnOnce() -> Option<T>, make: impl FnOnce() -> T) -> T {
        // It guards no data that could be half done.
        let _turn = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        find().unwrap_or_else(make)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::{channel, sync_channel};
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// How long the second caller is given to look where it must not. A correct lock makes every run wait for so long.
    const CHANCE: Duration = Duration::from_millis(300);

    #[test]
    fn v1_who_looks_while_another_makes_a_room_finds_that_one() {
        let (matching, rooms) = (Matching::default(), AtomicUsize::new(0));
        let (found_none, may_look) = channel();
        let (looks, looked) = sync_channel(1);
        let find = || Some(()).filter(|()| rooms.load(Ordering::SeqCst) > 0);
        let make = || {
            rooms.fetch_add(1, Ordering::SeqCst);
        };
        let (matching, find, make) = (&matching, &find, &make);
        let early = thread::scope(|scope| {
            let second = scope.spawn(move || {
                may_look.recv().expect("the first looks");
                let looks_now = || {
                    let found = find();
                    looks.send(found.is_some()).expect("one look");
                    found
                };
                matching.find_or_make(looks_now, make);
            });
            let mut early = None;
            let makes_slowly = || {
                // The first has found nothing: the worst moment for the second to look.
                found_none.send(()).expect("the second waits");
                early = looked.recv_timeout(CHANCE).ok();
                make();
            };
            matching.find_or_make(find, makes_slowly);
            second.join().expect("no panic");
            early
        });
        assert_eq!((early, rooms.load(Ordering::SeqCst)), (None, 1), "one looked in between, and rooms were made");
        assert_eq!(looked.try_recv(), Ok(true), "the second found the first one's room");
    }

    #[test]
    fn v1_a_caller_that_panics_keeps_nobody_else_from_matching() {
        let matching = Matching::default();
        let panics =
            thread::scope(|scope| scope.spawn(|| matching.find_or_make(|| None::<u8>, || panic!("made"))).join());
        assert!(panics.is_err());
        assert_eq!(matching.find_or_make(|| None, || 7), 7);
    }
}
