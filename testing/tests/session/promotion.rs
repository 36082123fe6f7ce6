//! Solo to co-op: the world goes on, its mark stays with it, and nothing else comes with it (S7).

use std::sync::Arc;

use retick_core::codec::wire::{WireError, encode};
use retick_core::config::SessionConfig;
use retick_core::frame::{Frame, SeatFrame};
use retick_core::identity::{DescriptorError, MatchDescriptor};
use retick_core::rng::SessionSeed;
use retick_core::runtime::{Runtime, RuntimeFactory};
use retick_core::seat::{ControlEpoch, Generation, Presence, SeatCount, SeatSet};
use retick_core::session::{
    Budget, InputRetention, LocalConfig, LocalSession, LocalSetupError, ReplayExportError, Session, SessionError,
    SessionPolicy,
};
use retick_core::snapshot::{Origin, PromotionError, PromotionSnapshot, Snapshot, SnapshotError};
use retick_core::tick::Tick;
use retick_testing::fixtures::{ent_factory, pack_tally, tally_descriptor, tally_factory, zig_packed};
use retick_testing::strict::StrictFactory;

use crate::local::{TICK, bots, config, descriptor, local, seats};
use crate::support::seat;

fn runtime(descriptor: &MatchDescriptor) -> Box<dyn Runtime> {
    StrictFactory::new(Arc::new(tally_factory())).create(descriptor).expect("a match of TALLY")
}

fn policy() -> SessionPolicy {
    SessionPolicy { input_retention: InputRetention::All, ..SessionPolicy::default() }
}

/// A solo player on seat 0, bots on the others, for 100 ticks.
fn solo() -> LocalSession {
    let config = LocalConfig { local_seats: seats(&[0]), bot_seats: seats(&[1, 2, 3]), ..config() };
    let (mut session, _) = local(config, vec![]);
    session.set_input(seat(0), &pack_tally(4)).expect("a local seat");
    for _ in 0..100 {
        session.update(TICK, &mut bots).expect("plays");
    }
    assert_eq!(session.tick(), Tick::new(100));
    session
}

fn promoted() -> PromotionSnapshot {
    let promotion = solo().export_promotion().expect("a confirmed state");
    assert_eq!((promotion.tick(), promotion.descriptor()), (Tick::new(100), &descriptor()));
    PromotionSnapshot::from_bytes(&promotion.to_bytes()).expect("its own bytes")
}

fn co_op(promotion: &PromotionSnapshot) -> Session {
    let descriptor = descriptor();
    let session = Session::from_promotion(runtime(&descriptor), &descriptor, policy(), seats(&[0, 1]), promotion);
    session.expect("the same match")
}

/// A frame of the co-op: two players, two bots.
fn frame(tick: u64) -> Frame {
    let tick = Tick::new(tick);
    let mut frame = Frame::new(Generation(0), tick);
    for number in 0..4 {
        let presence = if number < 2 { Presence::Human } else { Presence::Bot };
        let packed = zig_packed(seat(3 - number), tick);
        frame.push_seat(SeatFrame { input: Some(&packed), presence, epoch: ControlEpoch(1), substituted: false });
    }
    frame
}

fn apply(session: &mut Session, frames: &[Frame]) {
    frames.iter().for_each(|frame| session.confirm(frame).expect("next"));
    session.advance(Budget { confirmed_frames: usize::MAX, target: Tick::ZERO }).expect("plays");
}

#[test]
fn s7_a_promoted_world_goes_on_as_if_it_had_never_moved() {
    let mut solo = solo();
    let mut session = co_op(&promoted());
    assert_eq!(
        (session.confirmed(), session.head(), session.origin()),
        (Tick::new(100), Tick::new(100), Origin::Promotion)
    );
    assert_eq!(session.checksum_at(Tick::new(100)), solo.checksum_at(Tick::new(100)));
    // An unpromoted session with the frames of both lives.
    let mut whole = Session::new(runtime(&descriptor()), &descriptor(), policy(), SeatSet::EMPTY).expect("valid");
    let (mut played, mut first) = (vec![], Frame::new(Generation(0), Tick::ZERO));
    let mut solo_again = Session::new(runtime(&descriptor()), &descriptor(), policy(), SeatSet::EMPTY).expect("valid");
    while let Some(event) = solo.poll_event() {
        if let retick_core::session::SessionEvent::Confirmed(frame) = event {
            played.push(*frame);
        }
    }
    apply(&mut solo_again, &played);
    solo_again.read_frame(Tick::new(99), &mut first).expect("retained");
    assert_eq!((played.len(), &first), (100, &played[99]), "guard");
    apply(&mut whole, &played);
    for tick in 100..300 {
        // Both players' inputs are predicted before the frame is there.
        for number in [0, 1] {
            let packed = zig_packed(seat(number), Tick::new(tick));
            session.submit(seat(number), Tick::new(tick), &packed).expect("next");
        }
        session.advance(Budget { confirmed_frames: 0, target: Tick::new(tick + 1) }).expect("plays");
        apply(&mut session, &[frame(tick)]);
        apply(&mut whole, &[frame(tick)]);
        let state = Tick::new(tick + 1);
        assert_eq!(session.checksum_at(state), whole.checksum_at(state), "{state}");
    }
    assert_eq!(session.export_replay(), Err(ReplayExportError::Promoted));
    assert!(whole.export_replay().is_ok());
}

