//! The service and the networked client over real loopback sockets (V1, N1, A6, A11). Each test has a service of its own on a
//! free port, and waits for conditions with a deadline, never for a time.
#![cfg(feature = "service")]

mod blocking;
mod browser;
mod draining;
mod game;
mod half_open;
mod http;
mod kept_rooms;
mod limits;
mod lobby;
mod matches;
mod operators;
mod origins;
mod policies;
mod raw;
mod refusals;
mod server;
mod stopping;
mod storms;
mod tickets;
mod tls;
