//! `retick module inspect`: what a module is, and what becomes of it.

use std::path::PathBuf;

use clap::Args;
use retick_core::config::{ConfigKind, ConfigSchema};
use retick_core::input::{FieldKind, FieldPolicy, InputSchema};
use retick_core::runtime::RuntimeFactory;
use retick_core::runtime::abi::{ABI_VERSION, Description};
use retick_wasm::{Contents, Limits, Normalised, Tracking, WasmFactory, normalise};
use serde_json::{Map, Value, json};

use super::{print_json, read, refused};
use crate::failure::Failure;

/// Arguments of `retick module inspect`.
#[derive(Args)]
pub struct InspectArguments {
    /// The game's module
    file: PathBuf,
    /// Print one JSON document, whose shape docs/module-certification.md has
    #[arg(long)]
    json: bool,
}

/// Runs `retick module inspect`.
pub fn run(arguments: &InspectArguments) -> Result<(), Failure> {
    let (bytes, limits) = (read(&arguments.file)?, Limits::default());
    let refused = |error| refused(&arguments.file, error);
    let contents = Contents::of(&bytes, &limits).map_err(refused)?;
    let normalised = normalise(&bytes, &limits).map_err(refused)?;
    let factory = WasmFactory::load(&bytes, limits).map_err(refused)?;
    let inspected = Inspected { factory, contents, normalised };
    if arguments.json {
        print_json(&inspected.document());
    } else {
        inspected.print();
    }
    Ok(())
}

/// All that is known of one module.
struct Inspected {
    factory: WasmFactory,
    contents: Contents,
    normalised: Normalised,
}

impl Inspected {
    fn document(&self) -> Value {
        let Contents { imports, exports, functions, globals, tables, data_bytes, .. } = &self.contents;
        let imports: Vec<_> = imports.iter().map(|(module, name)| json!({"module": module, "name": name})).collect();
        let exports: Vec<_> =
            exports.iter().map(|export| json!({"kind": export.kind.name(), "name": export.name})).collect();
        let custom = self.contents.custom_sections.iter();
        let custom: Vec<_> = custom.map(|(name, bytes)| json!({"bytes": bytes, "name": name})).collect();
        let numbers = |rows: &[(&'static str, u64)]| {
            rows.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect::<Map<_, _>>()
        };
        json!({
            "abi_version": ABI_VERSION,
            "contents": {
                "custom_sections": custom,
                "data_bytes": data_bytes,
                "exports": exports,
                "functions": functions,
                "globals": globals,
                "imports": imports,
                "initial_pages": self.contents.initial_pages,
                "maximum_pages": self.contents.maximum_pages,
                "tables": tables,
            },
            "description": description(self.factory.description()),
            "identity": self.factory.manifest().identity().to_string(),
            "limits": numbers(&self.factory.limits().settings()),
            "report": numbers(&self.normalised.report().figures()),
            "tracking": tracking(self.factory.tracking()),
        })
    }

    fn print(&self) {
        let described = self.factory.description();
        println!("identity      {}", self.factory.manifest().identity());
        println!("interface     version {ABI_VERSION}");
        println!("ticks         {} a second", described.tick_rate.hz());
        println!("seats         {} to {}", described.seats.start(), described.seats.end());
        println!("capabilities  {}", told(&capabilities(described)));
        println!("state         {}", described.state_schema);
        println!("input         {}", told_input(&described.input_schema));
        println!("config        {}", told_config(&described.config_schema));
        let imports = self.contents.imports.iter().map(|(module, name)| format!("{module}.{name}"));
        println!("imports       {}", told(&imports.collect::<Vec<_>>()));
        let exports = self.contents.exports.iter().map(|export| match export.kind.name() {
            "function" => export.name.clone(),
            kind => format!("{} ({kind})", export.name),
        });
        println!("exports       {}", told(&exports.collect::<Vec<_>>()));
        let custom = self.contents.custom_sections.iter().map(|(name, bytes)| format!("{name} ({bytes} bytes)"));
        println!("left out      {}", told(&custom.collect::<Vec<_>>()));
        self.print_layout();
        println!("\nwhat the rewrite does, with a mark for each page");
        self.normalised.report().figures().iter().for_each(|(name, value)| println!("  {name:<22}{value:>12}"));
        println!("\nlimits, which are part of the identity");
        self.factory.limits().settings().iter().for_each(|(name, value)| println!("  {name:<22}{value:>12}"));
    }

    fn print_layout(&self) {
        let Contents { initial_pages, maximum_pages, .. } = self.contents;
        let maximum = maximum_pages.map_or("as the limit says".into(), |pages| format!("at most {pages}"));
        let report = self.normalised.report();
        println!("memory        {initial_pages} pages of 64 KiB, {maximum}");
        println!("layout        {} bytes of marks, then {} bytes of state", report.base_bytes, report.memory_bytes);
        let grown = report.normalised_bytes * 100 / report.original_bytes.max(1);
        println!("size          {} bytes, {} as it runs ({grown} %)", report.original_bytes, report.normalised_bytes);
        println!("tracking      {}, on this machine", tracking(self.factory.tracking()));
    }
}

fn tracking(tracking: Tracking) -> &'static str {
    match tracking {
        Tracking::CopyAll => "copy-all",
        Tracking::ComparePages => "compare-pages",
        Tracking::DirtyMap => "dirty-map",
        Tracking::ProtectPages => "protect-pages",
        // A factory has resolved the automatic choice.
        _ => "automatic",
    }
}

