use alloc::string::ToString;
use alloc::{format, vec::Vec};

use super::*;

fn key(secret: u8) -> IdentitySigningKey {
    IdentitySigningKey::from_secret_bytes(&[secret; IDENTITY_KEY_BYTES])
}

fn identity() -> Identity {
    Identity::from_bytes(core::array::from_fn(|index| u8::try_from(index).expect("32 bytes")))
}

#[test]
fn k11_a_signed_identity_verifies_with_the_key_that_signed_it_and_with_no_other() {
    let signed = key(1).sign(identity());
    assert_eq!(signed.verify(&key(1).public_key()), Ok(identity()));
    assert_eq!(signed, key(1).sign(identity()), "signing has no randomness");

    let [expected, found] = [key(2), key(1)].map(|key| key.public_key());
    assert_eq!(signed.verify(&expected), Err(VerifyIdentityError::WrongKey { expected, found }));
    // A signature of one key under the name of another.
    let renamed = SignedIdentity::from_parts(identity(), expected, *signed.signature());
    assert_eq!(renamed.verify(&expected), Err(VerifyIdentityError::Signature { identity: identity() }));
}

#[test]
fn k11_every_single_changed_bit_is_noticed() {
    let trusted = key(1).public_key();
    let good = key(1).sign(identity()).to_bytes();
    let mut refused = [0u32; 3];
    for bit in 0..SIGNED_IDENTITY_BYTES * 8 {
        let mut bytes = good;
        bytes[bit / 8] ^= 1 << (bit % 8);
        match SignedIdentity::from_bytes(&bytes).map(|signed| signed.verify(&trusted)) {
            Ok(Ok(identity)) => panic!("bit {bit} changed, and {identity} verified"),
            Ok(Err(VerifyIdentityError::Signature { .. })) => refused[0] += 1,
            Ok(Err(VerifyIdentityError::WrongKey { .. })) => refused[1] += 1,
            Err(_) => refused[2] += 1,
        }
    }
    assert_eq!(refused[0], (32 + 64) * 8, "a bit of the identity or of the signature");
    assert_eq!(refused[1] + refused[2], 32 * 8, "a bit of the key");
}

#[test]
fn k11_what_is_signed_is_documented_and_belongs_to_identities_alone() {
    let raw = SigningKey::from_bytes(&[1; 32]);
    let sign =
        |message: &[u8]| SignedIdentity::from_parts(identity(), key(1).public_key(), raw.sign(message).to_bytes());
    let documented = [b"retick 2026 signed identity v1\0".as_slice(), identity().as_bytes()].concat();
    assert_eq!(sign(&documented), key(1).sign(identity()));
    for other in [identity().as_bytes().to_vec(), documented[..documented.len() - 1].to_vec()] {
        assert!(sign(&other).verify(&key(1).public_key()).is_err());
    }
}

/// The group's order, little-endian. A scalar plus the order is the same scalar in a form that lax verifiers accept.
const ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

#[test]
fn k11_a_second_form_of_a_valid_signature_is_refused() {
    let signed = key(1).sign(identity());
    let mut signature = *signed.signature();
    let mut carry = 0;
    for (byte, order) in signature[32..].iter_mut().zip(ORDER) {
        let sum = u16::from(*byte) + u16::from(order) + carry;
        *byte = sum.to_le_bytes()[0];
        carry = sum >> 8;
    }
    assert_eq!(carry, 0);
    let malleated = SignedIdentity::from_parts(identity(), key(1).public_key(), signature);
    let wrong = VerifyIdentityError::Signature { identity: identity() };
    assert_eq!(malleated.verify(&key(1).public_key()), Err(wrong));
}

/// A signature by the key `[1; 32]` whose commitment is the neutral point: lax verifiers accept it. Made outside, by RFC 8032
/// with a nonce of zero.
const LAX: &str = "0100000000000000000000000000000000000000000000000000000000000000\
                   9ef2200610595493a6ea50e6d63117b0522119bd6b4c03a4cff9f5b34b7c4a09";

