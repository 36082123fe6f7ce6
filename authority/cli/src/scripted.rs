//! The player that nobody has to hold a controller for: skirmish's script, with a command now and then.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use retick_client::Player;
use retick_core::client::{Client, ClientEvent};
use retick_core::input::InputSchema;
use retick_core::seat::Seat;
use retick_core::tick::Tick;
use skirmish::{Command, EMOTES, scripted_input};

use crate::observer::Observer;

/// Between two commands of one player, in ticks.
const COMMAND_EVERY_TICKS: u64 = 240;

/// Plays skirmish by its script, and lets what it sees be observed.
pub struct ScriptedPlayer {
    observer: Arc<Mutex<Observer>>,
    schema: InputSchema,
    seed: u64,
    commands: u64,
}

impl ScriptedPlayer {
    /// Plays the script of this seed.
    pub fn new(observer: Arc<Mutex<Observer>>, schema: InputSchema, seed: u64) -> ScriptedPlayer {
        ScriptedPlayer { observer, schema, seed, commands: 0 }
    }
}

impl Player for ScriptedPlayer {
    fn input(&mut self, tick: Tick) -> Vec<u8> {
        // Only a seated client is asked for inputs.
        lock(&self.observer)
            .seen
            .seat
            .map_or_else(|| self.schema.neutral().to_vec(), |seat| packed_script(&self.schema, seat, tick, self.seed))
    }

    fn event(&mut self, event: ClientEvent) -> Option<ClientEvent> {
        lock(&self.observer).take(&event);
        None
    }

    fn turn(&mut self, client: &mut Client) {
        if let Some(descriptor) = client.descriptor() {
            lock(&self.observer).begin(descriptor);
        }
        if let Some(session) = client.session_mut() {
            lock(&self.observer).take_turn(session);
        }
        let Some(command) = due_command(client, self.commands) else { return };
        self.commands += 1;
        // Without a transport the request is simply not made: an emote is not worth a retry.
        let _ = client.request_command(&command);
    }
}

/// A panic elsewhere has its own report; what was seen before it is still what was seen.
pub fn lock(observer: &Mutex<Observer>) -> MutexGuard<'_, Observer> {
    observer.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The script's input, packed.
pub fn packed_script(schema: &InputSchema, seat: Seat, tick: Tick, seed: u64) -> Vec<u8> {
    schema.pack(&scripted_input(seat, tick, seed)).unwrap_or_else(|_| schema.neutral().to_vec())
}

/// The command that a player requests next, once its time has come: emotes and colours in turn.
pub fn due_command(client: &Client, requested: u64) -> Option<[u8; 2]> {
    let session = client.session()?;
    if session.confirmed().index() < (requested + 1) * COMMAND_EVERY_TICKS {
        return None;
    }
    let index = u8::try_from(requested % u64::from(EMOTES)).unwrap_or(0);
    let command = if requested.is_multiple_of(2) { Command::Emote(index) } else { Command::Colour(index) };
    Some(command.encode())
}
