//! What is observed of one player: its confirmed timeline up to the last compared state, and what that cost.

use retick_core::client::{ClientEvent, DesyncFinding};
use retick_core::digest::{Checksum, Digest};
use retick_core::frame::{Frame, FrameChain};
use retick_core::identity::{IdentityManifest, MatchDescriptor};
use retick_core::seat::Seat;
use retick_core::session::{Session, SessionEvent};
use retick_core::tick::Tick;

use crate::failure::Failure;
use crate::recording::{Recording, Records};
use crate::replay::stats::MatchStats;

/// Follows one client's events.
pub struct Observer {
    manifest: IdentityManifest,
    ticks: Tick,
    records: Records,
    timeline: Option<Timeline>,
    /// What was seen.
    pub seen: Seen,
    /// What it cost this client, for whoever draws the match.
    stats: MatchStats,
}

/// What was seen of one player's match.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Its seat.
    pub seat: Option<Seat>,
    /// The first tick whose frame it was given: `n` where its match began with `S(n)`.
    pub first: Tick,
    /// Confirmed ticks, up to the last compared state.
    pub confirmed: Tick,
    /// What stands for each of its frames, from the first one on: the chain over that frame alone.
    pub frames: Vec<Digest>,
    /// Depth of each rollback, in ticks.
    pub rollback_depths: Vec<u64>,
    /// Times that the seat was resumed on a new connection.
    pub reconnects: u64,
    /// Inputs of each seat that the room substituted, in seat order.
    pub substitutions: Vec<u64>,
    /// Checksums of confirmed states.
    pub checksums: Vec<(Tick, Checksum)>,
    /// Desyncs that the room announced.
    pub desyncs: u64,
    /// What the room found out about the first of them, and how far this player had come then.
    pub finding: Option<(DesyncFinding, Tick)>,
    /// Head of the frame chain over the compared ticks; of no use to whoever has not all of them.
    pub chain_head: Option<Digest>,
    /// Commands that were confirmed.
    pub commands: u64,
}

impl Seen {
    /// What stands for the frames of these ticks, if it has them all.
    pub fn frames_between(&self, from: Tick, to: Tick) -> Option<&[Digest]> {
        if from < self.first || to < from {
            return None;
        }
        let index = |tick: Tick| usize::try_from(tick.since(self.first)).ok();
        self.frames.get(index(from)?..index(to)?)
    }
}

/// The frames of the match, once it is known.
struct Timeline {
    descriptor: MatchDescriptor,
    chain: FrameChain,
    /// Records the match, if this is the player who does.
    recording: Option<Recording>,
}

impl Observer {
    /// Of a match of this game up to `S(ticks)`.
    pub fn new(manifest: &IdentityManifest, ticks: Tick, records: Records) -> Observer {
        Observer {
            manifest: manifest.clone(),
            ticks,
            records,
            timeline: None,
            seen: Seen::default(),
            stats: MatchStats::default(),
        }
    }

    /// The room said which match it is. Only the first time counts: a changed one ends the client.
    pub fn begin(&mut self, descriptor: &MatchDescriptor) {
        if self.timeline.is_none() {
            let recording = Recording::begin(&self.records, &self.manifest, descriptor);
            let chain = FrameChain::new(descriptor);
            self.seen.substitutions = vec![0; descriptor.seats().count()];
            self.timeline = Some(Timeline { descriptor: descriptor.clone(), chain, recording });
        }
    }

    /// Takes one event of the client's.
    pub fn take(&mut self, event: &ClientEvent) {
        match event {
            ClientEvent::Joined { seat, resumed } => {
                self.seen.seat = Some(*seat);
                self.seen.reconnects += u64::from(*resumed);
            }
            ClientEvent::Session(SessionEvent::Confirmed(frame)) => self.take_frame(frame),
            ClientEvent::Session(SessionEvent::Checksum { tick, checksum }) => self.take_checksum(*tick, *checksum),
            ClientEvent::Session(SessionEvent::RolledBack { from, to }) => self.take_rollback(*from, *to),
            ClientEvent::Desync { .. } => self.seen.desyncs += 1,
            ClientEvent::Found(finding) => {
                let confirmed = self.seen.confirmed;
                self.seen.finding.get_or_insert_with(|| (finding.clone(), confirmed));
            }
            _ => {}
        }
    }

    /// Takes the checksum of a confirmed state.
    pub fn take_checksum(&mut self, tick: Tick, checksum: Checksum) {
        if tick > self.ticks {
            return;
        }
        self.seen.checksums.push((tick, checksum));
        if let Some(recording) = self.recording() {
            recording.push_checksum(tick, checksum);
        }
    }

    /// Takes a rollback.
    pub fn take_rollback(&mut self, from: Tick, to: Tick) {
        if from < self.ticks {
            self.seen.rollback_depths.push(to.since(from));
            self.stats.note_rollback(from, to);
        }
    }

    /// Takes a confirmed frame.
    pub fn take_frame(&mut self, frame: &Frame) {
        let Some(timeline) = &mut self.timeline else { return };
        if frame.tick() >= self.ticks {
            return;
        }
        if self.seen.frames.is_empty() {
            self.seen.first = frame.tick();
        }
        let mut alone = FrameChain::new(&timeline.descriptor);
        alone.extend(frame);
        self.seen.frames.push(alone.head());
        timeline.chain.extend(frame);
        if let Some(recording) = &mut timeline.recording {
            recording.push_frame(frame);
        }
        for seat in timeline.descriptor.seats().seats().filter(|seat| frame.substituted().contains(*seat)) {
            self.seen.substitutions[seat.index()] += 1;
        }
        self.seen.commands += frame.commands().len() as u64;
        self.seen.confirmed = frame.tick().saturating_add(1);
        self.seen.chain_head = Some(timeline.chain.head());
    }

    /// Whether every tick that is compared was confirmed.
    pub fn is_done(&self) -> bool {
        self.seen.confirmed >= self.ticks
    }

    /// Takes a turn of the client's: what it costs, and the state that the recording wants.
    pub fn take_turn(&mut self, session: &mut Session) {
        self.stats.note_turn(session);
        if let Some(recording) = self.recording() {
            recording.take_key_frame(session);
        }
    }

    /// The finished recording, if this player records; beside one in a file stands what the match cost.
    pub fn finish_recording(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let Some(recording) = self.timeline.as_mut().and_then(|timeline| timeline.recording.take()) else {
            return Ok(None);
        };
        let replay = recording.finish()?;
        if let Records::ToFile(path) = &self.records {
            self.stats.write_beside(path)?;
            println!("replay of {} bytes written to {}", replay.len(), path.display());
        }
        Ok(Some(replay))
    }

    fn recording(&mut self) -> Option<&mut Recording> {
        self.timeline.as_mut()?.recording.as_mut()
    }
}
