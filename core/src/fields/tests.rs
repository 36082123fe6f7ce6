//! Names against the writer of the canonical form itself: at every offset, changing the named value changes that byte alone.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use alloc::{format, vec};

use serde::{Deserialize, Serialize};

use super::*;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
enum Shape {
    Nothing,
    Round(u16),
    Pair(u8, u8),
    Box { wide: u16, high: u32 },
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Wrapped(u32);

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct World {
    clock: u64,
    letter: char,
    flags: (bool, i8),
    name: String,
    shapes: Vec<Shape>,
    wrapped: Wrapped,
    maybe: Option<u16>,
    scores: BTreeMap<u16, BTreeMap<String, Vec<u8>>>,
    tail: [f32; 2],
}

fn world() -> World {
    let inner = |names: &[&str]| names.iter().map(|name| (name.to_string(), vec![1, 2])).collect();
    World {
        clock: 7,
        letter: 'é',
        flags: (true, -1),
        name: "arena".into(),
        shapes: vec![Shape::Nothing, Shape::Round(3), Shape::Pair(1, 2), Shape::Box { wide: 4, high: 5 }],
        wrapped: Wrapped(9),
        maybe: Some(11),
        // 0x0100 is the bytes 00 01, which come before 01 00.
        scores: [(1, inner(&["ann", "bo"])), (0x0100, inner(&["cy"])), (2, inner(&[]))].into(),
        tail: [0.5, 1.5],
    }
}

/// The offsets that have this name.
fn named(name: &str) -> Vec<u64> {
    let bytes = canonical::encode(&world()).expect("a form").len() as u64;
    (0..bytes).filter(|offset| path_at(&world(), *offset).as_deref() == Some(name)).collect()
}

/// The offsets at which the form changes with the value; its length stays.
fn changed(change: impl FnOnce(&mut World)) -> Vec<u64> {
    let before = canonical::encode(&world()).expect("a form");
    let mut other = world();
    change(&mut other);
    let after = canonical::encode(&other).expect("a form");
    assert_eq!(before.len(), after.len());
    (0..).zip(before.iter().zip(&after)).filter(|(_, (one, other))| one != other).map(|(at, _)| at).collect()
}

#[test]
fn t3_a_name_covers_the_bytes_that_its_value_changes() {
    let score = |world: &mut World, key: u16, name: &str, index: usize| {
        world.scores.get_mut(&key).and_then(|inner| inner.get_mut(name)).expect("there")[index] ^= 0xFF;
    };
    type Change<'a> = &'a dyn Fn(&mut World);
    let cases: [(&str, Change<'_>); 17] = [
        ("clock", &|world| world.clock ^= u64::MAX),
        ("letter", &|world| world.letter = 'Ā'),
        ("flags.0", &|world| world.flags.0 = false),
        ("flags.1", &|world| world.flags.1 = 0),
        ("name", &|world| world.name = "ARENA".into()),
        ("shapes[0]", &|world| world.shapes[0] = Shape::Nothing),
        ("shapes[1].Round", &|world| world.shapes[1] = Shape::Round(!3)),
        ("shapes[2].Pair.1", &|world| world.shapes[2] = Shape::Pair(1, !2)),
        ("shapes[3].Box.wide", &|world| world.shapes[3] = Shape::Box { wide: !4, high: 5 }),
        ("shapes[3].Box.high", &|world| world.shapes[3] = Shape::Box { wide: 4, high: !5 }),
        ("wrapped", &|world| world.wrapped.0 = !9),
        ("maybe", &|world| world.maybe = Some(!11)),
        ("scores[1][\"ann\"][0]", &|world| score(world, 1, "ann", 0)),
        ("scores[1][\"bo\"][1]", &|world| score(world, 1, "bo", 1)),
        ("scores[256][\"cy\"][1]", &|world| score(world, 256, "cy", 1)),
        ("tail.0", &|world| world.tail[0] = f32::from_bits(!0.5_f32.to_bits() & !0x7F80_0000)),
        ("tail.1", &|world| world.tail[1] = f32::from_bits(!1.5_f32.to_bits() & !0x7F80_0000)),
    ];
    for (name, change) in cases {
        let (named, changed) = (named(name), changed(change));
        assert!(!named.is_empty(), "{name}");
        assert!(changed.iter().all(|at| named.contains(at)), "{name}: {changed:?} of {named:?}");
        let tag_only = name == "shapes[0]";
        assert_eq!(changed.is_empty(), tag_only, "{name}");
    }
}

#[test]
fn t3_every_byte_has_a_name_and_none_beyond_the_end() {
    let bytes = canonical::encode(&world()).expect("a form").len() as u64;
    for offset in 0..bytes {
        assert!(path_at(&world(), offset).is_some_and(|path| !path.is_empty()), "{offset}");
    }
    for beyond in [bytes, bytes + 1, u64::MAX] {
        assert_eq!(path_at(&world(), beyond), None);
    }
    let lengths = ["name.len", "shapes.len", "scores.len", "scores[1].len", "scores[2].len", "scores[1][\"bo\"].len"];
    assert!(lengths.iter().all(|name| named(name).len() == 8));
    // A key has its own name: those of the outer map stand in the order of their bytes.
    assert_eq!(named("scores{key 2}").first(), named("scores.len").last().map(|last| last + 1).as_ref());
    assert_eq!((path_at(&3_u16, 1).as_deref(), path_at(&(), 0)), (Some(""), None));
}

#[test]
fn t3_a_native_state_begins_with_its_tick() {
    let state = [&5_u64.to_le_bytes()[..], &canonical::encode(&world()).expect("a form")].concat();
    let names = SerdeFields::<World>::new();
    let at = |offset| names.name(&state, offset);
    assert_eq!((at(7).as_deref(), at(8).as_deref()), (Some("tick"), Some("clock")));
    assert_eq!(names.name(&state[..20], 8), None, "no state");
    assert_eq!(names.name(&[], 0), None);
}

#[test]
fn t3_what_is_no_list_of_symbols_is_refused_by_its_line() {
    let parsed = |text: &str| text.parse::<Symbols>().map(|symbols| symbols.name(&[], 16));
    assert_eq!(parsed("# nothing\n\n"), Ok(None));
    assert_eq!(parsed("16 4 a\n0x10 2 b\n16 2 c"), Ok(Some("b".into())));
    for bad in
        ["16", "16 4", "16 4 a b", "x 4 a", "16 0 a", "16 4*0 a", "0xffffffffffffffff 2 a", "1 0x8000000000000000*2 a"]
    {
        assert_eq!(parsed(&format!("16 4 a\n{bad}")), Err(SymbolsError::Line { line: 2 }), "{bad}");
    }
    let many = "16 4 a\n".repeat(MAX_SYMBOLS);
    assert!(parsed(&many).is_ok());
    assert_eq!(parsed(&(many + "16 4 a")), Err(SymbolsError::TooMany));
}
