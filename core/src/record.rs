//! How a seat's input and a command stand in a flat buffer: what frames and step batches have in common, so that one becomes
//! the other by copying.

use crate::frame::CommandSource;
use crate::seat::{ControlEpoch, Presence};

/// A seat; its input is a range of the buffer that belongs to the frame or step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SeatRecord {
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) epoch: ControlEpoch,
    pub(crate) presence: Presence,
    pub(crate) flags: SeatFlags,
}

/// What else is said of a seat's input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SeatFlags(u8);

impl SeatFlags {
    pub(crate) const NONE: SeatFlags = SeatFlags(0);
    /// The authority put it in.
    pub(crate) const SUBSTITUTED: SeatFlags = SeatFlags(1);
    /// The confirmed bytes were no input; only steps say so.
    pub(crate) const MALFORMED: SeatFlags = SeatFlags(2);
    /// There is none; only frames say so.
    pub(crate) const NULL: SeatFlags = SeatFlags(4);

    /// `self` if it is so, otherwise none.
    pub(crate) const fn when(self, so: bool) -> SeatFlags {
        if so { self } else { SeatFlags::NONE }
    }

    pub(crate) const fn with(self, more: SeatFlags) -> SeatFlags {
        SeatFlags(self.0 | more.0)
    }

    pub(crate) const fn has(self, flag: SeatFlags) -> bool {
        self.0 & flag.0 != 0
    }
}

impl SeatRecord {
    /// The seat's input in the bytes of its frame or step.
    #[inline]
    pub(crate) fn input<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        bytes.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    pub(crate) fn length(&self) -> usize {
        (self.end - self.start) as usize
    }
}

/// A command; its payload is a range of the buffer that belongs to the frame or step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CommandRecord {
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) source: CommandSource,
}

impl CommandRecord {
    /// The command as its frame or step shows it.
    pub(crate) fn view<'a>(&self, bytes: &'a [u8]) -> (CommandSource, &'a [u8]) {
        (self.source, bytes.get(self.start as usize..self.end as usize).unwrap_or_default())
    }
}

/// How far `bytes` are filled from `begin` on. Nothing that fits a message reaches 4 GiB; what did would be seen as empty.
#[inline]
pub(crate) fn position(bytes: &[u8], begin: usize) -> u32 {
    u32::try_from(bytes.len() - begin).unwrap_or(u32::MAX)
}
