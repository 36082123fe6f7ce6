//! Native games with one sin each, of kinds that the kit's own twins don't have.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use retick_core::codec::canonical;
use retick_core::config::ConfigSchema;
use retick_core::event::{EventId, MAX_EVENTS_PER_TICK};
use retick_core::runtime::{
    Capabilities, GameDescription, InitContext, NativeFactory, NoCommand, RuntimeFactory, Simulation, StateCodec,
    StepContext,
};
use retick_core::seat::Presence;
use retick_core::tick::TickRate;
use serde::{Deserialize, Serialize};

use super::Certificate;
use crate::fixtures::{Tally, TallyInput};

/// What a twin does wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sin {
    None,
    /// Its state never moves.
    Still,
    /// Counts the substitutes of the whole process.
    CountsSubstitutes,
    /// Counts its projections in its state.
    WritesWhenProjecting,
    /// Shows how often the process projected.
    ProjectsACount,
    /// Emits one event more than a tick may have.
    Shouts,
}

/// A cell in a state: what a game must not have. Its canonical form is a number.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(from = "u64", into = "u64")]
struct Cell(AtomicU64);

impl Clone for Cell {
    fn clone(&self) -> Cell {
        Cell(AtomicU64::new(self.0.load(Ordering::Relaxed)))
    }
}

impl From<u64> for Cell {
    fn from(value: u64) -> Cell {
        Cell(AtomicU64::new(value))
    }
}

impl From<Cell> for u64 {
    fn from(cell: Cell) -> u64 {
        cell.0.into_inner()
    }
}

static EXECUTIONS: AtomicU64 = AtomicU64::new(1);

/// A game that sins; `SIN` is the sin's number.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Twin<const SIN: u8> {
    sum: i64,
    cell: Cell,
}

const fn is<const SIN: u8>(sin: Sin) -> bool {
    SIN == sin as u8
}

impl<const SIN: u8> Simulation for Twin<SIN> {
    type Input = TallyInput;
    type Command = NoCommand;

    fn describe() -> GameDescription {
        GameDescription {
            tick_rate: TickRate::Hz60,
            state_schema: "twin/certify/v1",
            config_schema: ConfigSchema::empty(),
            seats: 1..=8,
            capabilities: Capabilities { commands: false, projection: true },
        }
    }

    fn init(_: &InitContext<'_>) -> Result<Self, u32> {
        Ok(Twin { sum: 0, cell: Cell::default() })
    }

    fn step(&mut self, context: &StepContext<'_, Self>) {
        if is::<SIN>(Sin::Still) {
            return;
        }
        for seat in context.seats() {
            self.sum = self.sum.wrapping_mul(31).wrapping_add(i64::from(context.input(seat).0));
        }
        if is::<SIN>(Sin::CountsSubstitutes) && context.seats().any(|seat| context.substituted(seat)) {
            self.sum = self.sum.wrapping_add(EXECUTIONS.fetch_add(1, Ordering::Relaxed).cast_signed());
        }
        if is::<SIN>(Sin::Shouts) {
            (0..=MAX_EVENTS_PER_TICK).for_each(|_| context.emit(EventId::default(), b"!"));
        }
    }

    fn project(&self, out: &mut Vec<u8>) {
        if is::<SIN>(Sin::WritesWhenProjecting) {
            self.cell.0.fetch_add(1, Ordering::Relaxed);
        }
        let count = if is::<SIN>(Sin::ProjectsACount) { EXECUTIONS.fetch_add(1, Ordering::Relaxed) } else { 0 };
        out.extend_from_slice(&count.to_le_bytes());
    }
}

/// Makes runtimes of a twin.
pub fn twin(sin: Sin) -> Arc<dyn RuntimeFactory> {
    fn of<const SIN: u8>() -> Arc<dyn RuntimeFactory> {
        let factory = NativeFactory::<Twin<SIN>>::new(|builder| builder.module("twins.rs", include_bytes!("twins.rs")));
        Arc::new(factory.expect("a valid manifest"))
    }
    match sin {
        Sin::None => of::<{ Sin::None as u8 }>(),
        Sin::Still => of::<{ Sin::Still as u8 }>(),
        Sin::CountsSubstitutes => of::<{ Sin::CountsSubstitutes as u8 }>(),
        Sin::WritesWhenProjecting => of::<{ Sin::WritesWhenProjecting as u8 }>(),
        Sin::ProjectsACount => of::<{ Sin::ProjectsACount as u8 }>(),
        Sin::Shouts => of::<{ Sin::Shouts as u8 }>(),
    }
}

/// A codec that reads nothing back.
#[derive(Clone, Copy, Debug)]
pub enum Deaf {}

impl StateCodec<Tally> for Deaf {
    fn encode(state: &Tally, out: &mut Vec<u8>) -> Result<(), canonical::EncodeError> {
        canonical::encode_into(state, out)
    }

    fn decode(_: &[u8]) -> Option<Tally> {
        None
    }
}

/// TALLY in such a codec.
pub fn deaf_factory<C: StateCodec<Tally> + 'static>() -> NativeFactory<Tally, C> {
    let factory = NativeFactory::with_codec(|builder| builder.module("twins.rs", include_bytes!("twins.rs")));
    factory.expect("a valid manifest")
}

static SEEN: Mutex<Vec<&str>> = Mutex::new(Vec::new());

/// Notes what its steps are told of the seats.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Observer(i64);

impl Simulation for Observer {
    type Input = TallyInput;
    type Command = NoCommand;

    fn describe() -> GameDescription {
        Twin::<0>::describe()
    }

    fn init(_: &InitContext<'_>) -> Result<Self, u32> {
        Ok(Observer(0))
    }

    fn step(&mut self, context: &StepContext<'_, Self>) {
        let mut seen = SEEN.lock().expect("no panic holds it");
        for seat in context.seats() {
            self.0 = self.0.wrapping_mul(31).wrapping_add(i64::from(context.input(seat).0));
            seen.push(match context.presence(seat) {
                Presence::Human => "human",
                Presence::Bot => "bot",
                Presence::Empty => "empty",
                Presence::Disconnected => "disconnected",
            });
            seen.extend(context.substituted(seat).then_some("substituted"));
            seen.extend(context.malformed(seat).then_some("malformed"));
        }
    }
}

/// What a game was told of its seats.
pub fn observed(certify: impl FnOnce(&dyn RuntimeFactory) -> Certificate) -> Vec<&'static str> {
    let factory = NativeFactory::<Observer>::new(|builder| builder.module("twins.rs", include_bytes!("twins.rs")));
    let certificate = certify(&factory.expect("a valid manifest"));
    assert_eq!(certificate.findings, []);
    let mut seen = SEEN.lock().expect("no panic holds it").clone();
    seen.sort_unstable();
    seen.dedup();
    seen
}
