//! Derived inputs beside the ones that a person would write (S2).

use proptest::prelude::*;
use retick_core::input::{
    FieldKind, FieldPolicy, GameInput, InputChoice, InputError, InputFlags, InputSchema, InputValue, Packer, Unpacker,
};

#[derive(Clone, Copy, PartialEq, Eq, Debug, InputChoice)]
enum Weapon {
    Bow,
    Sling = 9,
    Spear,
}

const STICK: i8 = 64;

#[derive(Clone, PartialEq, Debug, GameInput)]
#[input(id = "pad/v1")]
struct Pad {
    #[input(range = -100..=100)]
    steer: i8,
    #[input(policy = "once")]
    fire: bool,
    weapon: Weapon,
    #[input(flags = 9, policy = "neutral")]
    buttons: u16,
    #[input(axis(range = -512..=511, fraction_bits = 8))]
    aim: i16,
    #[input(range = -STICK..=STICK, name = "move-x", policy = "repeat")]
    move_x: i8,
}

/// The same by hand.
#[derive(Clone, PartialEq, Debug)]
struct HandPad(Pad);

impl GameInput for HandPad {
    fn schema() -> InputSchema {
        InputSchema::builder("pad/v1")
            .integer("steer", -100..=100)
            .boolean("fire")
            .policy(FieldPolicy::Once)
            .choice("weapon", 3)
            .flags("buttons", 9)
            .policy(FieldPolicy::Neutral)
            .axis("aim", -512..=511, 8)
            .integer("move-x", -64..=64)
            .build()
            .unwrap()
    }

    fn pack(&self, packer: &mut Packer<'_>) {
        packer.integer(self.0.steer.into());
        packer.boolean(self.0.fire);
        packer.choice(
            [Weapon::Bow, Weapon::Sling, Weapon::Spear].iter().position(|w| *w == self.0.weapon).unwrap() as u32
        );
        packer.flags(self.0.buttons.into());
        packer.integer(self.0.aim.into());
        packer.integer(self.0.move_x.into());
    }

    fn unpack(unpacker: &mut Unpacker<'_>) -> Self {
        HandPad(Pad {
            steer: unpacker.integer() as i8,
            fire: unpacker.boolean(),
            weapon: [Weapon::Bow, Weapon::Sling, Weapon::Spear][unpacker.choice() as usize],
            buttons: unpacker.flags() as u16,
            aim: unpacker.integer() as i16,
            move_x: unpacker.integer() as i8,
        })
    }
}

fn pads() -> impl Strategy<Value = Pad> {
    let weapons = prop_oneof![Just(Weapon::Bow), Just(Weapon::Sling), Just(Weapon::Spear)];
    (-100..=100i8, any::<bool>(), weapons, 0..512u16, -512..=511i16, -64..=64i8)
        .prop_map(|(steer, fire, weapon, buttons, aim, move_x)| Pad { steer, fire, weapon, buttons, aim, move_x })
}

/// Every kind of field that needs no attribute, and those that fill their types.
#[derive(Clone, PartialEq, Debug, GameInput)]
#[input(id = "wide/v1")]
struct Wide {
    a: i8,
    b: i16,
    c: i32,
    d: i64,
    e: u8,
    f: u16,
    g: u32,
    h: bool,
    #[input(flags = 8)]
    i: u8,
    #[input(flags = 16)]
    j: u16,
    #[input(flags = 32)]
    k: u32,
    #[input(flags = 64)]
    l: u64,
    #[input(range = 7..=7)]
    r#fn: u8,
    #[input(range = i64::MIN..=i64::MAX)]
    m: i64,
    #[input(axis(range = 1..=u32::MAX, fraction_bits = 63))]
    n: u32,
}

fn wides() -> impl Strategy<Value = Wide> {
    let first = (any::<i8>(), any::<i16>(), any::<i32>(), any::<i64>(), any::<u8>(), any::<u16>(), any::<u32>());
    let rest = (any::<bool>(), any::<(u8, u16, u32, u64)>(), any::<i64>(), 1..=u32::MAX);
    (first, rest).prop_map(|((a, b, c, d, e, f, g), (h, (i, j, k, l), m, n))| Wide {
        a,
        b,
        c,
        d,
        e,
        f,
        g,
        h,
        i,
        j,
        k,
        l,
        r#fn: 7,
        m,
        n,
    })
}

proptest! {
    #[test]
    fn s2_a_derived_input_packs_and_unpacks_as_the_one_written_by_hand(pad in pads()) {
        let (derived, by_hand) = (Pad::schema(), HandPad::schema());
        let packed = derived.pack(&pad).unwrap();
        prop_assert_eq!(&packed, &by_hand.pack(&HandPad(pad.clone())).unwrap());
        prop_assert_eq!(&derived.unpack::<Pad>(&packed).unwrap(), &pad);
        prop_assert_eq!(&by_hand.unpack::<HandPad>(&packed).unwrap().0, &pad);
    }

    #[test]
    fn s2_every_kind_and_width_comes_back(wide in wides()) {
        let schema = Wide::schema();
        let packed = schema.pack(&wide).unwrap();
        prop_assert!(schema.validate(&packed).is_ok());
        prop_assert_eq!(schema.unpack::<Wide>(&packed).unwrap(), wide);
    }

    #[test]
    fn s2_unpacking_is_total_and_what_validates_packs_back(bytes in proptest::collection::vec(any::<u8>(), 0..9)) {
        let schema = Pad::schema();
        let seen: Pad = schema.unpack_validated(&bytes);
        match schema.validate(&bytes) {
            Ok(()) => prop_assert_eq!(schema.pack(&seen).unwrap(), bytes),
            Err(_) => prop_assert!(schema.unpack::<Pad>(&bytes).is_err()),
        }
    }
}

