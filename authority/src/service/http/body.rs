//! The bodies of requests: from bytes to what is asked for, or to a typed refusal.

use std::borrow::Cow;

use retick_core::digest::{Digest, Identity};
use retick_core::identity::{MAX_DESCRIPTOR_BYTES, MatchDescriptor};
use retick_core::seat::SeatCount;
use serde::Deserialize;

use super::error::ApiError;
use super::policies::{Policies, SeatsBody, StartBody, WhoBody};
use crate::room::RoomConfig;
use crate::service::listing::Visibility;

/// Most bytes of the body: the largest descriptor in hexadecimal digits, and room for the rest.
pub const MAX_CREATE_BODY_BYTES: usize = 2 * MAX_DESCRIPTOR_BYTES + 4096;
/// Longest grace that can be asked for over HTTP, in milliseconds: ten minutes.
pub(in crate::service) const MAX_GRACE_MILLIS: u64 = 600_000;

/// A room that is asked for.
pub(super) struct CreateRequest {
    pub(super) config: RoomConfig,
    pub(super) visibility: Visibility,
}

/// A quick match that is asked for.
pub(super) struct MatchRequest {
    pub(super) identity: Identity,
    pub(super) config_digest: Digest,
    pub(super) seats: Option<SeatCount>,
    /// What is made when no room waits.
    pub(super) create: Option<RoomConfig>,
}

/// What the creator of a room changes about it.
pub(super) struct ChangeRequest {
    pub(super) locked: Option<bool>,
    pub(super) visibility: Option<Visibility>,
}

/// A room in JSON. What is missing is the service's default.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CreateBody<'a> {
    /// The encoded match descriptor, in hexadecimal digits.
    #[serde(borrow)]
    descriptor: Cow<'a, str>,
    hard_tolerance_ticks: Option<u16>,
    checksum_cadence_ticks: Option<u32>,
    grace_millis: Option<u64>,
    seat_policy: Option<SeatsBody>,
    start: Option<StartBody>,
    pause: Option<WhoBody>,
    reconfigure: Option<WhoBody>,
    max_observers: Option<u16>,
    visibility: Option<Name>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MatchBody<'a> {
    #[serde(borrow)]
    identity: Option<Cow<'a, str>>,
    #[serde(borrow)]
    config_digest: Option<Cow<'a, str>>,
    seats: Option<u8>,
    /// As in [`CreateBody`].
    #[serde(borrow)]
    descriptor: Option<Cow<'a, str>>,
    hard_tolerance_ticks: Option<u16>,
    checksum_cadence_ticks: Option<u32>,
    grace_millis: Option<u64>,
    seat_policy: Option<SeatsBody>,
    start: Option<StartBody>,
    pause: Option<WhoBody>,
    reconfigure: Option<WhoBody>,
    max_observers: Option<u16>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangeBody {
    locked: Option<bool>,
    visibility: Option<Name>,
}

/// A visibility by its name.
struct Name(Visibility);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Name, D::Error> {
        let name = Cow::<str>::deserialize(deserializer)?;
        let unknown = || serde::de::Error::custom("public or private is expected");
        Visibility::from_name(&name).map(Name).ok_or_else(unknown)
    }
}

/// Rules that can be asked for.
struct Rules {
    hard_tolerance_ticks: Option<u16>,
    checksum_cadence_ticks: Option<u32>,
    grace_millis: Option<u64>,
    policies: Policies,
}

fn read<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, ApiError> {
    serde_json::from_slice(body).map_err(|error| ApiError::Json { line: error.line(), column: error.column() })
}

/// The room that `body` asks for. Whether its config contradicts itself is for the room to say.
pub(super) fn create(body: &[u8], greeting_millis: u64) -> Result<CreateRequest, ApiError> {
    let body: CreateBody<'_> = read(body)?;
    let CreateBody { descriptor, visibility, hard_tolerance_ticks, checksum_cadence_ticks, grace_millis, .. } = body;
    let CreateBody { seat_policy: seats, start, pause, reconfigure, max_observers, .. } = body;
    let policies = Policies { seats, start, pause, reconfigure, max_observers };
    let rules = Rules { hard_tolerance_ticks, checksum_cadence_ticks, grace_millis, policies };
    let config = config(&descriptor, rules, greeting_millis)?;
    Ok(CreateRequest { config, visibility: visibility.map(|Name(visibility)| visibility).unwrap_or_default() })
}

