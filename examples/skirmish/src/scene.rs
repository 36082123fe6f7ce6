//! The decoded projection: what a renderer draws. Knows nothing of the state.

use alloc::vec::Vec;
use core::fmt;

use retick_core::seat::Seat;

use crate::arena::Block;
use crate::command::EMOTES;
use crate::numbers::{AIM_STEPS, Vec2, from_fixed};
use crate::pickups::PickupKind;
use crate::player::Standing;
use crate::projection::{EFFECT_DASH, EFFECT_RAPID_FIRE, EFFECT_SHIELD, PROJECTION_VERSION};
use crate::rounds::Phase;

/// What there is to see of one state, decoded from its projection.
#[derive(Clone, PartialEq, Debug)]
pub struct Scene {
    /// Cells of the arena, from left to right; a cell is 8 units wide.
    pub columns: u8,
    /// Cells of the arena, from top to bottom.
    pub rows: u8,
    /// What the match is doing.
    pub phase: Phase,
    /// The round, from 1.
    pub round: u8,
    /// The blocks.
    pub blocks: Vec<Block>,
    /// The players, one for each seat, in order.
    pub players: Vec<ScenePlayer>,
    /// The bullets, oldest first.
    pub bullets: Vec<SceneBullet>,
    /// The pickups, oldest first.
    pub pickups: Vec<ScenePickup>,
}

/// A player to draw.
#[derive(Clone, PartialEq, Debug)]
pub struct ScenePlayer {
    /// How the seat stands in the arena; the position of an absent one means nothing.
    pub standing: Standing,
    /// Where it is, in units.
    pub position: Vec2,
    /// Where it looks, in 1024ths of a turn, clockwise from the right.
    pub aim: u16,
    /// Health, at most [`FULL_HEALTH`](crate::FULL_HEALTH).
    pub health: u8,
    /// Index of its colour.
    pub colour: u8,
    /// The emote that it shows.
    pub emote: Option<u8>,
    /// Whether hits do nothing.
    pub shielded: bool,
    /// Whether its shots come faster.
    pub rapid_fire: bool,
    /// Whether it dashes.
    pub dashing: bool,
    /// Knockouts in this round.
    pub score: u16,
    /// How often it fell in this match.
    pub falls: u16,
    /// Rounds that it won.
    pub rounds_won: u8,
}

/// A bullet to draw.
#[derive(Clone, PartialEq, Debug)]
pub struct SceneBullet {
    /// Its number in the match, by which it can be followed from scene to scene.
    pub id: u32,
    /// Who fired it.
    pub owner: Seat,
    /// Where it is, in units.
    pub position: Vec2,
}

/// A pickup to draw.
#[derive(Clone, PartialEq, Debug)]
pub struct ScenePickup {
    /// What it does.
    pub kind: PickupKind,
    /// Where it lies, in units.
    pub position: Vec2,
}

/// Why bytes are not a projection of this game.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SceneError {
    /// The projection is of another version.
    Version {
        /// Its first byte.
        found: u8,
    },
    /// The bytes end early.
    Truncated,
    /// There are bytes behind the last pickup.
    TrailingBytes,
    /// A byte has no meaning where it stands.
    Value {
        /// Offset of what follows it.
        offset: usize,
    },
}

impl fmt::Display for SceneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SceneError::Version { found } => write!(f, "projection version {found}, not {PROJECTION_VERSION}"),
            SceneError::Truncated => f.write_str("the projection ends early"),
            SceneError::TrailingBytes => f.write_str("there are bytes behind the projection"),
            SceneError::Value { offset } => write!(f, "the value before byte {offset} has no meaning"),
        }
    }
}

impl core::error::Error for SceneError {}

