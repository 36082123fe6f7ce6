//! Asking the two sides of a desync where their states differ (A8): first in which state, then in which page, then in which bytes.
//!
//! The room compares what it is told and knows nothing of what it means. One desync is looked into at a time, and one question to
//! each side is open at a time; a pair that has come apart is asked once, and not again before it has agreed on a state. A client that
//! does not answer is named as silent, and nothing else happens to it.

use alloc::vec::Vec;

use retick_core::client::DesyncFinding;
use retick_core::codec::wire::List;
use retick_core::digest::Checksum;
use retick_core::seat::{Generation, SeatSet};
use retick_core::tick::Tick;
use retick_core::tree::{DifferenceSearch, Search, SubtreeValue, TREE_PAGE_BYTES, diff};
use retick_core::wire::{
    Answer, Finding, InquiryId, MAX_INQUIRY_BYTES, MAX_INQUIRY_TICKS, MAX_PLACE_BYTES, Place, PlaceTick, Question,
    RoomMessage, StateSource, Witness,
};

use super::Room;
use super::clock::RoomTime;
use super::event::{ConnectionId, RoomEvent};

/// How long a question may be open, in milliseconds of the room's clock. Playing a cadence again is part of it.
pub const INQUIRY_TIMEOUT_MILLIS: u64 = 3_000;
/// Least time from one search to the next, in milliseconds of the room's clock.
pub const INQUIRY_INTERVAL_MILLIS: u64 = 10_000;
/// Most pages that are compared byte by byte behind the last whole one that both sides have.
const MAX_TAIL_PAGES: u64 = 16;

const PAGE: u64 = TREE_PAGE_BYTES as u64;
const _: () = assert!(TREE_PAGE_BYTES == MAX_INQUIRY_BYTES, "a question gets a page");

/// What a room has to ask, and what it has found.
#[derive(Debug, Default)]
pub(super) struct Inquiries {
    next: u64,
    search: Option<Looking>,
    not_before: RoomTime,
    /// The state whose reports were looked into last.
    last: Option<Tick>,
    found: Option<DesyncFinding>,
}

/// One side of the desync.
#[derive(Debug)]
struct Party {
    witness: Witness,
    connection: ConnectionId,
    reported: Checksum,
    asked: InquiryId,
    answer: Option<Told>,
}

/// An answer that outlives its message.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Told {
    Unknown,
    Checksums(Vec<Checksum>),
    Value(Option<SubtreeValue>),
    Bytes { total: u64, bytes: Vec<u8> },
}

impl Told {
    fn of(answer: &Answer<'_>) -> Told {
        match answer {
            Answer::Unknown => Told::Unknown,
            Answer::Checksums(values) => Told::Checksums(values.0.clone()),
            Answer::Value(value) => Told::Value(*value),
            Answer::Bytes { total, bytes } => Told::Bytes { total: *total, bytes: bytes.to_vec() },
        }
    }
}

/// A desync that is being looked into.
#[derive(Debug)]
struct Looking {
    report: Tick,
    parties: [Party; 2],
    deadline: RoomTime,
    at: PlaceTick,
    source: StateSource,
    contradicted: SeatSet,
    stage: Stage,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// In which state? All behind this one are asked for.
    States { base: Tick },
    /// How long are the states?
    Lengths,
    /// In which page?
    Pages { search: DifferenceSearch, longest: u64 },
    /// In which bytes of it?
    Bytes { offset: u64, tails_left: u64, longest: u64 },
}

/// What follows from two answers.
enum Next {
    Ask(Stage),
    /// At the state that was reported, since no earlier one leads on.
    Reported,
    Done(Option<(u64, Vec<u8>, Vec<u8>)>),
}

impl Looking {
    fn question(&self) -> Question {
        let (tick, source) = (self.at.tick(), self.source);
        match self.stage {
            Stage::States { base } => Question::Checksums { base, last: self.report },
            Stage::Lengths => Question::Bytes { tick, source, offset: 0, count: 0 },
            Stage::Pages { search, .. } => match search.status() {
                Search::Ask(at) => Question::Value { tick, source, level: at.level(), index: at.index() },
                Search::Differs(_) | Search::Same => Question::Bytes { tick, source, offset: 0, count: 0 },
            },
            Stage::Bytes { offset, .. } => {
                Question::Bytes { tick, source, offset, count: u32::try_from(MAX_INQUIRY_BYTES).unwrap_or(0) }
            }
        }
    }

