//! What is wrong with an input, in the words of its schema (S2).

use core::fmt;

use super::{FieldKind, InputError, InputSchema};

impl InputSchema {
    /// An error of this schema's with what it does not carry: the field's name, and what the field takes.
    ///
    /// ```
    /// use retick_core::input::{InputError, InputSchema};
    ///
    /// let schema = InputSchema::builder("drive/v1").boolean("brake").integer("steer", -100..=100).build()?;
    /// let error = InputError::OutOfRange { field: 1 };
    /// assert_eq!(error.to_string(), "field 1 is out of range");
    /// assert_eq!(schema.describe(error).to_string(), r#"field "steer" is out of range: it takes -100 to 100"#);
    /// # Ok::<(), retick_core::input::InputSchemaError>(())
    /// ```
    pub fn describe(&self, error: InputError) -> impl fmt::Display + '_ {
        fmt::from_fn(move |f| match error {
            InputError::OutOfRange { field: index } => match self.fields().get(usize::from(index)) {
                Some(field) => {
                    let (name, takes) = (field.name(), Takes(field.kind()));
                    write!(f, "field {name:?} is out of range: it takes {takes}")
                }
                None => write!(f, "{error}"),
            },
            InputError::FieldCount { written } => {
                write!(f, "{written} fields were packed, where schema {:?} has {}", self.id(), self.fields().len())
            }
            InputError::Length { .. } | InputError::Padding => write!(f, "{error}"),
        })
    }
}

/// What a field of this kind takes.
struct Takes<'a>(&'a FieldKind);

impl fmt::Display for Takes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            FieldKind::Integer { min, max } => write!(f, "{min} to {max}"),
            FieldKind::Boolean => write!(f, "a boolean"),
            FieldKind::Choice { choices } => write!(f, "one of {choices} choices"),
            FieldKind::Flags { count } => write!(f, "{count} flags"),
            FieldKind::Axis { min, max, fraction_bits } => write!(f, "{min} to {max} in units of 2^-{fraction_bits}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn s2_an_error_is_told_in_the_words_of_the_schema() {
        let schema = InputSchema::builder("pad/v1")
            .integer("steer", -100..=100)
            .boolean("fire")
            .choice("weapon", 5)
            .flags("buttons", 9)
            .axis("aim", -512..=511, 8)
            .build()
            .expect("valid");
        let out_of_range = |field| schema.describe(InputError::OutOfRange { field }).to_string();
        assert_eq!(out_of_range(0), r#"field "steer" is out of range: it takes -100 to 100"#);
        assert_eq!(out_of_range(1), r#"field "fire" is out of range: it takes a boolean"#);
        assert_eq!(out_of_range(2), r#"field "weapon" is out of range: it takes one of 5 choices"#);
        assert_eq!(out_of_range(3), r#"field "buttons" is out of range: it takes 9 flags"#);
        assert_eq!(out_of_range(4), r#"field "aim" is out of range: it takes -512 to 511 in units of 2^-8"#);
        // An error of another schema's says what it carries.
        assert_eq!(out_of_range(5), "field 5 is out of range");
        let count = schema.describe(InputError::FieldCount { written: 2 }).to_string();
        assert_eq!(count, r#"2 fields were packed, where schema "pad/v1" has 5"#);
        let length = InputError::Length { actual: 1, expected: 4 };
        assert_eq!(schema.describe(length).to_string(), length.to_string());
    }
}
