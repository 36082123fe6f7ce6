//! What differs within a page, byte by byte.

use core::fmt;

use super::{PAGE_LENGTH, TREE_PAGE_BYTES};

/// Bytes of a run that its text shows of each side.
const SHOWN_BYTES: usize = 16;

/// Bytes next to each other that all differ between two states.
///
/// ```
/// use retick_core::tree::diff;
///
/// let runs: Vec<String> = diff(2, &[1, 2, 3, 4], &[1, 9, 8, 4]).map(|run| run.to_string()).collect();
/// assert_eq!(runs, ["page 2, offset 0x001 (address 0x00002001): ours 02 03, theirs 09 08"]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DifferingRun<'a> {
    /// The page of the tree, [`TREE_PAGE_BYTES`] long.
    pub page: u32,
    /// Where in the page the run starts, in bytes.
    pub offset: u32,
    /// The bytes of our state.
    pub ours: &'a [u8],
    /// The bytes of the other state, as many unless one side's page is shorter.
    pub theirs: &'a [u8],
}

impl DifferingRun<'_> {
    /// Where in memory the run starts, in bytes.
    pub fn address(&self) -> u64 {
        u64::from(self.page) * PAGE_LENGTH + u64::from(self.offset)
    }
}

impl fmt::Display for DifferingRun<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "page {}, offset {:#05x} (address {:#010x}): ours", self.page, self.offset, self.address())?;
        write_bytes(self.ours, f)?;
        f.write_str(", theirs")?;
        write_bytes(self.theirs, f)
    }
}

fn write_bytes(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    bytes.iter().take(SHOWN_BYTES).try_for_each(|byte| write!(f, " {byte:02x}"))?;
    match bytes.len() {
        0 => f.write_str(" nothing"),
        shown if shown <= SHOWN_BYTES => Ok(()),
        all => write!(f, " … ({all} bytes)"),
    }
}

/// The runs of bytes in which two sides' bytes of one page differ, from left to right. If one side has fewer bytes, what only
/// the other has is the last run, with nothing on the shorter side. Bytes beyond [`TREE_PAGE_BYTES`] are not looked at, so that
/// there are at most 2,049 runs.
pub fn diff<'a>(page: u32, ours: &'a [u8], theirs: &'a [u8]) -> impl Iterator<Item = DifferingRun<'a>> {
    let [ours, theirs] = [ours, theirs].map(|bytes| &bytes[..bytes.len().min(TREE_PAGE_BYTES)]);
    let common = ours.len().min(theirs.len());
    let run = move |start: usize, end: usize| {
        let [ours, theirs] = [ours, theirs].map(|bytes| &bytes[start.min(bytes.len())..end.min(bytes.len())]);
        DifferingRun { page, offset: u32::try_from(start).unwrap_or(u32::MAX), ours, theirs }
    };
    let mut at = 0;
    let in_common = core::iter::from_fn(move || {
        let start = (at..common).find(|at| ours[*at] != theirs[*at])?;
        at = (start..common).find(|at| ours[*at] == theirs[*at]).unwrap_or(common);
        Some(run(start, at))
    });
    in_common.chain((ours.len() != theirs.len()).then(|| run(common, TREE_PAGE_BYTES)))
}
