//! The cases that Retick must pass, by their ids: each asserts its whole right outcome and its guard.

mod a01;
mod a03;
mod a06;
mod a13;
mod catch_up;
mod clients;
mod d01;
mod d02;
mod d03;
mod d05;
mod d06;
mod delay;
mod k01;
mod k02;
mod k03;
mod k04;
mod k06;
mod k07;
mod k07_observers;
mod k09;
mod k10;
mod late_join;
mod lives;
mod naming;
mod p01;
mod p02;
mod p04;
mod pace;
mod r02;
mod r04;
mod r06;
mod rec;
mod recovery;
#[path = "../../../core/tests/kernel/replay_blocks.rs"]
mod replay_blocks;
mod runners;
mod support;
mod t01;
mod t03;
mod table;
#[cfg(feature = "wasm")]
mod w01;
