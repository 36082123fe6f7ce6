//! The rules of the game, each by what it does to a match.

use std::vec;
use std::vec::Vec;

use retick_core::frame::CommandSource;
use retick_core::seat::Presence;

use super::table::{Driver, Table, seat};
use crate::arena::{Arena, Block};
use crate::bot::scripted_input;
use crate::command::Command;
use crate::config::Rules;
use crate::input::{STICK, SkirmishInput};
use crate::numbers::Vec2;
use crate::pickups::PickupKind;
use crate::player::{FULL_HEALTH, PLAYER_RADIUS, RESPAWN_TICKS, Standing};
use crate::projectiles::{BOUNCES, MAX_BULLETS};
use crate::rounds::{INTERMISSION_TICKS, Phase};

const RIGHT: u16 = 0;
const LEFT: u16 = 512;

fn fire(aim: u16) -> SkirmishInput {
    SkirmishInput { aim, fire: true, ..SkirmishInput::default() }
}

/// Fires one bullet from seat 0 and lets go of the trigger.
fn shoot_once(table: &mut Table, aim: u16) {
    table.player(0).timers.trigger = 0;
    table.drivers[0].input = fire(aim);
    table.run(1);
    table.drivers[0].input.fire = false;
}

#[test]
fn a_hit_reduces_health_and_ends_the_bullet() {
    let mut table = Table::duel();
    shoot_once(&mut table, RIGHT);
    assert_eq!(table.world.bullets.flying().len(), 1);
    table.run_until(20, |world| world.players[1].health < FULL_HEALTH);
    assert_eq!(table.player(1).health, FULL_HEALTH - 20);
    assert!(table.world.bullets.flying().is_empty());
    assert_eq!((table.player(0).score, table.player(0).health), (0, FULL_HEALTH));
}

#[test]
fn a_knockout_scores_and_the_fallen_comes_back() {
    let mut table = Table::duel();
    table.drivers[0].input = fire(RIGHT);
    table.run_until(120, |world| world.players[1].health == 0);
    table.drivers[0].input.fire = false;
    assert_eq!((table.player(0).score, table.player(1).falls), (1, 1));
    let ticks = table.run_until(200, |world| world.players[1].standing == Standing::Alive);
    // The tick of the fall counts down already.
    assert_eq!(ticks, u64::from(RESPAWN_TICKS) - 1);
    let back = table.player(1);
    assert_eq!(back.health, FULL_HEALTH);
    assert!(back.timers.shield > 0, "nobody is shot where they appear");
}

#[test]
fn a_bullet_that_bounced_hits_its_owner_and_costs_a_point() {
    let mut table = Table::duel();
    table.player(0).position = Vec2::new(3.0, 16.0);
    table.player(0).health = 20;
    table.player(0).score = 3;
    shoot_once(&mut table, LEFT);
    table.run(2);
    assert_eq!(table.player(0).health, 20, "it starts inside its owner and spares it");
    table.run_until(40, |world| world.players[0].health == 0);
    assert_eq!((table.player(0).score, table.player(1).score), (2, 0));
}

#[test]
fn a_bullet_bounces_three_times_and_ends_at_the_fourth_wall() {
    let mut table = Table::duel();
    let block = |left| Block { low: Vec2::new(left, 10.0), high: Vec2::new(left + 2.0, 22.0) };
    table.world.arena = Arena::with_blocks(vec![block(8.0), block(12.0)]);
    table.player(0).position = Vec2::new(11.0, 16.0);
    shoot_once(&mut table, RIGHT);
    table.player(0).position = Vec2::new(4.0, 4.0);
    let mut flights: Vec<(u8, bool)> = vec![];
    while let Some(bullet) = table.world.bullets.flying().first() {
        flights.push((bullet.bounces_left, bullet.velocity.x > 0.0));
        table.run(1);
    }
    flights.dedup();
    assert_eq!(flights, [(BOUNCES, true), (2, false), (1, true), (0, false)]);
    assert!(table.tick < 20, "it ended at a wall, not with its time");
}

