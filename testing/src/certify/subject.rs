//! What is certified: factories to play side by side, and what of their runtimes can be metered.

use retick_core::identity::{IdentityManifest, MatchDescriptor};
use retick_core::runtime::abi::EXPORT_PROJECT;
use retick_core::runtime::{CreateError, Runtime, RuntimeFactory};
use retick_wasm::{Contents, Limits, LoadError, Tracking, WasmFactory, WasmRuntime};

use super::SeatRange;

/// A module, compiled for each way of tracking that a certification plays it with.
#[derive(Clone, Debug)]
pub struct LoadedModule {
    /// As this machine would run it.
    chosen: WasmFactory,
    /// With every page compared, which needs nothing of the module or the kernel.
    compared: WasmFactory,
    /// With a mark for each page, by which pages are counted.
    marked: WasmFactory,
    contents: Contents,
}

impl LoadedModule {
    /// Loads a module.
    ///
    /// # Errors
    /// [`LoadError`], which names what was refused.
    pub fn load(module: &[u8], limits: &Limits) -> Result<LoadedModule, LoadError> {
        let contents = Contents::of(module, limits)?;
        let chosen = WasmFactory::load(module, *limits)?;
        let with = |tracking| match chosen.tracking() == tracking {
            true => Ok(chosen.clone()),
            false => WasmFactory::load_tracking(module, *limits, tracking),
        };
        let (compared, marked) = (with(Tracking::ComparePages)?, with(Tracking::DirtyMap)?);
        Ok(LoadedModule { chosen, compared, marked, contents })
    }

    /// The module as this machine would run it.
    pub fn factory(&self) -> &WasmFactory {
        &self.chosen
    }

    pub(super) fn candidate(&self) -> Candidate<'_> {
        let description = self.chosen.description();
        let exported = self.contents.exports.iter().any(|export| export.name == EXPORT_PROJECT);
        let hides_projection = exported && !description.capabilities.projection;
        let seats = description.seats.clone();
        Candidate { factories: [&self.chosen, &self.compared], seats, marked: Some(&self.marked), hides_projection }
    }
}

/// A game to certify.
#[derive(Clone)]
pub struct Candidate<'a> {
    factories: [&'a dyn RuntimeFactory; 2],
    seats: SeatRange,
    /// Where runtimes with meters come from.
    marked: Option<&'a WasmFactory>,
    hides_projection: bool,
}

impl<'a> Candidate<'a> {
    /// A game of any runtime that takes this many seats. It has no meters: gas, pages and memory are not measured.
    pub fn native(factory: &'a dyn RuntimeFactory, seats: SeatRange) -> Candidate<'a> {
        Candidate { factories: [factory, factory], seats, marked: None, hides_projection: false }
    }

    pub(super) fn manifest(&self) -> &IdentityManifest {
        self.factories[0].manifest()
    }

    /// Whose instances are played side by side.
    pub(super) fn factories(&self) -> [&'a dyn RuntimeFactory; 2] {
        self.factories
    }

    pub(super) fn seats(&self) -> &SeatRange {
        &self.seats
    }

    /// Whether the module exports a projection that nobody would ask for.
    pub(super) fn hides_projection(&self) -> bool {
        self.hides_projection
    }

    /// A runtime with whatever meters there are.
    pub(super) fn metered(&self, descriptor: &MatchDescriptor) -> Result<Subject, CreateError> {
        match self.marked {
            Some(factory) => Ok(Subject::Module(Box::new(factory.create_runtime(descriptor)?))),
            None => Ok(Subject::Plain(self.factories[0].create(descriptor)?)),
        }
    }
}

/// A runtime that may have meters.
pub(super) enum Subject {
    Plain(Box<dyn Runtime>),
    Module(Box<WasmRuntime>),
}

/// What the last step took.
#[derive(Clone, Copy)]
pub(super) struct Meters {
    pub gas: u64,
    pub pages: u64,
    pub memory_pages: u64,
}

impl Subject {
    pub fn runtime(&mut self) -> &mut dyn Runtime {
        match self {
            Subject::Plain(runtime) => runtime.as_mut(),
            Subject::Module(runtime) => runtime.as_mut(),
        }
    }

    pub fn meters(&mut self) -> Option<Meters> {
        match self {
            Subject::Plain(_) => None,
            Subject::Module(runtime) => {
                let (gas, pages) = (runtime.gas_used(), runtime.written_pages() as u64);
                Some(Meters { gas, pages, memory_pages: u64::from(runtime.known_pages()) })
            }
        }
    }
}
