//! Where two replays first differ (R2, T3).

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use super::file::Replay;
use crate::digest::Checksum;
use crate::frame::{CommandSource, Frame};
use crate::identity::IdentityPart;
use crate::seat::{ControlEpoch, Presence, Seat};
use crate::tick::Tick;

/// A part of a match that is fixed before its first tick.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MatchPart {
    /// The session config.
    Config,
    /// The seed.
    Seed,
    /// How many seats.
    Seats,
    /// Which generation.
    Generation,
    /// What a room accepts of inputs and commands.
    Limits,
}

/// The first difference of two replays, in the order of their ticks, with what the one and the other has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Difference {
    /// They are of different games.
    Identity {
        /// The first part that differs.
        part: Option<IdentityPart>,
        /// What each has for it, in words.
        values: [String; 2],
    },
    /// They are of different matches of one game.
    Match {
        /// The first part that differs.
        part: MatchPart,
    },
    /// A seat's input; `None` is null.
    Input {
        /// The tick.
        tick: Tick,
        /// The seat.
        seat: Seat,
        /// The packed inputs.
        inputs: [Option<Vec<u8>>; 2],
    },
    /// Whether a seat's input was substituted.
    Substitution {
        /// The tick.
        tick: Tick,
        /// The seat.
        seat: Seat,
        /// Whether it was.
        substituted: [bool; 2],
    },
    /// Who drives a seat, and since which change of drivers.
    Driver {
        /// The tick.
        tick: Tick,
        /// The seat.
        seat: Seat,
        /// The drivers.
        drivers: [(Presence, ControlEpoch); 2],
    },
    /// An ordered command; `None` where one has fewer.
    Command {
        /// The tick.
        tick: Tick,
        /// Its place among the tick's commands.
        index: usize,
        /// The commands.
        commands: [Option<(CommandSource, Vec<u8>)>; 2],
    },
    /// How many fences the room had raised.
    Fence {
        /// The tick.
        tick: Tick,
        /// How many.
        fences: [u32; 2],
    },
    /// The checksum of a state that both state.
    Checksum {
        /// The state.
        tick: Tick,
        /// The checksums.
        checksums: [Checksum; 2],
    },
    /// Up to where they go; all before is equal.
    Ticks {
        /// How many ticks each has.
        ticks: [Tick; 2],
    },
}

/// Where two replays first differ; `None` where they say the same of a match. How they are cut into blocks, which key frames they
/// have and which checksums only one of them states is no difference.
///
/// ```
/// # mod race {
/// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/race.rs"));
/// # }
/// # use race::{descriptor, factory, frame};
/// use retick_core::replay::{Difference, Recorder, Replay, difference};
/// use retick_core::runtime::RuntimeFactory;
///
/// let recorded = |throttle: i64| {
///     let mut recorder = Recorder::new(factory().manifest(), &descriptor());
///     (0..9).for_each(|tick| recorder.push_frame(&frame(tick, [10, if tick < 7 { 20 } else { throttle }])));
///     recorder.finish();
///     Replay::parse(&recorder.take_bytes())
/// };
/// let (one, other) = (recorded(20)?, recorded(21)?);
/// assert_eq!(difference(&one, &one), None);
/// let found = difference(&one, &other).ok_or("they differ")?;
/// assert!(matches!(found, Difference::Input { tick, seat, .. } if (tick.index(), seat.number()) == (7, 1)));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[must_use]
pub fn difference(one: &Replay, other: &Replay) -> Option<Difference> {
    of_match(one, other).or_else(|| {
        let (frames, checksum) = (of_frames(one, other), of_checksums(one, other));
        match (frames, checksum) {
            // S(n) is what the frames before tick n lead to.
            (Some((at, _)), Some((tick, checksums))) if tick <= at => Some(Difference::Checksum { tick, checksums }),
            (Some((_, frames)), _) => Some(frames),
            (None, Some((tick, checksums))) => Some(Difference::Checksum { tick, checksums }),
            (None, None) => None,
        }
    })
}

fn of_match(one: &Replay, other: &Replay) -> Option<Difference> {
    if one.manifest().identity() != other.manifest().identity() {
        let part = one.manifest().difference(other.manifest());
        let value = |replay: &Replay| part.as_ref().and_then(|part| replay.manifest().value_of(part));
        let values = [one, other].map(|replay| value(replay).unwrap_or_else(|| "none".to_string()));
        return Some(Difference::Identity { part, values });
    }
    let (one, other) = (one.descriptor(), other.descriptor());
    let parts = [
        (MatchPart::Config, one.config() != other.config()),
        (MatchPart::Seed, one.seed() != other.seed()),
        (MatchPart::Seats, one.seats() != other.seats()),
        (MatchPart::Generation, one.generation() != other.generation()),
        (MatchPart::Limits, one.limits() != other.limits()),
    ];
    parts.into_iter().find(|(_, differs)| *differs).map(|(part, _)| Difference::Match { part })
}

