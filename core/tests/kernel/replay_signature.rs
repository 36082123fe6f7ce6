//! R1: an authority signs which match a replay is of, how long it is, and every frame of it.
#![cfg(feature = "signing")]

use retick_core::frame::Frame;
use retick_core::replay::{Expected, Recorder, Refused, ReplayPublicKey, ReplaySigningKey, Verdict, verify_expecting};
use retick_core::runtime::{Keep, Output, RuntimeFactory};
use retick_core::tick::Tick;

use crate::counter::{descriptor, factory, frame, runtime};
use crate::replay_blocks::{KIND_FRAMES, START_BYTES, blocks, sealed};

const KIND_SIGNATURE: u8 = 0x80;

fn key(secret: u8) -> ReplaySigningKey {
    ReplaySigningKey::from_secret_bytes(&[secret; 32])
}

fn recorded(ticks: u64, key: Option<&ReplaySigningKey>, frame: impl Fn(u64) -> Frame) -> Vec<u8> {
    let mut recorder = Recorder::new(factory().manifest(), &descriptor(2));
    let mut output = Output::default();
    runtime(2).keep(Keep::CHECKSUM, &mut output).unwrap();
    recorder.push_checksum(Tick::ZERO, output.kept[0].checksum.unwrap());
    (0..ticks).for_each(|tick| recorder.push_frame(&frame(tick)));
    match key {
        Some(key) => recorder.finish_signed(key),
        None => recorder.finish(),
    }
    recorder.take_bytes()
}

fn held_against(file: &[u8], signer: ReplayPublicKey) -> Verdict {
    verify_expecting(file, &factory(), &Expected { signer: Some(signer), ..Expected::default() })
}

fn refused(signer: ReplayPublicKey, found: Option<ReplayPublicKey>) -> Verdict {
    Verdict::Refused(Refused::Signature { expected: signer, found })
}

#[test]
fn r1_only_the_replay_that_the_trusted_key_signed_passes() {
    let (mine, other) = (key(1), key(2));
    let (trusted, foreign) = (mine.public_key(), other.public_key());
    let file = recorded(30, Some(&mine), frame);
    assert!(matches!(held_against(&file, trusted), Verdict::Verified { .. }));
    assert_eq!(held_against(&file, foreign), refused(foreign, Some(trusted)));
    assert_eq!(held_against(&recorded(30, None, frame), trusted), refused(trusted, None));
    // Whoever does not ask for a signature need not care for one.
    assert!(matches!(verify_expecting(&file, &factory(), &Expected::default()), Verdict::Verified { .. }));
}

/// A signature that was taken from one file and put into another is none of that.
#[test]
fn r1_a_signature_is_of_one_match_its_frames_and_their_number() {
    let mine = key(1);
    let trusted = mine.public_key();
    let honest = recorded(30, Some(&mine), frame);
    let signature = blocks(&honest).into_iter().find(|block| block.0 == KIND_SIGNATURE).unwrap();
    let shorter = recorded(29, Some(&key(2)), frame);
    let changed = recorded(30, Some(&key(2)), |tick| if tick == 7 { altered(tick) } else { frame(tick) });
    for file in [shorter, changed] {
        let mut blocks = blocks(&file);
        *blocks.iter_mut().find(|block| block.0 == KIND_SIGNATURE).unwrap() = signature.clone();
        let forged = sealed(&file[..START_BYTES], &descriptor(2), &blocks);
        assert_eq!(held_against(&forged, trusted), refused(trusted, Some(trusted)));
    }
    // Without its end nobody vouches for a file.
    let cut = &honest[..honest.len() - 1];
    assert_eq!(held_against(cut, trusted), refused(trusted, Some(trusted)));
}

/// The frame of a tick without its commands.
fn altered(tick: u64) -> Frame {
    let (whole, mut other) = (frame(tick), Frame::new(frame(tick).generation(), Tick::new(tick)));
    whole.seats().for_each(|seat| other.push_seat(seat));
    assert_ne!(whole, other, "guard");
    other
}

#[test]
fn r1_a_signing_key_shows_nothing_of_itself_and_its_public_half_parses_back() {
    let text = key(1).public_key().to_string();
    assert_eq!(text.parse(), Ok(key(1).public_key()));
    assert!(format!("{:?}", key(1)).contains(&text) && !format!("{:?}", key(1)).contains("0101"));
    let signed = recorded(3, Some(&key(1)), frame);
    assert_eq!(blocks(&signed).iter().filter(|block| block.0 == KIND_FRAMES).count(), 1);
    assert_eq!(recorded(3, Some(&key(1)), frame), signed, "the same key and match give the same file");
}
