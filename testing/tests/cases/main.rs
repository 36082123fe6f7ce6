//! The cases that Retick must pass, by their ids: each asserts its whole right outcome and its guard.

mod a01;
mod a03;
mod clients;
mod d01;
mod d02;
mod d03;
mod d05;
mod d06;
mod k01;
mod k02;
mod k03;
mod k04;
mod k06;
mod k07;
mod k07_observers;
mod k09;
mod k10;
mod r04;
mod support;
