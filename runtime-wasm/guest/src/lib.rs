//! SDK for Retick games written in Rust and compiled to WebAssembly (W1).
//!
//! A game implements [`Simulation`](retick_core::runtime::Simulation) once. Natively it runs through `NativeFactory`; this
//! crate makes a module of the same implementation, with the exports that [`retick_core::runtime::abi`] lists.
//!
//! | | |
//! |---|---|
//! | [`export_game!`] | the module's exports for a game |
//! | [`no_std_runtime!`] | allocator and panic handler, for modules without the standard library |
//! | [`prelude`] | what a game imports |
//! | `GameInput`, `InputSchema` | the game's own input type, typed by its schema: `context.input(seat)` can't be out of range |
//! | `InitContext::rng`, `RngStream` | random streams by name, from the match's seed; kept in the state, so that a rollback takes draws back |
//! | `StepContext::emit` | a presentation event, which leaves the module at once; never part of the state |
//! | [`log!`] | a line for whoever debugs the game; never part of the state |
//! | [`math`] | sines, roots, powers and fixed-point numbers with the same bits everywhere |
//! | [`Guest`] | what the exports do, over byte slices: a module's logic on any machine, for tests |
//!
//! # A whole game
//!
//! The `lib.rs` of a crate of the kind `cdylib`, built with `cargo build --release --target wasm32-unknown-unknown`. Without the
//! standard library it begins with `#![no_std]` and ends with `retick_guest::no_std_runtime!();`.
//!
//! ```
//! use retick_guest::log;
//! use retick_guest::prelude::*;
//!
//! /// Whoever presses most often is ahead; now and then a press counts twice.
//! struct Race {
//!     presses: Vec<u32>,
//!     luck: RngStream,
//! }
//!
//! /// Presentation events of this module of the game.
//! const TRACK: u16 = 1;
//! const DOUBLED: u16 = 1;
//!
//! #[derive(Clone)]
//! struct Press(bool);
//!
//! impl GameInput for Press {
//!     fn schema() -> InputSchema {
//!         InputSchema::builder("race-input/v1").boolean("press").build().expect("one field")
//!     }
//!     fn pack(&self, packer: &mut Packer<'_>) {
//!         packer.boolean(self.0);
//!     }
//!     fn unpack(unpacker: &mut Unpacker<'_>) -> Self {
//!         Press(unpacker.boolean())
//!     }
//! }
//!
//! impl Simulation for Race {
//!     type Input = Press;
//!     type Command = NoCommand;
//!
//!     fn describe() -> GameDescription {
//!         GameDescription {
//!             tick_rate: TickRate::Hz20,
//!             state_schema: "race/state/v1",
//!             config_schema: ConfigSchema::empty(),
//!             seats: 1..=8,
//!             capabilities: Capabilities { commands: false, projection: true },
//!         }
//!     }
//!     fn init(context: &InitContext<'_>) -> Result<Self, u32> {
//!         log!("a race of {}", context.seats.count());
//!         Ok(Race { presses: vec![0; context.seats.count()], luck: context.rng("luck") })
//!     }
//!     fn step(&mut self, context: &StepContext<'_, Self>) {
//!         for (seat, presses) in context.seats().zip(&mut self.presses) {
//!             if context.input(seat).0 {
//!                 let doubled = self.luck.range(1..=6) == 6;
//!                 *presses = presses.wrapping_add(if doubled { 2 } else { 1 });
//!                 if doubled {
//!                     let source = u32::from(seat.number());
//!                     context.emit(EventId { module: TRACK, source, event: DOUBLED }, &presses.to_le_bytes());
//!                 }
//!             }
//!         }
//!     }
//!     fn project(&self, out: &mut Vec<u8>) {
//!         self.presses.iter().for_each(|presses| out.extend_from_slice(&presses.to_le_bytes()));
//!     }
//! }
//!
//! retick_guest::export_game!(Race);
//!
//! // On any other target the macro exports nothing; what the exports do can be tested there all the same.
//! use retick_core::runtime::abi::{self, InitBlock};
//!
//! let mut guest = retick_guest::Guest::<Race>::new();
//! let description = abi::decode_description(guest.describe())?;
//! let mut block = Vec::new();
//! let seats = SeatCount::new(2).expect("two seats");
//! abi::encode_init(&InitBlock { seats, tick_rate: description.tick_rate, seed: [7; 32], config: &[] }, &mut block);
//! guest.init(&block)?;
//! assert_eq!(guest.project()?, [0; 8]);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! Other languages: the interface is written down in `docs/guest-abi.md`, with `c/retick.h` and `assemblyscript/retick.ts` beside
//! this crate; `examples/guests` is one game in all three.
//!
//! # Rules for a guest
//!
//! - Everything in the module's memory is state, the allocator's bookkeeping included: it is saved, restored and hashed. So a
//!   step that allocates nothing is a step that is cheap to save.
//! - A panic logs its message and traps; on a confirmed frame that ends the match on every machine alike.
//! - What the platform's libm computes differs from machine to machine: functions of floats come from [`math`].
//! - Only the ABI's exports enter the module, one at a time and on one thread. Threads are refused, here and at admission.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

