//! The body of `POST /rooms`: from bytes to a room's config, or to a typed refusal.

use std::borrow::Cow;

use retick_core::identity::{MAX_DESCRIPTOR_BYTES, MatchDescriptor};
use serde::Deserialize;

use super::http::ApiError;
use crate::room::RoomConfig;

/// Most bytes of the body: the largest descriptor in hexadecimal digits, and room for the rest.
pub const MAX_CREATE_BODY_BYTES: usize = 2 * MAX_DESCRIPTOR_BYTES + 4096;
/// Longest grace that can be asked for over HTTP, in milliseconds: ten minutes.
pub(super) const MAX_GRACE_MILLIS: u64 = 600_000;

/// The JSON as it travels. What is missing is the service's default.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CreateBody<'a> {
    /// The encoded match descriptor, in hexadecimal digits.
    #[serde(borrow)]
    descriptor: Cow<'a, str>,
    hard_tolerance_ticks: Option<u16>,
    checksum_cadence_ticks: Option<u32>,
    grace_millis: Option<u64>,
}

/// The config that `body` asks for. Whether it contradicts itself is for the room to say.
pub(super) fn parse(body: &[u8], greeting_millis: u64) -> Result<RoomConfig, ApiError> {
    let body: CreateBody<'_> =
        serde_json::from_slice(body).map_err(|error| ApiError::Json { line: error.line(), column: error.column() })?;
    let bytes = decode_hex(&body.descriptor).ok_or(ApiError::Hex)?;
    let mut config = RoomConfig::new(MatchDescriptor::from_bytes(&bytes).map_err(ApiError::Descriptor)?);
    let rules = &mut config.rules;
    rules.hard_tolerance_ticks = body.hard_tolerance_ticks.unwrap_or(rules.hard_tolerance_ticks);
    rules.checksum_cadence_ticks = body.checksum_cadence_ticks.unwrap_or(rules.checksum_cadence_ticks);
    config.grace_millis = body.grace_millis.unwrap_or(config.grace_millis);
    config.greeting_millis = greeting_millis;
    if config.grace_millis > MAX_GRACE_MILLIS {
        return Err(ApiError::Grace { millis: config.grace_millis });
    }
    Ok(config)
}

fn decode_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v1_hexadecimal_digits_come_in_pairs_and_nothing_else_is_one() {
        assert_eq!(decode_hex("00fFa9"), Some(vec![0x00, 0xff, 0xa9]));
        assert_eq!(decode_hex(""), Some(vec![]));
        for text in ["0", "000", "0g", "+1", "0x", "ä"] {
            assert_eq!(decode_hex(text), None, "{text}");
        }
    }

    #[test]
    fn v1_a_body_that_is_no_request_is_refused_with_its_place() {
        let code = |body: &[u8]| parse(body, 1).expect_err("not a request").parts().1;
        assert_eq!(code(b"{"), "malformed-json");
        assert_eq!(code(b"[]"), "malformed-json");
        assert_eq!(code(br#"{"descriptor":"","other":1}"#), "malformed-json");
        assert_eq!(code(br#"{"descriptor":"00","grace_millis":-1}"#), "malformed-json");
        assert_eq!(code(br#"{"descriptor":"zz"}"#), "malformed-hex");
        assert_eq!(code(br#"{"descriptor":"00"}"#), "malformed-descriptor");
        assert_eq!(code(b"\xff"), "malformed-json");
    }
}
