//! Texts that were cut or changed: never a panic, and what is still read is exactly what is written for it.

use core::num::NonZeroU32;

use alloc::string::String;
use alloc::vec::Vec;

use super::super::{TextReason, from_text, from_text_canonical, to_text};
use super::{Varied, varied};
use crate::rng::{RngStream, SessionSeed};

#[test]
fn k13_a_text_cut_anywhere_is_refused() {
    let text = to_text(&varied()).unwrap();
    for end in (0..text.len()).filter(|&end| text.is_char_boundary(end)) {
        let error = from_text::<Varied>(&text[..end]).unwrap_err();
        // A number that is cut is another number, which may be refused before what follows it is missed.
        let in_number = matches!(error.reason, TextReason::NonCanonicalNumber | TextReason::DuplicateKey)
            || matches!(error.reason, TextReason::Unexpected { .. });
        let expected = matches!(error.reason, TextReason::EndOfInput if error.offset == end)
            || in_number && text.as_bytes()[error.offset..end].iter().all(|byte| b"-.e0123456789".contains(byte));
        assert!(expected, "cut at {end}: {error}");
    }
}

/// Whether the text is still read. Then it is what is written for the value: no type in it reads two forms as one value.
fn check(changed: &str, description: &str) -> bool {
    match from_text::<Varied>(changed) {
        Ok(value) => {
            assert!(to_text(&value).unwrap() == changed, "{description}: {changed}");
            assert!(from_text_canonical::<Varied>(changed).is_ok());
            true
        }
        Err(error) => {
            assert!(error.offset <= changed.len(), "{description}: {error}");
            false
        }
    }
}

/// Bytes that mean something to the form, so that changes reach further than the first check.
const TELLING: &[u8] = b"\"\\{}[],:$-+.0123456789eEntfu/ abmrdvl\n\x00\x7F\x80\xC3\xFF";

#[test]
fn k13_a_changed_text_is_refused_or_is_the_text_of_what_it_says() {
    let text = to_text(&varied()).unwrap();
    let mut passed = 0;
    for place in 0..text.len() {
        for &byte in TELLING {
            let mut bytes = text.clone().into_bytes();
            bytes[place] = byte;
            let Ok(changed) = String::from_utf8(bytes) else { continue };
            passed += u32::from(check(&changed, "one byte"));
        }
    }
    assert!(passed > 1_000, "{passed} changes gave another value");
}

#[test]
fn k13_random_changes_to_a_text_never_pass_for_another_form() {
    let text = to_text(&varied()).unwrap();
    let mut stream = RngStream::derive(&SessionSeed::from_u64(13), "changes");
    let mut below = |bound: usize| {
        let bound = NonZeroU32::new(u32::try_from(bound).unwrap()).unwrap();
        stream.below(bound) as usize
    };
    for turn in 0..30_000 {
        let mut bytes: Vec<u8> = text.clone().into_bytes();
        for _ in 0..=below(3) {
            let place = below(bytes.len());
            match below(5) {
                0 => bytes[place] ^= 1 << below(8),
                1 => bytes.insert(place, TELLING[below(TELLING.len())]),
                2 => drop(bytes.remove(place)),
                3 => bytes[place] = TELLING[below(TELLING.len())],
                // A piece from elsewhere, so that whole forms meet.
                _ => {
                    let length = below(40).min(bytes.len() - place);
                    let piece = bytes[place..place + length].to_vec();
                    let target = below(bytes.len());
                    bytes.splice(target..target, piece);
                }
            }
        }
        if let Ok(changed) = String::from_utf8(bytes) {
            check(&changed, &alloc::format!("turn {turn}"));
        }
    }
}
