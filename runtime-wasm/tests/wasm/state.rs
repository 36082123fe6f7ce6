//! W3, K4, K5 and K9: what the state is made of, and that it comes back whole.

use retick_core::digest::Checksum;
use retick_core::runtime::{HydrateError, Keep, Runtime};
use retick_core::tick::Tick;

use crate::support::{Match, load};

const ARENA: &str = include_str!("../wat/arena.wat");
/// The trailer of the fixture: tick, pages, and an i64, an i32, an f32, an f64 and a v128.
const TRAILER: usize = 12 + 8 + 4 + 4 + 8 + 16;
/// The memory counts whole, whatever the game knows of it.
const FULL: usize = 256 * 65_536;

#[test]
fn w3_globals_that_are_not_exported_roll_back() {
    let mut game = Match::new(ARENA);
    game.step(2);
    let checkpoint = game.checkpoint();
    let mut continued = vec![];
    for _ in 0..3 {
        // The same steps from the same state write the same globals into memory.
        game.run(&[3, 4, 1005, 5], Keep::NOTHING).expect("good steps");
        continued.push((game.double_word(8), game.checksum()));
        game.runtime.restore(checkpoint).expect("there");
    }
    assert_eq!(continued[0].0, 5 + 2 + 3 + 4 + 1005 + 5);
    assert!(continued.iter().all(|end| *end == continued[0]), "{continued:?}");
}

#[test]
fn k4_a_checkpoint_gives_the_same_bytes_each_time_and_the_live_state_goes_on() {
    let mut game = Match::new(ARENA);
    game.step(2);
    let checkpoint = game.checkpoint();
    let checksum = game.checksum();
    let bytes = game.export(checkpoint);
    assert_eq!(bytes.len(), FULL + TRAILER);
    assert_eq!(Checksum::of(&bytes), checksum);
    for inputs in [&[9][..], &[1005, 8], &[7, 7, 7]] {
        game.run(inputs, Keep::CHECKPOINT).expect("good steps");
        let live = game.checksum();
        assert_eq!(game.export(checkpoint), bytes);
        assert_eq!(game.checksum(), live);
        game.runtime.restore(checkpoint).expect("there");
        let again = game.checkpoint();
        assert_eq!(game.export(again), bytes);
        assert_eq!(game.checksum(), checksum);
    }
}

#[test]
fn k5_the_checksum_is_the_same_whether_a_checkpoint_was_kept_or_not_and_covers_the_tick() {
    let mut game = Match::new(ARENA);
    let mut other = Match::new(ARENA);
    game.run(&[0, 0], Keep::CHECKSUM).expect("good steps");
    other.run(&[0, 0], Keep::CHECKSUM | Keep::CHECKPOINT | Keep::PROJECTION).expect("good steps");
    let sums = |game: &Match| game.output.kept.iter().map(|kept| kept.checksum).collect::<Vec<_>>();
    assert_eq!(sums(&game), sums(&other));
    assert_ne!(sums(&game)[0], sums(&game)[1]);
}

#[test]
fn k4_a_state_hydrates_into_another_runtime_and_goes_on_equally() {
    let factory = load(ARENA).expect("loads");
    for inputs in [&[3, 4][..], &[3, 1005, 4]] {
        let mut donor = Match::of(&factory);
        donor.run(inputs, Keep::NOTHING).expect("good steps");
        let tick = donor.runtime.tick();
        let checkpoint = donor.checkpoint();
        let bytes = donor.export(checkpoint);
        for joiner_history in [&[][..], &[1005, 1005]] {
            let mut joiner = Match::of(&factory);
            joiner.run(joiner_history, Keep::NOTHING).expect("good steps");
            let stale = joiner.checkpoint();
            joiner.runtime.hydrate(tick, &bytes).expect("a state of this game");
            assert_eq!(joiner.runtime.tick(), tick);
            joiner.runtime.restore(stale).expect_err("hydrating releases all checkpoints");
            assert_eq!(joiner.checksum(), Checksum::of(&bytes));
            joiner.run(&[6, 7], Keep::NOTHING).expect("good steps");
            donor.runtime.restore(checkpoint).expect("there");
            donor.run(&[6, 7], Keep::NOTHING).expect("good steps");
            assert_eq!(joiner.checksum(), donor.checksum());
        }
    }
}

