//! The recovery window's corners (A12): whose frames stand, what goes with those that give way, and who is sent what came back.

use retick_authority::room::{ConnectionId, Durability, RoomConfig};
use retick_core::frame::{Frame, FrameChain, FrameRunWriter};
use retick_core::tick::Tick;
use retick_core::wire::{ClientMessage, Frames, ReleaseTag};

use crate::donors::encoded;
use crate::driver::{GENERATION, Match, Notice, SECRET, Transfer, bytes_of, durable, seat};
use crate::torn::{play, torn};

/// What the room itself would give a release as its tag, which ends before `next` with this head of the chain.
fn tag(next: u64, head: retick_core::digest::Digest) -> ReleaseTag {
    let key = blake3::derive_key("retick 2026 release tag key v1", &SECRET.0);
    let mut hasher = blake3::Hasher::new_keyed(&key);
    hasher.update(&GENERATION.0.to_le_bytes()).update(&next.to_le_bytes()).update(head.as_bytes());
    let mut tag = ReleaseTag::default();
    hasher.finalize_xof().fill(&mut tag.0);
    tag
}

/// The frames of a client, with another fence, chained and tagged as if the room had confirmed them like this.
fn give_back_with_fence(game: &mut Match, client: ConnectionId, holder: ConnectionId, fence: u32) {
    let first = game.room.frontier().index();
    let mut chain = FrameChain::from_head(game.room.chain_head());
    let held: Vec<Frame> = game.peer(holder).frames[usize::try_from(first).expect("small")..].to_vec();
    let (mut run, mut before): (_, Option<Frame>) = (FrameRunWriter::default(), None);
    for mut frame in held {
        frame.set_fence(fence);
        chain.extend(&frame);
        run.push(&frame, before.as_ref());
        before = Some(frame);
    }
    let tag = tag(first + u64::from(run.count()), chain.head());
    let (first, count, body) = (Tick::new(first), run.count(), run.body());
    let frames = Frames { generation: GENERATION, first, count, complete: true, tag, body };
    game.send_bytes(client, &bytes_of(&ClientMessage::Tail(frames)));
}

/// Of this run and of later ones nobody can have frames yet, whatever their tag says.
#[test]
fn a12_a_tail_of_the_present_run_or_a_later_one_is_refused() {
    for (fence, is_past) in [(0, true), (1, false), (2, false), (u32::MAX, false)] {
        let (mut game, clients) = torn();
        assert_eq!(game.room.fence(), 1);
        let back = game.return_from(clients[0]);
        give_back_with_fence(&mut game, back, clients[0], fence);
        assert_eq!(game.room.stats().unproved_tails, u64::from(!is_past), "fence {fence}");
        let _other = game.return_from(clients[1]);
        while game.room.is_recovering() {
            game.step();
        }
        assert_eq!(game.room.frontier() >= Tick::new(60), is_past, "fence {fence}");
    }
}

/// Somebody brings the frames of an older run, and inputs for the ticks behind them; then a later run's history takes their place.
#[test]
fn a12_inputs_behind_a_history_that_gave_way_go_with_it() {
    let (mut game, clients) = torn();
    // The next run goes on without seat 0, up to another tick 56.
    let later = game.return_from(clients[1]);
    game.peer_mut(later).frames.clear();
    game.peer_mut(later).first = 48;
    game.disconnect(later);
    let token = game.peer(later).token();
    let later = game.resume_with(seat(1), token, (GENERATION, 48, Some(0)));
    while game.room.is_recovering() {
        game.step();
    }
    play(&mut game, &[later], 56);
    assert_eq!((game.room.frontier().index(), game.frame(50).fence()), (56, 1));
    // Its frames are lost too, and the run after it waits again.
    let kept = game.records_before(48);
    game.restart(kept, Durability::Interval);
    assert!(game.room.is_recovering() && game.room.frontier() == Tick::new(48) && game.room.fence() == 2);
    let older = game.return_from(clients[0]);
    game.give_back(older, clients[0], 48, 60);
    game.inputs(older, 60, &[7; 6]);
    let back = game.return_from(later);
    game.give_back(back, later, 48, 56);
    while game.room.is_recovering() {
        game.step();
    }
    assert_eq!(game.room.frontier(), Tick::new(56));
    assert!(game.peer(older).closed.is_some(), "its history is another");
    play(&mut game, &[back], 70);
    let taken: Vec<_> = (60..66).filter(|tick| game.value(*tick, 0) == (Some(7), false)).collect();
    assert_eq!(taken, [0u64; 0], "nobody delivered these in this history");
}

/// Whoever had caught up with the log before frames came back gets these too, and nothing twice or out of order.
#[test]
fn a12_who_has_caught_up_with_the_log_is_sent_what_comes_back_afterwards() {
    let (mut game, clients) = torn();
    let token = game.peer(clients[1]).token();
    let behind = game.resume(seat(1), token, 40);
    game.step_to(game.tick + 4);
    assert_eq!((game.peer(behind).next(), game.room.is_recovering()), (48, true), "it has all that the log has");
    let holder = game.return_from(clients[0]);
    game.give_back(holder, clients[0], 48, 60);
    while game.room.is_recovering() {
        game.step();
    }
    play(&mut game, &[holder, behind], 80);
    game.step_to(game.tick + 3);
    assert_eq!((game.peer(behind).first, game.peer(behind).next()), (40, game.room.frontier().index()));
    game.check_everyone();
}

/// A snapshot makes history unneeded, but not for somebody who is being sent it.
#[test]
fn a7_no_history_is_forgotten_under_somebody_who_is_being_sent_it() {
    let (mut game, clients) = Match::started(RoomConfig { grace_millis: 60_000, ..durable(2) });
    play(&mut game, &clients[..1], 30);
    play(&mut game, &clients, 40);
    game.disconnect(clients[1]);
    play(&mut game, &clients[..1], 2_600);
    let token = game.peer(clients[1]).token();
    let back = game.resume(seat(1), token, 40);
    game.step();
    let first_piece = game.peer(back).next();
    assert!((41..2_000).contains(&first_piece), "guard: it is on its way: {first_piece}");
    let snapshot = encoded(&game, 2_500, b"state");
    game.room.restore_snapshot(snapshot).expect("a state of this history");
    game.step_to(game.tick + 40);
    let peer = game.peer(back);
    assert_eq!((peer.first, peer.next()), (40, game.room.frontier().index()), "every frame, in order");
    let offered = |notice: &Notice| matches!(notice, Notice::Transfer(Transfer::Snapshot { .. }));
    assert!(!peer.notices.iter().any(offered), "it needs no snapshot");
    assert!(game.room.history_start() > Tick::new(2_000), "guard: then it is forgotten");
    game.check_everyone();
}
