//! D01 (c): the bits of a NaN are the canonical ones, read back through the module's memory.

use crate::support::Match;

#[test]
fn d01_every_nan_that_a_step_computes_has_the_canonical_bits() {
    let mut game = Match::new(include_str!("../wat/nan.wat"));
    game.step(0);
    assert_eq!(game.double_word(0), 0x7FF8_0000_0000_0000);
    game.step(1);
    assert_eq!(game.double_word(0), 0x7FF8_0000_0000_0000);
    game.step(2);
    assert_eq!(game.word(8), 0x7FC0_0000);
    game.step(3);
    assert_eq!(game.double_word(16), 0x7FF8_0000_0000_0000);
    game.step(4);
    assert_eq!((game.double_word(32), game.double_word(40)), (0x7FF8_0000_0000_0000, 0x7FF8_0000_0000_0000));
}
