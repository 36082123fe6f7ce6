//! A module in V8, by node where there is one: what the host in `testing/js` says after each tick.

use std::io::{self, BufReader, Read, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

/// Bytes of a page in a record.
const PAGE_BYTES: usize = 4096;

/// The tiers of the engine: as they are, the baseline compiler alone, the optimising one alone.
pub const TIERS: [&[&str]; 3] = [&[], &["--liftoff-only"], &["--no-liftoff"]];

/// A running host.
pub struct V8 {
    node: Child,
    records: BufReader<ChildStdout>,
}

impl V8 {
    /// Starts a host, and gives it the module, the init block and every step block; `None` where there is no node.
    pub fn start<'a>(tier: &[&str], parts: impl Iterator<Item = &'a [u8]>) -> Option<V8> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testing/js/host.mjs");
        let node = Command::new("node").args(tier).arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut node = match node {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            node => node.expect("node starts"),
        };
        let mut input = node.stdin.take().expect("it was asked for");
        for part in parts {
            let length = u32::try_from(part.len()).expect("a short part");
            input
                .write_all(&length.to_le_bytes())
                .and_then(|()| input.write_all(part))
                .expect("node reads everything first");
        }
        let records = BufReader::with_capacity(1 << 20, node.stdout.take().expect("it was asked for"));
        Some(V8 { node, records })
    }

    fn word(&mut self) -> u32 {
        let mut bytes = [0; 4];
        self.records.read_exact(&mut bytes).expect("a record for every tick");
        u32::from_le_bytes(bytes)
    }

    /// The next record: the globals' bytes, and the pages, put into `memory` and listed.
    pub fn record(&mut self, memory: &mut [u8], dirty: &mut Vec<u32>, globals: &mut Vec<u8>) {
        globals.resize(self.word() as usize, 0);
        self.records.read_exact(globals).expect("the globals");
        dirty.clear();
        for _ in 0..self.word() {
            let page = self.word();
            let start = page as usize * PAGE_BYTES;
            self.records.read_exact(&mut memory[start..start + PAGE_BYTES]).expect("a page");
            dirty.push(page);
        }
    }

    /// Sees that there is no more, and that node ended well.
    pub fn finish(mut self) {
        assert_eq!(self.records.read(&mut [0]).expect("a pipe"), 0, "one record for every tick");
        assert!(self.node.wait().expect("it was started").success(), "node failed");
    }
}