fn capabilities(description: &Description) -> Vec<&'static str> {
    let all = [(description.capabilities.commands, "commands"), (description.capabilities.projection, "projection")];
    all.into_iter().filter_map(|(has, name)| has.then_some(name)).collect()
}

fn description(description: &Description) -> Value {
    let Description { tick_rate, seats, input_schema, state_schema, config_schema, .. } = description;
    let fields = input_schema.fields().iter().map(|field| {
        let (kind, policy) = (told_kind(field.kind()), told_policy(field.policy()));
        json!({"kind": kind, "name": field.name(), "policy": policy})
    });
    let config = config_schema.fields().iter();
    let config = config.map(|field| json!({"kind": told_config_kind(field.kind()), "name": field.name()}));
    json!({
        "capabilities": capabilities(description),
        "config_schema": {
            "fields": config.collect::<Vec<_>>(),
            "id": config_schema.id(),
            "max_bytes": config_schema.max_bytes(),
            "version": config_schema.version(),
        },
        "input_schema": {
            "fields": fields.collect::<Vec<_>>(),
            "id": input_schema.id(),
            "packed_bytes": input_schema.packed_bytes(),
        },
        "seats": {"fewest": seats.start(), "most": seats.end()},
        "state_schema": state_schema,
        "ticks_per_second": tick_rate.hz(),
    })
}

/// A list in words.
fn told<S: AsRef<str>>(items: &[S]) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    if items.is_empty() { "none".into() } else { items.join(", ") }
}

fn told_input(schema: &InputSchema) -> String {
    let fields = schema.fields().iter();
    let fields = fields.map(|field| {
        let (kind, policy) = (told_kind(field.kind()), told_policy(field.policy()));
        format!("\n                {}: {kind}, {policy}", field.name())
    });
    format!("{}, {} bytes{}", schema.id(), schema.packed_bytes(), fields.collect::<String>())
}

fn told_config(schema: &ConfigSchema) -> String {
    let fields = schema.fields().iter();
    let fields = fields.map(|field| format!("\n                {}: {}", field.name(), told_config_kind(field.kind())));
    let (id, version) = (schema.id(), schema.version());
    let id = if id.is_empty() { "none".into() } else { format!("{id}, version {version}") };
    format!("{id}{}", fields.collect::<String>())
}

fn told_kind(kind: &FieldKind) -> String {
    match kind {
        FieldKind::Integer { min, max } => format!("integer {min} to {max}"),
        FieldKind::Boolean => "boolean".into(),
        FieldKind::Choice { choices } => format!("choice of {choices}"),
        FieldKind::Flags { count } => format!("{count} flags"),
        FieldKind::Axis { min, max, fraction_bits } => format!("axis {min} to {max}, {fraction_bits} fraction bits"),
    }
}

fn told_policy(policy: FieldPolicy) -> &'static str {
    match policy {
        FieldPolicy::Repeat => "repeat",
        FieldPolicy::Neutral => "neutral",
        FieldPolicy::Once => "once",
    }
}

fn told_config_kind(kind: &ConfigKind) -> String {
    match kind {
        ConfigKind::Integer { low, high } => format!("integer {low} to {high}"),
        ConfigKind::Boolean => "boolean".into(),
        ConfigKind::Text { max_bytes } => format!("text of at most {max_bytes} bytes"),
        ConfigKind::Bytes { max_bytes } => format!("at most {max_bytes} bytes"),
    }
}
