//! Three people draw one map together: a document that many edit is a match without a present of its own.
//!
//! - Every change is a *command*: the room puts them into one order, and every machine makes them in that order. Two who draw on
//!   one tile at once see the same winner.
//! - The clients show *confirmed* states alone (`PredictionMode::ConfirmedOnly`): nothing is guessed, and nothing taken back.
//! - Cursors are *ephemerals*: they reach the others at once, and neither the map nor a replay knows of them.
//! - Another size is another *session config*: a new generation, in which everyone starts over at tick 0 without reconnecting.
//!   What was drawn is drawn again, by commands like any other.
//!
//! The game declares no input fields, so that what flows every tick takes no bytes but its header.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

mod desk;
mod map;
mod studio;

use std::error::Error;
use std::sync::Arc;

use retick_authority::room::{DEFAULT_CHECKSUM_CADENCE_TICKS, Verification};
use retick_core::frame::{CommandSource, Frame};
use retick_core::identity::MatchDescriptor;
use retick_core::rng::SessionSeed;
use retick_core::runtime::{NativeFactory, RuntimeFactory};
use retick_core::seat::{Generation, Seat, SeatCount};
use retick_core::tick::Tick;

use self::desk::Desk;
use self::map::{Cursor, Edit, TileMap};
use self::studio::Studio;

type Failure = Box<dyn Error>;

/// How long everyone draws, in ticks, and when all of it must be on every screen.
const DRAWN_TICKS: u64 = 300;
const SETTLED_TICKS: u64 = 361;
/// A state that everyone has reported by then.
const REPORTED: Tick = Tick::new(2 * DEFAULT_CHECKSUM_CADENCE_TICKS as u64 + 1);
/// What a broken editor sends.
const NO_EDIT: [u8; 2] = [0xEE, 0xEE];

fn main() -> Result<(), Failure> {
    let factory: Arc<dyn RuntimeFactory> =
        Arc::new(NativeFactory::<TileMap>::new(|sources| sources.module("map.rs", include_bytes!("map.rs")))?);
    let seats = SeatCount::new(3).ok_or("three seats")?;
    let descriptor = MatchDescriptor::new(factory.manifest(), map::config(24, 6)?, SessionSeed::from_u64(1), seats);
    let mut studio = Studio::open(&factory, descriptor)?;

    let first = Generation(0);
    studio.work_until(first, Tick::new(DRAWN_TICKS), Desk::doodle)?;
    studio.desks[0].client.request_command(&NO_EDIT)?;
    studio.work_until(first, Tick::new(SETTLED_TICKS), |_| ())?;
    let small = check(&studio, first)?;
    let strangers = commands(frames(&studio, first)?).filter(|(_, bytes)| Edit::decode(bytes).is_none());
    assert_eq!(strangers.collect::<Vec<_>>(), [(Seat::new(0).ok_or("seat 0")?, NO_EDIT.to_vec())]);
    println!("a map that three drew:\n{small}");

    // Only who created the room may; nothing comes of the others' asking.
    studio.desks[1].request_size(8, 8)?;
    studio.desks[0].request_size(32, 8)?;
    let second = Generation(1);
    studio.work_until(second, Tick::new(1), |_| ())?;
    assert_eq!(studio.room.stats().refused_requests, 1);
    assert_eq!(studio.desks[2].shown().map(|(width, height, _)| (width, height)), Some((32, 8)));
    studio.desks[0].draw_again(&small);
    studio.work_until(second, Tick::new(DRAWN_TICKS), Desk::doodle)?;
    studio.work_until(second, Tick::new(SETTLED_TICKS), |_| ())?;
    let large = check(&studio, second)?;
    println!("the same on a larger one, and what was drawn since:\n{large}");
    Ok(())
}

/// Everyone sees one map, it is what the ordered edits make of a blank one, and nothing else got in.
fn check(studio: &Studio, generation: Generation) -> Result<TileMap, Failure> {
    let (first, ordered) = (&studio.desks[0], frames(studio, generation)?);
    let (width, height, tiles) = first.shown().ok_or("the map is shown")?;
    let map = redrawn(TileMap::blank(width, height), ordered);
    assert_eq!(map.tiles, tiles);
    assert!(commands(ordered).all(|(_, bytes)| Cursor::decode(&bytes).is_none()), "a cursor is in no frame");
    for (desk, seat) in studio.desks.iter().zip((0..).map_while(Seat::new)) {
        check_desk(studio, desk, seat, generation)?;
    }
    assert_eq!(studio.room.verification(REPORTED), Verification::Agreed);
    assert_eq!(studio.closed, 0);
    Ok(map)
}

fn check_desk(studio: &Studio, desk: &Desk, seat: Seat, generation: Generation) -> Result<(), Failure> {
    let (sheet, ordered) = (desk.sheets.get(&generation).ok_or("a sheet")?, frames(studio, generation)?);
    assert_eq!(desk.shown(), studio.desks[0].shown(), "seat {seat}");
    assert_eq!(&sheet.frames[..ordered.len()], ordered, "seat {seat}");
    assert_eq!((desk.client.stats().rollbacks, desk.greetings), (0, 1), "seat {seat}");
    // All edits came through, in the order in which they were asked for.
    let own: Vec<_> = edits(ordered).filter(|(source, _)| *source == seat).map(|(_, edit)| edit).collect();
    assert!(!own.is_empty() && own == sheet.requested, "seat {seat}");
    // The others point where this editor sees them point.
    for (other, its_seat) in studio.desks.iter().zip((0..).map_while(Seat::new)).filter(|(_, other)| *other != seat) {
        assert!(other.cursor.is_some() && desk.others.get(&its_seat) == other.cursor.as_ref(), "seat {its_seat}");
    }
    Ok(())
}

/// The frames of a generation that are compared, as the first desk has them.
fn frames(studio: &Studio, generation: Generation) -> Result<&[Frame], Failure> {
    let sheet = studio.desks[0].sheets.get(&generation).ok_or("a sheet for each generation")?;
    Ok(sheet.frames.get(..usize::try_from(SETTLED_TICKS)?).ok_or("all frames that are compared")?)
}

/// The commands of the seats, in the order of the room.
fn commands(frames: &[Frame]) -> impl Iterator<Item = (Seat, Vec<u8>)> {
    frames.iter().flat_map(Frame::commands).filter_map(|(source, bytes)| match source {
        CommandSource::Game(seat) => Some((seat, bytes.to_vec())),
        CommandSource::Authority => None,
    })
}

fn edits(frames: &[Frame]) -> impl Iterator<Item = (Seat, Edit)> {
    commands(frames).filter_map(|(seat, bytes)| Edit::decode(&bytes).map(|edit| (seat, edit)))
}

/// A map after the edits of these frames.
fn redrawn(mut map: TileMap, frames: &[Frame]) -> TileMap {
    edits(frames).for_each(|(_, edit)| map.apply(edit));
    map
}

#[test]
fn the_example_runs() -> Result<(), Failure> {
    main()
}
