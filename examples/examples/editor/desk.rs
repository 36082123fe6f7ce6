//! One editor at its desk: a client that shows confirmed states alone, and whoever draws with it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use retick_core::client::{Client, ClientConfig, ClientEvent, EndReason, Output, PredictionMode};
use retick_core::frame::Frame;
use retick_core::identity::MatchDescriptor;
use retick_core::rng::{RngStream, SessionSeed};
use retick_core::runtime::{Capabilities, RuntimeFactory};
use retick_core::seat::{Generation, Seat};
use retick_core::session::{Recording, SessionEvent};
use retick_core::tick::Moment;

use super::Failure;
use super::map::{self, Cursor, Edit, Place, TileMap};

/// An editor draws in one turn of so many, and shows its cursor in one of as many others.
const TURNS_BETWEEN_EDITS: u64 = 3;
const TURNS_BETWEEN_CURSORS: u64 = 5;
/// What it draws with.
const TILES: [u8; 6] = *b"#~^ox+";

/// What was asked for and what was confirmed while one map lay on the desk, in order.
#[derive(Default)]
pub struct Sheet {
    /// Every edit that was asked for here.
    pub requested: Vec<Edit>,
    /// Every confirmed frame.
    pub frames: Vec<Frame>,
}

/// A client, its hand, and what it has seen.
pub struct Desk {
    pub client: Client,
    /// One for each generation: a map of another size is another sheet.
    pub sheets: BTreeMap<Generation, Sheet>,
    /// The last cursor that was sent.
    pub cursor: Option<Cursor>,
    /// Where the others point, as far as it is known.
    pub others: BTreeMap<Seat, Cursor>,
    /// How often the room greeted it: once, unless its connection was lost.
    pub greetings: usize,
    /// Edits that are still to be asked for.
    waiting: VecDeque<Edit>,
    hand: RngStream,
    turns: u64,
}

impl Desk {
    /// A desk whose hand draws by this seed.
    pub fn new(factory: Arc<dyn RuntimeFactory>, seed: u64) -> Desk {
        let config = ClientConfig {
            // What is shown is what everyone has: nothing is ever taken back.
            mode: PredictionMode::ConfirmedOnly,
            requires: Capabilities { commands: true, projection: true },
            recording: Recording::Frames,
            ..ClientConfig::default()
        };
        Desk {
            client: Client::new(config, Box::new(factory)),
            sheets: BTreeMap::new(),
            cursor: None,
            others: BTreeMap::new(),
            greetings: 0,
            waiting: VecDeque::new(),
            hand: RngStream::derive(&SessionSeed::from_u64(seed), "hand"),
            turns: 0,
        }
    }

    /// The map as it is shown.
    pub fn shown(&self) -> Option<(u8, u8, &[u8])> {
        TileMap::shown(self.client.session()?.projections().0)
    }

    /// Draws by itself for one turn, somewhere on the map that it sees.
    pub fn doodle(&mut self) {
        let Some((width, height, _)) = self.shown() else { return };
        self.turns += 1;
        let place = Place { x: self.somewhere(width), y: self.somewhere(height) };
        if self.turns.is_multiple_of(TURNS_BETWEEN_CURSORS) {
            self.point(place);
        }
        if self.turns.is_multiple_of(TURNS_BETWEEN_EDITS) {
            let tile = self.hand.pick(&TILES).copied().unwrap_or(b'#');
            let erases = self.hand.range(0..=3u32) == 0;
            self.request(if erases { Edit::Erase { place } } else { Edit::Place { place, tile } });
        }
    }

    fn somewhere(&mut self, side: u8) -> u8 {
        let last = u32::from(side.saturating_sub(1));
        u8::try_from(self.hand.range(0..=last)).unwrap_or(0)
    }

    /// Asks for an edit. Without a transport it is simply not made.
    pub fn request(&mut self, edit: Edit) {
        let Some(generation) = self.client.descriptor().map(MatchDescriptor::generation) else { return };
        if self.client.request_command(&edit.encode()).is_ok() {
            self.sheets.entry(generation).or_default().requested.push(edit);
        }
    }

    /// Draws a map again, an edit a turn: the room takes 60 commands of a seat in a second.
    pub fn draw_again(&mut self, map: &TileMap) {
        self.waiting.extend(map.as_edits());
    }

    /// Asks for a blank map of another size, for everyone.
    pub fn request_size(&mut self, width: u8, height: u8) -> Result<(), Failure> {
        Ok(self.client.request_reconfigure(&map::config(width, height)?)?)
    }

    /// Shows the others where this editor points.
    pub fn point(&mut self, place: Place) {
        let cursor = Cursor(place);
        if self.client.send_ephemeral(&cursor.encode()).is_ok() {
            self.cursor = Some(cursor);
        }
    }

    /// One turn of the client's. What it says goes to `send`.
    pub fn turn(&mut self, now: Moment, mut send: impl FnMut(&[u8])) -> Result<(), EndReason> {
        self.client.handle_turn(now);
        if let Some(edit) = self.waiting.pop_front() {
            self.request(edit);
        }
        while self.client.wanted_input().is_some() {
            if self.client.submit_input(&[]).is_err() {
                break;
            }
        }
        self.client.step()?;
        while let Some(output) = self.client.poll_output() {
            match output {
                Output::Transmit(bytes) => send(bytes),
                Output::Event(ClientEvent::Session(SessionEvent::Confirmed(frame))) => {
                    self.sheets.entry(frame.generation()).or_default().frames.push(*frame);
                }
                Output::Event(ClientEvent::Joined { .. }) => self.greetings += 1,
                Output::Event(ClientEvent::Ephemeral { seat, payload }) => {
                    if let Some(cursor) = Cursor::decode(&payload) {
                        self.others.insert(seat, cursor);
                    }
                }
                Output::Event(_) => {}
            }
        }
        Ok(())
    }
}
