//! What the lobby keeps about one room: who sees it, whose it is, and the seats that are kept for somebody (V1).

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use retick_core::digest::Digest;
use tokio::time::{Duration, Instant};
use tracing::warn;

use super::lobby_file::LobbyRecord;

/// Most reservations of one room at once: a seat is kept for one at a time, and no match has more seats.
pub(super) const MAX_RESERVATIONS: usize = retick_core::seat::MAX_SEATS as usize;

/// Who finds a room.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Visibility {
    /// Everyone: it stands in lists, and quick matches send players to it.
    Public,
    /// Only who knows its code.
    #[default]
    Private,
}

impl Visibility {
    /// The name that stands in answers.
    pub fn name(self) -> &'static str {
        match self {
            Visibility::Public => "public",
            Visibility::Private => "private",
        }
    }

    pub(super) fn from_name(name: &str) -> Option<Visibility> {
        [Visibility::Public, Visibility::Private].into_iter().find(|visibility| visibility.name() == name)
    }
}

/// Sixteen secret bytes, written as hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Secret([u8; 16]);

impl Secret {
    fn random() -> Result<Secret, getrandom::Error> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        Ok(Secret(bytes))
    }

    fn parse(text: &str) -> Option<Secret> {
        let text = text.as_bytes();
        let mut bytes = [0; 16];
        if text.len() != 2 * bytes.len() {
            return None;
        }
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(Secret(bytes))
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// What proves that somebody created a room, and may lock it. Unguessable; shown once, to the creator.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RoomKey(Secret);

/// Text that is no room key or reservation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("32 hexadecimal digits are expected")]
pub struct ParseKeyError;

impl RoomKey {
    pub(super) fn random() -> Result<RoomKey, getrandom::Error> {
        Secret::random().map(RoomKey)
    }

    /// What is kept of it: keys are compared by their digests, so the time tells nothing of the key.
    fn digest(&self) -> Digest {
        Digest::derived("retick 2026 room key v1", &[&self.0.0])
    }
}

impl fmt::Display for RoomKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for RoomKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RoomKey(secret)")
    }
}

impl FromStr for RoomKey {
    type Err = ParseKeyError;

    fn from_str(text: &str) -> Result<RoomKey, ParseKeyError> {
        Secret::parse(text).map(RoomKey).ok_or(ParseKeyError)
    }
}

/// Names a seat that is kept for whom a quick match sent to a room. Unguessable.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct ReservationId(Secret);

impl ReservationId {
    pub(super) fn parse(text: &str) -> Option<ReservationId> {
        Secret::parse(text).map(ReservationId)
    }
}

impl fmt::Display for ReservationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for ReservationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReservationId(secret)")
    }
}

#[derive(Clone, Copy, Debug)]
struct Reservation {
    id: ReservationId,
    expires: Instant,
    /// Somebody is on its way in with it. It does not expire before that is over, however it ends.
    held: bool,
}

impl Reservation {
    fn is_live(&self, now: Instant) -> bool {
        self.held || self.expires > now
    }
}

/// What the lobby keeps about one room.
#[derive(Debug)]
pub(super) struct Listing {
    key: Digest,
    state: Mutex<State>,
    /// Where it is written down, if it is. The lock makes the last one who writes the one who read last.
    folder: OnceLock<PathBuf>,
    writing: Mutex<()>,
}

#[derive(Debug)]
struct State {
    visibility: Visibility,
    reservations: Vec<Reservation>,
}

impl Listing {
    pub(super) fn new(visibility: Visibility, key: &RoomKey) -> Arc<Listing> {
        Listing::restored(LobbyRecord { visibility, key: key.digest() })
    }

    /// As it was written down.
    pub(super) fn restored(LobbyRecord { visibility, key }: LobbyRecord) -> Arc<Listing> {
        let state = State { visibility, reservations: Vec::new() };
        Arc::new(Listing { key, state: Mutex::new(state), folder: OnceLock::new(), writing: Mutex::default() })
    }

    /// From now on it is written down in the room's folder, once that is there.
    pub(super) fn keep_in(&self, folder: PathBuf) {
        // A room has one folder for its life.
        let _ = self.folder.set(folder);
    }

