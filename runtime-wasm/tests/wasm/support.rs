//! Modules from text, and a match of one seat whose input is a 32-bit number.

use retick_core::config::{ConfigSchema, SessionConfig};
use retick_core::digest::Checksum;
use retick_core::frame::CommandSource;
use retick_core::identity::MatchDescriptor;
use retick_core::input::InputSchema;
use retick_core::rng::SessionSeed;
use retick_core::runtime::abi::{encode_description, pack_span};
use retick_core::runtime::{
    AdvanceError, Capabilities, Checkpoint, GameDescription, Keep, Kept, Output, Runtime, RuntimeFactory, SeatStep,
    StepBatch, StepFault,
};
use retick_core::seat::{ControlEpoch, Presence, SeatCount};
use retick_core::tick::{Tick, TickRate};
use retick_wasm::{Limits, LoadError, WasmFactory, WasmRuntime};

/// Where every fixture keeps its description.
const DESCRIPTION_POINTER: u32 = 4096;

pub fn description(projection: bool) -> Vec<u8> {
    let schema = InputSchema::builder("word/v1").integer("word", 0..=i64::from(u32::MAX)).build().expect("valid");
    let game = GameDescription {
        tick_rate: TickRate::Hz60,
        state_schema: "fixture/v1",
        config_schema: ConfigSchema::empty(),
        seats: 1..=2,
        capabilities: Capabilities { commands: true, projection },
    };
    let mut block = Vec::new();
    encode_description(&game, &schema, &mut block);
    block
}

/// The interface's functions as text, with a description.
fn interface(projection: bool) -> String {
    let description = description(projection);
    let length = u32::try_from(description.len()).expect("short");
    let bytes: String = description.iter().map(|byte| format!("\\{byte:02x}")).collect();
    include_str!("../wat/interface.txt")
        .replace("{span}", &pack_span(DESCRIPTION_POINTER, length).to_string())
        .replace("{description}", &bytes)
}

/// The text with the interface's functions in place of the line `;; interface`.
pub fn expand(text: &str) -> String {
    text.replace(";; interface\n", &interface(text.contains("\"retick_project\"")))
}

/// The same with a description that claims a projection.
pub fn expand_claiming_projection(text: &str) -> String {
    text.replace(";; interface\n", &interface(true))
}

/// A module from text.
pub fn module(text: &str) -> Vec<u8> {
    wat::parse_str(expand(text)).expect("the fixture is well-formed")
}

pub fn load(text: &str) -> Result<WasmFactory, LoadError> {
    WasmFactory::load(&module(text), Limits::default())
}

pub fn refusal(text: &str) -> LoadError {
    load(text).err().unwrap_or_else(|| panic!("loaded: {text}"))
}

pub fn descriptor(factory: &WasmFactory) -> MatchDescriptor {
    let seats = SeatCount::new(1).expect("valid");
    MatchDescriptor::new(factory.manifest(), SessionConfig::empty(), SessionSeed::from_u64(7), seats)
}

/// A runtime with the calls that a test makes most.
pub struct Match {
    pub runtime: WasmRuntime,
    pub output: Output,
}

impl Match {
    pub fn new(text: &str) -> Match {
        Match::of(&load(text).expect("the fixture loads"))
    }

    pub fn of(factory: &WasmFactory) -> Match {
        let runtime = factory.create_runtime(&descriptor(factory)).expect("the fixture begins");
        Match { runtime, output: Output::default() }
    }

    /// Steps once for each input, in one batch, keeping `keep` after each step.
    pub fn run(&mut self, inputs: &[u32], keep: Keep) -> Result<(), AdvanceError> {
        self.runtime.advance(&batch(self.runtime.tick(), inputs, keep), &mut self.output)
    }

    pub fn step(&mut self, input: u32) {
        self.run(&[input], Keep::NOTHING).expect("the step runs");
    }

    /// The fault of one step.
    pub fn fault(&mut self, input: u32) -> StepFault {
        let tick = self.runtime.tick();
        match self.run(&[input], Keep::NOTHING) {
            Err(AdvanceError::Fault { tick: at, fault }) if at == tick => fault,
            other => panic!("input {input} at tick {tick}: {other:?}"),
        }
    }

    fn keep(&mut self, keep: Keep) -> Kept {
        self.output.clear();
        self.runtime.keep(keep, &mut self.output).expect("the state can be kept");
        self.output.kept.pop().expect("one state")
    }

    pub fn checksum(&mut self) -> Checksum {
        self.keep(Keep::CHECKSUM).checksum.expect("asked for")
    }

    pub fn checkpoint(&mut self) -> Checkpoint {
        self.keep(Keep::CHECKPOINT).checkpoint.expect("asked for")
    }

    pub fn projection(&mut self) -> Vec<u8> {
        let kept = self.keep(Keep::PROJECTION);
        self.output.projection(&kept).expect("asked for").to_vec()
    }

    /// The canonical bytes of a checkpoint, read in pieces.
    pub fn export(&mut self, checkpoint: Checkpoint) -> Vec<u8> {
        let mut bytes = Vec::new();
        loop {
            let offset = bytes.len() as u64;
            let total = self.runtime.export(checkpoint, offset, 50_001, &mut bytes).expect("a valid handle");
            if bytes.len() as u64 == total {
                return bytes;
            }
        }
    }

    /// Pages of the memory, as the game knows it.
    pub fn pages(&mut self) -> u32 {
        u32::from_le_bytes(*self.runtime.trailer()[8..].first_chunk().expect("tick, then pages"))
    }

    /// The 32-bit word of memory at this address.
    pub fn word(&self, address: usize) -> u32 {
        u32::from_le_bytes(*self.runtime.memory()[address..].first_chunk().expect("inside"))
    }

    pub fn double_word(&self, address: usize) -> u64 {
        u64::from_le_bytes(*self.runtime.memory()[address..].first_chunk().expect("inside"))
    }
}

fn seat(input: &[u8]) -> SeatStep<'_> {
    SeatStep { input, substituted: false, malformed: false, presence: Presence::Human, epoch: ControlEpoch(0) }
}

pub fn batch(first: Tick, inputs: &[u32], keep: Keep) -> StepBatch {
    let mut batch = StepBatch::default();
    batch.reset(first);
    for input in inputs {
        batch.push_step(keep);
        batch.push_seat(seat(&input.to_le_bytes()));
    }
    batch
}

/// One step with commands of the authority.
pub fn batch_with_commands(first: Tick, input: u32, commands: &[&[u8]]) -> StepBatch {
    let mut batch = batch(first, &[input], Keep::NOTHING);
    commands.iter().for_each(|payload| batch.push_command(CommandSource::Authority, payload));
    batch
}