#[test]
fn s7_a_friend_takes_over_a_bots_seat() {
    let runtime = runtime(&descriptor());
    let config = LocalConfig { local_seats: seats(&[0, 1]), bot_seats: seats(&[2]), ..config() };
    let mut session = LocalSession::from_promotion(runtime, &promoted(), config).expect("the same match");
    session.update(TICK, &mut bots).expect("plays");
    let mut frame = Frame::new(Generation(0), Tick::ZERO);
    let Some(retick_core::session::SessionEvent::Confirmed(first)) = session.poll_event() else { panic!("a frame") };
    frame.copy_from(&first);
    assert_eq!(frame.tick(), Tick::new(100));
    // Seat 1 went from a bot to a player, seat 3 from a bot to nobody: each such change raises the epoch (A5).
    let drivers: Vec<_> = frame.seats().map(|seat| (seat.presence, seat.epoch.0)).collect();
    let expected = [(Presence::Human, 1), (Presence::Human, 2), (Presence::Bot, 1), (Presence::Empty, 2)];
    assert_eq!(drivers, expected);
    assert_eq!(session.export_replay(), Err(ReplayExportError::Promoted));
}

#[test]
fn s7_the_mark_is_not_washed_off() {
    let mut session = co_op(&promoted());
    apply(&mut session, &[frame(100), frame(101)]);
    let snapshot = session.export_snapshot(Tick::new(102)).expect("kept");
    let snapshot = Snapshot::from_bytes(&snapshot.to_bytes()).expect("its own bytes");
    assert_eq!(snapshot.origin(), Origin::Promotion);
    // A session of the match's own does not take it, with or without frames, and is as before.
    let mut honest = Session::new(runtime(&descriptor()), &descriptor(), policy(), SeatSet::EMPTY).expect("valid");
    assert_eq!(honest.hydrate(&snapshot), Err(SnapshotError::Promoted));
    assert_eq!(honest.hydrate_with_frames(&snapshot), Err(SnapshotError::Promoted));
    assert_eq!((honest.confirmed(), honest.origin()), (Tick::ZERO, Origin::Match));
    assert!(honest.export_replay().is_ok());
    // A promoted one takes it, and stays one also when it takes a snapshot of the match's own.
    let mut other = co_op(&promoted());
    other.hydrate(&snapshot).expect("its own kind");
    assert_eq!((other.confirmed(), other.export_replay()), (Tick::new(102), Err(ReplayExportError::Promoted)));
    other.hydrate(&honest.export_snapshot(Tick::ZERO).expect("kept")).expect("the same match");
    assert_eq!((other.origin(), other.export_replay()), (Origin::Promotion, Err(ReplayExportError::Promoted)));
    assert_eq!(other.export_snapshot(Tick::ZERO).map(|snapshot| snapshot.origin()), Ok(Origin::Promotion));
    // And promoted again it is what it was.
    let again = PromotionSnapshot::from_bytes(&session.export_promotion().expect("kept").to_bytes()).expect("its own");
    assert_eq!(co_op(&again).export_replay(), Err(ReplayExportError::Promoted));
}

