//! What the host gives a guest: a log, and a way out for events.

use std::collections::VecDeque;

use retick_core::event::{EventBatch, EventId};
use retick_core::runtime::{StepFault, abi};
use wasmtime::{Caller, Engine, Global, Linker, Memory, Val};

use crate::error::LoadError;
use crate::fault::HostRaised;
use crate::limits::Limits;
use crate::memory;

/// The host's side of one instance. Nothing in here is part of the state.
#[derive(Debug)]
pub(crate) struct Host {
    /// Known once the instance exists.
    pub memory: Option<Memory>,
    /// The gas that is left, likewise.
    pub gas: Option<Global>,
    /// The last lines.
    pub log: VecDeque<String>,
    /// Where events go while a step runs; outside of steps there is nothing.
    pub events: Option<EventBatch>,
    limits: Limits,
    /// Where the game's memory begins.
    base: usize,
}

impl Host {
    pub fn new(limits: Limits, base: u32) -> Host {
        Host { memory: None, gas: None, log: VecDeque::new(), events: None, limits, base: base as usize }
    }

    /// The game's part of the memory.
    fn game<'a>(&self, memory: &'a [u8]) -> &'a [u8] {
        memory.get(self.base..).unwrap_or_default()
    }

    fn keep_line(&mut self, line: String) {
        self.log.push_back(line);
        let most = usize::try_from(self.limits.log_lines).unwrap_or(usize::MAX);
        while self.log.len() > most {
            self.log.pop_front();
        }
    }
}

/// A linker with all that is granted, and nothing else.
pub(crate) fn linker(engine: &Engine) -> Result<Linker<Host>, LoadError> {
    let mut linker = Linker::new(engine);
    let linked = linker.func_wrap(abi::IMPORT_MODULE, abi::IMPORT_LOG, log).map(drop);
    let linked = linked.and_then(|()| linker.func_wrap(abi::IMPORT_MODULE, abi::IMPORT_EMIT, emit).map(drop));
    linked.map_err(|error| LoadError::Engine { message: error.to_string() })?;
    Ok(linker)
}

/// Keeps a line. It costs gas like an instruction, only more, and a span outside the memory is a fault even where the line
/// would be cut: whether a step faults never depends on what is kept.
fn log(mut caller: Caller<'_, Host>, pointer: u32, length: u32) -> wasmtime::Result<()> {
    pay(&mut caller, |limits| limits.log_gas)?;
    let granted = caller.data().memory.ok_or(HostRaised(StepFault::Host))?;
    let (bytes, host) = granted.data_and_store_mut(&mut caller);
    let bytes = memory::read(host.game(bytes), pointer, length).map_err(HostRaised)?;
    let most = usize::try_from(host.limits.log_line_bytes).unwrap_or(usize::MAX);
    let line = String::from_utf8_lossy(&bytes[..bytes.len().min(most)]).into_owned();
    host.keep_line(line);
    Ok(())
}

/// Takes an event of the step that runs (K10). Its numbers and its span are checked also where it is dropped: whether a step faults
/// never depends on what is kept.
fn emit(
    mut caller: Caller<'_, Host>,
    module: u32,
    source: u32,
    event: u32,
    pointer: u32,
    length: u32,
) -> wasmtime::Result<()> {
    pay(&mut caller, |limits| limits.event_gas)?;
    let granted = caller.data().memory.ok_or(HostRaised(StepFault::Host))?;
    let (bytes, host) = granted.data_and_store_mut(&mut caller);
    let payload = memory::read(host.game(bytes), pointer, length).map_err(HostRaised)?;
    let broken = HostRaised(StepFault::Interface);
    let number = |value: u32| u16::try_from(value).map_err(|_| broken);
    let id = EventId { module: number(module)?, source, event: number(event)? };
    host.events.as_mut().ok_or(broken)?.push(id, payload);
    Ok(())
}

/// Takes the gas that an import costs.
fn pay(caller: &mut Caller<'_, Host>, cost: impl FnOnce(&Limits) -> u64) -> wasmtime::Result<()> {
    let (cost, global) = (cost(&caller.data().limits), caller.data().gas.ok_or(HostRaised(StepFault::Host))?);
    let cost = i64::try_from(cost).unwrap_or(i64::MAX);
    let left = global.get(&mut *caller).i64().unwrap_or(0).saturating_sub(cost);
    global.set(&mut *caller, Val::I64(left))?;
    if left < 0 { Err(HostRaised(StepFault::OutOfGas).into()) } else { Ok(()) }
}
