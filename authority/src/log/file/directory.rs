//! The real storage: a directory with a lock, and the two files of it that are open.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::error::{FileLogError, StorageOperation};
use super::storage::{FileName, Storage};

/// The file whose lock says that the log is open.
const LOCK_FILE: &str = "lock";
/// Digits of a file's name at least.
const NAME_DIGITS: usize = 8;

/// A directory that holds one room's log and nothing else of use: files with other names are left alone. While this value lives
/// no second one of the same directory can be made, in this process or another.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    /// Closing it gives up the lock.
    _lock: File,
    writing: Option<(FileName, File)>,
    reading: Option<(FileName, File)>,
}

impl Directory {
    /// The directory at `path`, which is made if its parent exists.
    ///
    /// # Errors
    /// [`FileLogError::Locked`] while the log is open elsewhere, [`FileLogError::Storage`] when the system refuses.
    pub fn open(path: impl AsRef<Path>) -> Result<Directory, FileLogError> {
        let path = path.as_ref();
        let refused = FileLogError::storage;
        make(path).map_err(refused(StorageOperation::Open))?;
        let lock = OpenOptions::new().write(true).create(true).truncate(false).open(path.join(LOCK_FILE));
        let lock = lock.map_err(refused(StorageOperation::Open))?;
        match lock.try_lock() {
            Ok(()) => Ok(Directory { path: path.to_path_buf(), _lock: lock, writing: None, reading: None }),
            Err(TryLockError::WouldBlock) => Err(FileLogError::Locked),
            Err(TryLockError::Error(error)) => Err(refused(StorageOperation::Open)(error)),
        }
    }

    /// The directory's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn path_of(&self, file: FileName) -> PathBuf {
        self.path.join(text_of(file))
    }

    fn writing(&mut self, file: FileName) -> io::Result<&mut File> {
        if self.writing.as_ref().is_none_or(|(open, _)| *open != file) {
            self.writing = Some((file, OpenOptions::new().append(true).open(self.path_of(file))?));
        }
        opened(&mut self.writing)
    }

    fn reading(&mut self, file: FileName) -> io::Result<&mut File> {
        if self.reading.as_ref().is_none_or(|(open, _)| *open != file) {
            self.reading = Some((file, File::open(self.path_of(file))?));
        }
        opened(&mut self.reading)
    }

    fn close(&mut self, file: FileName) {
        for open in [&mut self.writing, &mut self.reading] {
            open.take_if(|(open, _)| *open == file);
        }
    }
}

impl Storage for Directory {
    fn list(&mut self) -> io::Result<Vec<FileName>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            files.extend(entry?.file_name().to_str().and_then(name_of));
        }
        Ok(files)
    }

    fn length(&mut self, file: FileName) -> io::Result<u64> {
        Ok(fs::metadata(self.path_of(file))?.len())
    }

    fn create(&mut self, file: FileName) -> io::Result<()> {
        let created = OpenOptions::new().append(true).create_new(true).open(self.path_of(file))?;
        self.writing = Some((file, created));
        Ok(())
    }

    fn append(&mut self, file: FileName, bytes: &[u8]) -> io::Result<()> {
        self.writing(file)?.write_all(bytes)
    }

    fn sync(&mut self, file: FileName) -> io::Result<()> {
        self.writing(file)?.sync_data()
    }

    fn truncate(&mut self, file: FileName, length: u64) -> io::Result<()> {
        self.close(file);
        OpenOptions::new().write(true).open(self.path_of(file))?.set_len(length)
    }

    fn read_at(&mut self, file: FileName, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        let file = self.reading(file)?;
        file.seek(SeekFrom::Start(offset))?;
        loop {
            match file.read(out) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }

    fn rename(&mut self, from: FileName, to: FileName) -> io::Result<()> {
        // Some systems rename no file that is open.
        self.close(from);
        self.close(to);
        fs::rename(self.path_of(from), self.path_of(to))
    }

    fn remove(&mut self, file: FileName) -> io::Result<()> {
        self.close(file);
        fs::remove_file(self.path_of(file))
    }

    fn sync_directory(&mut self) -> io::Result<()> {
        sync_names(&self.path)
    }
}

fn opened(file: &mut Option<(FileName, File)>) -> io::Result<&mut File> {
    file.as_mut().map(|(_, file)| file).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Makes the directory unless it is there, and its name last.
fn make(path: &Path) -> io::Result<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        made => made?,
    }
    match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => sync_names(parent),
        None => sync_names(Path::new(".")),
    }
}

#[cfg(unix)]
pub(crate) fn sync_names(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// A directory can't be opened as a file elsewhere; there the file system orders names itself.
#[cfg(not(unix))]
pub(crate) fn sync_names(_: &Path) -> io::Result<()> {
    Ok(())
}

fn text_of(file: FileName) -> String {
    match file {
        FileName::Segment(first) => format!("{first:0NAME_DIGITS$}.log"),
        FileName::Temporary(first) => format!("{first:0NAME_DIGITS$}.tmp"),
        FileName::Start(first) => format!("{first:0NAME_DIGITS$}.start"),
        FileName::Snapshot => "snapshot".to_owned(),
        FileName::TemporarySnapshot => "snapshot.tmp".to_owned(),
    }
}

/// The file of this name, if it is one of a log's, and written as the log writes it.
fn name_of(text: &str) -> Option<FileName> {
    if let Some(file) =
        [FileName::Snapshot, FileName::TemporarySnapshot].into_iter().find(|file| text_of(*file) == text)
    {
        return Some(file);
    }
    let (digits, kind) = text.split_once('.')?;
    let first = digits.parse().ok()?;
    let file = match kind {
        "log" => FileName::Segment(first),
        "tmp" => FileName::Temporary(first),
        "start" => FileName::Start(first),
        _ => return None,
    };
    (text_of(file) == text).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a12_files_are_named_by_their_first_record_and_other_names_are_nobodys() {
        for first in [0, 1, 99_999_999, 100_000_000, u64::MAX] {
            for file in [FileName::Segment(first), FileName::Temporary(first), FileName::Start(first)] {
                assert_eq!(name_of(&text_of(file)), Some(file));
            }
        }
        for file in [FileName::Snapshot, FileName::TemporarySnapshot] {
            assert_eq!(name_of(&text_of(file)), Some(file));
        }
        assert_eq!(text_of(FileName::Segment(1)), "00000001.log");
        for other in
            ["lock", "1.log", "000000001.log", "+0000001.log", "00000001.bak", "00000001", ".log", "snapshot.log"]
        {
            assert_eq!(name_of(other), None, "{other}");
        }
    }
}
