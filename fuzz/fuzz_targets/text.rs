#![no_main]

use libfuzzer_sys::fuzz_target;
use retick_fuzz::check;
use retick_testing::fuzzing::Target;

fuzz_target!(|input: &[u8]| check(Target::Text, input));
