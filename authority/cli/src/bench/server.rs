//! The service of a load trial: its rooms are made, started and asked how they fared in its own process.

use std::net::Ipv4Addr;
use std::time::Duration;

use retick_authority::room::{RoomConfig, StartPolicy};
use retick_authority::service::{RoomCode, Service, ServiceConfig, ServiceHandle};
use retick_testing::load::load_descriptor;
use tokio::time::{Instant, sleep_until};

use super::trial::{Opening, Standing, lines, say, seats};
use crate::failure::Failure;
use crate::serve::runtime;

/// Over which time the rooms are started, so that their ticks are spread.
const STARTS: Duration = Duration::from_secs(1);
/// Connections beyond those of the seats.
const SPARE_CONNECTIONS: usize = 16;

/// Serves so many rooms: says where, starts them when told to, and says how they stand when told to again.
pub(super) fn run(rooms: u32) -> Result<(), Failure> {
    runtime()?.block_on(serve(rooms))
}

async fn serve(rooms: u32) -> Result<(), Failure> {
    let max_rooms = usize::try_from(rooms).unwrap_or(usize::MAX);
    let max_connections = max_rooms * seats().count() + SPARE_CONNECTIONS;
    let address = (Ipv4Addr::LOCALHOST, 0).into();
    let config = ServiceConfig {
        address,
        max_rooms,
        max_connections,
        // All players come from one address.
        max_connections_per_address: max_connections,
        max_handshakes: max_connections,
        max_handshakes_per_address: max_connections,
        ..ServiceConfig::default()
    };
    let service = Service::bind(config);
    let service = service.map_err(|error| Failure::Run(error.to_string()))?;
    let handle = service.handle();
    let codes = make_rooms(&handle, rooms)?;
    let paths = codes.iter().flat_map(|code| seats().seats().map(move |_| format!("/rooms/{code}/play"))).collect();
    say(&Opening { address: service.local_address(), paths }.to_json())?;
    let mut lines = lines();
    let owner = async {
        lines.recv().await;
        let begin = Instant::now();
        for (code, number) in codes.iter().zip(0..) {
            sleep_until(begin + STARTS * number / rooms).await;
            // A room that was not started confirms nothing, which fails the trial.
            let _ = handle.start_room(*code).await;
        }
        lines.recv().await;
        say(&standing(&handle, &codes).to_json())
    };
    let mut said = Ok(());
    let served = service.run_until(async { said = owner.await }).await;
    said.and(served.map_err(|error| Failure::Run(error.to_string())))
}

fn make_rooms(handle: &ServiceHandle, rooms: u32) -> Result<Vec<RoomCode>, Failure> {
    let mut config = RoomConfig::new(load_descriptor(seats()));
    config.start = StartPolicy::Manual;
    let room = |_| handle.create_room(config.clone()).map_err(|error| Failure::Run(error.to_string()));
    (0..rooms).map(room).collect()
}

fn standing(handle: &ServiceHandle, codes: &[RoomCode]) -> Standing {
    let stats = codes.iter().filter_map(|code| handle.room_stats(*code));
    Standing { substituted: stats.map(|stats| stats.seats.substituted_inputs).sum() }
}
