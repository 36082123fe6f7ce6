//! A listen server: a game hosts the room in its own process, and plays in it. No service, no async, no other crate's sockets.
//!
//! ```text
//!  the host's process                                     another player's process
//! ┌───────────────────────────────────────┐               ┌──────────────────┐
//! │ game loop ─▶ Client ── calls ──▶ Room │ ◀═══ TCP ═══▶ │ Client ◀─ loop   │
//! └───────────────────────────────────────┘               └──────────────────┘
//! ```
//!
//! The room is a machine without a socket, a clock or a thread, so that the host's loop can drive it between two frames: messages
//! and time go in, messages come out. The host's own seat is connected to it by calls, and the others by whatever carries bytes;
//! here that is a page of `std::net`. The other players' loops run in threads, so that the example is one program.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

mod guest;
mod host;
mod link;
mod pilot;
mod tug;

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;

use retick_core::config::SessionConfig;
use retick_core::identity::MatchDescriptor;
use retick_core::rng::SessionSeed;
use retick_core::runtime::{NativeFactory, RuntimeFactory};
use retick_core::seat::SeatCount;

use self::host::Host;
use self::pilot::{MATCH_TICKS, Pilot};
use self::tug::Tug;

/// What one thread tells another that it could not do.
type Failure = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let factory: Arc<dyn RuntimeFactory> =
        Arc::new(NativeFactory::<Tug>::new(|sources| sources.module("tug.rs", include_bytes!("tug.rs")))?);
    let seats = SeatCount::new(3).ok_or("three seats")?;
    // A real match draws its seed from the operating system.
    let descriptor = MatchDescriptor::new(factory.manifest(), SessionConfig::empty(), SessionSeed::from_u64(5), seats);

    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    let address = listener.local_addr()?;
    println!("hosting on {address}");
    let guests = [1, 2].map(|rhythm| {
        let pilot = Pilot::new(factory.clone(), rhythm);
        thread::spawn(move || guest::play(address, pilot))
    });
    let hosted = Host::new(descriptor, Pilot::new(factory, 3), listener)?.play()?;

    let mut matches = vec![hosted.own];
    for guest in guests {
        matches.push(guest.join().map_err(|_| "a guest panicked")??);
    }
    for seen in &matches {
        println!("seat {}: {} rollbacks, chain {}", seen.seat, seen.rollbacks, seen.chain_head);
        assert_eq!((seen.chain_head, &seen.checksums), (matches[0].chain_head, &matches[0].checksums));
        assert_eq!(seen.confirmed_ticks, MATCH_TICKS);
    }
    // The room confirmed what everyone saw, and everyone's reports of it agreed before it closed.
    assert_eq!(hosted.room_chain_head, matches[0].chain_head);
    println!("{} seats saw the same {MATCH_TICKS} ticks; the host's own came without a socket", matches.len());
    Ok(())
}

#[test]
fn the_example_runs() -> Result<(), Failure> {
    main()
}
