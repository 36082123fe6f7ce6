//! The projection: what is encoded comes back, and can be drawn.

use std::string::ToString;
use std::vec;

use super::table::{Table, seat};
use crate::bot::scripted_input;
use crate::config::Rules;
use crate::input::SkirmishInput;
use crate::numbers::Vec2;
use crate::pickups::PickupKind;
use crate::player::Standing;
use crate::projection;
use crate::rounds::Phase;
use crate::scene::{Scene, SceneError};
use retick_core::seat::Presence;
use retick_core::tick::Tick;

fn played() -> Table {
    let mut table = Table::new(5, Rules::default(), 2);
    table.drivers[4].presence = Presence::Empty;
    for _ in 0..500 {
        let time = Tick::new(table.tick);
        for (driver, number) in table.drivers.iter_mut().zip(0..) {
            driver.input = scripted_input(seat(number), time, 2);
        }
        table.run(1);
    }
    table
}

#[test]
fn k9_a_scene_shows_the_state() {
    let table = played();
    let (scene, world) = (table.scene(), &table.world);
    assert_eq!((scene.columns, scene.rows, scene.phase, scene.round), (6, 4, Phase::Playing, 1));
    assert_eq!(scene.blocks, world.arena.blocks(), "quarters of a unit survive the fixed point");
    assert_eq!(scene.players.len(), 5);
    assert_eq!(scene.players[4].standing, Standing::Absent);
    for (shown, player) in scene.players.iter().zip(&world.players) {
        assert!((shown.position - player.position).length() < 0.02);
        assert_eq!((shown.standing, shown.aim, shown.health), (player.standing, player.aim, player.health));
        assert_eq!((shown.score, shown.falls, shown.shielded), (player.score, player.falls, player.timers.shield > 0));
    }
    let bullets = world.bullets.flying();
    assert!(!bullets.is_empty());
    assert!(
        scene
            .bullets
            .iter()
            .map(|bullet| (bullet.id, bullet.owner))
            .eq(bullets.iter().map(|bullet| (bullet.id, bullet.owner)))
    );
    let pickups = world.pickups.lying();
    assert!(scene.pickups.iter().map(|pickup| pickup.kind).eq(pickups.iter().map(|pickup| pickup.kind)));
}

#[test]
fn a_scene_decodes_from_exactly_its_bytes() {
    let mut bytes = vec![];
    projection::encode(&played().world, &mut bytes);
    for length in 0..bytes.len() {
        assert_eq!(Scene::decode(&bytes[..length]), Err(SceneError::Truncated), "{length}");
    }
    bytes.push(0);
    assert_eq!(Scene::decode(&bytes), Err(SceneError::TrailingBytes));
    bytes[3] = 9;
    assert_eq!(Scene::decode(&bytes), Err(SceneError::Value { offset: 7 }));
    bytes[0] = 2;
    assert_eq!(Scene::decode(&bytes), Err(SceneError::Version { found: 2 }));
    assert_eq!(SceneError::Version { found: 2 }.to_string(), "projection version 2, not 1");
}

#[test]
fn a_scene_can_be_drawn_in_a_terminal() {
    let mut table = Table::duel();
    table.drivers[0].input = SkirmishInput { aim: 0, fire: true, ..SkirmishInput::default() };
    table.drivers[1].input.aim = 768;
    table.run(6);
    table.world.lay(PickupKind::Shield, Vec2::new(4.5, 4.5));
    let mut scene = table.scene();
    scene.blocks.push(crate::Block { low: Vec2::new(40.0, 24.0), high: Vec2::new(44.0, 28.0) });
    let expected = "\
##########################
#                        #
#  s                     #
#                        #
#             |          #
#           0*1          #
#                        #
#                    %%  #
#                        #
##########################
round 1  0:0/100hp  1:0/10
";
    assert_eq!(scene.render_text(26, 11), expected);
    // Too small to show anything, and still no panic.
    assert_eq!(scene.render_text(0, 0).lines().count(), 4);
}
