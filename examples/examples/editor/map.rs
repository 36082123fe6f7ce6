//! What is edited: a map of tiles, the edits that change it, and the cursors that don't.

use std::fmt;

use retick_core::config::{ConfigError, ConfigSchema, SessionConfig};
use retick_core::frame::CommandSource;
use retick_core::input::{GameInput, InputSchema, Packer, Unpacker};
use retick_core::runtime::{Capabilities, GameDescription, InitContext, Simulation, StepContext};
use retick_core::tick::TickRate;
use serde::{Deserialize, Serialize};

/// Most tiles on a side of a map.
pub const MAX_SIDE: u8 = 64;
/// What an erased tile is.
pub const BLANK: u8 = b'.';

/// The document. It is a simulation whose every change is a command; a tick is what puts them into one order for all.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TileMap {
    pub width: u8,
    pub height: u8,
    /// Row by row.
    pub tiles: Vec<u8>,
    /// Edits that changed nothing, because they lie beyond the map.
    pub misses: u32,
}

impl TileMap {
    /// A blank map.
    pub fn blank(width: u8, height: u8) -> TileMap {
        TileMap { width, height, tiles: vec![BLANK; usize::from(width) * usize::from(height)], misses: 0 }
    }

    /// Makes one edit. The last one that the room ordered stands.
    pub fn apply(&mut self, edit: Edit) {
        let (place, tile) = match edit {
            Edit::Place { place, tile } => (place, tile),
            Edit::Erase { place } => (place, BLANK),
        };
        // Whoever asked may have seen a larger map: what is decoded is not yet what fits.
        let index = usize::from(place.y) * usize::from(self.width) + usize::from(place.x);
        match self.tiles.get_mut(index) {
            Some(found) if place.x < self.width => *found = tile,
            _ => self.misses += 1,
        }
    }

    /// Every tile that is not blank, as the edit that places it.
    pub fn as_edits(&self) -> impl Iterator<Item = Edit> {
        let places = (0..self.height).flat_map(|y| (0..self.width).map(move |x| Place { x, y }));
        let drawn = places.zip(&self.tiles).filter(|(_, tile)| **tile != BLANK);
        drawn.map(|(place, tile)| Edit::Place { place, tile: *tile })
    }

    /// The map as it is shown: its sides, then its rows.
    pub fn shown(bytes: &[u8]) -> Option<(u8, u8, &[u8])> {
        let ([width, height], tiles) = bytes.split_first_chunk()?;
        (tiles.len() == usize::from(*width) * usize::from(*height)).then_some((*width, *height, tiles))
    }
}

impl fmt::Display for TileMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows = self.tiles.chunks(usize::from(self.width));
        rows.try_for_each(|row| writeln!(f, "  {}", String::from_utf8_lossy(row)))
    }
}

impl Simulation for TileMap {
    type Input = NoInput;
    type Command = Edit;

    fn describe() -> GameDescription {
        GameDescription {
            // How often edits of everyone are put into order and shown.
            tick_rate: TickRate::Hz20,
            state_schema: "tile-map/state/v1",
            config_schema: config_schema(),
            seats: 1..=16,
            capabilities: Capabilities { commands: true, projection: true },
        }
    }

    fn init(context: &InitContext<'_>) -> Result<Self, u32> {
        let side = |name: &str| u8::try_from(context.config.integer(name)?).ok();
        // The kernel has checked the ranges; a config without these fields would be another schema's.
        let (width, height) = side("width").zip(side("height")).ok_or(1u32)?;
        Ok(TileMap::blank(width, height))
    }

    fn step(&mut self, context: &StepContext<'_, Self>) {
        for (source, edit) in context.commands() {
            // The room itself has nothing to draw.
            if matches!(source, CommandSource::Game(_)) {
                self.apply(*edit);
            }
        }
    }

    fn project(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.width, self.height]);
        out.extend_from_slice(&self.tiles);
    }

    fn decode_command(payload: &[u8]) -> Option<Edit> {
        Edit::decode(payload)
    }
}

/// An editor gives nothing every tick: its inputs take no bytes, and the room never waits for them in vain.
#[derive(Clone, Copy)]
pub struct NoInput;

impl GameInput for NoInput {
    fn schema() -> InputSchema {
        InputSchema::builder("tile-map-input/v1").build().expect("no field, no mistake")
    }

