//! Resume tokens (A6): rotated at each resume, the older one valid until the new one was received, bound to seat and claim.

use retick_authority::room::ConnectionId;
use retick_core::wire::{ClientMessage, Refusal, ResumeToken};

use crate::driver::{Match, config, seat};

fn started() -> (Match, Vec<ConnectionId>) {
    let (mut game, clients) = Match::started(config(2, 6));
    game.play(&clients, 5);
    (game, clients)
}

/// Tries a token on seat 1: whether it was taken, and the token that came back.
fn attempt(game: &mut Match, token: ResumeToken) -> Result<(ConnectionId, ResumeToken), Refusal> {
    let client = game.resume(seat(1), token, 5);
    match game.peer(client).refusal() {
        Some(refusal) => Err(refusal),
        None => Ok((client, game.peer(client).token())),
    }
}

#[test]
fn a6_a_token_is_rotated_and_the_older_one_ends_with_the_first_message() {
    let (mut game, clients) = started();
    let first = game.peer(clients[1]).token();
    let (back, second) = attempt(&mut game, first).expect("its own");
    assert_ne!(second, first);
    // The answer may have been lost: the older token is still good, and brings the same new one.
    let (again, same) = attempt(&mut game, first).expect("not proven yet");
    assert_eq!(same, second);
    assert!(game.peer(back).closed.is_some());
    // Any message proves that the answer arrived.
    game.send(again, &ClientMessage::Ping { sent_micros: 1, rollbacks: 0 });
    assert_eq!(attempt(&mut game, first), Err(Refusal::Token));
    let (_, third) = attempt(&mut game, second).expect("the newest");
    assert!(third != second && third != first);
}

#[test]
fn a6_to_show_the_new_token_proves_that_it_was_received() {
    let (mut game, clients) = started();
    let first = game.peer(clients[1]).token();
    let (_, second) = attempt(&mut game, first).expect("its own");
    let (_, third) = attempt(&mut game, second).expect("the newest");
    assert_eq!(attempt(&mut game, first), Err(Refusal::Token));
    assert_eq!(attempt(&mut game, second).map(|it| it.1), Ok(third));
}

#[test]
fn a6_a_token_is_of_one_seat_and_one_claim() {
    let (mut game, clients) = started();
    let (mine, other) = (game.peer(clients[1]).token(), game.peer(clients[0]).token());
    assert_eq!(attempt(&mut game, other), Err(Refusal::Token));
    let mut forged = mine;
    forged.0[0] ^= 1;
    assert_eq!(attempt(&mut game, forged), Err(Refusal::Token));
    game.send(clients[1], &ClientMessage::Leave);
    // The claim has ended: whoever has its token is told so, and nobody else learns that there was one.
    assert_eq!(attempt(&mut game, mine), Err(Refusal::GraceOver));
    assert_eq!(attempt(&mut game, forged), Err(Refusal::Token));
}
