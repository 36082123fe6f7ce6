//! What every fuzz target does: one check, with what it reserved counted.

use allocation_counter::measure;
use retick_testing::fuzzing::Target;

/// Checks one input.
///
/// # Panics
/// When a property does not hold, or the check took more memory than its input allows.
pub fn check(target: Target, input: &[u8]) {
    let used = measure(|| _ = target.check(input));
    let most = target.most_bytes(input.len());
    assert!(used.bytes_max <= most, "{} bytes were held for {}, where {most} may be", used.bytes_max, input.len());
}
