//! The locals that the rewrite adds to a function, behind its own.

use wasm_encoder::ValType;

/// Hands out locals of one function, in the order in which they are asked for.
#[derive(Debug)]
pub(super) struct Locals {
    first: u32,
    added: Vec<ValType>,
    scratch: Vec<(ValType, u32)>,
    address: Option<u32>,
}

impl Locals {
    /// For a function that has `first` locals, parameters among them.
    pub(super) fn behind(first: u32) -> Locals {
        Locals { first, added: Vec::new(), scratch: Vec::new(), address: None }
    }

    /// A local for one use alone.
    pub(super) fn own(&mut self, ty: ValType) -> u32 {
        let index = self.first.saturating_add(u32::try_from(self.added.len()).unwrap_or(u32::MAX));
        self.added.push(ty);
        index
    }

    /// The local that holds an operand of this type while an instruction is replaced.
    pub(super) fn scratch(&mut self, ty: ValType) -> u32 {
        if let Some((_, index)) = self.scratch.iter().find(|(known, _)| *known == ty) {
            return *index;
        }
        let index = self.own(ty);
        self.scratch.push((ty, index));
        index
    }

    /// The local that holds an address while a store is replaced.
    pub(super) fn address(&mut self) -> u32 {
        let index = self.address.unwrap_or_else(|| self.own(ValType::I32));
        self.address = Some(index);
        index
    }

    /// The types of what was handed out.
    pub(super) fn added(&self) -> &[ValType] {
        &self.added
    }
}