#[test]
fn a_substituted_seat_stands_still() {
    let mut table = Table::duel();
    let run = SkirmishInput { move_y: STICK, ..fire(256) };
    table.drivers[0].input = run;
    table.run(10);
    let moving = table.player(0).position;
    assert!(moving.y > 16.2);
    table.drivers[0].substituted = true;
    let shots = table.world.bullets.flying().len();
    table.run(30);
    assert_eq!(table.player(0).position, moving);
    assert!(table.world.bullets.flying().len() <= shots, "and it does not shoot");
    table.drivers[0].substituted = false;
    table.run(5);
    assert!(table.player(0).position.y > moving.y);
    assert!(table.world.bullets.flying().len() > shots);
}

#[test]
fn an_empty_seat_is_not_in_the_arena() {
    let mut table = Table::duel();
    table.drivers[1].presence = Presence::Empty;
    shoot_once(&mut table, RIGHT);
    assert_eq!(table.standing(1), Standing::Absent);
    table.run(30);
    assert_eq!((table.player(0).score, table.player(1).falls), (0, 0));
    let bullet = &table.world.bullets.flying()[0];
    assert!(bullet.position.x > 30.0 && bullet.bounces_left == BOUNCES, "nothing stopped it");
}

#[test]
fn a_disconnected_seat_cannot_be_farmed_and_comes_back_shielded() {
    let mut table = Table::duel();
    table.player(1).health = 20;
    table.drivers[1] = Driver { presence: Presence::Disconnected, input: fire(LEFT), ..table.drivers[1] };
    table.drivers[0].input = fire(RIGHT);
    table.run(60);
    assert_eq!((table.standing(1), table.player(1).health), (Standing::Away, 20));
    assert_eq!((table.player(0).score, table.player(0).health), (0, FULL_HEALTH));
    table.drivers[1].presence = Presence::Human;
    table.drivers[1].input.fire = false;
    table.run(20);
    assert_eq!((table.standing(1), table.player(1).health), (Standing::Alive, 20));
    assert!(table.player(1).timers.shield > 0);
}

#[test]
fn another_driver_of_a_seat_starts_anew() {
    let mut table = Table::duel();
    table.player(0).score = 7;
    table.player(0).health = 20;
    shoot_once(&mut table, 256);
    table.drivers[0].epoch += 1;
    table.run(1);
    let player = table.player(0);
    assert_eq!((player.score, player.health, player.standing), (0, FULL_HEALTH, Standing::Alive));
    assert!(table.world.bullets.flying().is_empty(), "the last driver's bullets score for nobody");
}

#[test]
fn pickups_do_what_they_say() {
    let mut table = Table::duel();
    table.world.rules.pickups = true;
    let position = table.player(0).position;
    table.player(0).health = 30;
    for kind in PickupKind::ALL {
        table.world.lay(kind, position);
    }
    table.run(1);
    assert!(table.world.pickups.lying().is_empty());
    let player = table.player(0);
    assert_eq!(player.health, 80);
    assert!(player.timers.rapid_fire > 300 && player.timers.shield > 200);
    assert_eq!(table.player(1).timers.rapid_fire, 0);
}

/// What appeared where, tick by tick, while nobody takes anything.
fn pickups_of(seed: u64, shooting: bool) -> Vec<(u64, PickupKind, Vec2)> {
    let mut table = Table::new(2, Rules::default(), seed);
    table.drivers.iter_mut().for_each(|driver| driver.input.fire = shooting);
    let mut appeared: Vec<(u64, PickupKind, Vec2)> = vec![];
    for _ in 0..3_000 {
        table.run(1);
        // Out of reach of every point where something appears.
        for (player, x) in table.world.players.iter_mut().zip([3.5, 44.5]) {
            player.position = Vec2::new(x, 3.5);
        }
        let newest = table.world.pickups.lying().last();
        let newest =
            newest.map(|pickup| (table.tick - 1 - u64::from(900 - pickup.ticks_left), pickup.kind, pickup.position));
        appeared.extend(newest.filter(|newest| appeared.last() != Some(newest)));
    }
    appeared
}

#[test]
fn k6_pickups_come_from_a_stream_of_their_own() {
    let calm = pickups_of(3, false);
    assert!(calm.len() > 5, "{calm:?}");
    assert_eq!(calm, pickups_of(3, true), "what players do does not shift it");
    assert_ne!(calm, pickups_of(4, false));
}

