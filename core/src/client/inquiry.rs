//! Answering the room's questions about a state of which reports differ (A8).
//!
//! The room asks for checksums between two reports, for values of the tree over a state, and for some bytes. What was played is looked
//! up in the checkpoints that the session keeps for its reports anyway; what lies between is played again beside the session
//! ([`Resimulation`]), a few ticks a turn, so that nothing is kept or hashed before somebody asks, and play goes on.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::{Client, EndReason};
use crate::codec::wire::List;
use crate::seat::Generation;
use crate::session::Resimulation;
use crate::tick::Tick;
use crate::tree::{PageTree, Subtree};
use crate::wire::{Answer, ClientMessage, InquiryId, Question, StateSource};

/// Most questions that wait; what comes beyond is answered as unknown. The room asks one at a time.
pub const MAX_WAITING_INQUIRIES: usize = 4;
/// Most ticks that one turn plays again for the room: with the default cadence all of them take a quarter of a second at 60 Hz.
pub const MAX_RESIMULATED_TICKS_PER_TURN: usize = 8;

/// What a client has to do with the room's questions.
#[derive(Debug, Default)]
pub(super) struct Inquiries {
    waiting: VecDeque<(InquiryId, Question)>,
    resimulation: Option<Resimulation>,
    opened: Option<Opened>,
}

/// The state that was asked about last.
#[derive(Debug)]
struct Opened {
    tick: Tick,
    source: StateSource,
    bytes: Vec<u8>,
    tree: PageTree,
}

impl Opened {
    fn new(tick: Tick, source: StateSource, bytes: Vec<u8>) -> Opened {
        let mut tree = PageTree::new();
        tree.update(&bytes, &[]);
        Opened { tick, source, bytes, tree }
    }

    fn value(&mut self, at: Subtree) -> Answer<'_> {
        Answer::Value(self.tree.open(&self.bytes).value(at))
    }

    fn part(&self, offset: u64, count: u32) -> Answer<'_> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(self.bytes.len());
        let end = start.saturating_add(count as usize).min(self.bytes.len());
        Answer::Bytes { total: self.bytes.len() as u64, bytes: &self.bytes[start..end] }
    }
}

impl Inquiries {
    /// Whoever asked is gone.
    pub(super) fn handle_disconnected(&mut self) {
        self.waiting.clear();
        self.resimulation = None;
    }
}

impl Client {
    /// The room asks. It is answered in a turn.
    pub(super) fn take_inquiry(
        &mut self,
        inquiry: InquiryId,
        generation: Generation,
        question: Question,
    ) -> Result<(), EndReason> {
        self.check_generation(generation)?;
        if self.inquiries.waiting.len() < MAX_WAITING_INQUIRIES {
            self.inquiries.waiting.push_back((inquiry, question));
        } else {
            self.answer(inquiry, Answer::Unknown);
        }
        Ok(())
    }

    /// The canonical bytes of the state that the room asked about last, and its tick: where its [finding](crate::wire::Finding) has an
    /// address, that is one in these. For tools that name fields (`retick_core::fields`); kept until the next question, or the next match.
    pub fn examined_state(&self) -> Option<(Tick, &[u8])> {
        self.inquiries.opened.as_ref().map(|opened| (opened.tick, opened.bytes.as_slice()))
    }

    /// Works on the oldest question, as much as a turn may.
    pub(super) fn answer_inquiries(&mut self) {
        let mut ticks_left = MAX_RESIMULATED_TICKS_PER_TURN;
        while let Some((inquiry, question)) = self.inquiries.waiting.front().copied() {
            if !self.prepare(&question, &mut ticks_left) {
                return;
            }
            self.inquiries.waiting.pop_front();
            self.tell(inquiry, &question);
        }
    }

    /// Comes to what is asked about, if that is possible. Says whether it is done with that.
    fn prepare(&mut self, question: &Question, ticks_left: &mut usize) -> bool {
        let (target, source) = match *question {
            Question::Checksums { base, last } => {
                if !self.is_resimulating(base, last) {
                    self.inquiries.resimulation = self.resimulation(base, last);
                }
                (last, StateSource::Replayed)
            }
            Question::Value { tick, source, .. } | Question::Bytes { tick, source, .. } => (tick, source),
        };
        let is_open =
            self.inquiries.opened.as_ref().is_some_and(|opened| (opened.tick, opened.source) == (target, source));
        let wants_state = !matches!(question, Question::Checksums { .. });
        if wants_state && is_open {
            return true;
        }
        if source == StateSource::Kept {
            let state = self.session.as_mut().and_then(|session| session.canonical_state(target).ok());
            self.inquiries.opened = state.map(|bytes| Opened::new(target, source, bytes));
            return true;
        }
        if wants_state {
            self.inquiries.opened = None;
        }
        let Some(resimulation) = &mut self.inquiries.resimulation else { return true };
        match resimulation.advance(target, core::mem::take(ticks_left)) {
            Ok(false) => false,
            Ok(true) if wants_state => {
                let state = resimulation.state().ok();
                self.inquiries.opened = state.map(|bytes| Opened::new(target, source, bytes));
                true
            }
            Ok(true) => true,
            Err(_) => {
                self.inquiries.resimulation = None;
                true
            }
        }
    }

    fn is_resimulating(&self, base: Tick, last: Tick) -> bool {
        let running = self.inquiries.resimulation.as_ref();
        running.is_some_and(|resimulation| (resimulation.base(), resimulation.last()) == (base, last))
    }

    fn resimulation(&mut self, base: Tick, last: Tick) -> Option<Resimulation> {
        let frames = self.tail.frames_between(base, last)?;
        let session = self.session.as_mut().filter(|session| session.confirmed() >= last)?;
        session.resimulation(self.factory.as_ref(), (base, last), frames).ok()
    }

    fn tell(&mut self, inquiry: InquiryId, question: &Question) {
        let Client { inquiries: Inquiries { opened, resimulation, .. }, outbox, connected, greeted, .. } = self;
        if !*connected || !*greeted {
            return;
        }
        let opened = opened.as_mut();
        let answer = match *question {
            Question::Checksums { base, last } => {
                let known = resimulation.as_ref().map(Resimulation::checksums).unwrap_or_default();
                if known.is_empty() || known.len() as u64 != last.since(base) {
                    Answer::Unknown
                } else {
                    Answer::Checksums(List(known.to_vec()))
                }
            }
            Question::Value { tick, source, .. } => {
                match (opened.filter(|opened| (opened.tick, opened.source) == (tick, source)), question.subtree()) {
                    (Some(opened), Some(at)) => opened.value(at),
                    _ => Answer::Unknown,
                }
            }
            Question::Bytes { tick, source, offset, count } => {
                match opened.filter(|opened| (opened.tick, opened.source) == (tick, source)) {
                    Some(opened) => opened.part(offset, count),
                    None => Answer::Unknown,
                }
            }
        };
        outbox.push_message(|out| ClientMessage::Answer { inquiry, answer }.encode_into(out));
    }

    fn answer(&mut self, inquiry: InquiryId, answer: Answer<'_>) {
        self.outbox.push_message(|out| ClientMessage::Answer { inquiry, answer }.encode_into(out));
    }
}