/// The quick match that `body` asks for. With a descriptor its identity and config need not be said, but may not differ.
pub(super) fn quick_match(body: &[u8], greeting_millis: u64) -> Result<MatchRequest, ApiError> {
    let body: MatchBody<'_> = read(body)?;
    let MatchBody { identity, config_digest, seats, descriptor, .. } = body;
    let MatchBody { hard_tolerance_ticks, checksum_cadence_ticks, grace_millis, .. } = body;
    let MatchBody { seat_policy, start, pause, reconfigure, max_observers, .. } = body;
    let policies = Policies { seats: seat_policy, start, pause, reconfigure, max_observers };
    let malformed = ApiError::Json { line: 0, column: 0 };
    let identity = identity.as_deref().map(|text| text.parse::<Identity>()).transpose().map_err(|_| malformed)?;
    let digest = config_digest.as_deref().map(|text| text.parse::<Digest>()).transpose().map_err(|_| malformed)?;
    let seats = seats.map(|seats| SeatCount::new(seats).ok_or(malformed)).transpose()?;
    let rules = Rules { hard_tolerance_ticks, checksum_cadence_ticks, grace_millis, policies };
    let Some(descriptor) = descriptor else {
        let (Some(identity), Some(config_digest)) = (identity, digest) else { return Err(malformed) };
        return Ok(MatchRequest { identity, config_digest, seats, create: None });
    };
    let config = config(&descriptor, rules, greeting_millis)?;
    let found = &config.descriptor;
    let (own_identity, own_digest) = (found.identity(), found.config().digest());
    let differs = identity.is_some_and(|identity| identity != own_identity)
        || digest.is_some_and(|digest| digest != own_digest)
        || seats.is_some_and(|seats| seats != found.seats());
    if differs {
        return Err(ApiError::OtherMatch);
    }
    let seats = Some(found.seats());
    Ok(MatchRequest { identity: own_identity, config_digest: own_digest, seats, create: Some(config) })
}

/// The changes that `body` asks for.
pub(super) fn change(body: &[u8]) -> Result<ChangeRequest, ApiError> {
    let ChangeBody { locked, visibility } = read(body)?;
    Ok(ChangeRequest { locked, visibility: visibility.map(|Name(visibility)| visibility) })
}

fn config(descriptor: &str, asked: Rules, greeting_millis: u64) -> Result<RoomConfig, ApiError> {
    let bytes = decode_hex(descriptor).ok_or(ApiError::Hex)?;
    let mut config = RoomConfig::new(MatchDescriptor::from_bytes(&bytes).map_err(ApiError::Descriptor)?);
    let rules = &mut config.rules;
    rules.hard_tolerance_ticks = asked.hard_tolerance_ticks.unwrap_or(rules.hard_tolerance_ticks);
    rules.checksum_cadence_ticks = asked.checksum_cadence_ticks.unwrap_or(rules.checksum_cadence_ticks);
    config.grace_millis = asked.grace_millis.unwrap_or(config.grace_millis);
    config.greeting_millis = greeting_millis;
    if config.grace_millis > MAX_GRACE_MILLIS {
        return Err(ApiError::Grace { millis: config.grace_millis });
    }
    asked.policies.apply(&mut config)?;
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
        let code = |body: &[u8]| create(body, 1).map(|_| ()).expect_err("not a request").parts().1;
        assert_eq!(code(b"{"), "malformed-json");
        assert_eq!(code(b"[]"), "malformed-json");
        assert_eq!(code(br#"{"descriptor":"","other":1}"#), "malformed-json");
        assert_eq!(code(br#"{"descriptor":"00","grace_millis":-1}"#), "malformed-json");
        assert_eq!(code(br#"{"descriptor":"zz"}"#), "malformed-hex");
        assert_eq!(code(br#"{"descriptor":"00"}"#), "malformed-descriptor");
        assert_eq!(code(br#"{"descriptor":"","visibility":"secret"}"#), "malformed-json");
        assert_eq!(code(b"\xff"), "malformed-json");
    }

    #[test]
    fn v1_a_match_is_asked_for_by_digests_or_by_a_descriptor() {
        let code = |body: &str| quick_match(body.as_bytes(), 1).map(|_| ()).map_err(|error| error.parts().1);
        let digest = "ab".repeat(32);
        assert_eq!(code(&format!(r#"{{"identity":"{digest}","config_digest":"{digest}","seats":4}}"#)), Ok(()));
        for body in [
            "{}".to_owned(),
            format!(r#"{{"identity":"{digest}"}}"#),
            format!(r#"{{"identity":"{digest}","config_digest":"ab"}}"#),
            format!(r#"{{"identity":"{digest}","config_digest":"{digest}","seats":0}}"#),
            format!(r#"{{"identity":"{digest}","config_digest":"{digest}","seats":129}}"#),
        ] {
            assert_eq!(code(&body), Err("malformed-json"), "{body}");
        }
        assert_eq!(code(r#"{"descriptor":"0"}"#), Err("malformed-hex"));
    }

    #[test]
    fn v1_a_change_says_only_what_it_changes() {
        let read = |body: &str| change(body.as_bytes()).map(|change| (change.locked, change.visibility)).ok();
        assert_eq!(read("{}"), Some((None, None)));
        assert_eq!(read(r#"{"locked":true}"#), Some((Some(true), None)));
        assert_eq!(read(r#"{"visibility":"public"}"#), Some((None, Some(Visibility::Public))));
        assert_eq!(read(r#"{"locked":1}"#), None);
        assert_eq!(read(r#"{"key":1}"#), None);
    }
}