impl Scene {
    /// The scene that a projection encodes.
    ///
    /// # Errors
    /// [`SceneError`] when the bytes are not exactly a projection.
    pub fn decode(projection: &[u8]) -> Result<Scene, SceneError> {
        let mut reader = Reader { bytes: projection, offset: 0 };
        let found = reader.byte()?;
        if found != PROJECTION_VERSION {
            return Err(SceneError::Version { found });
        }
        let scene = Scene {
            columns: reader.byte()?,
            rows: reader.byte()?,
            phase: reader.phase()?,
            round: reader.byte()?,
            blocks: reader.list(|reader| Ok(Block { low: reader.place()?, high: reader.place()? }))?,
            players: reader.list(Reader::player)?,
            bullets: reader.list(Reader::bullet)?,
            pickups: reader.list(Reader::pickup)?,
        };
        if reader.offset == projection.len() { Ok(scene) } else { Err(SceneError::TrailingBytes) }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl Reader<'_> {
    fn array<const LENGTH: usize>(&mut self) -> Result<[u8; LENGTH], SceneError> {
        let rest = self.bytes.get(self.offset..).unwrap_or_default();
        let array = rest.first_chunk().ok_or(SceneError::Truncated)?;
        self.offset += LENGTH;
        Ok(*array)
    }

    fn byte(&mut self) -> Result<u8, SceneError> {
        self.array().map(u8::from_le_bytes)
    }

    fn word(&mut self) -> Result<u16, SceneError> {
        self.array().map(u16::from_le_bytes)
    }

    /// Refuses what was read last unless `value` is there.
    fn known<T>(&self, value: Option<T>) -> Result<T, SceneError> {
        value.ok_or(SceneError::Value { offset: self.offset })
    }

    /// Nothing is reserved: each element is paid for by bytes.
    fn list<T>(&mut self, element: impl Fn(&mut Self) -> Result<T, SceneError>) -> Result<Vec<T>, SceneError> {
        (0..self.byte()?).map(|_| element(self)).collect()
    }

    fn place(&mut self) -> Result<Vec2, SceneError> {
        Ok(Vec2::new(from_fixed(self.word()?), from_fixed(self.word()?)))
    }

    fn seat(&mut self) -> Result<Option<Seat>, SceneError> {
        match self.byte()? {
            0 => Ok(None),
            number => self.known(Seat::new(number - 1)).map(Some),
        }
    }

    fn phase(&mut self) -> Result<Phase, SceneError> {
        let (tag, winner, ticks_left) = (self.byte()?, self.seat()?, self.word()?);
        let phase = match (tag, winner) {
            (0, None) => Some(Phase::Playing),
            (1, Some(winner)) => Some(Phase::Intermission { winner, ticks_left }),
            (2, winner) => Some(Phase::Over { winner }),
            _ => None,
        };
        self.known(phase)
    }

    fn player(&mut self) -> Result<ScenePlayer, SceneError> {
        let [standing, effects, colour, emote, health, rounds_won] = self.array()?;
        let ticks_left = self.word()?;
        let standing = match standing {
            0 => Some(Standing::Absent),
            1 => Some(Standing::Away),
            2 => Some(Standing::Alive),
            3 => Some(Standing::Down { ticks_left }),
            _ => None,
        };
        Ok(ScenePlayer {
            standing: self.known(standing)?,
            emote: self.known((emote <= EMOTES).then(|| emote.checked_sub(1)))?,
            position: self.place()?,
            aim: self.word()? % AIM_STEPS,
            score: self.word()?,
            falls: self.word()?,
            shielded: effects & EFFECT_SHIELD != 0,
            rapid_fire: effects & EFFECT_RAPID_FIRE != 0,
            dashing: effects & EFFECT_DASH != 0,
            health,
            colour,
            rounds_won,
        })
    }

    fn bullet(&mut self) -> Result<SceneBullet, SceneError> {
        let id = self.array().map(u32::from_le_bytes)?;
        let owner = self.seat()?;
        Ok(SceneBullet { id, owner: self.known(owner)?, position: self.place()? })
    }

    fn pickup(&mut self) -> Result<ScenePickup, SceneError> {
        let kind = PickupKind::ALL.get(usize::from(self.byte()?)).copied();
        Ok(ScenePickup { kind: self.known(kind)?, position: self.place()? })
    }
}
