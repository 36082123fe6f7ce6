//! The cases that Retick must pass, by their ids: each asserts its whole right outcome and its guard.

mod a01;
mod a03;
mod clients;
mod k02;
mod k03;
mod k06;
mod support;
