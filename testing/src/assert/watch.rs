//! Follows the clients of a match while it runs: each of their confirmed states is held against an instance that folds the
//! authority's frames, from `S(0)` on, so that the first difference is named while both states can still be read (T3).

use std::sync::Arc;

use retick_core::digest::Checksum;
use retick_core::runtime::{Keep, RuntimeFactory};
use retick_core::seat::Seat;
use retick_core::session::{Retention, Session, StateReadError};
use retick_core::tick::{Tick, TickRate};

use super::lane::{Game, Lane, check_moved};
use super::names::Located;
use super::{Compared, GameFault, Premise};
use crate::environment::Machine;
use crate::net::LinkProfile;
use crate::sim::{ClientSetup, MatchReport, MatchSetup, Script, SimulatedMatch};

/// Ticks that a message takes each way in the proofs' matches.
pub(super) const LATENCY_TICKS: u64 = 3;
/// Ticks that their rooms wait before they substitute.
pub(super) const TOLERANCE_TICKS: u16 = 30;
/// Seconds that a match may need beyond its ticks.
const SLACK_SECONDS: u64 = 10;
/// The machine of the fold; clients run on those of their seats' numbers.
const FOLDING_MACHINE: Machine = Machine::numbered(200);

/// A player of a proof's match, none of whose latest 256 states is forgotten.
pub(super) fn player(script: &Script, rate: TickRate) -> ClientSetup {
    let links = || LinkProfile::ticks(rate, LATENCY_TICKS);
    let script = script.clone();
    let mut player = ClientSetup::new(move |seat, tick| script(seat, tick));
    (player.up, player.down) = (links(), links());
    player.config.retention = Retention::Window;
    player
}

/// A client that is followed.
struct Watched {
    seat: usize,
    /// Whether it came late; the others are there from the start, and are compared in the same moment.
    late: bool,
    /// The first state that was compared.
    first: Option<Tick>,
    /// The next state to compare.
    next: Tick,
    states: u64,
}

/// What a watch has seen.
pub(super) struct Watch {
    factory: Arc<dyn RuntimeFactory>,
    checksums: Vec<Checksum>,
    clients: Vec<Watched>,
}

impl Watch {
    /// Follows the clients of the first seats, of which the last ones come late.
    pub(super) fn new(factory: Arc<dyn RuntimeFactory>, present: usize, late: usize) -> Watch {
        let client = |seat| Watched { seat, late: seat >= present, first: None, next: Tick::ZERO, states: 0 };
        Watch { factory, checksums: Vec::new(), clients: (0..present + late).map(client).collect() }
    }

    /// Plays until `S(ticks)` was compared at every client.
    pub(super) fn play(&mut self, setup: MatchSetup, ticks: u64) -> Result<Played, GameFault> {
        let mut sim = setup.last_tick(ticks).build();
        let factory = self.factory.clone();
        let descriptor = sim.room().descriptor().clone();
        // The fold plays what the authority confirmed.
        let game = Game { factory: factory.as_ref(), descriptor: &descriptor, script: &|_, _| Vec::new() };
        let mut fold = Lane::new(game, FOLDING_MACHINE)?;
        let start = fold.bytes()?;
        self.checksums.extend(fold.checksum()?);
        let wanted = Tick::new(ticks);
        let limit = ticks + u64::from(TOLERANCE_TICKS) + SLACK_SECONDS * u64::from(descriptor.tick_rate().hz());
        for _ in 0..limit {
            self.extend_fold(&mut fold, &sim)?;
            self.compare_present(game, &mut sim)?;
            self.compare_late(game, &mut sim)?;
            let over = |seat: usize| sim.client(seat).is_some_and(|client| client.end().is_some());
            if self.reached() > wanted || self.clients.iter().any(|client| over(client.seat)) {
                break;
            }
            sim.advance();
        }
        let reached = self.reached();
        let report = sim.check().map_err(GameFault::Breaches)?;
        if reached <= wanted {
            return Err(Premise::Progress { reached: reached.saturating_sub(1), wanted }.into());
        }
        check_moved(&start, &fold.bytes()?, fold.runtime.tick().index())?;
        Ok(Played { report, last: self.checksums.last().copied() })
    }

