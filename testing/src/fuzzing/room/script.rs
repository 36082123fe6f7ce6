//! Reading a script: one byte at a time, and nothing at its end.

/// What is left of a script.
#[derive(Clone, Debug)]
pub(super) struct Script<'a> {
    rest: &'a [u8],
}

impl<'a> Script<'a> {
    pub(super) fn new(rest: &'a [u8]) -> Script<'a> {
        Script { rest }
    }

    /// The next byte, if there is one.
    pub(super) fn next(&mut self) -> Option<u8> {
        let (byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*byte)
    }

    /// The next byte; 0 at the end.
    pub(super) fn byte(&mut self) -> u8 {
        self.next().unwrap_or_default()
    }

    /// A number below `end`.
    pub(super) fn below(&mut self, end: u8) -> u8 {
        self.byte() % end.max(1)
    }

    pub(super) fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// Whether the next byte is this one: for what shall happen seldom.
    pub(super) fn is(&mut self, seldom: u8) -> bool {
        self.byte() == seldom
    }

    /// So many bytes, or what is left.
    pub(super) fn bytes(&mut self, count: u8) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(usize::from(count).min(self.rest.len()));
        self.rest = rest;
        taken
    }
}
