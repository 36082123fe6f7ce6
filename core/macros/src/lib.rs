//! Derives for the input types of Retick's games (S2), and for their states (K3). Use them through `retick_core::input` and
//! `retick_core::chunked`, whose documentation has examples that run; what the former expand to names that crate.
//!
//! A mistake is a compile error at the token that is wrong: what the tokens show is refused here, and what only types and
//! constants show (an empty range, more flags than a type holds, an input that is too large) by constants in the expansion.

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

mod attributes;
mod checkpoint_clone;
mod game_input;
mod input_choice;

/// Implements `GameInput` for a struct: one field of the schema for each field, in their order (S2).
///
/// On the struct:
///
/// - `#[input(id = "my-game-input/v1")]`: the schema's id; required.
/// - `#[input(crate = some::path)]`: where `retick_core` is, if not at `::retick_core`.
///
/// On a field, any of:
///
/// - nothing: a boolean, an integer (`i8` to `i64`, `u8` to `u32`) over its whole range, an enum with `#[derive(InputChoice)]`,
///   or another type that implements `InputValue`.
/// - `#[input(range = -100..=100)]`: an integer in a range. The bounds are constants of the field's type.
/// - `#[input(axis(range = -512..=511, fraction_bits = 8))]`: an integer that counts in units of 2^-8.
/// - `#[input(flags = 9)]`: the lowest 9 bits of a `u8` to `u64`, or of a type that implements `InputFlags`.
/// - `#[input(policy = "once")]`: what a prediction or a substitute does with it: `"repeat"` (the default), `"neutral"` or
///   `"once"`.
/// - `#[input(name = "move-x")]`: its name in the schema, if not the field's own.
///
/// Packing clamps nothing: the packer refuses a value out of range. Unpacking is total. The type must be `Clone`.
#[proc_macro_derive(GameInput, attributes(input))]
pub fn derive_game_input(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    game_input::expand(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Implements `InputChoice` for an enum without fields (S2). A choice packs as its position in the declaration, whatever its
/// discriminant; the first one is neutral.
///
/// `#[input(crate = some::path)]` on the enum says where `retick_core` is, if not at `::retick_core`.
#[proc_macro_derive(InputChoice, attributes(input))]
pub fn derive_input_choice(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    input_choice::expand(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Implements `Clone` for a game's state, with both `clone` and `clone_from` going field by field (K3).
///
/// A native runtime keeps the states of released checkpoints and overwrites them by `clone_from`. The standard library's
/// derive leaves that method at its default, `*self = source.clone()`, which frees what the old state had allocated and
/// allocates it anew, in every tick. Field by field, a `Vec` keeps its buffer, and a `Chunked` the chunks that it replaced.
///
/// For structs and enums of any kind. Type parameters must be `Clone`. Of an enum, `clone_from` goes field by field while the
/// variant stays the same, and is the default otherwise. Derive it on the types of the fields too: each is overwritten by
/// its own `clone_from`.
#[proc_macro_derive(CheckpointClone)]
pub fn derive_checkpoint_clone(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    checkpoint_clone::expand(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}
