//! `retick module symbols`: names for the addresses of a module's statics, from its DWARF sections (A8).
//!
//! A desync in a module has an address in its memory. A build that is not stripped knows what its compiler put there: every variable
//! with a fixed address, and the parts of its type. What comes out is a list that `retick_core::fields::Symbols` reads; what a game
//! keeps on its heap stands in no list. The list is of that build alone: a stripped copy of the same build has the same addresses.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use gimli::{AttributeValue, DebuggingInformationEntry, Dwarf, EndianSlice, LittleEndian, Operation, Unit, UnitOffset};
use retick_core::fields::{FieldNames, MAX_SYMBOLS, Symbols};
use wasmparser::{Parser, Payload};

use crate::failure::Failure;
use crate::files::read_bounded;

/// Most bytes of a module with its debug sections.
const MAX_MODULE_BYTES: u64 = 256 << 20;
/// How deep parts of parts are named.
const MAX_DEPTH: u32 = 12;
/// Most elements of an array of structures that are named one by one.
const MAX_ELEMENTS: u64 = 64;
/// Typedefs and qualifiers of one type; a chain of more is a cycle.
const MAX_ALIASES: usize = 16;

/// Arguments of `retick module symbols`.
#[derive(Args)]
pub struct SymbolsArguments {
    /// The game's module, not stripped; or a list that was printed before
    file: PathBuf,
    /// Say what stands at this address, in place of the whole list
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    at: Option<u64>,
}

/// Runs `retick module symbols`.
pub fn run(arguments: &SymbolsArguments) -> Result<(), Failure> {
    let file = read_bounded(&arguments.file, MAX_MODULE_BYTES)?;
    let name = arguments.file.display();
    let list = match std::str::from_utf8(&file) {
        Ok(text) if !file.starts_with(b"\0asm") => text.to_owned(),
        _ => list(&file).map_err(|error| Failure::Run(format!("{name}: {error}")))?,
    };
    let symbols: Symbols = list.parse().map_err(|error| Failure::Run(format!("{name}: {error}")))?;
    match arguments.at {
        None => print!("{list}"),
        Some(address) => match symbols.name(&[], address) {
            Some(symbol) => println!("{symbol}"),
            None => return Err(Failure::CheckFailed(format!("nothing that has a name stands at {address:#x}"))),
        },
    }
    Ok(())
}

fn parse_address(text: &str) -> Result<u64, std::num::ParseIntError> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    }
}

type Reader<'a> = EndianSlice<'a, LittleEndian>;

/// Why there is no list.
#[derive(Debug, thiserror::Error)]
enum NoSymbols {
    #[error("{0}")]
    Module(#[from] wasmparser::BinaryReaderError),
    #[error("its debug sections: {0}")]
    Dwarf(#[from] gimli::Error),
    #[error("it has no debug sections: build it with them, and don't strip it")]
    Stripped,
}

fn list(module: &[u8]) -> Result<String, NoSymbols> {
    let mut sections = Vec::new();
    for payload in Parser::new(0).parse_all(module) {
        if let Payload::CustomSection(section) = payload? {
            sections.push((section.name(), section.data()));
        }
    }
    let data = |name: &str| sections.iter().find(|(found, _)| *found == name).map_or(&[][..], |(_, data)| *data);
    if data(".debug_info").is_empty() {
        return Err(NoSymbols::Stripped);
    }
    let load = |id: gimli::SectionId| Ok::<_, gimli::Error>(EndianSlice::new(data(id.name()), LittleEndian));
    let dwarf = Dwarf::load(load)?;
    let mut writer = Writer { text: String::new(), lines: 0 };
    let mut headers = dwarf.units();
    while let Some(header) = headers.next()? {
        let unit = dwarf.unit(header)?;
        let mut names: Vec<(isize, String)> = Vec::new();
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs()? {
            let depth = entry.depth();
            names.retain(|(outer, _)| *outer < depth);
            if matches!(entry.tag(), gimli::DW_TAG_namespace | gimli::DW_TAG_structure_type) {
                names.push((depth, name(&dwarf, &unit, entry).unwrap_or_default()));
            }
            if entry.tag() == gimli::DW_TAG_variable
                && let (Some(address), Some(own)) = (address(&unit, entry)?, name(&dwarf, &unit, entry))
            {
                let path =
                    names.iter().map(|(_, name)| name.as_str()).chain([own.as_str()]).collect::<Vec<_>>().join("::");
                let types = Types { dwarf: &dwarf, unit: &unit };
                types.write(&mut writer, &path, address, type_of(entry), 0)?;
            }
        }
    }
    Ok(writer.text)
}

/// The list so far, within what a list may hold.
struct Writer {
    text: String,
    lines: usize,
}

impl Writer {
    fn line(&mut self, address: u64, length: &str, name: &str) {
        if self.lines < MAX_SYMBOLS {
            self.lines += 1;
            let name = name.replace(char::is_whitespace, "_");
            // A string takes everything.
            let _ = writeln!(self.text, "{address:#010x} {length} {name}");
        }
    }
}

fn name<'a>(
    dwarf: &Dwarf<Reader<'a>>,
    unit: &Unit<Reader<'a>>,
    entry: &DebuggingInformationEntry<Reader<'a>>,
) -> Option<String> {
    let value = entry.attr_value(gimli::DW_AT_name)?;
    let text = dwarf.attr_string(unit, value).ok()?;
    let text = text.to_string_lossy().into_owned();
    (!text.is_empty()).then_some(text)
}

fn type_of(entry: &DebuggingInformationEntry<Reader<'_>>) -> Option<UnitOffset> {
    match entry.attr_value(gimli::DW_AT_type)? {
        AttributeValue::UnitRef(offset) => Some(offset),
        _ => None,
    }
}

/// The fixed address of a variable, if it has one.
fn address(
    unit: &Unit<Reader<'_>>,
    entry: &DebuggingInformationEntry<Reader<'_>>,
) -> Result<Option<u64>, gimli::Error> {
    let Some(AttributeValue::Exprloc(expression)) = entry.attr_value(gimli::DW_AT_location) else { return Ok(None) };
    let mut operations = expression.operations(unit.encoding());
    match (operations.next()?, operations.next()?) {
        (Some(Operation::Address { address }), None) => Ok(Some(address)),
        _ => Ok(None),
    }
}

fn number(entry: &DebuggingInformationEntry<Reader<'_>>, attribute: gimli::DwAt) -> Option<u64> {
    entry.attr_value(attribute)?.udata_value()
}

/// The types of one unit.
struct Types<'a> {
    dwarf: &'a Dwarf<Reader<'a>>,
    unit: &'a Unit<Reader<'a>>,
}

