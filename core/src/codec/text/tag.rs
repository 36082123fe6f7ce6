//! The tagged forms: what JSON can't say stands in an object whose first key is `$rdm`.

/// The key of a tag. No key, field or variant of a value may have this name.
pub(super) const RESERVED_KEY: &str = "$rdm";

/// The key as it stands in a text.
pub(super) const RESERVED_KEY_FORM: &str = r#""$rdm""#;

/// What a tagged form begins with, before the name of its tag.
pub(super) const OPENING: &str = r#"{"$rdm":"#;

/// What stands between the name of a tag and its value.
pub(super) const VALUE: &str = r#","value":"#;

/// A tagged form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tag {
    NegativeZero,
    Nan,
    Infinity,
    NegativeInfinity,
    Bigint,
    Bytes,
    Set,
    Map,
    Some,
}

impl Tag {
    const ALL: [Tag; 9] = [
        Tag::NegativeZero,
        Tag::Nan,
        Tag::Infinity,
        Tag::NegativeInfinity,
        Tag::Bigint,
        Tag::Bytes,
        Tag::Set,
        Tag::Map,
        Tag::Some,
    ];

    pub(super) fn from_name(name: &str) -> Option<Tag> {
        Tag::ALL.into_iter().find(|tag| tag.name() == name)
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Tag::NegativeZero => "negative-zero",
            Tag::Nan => "nan",
            Tag::Infinity => "infinity",
            Tag::NegativeInfinity => "negative-infinity",
            Tag::Bigint => "bigint",
            Tag::Bytes => "bytes",
            Tag::Set => "set",
            Tag::Map => "map",
            Tag::Some => "some",
        }
    }

    /// Whether a value follows the name.
    pub(super) const fn has_value(self) -> bool {
        self.float().is_none()
    }

    /// The float that the tag stands for.
    pub(super) const fn float(self) -> Option<f64> {
        match self {
            Tag::NegativeZero => Some(-0.0),
            Tag::Nan => Some(f64::NAN),
            Tag::Infinity => Some(f64::INFINITY),
            Tag::NegativeInfinity => Some(f64::NEG_INFINITY),
            _ => None,
        }
    }

    /// The tag of a float that no JSON number is the form of.
    pub(super) const fn of_float(value: f64) -> Option<Tag> {
        if value.is_nan() {
            Some(Tag::Nan)
        } else if value.is_infinite() {
            Some(if value > 0.0 { Tag::Infinity } else { Tag::NegativeInfinity })
        } else if value == 0.0 && value.is_sign_negative() {
            Some(Tag::NegativeZero)
        } else {
            None
        }
    }
}
