//! A match whose log has lost its end.

use retick_authority::room::{ConnectionId, Durability};
use retick_core::tick::Tick;

use crate::driver::{Match, config};

/// Plays up to this tick, each tick with another value.
pub fn play(game: &mut Match, clients: &[ConnectionId], until: u64) {
    while game.room.frontier() < Tick::new(until) {
        let next = game.room.frontier().index();
        clients.iter().for_each(|client| game.input(*client, next, i32::try_from(next).expect("small")));
        game.step();
    }
}

/// A match of two that was played for 60 ticks, of which its log has lost those from 48 on.
pub fn torn() -> (Match, Vec<ConnectionId>) {
    let (mut game, clients) = Match::started(config(2, 6));
    play(&mut game, &clients, 60);
    game.restart(game.records_before(48), Durability::Interval);
    assert!(game.room.is_recovering());
    (game, clients)
}
