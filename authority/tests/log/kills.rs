//! A thousand kills of a room and its log at random moments, with four real clients that come back (A12).
//!
//! With `every-frame` nothing that left the room is ever lost. With `interval` nothing is lost that a client holds who is back before
//! the window ends; whoever holds something else is told so, and nobody goes on with another history than the room's. Meanwhile
//! snapshots are kept, and the log forgets the records that they make unneeded.

use std::time::Duration;

use retick_authority::log::file::{Durability, FileLogConfig, SegmentSize};
use retick_authority::room::RoomEvent;
use retick_core::digest::Digest;
use retick_core::tick::Tick;

use crate::disk::{Dice, Tear, config};
use crate::world::{Killed, World};

const KILLS: u64 = 1000;
/// A new match begins after this many.
const KILLS_PER_MATCH: u64 = 20;
/// A window's longest, in turns, and some.
const WINDOW_TURNS: u64 = 330;

/// What happened, so that a run in which nothing happened is seen.
#[derive(Default, Debug)]
struct Seen {
    ticks: u64,
    killed_while_starting: u64,
    killed_while_recovering: u64,
    returned_ticks: u64,
    windows: u64,
    forked: u64,
    lost_ticks: u64,
    snapshots: u64,
    killed_while_keeping: u64,
    restored_without_the_first: u64,
}

impl Seen {
    fn add_snapshots(&mut self, world: &World) {
        self.snapshots += world.snapshots.kept;
        self.killed_while_keeping += world.snapshots.killed_while_keeping;
        self.restored_without_the_first += world.snapshots.restored_without_the_first;
    }

    /// Records were forgotten behind snapshots, and the machine died in the middle of that.
    fn has_forgotten(&self) -> bool {
        self.snapshots > 500 && self.killed_while_keeping > 10 && self.restored_without_the_first > 200
    }
}

fn world(durability: Durability) -> World {
    World::new(FileLogConfig { durability, segment_size: SegmentSize::new(16 * 1024).unwrap(), ..config() })
}

/// Whether what the client of `machine` has is the beginning of the room's history.
fn is_prefix(heads: &[Digest], history: Option<(Tick, Digest)>) -> bool {
    let Some((received, head)) = history else { return true };
    usize::try_from(received.index()).ok().and_then(|received| heads.get(received)) == Some(&head)
}

/// Plays until the machine dies or `turns` are over.
fn live(world: &mut World, turns: u64, seen: &mut Seen, seed: u64) -> Result<(), Killed> {
    for _ in 0..turns {
        let recovering = world.room().is_recovering();
        // Of two histories the later run's stands, so whoever brings it is the holder that counts.
        let back = || world.machines.iter().filter(|machine| machine.is_connected());
        let last_run = back().map(|machine| machine.last_run).max();
        let histories: Vec<_> = back().filter(|it| Some(it.last_run) == last_run).map(|it| it.history()).collect();
        let before = world.room().frontier();
        let turned = world.turn();
        if turned.is_err() {
            seen.killed_while_recovering += u64::from(recovering);
            return turned;
        }
        if recovering {
            assert_eq!(before.max(world.room().frontier()), world.room().frontier());
            if world.room().is_recovering() {
                assert_eq!(world.room().frontier(), before, "seed {seed}: nothing is confirmed in the window");
            } else {
                seen.windows += 1;
                // Who was there before this turn has lost nothing.
                let heads = world.heads();
                for history in histories {
                    assert!(is_prefix(heads, history), "seed {seed}: a holder's frame is lost");
                }
            }
        }
    }
    Ok(())
}

/// After the window: whoever is connected has the room's history, and whoever is told that it forked has another.
fn check_clients(world: &World, seed: u64) {
    let heads = world.heads();
    for (index, machine) in world.machines.iter().enumerate() {
        let is_prefix = is_prefix(heads, machine.history());
        assert!(is_prefix || !machine.is_connected() || machine.is_forked(), "seed {seed}: client {index} diverges");
        assert!(!(is_prefix && machine.is_forked()), "seed {seed}: client {index} holds the room's history");
        assert!(machine.client.end().is_none() || machine.is_forked(), "seed {seed}: {:?}", machine.client.end());
    }
}

