use alloc::string::ToString;
use alloc::vec;
use alloc::{format, string::String};

use super::*;

fn pin(name: &str) -> AssetPin {
    AssetPin::of(name, name.as_bytes()).expect("a short name")
}

fn longest(index: usize) -> AssetPin {
    let name = format!("{index:0width$}", width = MAX_ASSET_NAME_BYTES);
    AssetPin::new(&name, Digest::of(b"x"), u64::MAX).expect("a name at the limit")
}

#[test]
fn k12_an_asset_is_what_its_pin_says_or_an_error_says_how_it_differs() {
    let pin = AssetPin::of("map", b"forest").expect("a short name");
    let verified = verify_asset(&pin, b"forest").expect("the same content");
    assert_eq!((verified.pin(), verified.bytes()), (&pin, b"forest".as_slice()));

    let name = String::from("map");
    let wrong = AssetError::Length { name: name.clone(), expected: 6, found: 5 };
    assert_eq!(verify_asset(&pin, b"fores"), Err(wrong));
    let wrong = AssetError::Length { name: name.clone(), expected: 6, found: 0 };
    assert_eq!(verify_asset(&pin, b""), Err(wrong));
    let wrong = AssetError::Digest { name, expected: Digest::of(b"forest"), found: Digest::of(b"foresT") };
    assert_eq!(wrong.to_string().matches("map").count(), 1);
    assert_eq!(verify_asset(&pin, b"foresT"), Err(wrong));
}

#[test]
fn k12_an_empty_asset_can_be_pinned() {
    let pin = AssetPin::of("empty", b"").expect("a short name");
    assert_eq!((pin.bytes(), pin.digest()), (0, Digest::of(b"")));
    assert!(verify_asset(&pin, b"").is_ok());
    assert!(verify_asset(&pin, b"\0").is_err());
}

#[test]
fn k12_the_right_length_under_a_wrong_digest_and_the_other_way_round_are_both_refused() {
    let lies_about_length = AssetPin::new("map", Digest::of(b"forest"), 7).expect("a short name");
    assert!(matches!(
        verify_asset(&lies_about_length, b"forest"),
        Err(AssetError::Length { expected: 7, found: 6, .. })
    ));
    let lies_about_digest = AssetPin::new("map", Digest::of(b"desert"), 6).expect("a short name");
    assert!(matches!(verify_asset(&lies_about_digest, b"forest"), Err(AssetError::Digest { .. })));
}

#[test]
fn k12_all_assets_are_verified_and_a_missing_one_is_named() {
    let pins = AssetPins::new([pin("b"), pin("a")]).expect("two names");
    let contents = [("a", b"a".as_slice()), ("b", b"b")];
    let find = |name: &str| contents.iter().find(|(key, _)| *key == name).map(|(_, content)| *content);
    let verified = pins.verify(find).expect("both are there");
    assert_eq!(verified.iter().map(|asset| asset.bytes()).collect::<Vec<_>>(), [b"a", b"b"]);
    let only_a = |name: &str| find(name).filter(|_| name == "a");
    assert_eq!(pins.verify(only_a), Err(AssetError::Missing { name: String::from("b") }));
    let swapped = |_: &str| Some(b"a".as_slice());
    assert!(matches!(pins.verify(swapped), Err(AssetError::Digest { name, .. }) if name == "b"));
}

#[test]
fn k12_names_of_1_to_128_bytes_can_be_pinned() {
    let digest = Digest::of(b"");
    let name = "n".repeat(MAX_ASSET_NAME_BYTES);
    assert_eq!(AssetPin::new(&name, digest, 0).expect("at the limit").name(), name);
    for bad in [String::new(), name + "n"] {
        assert_eq!(AssetPin::new(&bad, digest, 0), Err(AssetPinError::NameLength { name: bad }));
    }
}

#[test]
fn k12_pins_stand_in_the_order_of_their_names_whatever_order_they_came_in() {
    let pins = AssetPins::new([pin("b"), pin("c"), pin("a")]).expect("three names");
    assert_eq!(pins.iter().map(AssetPin::name).collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(pins.to_bytes(), AssetPins::new([pin("a"), pin("b"), pin("c")]).expect("three names").to_bytes());
    assert_eq!((pins.pin("b"), pins.pin("d")), (Some(&pin("b")), None));
    let twice = AssetPins::new([pin("a"), pin("b"), pin("a")]);
    assert_eq!(twice, Err(AssetPinError::Duplicate { name: String::from("a") }));
}

#[test]
fn k12_a_config_holds_256_pins_of_the_longest_names_and_not_one_more() {
    let pins = AssetPins::new((0..MAX_ASSET_PINS).map(longest)).expect("at the limit");
    let bytes = pins.to_bytes();
    assert_eq!(bytes.len(), AssetPins::MAX_CONFIG_BYTES as usize);
    assert_eq!(AssetPins::from_bytes(&bytes), Ok(pins));
    let beyond = AssetPins::new((0..=MAX_ASSET_PINS).map(longest));
    assert_eq!(beyond, Err(AssetPinError::TooMany { count: 257 }));
    let longer = [bytes.as_slice(), &[0]].concat();
    assert_eq!(AssetPins::from_bytes(&longer), Err(AssetPinError::TooLong { length: longer.len() }));
}

#[test]
fn k12_pins_come_back_from_their_bytes_and_from_no_others() {
    let pins = AssetPins::new([pin("a"), pin("b")]).expect("two names");
    let bytes = pins.to_bytes();
    let expected = {
        let entry =
            |name: &[u8]| [&[1, 0, 0, 0, 0, 0, 0, 0], name, Digest::of(name).as_bytes(), &1u64.to_le_bytes()].concat();
        [2u64.to_le_bytes().to_vec(), entry(b"a"), entry(b"b")].concat()
    };
    assert_eq!(bytes, expected, "the documented layout");
    assert_eq!(AssetPins::from_bytes(&bytes), Ok(pins));
    assert_eq!(AssetPins::from_bytes(&[0; 8]), Ok(AssetPins::default()));

    let (head, entries) = bytes.split_at(8);
    let (first, second) = entries.split_at(entries.len() / 2);
    let malformed = [
        vec![],
        bytes[..bytes.len() - 1].to_vec(),
        [&bytes, [0].as_slice()].concat(),
        [head, second, first].concat(),
        [&u64::MAX.to_le_bytes(), entries].concat(),
    ];
    for bytes in malformed {
        assert!(matches!(AssetPins::from_bytes(&bytes), Err(AssetPinError::Malformed { .. })), "{bytes:?}");
    }
    let twice = [head, first, first].concat();
    assert_eq!(AssetPins::from_bytes(&twice), Err(AssetPinError::Duplicate { name: String::from("a") }));
    let nameless = [1u64.to_le_bytes().to_vec(), vec![0; 8 + 32 + 8]].concat();
    assert_eq!(AssetPins::from_bytes(&nameless), Err(AssetPinError::NameLength { name: String::new() }));
    let many = AssetPins { pins: (0..257).map(|index| pin(&format!("{index}"))).collect() }.to_bytes();
    assert_eq!(AssetPins::from_bytes(&many), Err(AssetPinError::TooMany { count: 257 }));
}
