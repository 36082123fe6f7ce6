//! What bytes from outside may never do (invariant 6), as one check for each kind of them: a fuzzer hands in any bytes, and the check
//! panics where a property does not hold. The same checks run as ordinary tests, from the same first inputs.
//!
//! | [`Target`] | bytes | what must hold beyond "no panic" |
//! |---|---|---|
//! | `wire` | messages, frames, records | whatever is taken encodes to the same bytes |
//! | `snapshot` | snapshots, sealed or not | the same; a state that is checked is the one that its checksum names |
//! | `replay` | replays | what was cut off is a shorter replay; ticks are counted, and follow one another |
//! | `config` | configs, schemas, manifests, descriptors, asset pins | whatever is taken encodes to the same bytes |
//! | `text` | canonical text, and binary forms of the same values | one text for a value, and one binary form, either made of the other |
//! | `module` | WebAssembly modules (feature `admission`) | what is rewritten depends on its bytes alone, and is not rewritten again |
//! | `room` | a script of what reaches a room | confirmed ticks in order, one frame for each and the same for everyone; outputs are bounded; the room is the same after a restart |
//!
//! What a check may reserve is bounded by what it is given: [`Target::most_bytes`], which whoever counts allocations asserts.
//!
//! ```
//! use retick_testing::fuzzing::{Target, Verdict};
//!
//! // Any bytes are taken or refused, and real ones are taken.
//! assert_eq!(Target::Wire.check(b"\0nothing of use"), Verdict::Refused);
//! for seed in Target::Wire.seeds() {
//!     assert_eq!(Target::Wire.check(&seed.bytes), Verdict::Taken, "{}", seed.name);
//! }
//! ```

mod config;
mod corpus;
mod dice;
#[cfg(feature = "admission")]
mod module;
mod replay;
mod room;
mod snapshot;
mod text;
mod wire;

pub use corpus::{MAX_SEED_BYTES, Seed};
pub use dice::Mutator;
pub use room::{Seen, play};

/// One kind of bytes from outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// Messages between clients and rooms, frames, and records of a room's log; the first byte says which.
    Wire,
    /// Snapshots; the first byte says whether they get their seal, so that what lies behind it is reached.
    Snapshot,
    /// Replays.
    Replay,
    /// What a match is made of; the first byte says which part of it.
    Config,
    /// The canonical text, and the binary form of the same values.
    Text,
    /// WebAssembly modules.
    #[cfg(feature = "admission")]
    Module,
    /// Scripts for a room, read byte by byte.
    Room,
}

/// What became of an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is something.
    Taken,
    /// It was refused, with a typed error.
    Refused,
}

impl Verdict {
    fn of<T, E>(result: &Result<T, E>) -> Verdict {
        if result.is_ok() { Verdict::Taken } else { Verdict::Refused }
    }
}

impl Target {
    /// All that this build has.
    pub const ALL: &'static [Target] = &[
        Target::Wire,
        Target::Snapshot,
        Target::Replay,
        Target::Config,
        Target::Text,
        #[cfg(feature = "admission")]
        Target::Module,
        Target::Room,
    ];

    /// Its name: of the fuzz target, and of the folder with its first inputs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Target::Wire => "wire",
            Target::Snapshot => "snapshot",
            Target::Replay => "replay",
            Target::Config => "config",
            Target::Text => "text",
            #[cfg(feature = "admission")]
            Target::Module => "module",
            Target::Room => "room",
        }
    }

    /// Checks every property of one input.
    ///
    /// # Panics
    /// When one does not hold.
    pub fn check(self, input: &[u8]) -> Verdict {
        match self {
            Target::Wire => wire::check(input),
            Target::Snapshot => snapshot::check(input),
            Target::Replay => replay::check(input),
            Target::Config => config::check(input),
            Target::Text => text::check(input),
            #[cfg(feature = "admission")]
            Target::Module => module::check(input),
            Target::Room => room::check(input),
        }
    }

    /// Inputs to begin with, made of real values. Few, short, and always the same.
    #[must_use]
    pub fn seeds(self) -> Vec<Seed> {
        match self {
            Target::Wire => wire::seeds(),
            Target::Snapshot => snapshot::seeds(),
            Target::Replay => replay::seeds(),
            Target::Config => config::seeds(),
            Target::Text => text::seeds(),
            #[cfg(feature = "admission")]
            Target::Module => module::seeds(),
            Target::Room => room::seeds(),
        }
    }

    /// Most bytes that the check of so many bytes may hold at a time: a named limit, and a multiple of what it was given.
    #[must_use]
    pub const fn most_bytes(self, input_bytes: usize) -> u64 {
        let (limit, each) = match self {
            Target::Wire => (64 << 10, 256),
            Target::Snapshot => (4 << 20, 512),
            Target::Replay => (256 << 10, 1024),
            Target::Config => (64 << 10, 512),
            Target::Text => (64 << 10, 2048),
            #[cfg(feature = "admission")]
            Target::Module => (1 << 20, 16 << 10),
            Target::Room => (64 << 20, 256 << 10),
        };
        limit + each * input_bytes as u64
    }
}
