//! `retick log verify` of a log whose first records were dropped behind a snapshot.

use std::path::Path;

use retick_authority::log::FrameLog;
use retick_authority::log::file::{Directory, Durability, FileLog, FileLogConfig, StoredSnapshot};
use retick_authority::room::{ConnectionId, Output, Room, RoomConfig, RoomSecret, StartPolicy};
use retick_core::digest::Digest;
use retick_core::tick::Moment;
use retick_core::wire::{ClientMessage, Entry, Hello, PROTOCOL_VERSION};
use retick_testing::fixtures::{tally_descriptor, tally_factory};

use crate::{check_refused, retick, scratch, stderr, stdout};

const CODE: &str = "K3XW-9FZM";

/// A room of one player who sends nothing, and its log.
struct Kept {
    room: Room,
    log: FileLog<Directory>,
    now: Moment,
}

impl Kept {
    fn start(folder: &Path) -> Kept {
        let descriptor = tally_descriptor(&tally_factory(), 1, 12);
        let identity = descriptor.identity();
        let config = RoomConfig { start: StartPolicy::Manual, ..RoomConfig::new(descriptor) };
        let room = Digest::derived("retick 2026 room folder v1", &[CODE.as_bytes()]);
        let config_of_log = FileLogConfig { durability: Durability::None, ..FileLogConfig::new(room) };
        let log = FileLog::open(Directory::open(folder).unwrap(), config_of_log).unwrap();
        let mut kept = Kept { room: Room::new(config, RoomSecret([3; 32])).unwrap(), log, now: Moment::ZERO };
        let (player, entry) = (ConnectionId(1), Entry::Join { ticket: b"" });
        let mut hello = Vec::new();
        ClientMessage::Hello(Hello { protocol: PROTOCOL_VERSION, identity, entry }).encode_into(&mut hello);
        kept.room.handle_connected(player, kept.now);
        kept.room.handle_message(player, &hello, kept.now);
        kept.room.start(kept.now).unwrap();
        kept
    }

    fn write(&mut self) {
        while let Some(output) = self.room.poll_output() {
            if let Output::Persist { sequence, record } = output {
                self.log.append(sequence, record).unwrap();
            }
        }
    }

    fn play(&mut self, ticks: u64) {
        for _ in 0..ticks {
            self.now = self.now.plus_nanos(16_666_667);
            self.room.handle_timeout(self.now);
            self.write();
        }
    }
}

#[test]
fn a12_a_log_without_its_first_records_is_checked_from_the_head_that_it_recorded() {
    let place = scratch("forgotten");
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(&place).unwrap();
    let folder = place.join(CODE);
    let mut kept = Kept::start(&folder);
    kept.play(100);
    let (head, frontier) = (kept.room.chain_head(), kept.room.frontier().index());
    kept.room.summarize();
    kept.play(50);
    let (tick, fence) = (kept.room.frontier(), kept.room.fence_before(kept.room.frontier()));
    let generation = kept.room.descriptor().generation();
    kept.log.keep_snapshot(&StoredSnapshot { generation, tick, fence, bytes: b"a state".to_vec() }).unwrap();
    kept.play(20);
    let first = kept.log.first_sequence();
    assert!(first > 50 && frontier > 50, "guard: {first}, {frontier}");
    let end = kept.room.frontier().index();
    drop(kept);

    let path = folder.to_str().unwrap();
    let verified = retick(&["log", "verify", path]);
    assert!(verified.status.success(), "{}", stderr(&verified));
    let said = stdout(&verified);
    let frames = end - frontier;
    for words in [
        format!("before record {first} is forgotten: the log begins at tick {frontier} of generation 0"),
        format!("chain checked from head {head}"),
        format!("{frames} frames, 0 bytes cut: the room goes on at tick {end}"),
    ] {
        assert!(said.contains(&words), "{said:?} without {words:?}");
    }
    // Without the word that they were dropped on purpose, the records are missed.
    let start = folder.join(format!("{first:08}.start"));
    let bytes = std::fs::read(&start).unwrap();
    std::fs::remove_file(&start).unwrap();
    check_refused(&["log", "verify", path], 1, &["record 1 comes next"]);
    std::fs::write(&start, &bytes[..40]).unwrap();
    check_refused(&["log", "verify", path], 1, &["bytes too early"]);
}
