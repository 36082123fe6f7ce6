//! `retick log`: looks at the log of a room, and makes a replay of it.

mod replay;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use retick_authority::log::file::FileLogError;
use retick_authority::log::{FrameLog, Record};
use retick_authority::room::{Durability, RestoreError, Room};
use retick_authority::service::{LogStoreError, open_room_folder};

use crate::failure::Failure;

/// Arguments of `retick log`.
#[derive(Args)]
pub struct LogArguments {
    #[command(subcommand)]
    command: LogCommand,
}

#[derive(Subcommand)]
enum LogCommand {
    /// Replay a room's log, and check every record against the ones before it
    ///
    /// The service must not have it open. What a crash left half written at its end is cut. Where records behind a snapshot were
    /// dropped, it is checked from the summary on with which the log begins.
    Verify {
        /// The room's folder, named by its code
        folder: PathBuf,
    },
    /// Write a room's match as a replay, played again on this machine
    ///
    /// The service must not have the log open.
    Replay(replay::ReplayArguments),
}

/// Runs `retick log`.
pub fn run(arguments: &LogArguments) -> Result<(), Failure> {
    match &arguments.command {
        LogCommand::Verify { folder } => verify(folder),
        LogCommand::Replay(arguments) => replay::run(arguments),
    }
}

fn verify(folder: &Path) -> Result<(), Failure> {
    let words = |error: &dyn std::fmt::Display| format!("{}: {error}", folder.display());
    let mut log = open_room_folder(folder).map_err(|error| match error {
        // Opening it is half of the check.
        LogStoreError::Log(FileLogError::Damaged { .. }) => Failure::CheckFailed(words(&error)),
        error => Failure::Run(words(&error)),
    })?;
    let recovery = log.recovery();
    let restored = Room::restore(&mut log, Durability::EveryFrame);
    let end = match &restored {
        Ok(room) => format!("goes on at tick {} behind fence {}", room.frontier().index(), room.fence()),
        Err(RestoreError::Ended { cause }) => format!("has ended: {cause:?}"),
        Err(error) => return Err(Failure::CheckFailed(words(error))),
    };
    let (mut frames, mut head, mut record) = (0u64, None, Vec::new());
    let first = log.first_sequence();
    for sequence in first..log.next_sequence() {
        log.read_into(sequence, &mut record).map_err(|error| Failure::Run(words(&error)))?;
        match Record::decode(&record) {
            Ok(Record::Frame { head: newest, .. }) => (frames, head) = (frames + 1, Some(newest)),
            Ok(Record::Summary { generation, frontier, head: start, .. }) if sequence == first => {
                head = Some(start);
                let (generation, tick) = (generation.0, frontier.index());
                println!(
                    "what was before record {first} is forgotten: the log begins at tick {tick} of generation {generation}"
                );
                println!("chain checked from head {start}");
            }
            _ => {}
        }
    }
    println!("{} records, {frames} frames, {} bytes cut: the room {end}", recovery.records, recovery.cut_bytes);
    if let Some(head) = head {
        println!("chain head {head}");
    }
    Ok(())
}
