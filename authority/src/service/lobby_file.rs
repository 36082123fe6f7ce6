//! What the lobby knows of a room, beside its log, so that a restored room is as visible as it was, and its creator's key still
//! fits (A12, V1). One small file, which is replaced whole or not at all.
//!
//! ```json
//! { "version": 1, "visibility": "public", "room_key_digest": "…" }
//! ```
//!
//! The key itself is not written down: a key is 16 random bytes, which nobody finds by its digest.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use retick_core::digest::Digest;
use serde::Deserialize;
use serde_json::json;

use super::listing::Visibility;
use crate::log::file::sync_names;

const FILE: &str = "lobby.json";
const TEMPORARY_FILE: &str = "lobby.json.tmp";
const VERSION: u32 = 1;
/// Most bytes of the file; it has about a hundred and thirty.
const MAX_BYTES: u64 = 1024;

/// What is written down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LobbyRecord {
    pub(super) visibility: Visibility,
    /// Of the key that its creator has.
    pub(super) key: Digest,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    version: u32,
    visibility: String,
    room_key_digest: String,
}

impl LobbyRecord {
    fn to_text(self) -> String {
        let (visibility, key) = (self.visibility.name(), self.key.to_string());
        json!({ "version": VERSION, "visibility": visibility, "room_key_digest": key }).to_string()
    }

    fn parse(text: &[u8]) -> Option<LobbyRecord> {
        let Body { version, visibility, room_key_digest } = serde_json::from_slice(text).ok()?;
        let record =
            LobbyRecord { visibility: Visibility::from_name(&visibility)?, key: room_key_digest.parse().ok()? };
        (version == VERSION).then_some(record)
    }

    /// Replaces the file in a room's folder. What was there before is there until the new one is on the disk, with its name.
    pub(super) fn store(self, folder: &Path) -> io::Result<()> {
        let temporary = folder.join(TEMPORARY_FILE);
        let mut file = File::create(&temporary)?;
        file.write_all(self.to_text().as_bytes())?;
        file.sync_all()?;
        drop(file);
        fs::rename(&temporary, folder.join(FILE))?;
        sync_names(folder)
    }

    /// What the file in a room's folder says, if there is one; an error also where it is not what was written.
    pub(super) fn load(folder: &Path) -> io::Result<Option<LobbyRecord>> {
        let file = match File::open(folder.join(FILE)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let mut text = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut text)?;
        LobbyRecord::parse(&text).map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a12_a_lobby_file_is_what_was_written_or_nothing() {
        for visibility in [Visibility::Public, Visibility::Private] {
            let record = LobbyRecord { visibility, key: Digest::of(b"key") };
            let text = record.to_text();
            assert!(u64::try_from(text.len()).expect("short") < MAX_BYTES);
            assert_eq!(LobbyRecord::parse(text.as_bytes()), Some(record));
            for cut in 0..text.len() {
                assert_eq!(LobbyRecord::parse(&text.as_bytes()[..cut]), None, "{cut}");
            }
            for (from, to) in [("\"version\":1", "\"version\":2"), (visibility.name(), "secret"), ("{", "{\"x\":1,")] {
                assert_eq!(LobbyRecord::parse(text.replace(from, to).as_bytes()), None, "{to}");
            }
        }
    }
}
