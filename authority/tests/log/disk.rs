//! A disk in memory that keeps only what was synced, and of the rest whatever a seed says.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

use retick_authority::log::file::{FileLog, FileLogConfig, FileName, SegmentSize, Storage, StorageOperation};
use retick_core::digest::Digest;

/// Random numbers from a seed (splitmix64).
#[derive(Clone, Debug)]
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    pub fn index(&mut self, end: usize) -> usize {
        usize::try_from(self.below(end as u64)).unwrap()
    }

    pub fn coin(&mut self) -> bool {
        self.below(2) == 0
    }

    /// Bytes that say nothing, of a random length up to `most`.
    pub fn bytes(&mut self, most: usize) -> Vec<u8> {
        let length = self.index(most + 1);
        (0..length).map(|_| u8::try_from(self.below(256)).unwrap()).collect()
    }
}

/// How unsynced bytes of a file look after a crash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tear {
    /// The first of them.
    Prefix,
    /// The first of them, then zeros.
    Zeros,
    /// All but some in their middle, which are zeros: pages reached the disk out of order.
    Hole,
}

#[derive(Clone, Default)]
struct Contents {
    live: Vec<u8>,
    synced: Vec<u8>,
}

#[derive(Clone, Default)]
struct Inner {
    contents: Vec<Contents>,
    live: BTreeMap<FileName, usize>,
    synced: BTreeMap<FileName, usize>,
    /// What may still be done before the machine dies: a byte appended, or any other change, costs one.
    life: Option<u64>,
    dead: bool,
    refuses: Option<StorageOperation>,
    /// How often each operation was asked for.
    asked: BTreeMap<StorageOperation, u64>,
    /// Bytes in the longest read that was asked for.
    longest_read: usize,
}

/// The disk. Clones are the same one.
#[derive(Clone, Default)]
pub struct Disk(Rc<RefCell<Inner>>);

pub const ROOM: Digest = Digest::from_bytes([7; 32]);

pub fn config() -> FileLogConfig {
    FileLogConfig { segment_size: SegmentSize::new(1024).unwrap(), ..FileLogConfig::new(ROOM) }
}

impl Disk {
    pub fn new() -> Disk {
        Disk::default()
    }

    /// A disk with these files, all on the disk.
    pub fn of(files: &[(FileName, Vec<u8>)]) -> Disk {
        let mut inner = Inner::default();
        for (position, (name, bytes)) in files.iter().enumerate() {
            inner.contents.push(Contents { live: bytes.clone(), synced: bytes.clone() });
            inner.live.insert(*name, position);
        }
        inner.synced = inner.live.clone();
        Disk(Rc::new(RefCell::new(inner)))
    }

    /// Every file as the system shows it.
    pub fn files(&self) -> Vec<(FileName, Vec<u8>)> {
        let inner = self.0.borrow();
        inner.live.iter().map(|(name, file)| (*name, inner.contents[*file].live.clone())).collect()
    }

    pub fn log(&self, config: FileLogConfig) -> FileLog<Disk> {
        FileLog::open(self.clone(), config).expect("the log opens")
    }

    /// Lets the machine die after this many changes.
    pub fn die_after(&self, life: u64) {
        self.0.borrow_mut().life = Some(life);
    }

    /// Refuses the next operation of this kind.
    pub fn refuse_next(&self, operation: StorageOperation) {
        self.0.borrow_mut().refuses = Some(operation);
    }

    pub fn asked(&self, operation: StorageOperation) -> u64 {
        self.0.borrow().asked.get(&operation).copied().unwrap_or(0)
    }

    pub fn longest_read(&self) -> usize {
        self.0.borrow().longest_read
    }

    /// Changes a bit of a file behind the log's back.
    pub fn flip(&self, file: FileName, byte: usize) {
        let mut inner = self.0.borrow_mut();
        let file = inner.live[&file];
        inner.contents[file].live[byte] ^= 1;
    }

    /// The machine starts again: names and bytes are what was synced, and of the rest what `dice` say.
    pub fn crash(&self, dice: &mut Dice, tear: Tear) {
        let mut inner = self.0.borrow_mut();
        let mut names: Vec<FileName> = inner.live.keys().chain(inner.synced.keys()).copied().collect();
        names.sort_unstable();
        names.dedup();
        let mut survivors = BTreeMap::new();
        for name in names {
            let side = if dice.coin() { &inner.live } else { &inner.synced };
            survivors.extend(side.get(&name).map(|file| (name, *file)));
        }
        for contents in &mut inner.contents {
            contents.tear(dice, tear);
        }
        (inner.live, inner.synced) = (survivors.clone(), survivors);
        (inner.life, inner.dead, inner.refuses) = (None, false, None);
    }
}

