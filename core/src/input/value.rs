//! Types that can be a field of an input, with the kind of field that each is (S2). The derive macros build on these; so may
//! a [`GameInput`](super::GameInput) written by hand, and a game's own type may implement them.

use super::{FieldKind, Packer, Unpacker};

/// A type that can be a field of a derived input without saying more (S2): a boolean, an integer with its whole range, or a
/// choice. A game may implement it for its own types.
///
/// ```
/// use retick_core::input::{FieldKind, InputValue, Packer, Unpacker};
///
/// /// A direction in 256ths of a turn.
/// #[derive(Clone, Copy, PartialEq, Debug)]
/// struct Heading(u8);
///
/// impl InputValue for Heading {
///     const KIND: FieldKind = FieldKind::Axis { min: 0, max: 255, fraction_bits: 8 };
///     fn pack_value(&self, packer: &mut Packer<'_>) {
///         packer.integer(i64::from(self.0));
///     }
///     fn unpack_value(unpacker: &mut Unpacker<'_>) -> Self {
///         Heading(u8::try_from(unpacker.integer()).unwrap_or_default())
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be a field of an input",
    label = "not a boolean, a bounded integer or a choice",
    note = "fields are bool, i8 to i64, u8 to u32, enums with `#[derive(InputChoice)]`, and u8 to u64 with `#[input(flags = …)]`"
)]
pub trait InputValue: Sized {
    /// The kind of field.
    const KIND: FieldKind;

    /// Writes the value as one field of [`InputValue::KIND`].
    fn pack_value(&self, packer: &mut Packer<'_>);

    /// Reads what [`InputValue::pack_value`] wrote. Total: for a field of another kind it gives some value, on every machine
    /// the same.
    fn unpack_value(unpacker: &mut Unpacker<'_>) -> Self;
}

/// An integer that fits an `i64`, and so a field with a range (S2).
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't have a range of an input",
    note = "ranges and axes are for i8 to i64 and u8 to u32; `usize` differs between machines"
)]
pub trait InputInteger: Copy {
    /// The value as the packer takes it.
    fn to_integer(self) -> i64;

    /// The value that the unpacker gave; zero for one that the type doesn't have, which a field's range rules out.
    fn from_integer(value: i64) -> Self;
}

/// A set of flags, bit 0 first, and so a field of [`FieldKind::Flags`] (S2). A game may implement it for its own bit sets.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be a set of flags of an input",
    note = "flags are u8 to u64, or a type that implements `InputFlags`"
)]
pub trait InputFlags: Copy {
    /// How many flags the type holds: 1 to 64.
    const CAPACITY: u8;

    /// The flags as the packer takes them.
    fn to_flags(self) -> u64;

    /// The flags that the unpacker gave, without those that the type doesn't hold.
    fn from_flags(flags: u64) -> Self;
}

/// An enum without fields, and so a field of [`FieldKind::Choice`] (S2). `#[derive(InputChoice)]` implements it.
///
/// A choice's index is its position in the declaration, whatever its discriminant; the first one is neutral.
#[diagnostic::on_unimplemented(message = "`{Self}` is not a choice", note = "add `#[derive(InputChoice)]`")]
pub trait InputChoice: Sized {
    /// How many choices there are: at least one.
    const CHOICES: u32;

    /// The position of this choice, from 0.
    fn to_choice(&self) -> u32;

    /// The choice at this position; the first one for a position that there isn't.
    fn from_choice(index: u32) -> Self;
}

impl<T: InputChoice> InputValue for T {
    const KIND: FieldKind = FieldKind::Choice { choices: T::CHOICES };

    fn pack_value(&self, packer: &mut Packer<'_>) {
        packer.choice(self.to_choice());
    }

    fn unpack_value(unpacker: &mut Unpacker<'_>) -> Self {
        T::from_choice(unpacker.choice())
    }
}

impl InputValue for bool {
    const KIND: FieldKind = FieldKind::Boolean;

    fn pack_value(&self, packer: &mut Packer<'_>) {
        packer.boolean(*self);
    }

    fn unpack_value(unpacker: &mut Unpacker<'_>) -> Self {
        unpacker.boolean()
    }
}

macro_rules! integers {
    ($($integer:ty),*) => {$(
        impl InputInteger for $integer {
            fn to_integer(self) -> i64 {
                i64::from(self)
            }

            fn from_integer(value: i64) -> Self {
                <$integer>::try_from(value).unwrap_or_default()
            }
        }

        impl InputValue for $integer {
            // No `i64::from` in a constant; each of these types fits an `i64`, or `to_integer` above would not compile.
            const KIND: FieldKind = FieldKind::Integer { min: <$integer>::MIN as i64, max: <$integer>::MAX as i64 };

            fn pack_value(&self, packer: &mut Packer<'_>) {
                packer.integer(self.to_integer());
            }

            fn unpack_value(unpacker: &mut Unpacker<'_>) -> Self {
                Self::from_integer(unpacker.integer())
            }
        }
    )*};
}

integers!(i8, i16, i32, i64, u8, u16, u32);

macro_rules! flags {
    ($($flags:ty = $capacity:literal),*) => {$(
        impl InputFlags for $flags {
            const CAPACITY: u8 = $capacity;

            fn to_flags(self) -> u64 {
                u64::from(self)
            }

            fn from_flags(flags: u64) -> Self {
                <$flags>::try_from(flags & u64::from(<$flags>::MAX)).unwrap_or_default()
            }
        }

        const _: () = assert!(<$flags>::BITS == $capacity);
    )*};
}

flags!(u8 = 8, u16 = 16, u32 = 32, u64 = 64);

#[cfg(test)]
mod tests {
    use super::super::InputSchema;
    use super::*;

    #[test]
    fn s2_every_integer_has_its_whole_range_and_no_more() {
        fn check<T: InputInteger + InputValue + PartialEq + core::fmt::Debug>(least: T, greatest: T) {
            let FieldKind::Integer { min, max } = T::KIND else { panic!("an integer") };
            assert_eq!((T::from_integer(min), T::from_integer(max)), (least, greatest));
            assert_eq!((least.to_integer(), greatest.to_integer()), (min, max));
            if let Some(beyond) = max.checked_add(1) {
                assert_eq!(T::from_integer(beyond).to_integer(), 0);
            }
        }
        check(i8::MIN, i8::MAX);
        check(i16::MIN, i16::MAX);
        check(i32::MIN, i32::MAX);
        check(i64::MIN, i64::MAX);
        check(0, u8::MAX);
        check(0, u16::MAX);
        check(0, u32::MAX);
    }

    #[test]
    fn s2_flags_that_a_type_does_not_hold_fall_away() {
        assert_eq!(u8::from_flags(0x1FF), 0xFF);
        assert_eq!(u16::from_flags(u64::MAX), u16::MAX);
        assert_eq!(u32::from_flags(1 << 32 | 1), 1);
        assert_eq!(u64::from_flags(u64::MAX).to_flags(), u64::MAX);
    }

    #[test]
    fn s2_a_value_of_another_kind_unpacks_to_zero() {
        let schema = InputSchema::builder("x").flags("buttons", 8).boolean("b").build().expect("valid");
        let mut unpacker = Unpacker::new(&schema, &[0xFF, 1]);
        assert_eq!((i8::unpack_value(&mut unpacker), u8::unpack_value(&mut unpacker)), (0, 0));
        assert!(!bool::unpack_value(&mut unpacker));
    }
}
