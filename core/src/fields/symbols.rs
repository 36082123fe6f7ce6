//! Names for addresses in a module's memory, as a list in a file.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::FieldNames;

/// Most symbols of a list.
pub const MAX_SYMBOLS: usize = 65_536;

/// Names of parts of a module's memory, from a text with one of them on each line: address, length in bytes, name. An array says
/// how many elements it has, and each has a number then. Where several fit, the shortest wins, and of the equally short the first.
/// Empty lines and those that begin with `#` are passed over.
///
/// ```
/// use retick_core::fields::{FieldNames, Symbols};
///
/// let symbols: Symbols = "
///     ## address  bytes   name
///     0x00100400  8       arena.clock
///     0x00100408  160*4   arena.players
///     1049616     2       arena.players[0].health
/// ".parse()?;
/// let name = |address| symbols.name(&[], address);
/// assert_eq!(name(0x0010_0407).as_deref(), Some("arena.clock+7"));
/// assert_eq!(name(0x0010_0408 + 321).as_deref(), Some("arena.players[2]+1"));
/// assert_eq!(name(1_049_616).as_deref(), Some("arena.players[0].health"));
/// assert_eq!(name(0), None);
/// # Ok::<(), retick_core::fields::SymbolsError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Symbols(Vec<Symbol>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Symbol {
    address: u64,
    /// Of one element, at least one.
    bytes: u64,
    /// `None` for what is no array.
    elements: Option<u64>,
    name: String,
}

/// A list of symbols that is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SymbolsError {
    /// A line is not an address, a length and a name, or what it names does not fit any memory.
    #[error("line {line} is not an address, a length in bytes, and a name")]
    Line {
        /// Which, from 1 on.
        line: usize,
    },
    /// There are too many.
    #[error("more than {MAX_SYMBOLS} symbols")]
    TooMany,
}

impl Symbol {
    fn total_bytes(&self) -> u64 {
        self.bytes * self.elements.unwrap_or(1)
    }

    fn parse(line: &str) -> Option<Symbol> {
        let mut words = line.split_whitespace();
        let address = number(words.next()?)?;
        let length = words.next()?;
        let name = words.next()?.to_string();
        let (bytes, elements) = match length.split_once('*') {
            Some((bytes, elements)) => (number(bytes)?, Some(number(elements)?)),
            None => (number(length)?, None),
        };
        let total = bytes.checked_mul(elements.unwrap_or(1)).filter(|total| *total > 0)?;
        address.checked_add(total)?;
        words.next().is_none().then_some(Symbol { address, bytes, elements, name })
    }

    fn covers(&self, address: u64) -> bool {
        address >= self.address && address - self.address < self.total_bytes()
    }

    fn name_at(&self, address: u64) -> String {
        let offset = address - self.address;
        let mut name = self.name.clone();
        if self.elements.is_some() {
            name += &format!("[{}]", offset / self.bytes);
        }
        match offset % self.bytes {
            0 => name,
            within => name + &format!("+{within}"),
        }
    }
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

impl core::str::FromStr for Symbols {
    type Err = SymbolsError;

    fn from_str(text: &str) -> Result<Symbols, SymbolsError> {
        let mut symbols = Vec::new();
        let lines = text.lines().map(str::trim).zip(1..).filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
        for (line, number) in lines {
            if symbols.len() == MAX_SYMBOLS {
                return Err(SymbolsError::TooMany);
            }
            symbols.push(Symbol::parse(line).ok_or(SymbolsError::Line { line: number })?);
        }
        Ok(Symbols(symbols))
    }
}

impl FieldNames for Symbols {
    fn name(&self, _: &[u8], offset: u64) -> Option<String> {
        let covering = self.0.iter().filter(|symbol| symbol.covers(offset));
        covering.min_by_key(|symbol| symbol.total_bytes()).map(|symbol| symbol.name_at(offset))
    }
}