#[test]
fn s2_a_derived_schema_is_the_one_written_by_hand() {
    assert_eq!(Pad::schema(), HandPad::schema());
    assert_eq!(Pad::schema().digest(), HandPad::schema().digest());
    assert_eq!(Pad::schema().packed_bytes(), (8usize + 1 + 2 + 9 + 10 + 8).div_ceil(8));
}

#[test]
fn s2_every_kind_and_width_has_its_field() {
    let schema = Wide::schema();
    let fields: Vec<_> = schema.fields().iter().map(|field| (field.name(), field.kind().clone())).collect();
    let integer = |min: i64, max: i64| FieldKind::Integer { min, max };
    let expected = [
        ("a", integer(-128, 127)),
        ("b", integer(-32_768, 32_767)),
        ("c", integer(i32::MIN.into(), i32::MAX.into())),
        ("d", integer(i64::MIN, i64::MAX)),
        ("e", integer(0, 255)),
        ("f", integer(0, 65_535)),
        ("g", integer(0, u32::MAX.into())),
        ("h", FieldKind::Boolean),
        ("i", FieldKind::Flags { count: 8 }),
        ("j", FieldKind::Flags { count: 16 }),
        ("k", FieldKind::Flags { count: 32 }),
        ("l", FieldKind::Flags { count: 64 }),
        ("fn", integer(7, 7)),
        ("m", integer(i64::MIN, i64::MAX)),
        ("n", FieldKind::Axis { min: 1, max: u32::MAX.into(), fraction_bits: 63 }),
    ];
    assert_eq!(fields, expected);
    assert!(schema.fields().iter().all(|field| field.policy() == FieldPolicy::Repeat));
}

#[test]
fn s2_a_derived_pack_clamps_nothing() {
    let schema = Pad::schema();
    let pad = Pad { steer: 100, fire: true, weapon: Weapon::Spear, buttons: 0x1FF, aim: 511, move_x: STICK };
    assert!(schema.pack(&pad).is_ok());
    let refused = |pad: Pad| schema.pack(&pad).unwrap_err();
    assert_eq!(refused(Pad { steer: 101, ..pad.clone() }), InputError::OutOfRange { field: 0 });
    assert_eq!(refused(Pad { steer: i8::MIN, ..pad.clone() }), InputError::OutOfRange { field: 0 });
    assert_eq!(refused(Pad { buttons: 0x200, ..pad.clone() }), InputError::OutOfRange { field: 3 });
    assert_eq!(refused(Pad { aim: 512, ..pad.clone() }), InputError::OutOfRange { field: 4 });
    assert_eq!(refused(Pad { move_x: -65, ..pad }), InputError::OutOfRange { field: 5 });
}

#[test]
fn s2_derived_policies_say_what_a_substitute_keeps() {
    let schema = Pad::schema();
    let pad = Pad { steer: -9, fire: true, weapon: Weapon::Sling, buttons: 3, aim: -1, move_x: 1 };
    let mut seen = Vec::new();
    assert!(!schema.apply(Some(&schema.pack(&pad).unwrap()), true, &mut seen));
    assert_eq!(schema.unpack::<Pad>(&seen), Ok(Pad { fire: false, buttons: 0, ..pad }));
    let neutral = Pad { steer: 0, fire: false, weapon: Weapon::Bow, buttons: 0, aim: 0, move_x: 0 };
    assert_eq!(schema.unpack::<Pad>(schema.neutral()), Ok(neutral));
}

#[test]
fn s2_a_choice_counts_by_position_and_knows_its_bounds() {
    assert_eq!((Weapon::CHOICES, Weapon::KIND), (3, FieldKind::Choice { choices: 3 }));
    let all = [Weapon::Bow, Weapon::Sling, Weapon::Spear];
    assert_eq!(all.map(|weapon| weapon.to_choice()), [0, 1, 2]);
    assert_eq!([0, 1, 2, 3, u32::MAX].map(Weapon::from_choice), [all[0], all[1], all[2], all[0], all[0]]);
}

mod elsewhere {
    pub use retick_core as kernel;
}

/// A set of its own, a type behind an alias, unnamed fields, and the kernel under another name.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Keys(u8);

impl InputFlags for Keys {
    const CAPACITY: u8 = 5;

    fn to_flags(self) -> u64 {
        self.0.into()
    }

    fn from_flags(flags: u64) -> Self {
        Keys(flags as u8 & 0x1F)
    }
}

type Button = bool;

#[derive(Clone, PartialEq, Debug, GameInput)]
#[input(id = "tuple/v1", crate = elsewhere::kernel)]
struct Tuple(#[input(flags = 5)] Keys, Button, #[input(name = "third", range = 1..=3)] i64);

#[derive(Clone, PartialEq, Debug, GameInput)]
#[input(id = "unit/v1")]
struct Unit;

#[test]
fn s2_unnamed_fields_own_sets_and_aliases_derive_too() {
    let schema = Tuple::schema();
    let by_hand = InputSchema::builder("tuple/v1").flags("0", 5).boolean("1").integer("third", 1..=3).build().unwrap();
    assert_eq!(schema, by_hand);
    let tuple = Tuple(Keys(0x15), true, 3);
    let packed = schema.pack(&tuple).unwrap();
    assert_eq!(packed, [0x15 | 1 << 5 | 2 << 6]);
    assert_eq!(schema.unpack::<Tuple>(&packed), Ok(tuple));
    assert_eq!(schema.unpack::<Tuple>(schema.neutral()), Ok(Tuple(Keys(0), false, 1)));
    assert_eq!(Unit::schema().pack(&Unit), Ok(vec![]));
}
