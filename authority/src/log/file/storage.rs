//! The few things that a log asks of a file system, so that a test's can lose, tear and refuse them.

use std::io;

/// A file of a log. Its number is that of a record: of the first one in a segment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FileName {
    /// A segment: `00000001.log`.
    Segment(u64),
    /// A segment or a start that is being made, and holds no record yet: `00000001.tmp`.
    Temporary(u64),
    /// Says that the log begins with the segment of this number, since what stood before it was forgotten: `00004711.start`.
    Start(u64),
    /// The newest snapshot: `snapshot`.
    Snapshot,
    /// One that is being written: `snapshot.tmp`.
    TemporarySnapshot,
}

/// The files of one log, which nobody else changes while this value lives.
///
/// [`Directory`](super::Directory) is the real one. Another one has to promise what a file system does: bytes survive the machine
/// once `sync` of their file has returned, names once `sync_directory` has, and before that anything may be lost, in any order.
pub trait Storage {
    /// Every file of the log, in any order.
    ///
    /// # Errors
    /// Whatever the system says.
    fn list(&mut self) -> io::Result<Vec<FileName>>;

    /// Length of a file in bytes.
    ///
    /// # Errors
    /// Whatever the system says.
    fn length(&mut self, file: FileName) -> io::Result<u64>;

    /// Makes an empty file that does not exist yet.
    ///
    /// # Errors
    /// Whatever the system says.
    fn create(&mut self, file: FileName) -> io::Result<()>;

    /// Adds `bytes` at a file's end, in one write. When it fails, any part of them may be there.
    ///
    /// # Errors
    /// Whatever the system says.
    fn append(&mut self, file: FileName, bytes: &[u8]) -> io::Result<()>;

    /// Returns once the file's bytes and length survive the machine.
    ///
    /// # Errors
    /// Whatever the system says.
    fn sync(&mut self, file: FileName) -> io::Result<()>;

    /// Cuts a file to its first `length` bytes.
    ///
    /// # Errors
    /// Whatever the system says.
    fn truncate(&mut self, file: FileName, length: u64) -> io::Result<()>;

    /// Fills `out` with the bytes from `offset` on, and says how many there were; fewer than asked for is no error, none means
    /// the file's end.
    ///
    /// # Errors
    /// Whatever the system says.
    fn read_at(&mut self, file: FileName, offset: u64, out: &mut [u8]) -> io::Result<usize>;

    /// Gives a file another name, at once or not at all. A file that has it already is no more.
    ///
    /// # Errors
    /// Whatever the system says.
    fn rename(&mut self, from: FileName, to: FileName) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// Whatever the system says.
    fn remove(&mut self, file: FileName) -> io::Result<()>;

    /// Returns once all names of files survive the machine.
    ///
    /// # Errors
    /// Whatever the system says.
    fn sync_directory(&mut self) -> io::Result<()>;
}

/// All bytes of a file, at most `most`; `None` when it has more, or when there is no such file.
pub(super) fn read_whole<S: Storage>(storage: &mut S, file: FileName, most: usize) -> io::Result<Option<Vec<u8>>> {
    let length = match storage.length(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        length => usize::try_from(length?).unwrap_or(usize::MAX),
    };
    if length > most {
        return Ok(None);
    }
    let (mut bytes, mut filled) = (vec![0; length], 0);
    while filled < length {
        match storage.read_at(file, filled as u64, &mut bytes[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    bytes.truncate(filled);
    Ok(Some(bytes))
}