#[test]
fn k4_bytes_that_are_no_state_of_this_game_change_nothing() {
    let mut game = Match::new(ARENA);
    game.step(1);
    let checkpoint = game.checkpoint();
    let bytes = game.export(checkpoint);
    game.step(1);
    let before = game.checksum();
    let memory = bytes.len() - TRAILER;
    let patched = |offset: usize, value: u8| {
        let mut bytes = bytes.clone();
        bytes[memory + offset] = value;
        bytes
    };
    let page_short = [&bytes[65_536..memory], &patched(8, 1)[memory..]].concat();
    let limit = (FULL + TRAILER) as u64;
    let cases = [
        (vec![], HydrateError::Malformed),
        (bytes[1..].to_vec(), HydrateError::Malformed),
        (bytes[..TRAILER - 1].to_vec(), HydrateError::Malformed),
        (bytes[65_536..].to_vec(), HydrateError::Malformed),
        // Fewer pages than it begins with, and more than there are.
        (patched(8, 1), HydrateError::Malformed),
        (patched(9, 2), HydrateError::Malformed),
        (page_short, HydrateError::Malformed),
        (patched(0, 2), HydrateError::Tick { expected: Tick::new(1), found: Tick::new(2) }),
        (vec![0; FULL + TRAILER + 1], HydrateError::TooLong { bytes: limit + 1, limit }),
    ];
    for (bytes, expected) in cases {
        assert_eq!(game.runtime.hydrate(Tick::new(1), &bytes), Err(expected));
        assert_eq!((game.runtime.tick(), game.checksum()), (Tick::new(2), before));
    }
    game.runtime.restore(checkpoint).expect("refused bytes release nothing");
    game.runtime.hydrate(Tick::new(1), &bytes).expect("the good bytes");
}

#[test]
fn k9_what_a_projection_writes_is_undone() {
    let mut game = Match::new(ARENA);
    game.step(21);
    let before = game.checksum();
    let expected = [&42u32.to_le_bytes()[..], &26u64.to_le_bytes()].concat();
    for _ in 0..3 {
        assert_eq!(game.projection(), expected);
        assert_eq!((game.word(64), game.pages()), (0, 2));
        assert_eq!(game.checksum(), before);
    }
    let held = game.checkpoint();
    assert_eq!(game.projection(), expected);
    assert_eq!(game.checksum(), before);
    game.runtime.restore(held).expect("a projection releases nothing");
}

/// Presentation has no say in a match: a trap in it must not hold a tick, let alone end the session.
#[test]
fn k9_a_projection_that_faults_is_missing_and_changes_nothing() {
    let mut game = Match::new(ARENA);
    game.step(2000);
    let before = game.checksum();
    game.output.clear();
    let keep = Keep::CHECKPOINT | Keep::CHECKSUM | Keep::PROJECTION;
    game.runtime.keep(keep, &mut game.output).expect("only the projection faults");
    let kept = &game.output.kept[0];
    assert_eq!((kept.checksum, kept.projection.clone()), (Some(before), None));
    assert_eq!((game.output.failed_projections, game.output.projections.len()), (1, 0));
    let held = kept.checkpoint.expect("asked for");
    assert_eq!(game.checksum(), before);
    // In a batch, the step before it stands.
    let mut other = Match::new(ARENA);
    other.run(&[2000], keep).expect("only the projection faults");
    assert_eq!((other.runtime.tick(), other.checksum()), (Tick::new(1), before));
    game.runtime.restore(held).expect("there");
    assert_eq!(game.checksum(), before);
}

#[test]
fn k4_a_released_checkpoint_of_the_current_state_is_nothing_to_go_back_to() {
    let mut game = Match::new(ARENA);
    game.step(2);
    let before = game.checksum();
    let checkpoint = game.checkpoint();
    game.runtime.release(checkpoint).expect("there");
    game.run(&[3, 1000], Keep::NOTHING).expect_err("the second step faults");
    assert_eq!((game.runtime.tick(), game.checksum()), (Tick::new(1), before));
    assert_eq!(game.projection(), game.projection());
    assert_eq!(game.checksum(), before);
}