fn kill(durability: Durability, tears: &[Tear]) -> Seen {
    let mut seen = Seen::default();
    let mut world = world(durability);
    world.start().expect("a machine that is not killed");
    for seed in 0..KILLS {
        let mut dice = Dice(seed ^ 0xa12);
        if seed % KILLS_PER_MATCH == 0 || world.machines.iter().filter(|it| it.client.end().is_none()).count() < 2 {
            seen.add_snapshots(&world);
            world = self::world(durability);
            world.start().expect("a machine that is not killed");
        }
        let seats: Vec<_> = world.machines.iter().map(|machine| machine.client.seat()).collect();
        // Most lives are ended by the disk, at any byte; the others between two turns.
        if dice.below(4) > 0 {
            world.disk.die_after(dice.below(12_000));
        }
        let turns = 10 + dice.below(50);
        let is_waiting = seed % KILLS_PER_MATCH != 0;
        let turns = if is_waiting && dice.below(12) == 0 { turns + WINDOW_TURNS } else { turns };
        let lived = live(&mut world, turns, &mut seen, seed);
        if lived.is_ok() && !world.room().is_recovering() {
            check_clients(&world, seed);
        }
        let (released, tear) = (world.released.clone(), tears[dice.index(tears.len())]);
        world.kill(&mut dice, tear);
        // Starting is killed too.
        if dice.below(5) == 0 {
            world.disk.die_after(dice.below(400));
            if world.start().is_err() {
                seen.killed_while_starting += 1;
            }
            world.kill(&mut dice, tear);
        }
        world.start().unwrap_or_else(|_| panic!("seed {seed}: nothing kills it"));
        let frontier = world.room().frontier().index();
        seen.ticks = seen.ticks.max(frontier);
        // What the room has forgotten it had when it was restored, and its chain says so.
        let kept = released.range(world.room().history_start().index()..);
        let lost = kept.filter(|(tick, frame)| world.room().frame(Tick::new(**tick)).as_ref() != Some(frame));
        let lost = lost.count() as u64;
        if durability == Durability::EveryFrame {
            assert_eq!(lost, 0, "seed {seed}: a released frame is lost");
        }
        seen.lost_ticks += lost;
        seen.forked += world.machines.iter().filter(|machine| machine.is_forked()).count() as u64;
        let returned = |event: &RoomEvent| match event {
            RoomEvent::Recovered { returned_ticks, .. } => *returned_ticks,
            _ => 0,
        };
        seen.returned_ticks += world.events.drain(..).map(|event| returned(&event)).sum::<u64>();
        for (machine, seat) in world.machines.iter().zip(seats).filter(|(_, seat)| seat.is_some()) {
            assert_eq!(machine.client.seat(), seat, "seed {seed}: a seat is its owner's");
        }
        let all_at_once = dice.coin();
        let dice = &mut dice;
        world.plan_returns(|| match dice.below(16) {
            0 if !all_at_once => None,
            1 if !all_at_once => Some(WINDOW_TURNS),
            _ => Some(dice.below(6)),
        });
    }
    seen.add_snapshots(&world);
    seen
}

#[test]
fn a12_a_thousand_kills_of_a_room_lose_no_released_frame() {
    let seen = kill(Durability::EveryFrame, &[Tear::Prefix, Tear::Zeros, Tear::Hole]);
    assert!(seen.ticks > 300 && seen.killed_while_starting > 20, "{seen:?}");
    assert_eq!((seen.lost_ticks, seen.forked, seen.windows), (0, 0, 0), "{seen:?}");
    assert!(seen.has_forgotten(), "{seen:?}");
}

#[test]
fn a12_a_thousand_kills_lose_no_frame_that_a_returner_holds() {
    let seen = kill(Durability::Interval(Duration::from_millis(400)), &[Tear::Prefix, Tear::Zeros]);
    assert!(seen.ticks > 200 && seen.killed_while_starting > 20 && seen.killed_while_recovering > 10, "{seen:?}");
    assert!(seen.lost_ticks > 1000 && seen.returned_ticks > 1000 && seen.windows > 300, "{seen:?}");
    assert!(seen.forked > 0, "somebody came too late: {seen:?}");
    assert!(seen.has_forgotten(), "{seen:?}");
}
