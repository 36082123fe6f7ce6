//! Loading a module, and making runtimes of it.

use std::sync::Arc;

use retick_core::identity::{IdentityManifest, MatchDescriptor};
use retick_core::runtime::abi::{self, Description, InitBlock};
use retick_core::runtime::{CreateError, Runtime, RuntimeFactory, StepFault, check_descriptor};
use wasmtime::Config;

use crate::engine;
use crate::error::{ExportRefusal, LoadError};
use crate::guest::{Guest, Program};
use crate::limits::Limits;
use crate::normalise::Report;
use crate::runtime::WasmRuntime;
use crate::tracking::Tracking;

/// Path of the module in its identity manifest.
const MODULE_PATH: &str = "module.wasm";

/// Makes runtimes of one loaded module (W1). Cheap to clone: the compiled code is shared.
#[derive(Clone)]
pub struct WasmFactory {
    program: Arc<Program>,
    description: Description,
    manifest: IdentityManifest,
}

impl WasmFactory {
    /// Admits, compiles and describes a module. Its identity is made of these very bytes and of every limit (K11).
    ///
    /// # Errors
    /// [`LoadError`], which names what was refused.
    pub fn load(module: &[u8], limits: Limits) -> Result<WasmFactory, LoadError> {
        WasmFactory::load_tracking(module, limits, Tracking::Automatic)
    }

    /// The same with a way of tracking written pages that is not this machine's own choice. Nothing that it gives differs.
    ///
    /// # Errors
    /// [`LoadError`], which names what was refused.
    pub fn load_tracking(module: &[u8], limits: Limits, tracking: Tracking) -> Result<WasmFactory, LoadError> {
        WasmFactory::load_with(module, limits, tracking, &engine::config(&limits))
    }

    pub(crate) fn load_with(
        module: &[u8],
        limits: Limits,
        tracking: Tracking,
        config: &Config,
    ) -> Result<WasmFactory, LoadError> {
        WasmFactory::of(module, Program::compile(module, limits, tracking, config)?)
    }

    /// Loads a module whose code is there already.
    pub(crate) fn load_compiled(
        module: &[u8],
        limits: Limits,
        tracking: Tracking,
        config: &Config,
        compiled: &[u8],
    ) -> Result<WasmFactory, LoadError> {
        WasmFactory::of(module, Program::load(module, limits, tracking, config, compiled)?)
    }

    /// What [`WasmFactory::load_compiled`] takes.
    pub(crate) fn compiled(&self) -> Option<Vec<u8>> {
        self.program.compiled()
    }

    fn of(module: &[u8], program: Program) -> Result<WasmFactory, LoadError> {
        let description = describe(&program)?;
        let engine = IdentityManifest::builder("wasm", engine::ENGINE_REVISION, description.tick_rate);
        let settings = engine::SETTINGS.into_iter().chain(program.limits().settings());
        let manifest = settings
            .fold(engine, |builder, (name, value)| builder.setting(name, value))
            .abi_version(abi::ABI_VERSION)
            .capabilities(description.capabilities)
            .input_schema(description.input_schema.clone())
            .state_schema(&description.state_schema)
            .config_schema(description.config_schema.clone())
            .module(MODULE_PATH, module)
            .build()?;
        Ok(WasmFactory { program: Arc::new(program), description, manifest })
    }

    /// What the module says of its game.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The limits it was loaded with.
    pub fn limits(&self) -> &Limits {
        self.program.limits()
    }

    /// What the rewrite before compilation did to the module.
    pub fn report(&self) -> &Report {
        self.program.report()
    }

    /// How checkpoints learn what was written: never [`Tracking::Automatic`].
    pub fn tracking(&self) -> Tracking {
        self.program.tracking()
    }

    /// A runtime at `S(0)`, as its own type; [`RuntimeFactory::create`] gives it as a [`Runtime`].
    ///
    /// # Errors
    /// [`CreateError`] when the match is not one of this game's, or the game's init refuses it or faults.
    pub fn create_runtime(&self, descriptor: &MatchDescriptor) -> Result<WasmRuntime, CreateError> {
        check_descriptor(&self.manifest, descriptor)?;
        let seats = descriptor.seats();
        let (least, most) = (usize::from(*self.description.seats.start()), usize::from(*self.description.seats.end()));
        if !(least..=most).contains(&seats.count()) {
            return Err(CreateError::Seats { seats: seats.count(), least, most });
        }
        let guest = self.initial(descriptor)?;
        let (program, capabilities) = (Arc::clone(&self.program), self.description.capabilities);
        let runtime = WasmRuntime::new(program, self.manifest.clone(), descriptor, capabilities, guest);
        runtime.map_err(|fault| CreateError::Fault { fault, log: Vec::new() })
    }

    /// An instance at `S(0)`.
    fn initial(&self, descriptor: &MatchDescriptor) -> Result<Guest, CreateError> {
        let init = InitBlock {
            seats: descriptor.seats(),
            tick_rate: descriptor.tick_rate(),
            seed: *descriptor.seed().as_bytes(),
            config: descriptor.config().bytes(),
        };
        let mut block = Vec::new();
        abi::encode_init(&init, &mut block);
        let no_machine = |fault| CreateError::Fault { fault, log: Vec::new() };
        let mut guest = Guest::new(&self.program).map_err(no_machine)?;
        let gas = self.program.limits().init_gas;
        match guest.start(gas).and_then(|()| guest.init(&block)) {
            Ok(0) => Ok(guest),
            Ok(code) => Err(CreateError::Refused { code, log: guest.last_log() }),
            Err(fault) => Err(CreateError::Fault { fault, log: guest.last_log() }),
        }
    }
}

/// What the module says of its game, asked in an instance that is thrown away.
fn describe(program: &Program) -> Result<Description, LoadError> {
    let no_machine = |fault| LoadError::Fault { fault, log: Vec::new() };
    let mut guest = Guest::new(program).map_err(no_machine)?;
    let description = ask(&mut guest, program.limits().init_gas).map_err(|unsaid| match unsaid {
        Unsaid::Fault(fault) => LoadError::Fault { fault, log: guest.last_log() },
        Unsaid::Load(error) => error,
    })?;
    if description.capabilities.projection && !program.projects() {
        return Err(LoadError::Export { name: abi::EXPORT_PROJECT.to_owned(), refusal: ExportRefusal::Missing });
    }
    Ok(description)
}

/// Why a module says nothing of its game.
enum Unsaid {
    Fault(StepFault),
    Load(LoadError),
}

fn ask(guest: &mut Guest, gas: u64) -> Result<Description, Unsaid> {
    guest.start(gas).map_err(Unsaid::Fault)?;
    let (found, expected) = (guest.version().map_err(Unsaid::Fault)?, abi::ABI_VERSION);
    if found != expected {
        return Err(Unsaid::Load(LoadError::AbiVersion { found, expected }));
    }
    let block = guest.describe().map_err(Unsaid::Fault)?;
    abi::decode_description(block).map_err(|error| Unsaid::Load(error.into()))
}

impl RuntimeFactory for WasmFactory {
    fn manifest(&self) -> &IdentityManifest {
        &self.manifest
    }

    fn create(&self, descriptor: &MatchDescriptor) -> Result<Box<dyn Runtime>, CreateError> {
        Ok(Box::new(self.create_runtime(descriptor)?))
    }
}

impl core::fmt::Debug for WasmFactory {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("WasmFactory").field("identity", &self.manifest.identity()).finish_non_exhaustive()
    }
}
