//! What an admitted module consists of, by name, for whoever asks: `retick module inspect` shows it.

use wasmparser::{DataKind, ExternalKind, Parser, Payload, SectionLimited, TypeRef};

use crate::admit;
use crate::error::LoadError;
use crate::limits::Limits;

/// The parts of a module, as they came: nothing of it was rewritten.
///
/// ```
/// use retick_wasm::{Contents, Limits};
/// # let text = r#"(module (import "retick" "log" (func (param i32 i32)))
/// #   (memory (export "memory") 1 2)
/// #   (func (export "retick_abi") (result i32) i32.const 1)
/// #   (func (export "retick_buffer") (param i32) (result i32) i32.const 0)
/// #   (func (export "retick_describe") (result i64) i64.const 0)
/// #   (func (export "retick_init") (param i32 i32) (result i32) i32.const 0)
/// #   (func (export "retick_step") (param i32 i32) (result i32) i32.const 0))"#;
/// # let module = wat::parse_str(text)?;
/// // `module` logs, and has a memory of one page that may grow to two.
/// let contents = Contents::of(&module, &Limits::default())?;
/// assert_eq!(contents.imports, [("retick".to_owned(), "log".to_owned())]);
/// assert_eq!((contents.initial_pages, contents.maximum_pages), (1, Some(2)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Contents {
    /// Module and name of every import, in order; all are functions.
    pub imports: Vec<(String, String)>,
    /// Every export, in order.
    pub exports: Vec<Export>,
    /// Functions that it defines.
    pub functions: u32,
    /// Globals that it defines.
    pub globals: u32,
    /// Tables that it defines.
    pub tables: u32,
    /// Bytes of all data segments.
    pub data_bytes: u64,
    /// Pages of 64 KiB that its memory starts with.
    pub initial_pages: u64,
    /// Pages that it lets its memory grow to, if it says so.
    pub maximum_pages: Option<u64>,
    /// Name and bytes of every custom section. The rewrite leaves them out.
    pub custom_sections: Vec<(String, u64)>,
}

/// An export of a module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Export {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: ExportKind,
}

/// What a module can export.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExportKind {
    /// A function.
    Function,
    /// A memory.
    Memory,
    /// A table.
    Table,
    /// A global.
    Global,
}

impl ExportKind {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            ExportKind::Function => "function",
            ExportKind::Memory => "memory",
            ExportKind::Table => "table",
            ExportKind::Global => "global",
        }
    }
}

impl Contents {
    /// Admits a module and lists its parts.
    ///
    /// # Errors
    /// [`LoadError`], which names what was refused (W2).
    pub fn of(module: &[u8], limits: &Limits) -> Result<Contents, LoadError> {
        limits.check()?;
        admit::admit(module, limits)?;
        let mut contents = Contents::default();
        Parser::new(0).parse_all(module).try_for_each(|payload| contents.section(payload?))?;
        Ok(contents)
    }

    fn section(&mut self, payload: Payload<'_>) -> Result<(), LoadError> {
        match payload {
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    let import = import?;
                    // Admission granted functions alone.
                    if let TypeRef::Func(_) = import.ty {
                        self.imports.push((import.module.to_owned(), import.name.to_owned()));
                    }
                }
            }
            Payload::FunctionSection(functions) => self.functions = functions.count(),
            Payload::TableSection(tables) => self.tables = tables.count(),
            Payload::GlobalSection(globals) => self.globals = globals.count(),
            Payload::MemorySection(memories) => {
                for memory in memories {
                    let memory = memory?;
                    (self.initial_pages, self.maximum_pages) = (memory.initial, memory.maximum);
                }
            }
            Payload::ExportSection(exports) => self.exports(exports)?,
            Payload::DataSection(segments) => {
                for segment in segments {
                    let segment = segment?;
                    if let DataKind::Active { .. } = segment.kind {
                        self.data_bytes += segment.data.len() as u64;
                    }
                }
            }
            Payload::CustomSection(section) => {
                self.custom_sections.push((section.name().to_owned(), section.data().len() as u64));
            }
            _ => {}
        }
        Ok(())
    }

    fn exports(&mut self, exports: SectionLimited<'_, wasmparser::Export<'_>>) -> Result<(), LoadError> {
        for export in exports {
            let wasmparser::Export { name, kind, .. } = export?;
            let kind = match kind {
                ExternalKind::Memory => ExportKind::Memory,
                ExternalKind::Table => ExportKind::Table,
                ExternalKind::Global => ExportKind::Global,
                // Tags are refused by admission.
                ExternalKind::Func | ExternalKind::FuncExact | ExternalKind::Tag => ExportKind::Function,
            };
            self.exports.push(Export { name: name.to_owned(), kind });
        }
        Ok(())
    }
}