#[test]
fn a_match_can_go_without_pickups() {
    let mut table = Table::new(2, Rules { pickups: false, ..Rules::default() }, 3);
    for _ in 0..3_000 {
        table.run(1);
        assert!(table.world.pickups.lying().is_empty());
    }
}

#[test]
fn rounds_end_at_the_score_limit_and_the_last_ends_the_match() {
    let mut table = Table::duel();
    table.world.rules = Rules { score_limit: 5, rounds: 2, pickups: false, ..Rules::default() };
    table.player(1).score = 5;
    table.run(1);
    let winner = seat(1);
    assert_eq!(table.world.progress.phase, Phase::Intermission { winner, ticks_left: INTERMISSION_TICKS });
    table.drivers[0].input = SkirmishInput { move_x: STICK, ..fire(RIGHT) };
    let before = table.player(0).position;
    table.run(u64::from(INTERMISSION_TICKS) - 1);
    assert_eq!(table.player(0).position, before, "nobody moves between rounds");
    table.run(1);
    assert_eq!((table.world.progress.phase, table.world.progress.round), (Phase::Playing, 2));
    assert_eq!((table.player(1).score, table.player(1).rounds_won), (0, 1));
    table.player(0).score = 5;
    table.player(1).score = 6;
    table.run(1);
    assert_eq!(table.world.progress.phase, Phase::Over { winner: Some(winner) });
    let last = table.world.clone();
    table.run(10);
    assert_eq!(table.player(0).position, last.players[0].position);
}

#[test]
fn equal_wins_are_a_draw() {
    let mut table = Table::duel();
    table.world.rules = Rules { score_limit: 1, rounds: 1, ..Rules::default() };
    table.player(0).rounds_won = 1;
    table.player(1).score = 1;
    table.run(1);
    assert_eq!(table.world.progress.phase, Phase::Over { winner: None });
}

#[test]
fn k7_commands_change_what_is_shown_of_their_seat_alone() {
    let mut table = Table::duel();
    table.commands = vec![
        (CommandSource::Game(seat(1)), Command::Emote(0)),
        (CommandSource::Game(seat(1)), Command::Colour(5)),
        (CommandSource::Authority, Command::Colour(7)),
    ];
    table.run(1);
    let scene = table.scene();
    assert_eq!((scene.players[1].emote, scene.players[1].colour), (Some(0), 5));
    assert_eq!((scene.players[0].emote, scene.players[0].colour), (None, 0));
    table.run(120);
    assert_eq!(table.scene().players[1].emote, None);
}

#[test]
fn bots_are_played_by_the_game() {
    let mut table = Table::new(4, Rules::default(), 9);
    table.drivers.iter_mut().for_each(|driver| driver.presence = Presence::Bot);
    table.run(3_600);
    let (falls, scores) =
        table.world.players.iter().fold((0, 0), |sum, player| (sum.0 + player.falls, sum.1 + player.score));
    assert!(falls > 3, "{falls} falls");
    assert!(scores > 0 || table.world.progress.round > 1);
}

/// Whatever happens, the world stays within its bounds.
#[test]
fn a_scripted_match_keeps_every_bound_and_something_happens() {
    let mut table = Table::new(8, Rules { columns: 5, score_limit: 50, ..Rules::default() }, 12);
    let (mut most_bullets, mut taken, mut lying) = (0, 0, 0);
    for _ in 0..3_600 {
        let time = retick_core::tick::Tick::new(table.tick);
        for (driver, number) in table.drivers.iter_mut().zip(0..) {
            driver.input = scripted_input(seat(number), time, 12);
        }
        table.run(1);
        let world = &table.world;
        for player in world.players.iter().filter(|player| player.standing == Standing::Alive) {
            let pushed = world.arena.push_out(player.position, PLAYER_RADIUS);
            assert!((pushed - player.position).length() < 1e-4, "{player:?} is inside something");
        }
        most_bullets = most_bullets.max(world.bullets.flying().len());
        taken += usize::from(world.pickups.lying().len() < lying);
        lying = world.pickups.lying().len();
    }
    assert!((8..=MAX_BULLETS).contains(&most_bullets), "{most_bullets} bullets");
    assert!(taken > 3, "{taken} pickups taken");
    let falls: u16 = table.world.players.iter().map(|player| player.falls).sum();
    assert!(falls > 10, "{falls} falls");
}
