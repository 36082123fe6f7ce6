//! Rollback from every tick, to every depth that a window has: the same bytes as a run that never rolled back (S3, K4).

use std::collections::BTreeSet;

use retick_core::frame::Frame;
use retick_core::session::{Retention, SessionPolicy};
use retick_core::snapshot::Snapshot;
use retick_core::tick::Tick;
use retick_testing::fixtures::zig;

use crate::games::{Game, Player, State, games, straight};
use crate::support::{frame, seat};

/// Ticks of each match.
const TICKS: u64 = 40;
/// The prediction windows, and so the greatest depths.
const WINDOWS: [u16; 3] = [1, 8, 16];
/// Checksum cadences with checkpoint windows: everything readable, little, and as by default.
const RETENTIONS: [(u32, u32); 4] = [(1, 64), (1, 1), (7, 9), (120, 256)];

/// From which tick to which depth a rollback went: from `S(tick)` to `S(tick − depth)`.
type Covered = BTreeSet<(u64, u64)>;

/// Every policy that must not matter. A new axis of policies is one more loop here.
fn policies() -> Vec<SessionPolicy> {
    let policy = |prediction_window_ticks| {
        let policy = move |(checksum_cadence_ticks, checkpoint_window_ticks), retention| SessionPolicy {
            prediction_window_ticks,
            checksum_cadence_ticks,
            checkpoint_window_ticks,
            retention,
            ..SessionPolicy::default()
        };
        RETENTIONS.into_iter().flat_map(move |windows| {
            [Retention::Required, Retention::Window].map(|retention| policy(windows, retention))
        })
    };
    WINDOWS.into_iter().flat_map(policy).collect()
}

/// A game's match, straight through, and the rollbacks that were seen in playing it otherwise.
struct Proof {
    game: Game,
    frames: Vec<Frame>,
    straight: Vec<State>,
    covered: Covered,
}

impl Proof {
    fn new(game: Game) -> Proof {
        let frames = game.frames(TICKS);
        Proof::of(game, frames)
    }

    fn of(game: Game, frames: Vec<Frame>) -> Proof {
        let straight = straight(game.factory.as_ref(), &game.descriptor(), &frames);
        assert_eq!(straight.len() as u64, TICKS + 1);
        Proof { game, frames, straight, covered: Covered::new() }
    }

    fn check(&self, player: &mut Player<'_>, tick: u64) {
        let window = player.session.policy().prediction_window_ticks;
        assert_eq!(player.state(tick).as_ref(), self.straight.get(tick as usize), "S({tick}), window {window}");
    }

    /// Applies the rest, compares the last state, and notes what the player rolled back.
    fn finish(&self, mut player: Player<'_>) -> Covered {
        player.confirm_to(&self.frames, TICKS, TICKS);
        self.check(&mut player, TICKS);
        player.probe.assert_clean();
        assert_eq!(player.probe.counters().restores, player.rollbacks.len() as u64, "one restore each");
        player.rollbacks.iter().map(|(from, to)| (*to, to - from)).collect()
    }

    /// Plays from the confirmed `S(first)` on, always `depth` ticks ahead: each frame rolls back as deep.
    fn always_ahead(&self, mut player: Player<'_>, first: u64, depth: u64) -> Covered {
        for next in first..=TICKS - depth {
            player.predict_to(next + depth);
            player.confirm_to(&self.frames, next + 1, next + depth);
            self.check(&mut player, next + 1);
        }
        self.finish(player)
    }

    /// Asserts that there was a rollback from every tick to every depth, down to `S(first)`, and no other.
    fn assert_complete(&mut self, first: u64, window: u16) {
        assert_eq!(self.covered, every_pair(first, window), "S({first}) on, window {window}");
        // The first state was returned to, and the last was left, at one tick and at the whole window.
        let deepest = u64::from(window).min(TICKS - first);
        for depth in [1, deepest] {
            assert!(self.covered.contains(&(first + depth, depth)) && self.covered.contains(&(TICKS, depth)));
        }
        self.covered.clear();
    }
}

/// Each tick of the match with each depth that a window and the first state leave it.
fn every_pair(first: u64, window: u16) -> Covered {
    let depths = |tick: u64| 1..=u64::from(window).min(tick - first);
    (first + 1..=TICKS).flat_map(|tick| depths(tick).map(move |depth| (tick, depth))).collect()
}