    fn pack(&self, _: &mut Packer<'_>) {}

    fn unpack(_: &mut Unpacker<'_>) -> Self {
        NoInput
    }
}

/// A place on the map, from its upper left corner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    pub x: u8,
    pub y: u8,
}

/// What an editor asks for, and everyone sees in one order: a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Edit {
    /// Puts a tile there.
    Place { place: Place, tile: u8 },
    /// Takes it away.
    Erase { place: Place },
}

const PLACE: u8 = 0;
const ERASE: u8 = 1;

impl Edit {
    pub fn encode(self) -> Vec<u8> {
        match self {
            Edit::Place { place: Place { x, y }, tile } => vec![PLACE, x, y, tile],
            Edit::Erase { place: Place { x, y } } => vec![ERASE, x, y],
        }
    }

    /// `None` for bytes that no editor sends: they are skipped and counted, on every machine alike.
    pub fn decode(bytes: &[u8]) -> Option<Edit> {
        match *bytes {
            [PLACE, x, y, tile] if tile.is_ascii_graphic() => Some(Edit::Place { place: Place { x, y }, tile }),
            [ERASE, x, y] => Some(Edit::Erase { place: Place { x, y } }),
            _ => None,
        }
    }
}

/// Where somebody points: an ephemeral. It is gone when it is lost, and no map depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cursor(pub Place);

/// First byte of a cursor; no edit begins with it.
const CURSOR: u8 = 0xC0;

impl Cursor {
    pub fn encode(self) -> [u8; 3] {
        [CURSOR, self.0.x, self.0.y]
    }

    /// `None` for anything else: what another player sends may be any bytes.
    pub fn decode(bytes: &[u8]) -> Option<Cursor> {
        match *bytes {
            [CURSOR, x, y] => Some(Cursor(Place { x, y })),
            _ => None,
        }
    }
}

fn config_schema() -> ConfigSchema {
    let side = 1..=i64::from(MAX_SIDE);
    let schema = ConfigSchema::builder("tile-map/v1").integer("width", side.clone()).integer("height", side);
    schema.build().expect("two fields with names of their own")
}

/// The config of a map of this size.
pub fn config(width: u8, height: u8) -> Result<SessionConfig, ConfigError> {
    config_schema().encode(&[("width", i64::from(width).into()), ("height", i64::from(height).into())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k7_every_byte_string_is_an_edit_or_none_and_no_edit_is_a_cursor() {
        let place = Place { x: 3, y: 200 };
        for edit in [Edit::Place { place, tile: b'#' }, Edit::Erase { place }] {
            assert_eq!(Edit::decode(&edit.encode()), Some(edit));
            assert_eq!(Cursor::decode(&edit.encode()), None);
        }
        assert_eq!(Cursor::decode(&Cursor(place).encode()), Some(Cursor(place)));
        for first in 0..=u8::MAX {
            for bytes in [&[][..], &[first], &[first, 1], &[first, 1, 2], &[first, 1, 2, b'#'], &[first, 1, 2, 3, 4]] {
                let (edit, cursor) = (Edit::decode(bytes), Cursor::decode(bytes));
                assert!(edit.is_none_or(|edit| edit.encode() == bytes) && (edit.is_none() || cursor.is_none()));
            }
        }
        assert_eq!(Edit::decode(&[PLACE, 0, 0, b' ']), None);
    }

    #[test]
    fn an_edit_beyond_the_map_changes_nothing_but_a_count() {
        let mut map = TileMap::blank(4, 3);
        for (x, y) in [(4, 0), (0, 3), (255, 255), (4, 2)] {
            map.apply(Edit::Place { place: Place { x, y }, tile: b'#' });
        }
        assert_eq!(map, TileMap { misses: 4, ..TileMap::blank(4, 3) });
        map.apply(Edit::Place { place: Place { x: 3, y: 2 }, tile: b'#' });
        assert_eq!(map.as_edits().collect::<Vec<_>>(), [Edit::Place { place: Place { x: 3, y: 2 }, tile: b'#' }]);
        map.apply(Edit::Erase { place: Place { x: 3, y: 2 } });
        assert_eq!(map.tiles, TileMap::blank(4, 3).tiles);
    }
}