    /// Takes both answers.
    fn conclude(&mut self) -> Next {
        let [one, other] = &mut self.parties;
        let told = (one.answer.take().unwrap_or(Told::Unknown), other.answer.take().unwrap_or(Told::Unknown));
        match (self.stage, told) {
            (Stage::States { base }, told) => self.compare_states(base, told),
            (Stage::Lengths, (Told::Bytes { total: one, .. }, Told::Bytes { total: other, .. })) => {
                let pages = u32::try_from(one.min(other) / PAGE).unwrap_or(u32::MAX);
                Next::Ask(search_on(DifferenceSearch::new(pages), pages, one.max(other)))
            }
            (Stage::Pages { mut search, longest }, (Told::Value(one), Told::Value(other))) => {
                search.answer(one, other);
                Next::Ask(search_on(search, search.pages(), longest))
            }
            (
                Stage::Bytes { offset, tails_left, longest },
                (Told::Bytes { bytes: one, .. }, Told::Bytes { bytes: other, .. }),
            ) => {
                let next = offset.saturating_add(PAGE);
                match diff(0, &one, &other).next() {
                    Some(run) => {
                        let shown = |bytes: &[u8]| bytes[..bytes.len().min(MAX_PLACE_BYTES)].to_vec();
                        Next::Done(Some((offset + u64::from(run.offset), shown(run.ours), shown(run.theirs))))
                    }
                    None if next < longest && tails_left > 0 => {
                        Next::Ask(Stage::Bytes { offset: next, tails_left: tails_left - 1, longest })
                    }
                    None => Next::Done(None),
                }
            }
            // Somebody has no such state, or answers something else.
            _ if self.source == StateSource::Replayed => Next::Reported,
            _ => Next::Done(None),
        }
    }

    /// Whether a party reported something else than it comes to, and in which state the two differ first.
    fn compare_states(&mut self, base: Tick, told: (Told, Told)) -> Next {
        let expected = usize::try_from(self.report.since(base)).unwrap_or(usize::MAX);
        let values = |told| match told {
            Told::Checksums(values) if values.len() == expected => Some(values),
            _ => None,
        };
        let (one, other) = (values(told.0), values(told.1));
        for (party, values) in self.parties.iter().zip([&one, &other]) {
            let contradicts =
                values.as_ref().and_then(|values| values.last()).is_some_and(|last| *last != party.reported);
            if let (Witness::Seat(seat), true) = (party.witness, contradicts) {
                self.contradicted.insert(seat);
            }
        }
        let both = one.iter().flatten().zip(other.iter().flatten());
        match both.zip(1..).find(|((one, other), _)| one != other) {
            Some((_, behind)) => {
                (self.at, self.source) = (PlaceTick::First(base.saturating_add(behind)), StateSource::Replayed);
                Next::Ask(Stage::Lengths)
            }
            None => Next::Reported,
        }
    }
}

/// Goes on with a search for a page, or with the bytes of the one that it found.
fn search_on(search: DifferenceSearch, pages: u32, longest: u64) -> Stage {
    let bytes = |page: u32| Stage::Bytes { offset: u64::from(page) * PAGE, tails_left: MAX_TAIL_PAGES, longest };
    match search.status() {
        Search::Ask(_) => Stage::Pages { search, longest },
        Search::Differs(page) => bytes(page),
        // What differs is behind the last whole page that both have.
        Search::Same => bytes(pages),
    }
}

impl Room {
    /// What came of the last desync that was looked into, in this generation.
    pub fn desync_finding(&self) -> Option<&DesyncFinding> {
        self.inquiries.found.as_ref()
    }

    /// Reports of `S(tick)` differ: looks into it, unless that is done already.
    pub(super) fn look_into(&mut self, tick: Tick) {
        let now = self.clock.present();
        if self.inquiries.search.is_some() || now < self.inquiries.not_before {
            return;
        }
        let Some(parties) = self.parties(tick) else { return };
        let [one, other] = &parties;
        let agreed = self.reports.last_agreed(tick, one.witness, other.witness);
        if self.inquiries.last.is_some_and(|last| agreed.is_none_or(|agreed| agreed <= last)) {
            return;
        }
        let base = agreed.filter(|base| tick.since(*base) <= MAX_INQUIRY_TICKS as u64);
        let stage = base.map_or(Stage::Lengths, |base| Stage::States { base });
        let (at, source, contradicted) = (PlaceTick::Reported(tick), StateSource::Kept, SeatSet::EMPTY);
        self.inquiries.last = Some(tick);
        self.inquiries.not_before = now.plus_millis(INQUIRY_INTERVAL_MILLIS);
        self.stats.searched_desyncs += 1;
        self.inquiries.search = Some(Looking { report: tick, parties, deadline: now, at, source, contradicted, stage });
        self.ask_parties();
    }

