//! Where a player's match is recorded: in memory, or in a file as it is played.

use std::fs;
use std::io;
use std::path::PathBuf;

use retick_client::{ReplayFile, ReplaySync};
use retick_core::digest::Checksum;
use retick_core::frame::Frame;
use retick_core::identity::{IdentityManifest, MatchDescriptor};
use retick_core::replay::{Recorder, RecorderOptions};
use retick_core::session::Session;
use retick_core::tick::Tick;

use crate::failure::Failure;

/// Whether a player records, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Records {
    /// The whole match, in memory.
    Match,
    /// The whole match, in a file from its first tick on.
    ToFile(PathBuf),
    /// Nothing: somebody else does.
    Nothing,
}

/// A recording under way.
pub enum Recording {
    /// In memory.
    Memory(Recorder),
    /// In this file; what went wrong with it is said when it is finished.
    File {
        /// Where it is.
        path: PathBuf,
        /// The file, unless it failed.
        file: io::Result<ReplayFile>,
    },
}

impl Recording {
    /// Begins one, if there is to be one.
    pub fn begin(records: &Records, manifest: &IdentityManifest, descriptor: &MatchDescriptor) -> Option<Recording> {
        match records {
            Records::Nothing => None,
            Records::Match => Some(Recording::Memory(Recorder::new(manifest, descriptor))),
            Records::ToFile(path) => {
                let (options, sync) = (RecorderOptions::default(), ReplaySync::default());
                let file = ReplayFile::create(path, manifest, descriptor, options, sync);
                Some(Recording::File { path: path.clone(), file })
            }
        }
    }

    /// Adds the next confirmed frame.
    pub fn push_frame(&mut self, frame: &Frame) {
        match self {
            Recording::Memory(recorder) => recorder.push_frame(frame),
            Recording::File { file, .. } => attempt(file, |file| file.push_frame(frame)),
        }
    }

    /// Adds the checksum of a confirmed state.
    pub fn push_checksum(&mut self, tick: Tick, checksum: Checksum) {
        match self {
            Recording::Memory(recorder) => recorder.push_checksum(tick, checksum),
            Recording::File { file, .. } => attempt(file, |file| file.push_checksum(tick, checksum)),
        }
    }

    /// Adds a key frame, if one is due and the session still has the state.
    pub fn take_key_frame(&mut self, session: &mut Session) {
        match self {
            Recording::Memory(recorder) => {
                let snapshot = recorder.wanted_key_frame().map(|tick| session.export_snapshot(tick));
                if let Some(Ok(snapshot)) = snapshot {
                    recorder.push_key_frame(&snapshot);
                }
            }
            Recording::File { file, .. } => attempt(file, |file| file.take_key_frame(session)),
        }
    }

    /// Ends it, and gives all of it.
    pub fn finish(self) -> Result<Vec<u8>, Failure> {
        match self {
            Recording::Memory(mut recorder) => {
                recorder.finish();
                Ok(recorder.take_bytes())
            }
            Recording::File { path, file } => {
                let finished = file.and_then(ReplayFile::finish);
                finished.map_err(|error| Failure::Write { path: path.clone(), error })?;
                fs::read(&path).map_err(|error| Failure::Read { path, error })
            }
        }
    }
}

fn attempt(file: &mut io::Result<ReplayFile>, write: impl FnOnce(&mut ReplayFile) -> io::Result<()>) {
    if let Ok(open) = file
        && let Err(error) = write(open)
    {
        *file = Err(error);
    }
}
