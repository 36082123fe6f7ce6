//! Tables in Markdown, and files of which a command rewrites one section.

use std::fmt::{self, Write as _};
use std::fs;
use std::path::{Path, PathBuf};

/// The file of results that these commands keep.
#[must_use]
pub fn results_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("RESULTS.md")
}

/// A table. The first column is text, the others are figures.
#[derive(Clone, Debug)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these column titles.
    #[must_use]
    pub fn new(titles: &[&str]) -> Table {
        Table { rows: vec![titles.iter().map(|title| (*title).to_owned()).collect()] }
    }

    /// Adds a row.
    pub fn push(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows[0].len();
        let widest =
            |column: usize| self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
        let widths: Vec<usize> = (0..columns).map(|column| widest(column).unwrap_or(0)).collect();
        for (number, row) in self.rows.iter().enumerate() {
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                if column == 0 { write!(f, "| {cell:<width$} ")? } else { write!(f, "| {cell:>width$} ")? }
            }
            f.write_str("|\n")?;
            if number == 0 {
                for (column, width) in widths.iter().enumerate() {
                    let end = if column == 0 { "-" } else { ":" };
                    write!(f, "|{}{end}", "-".repeat(width + 1))?;
                }
                f.write_str("|\n")?;
            }
        }
        Ok(())
    }
}

/// Why a section was not rewritten.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SectionError {
    /// There is not exactly one begin marker followed by one end marker.
    Markers,
}

impl fmt::Display for SectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the section's markers are missing, doubled or in the wrong order")
    }
}

impl std::error::Error for SectionError {}

/// `text` with everything between the markers of `section` replaced. The markers are `<!-- section:begin -->` and
/// `<!-- section:end -->`.
///
/// # Errors
/// [`SectionError`] unless each marker stands in the text once, in order.
pub fn replace_section(text: &str, section: &str, body: &str) -> Result<String, SectionError> {
    let (begin, end) = (format!("<!-- {section}:begin -->"), format!("<!-- {section}:end -->"));
    if text.matches(&begin).count() != 1 || text.matches(&end).count() != 1 {
        return Err(SectionError::Markers);
    }
    let (before, rest) = text.split_once(&begin).ok_or(SectionError::Markers)?;
    let (_, after) = rest.split_once(&end).ok_or(SectionError::Markers)?;
    Ok(format!("{before}{begin}\n{}\n{end}{after}", body.trim_end()))
}

/// Rewrites one section of a file.
///
/// # Errors
/// When the file can't be read or written, or does not have the section.
pub fn rewrite_section(file: &Path, section: &str, body: &str) -> Result<(), Box<dyn std::error::Error>> {
    let text = fs::read_to_string(file)?;
    fs::write(file, replace_section(&text, section, body)?)?;
    Ok(())
}

/// A time, with three digits and its unit.
#[must_use]
pub fn time(nanos: f64) -> String {
    let (value, unit) = match nanos {
        ..1e3 => (nanos, "ns"),
        ..1e6 => (nanos / 1e3, "µs"),
        ..1e9 => (nanos / 1e6, "ms"),
        _ => (nanos / 1e9, "s"),
    };
    format!("{} {unit}", three_digits(value))
}

/// A number of bytes that is a power of two.
#[must_use]
pub fn size(bytes: u32) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}

/// A ratio below one, or how often ours goes into the peer's.
#[must_use]
pub fn ratio(ours: f64, peer: f64) -> String {
    let ratio = ours / peer;
    if ratio > 0.2 { format!("{ratio:.2}") } else { format!("1/{}", three_digits(1.0 / ratio)) }
}

fn three_digits(value: f64) -> String {
    let mut text = String::new();
    let decimals = match value {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    let _ = write!(text, "{value:.decimals$}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_replaced_and_nothing_else() {
        let text = "a\n<!-- x:begin -->\nold\n<!-- x:end -->\nb <!-- y:begin -->kept<!-- y:end -->\n";
        let replaced = replace_section(text, "x", "new\n").expect("one section");
        assert_eq!(replaced, "a\n<!-- x:begin -->\nnew\n<!-- x:end -->\nb <!-- y:begin -->kept<!-- y:end -->\n");
        assert_eq!(replace_section(&replaced, "x", "new"), Ok(replaced.clone()), "writing it again changes nothing");
    }

    #[test]
    fn a_missing_doubled_or_turned_marker_is_refused() {
        let whole = "<!-- x:begin --><!-- x:end -->";
        for text in ["", "<!-- x:begin -->", "<!-- x:end --><!-- x:begin -->", &whole.repeat(2)] {
            assert_eq!(replace_section(text, "x", "new"), Err(SectionError::Markers), "{text}");
        }
    }

    #[test]
    fn figures_have_three_digits_and_a_unit() {
        let texts = [1.0, 999.4, 1234.0, 12_345.0, 5e6, 2e9].map(time);
        assert_eq!(texts, ["1.00 ns", "999 ns", "1.23 µs", "12.3 µs", "5.00 ms", "2.00 s"]);
        assert_eq!([64, 65_536, 16 << 20].map(size), ["64 B", "64 KiB", "16 MiB"]);
        assert_eq!([ratio(1.0, 2.0), ratio(1.0, 512.0)], ["0.50", "1/512"]);
    }

    #[test]
    fn the_results_file_has_every_section_that_a_command_writes() {
        let text = fs::read_to_string(results_file()).expect("the file is part of the package");
        for section in ["compare", "wasm", "rooms", "replay", "allocations", "curves", "recovery"] {
            assert!(replace_section(&text, section, "").is_ok(), "{section}");
        }
    }
}
