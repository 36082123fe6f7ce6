//! First inputs: real values, short enough to be kept beside the sources.

/// Most bytes of one.
pub const MAX_SEED_BYTES: usize = 2048;

/// An input to begin with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seed {
    /// What it is, as the name of a file.
    pub name: &'static str,
    /// The input.
    pub bytes: Vec<u8>,
}

impl Seed {
    /// An input whose first byte says what the others are.
    pub(super) fn tagged(name: &'static str, tag: u8, bytes: &[u8]) -> Seed {
        Seed { name, bytes: [&[tag], bytes].concat() }
    }
}