#[test]
fn s3_always_ahead_each_frame_rolls_back_from_each_tick_to_each_depth() {
    for mut proof in games().map(Proof::new) {
        for policy in policies() {
            for depth in 1..=u64::from(policy.prediction_window_ticks) {
                let covered = proof.always_ahead(proof.game.player(policy), 0, depth);
                proof.covered.extend(covered);
            }
            proof.assert_complete(0, policy.prediction_window_ticks);
        }
    }
}

/// All the wrong ticks are confirmed in one turn, so that the present that was resimulated is itself a confirmed state.
#[test]
fn s3_the_resimulated_present_is_the_state_of_a_straight_run() {
    for mut proof in games().map(Proof::new) {
        for policy in policies() {
            for (tick, depth) in every_pair(0, policy.prediction_window_ticks) {
                let mut player = proof.game.player(policy);
                player.confirm_to(&proof.frames, tick - depth, tick - depth);
                player.predict_to(tick);
                player.confirm_to(&proof.frames, tick, tick);
                assert_eq!(player.rollbacks, [(tick - depth, tick)]);
                assert_eq!(player.session.head_checksum().as_ref(), Ok(&proof.straight[tick as usize].checksum));
                proof.check(&mut player, tick);
                let covered = proof.finish(player);
                proof.covered.extend(covered);
            }
            proof.assert_complete(0, policy.prediction_window_ticks);
        }
    }
}

/// As many right guesses as the window holds stand before the first wrong one: the frontier lies deeper than the rollback.
#[test]
fn s3_right_guesses_before_the_first_wrong_one_are_kept() {
    let mut covered = Covered::new();
    for wrong in 0..TICKS {
        // Seat 1 stands still, as is guessed, until the wrong tick.
        let remote = |tick: u64| if tick < wrong { 0 } else { tick as i32 + 1 };
        let frame = |tick| frame(tick, [zig(seat(0), Tick::new(tick)), remote(tick)], [false; 2]);
        let [game, _] = games();
        let proof = Proof::of(game, (0..TICKS).map(frame).collect());
        for policy in policies() {
            let window = u64::from(policy.prediction_window_ticks);
            for depth in 1..=window.min(TICKS - wrong) {
                let (frontier, tick) = (wrong.saturating_sub(window - depth), wrong + depth);
                let mut player = proof.game.player(policy);
                player.confirm_to(&proof.frames, frontier, frontier);
                player.predict_to(tick);
                player.confirm_to(&proof.frames, tick, tick);
                assert_eq!(player.rollbacks, [(wrong, tick)]);
                proof.check(&mut player, tick);
                covered.extend(proof.finish(player));
            }
        }
    }
    assert_eq!(covered, every_pair(0, WINDOWS[2]));
}

#[test]
fn s3_s8_a_hydrated_session_rolls_back_from_each_tick_to_each_depth_down_to_its_snapshot() {
    for mut proof in games().map(Proof::new) {
        for first in [0, 1, 7, TICKS - 1] {
            let snapshot = snapshot(&proof, first);
            for policy in policies() {
                for depth in 1..=u64::from(policy.prediction_window_ticks).min(TICKS - first) {
                    let covered = proof.always_ahead(hydrated(&proof, policy, &snapshot, depth), first, depth);
                    proof.covered.extend(covered);
                }
                proof.assert_complete(first, policy.prediction_window_ticks);
            }
        }
    }
}

/// A session that was somewhere else in the match, with predictions of its own, and then took this snapshot.
fn hydrated<'a>(proof: &'a Proof, policy: SessionPolicy, snapshot: &Snapshot, ahead: u64) -> Player<'a> {
    let mut player = proof.game.player(policy);
    player.confirm_to(&proof.frames, 3, 3 + ahead);
    player.session.hydrate(snapshot).expect("a snapshot of this match");
    proof.check(&mut player, snapshot.tick().index());
    player
}

/// A snapshot of the confirmed `S(tick)`, by a donor that has predicted beyond it.
fn snapshot(proof: &Proof, tick: u64) -> Snapshot {
    let mut donor = proof.game.player(SessionPolicy::default());
    donor.confirm_to(&proof.frames, tick, tick + 5);
    let snapshot = donor.session.export_snapshot(Tick::new(tick)).expect("the last confirmed state");
    Snapshot::from_bytes(&snapshot.to_bytes()).expect("its own bytes")
}
