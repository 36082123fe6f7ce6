//! What the service says of a room (V1).

use retick_core::digest::{Digest, Identity};
use retick_core::identity::MatchDescriptor;
use retick_core::seat::SeatCount;
use retick_core::tick::{Tick, TickRate};
use serde_json::Value;

use crate::code::RoomCode;
use crate::policies::RoomPolicies;

/// Where a room stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoomPhase {
    /// Tick 0 has not begun.
    Waiting,
    /// It confirms ticks.
    Running,
    /// It is over.
    Closed,
}

/// Who finds a room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Visibility {
    /// Everyone: it stands in lists, and quick matches send players to it.
    Public,
    /// Only who knows its code.
    Private,
}

impl Visibility {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Visibility::Public => "public",
            Visibility::Private => "private",
        }
    }
}

/// Whether a room's creator has locked it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoomLock {
    /// Whoever may, joins.
    Open,
    /// Nobody joins; who holds a seat returns to it.
    Locked,
}

/// What a joiner by code needs to know (V1): whether it has the right game, and whether there is a seat.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RoomInfo {
    /// The code, as the service writes it.
    pub code: RoomCode,
    /// The protocol that the room speaks.
    pub protocol: u16,
    /// The identity that every machine of the match must have.
    pub identity: Identity,
    /// Digest of the session config.
    pub config_digest: Digest,
    /// Digest of the match.
    pub descriptor_digest: Digest,
    /// The match itself, whose config a joiner takes. It stands in the answer about one room alone, not in lists.
    pub descriptor: Option<MatchDescriptor>,
    /// How many seats the match has.
    pub seats: SeatCount,
    /// How many of them nobody holds.
    pub free_seats: usize,
    /// Ticks per second.
    pub tick_rate: TickRate,
    /// Where the room stands.
    pub phase: RoomPhase,
    /// The first tick that is not confirmed.
    pub frontier: Tick,
    /// Who finds it.
    pub visibility: Visibility,
    /// Whether it is locked.
    pub lock: RoomLock,
    /// What it was made with.
    pub policies: RoomPolicies,
}

/// How a room's match ended, as far as its players agree (A15).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RoomSettlement {
    /// Not everyone in the match has said how it ended.
    Open,
    /// All of them said this.
    Agreed {
        /// The state that says so: `n` for `S(n)`.
        tick: Tick,
        /// The game's bytes.
        result: Vec<u8>,
    },
    /// Two of them said different things, or their checksums differ.
    Disputed,
}

/// The info in an answer, whole or not at all.
pub(crate) fn parse_info(answer: &Value) -> Option<RoomInfo> {
    let text = |name: &str| answer.get(name)?.as_str();
    let number = |name: &str| answer.get(name)?.as_u64();
    let descriptor_digest = text("descriptor_digest")?.parse().ok()?;
    let descriptor = match answer.get("descriptor") {
        Some(hex) => Some(parse_descriptor(hex.as_str()?).filter(|found| found.digest() == descriptor_digest)?),
        None => None,
    };
    Some(RoomInfo {
        code: text("code")?.parse().ok()?,
        protocol: number("protocol")?.try_into().ok()?,
        identity: text("identity")?.parse().ok()?,
        config_digest: text("config_digest")?.parse().ok()?,
        descriptor_digest,
        descriptor,
        seats: SeatCount::new(number("seats")?.try_into().ok()?)?,
        free_seats: number("free_seats")?.try_into().ok()?,
        tick_rate: TickRate::from_hz(number("tick_rate_hz")?.try_into().ok()?).ok()?,
        phase: match text("phase")? {
            "waiting" => RoomPhase::Waiting,
            "running" => RoomPhase::Running,
            "closed" => RoomPhase::Closed,
            _ => return None,
        },
        frontier: Tick::new(number("frontier")?),
        visibility: match text("visibility")? {
            "public" => Visibility::Public,
            "private" => Visibility::Private,
            _ => return None,
        },
        lock: if answer.get("locked")?.as_bool()? { RoomLock::Locked } else { RoomLock::Open },
        policies: RoomPolicies::parse(answer)?,
    })
}

/// The settlement in an answer.
pub(crate) fn parse_settlement(answer: &Value) -> Option<RoomSettlement> {
    Some(match answer.get("settlement")?.as_str()? {
        "open" => RoomSettlement::Open,
        "agreed" => RoomSettlement::Agreed {
            tick: Tick::new(answer.get("tick")?.as_u64()?),
            result: parse_hex(answer.get("result")?.as_str()?)?,
        },
        "disputed" => RoomSettlement::Disputed,
        _ => return None,
    })
}

fn parse_descriptor(hex: &str) -> Option<MatchDescriptor> {
    MatchDescriptor::from_bytes(&parse_hex(hex)?).ok()
}

fn parse_hex(hex: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = hex.as_bytes().chunks(2);
    pairs.map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn v1_an_info_is_taken_whole_or_not_at_all() {
        let digest = "ab".repeat(32);
        let whole = json!({
            "code": "K3XW-9FZM", "protocol": 1, "identity": digest, "config_digest": digest,
            "descriptor_digest": digest, "seats": 4, "free_seats": 1, "tick_rate_hz": 60, "phase": "running",
            "frontier": 90, "visibility": "public", "locked": true, "start": "creator", "pause": "anyone",
            "reconfigure": "nobody", "max_observers": 16, "grace_millis": 15_000, "seat_policy": {
                "recycle_vacated": true, "humans_claim_bots": false, "on_leave": "bot", "initial_bots": [3],
            },
        });
        let info = parse_info(&whole).expect("whole");
        assert_eq!((info.free_seats, info.phase, info.frontier), (1, RoomPhase::Running, Tick::new(90)));
        let wrong = [
            ("seats", json!(129)),
            ("tick_rate_hz", json!(61)),
            ("phase", json!("x")),
            ("code", json!("/")),
            ("visibility", json!("x")),
            ("locked", json!(1)),
            ("pause", json!("x")),
            ("seat_policy", json!({})),
            ("start", json!("never")),
            ("max_observers", json!(-1)),
            ("descriptor", json!("00")),
            ("descriptor", json!(7)),
        ];
        for (name, value) in wrong {
            let mut changed = whole.clone();
            changed[name] = value;
            assert_eq!(parse_info(&changed), None, "{name}");
        }
    }
    #[test]
    fn v1_a_settlement_is_one_of_three() {
        let agreed = json!({ "settlement": "agreed", "tick": 90, "result": "00ff" });
        let result = vec![0x00, 0xff];
        assert_eq!(parse_settlement(&agreed), Some(RoomSettlement::Agreed { tick: Tick::new(90), result }));
        assert_eq!(parse_settlement(&json!({ "settlement": "open" })), Some(RoomSettlement::Open));
        assert_eq!(parse_settlement(&json!({ "settlement": "disputed" })), Some(RoomSettlement::Disputed));
        for wrong in [json!({}), json!({ "settlement": "x" }), json!({ "settlement": "agreed", "tick": 90 })] {
            assert_eq!(parse_settlement(&wrong), None, "{wrong}");
        }
    }
}