    /// How many states of a client were compared, without a gap from the first of them on.
    pub(super) fn states(&self, seat: usize) -> Option<(u64, Tick)> {
        let client = self.clients.get(seat)?;
        Some((client.states, client.first?))
    }

    fn reached(&self) -> Tick {
        self.clients.iter().map(|client| client.next).min().unwrap_or_default()
    }

    /// Folds what the first client has confirmed since.
    fn extend_fold(&mut self, fold: &mut Lane<'_>, sim: &SimulatedMatch) -> Result<(), GameFault> {
        let folded = self.checksums.len().saturating_sub(1);
        let frames = sim.confirmed_frames(0).get(folded..).unwrap_or_default();
        if !frames.is_empty() {
            fold.fold(frames, Keep::CHECKSUM)?;
            self.checksums.extend(fold.output.kept.iter().filter_map(|kept| kept.checksum));
        }
        Ok(())
    }

    /// Compares what all who were there from the start have confirmed.
    fn compare_present(&mut self, game: Game<'_>, sim: &mut SimulatedMatch) -> Result<(), GameFault> {
        let present = self.clients.iter().filter(|client| !client.late);
        let confirmed = |client: &Watched| sim.client(client.seat)?.session().map(Session::confirmed);
        let Some(through) = present.map(confirmed).min().flatten() else { return Ok(()) };
        for index in 0..self.clients.len() {
            if !self.clients[index].late {
                self.compare(index, through, game, sim)?;
            }
        }
        Ok(())
    }

    /// Compares what each of those who came late has confirmed.
    fn compare_late(&mut self, game: Game<'_>, sim: &mut SimulatedMatch) -> Result<(), GameFault> {
        for index in 0..self.clients.len() {
            let client = &self.clients[index];
            let session = sim.client(client.seat).and_then(|client| client.session());
            if let Some(through) = session.map(Session::confirmed).filter(|_| client.late) {
                self.compare(index, through, game, sim)?;
            }
        }
        Ok(())
    }

    fn compare(
        &mut self,
        index: usize,
        through: Tick,
        game: Game<'_>,
        sim: &mut SimulatedMatch,
    ) -> Result<(), GameFault> {
        loop {
            let Watched { seat, late, next: tick, .. } = self.clients[index];
            let folded = usize::try_from(tick.index()).ok().and_then(|index| self.checksums.get(index).copied());
            let Some(expected) = folded.filter(|_| tick <= through) else { return Ok(()) };
            let session = sim.client_mut(seat).and_then(|client| client.session_mut());
            let found = session.map(|session| session.checksum_at(tick));
            let client = &mut self.clients[index];
            match found {
                Some(Ok(found)) if found == expected => {
                    client.first.get_or_insert(tick);
                    client.states += 1;
                }
                Some(Ok(found)) => return Err(differs(index, tick, found, &self.clients, game, sim)),
                // It was built from a later state.
                Some(Err(StateReadError::Released { .. })) if late => (client.first, client.states) = (None, 0),
                _ => return Err(Premise::Readable { seat: seat_of(seat), tick }.into()),
            }
            client.next = tick.saturating_add(1);
        }
    }
}

/// A match that was played to its end, with every invariant held.
pub(super) struct Played {
    pub(super) report: MatchReport,
    /// Checksum of the last folded state.
    pub(super) last: Option<Checksum>,
}

