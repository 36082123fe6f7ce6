//! A match as it is recorded into a file, so that a crash leaves a replay and no more is lost than a flush interval (R1).

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use retick_core::digest::Checksum;
use retick_core::frame::Frame;
use retick_core::identity::{IdentityManifest, MatchDescriptor};
use retick_core::replay::{Recorder, RecorderOptions};
use retick_core::session::{Session, SessionEvent};
use retick_core::snapshot::Snapshot;
use retick_core::tick::Tick;

/// When what was recorded is forced to the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ReplaySync {
    /// When the system likes, and at the end: it survives the end of this process, but not always that of the machine.
    #[default]
    AtEnd,
    /// Each time a block was written, which takes as long as the disk does.
    EveryFlush,
}

/// A replay that is being recorded into a file.
///
/// Whatever was recorded is handed to the system once the recorder has a whole block of it: every
/// [`flush_interval_ticks`](RecorderOptions::flush_interval_ticks). A recording that is dropped, and one whose process ends, is a
/// replay that says it is incomplete; [`ReplayFile::finish`] makes it complete. After a failed write nothing more is written, and
/// every call repeats that it failed.
///
/// A [`Runner`](retick_core::runner::Runner) gives the same: frames by
/// [`pop_confirmed_frame`](retick_core::runner::Runner::pop_confirmed_frame), which are pushed first, and checksums as events of
/// the match. Frames that its queue dropped are missing, and a recording ends at its first gap.
///
/// ```no_run
/// use retick_client::{ReplayFile, ReplaySync};
/// use retick_core::replay::RecorderOptions;
/// use retick_core::session::Session;
///
/// fn record(mut session: Session, game: &retick_core::identity::IdentityManifest) -> std::io::Result<()> {
///     let (options, sync) = (RecorderOptions::default(), ReplaySync::default());
///     let mut file = ReplayFile::create("match.replay".as_ref(), game, session.descriptor(), options, sync)?;
///     // In each turn, after the session advanced; it must be one that hands out its frames, `Recording::Frames`.
///     while let Some(event) = session.poll_event() {
///         file.take_event(&event)?;
///     }
///     file.take_key_frame(&mut session)?;
///     // And at the end of the match:
///     file.finish()?;
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct ReplayFile {
    recorder: Recorder,
    file: File,
    sync: ReplaySync,
    written: u64,
    failed: Option<io::ErrorKind>,
}

impl ReplayFile {
    /// Begins a recording in a file of its own; one that is there is overwritten.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn create(
        path: &Path,
        manifest: &IdentityManifest,
        descriptor: &MatchDescriptor,
        options: RecorderOptions,
        sync: ReplaySync,
    ) -> io::Result<ReplayFile> {
        let recorder = Recorder::with_options(manifest, descriptor, options);
        let mut file = ReplayFile { recorder, file: File::create(path)?, sync, written: 0, failed: None };
        file.write()?;
        Ok(file)
    }

    /// Takes what happened in the session; what is not of the confirmed timeline is passed over (R4).
    ///
    /// # Errors
    /// Whatever the system says of the file.
    pub fn take_event(&mut self, event: &SessionEvent) -> io::Result<()> {
        match event {
            SessionEvent::Confirmed(frame) => self.push_frame(frame),
            SessionEvent::Checksum { tick, checksum } => self.push_checksum(*tick, *checksum),
            SessionEvent::RolledBack { .. } => Ok(()),
        }
    }

    /// Adds the next confirmed frame.
    ///
    /// # Errors
    /// Whatever the system says of the file.
    pub fn push_frame(&mut self, frame: &Frame) -> io::Result<()> {
        self.recorder.push_frame(frame);
        self.write()
    }

    /// Adds the checksum of the confirmed `S(tick)`.
    ///
    /// # Errors
    /// Whatever the system says of the file.
    pub fn push_checksum(&mut self, tick: Tick, checksum: Checksum) -> io::Result<()> {
        self.recorder.push_checksum(tick, checksum);
        self.write()
    }

    /// Adds the state that is due as a key frame, if the session still has it (R3).
    ///
    /// # Errors
    /// Whatever the system says of the file.
    pub fn take_key_frame(&mut self, session: &mut Session) -> io::Result<()> {
        let Some(tick) = self.recorder.wanted_key_frame() else { return Ok(()) };
        match session.export_snapshot(tick) {
            Ok(snapshot) => self.push_key_frame(&snapshot),
            // Another one is wanted soon; a replay without key frames is a replay, too.
            Err(_) => Ok(()),
        }
    }

    /// Adds the key frame that the recorder wants; any other is passed over.
    ///
    /// # Errors
    /// Whatever the system says of the file.
    pub fn push_key_frame(&mut self, snapshot: &Snapshot) -> io::Result<()> {
        if self.recorder.push_key_frame(snapshot) { self.write() } else { Ok(()) }
    }

    /// What is recorded, and what is wanted next.
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Ends the recording, forces it to the disk, and says how many bytes it has.
    ///
    /// # Errors
    /// Whatever the system says of the file.
    pub fn finish(self) -> io::Result<u64> {
        self.finish_with(Recorder::finish)
    }

    /// The same with another end: one that is signed.
    ///
    /// # Errors
    /// Whatever the system says of the file.
    pub fn finish_with(mut self, end: impl FnOnce(&mut Recorder)) -> io::Result<u64> {
        end(&mut self.recorder);
        self.write()?;
        self.file.sync_all()?;
        Ok(self.written)
    }

    fn write(&mut self) -> io::Result<()> {
        if let Some(kind) = self.failed {
            return Err(kind.into());
        }
        if self.recorder.ready_bytes() == 0 {
            return Ok(());
        }
        let bytes = self.recorder.take_bytes();
        let written = self.file.write_all(&bytes).and_then(|()| match self.sync {
            ReplaySync::AtEnd => Ok(()),
            ReplaySync::EveryFlush => self.file.sync_data(),
        });
        // What was half written ends the file for whoever reads it: nothing can be appended to that.
        self.failed = written.as_ref().err().map(io::Error::kind);
        self.written += bytes.len() as u64;
        written
    }
}
