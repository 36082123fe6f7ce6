//! The hash chain over a generation's frames (A12).

use alloc::vec::Vec;

use super::Frame;
use crate::digest::{Context, Digest};
use crate::identity::MatchDescriptor;

const CHAIN_CONTEXT: &str = "retick 2026 frame chain v1";

/// The hash chain over a generation's frames (A12): it starts at the descriptor's digest, and each link covers the link before
/// and one frame's self-contained bytes. Equal heads mean equal histories.
#[derive(Clone, Debug)]
pub struct FrameChain {
    head: Digest,
    context: Context,
    scratch: Vec<u8>,
}

impl FrameChain {
    /// The chain before tick 0 of the generation that `descriptor` describes.
    #[must_use]
    pub fn new(descriptor: &MatchDescriptor) -> FrameChain {
        FrameChain { head: descriptor.digest(), context: Context::new(CHAIN_CONTEXT), scratch: Vec::new() }
    }

    /// A chain whose frames so far are known by their head alone, for whoever checks what follows.
    #[must_use]
    pub fn from_head(head: Digest) -> FrameChain {
        FrameChain { head, context: Context::new(CHAIN_CONTEXT), scratch: Vec::new() }
    }

    /// The digest over every frame so far.
    pub fn head(&self) -> Digest {
        self.head
    }

    /// Adds the next frame.
    pub fn extend(&mut self, frame: &Frame) {
        self.scratch.clear();
        frame.encode_full(&mut self.scratch);
        self.head = self.context.digest(&[self.head.as_bytes(), &self.scratch]);
    }

    /// Adds the next frame by its self-contained bytes, for whoever has them already: what [`Frame::encode_full`] wrote. They are
    /// not looked at.
    pub fn extend_encoded(&mut self, frame: &[u8]) {
        self.head = self.context.digest(&[self.head.as_bytes(), frame]);
    }
}