impl Played {
    /// A seat was in the match: its own inputs stand in more than half of the frames from `first` on.
    pub(super) fn check_presence(&self, seat: usize, first: Tick, end: Tick) -> Result<u64, Premise> {
        let seat = seat_of(seat);
        let frames = self.report.frames.iter().filter(|frame| (first..end).contains(&frame.tick()));
        let own =
            |frame: &&retick_core::frame::Frame| frame.input(seat).is_some() && !frame.substituted().contains(seat);
        let (inputs, ticks) = (frames.filter(own).count() as u64, end.since(first));
        if 2 * inputs > ticks { Ok(inputs) } else { Err(Premise::Presence { seat, inputs, ticks }) }
    }

    /// A client rolled back further on than in the first tick, which everyone mispredicts: nobody is there before it.
    pub(super) fn check_rollbacks(&self, seat: usize, ticks: u64) -> Result<u64, Premise> {
        let seat = seat_of(seat);
        let client = self.report.clients.iter().find(|client| client.seat == seat);
        let rollbacks =
            client.map_or(0, |client| client.rollbacks.iter().filter(|seen| seen.from > Tick::ZERO).count() as u64);
        if rollbacks > 0 { Ok(rollbacks) } else { Err(Premise::Rollback { seat, ticks }) }
    }

    /// A client reported every state that was due.
    pub(super) fn check_reports(&self, seat: usize) -> Result<u64, Premise> {
        let seat = seat_of(seat);
        let Some(client) = self.report.clients.iter().find(|client| client.seat == seat) else {
            return Err(Premise::Checksums { seat, found: 0, due: 1 });
        };
        let (found, due) = (client.reports.len() as u64, client.checksums.len() as u64);
        if found >= due && due > 0 { Ok(found) } else { Err(Premise::Checksums { seat, found, due: due.max(1) }) }
    }
}

pub(super) fn seat_of(index: usize) -> Seat {
    let seat = u8::try_from(index).ok().and_then(Seat::new);
    seat.unwrap_or_else(|| panic!("there is no seat {index}"))
}

/// The canonical bytes of a confirmed state, while it is kept.
fn bytes_at(sim: &mut SimulatedMatch, seat: usize, tick: Tick) -> Option<Vec<u8>> {
    let descriptor = sim.room().descriptor().clone();
    let snapshot = sim.client_mut(seat)?.session_mut()?.export_snapshot(tick).ok()?;
    snapshot.verify(&descriptor).ok()
}

fn checksum_at(sim: &mut SimulatedMatch, seat: usize, tick: Tick) -> Option<Checksum> {
    sim.client_mut(seat)?.session_mut()?.checksum_at(tick).ok()
}

/// Names the difference: of two clients, if another one contradicts, and of the fold otherwise.
fn differs(
    index: usize,
    tick: Tick,
    found: Checksum,
    clients: &[Watched],
    game: Game<'_>,
    sim: &mut SimulatedMatch,
) -> GameFault {
    let seat = clients[index].seat;
    let mut others = clients.iter().map(|client| client.seat).filter(|other| *other != seat);
    let contradicts = |other: &usize| checksum_at(sim, *other, tick).is_some_and(|checksum| checksum != found);
    let other = others.find(contradicts);
    let (compared, first, second) = match other {
        Some(other) => {
            let [one, other] = [seat.min(other), seat.max(other)];
            let compared = Compared::Clients { seats: [seat_of(one), seat_of(other)] };
            (compared, bytes_at(sim, one, tick), bytes_at(sim, other, tick))
        }
        None => (Compared::Fold { seat: seat_of(seat) }, folded(game, sim, tick), bytes_at(sim, seat, tick)),
    };
    GameFault::differs(compared, tick, Located::of(first.zip(second)))
}

/// Folds the authority's frames once more, up to a state.
fn folded(game: Game<'_>, sim: &SimulatedMatch, tick: Tick) -> Option<Vec<u8>> {
    let frames: Vec<_> = sim.frames().into_iter().take_while(|frame| frame.tick() < tick).collect();
    let mut fold = Lane::new(game, FOLDING_MACHINE).ok()?;
    fold.fold(&frames, Keep::NOTHING).ok()?;
    fold.bytes().ok()
}