#[test]
fn k11_a_signature_that_only_lax_verifiers_accept_is_refused() {
    let signature = parse_hex(LAX).expect("128 digits");
    let lax = SigningKey::from_bytes(&[1; 32]).verify(&message(identity()), &Signature::from_bytes(&signature));
    assert!(lax.is_ok(), "the premise: it is valid by the lax rules");
    let signed = SignedIdentity::from_parts(identity(), key(1).public_key(), signature);
    let wrong = VerifyIdentityError::Signature { identity: identity() };
    assert_eq!(signed.verify(&key(1).public_key()), Err(wrong));
}

#[test]
fn k11_keys_that_are_weak_or_have_a_second_form_are_none() {
    let bytes = |first: u8, middle: u8, last: u8| {
        let mut bytes = [middle; 32];
        (bytes[0], bytes[31]) = (first, last);
        bytes
    };
    // The neutral point (y = 1), the point of order two (y = -1), and the order-four point (y = 0).
    for weak in [bytes(1, 0, 0), bytes(0xec, 0xff, 0x7f), bytes(0, 0, 0)] {
        assert_eq!(IdentityPublicKey::from_bytes(&weak), Err(PublicKeyError::Weak));
    }
    // y = 2 is no coordinate of a point.
    assert_eq!(IdentityPublicKey::from_bytes(&bytes(2, 0, 0)), Err(PublicKeyError::NotAKey));
    // y = 3 + p stands for the point whose y is 3.
    assert!(IdentityPublicKey::from_bytes(&bytes(3, 0, 0)).is_ok());
    assert!(VerifyingKey::from_bytes(&bytes(0xf0, 0xff, 0x7f)).is_ok(), "the library takes it");
    assert_eq!(IdentityPublicKey::from_bytes(&bytes(0xf0, 0xff, 0x7f)), Err(PublicKeyError::NotAKey));
}

#[test]
fn k11_a_signed_identity_comes_back_from_its_text_and_bytes() {
    let signed = key(3).sign(identity());
    let text = signed.to_string();
    assert_eq!(text.len(), 64 + 1 + 64 + 1 + 128);
    assert_eq!(text.parse(), Ok(signed));
    assert_eq!(SignedIdentity::from_bytes(&signed.to_bytes()), Ok(signed));
    let key = signed.claimed_key();
    assert_eq!(key.to_string().parse(), Ok(key));
    assert_eq!(text.split('.').next(), Some(identity().to_string().as_str()));
}

#[test]
fn k11_text_that_is_no_signed_identity_is_refused() {
    let text = key(3).sign(identity()).to_string();
    let groups: Vec<&str> = text.split('.').collect();
    let malformed = [
        "".into(),
        groups.concat(),
        groups[..2].join("."),
        format!("{text}."),
        format!(".{text}"),
        format!("{text}0"),
        text.replace('.', ":"),
        text.replacen(&text[..1], "g", 1),
    ];
    for bad in malformed {
        assert_eq!(bad.parse::<SignedIdentity>(), Err(ParseSignedIdentityError::Text), "{bad}");
    }
    let weak = format!("{}.{}.{}", groups[0], "0".repeat(64), groups[2]);
    assert_eq!(weak.parse::<SignedIdentity>(), Err(ParseSignedIdentityError::Key(PublicKeyError::Weak)));
    assert_eq!("xyz".parse::<IdentityPublicKey>(), Err(PublicKeyError::Text));
}

#[test]
fn k11_a_secret_key_has_the_published_public_key() {
    // RFC 8032, 7.1, test 1: the public key that belongs to a secret one.
    let secret = parse_hex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60").expect("64 digits");
    let public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
    assert_eq!(IdentitySigningKey::from_secret_bytes(&secret).public_key().to_string(), public);
}

#[test]
fn k11_a_secret_key_is_never_shown() {
    let shown = format!("{:?}", key(0xAB));
    assert!(!shown.contains("abab") && !shown.contains("171"), "{shown}");
    assert!(shown.contains(&key(0xAB).public_key().to_string()));
}