#[cfg(target_arch = "wasm32")]
mod bridge;
mod buffer;
mod events;
mod guest;
mod log;

pub mod math;
pub mod prelude;

#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
pub use bridge::Bridge;
pub use buffer::Buffer;
/// The allocator for modules without the standard library.
#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
pub use dlmalloc::GlobalDlmalloc as Allocator;
pub use events::HostEvents;
pub use guest::{Guest, GuestError};
#[cfg(target_arch = "wasm32")]
pub use log::report_panic;
pub use log::{log, log_line};
pub use retick_core;

/// Exports a [`Simulation`](retick_core::runtime::Simulation) as this module's game (W1). At most once in a module.
///
/// On targets other than wasm32 it exports nothing, and only checks the type.
#[macro_export]
macro_rules! export_game {
    ($game:ty) => {
        const _: () = {
            // Names the type on every target, so that a mistake shows wherever the game is compiled.
            const _: fn() -> $crate::Guest<$game> = $crate::Guest::<$game>::new;
            $crate::__exports!($game);
        };
    };
}

#[cfg(not(target_arch = "wasm32"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __exports {
    ($game:ty) => {};
}

#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
#[macro_export]
macro_rules! __exports {
    ($game:ty) => {
        static BRIDGE: $crate::Bridge<$game> = $crate::Bridge::new();

        $crate::__export!(retick_abi() -> i32, |_bridge| $crate::Bridge::<$game>::ABI);
        $crate::__export!(retick_buffer(len: u32) -> u32, |bridge| bridge.buffer(len));
        $crate::__export!(retick_describe() -> i64, |bridge| bridge.describe());
        $crate::__export!(retick_init(ptr: u32, len: u32) -> i32, |bridge| bridge.init(ptr, len));
        $crate::__export!(retick_step(ptr: u32, len: u32) -> u32, |bridge| bridge.step(ptr, len));
        $crate::__export!(retick_project() -> i64, |bridge| bridge.project());
    };
}

#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
#[macro_export]
macro_rules! __export {
    ($name:ident($($argument:ident: $kind:ty),*) -> $result:ty, |$bridge:ident| $body:expr) => {
        // SAFETY: only this macro defines a symbol of this name, and `export_game!` stands once in a module; twice is an
        // error of the linker, not another function.
        #[allow(unsafe_code)]
        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $kind),*) -> $result {
            let $bridge = &BRIDGE;
            $body
        }
    };
}

/// Gives a module without the standard library its allocator and its panic handler, which logs and traps. Nothing on targets
/// other than wasm32.
#[macro_export]
macro_rules! no_std_runtime {
    () => {
        $crate::__no_std_runtime!();
    };
}

#[cfg(not(target_arch = "wasm32"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __no_std_runtime {
    () => {};
}

#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
#[macro_export]
macro_rules! __no_std_runtime {
    () => {
        const _: () = {
            #[global_allocator]
            static ALLOCATOR: $crate::Allocator = $crate::Allocator;

            #[panic_handler]
            fn panic(info: &::core::panic::PanicInfo<'_>) -> ! {
                $crate::report_panic(info)
            }
        };
    };
}