    /// Whom to ask: the referee and a seat that differs, or the side that more seats are on, and another.
    fn parties(&self, tick: Tick) -> Option<[Party; 2]> {
        let values = self.reports.values(tick);
        let party = |(witness, reported): (Witness, Checksum)| {
            let connection = self.live_witness(witness)?;
            Some(Party { witness, connection, reported, asked: InquiryId::default(), answer: None })
        };
        let seats = || values.iter().map(|(seat, value)| (Witness::Seat(*seat), *value));
        let referee = self.reports.of_referee(tick).and_then(|value| party((Witness::Referee, value)));
        let one = referee.or_else(|| {
            let supporters = |value: Checksum| values.iter().filter(|(_, other)| *other == value).count();
            let most = values.iter().map(|(_, value)| supporters(*value)).max()?;
            seats().filter(|(_, value)| supporters(*value) == most).find_map(party)
        })?;
        let other = seats().filter(|(_, value)| *value != one.reported).find_map(party)?;
        Some([one, other])
    }

    fn ask_parties(&mut self) {
        let deadline = self.clock.present().plus_millis(INQUIRY_TIMEOUT_MILLIS);
        let generation = self.config.descriptor.generation();
        let Inquiries { search: Some(search), next, .. } = &mut self.inquiries else { return };
        search.deadline = deadline;
        let question = search.question();
        let asked = search.parties.each_mut().map(|party| {
            party.asked = InquiryId(*next);
            *next += 1;
            (party.connection, party.asked)
        });
        for (connection, inquiry) in asked {
            self.tell(connection, &RoomMessage::Inquiry { inquiry, generation, question });
        }
    }

    /// A client answers.
    pub(super) fn handle_answer(&mut self, from: ConnectionId, inquiry: InquiryId, answer: &Answer<'_>) {
        let search = self.inquiries.search.as_mut();
        let is_asked =
            |party: &&mut Party| party.connection == from && party.asked == inquiry && party.answer.is_none();
        let Some(party) = search.and_then(|search| search.parties.iter_mut().find(is_asked)) else {
            self.stats.stray_answers += 1;
            return;
        };
        party.answer = Some(Told::of(answer));
        let Some(search) = &mut self.inquiries.search else { return };
        if search.parties.iter().any(|party| party.answer.is_none()) {
            return;
        }
        match search.conclude() {
            Next::Ask(stage) => {
                search.stage = stage;
                self.ask_parties();
            }
            Next::Reported => {
                (search.at, search.source) = (PlaceTick::Reported(search.report), StateSource::Kept);
                search.stage = Stage::Lengths;
                self.ask_parties();
            }
            Next::Done(place) => self.end_search(place),
        }
    }

    /// Ends a search whose question has been open for too long.
    pub(super) fn check_inquiries(&mut self) {
        if self.inquiries.search.as_ref().is_some_and(|search| search.deadline <= self.clock.time()) {
            self.end_search(None);
        }
    }

    fn end_search(&mut self, place: Option<(u64, Vec<u8>, Vec<u8>)>) {
        let Some(search) = self.inquiries.search.take() else { return };
        let generation: Generation = self.config.descriptor.generation();
        let [one, other] = &search.parties;
        let is_over = search.deadline <= self.clock.time();
        let unanswered = search.parties.iter().filter(|party| is_over && party.answer.is_none());
        let finding = Finding {
            report: search.report,
            witnesses: (one.witness, other.witness),
            place: place.as_ref().map(|(address, ours, theirs)| Place {
                tick: search.at,
                address: *address,
                ours,
                theirs,
            }),
            contradicted: List(search.contradicted.iter().collect()),
            silent: List(unanswered.map(|party| party.witness).collect()),
        };
        self.inquiries.found = Some(DesyncFinding::of(&finding));
        let (report, address) = (finding.report, finding.place.map(|place| place.address));
        self.outbox.transmit(self.connections.greeted(), &RoomMessage::Found { generation, finding });
        self.outbox.event(RoomEvent::DesyncSearched {
            tick: report,
            found: address.map(|address| (search.at.tick(), address)),
        });
    }

    /// A new generation begins.
    pub(super) fn reset_inquiries(&mut self) {
        self.inquiries = Inquiries { next: self.inquiries.next, ..Inquiries::default() };
    }
}
