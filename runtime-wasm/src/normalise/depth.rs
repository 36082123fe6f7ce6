//! How deep calls may go, in the module itself, so that recursion ends at the same call in any engine (W4, W5).
//!
//! Every function has a cost that stands for its frame: [`SLOT_BYTES`] for each parameter, local and operand that it may hold at
//! once, [`FRAME_BYTES`], and what it computes. For a compiler that finds the same value computed on both sides of a call may
//! keep it meanwhile, and no more of these than there are instructions that compute one. Only functions that can call themselves again, by whatever way, pay: a global holds what is left,
//! such a function takes its cost from it when it begins, and below zero it traps. It keeps what is left in a local, and whoever
//! called it puts their own back into the global afterwards, so that nothing has to be done where a function ends.
//!
//! What can't recurse stands on the stack once at most. The heaviest chain of such functions is left out of the budget from the
//! start, so that budget and chain together are the limit, and the native stack needs room for that alone.

use std::collections::{BTreeMap, BTreeSet};

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use wasm_encoder::{BlockType, Encode, Instruction};
use wasmparser::Operator;
use wasmparser::types::CoreTypeId;

/// What a parameter, a local or an operand counts: as much as the largest of them takes.
const SLOT_BYTES: u64 = 16;
/// What a computed value counts, where it is no vector.
pub(super) const VALUE_BYTES: u64 = 8;
/// And where it is one.
pub(super) const VECTOR_BYTES: u64 = 16;
/// What a call counts beside these: what is saved around it, and what a compiler keeps for itself.
const FRAME_BYTES: u64 = 128;

/// What calls may do to the depth in one function.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Depth {
    /// Bytes that a call of it takes from the budget; nothing for one that can't recurse.
    pub(super) cost: Option<u32>,
    /// Whether the depth can be another after a call of it.
    pub(super) changes: bool,
}

/// Who calls whom.
#[derive(Debug, Default)]
pub(super) struct Calls {
    functions: Vec<Called>,
    /// Functions in tables, by their type.
    indirect: BTreeMap<CoreTypeId, Vec<u32>>,
}

/// One function, and what it calls.
#[derive(Debug, Default)]
struct Called {
    bytes: u64,
    direct: BTreeSet<u32>,
    indirect: BTreeSet<CoreTypeId>,
}

impl Calls {
    /// Adds the next imported function, which calls nothing.
    pub(super) fn import(&mut self) {
        self.functions.push(Called::default());
    }

    /// Notes that a table holds a function of this type.
    pub(super) fn in_table(&mut self, function: u32, ty: CoreTypeId) {
        self.indirect.entry(ty).or_default().push(function);
    }

    /// Adds the next function, with its calls to come.
    pub(super) fn function(&mut self) {
        self.functions.push(Called { bytes: FRAME_BYTES, ..Called::default() });
    }

    /// The last added function holds so many values at once at most, and computes so many bytes of them.
    pub(super) fn frame(&mut self, slots: u64, computed_bytes: u64) {
        if let Some(function) = self.functions.last_mut() {
            let held = slots.saturating_mul(SLOT_BYTES);
            function.bytes = FRAME_BYTES.saturating_add(held).saturating_add(computed_bytes);
        }
    }

    /// The last added function calls another.
    pub(super) fn calls(&mut self, callee: u32) {
        if let Some(function) = self.functions.last_mut() {
            function.direct.insert(callee);
        }
    }

    /// The last added function calls what a table holds.
    pub(super) fn calls_any(&mut self, ty: CoreTypeId) {
        if let Some(function) = self.functions.last_mut() {
            function.indirect.insert(ty);
        }
    }