impl<'a> Types<'a> {
    /// Writes what stands at an address, and its parts.
    fn write(
        &self,
        writer: &mut Writer,
        path: &str,
        address: u64,
        of: Option<UnitOffset>,
        depth: u32,
    ) -> Result<(), gimli::Error> {
        let Some(of) = of.and_then(|of| self.named(of)).filter(|_| depth < MAX_DEPTH) else { return Ok(()) };
        let mut tree = self.unit.entries_tree(Some(of))?;
        let root = tree.root()?;
        let entry = root.entry();
        if entry.tag() == gimli::DW_TAG_array_type {
            let element = type_of(entry);
            let mut count = None;
            let mut children = root.children();
            while let Some(child) = children.next()? {
                let bound = number(child.entry(), gimli::DW_AT_upper_bound).map(|last| last.saturating_add(1));
                count = count.or(number(child.entry(), gimli::DW_AT_count)).or(bound);
            }
            return self.write_array(writer, path, address, (element, count.unwrap_or(0)), depth);
        }
        let Some(bytes) = number(entry, gimli::DW_AT_byte_size).filter(|bytes| *bytes > 0) else { return Ok(()) };
        writer.line(address, &bytes.to_string(), path);
        let mut members = Vec::new();
        self.collect(root, &mut members)?;
        for (name, offset, of) in members {
            self.write(writer, &format!("{path}.{name}"), address.saturating_add(offset), Some(of), depth + 1)?;
        }
        Ok(())
    }

    fn write_array(
        &self,
        writer: &mut Writer,
        path: &str,
        address: u64,
        (element, count): (Option<UnitOffset>, u64),
        depth: u32,
    ) -> Result<(), gimli::Error> {
        let element = element.and_then(|element| self.named(element));
        let Some((element, bytes)) = element.and_then(|element| Some((element, self.bytes(element)?))) else {
            return Ok(());
        };
        if count == 0 {
            return Ok(());
        }
        writer.line(address, &format!("{bytes}*{count}"), path);
        if self.unit.entry(element)?.has_children() {
            for index in 0..count.min(MAX_ELEMENTS) {
                let at = address.saturating_add(index.saturating_mul(bytes));
                self.write(writer, &format!("{path}[{index}]"), at, Some(element), depth + 1)?;
            }
        }
        Ok(())
    }

    /// The members of a structure, those of its variants among them.
    fn collect(
        &self,
        node: gimli::EntriesTreeNode<'_, '_, Reader<'a>>,
        members: &mut Vec<(String, u64, UnitOffset)>,
    ) -> Result<(), gimli::Error> {
        let mut children = node.children();
        while let Some(child) = children.next()? {
            let entry = child.entry();
            match entry.tag() {
                gimli::DW_TAG_member => {
                    let offset = number(entry, gimli::DW_AT_data_member_location).unwrap_or(0);
                    if let (Some(name), Some(of)) = (name(self.dwarf, self.unit, entry), type_of(entry)) {
                        members.push((name, offset, of));
                    }
                }
                gimli::DW_TAG_variant_part | gimli::DW_TAG_variant => self.collect(child, members)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// A type behind its other names and qualifiers.
    fn named(&self, mut of: UnitOffset) -> Option<UnitOffset> {
        for _ in 0..MAX_ALIASES {
            let entry = self.unit.entry(of).ok()?;
            match entry.tag() {
                gimli::DW_TAG_typedef | gimli::DW_TAG_const_type | gimli::DW_TAG_volatile_type => of = type_of(&entry)?,
                _ => return Some(of),
            }
        }
        None
    }

    fn bytes(&self, of: UnitOffset) -> Option<u64> {
        let entry = self.unit.entry(of).ok()?;
        number(&entry, gimli::DW_AT_byte_size).filter(|bytes| *bytes > 0)
    }
}
