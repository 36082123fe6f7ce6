//! The rules that a match can choose: its session config.

use retick_core::config::{ConfigError, ConfigSchema, ConfigValues, SessionConfig};
use serde::{Deserialize, Serialize};

/// What a match is played with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Rules {
    /// Cells of the arena from left to right, 4 to 10; a cell is 8 units wide.
    pub columns: u8,
    /// Cells of the arena from top to bottom, 3 to 8.
    pub rows: u8,
    /// Knockouts that win a round, 1 to 50.
    pub score_limit: u16,
    /// Rounds of the match, 1 to 9.
    pub rounds: u8,
    /// Whether pickups appear.
    pub pickups: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Rules { columns: 6, rows: 4, score_limit: 10, rounds: 3, pickups: true }
    }
}

impl Rules {
    /// The schema of the session config.
    #[must_use]
    pub fn schema() -> ConfigSchema {
        ConfigSchema::builder("skirmish/v1")
            .integer("columns", 4..=10)
            .integer("rows", 3..=8)
            .integer("score-limit", 1..=50)
            .integer("rounds", 1..=9)
            .boolean("pickups")
            .build()
            .expect("five fields with names and ranges of their own")
    }

    /// The rules as a session config.
    ///
    /// # Errors
    /// [`ConfigError`] naming the rule that is out of its range.
    pub fn to_config(self) -> Result<SessionConfig, ConfigError> {
        Rules::schema().encode(&[
            ("columns", i64::from(self.columns).into()),
            ("rows", i64::from(self.rows).into()),
            ("score-limit", i64::from(self.score_limit).into()),
            ("rounds", i64::from(self.rounds).into()),
            ("pickups", self.pickups.into()),
        ])
    }

    /// The rules in a config that this schema checked; `None` for one of another schema.
    pub(crate) fn from_values(values: &ConfigValues) -> Option<Rules> {
        let byte = |name: &str| u8::try_from(values.integer(name)?).ok();
        Some(Rules {
            columns: byte("columns")?,
            rows: byte("rows")?,
            score_limit: byte("score-limit")?.into(),
            rounds: byte("rounds")?,
            pickups: values.boolean("pickups")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_survive_their_config_and_stay_in_range() {
        let rules = Rules { columns: 10, rows: 8, score_limit: 50, rounds: 9, pickups: false };
        let config = rules.to_config().expect("in range");
        let values = Rules::schema().decode(config.bytes()).expect("canonical");
        assert_eq!(Rules::from_values(&values), Some(rules));
        assert!(Rules { rows: 9, ..rules }.to_config().is_err());
        assert!(Rules { score_limit: 0, ..rules }.to_config().is_err());
    }
}
