//! The log played by a fresh runtime: what every state and every event should have been.

use std::collections::BTreeMap;

use retick_authority::log::Record;
use retick_core::codec::wire::Cursor;
use retick_core::digest::Checksum;
use retick_core::event::EventKey;
use retick_core::frame::Frame;
use retick_core::identity::MatchDescriptor;
use retick_core::runtime::{Keep, Output, StepBatch};
use retick_core::seat::Generation;
use retick_core::tick::Tick;

use super::super::schedule::Permitted;
use super::super::trace::Seen;
use super::Terms;

/// Ticks that are folded in one batch.
const BATCH_TICKS: usize = 256;

/// The records of the log that make its history, as the last crash left them.
pub(super) struct Log {
    terms: Terms,
    /// Each generation's record, match and frames.
    generations: Vec<Chapter>,
}

/// One generation of the log.
pub(super) struct Chapter {
    began: u64,
    descriptor: MatchDescriptor,
    frames: Vec<(u64, Frame)>,
}

/// What a generation comes to.
pub(super) struct Folded {
    /// The checksum of each state, `S(0)` first.
    pub(super) states: Vec<Checksum>,
    /// Every event, in order.
    pub(super) events: Vec<(EventKey, Vec<u8>)>,
    /// Its frames.
    pub(super) frames: Vec<Frame>,
}

impl Log {
    pub(super) fn new(terms: &Terms) -> Log {
        let descriptor = terms.schedule.descriptor(terms.factory.as_ref());
        Log { terms: terms.clone(), generations: vec![Chapter { began: 0, descriptor, frames: Vec::new() }] }
    }

    pub(super) fn see(&mut self, seen: &Seen) {
        match seen {
            Seen::Record { sequence, bytes } => self.record(*sequence, bytes),
            Seen::RoomUp { kept, .. } => {
                self.generations.retain(|chapter| chapter.began <= *kept);
                let chapters = self.generations.iter_mut();
                chapters.for_each(|chapter| chapter.frames.retain(|(sequence, _)| sequence <= kept));
            }
            _ => {}
        }
    }

    fn record(&mut self, sequence: u64, bytes: &[u8]) {
        match Record::decode(bytes) {
            Ok(Record::Frame { tick, frame: bytes, .. }) => {
                let Some(chapter) = self.generations.last_mut() else { return };
                let mut frame = Frame::new(chapter.descriptor.generation(), tick);
                if frame.decode_full(&mut Cursor::new(bytes), chapter.descriptor.seats()).is_ok() {
                    chapter.frames.push((sequence, frame));
                }
            }
            Ok(Record::Reconfigured { descriptor }) => {
                if let Ok(descriptor) = MatchDescriptor::from_bytes(descriptor) {
                    self.generations.push(Chapter { began: sequence, descriptor, frames: Vec::new() });
                }
            }
            _ => {}
        }
    }

    /// Plays every generation; `Err` with the first that can't be played.
    pub(super) fn fold(&self) -> Result<BTreeMap<Generation, Folded>, Tick> {
        let fold = |chapter: &Chapter| Ok((chapter.descriptor.generation(), self.play(chapter)?));
        self.generations.iter().filter(|chapter| self.is_playable(chapter)).map(fold).collect()
    }

    /// Whoever may swap the config may swap it for one that no game takes, and a liar does (A10).
    fn is_playable(&self, chapter: &Chapter) -> bool {
        let schedule = &self.terms.schedule;
        let may_be_junk = schedule.has_liar() && schedule.room.reconfigure != Permitted::Nobody;
        !may_be_junk || self.terms.factory.create(&chapter.descriptor).is_ok()
    }

    fn play(&self, chapter: &Chapter) -> Result<Folded, Tick> {
        let factory = self.terms.factory.as_ref();
        let mut runtime = factory.create(&chapter.descriptor).map_err(|_| Tick::ZERO)?;
        let schema = factory.manifest().input_schema();
        let (mut batch, mut output) = (StepBatch::default(), Output::default());
        let frames: Vec<Frame> = chapter.frames.iter().map(|(_, frame)| frame.clone()).collect();
        runtime.keep(Keep::CHECKSUM, &mut output).map_err(|_| Tick::ZERO)?;
        let (mut states, mut events) = (Vec::new(), Vec::new());
        states.extend(output.kept.iter().filter_map(|kept| kept.checksum));
        for run in frames.chunks(BATCH_TICKS) {
            batch.reset(runtime.tick());
            run.iter().for_each(|frame| batch.push_frame(frame, schema, Keep::CHECKSUM));
            output.clear();
            runtime.advance(&batch, &mut output).map_err(|_| runtime.tick())?;
            states.extend(output.kept.iter().filter_map(|kept| kept.checksum));
            events.extend(output.events.iter().map(|event| (event.key, event.payload.to_vec())));
        }
        Ok(Folded { states, events, frames })
    }
}
