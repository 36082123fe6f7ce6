//! What is derived from the room's secret: resume tokens (A6) and release tags (A12). No randomness is needed for either.

use core::fmt;

use bincode::{BorrowDecode, Encode};
use retick_core::digest::Digest;
use retick_core::seat::{Generation, Seat};
use retick_core::tick::Tick;
use retick_core::wire::{ClaimId, ReleaseTag, ResumeToken};

/// The secret of one room, from the caller's source of randomness. A restored room needs the same one, and no two rooms may
/// share one: tokens are bound to a room by its secret (A6, A12).
#[derive(Clone, Copy, PartialEq, Eq, Encode, BorrowDecode)]
pub struct RoomSecret(pub [u8; 32]);

impl fmt::Debug for RoomSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RoomSecret(secret)")
    }
}

/// What a release tag is of: generation, tick, and the head of the frame chain.
const TAGGED_BYTES: usize = 4 + 8 + 32;

/// Keys for each purpose, so that no token can be passed off as a tag.
#[derive(Clone)]
pub(super) struct Keys {
    secret: RoomSecret,
    token: [u8; 32],
    release: [u8; 32],
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys(secret)")
    }
}

impl Keys {
    pub(super) fn new(secret: &RoomSecret) -> Keys {
        Keys {
            secret: *secret,
            token: blake3::derive_key("retick 2026 resume token key v1", &secret.0),
            release: blake3::derive_key("retick 2026 release tag key v1", &secret.0),
        }
    }

    /// What they are derived from, which whoever restores the room needs.
    pub(super) fn secret(&self) -> RoomSecret {
        self.secret
    }

    /// The token of a seat's claim. `rotation` counts the tokens of that claim.
    pub(super) fn token(&self, seat: Seat, claim: ClaimId, rotation: u32) -> ResumeToken {
        let mut hasher = blake3::Hasher::new_keyed(&self.token);
        hasher.update(&[seat.number()]).update(&claim.0.to_le_bytes()).update(&rotation.to_le_bytes());
        ResumeToken(*hasher.finalize().as_bytes())
    }

    /// The tag of a release that leaves `next` as the first tick without a frame.
    pub(super) fn release_tag(&self, generation: Generation, next: Tick, head: Digest) -> ReleaseTag {
        let (generation, next) = (generation.0.to_le_bytes(), next.index().to_le_bytes());
        let mut bytes = [0; TAGGED_BYTES];
        let parts = generation.iter().chain(&next).chain(head.as_bytes());
        bytes.iter_mut().zip(parts).for_each(|(byte, part)| *byte = *part);
        let mut tag = ReleaseTag::default();
        let hash = blake3::keyed_hash(&self.release, &bytes);
        tag.0.iter_mut().zip(hash.as_bytes()).for_each(|(byte, part)| *byte = *part);
        tag
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a6_a_token_is_bound_to_room_seat_claim_and_rotation() {
        let seat = |index| Seat::new(index).expect("valid");
        let keys = Keys::new(&RoomSecret([1; 32]));
        let token = keys.token(seat(0), ClaimId(0), 0);
        assert!(token.matches(&keys.token(seat(0), ClaimId(0), 0)));
        let others = [
            keys.token(seat(1), ClaimId(0), 0),
            keys.token(seat(0), ClaimId(1), 0),
            keys.token(seat(0), ClaimId(0), 1),
            Keys::new(&RoomSecret([2; 32])).token(seat(0), ClaimId(0), 0),
        ];
        assert!(others.iter().all(|other| !token.matches(other)));
    }

    #[test]
    fn a12_a_tag_covers_generation_tick_and_history() {
        let keys = Keys::new(&RoomSecret([1; 32]));
        let tag = |generation, tick, head| keys.release_tag(Generation(generation), Tick::new(tick), Digest::of(head));
        let tags = [tag(0, 1, b"a"), tag(1, 1, b"a"), tag(0, 2, b"a"), tag(0, 1, b"b")];
        for (index, one) in tags.iter().enumerate() {
            assert!(tags.iter().skip(index + 1).all(|other| other != one));
        }
    }

    #[test]
    fn a6_secrets_are_never_printed() {
        let secret = RoomSecret([99; 32]);
        assert!(!std::format!("{secret:?}{:?}", Keys::new(&secret)).contains("99"));
    }
}
