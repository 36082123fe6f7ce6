//! W02: memory grows up to the limit on every machine, and goes back.

use retick_core::runtime::{Keep, Runtime};

use crate::support::Match;

const GROW: &str = include_str!("../wat/grow.wat");
const FULL: usize = 256 * 65_536;

#[test]
fn w02_memory_grows_to_the_limit_and_no_further() {
    let mut game = Match::new(GROW);
    game.step(255);
    assert_eq!((game.word(0), game.word(4)), (1, 256));
    assert_eq!((game.pages(), game.runtime.memory().len()), (256, FULL));
    assert_eq!(game.runtime.memory()[FULL - 1], 1);
    for beyond in [1, 65_535] {
        game.step(beyond);
        assert_eq!((game.word(0), game.word(4)), (u32::MAX, 256), "{beyond}");
    }
}

#[test]
fn w02_a_module_keeps_its_own_smaller_maximum() {
    let mut game = Match::new(&GROW.replace("\"memory\") 1)", "\"memory\") 1 3)"));
    game.step(3);
    assert_eq!((game.word(0), game.word(4)), (u32::MAX, 1));
    game.step(2);
    assert_eq!((game.word(0), game.word(4)), (1, 3));
}

#[test]
fn w3_going_back_shrinks_the_memory_and_growing_again_finds_zeros() {
    let mut game = Match::new(GROW);
    let small = game.checkpoint();
    let before = game.checksum();
    game.run(&[3], Keep::CHECKPOINT).expect("a good step");
    let grown = game.checksum();
    game.runtime.restore(small).expect("there");
    assert_eq!(game.pages(), 1);
    assert_eq!(game.checksum(), before);
    game.step(2);
    assert_eq!(game.pages(), 3);
    // Pages above the small size were written before; here only the last byte is.
    assert!(game.runtime.memory()[65_537..3 * 65_536 - 1].iter().all(|byte| *byte == 0));
    game.runtime.restore(small).expect("there");
    game.step(3);
    assert_eq!(game.checksum(), grown);
}