    /// What each function does to the depth, and what calls by type may do.
    pub(super) fn depths(&self) -> Depths {
        let types: Vec<CoreTypeId> = self.indirect.keys().copied().collect();
        let graph = self.graph(&types);
        let mut depths = Depths { functions: vec![Depth::default(); self.functions.len()], ..Depths::default() };
        let mut changing = vec![false; graph.node_count()];
        let mut heaviest = vec![0_u64; graph.node_count()];
        // What is called comes before whoever calls it.
        for component in kosaraju_scc(&graph) {
            let recursive = component.len() > 1 || component.iter().any(|node| graph.contains_edge(*node, *node));
            let called = || component.iter().flat_map(|node| graph.neighbors(*node));
            let changes = recursive || called().any(|callee| changing[callee.index()]);
            let below = called().map(|callee| heaviest[callee.index()]).max().unwrap_or(0);
            for node in &component {
                changing[node.index()] = changes;
                heaviest[node.index()] = below;
                let Some(function) = self.functions.get(node.index()) else { continue };
                let cost = recursive.then(|| u32::try_from(function.bytes).unwrap_or(u32::MAX).min(MOST_COST));
                depths.functions[node.index()] = Depth { cost, changes };
                if !recursive {
                    heaviest[node.index()] = below.saturating_add(function.bytes);
                }
            }
        }
        depths.acyclic_bytes = heaviest.into_iter().max().unwrap_or(0);
        let nodes = self.functions.len()..;
        depths.changing_types =
            types.into_iter().zip(nodes).filter(|(_, node)| changing[*node]).map(|(ty, _)| ty).collect();
        depths
    }

    /// A node for each function and, behind these, for each type of `types`, through which indirect calls go.
    fn graph(&self, types: &[CoreTypeId]) -> DiGraph<(), ()> {
        let mut graph = DiGraph::new();
        for _ in 0..self.functions.len() + types.len() {
            graph.add_node(());
        }
        let node = NodeIndex::new;
        for (caller, function) in self.functions.iter().enumerate() {
            for callee in function.direct.iter().filter(|callee| (**callee as usize) < self.functions.len()) {
                graph.add_edge(node(caller), node(*callee as usize), ());
            }
            for ty in function.indirect.iter().filter_map(|ty| types.binary_search(ty).ok()) {
                graph.add_edge(node(caller), node(self.functions.len() + ty), ());
            }
        }
        for (ty, functions) in self.indirect.values().enumerate() {
            for callee in functions.iter().filter(|callee| (**callee as usize) < self.functions.len()) {
                graph.add_edge(node(self.functions.len() + ty), node(*callee as usize), ());
            }
        }
        graph
    }
}

/// A cost that can be taken from any budget without an overflow.
const MOST_COST: u32 = i32::MAX.cast_unsigned();

/// What [`Calls::depths`] finds.
#[derive(Debug, Default)]
pub(super) struct Depths {
    functions: Vec<Depth>,
    changing_types: BTreeSet<CoreTypeId>,
    /// Bytes of the heaviest chain of calls of functions that can't recurse.
    pub(super) acyclic_bytes: u64,
}

impl Depths {
    pub(super) fn of(&self, function: u32) -> Depth {
        self.functions.get(function as usize).copied().unwrap_or_default()
    }

    /// Functions that can recurse.
    pub(super) fn recursive(&self) -> usize {
        self.functions.iter().filter(|depth| depth.cost.is_some()).count()
    }

    /// Whether the depth can be another after this instruction; `type_of` gives the type that an index stands for.
    pub(super) fn changed_by(&self, operator: &Operator<'_>, type_of: impl Fn(u32) -> Option<CoreTypeId>) -> bool {
        match operator {
            Operator::Call { function_index } => self.of(*function_index).changes,
            Operator::CallIndirect { type_index, .. } => {
                type_of(*type_index).is_some_and(|ty| self.changing_types.contains(&ty))
            }
            _ => false,
        }
    }
}

/// Where a function that changes the depth keeps its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keeper {
    pub(super) global: u32,
    pub(super) local: u32,
}

impl Keeper {
    /// Appends what happens where the function begins.
    pub(super) fn begin(&self, cost: Option<u32>, out: &mut Vec<u8>) {
        let Keeper { global, local } = *self;
        Instruction::GlobalGet(global).encode(out);
        let Some(cost) = cost else { return Instruction::LocalSet(local).encode(out) };
        let taken = [
            Instruction::I32Const(cost.cast_signed()),
            Instruction::I32Sub,
            Instruction::LocalTee(local),
            Instruction::GlobalSet(global),
            Instruction::LocalGet(local),
            Instruction::I32Const(0),
            Instruction::I32LtS,
            Instruction::If(BlockType::Empty),
            Instruction::Unreachable,
            Instruction::End,
        ];
        taken.iter().for_each(|instruction| instruction.encode(out));
    }

    /// Appends what happens after a call that may have changed the depth.
    pub(super) fn put_back(&self, out: &mut Vec<u8>) {
        [Instruction::LocalGet(self.local), Instruction::GlobalSet(self.global)]
            .iter()
            .for_each(|instruction| instruction.encode(out));
    }
}