#[test]
fn s7_whatever_differs_is_named_before_anything_is_built() {
    let promotion = promoted();
    let refused = |descriptor: &MatchDescriptor, local: SeatSet| {
        Session::from_promotion(runtime(descriptor), descriptor, policy(), local, &promotion).err()
    };
    let count = |seats| SeatCount::new(seats).expect("valid");
    for other in [2, 3, 5] {
        let wider = tally_descriptor(&tally_factory(), other, 1);
        let expected = PromotionError::Seats { expected: count(other), found: count(4) };
        assert_eq!(refused(&wider, SeatSet::EMPTY), Some(expected));
    }
    let ours = descriptor();
    let seeded = tally_descriptor(&tally_factory(), 4, 2);
    let expected = PromotionError::OtherMatch { expected: seeded.digest(), found: ours.digest() };
    assert_eq!(refused(&seeded, SeatSet::EMPTY), Some(expected));
    let config = SessionConfig::from_bytes(b"other").expect("within the limit");
    let other = MatchDescriptor::new(tally_factory().manifest(), config, SessionSeed::from_u64(1), count(4));
    let expected = PromotionError::Config { expected: other.config().digest(), found: ours.config().digest() };
    let session = Session::from_promotion(runtime(&ours), &other, policy(), SeatSet::EMPTY, &promotion);
    assert_eq!(session.err(), Some(expected));
    let expected = SessionError::LocalSeat { seat: seat(4), seats: count(4) };
    assert_eq!(refused(&ours, seats(&[4])), Some(PromotionError::Session(expected)));
    // Another game's runtime under this match's descriptor, and another game altogether.
    let ent = ent_factory();
    let foreign = MatchDescriptor::new(ent.manifest(), SessionConfig::empty(), SessionSeed::from_u64(1), count(4));
    let (found, expected) = (ours.identity(), foreign.identity());
    for descriptor in [&ours, &foreign] {
        let runtime = ent.create(&foreign).expect("a match of ENT");
        let session = Session::from_promotion(runtime, descriptor, policy(), SeatSet::EMPTY, &promotion);
        assert_eq!(session.err(), Some(PromotionError::Identity { expected, found }));
    }
    let crowded = LocalConfig { local_seats: seats(&[0, 2]), bot_seats: seats(&[2]), ..crate::local::config() };
    let session = LocalSession::from_promotion(runtime(&ours), &promotion, crowded);
    assert_eq!(session.err(), Some(LocalSetupError::SeatTwice { seat: seat(2) }));
    let foreign = ent.create(&foreign).expect("a match of ENT");
    let session = LocalSession::from_promotion(foreign, &promotion, crate::local::config());
    let other_game = PromotionError::Identity { expected, found };
    assert_eq!(session.err(), Some(LocalSetupError::Promotion(other_game)));
}

#[test]
fn s7_no_flipped_bit_and_no_other_snapshot_is_a_promotion() {
    let bytes = promoted().to_bytes();
    for bit in 0..8 * bytes.len() {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let taken = PromotionSnapshot::from_bytes(&flipped);
        assert!(taken.is_err(), "bit {bit}");
    }
    for end in 0..bytes.len() {
        assert!(PromotionSnapshot::from_bytes(&bytes[..end]).is_err(), "cut at {end}");
    }
    let mut old = bytes.clone();
    old[0] = 1;
    assert_eq!(PromotionSnapshot::from_bytes(&old), Err(PromotionError::Version { found: 1 }));
    // A match's own snapshot, as long as the promoted one, in its place.
    let snapshot = solo().export_snapshot(Tick::new(100)).expect("kept").to_bytes();
    let mut swapped = bytes[..bytes.len() - snapshot.len()].to_vec();
    swapped.extend_from_slice(&snapshot);
    assert_eq!(PromotionSnapshot::from_bytes(&swapped), Err(PromotionError::NotPromoted));
}

#[test]
fn s7_each_part_of_a_promotion_is_refused_by_name() {
    let refused = |bytes: &[u8]| PromotionSnapshot::from_bytes(bytes).expect_err("no promotion");
    let bytes = promoted().to_bytes();
    for end in 0..bytes.len() {
        assert_eq!(refused(&bytes[..end]), PromotionError::Encoding(WireError::Malformed), "cut at {end}");
    }
    let trailing = WireError::NotCanonical { offset: bytes.len() };
    assert_eq!(refused(&[&bytes[..], &[0]].concat()), PromotionError::Encoding(trailing));

    let (ours, other) = (descriptor(), tally_descriptor(&tally_factory(), 4, 2));
    let match_bytes = ours.to_bytes();
    let snapshot = bytes[bytes.len() - solo_snapshot_bytes()..].to_vec();
    let with = |descriptor: &[u8], snapshot: &[u8]| encode(&(2u16, descriptor, snapshot));
    assert_eq!(with(&match_bytes, &snapshot), bytes, "guard");
    let malformed = DescriptorError::Encoding(WireError::Malformed);
    assert_eq!(refused(&with(&match_bytes[1..], &snapshot)), PromotionError::Descriptor(malformed));
    let (expected, found) = (other.digest(), ours.digest());
    let of_another = PromotionError::Snapshot(SnapshotError::OtherMatch { expected, found });
    assert_eq!(refused(&with(&other.to_bytes(), &snapshot)), of_another);
    let mut damaged = snapshot.clone();
    damaged[100] ^= 1;
    let refusal = refused(&with(&match_bytes, &damaged));
    assert!(matches!(refusal, PromotionError::Snapshot(SnapshotError::Damaged { .. })), "{refusal}");
}

/// A promotion's snapshot is as long as the match's own of the same state.
fn solo_snapshot_bytes() -> usize {
    solo().export_snapshot(Tick::new(100)).expect("kept").to_bytes().len()
}