impl Contents {
    fn tear(&mut self, dice: &mut Dice, tear: Tear) {
        if !self.live.starts_with(&self.synced) {
            // It was cut, and that may not have reached the disk.
            let survivor = if dice.coin() { self.live.clone() } else { self.synced.clone() };
            (self.live, self.synced) = (survivor.clone(), survivor);
            return;
        }
        let start = self.synced.len();
        let unsynced = self.live.len() - start;
        let [low, high] = [dice.index(unsynced + 1), dice.index(unsynced + 1)].map(|offset| start + offset);
        match tear {
            Tear::Prefix => self.live.truncate(low),
            Tear::Zeros => self.live[low..].fill(0),
            Tear::Hole => self.live[low.min(high)..low.max(high)].fill(0),
        }
        self.synced = self.live.clone();
    }
}

impl Inner {
    fn file(&self, name: FileName) -> io::Result<usize> {
        self.live.get(&name).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn allow(&mut self, operation: StorageOperation) -> io::Result<()> {
        *self.asked.entry(operation).or_default() += 1;
        if self.dead {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if self.refuses == Some(operation) {
            self.refuses = None;
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }

    /// Takes `cost` from the machine's life, and gives what there was to take.
    fn spend(&mut self, cost: u64) -> u64 {
        let Some(life) = self.life else { return cost };
        self.life = Some(life.saturating_sub(cost));
        self.dead = life < cost;
        life.min(cost)
    }

    fn change(&mut self, operation: StorageOperation) -> io::Result<()> {
        self.allow(operation)?;
        if self.spend(1) == 1 { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
    }
}

impl Storage for Disk {
    fn list(&mut self) -> io::Result<Vec<FileName>> {
        let mut inner = self.0.borrow_mut();
        inner.allow(StorageOperation::List)?;
        // In any order.
        Ok(inner.live.keys().rev().copied().collect())
    }

    fn length(&mut self, file: FileName) -> io::Result<u64> {
        let mut inner = self.0.borrow_mut();
        inner.allow(StorageOperation::Length)?;
        let file = inner.file(file)?;
        Ok(inner.contents[file].live.len() as u64)
    }

    fn create(&mut self, file: FileName) -> io::Result<()> {
        let mut inner = self.0.borrow_mut();
        inner.change(StorageOperation::Create)?;
        if inner.live.contains_key(&file) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        inner.contents.push(Contents::default());
        let position = inner.contents.len() - 1;
        inner.live.insert(file, position);
        Ok(())
    }

    fn append(&mut self, file: FileName, bytes: &[u8]) -> io::Result<()> {
        let mut inner = self.0.borrow_mut();
        let refused = inner.allow(StorageOperation::Append);
        let (file, written) = (inner.file(file)?, inner.spend(bytes.len() as u64));
        let written = match refused {
            Ok(()) => usize::try_from(written).unwrap(),
            // A full disk takes a part.
            Err(error) if error.kind() == io::ErrorKind::StorageFull => bytes.len() / 2,
            Err(error) => return Err(error),
        };
        inner.contents[file].live.extend_from_slice(&bytes[..written]);
        if written == bytes.len() { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) }
    }

    fn sync(&mut self, file: FileName) -> io::Result<()> {
        let mut inner = self.0.borrow_mut();
        inner.change(StorageOperation::Sync)?;
        let file = inner.file(file)?;
        let contents = &mut inner.contents[file];
        contents.synced = contents.live.clone();
        Ok(())
    }

    fn truncate(&mut self, file: FileName, length: u64) -> io::Result<()> {
        let mut inner = self.0.borrow_mut();
        inner.change(StorageOperation::Truncate)?;
        let file = inner.file(file)?;
        inner.contents[file].live.truncate(usize::try_from(length).unwrap());
        Ok(())
    }

    fn read_at(&mut self, file: FileName, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        let mut inner = self.0.borrow_mut();
        inner.allow(StorageOperation::Read)?;
        inner.longest_read = inner.longest_read.max(out.len());
        let file = inner.file(file)?;
        let bytes = inner.contents[file].live.get(usize::try_from(offset).unwrap()..).unwrap_or_default();
        // Reads come in parts.
        let count = bytes.len().min(out.len()).min(1500);
        out[..count].copy_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn rename(&mut self, from: FileName, to: FileName) -> io::Result<()> {
        let mut inner = self.0.borrow_mut();
        inner.change(StorageOperation::Rename)?;
        let file = inner.file(from)?;
        inner.live.remove(&from);
        inner.live.insert(to, file);
        Ok(())
    }

    fn remove(&mut self, file: FileName) -> io::Result<()> {
        let mut inner = self.0.borrow_mut();
        inner.change(StorageOperation::Remove)?;
        inner.live.remove(&file).map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn sync_directory(&mut self) -> io::Result<()> {
        let mut inner = self.0.borrow_mut();
        inner.change(StorageOperation::SyncDirectory)?;
        inner.synced = inner.live.clone();
        Ok(())
    }
}