/// The first tick whose frames differ, or that only one of them has.
fn of_frames(one: &Replay, other: &Replay) -> Option<(Tick, Difference)> {
    let found = one.frames().zip(other.frames()).find_map(|(a, b)| of_frame(&a, &b).map(|found| (a.tick(), found)));
    let ticks = [one.ticks(), other.ticks()];
    found.or_else(|| (ticks[0] != ticks[1]).then(|| (ticks[0].min(ticks[1]), Difference::Ticks { ticks })))
}

fn of_frame(one: &Frame, other: &Frame) -> Option<Difference> {
    if one == other {
        return None;
    }
    let tick = one.tick();
    for (seat, (a, b)) in (0..).map_while(Seat::new).zip(one.seats().zip(other.seats())) {
        if a.input != b.input {
            return Some(Difference::Input { tick, seat, inputs: [a, b].map(|seat| seat.input.map(<[u8]>::to_vec)) });
        }
        if a.substituted != b.substituted {
            return Some(Difference::Substitution { tick, seat, substituted: [a.substituted, b.substituted] });
        }
        if (a.presence, a.epoch) != (b.presence, b.epoch) {
            return Some(Difference::Driver { tick, seat, drivers: [a, b].map(|seat| (seat.presence, seat.epoch)) });
        }
    }
    let most = one.commands().len().max(other.commands().len());
    let command =
        |frame: &Frame, index| frame.commands().nth(index).map(|(source, payload)| (source, payload.to_vec()));
    let commands = (0..most).map(|index| (index, [command(one, index), command(other, index)]));
    let command = commands.into_iter().find(|(_, commands)| commands[0] != commands[1]);
    Some(match command {
        Some((index, commands)) => Difference::Command { tick, index, commands },
        None => Difference::Fence { tick, fences: [one.fence(), other.fence()] },
    })
}

fn of_checksums(one: &Replay, other: &Replay) -> Option<(Tick, [Checksum; 2])> {
    let sorted = |replay: &Replay| {
        let mut checksums = replay.checksums().to_vec();
        checksums.sort_unstable();
        checksums
    };
    let (ones, others) = (sorted(one), sorted(other));
    ones.into_iter().find_map(|(tick, checksum)| {
        let index = others.binary_search_by_key(&tick, |(tick, _)| *tick).ok()?;
        let (_, found) = others[index];
        (found != checksum).then_some((tick, [checksum, found]))
    })
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Identity { part, values: [one, other] } => {
                write!(f, "different games, in {part:?}: {one}, and {other}")
            }
            Difference::Match { part } => write!(f, "different matches, in {part:?}"),
            Difference::Input { tick, seat, inputs: [one, other] } => {
                write!(f, "tick {tick}, seat {seat}: input {}, and {}", Hex(one.as_deref()), Hex(other.as_deref()))
            }
            Difference::Substitution { tick, seat, substituted: [one, other] } => {
                write!(f, "tick {tick}, seat {seat}: substituted {one}, and {other}")
            }
            Difference::Driver { tick, seat, drivers: [one, other] } => {
                write!(f, "tick {tick}, seat {seat}: driven by {one:?}, and {other:?}")
            }
            Difference::Command { tick, index, commands: [one, other] } => {
                let shown = |command: &Option<(CommandSource, Vec<u8>)>| match command {
                    Some((source, payload)) => alloc::format!("{source:?} {}", Hex(Some(payload))),
                    None => "none".to_string(),
                };
                write!(f, "tick {tick}, command {index}: {}, and {}", shown(one), shown(other))
            }
            Difference::Fence { tick, fences: [one, other] } => write!(f, "tick {tick}: {one} fences, and {other}"),
            Difference::Checksum { tick, checksums: [one, other] } => {
                write!(f, "S({tick}): checksum {one}, and {other}")
            }
            Difference::Ticks { ticks: [one, other] } => write!(f, "{one} ticks, and {other}"),
        }
    }
}

/// Bytes in hexadecimal digits; `null` for none.
struct Hex<'a>(Option<&'a [u8]>);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("null"),
            Some(bytes) => bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
        }
    }
}
