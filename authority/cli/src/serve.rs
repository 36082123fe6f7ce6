//! `retick serve`: the room service, until interrupted.

use std::net::SocketAddr;
use std::num::NonZero;
use std::thread::available_parallelism;

use clap::Args;
use retick_authority::service::{DEFAULT_ADDRESS, Service, ServiceConfig, shutdown_signal};
use tokio::runtime::{Builder, Runtime};
use tracing_subscriber::EnvFilter;

use crate::failure::Failure;

/// Arguments of `retick serve`.
#[derive(Args)]
pub struct ServeArguments {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value_t = DEFAULT_ADDRESS)]
    listen: SocketAddr,
    /// Most rooms at once
    #[arg(long, default_value_t = ServiceConfig::default().max_rooms)]
    max_rooms: usize,
    /// Most connections at once
    #[arg(long, default_value_t = ServiceConfig::default().max_connections)]
    max_connections: usize,
    /// What to log, for example `info` or `retick_authority=debug`
    #[arg(long, default_value = "info")]
    log: String,
}

/// Runs `retick serve`.
pub fn run(arguments: &ServeArguments) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(&arguments.log);
    let filter = filter.map_err(|error| Failure::Run(format!("--log {}: {error}", arguments.log)))?;
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    runtime()?.block_on(serve(arguments))
}

/// What a service runs on: a thread for each core that it may use, and on one core this thread alone, which has no other to wake.
pub fn runtime() -> Result<Runtime, Failure> {
    let cores = available_parallelism().map_or(1, NonZero::get);
    let mut builder = if cores == 1 { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    builder.enable_all().build().map_err(|error| Failure::Run(format!("no runtime: {error}")))
}

async fn serve(arguments: &ServeArguments) -> Result<(), Failure> {
    let ServeArguments { listen, max_rooms, max_connections, .. } = *arguments;
    let config = ServiceConfig { address: listen, max_rooms, max_connections, ..ServiceConfig::default() };
    let service = Service::bind(config).map_err(|error| Failure::Run(error.to_string()))?;
    println!("listening on {}", service.local_address());
    service.run_until(shutdown_signal()).await.map_err(|error| Failure::Run(error.to_string()))
}
