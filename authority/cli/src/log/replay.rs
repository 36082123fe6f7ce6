//! `retick log replay`: a room's log as a replay, with the authority's word for it if it has a key (R1).

use std::path::PathBuf;

use clap::Args;
use retick_authority::log::{FIRST_SEQUENCE, FrameLog, Record};
use retick_authority::service::open_room_folder;
use retick_client::{ReplayFile, ReplaySync};
use retick_core::codec::wire::Cursor;
use retick_core::frame::Frame;
use retick_core::identity::MatchDescriptor;
use retick_core::replay::{RecorderOptions, ReplaySigningKey};
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::SeatSet;
use retick_core::session::{Budget, Recording, Session, SessionPolicy};
use retick_core::tick::Tick;

use crate::failure::Failure;
use crate::{files, games};

/// Arguments of `retick log replay`.
#[derive(Args)]
pub struct ReplayArguments {
    /// The room's folder, named by its code
    folder: PathBuf,
    /// Where to write the replay
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// The game's module; the built-in skirmish if not given
    #[arg(long, value_name = "FILE")]
    module: Option<PathBuf>,
    /// Which generation: one for each time that the room was reconfigured
    #[arg(long, default_value_t = 0)]
    generation: u32,
    /// A file with the secret key that is to sign it, as `retick ticket keygen` makes one
    #[arg(long, value_name = "FILE")]
    sign_with: Option<PathBuf>,
}

/// Plays a generation of a room's log, and records it. The room itself plays nothing, so checksums and key frames are those of this
/// machine.
pub fn run(arguments: &ReplayArguments) -> Result<(), Failure> {
    let key = arguments.sign_with.as_deref().map(files::read_secret).transpose()?;
    let factory = arguments.module.as_ref().map_or_else(games::skirmish, |path| games::from_file(path))?;
    let words = |error: &dyn std::fmt::Display| Failure::Run(format!("{}: {error}", arguments.folder.display()));
    let mut log = open_room_folder(&arguments.folder).map_err(|error| words(&error))?;
    let (mut recording, mut record) = (None, Vec::new());
    for sequence in log.first_sequence()..log.next_sequence() {
        log.read_into(sequence, &mut record).map_err(|error| words(&error))?;
        match Record::decode(&record).map_err(|error| words(&error))? {
            Record::Created { descriptor, .. } | Record::Reconfigured { descriptor } => {
                let descriptor = MatchDescriptor::from_bytes(descriptor).map_err(|error| words(&error))?;
                if descriptor.generation().0 == arguments.generation {
                    recording = Some(Generation::begin(arguments, factory.as_ref(), &descriptor)?);
                }
            }
            Record::Frame { frame, .. } => {
                if let Some(recording) = &mut recording {
                    recording.take(frame)?;
                }
            }
            _ => {}
        }
    }
    let is_whole = log.first_sequence() == FIRST_SEQUENCE;
    let why =
        if is_whole { "" } else { ": its first records are forgotten, unless it is kept with --log-retention all" };
    let none = || words(&format!("there is no beginning of generation {}{why}", arguments.generation));
    recording.ok_or_else(none)?.finish(key)
}

/// A generation as it is played again.
struct Generation<'a> {
    arguments: &'a ReplayArguments,
    session: Session,
    file: ReplayFile,
    frame: Frame,
}

impl<'a> Generation<'a> {
    fn begin(
        arguments: &'a ReplayArguments,
        factory: &dyn RuntimeFactory,
        descriptor: &MatchDescriptor,
    ) -> Result<Generation<'a>, Failure> {
        let policy = SessionPolicy { recording: Recording::Frames, ..SessionPolicy::default() };
        let session = Session::new(factory.create(descriptor)?, descriptor, policy, SeatSet::EMPTY);
        let session = session.map_err(|error| Failure::Run(error.to_string()))?;
        let (options, sync) = (RecorderOptions::default(), ReplaySync::default());
        let file = ReplayFile::create(&arguments.output, factory.manifest(), descriptor, options, sync);
        let file = file.map_err(|error| Failure::Write { path: arguments.output.clone(), error })?;
        Ok(Generation { arguments, session, file, frame: Frame::new(descriptor.generation(), Tick::ZERO) })
    }

    fn take(&mut self, frame: &[u8]) -> Result<(), Failure> {
        let failed =
            |error: &dyn std::fmt::Display| Failure::Run(format!("{}: {error}", self.arguments.folder.display()));
        let seats = self.session.descriptor().seats();
        self.frame.decode_full(&mut Cursor::new(frame), seats).map_err(|error| failed(&error))?;
        if self.frame.generation() != self.session.descriptor().generation() {
            return Ok(());
        }
        self.session.confirm(&self.frame).map_err(|error| failed(&error))?;
        let budget = Budget { confirmed_frames: 1, target: Tick::ZERO };
        self.session.advance(budget).map_err(|error| failed(&error))?;
        let written = |error| Failure::Write { path: self.arguments.output.clone(), error };
        while let Some(event) = self.session.poll_event() {
            self.file.take_event(&event).map_err(written)?;
        }
        self.file.take_key_frame(&mut self.session).map_err(written)
    }

    fn finish(self, key: Option<[u8; 32]>) -> Result<(), Failure> {
        let (path, ticks) = (&self.arguments.output, self.file.recorder().ticks());
        let written = |error| Failure::Write { path: path.clone(), error };
        let (bytes, signed) = match key.map(|secret| ReplaySigningKey::from_secret_bytes(&secret)) {
            None => (self.file.finish().map_err(written)?, String::new()),
            Some(key) => {
                let bytes = self.file.finish_with(|recorder| recorder.finish_signed(&key)).map_err(written)?;
                (bytes, format!(", signed by {}", key.public_key()))
            }
        };
        println!("{ticks} ticks, {bytes} bytes{signed}, written to {}", path.display());
        Ok(())
    }
}