    /// Writes down what restores it (A12), if it has a folder. Blocks for as long as the disk takes.
    pub(super) fn write_down(&self) {
        let Some(folder) = self.folder.get() else { return };
        let _turn = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let record = LobbyRecord { visibility: self.visibility(), key: self.key };
        // There is no folder before the room's log is opened, which writes this too, and none once the room has ended.
        if let Err(error) = record.store(folder)
            && error.kind() != io::ErrorKind::NotFound
        {
            warn!(folder = %folder.display(), %error, "the lobby's part of a room was not kept");
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is a single assignment, insert or removal.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_owned_by(&self, key: &RoomKey) -> bool {
        key.digest() == self.key
    }

    pub(super) fn visibility(&self) -> Visibility {
        self.state().visibility
    }

    pub(super) fn set_visibility(&self, visibility: Visibility) {
        self.state().visibility = visibility;
    }

    /// Seats that are kept for somebody right now.
    pub(super) fn reserved(&self, now: Instant) -> usize {
        self.state().reservations.iter().filter(|reservation| reservation.is_live(now)).count()
    }

    /// Keeps one of `open_seats` for somebody, if one is left that is kept for nobody.
    pub(super) fn reserve(&self, open_seats: usize, now: Instant, time: Duration) -> Option<ReservationId> {
        let mut state = self.state();
        state.reservations.retain(|reservation| reservation.is_live(now));
        if state.reservations.len() >= open_seats.min(MAX_RESERVATIONS) {
            return None;
        }
        let id = ReservationId(Secret::random().ok()?);
        state.reservations.push(Reservation { id, expires: now + time, held: false });
        Some(id)
    }

    /// Somebody comes in with a reservation. It is held until what this gives is dropped; `None` for one that is unknown, has
    /// expired, or is held already.
    pub(super) fn hold(self: &Arc<Self>, id: ReservationId, now: Instant) -> Option<Held> {
        let mut state = self.state();
        let reservation = state.reservations.iter_mut().find(|reservation| reservation.id == id)?;
        if reservation.held || !reservation.is_live(now) {
            return None;
        }
        reservation.held = true;
        Some(Held { listing: self.clone(), id })
    }

    /// Whether one of `open_seats` is left for a newcomer, beside those that are kept for others. `settled` reservations have got
    /// their seats already, which are not open any more. Where none is open the room itself says so.
    pub(super) fn has_seat_for(&self, open_seats: usize, settled: usize, held: Option<&Held>, now: Instant) -> bool {
        let state = self.state();
        let others = state.reservations.iter().filter(|reservation| reservation.is_live(now));
        let others = others.filter(|reservation| held.is_none_or(|held| held.id != reservation.id)).count();
        open_seats == 0 || others.saturating_sub(settled) < open_seats
    }
}

/// A reservation that is being used. Dropping it gives it up: the seat is taken by then, or will not be.
#[derive(Debug)]
pub(super) struct Held {
    listing: Arc<Listing>,
    id: ReservationId,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.listing.state().reservations.retain(|reservation| reservation.id != self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing() -> Arc<Listing> {
        Listing::new(Visibility::Public, &RoomKey::random().expect("the system has randomness"))
    }

    #[test]
    fn v1_no_more_seats_are_kept_than_are_free_and_each_only_for_its_time() {
        let (listing, now, time) = (listing(), Instant::now(), Duration::from_secs(10));
        let reserve = |at| listing.reserve(2, at, time).is_some();
        assert!(reserve(now) && reserve(now) && !reserve(now));
        assert_eq!((listing.reserved(now), listing.reserved(now + time)), (2, 0));
        assert!(!reserve(now + time - Duration::from_nanos(1)) && reserve(now + time));
        assert!(listing.reserve(0, now + 2 * time, time).is_none());
    }

    #[test]
    fn l02_a_reservation_that_is_used_is_never_released_before_the_check_is_over() {
        let (listing, now, time) = (listing(), Instant::now(), Duration::from_secs(10));
        let id = listing.reserve(1, now, time).expect("one is free");
        let held = listing.hold(id, now + time - Duration::from_nanos(1)).expect("it is in time");
        let late = now + 100 * time;
        assert_eq!(listing.reserved(late), 1);
        assert!(listing.hold(id, late).is_none(), "it is used once");
        assert!(listing.reserve(1, late, time).is_none());
        assert!(!listing.has_seat_for(1, 0, None, late) && listing.has_seat_for(1, 0, Some(&held), late));
        assert!(listing.has_seat_for(2, 0, None, late) && listing.has_seat_for(0, 0, None, late));
        drop(held);
        assert!(listing.reserved(late) == 0 && listing.has_seat_for(1, 0, None, late));
        let expired = listing.reserve(1, now, time).expect("one is free");
        assert!(listing.hold(expired, now + time).is_none());
    }

    #[test]
    fn v1_two_that_come_in_together_with_reservations_both_find_their_seats() {
        let (listing, now, time) = (listing(), Instant::now(), Duration::from_secs(10));
        let [first, second] =
            [(); 2].map(|()| listing.reserve(2, now, time).and_then(|id| listing.hold(id, now)).expect("one is free"));
        assert!(listing.has_seat_for(2, 0, Some(&first), now));
        // The first has its seat, and its reservation is not given up yet.
        assert!(listing.has_seat_for(1, 1, Some(&second), now) && !listing.has_seat_for(1, 1, None, now));
        drop((first, second));
    }

    #[test]
    fn v1_a_room_key_is_its_text_and_shown_nowhere_else() {
        let key = RoomKey::random().expect("the system has randomness");
        let listing = Listing::new(Visibility::Private, &key);
        assert!(key.to_string().parse().is_ok_and(|parsed| listing.is_owned_by(&parsed)));
        assert!(!listing.is_owned_by(&RoomKey::random().expect("the system has randomness")));
        assert_eq!(format!("{key:?}"), "RoomKey(secret)");
        for text in ["", "0", &key.to_string()[1..], &"g".repeat(32), &"ä".repeat(16)] {
            assert_eq!(text.parse::<RoomKey>(), Err(ParseKeyError), "{text}");
        }
    }
}
