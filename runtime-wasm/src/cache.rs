//! Modules that are loaded more than once are rewritten and compiled once (T, W1): in memory, and in a directory when one is
//! named.
//!
//! A compiled module is native code, and whoever can write it decides what runs. So nothing is kept on disk unless a directory is
//! given, which must be this user's own and closed to others, and everything in it is bound to the module, the limits, the way of
//! tracking and the engine by the file's name and by a hash over its content. The hash finds damage; it can't keep out someone
//! who may write the directory.
//!
//! ```
//! use retick_wasm::{Limits, ModuleCache, Tracking};
//! # use retick_core::{config::ConfigSchema, input::InputSchema, runtime::{Capabilities, GameDescription}, tick::TickRate};
//! # let input = InputSchema::builder("none/v1").boolean("none").build()?;
//! # let game = GameDescription { tick_rate: TickRate::Hz60, state_schema: "none/v1", config_schema: ConfigSchema::empty(), seats: 1..=1, capabilities: Capabilities::default() };
//! # let mut block = Vec::new();
//! # retick_core::runtime::abi::encode_description(&game, &input, &mut block);
//! # let data: String = block.iter().map(|byte| format!("\\{byte:02x}")).collect();
//! # let span = retick_core::runtime::abi::pack_span(64, u32::try_from(block.len())?);
//! # let module = wat::parse_str(format!(r#"(module (memory (export "memory") 1 1) (data (i32.const 64) "{data}")
//! #   (func (export "retick_abi") (result i32) i32.const 1)
//! #   (func (export "retick_buffer") (param i32) (result i32) i32.const 4096)
//! #   (func (export "retick_describe") (result i64) i64.const {span})
//! #   (func (export "retick_init") (param i32 i32) (result i32) i32.const 0)
//! #   (func (export "retick_step") (param i32 i32) (result i32) i32.const 0))"#))?;
//! let mut cache = ModuleCache::in_memory();
//! let first = cache.load(&module, Limits::default())?;
//! let again = cache.load(&module, Limits::default())?;
//! assert_eq!(first.manifest().identity(), again.manifest().identity());
//! assert_eq!((cache.compiled(), cache.len()), (1, 1));
//! # use retick_core::runtime::RuntimeFactory;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(crate) mod code;
mod file;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::engine;
use crate::error::LoadError;
use crate::factory::WasmFactory;
use crate::limits::Limits;
use crate::tracking::Tracking;

pub use file::DirectoryRefusal;

/// What one compiled module depends on.
type Key = [u8; 32];

/// Loaded modules, by what they are. It grows with each module that is loaded, until it is [cleared](ModuleCache::clear).
#[derive(Debug, Default)]
pub struct ModuleCache {
    factories: BTreeMap<Key, WasmFactory>,
    directory: Option<PathBuf>,
    compiled: u64,
}

impl ModuleCache {
    /// A cache of this process alone.
    pub fn in_memory() -> ModuleCache {
        ModuleCache::default()
    }

    /// A cache that also keeps compiled modules in a directory, for the next process. The directory must exist.
    ///
    /// **Whatever is in the directory runs as native code with the rights of this process.** On Unix it is refused unless it belongs
    /// to the user of this process and nobody else may write it.
    ///
    /// # Errors
    /// [`DirectoryRefusal`].
    pub fn trusting_directory(directory: &Path) -> Result<ModuleCache, DirectoryRefusal> {
        file::check_directory(directory)?;
        Ok(ModuleCache { directory: Some(directory.to_owned()), ..ModuleCache::default() })
    }

    /// Loads a module as [`WasmFactory::load`] does, or gives what was loaded of the same bytes under the same limits.
    ///
    /// # Errors
    /// [`LoadError`]. A file of the directory that is damaged or can't be read or written is no error: the module is compiled.
    pub fn load(&mut self, module: &[u8], limits: Limits) -> Result<WasmFactory, LoadError> {
        self.load_tracking(module, limits, Tracking::Automatic)
    }

    /// The same as [`WasmFactory::load_tracking`] does.
    ///
    /// # Errors
    /// As [`ModuleCache::load`].
    pub fn load_tracking(
        &mut self,
        module: &[u8],
        limits: Limits,
        tracking: Tracking,
    ) -> Result<WasmFactory, LoadError> {
        let key = key(module, &limits, tracking);
        if let Some(factory) = self.factories.get(&key) {
            return Ok(factory.clone());
        }
        let file = self.directory.as_ref().map(|directory| directory.join(file::name(&key)));
        let config = engine::config(&limits);
        let stored = file.as_deref().and_then(|file| file::read(file, &key));
        let stored = stored.and_then(|code| WasmFactory::load_compiled(module, limits, tracking, &config, &code).ok());
        let factory = match stored {
            Some(factory) => factory,
            None => {
                self.compiled += 1;
                let factory = WasmFactory::load_with(module, limits, tracking, &config)?;
                if let Some((file, code)) = file.as_ref().zip(factory.compiled()) {
                    file::write(file, &key, &code);
                }
                factory
            }
        };
        self.factories.insert(key, factory.clone());
        Ok(factory)
    }

    /// How often a module was rewritten and compiled, since neither memory nor directory had it.
    pub fn compiled(&self) -> u64 {
        self.compiled
    }

    /// How many modules are held.
    pub fn len(&self) -> usize {
        self.factories.len()
    }

    /// Whether no module is held.
    pub fn is_empty(&self) -> bool {
        self.factories.is_empty()
    }

    /// Lets go of all modules in memory; matches that run go on, and files stay.
    pub fn clear(&mut self) {
        self.factories.clear();
    }
}

/// The key of a module: everything that the compiled code follows from, but for the engine's own version and this machine's
/// processor, which the engine writes into the code and checks itself.
fn key(module: &[u8], limits: &Limits, tracking: Tracking) -> Key {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"retick module cache 2");
    let settings = engine::SETTINGS.into_iter().chain(limits.settings());
    for (name, value) in settings.chain([("engine", u64::from(engine::ENGINE_REVISION))]) {
        hasher.update(name.as_bytes()).update(&[0]).update(&value.to_le_bytes());
    }
    hasher.update(format!("{tracking:?}").as_bytes()).update(&[0]);
    *hasher.update(module).finalize().as_bytes()
}
