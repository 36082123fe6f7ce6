//! `retick bench`: what this machine carries.

mod gaps;
mod generator;
mod machine;
mod relay;
mod search;
mod server;
mod service;
mod socket;
mod trial;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::failure::Failure;

/// Arguments of `retick bench`.
#[derive(Args)]
pub struct BenchArguments {
    #[command(subcommand)]
    command: BenchCommand,
}

#[derive(Subcommand)]
enum BenchCommand {
    /// How many rooms with a client in every seat are carried: by the room machine on one core, and by the service over sockets
    Rooms(RoomsArguments),
    /// One server of a load trial
    #[command(hide = true)]
    LoadServer(ServerArguments),
    /// The clients of a load trial
    #[command(hide = true)]
    LoadClients(ClientsArguments),
}

#[derive(Args)]
struct RoomsArguments {
    #[command(flatten)]
    machine: machine::MachineArguments,
    /// Leave out one of the two parts
    #[arg(long, value_name = "PART")]
    only: Option<Part>,
    /// See in seconds that everything runs, with a few rooms and no search
    #[arg(long)]
    quick: bool,
    /// Also measure Colyseus, from the folder `benches/peers/colyseus` after `npm ci` in it
    #[arg(long, value_name = "FOLDER")]
    colyseus: Option<PathBuf>,
    /// Search for these alone
    #[arg(long, value_name = "CONTENDER", value_delimiter = ',')]
    contenders: Vec<Contender>,
    /// How long each trial of the search is measured, in seconds
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// End the search after so many seconds, with what was carried up to then
    #[arg(long, value_name = "SECONDS", default_value_t = 900)]
    most_seconds: u64,
    /// Rewrite the section `service` of this file of results
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
}

/// A part of `retick bench rooms`.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// The room machine alone, on one core
    Machine,
    /// The service over loopback sockets, beside its peers
    Service,
}

/// Who carries rooms in a trial.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Contender {
    /// Retick's service
    Retick,
    /// A bare tokio-tungstenite relay that does nothing but forward
    Relay,
    /// Colyseus with a timer of 60 Hz for each room
    Colyseus,
    /// Colyseus without what a relay has no need of
    ColyseusTuned,
}

impl Contender {
    fn name(self) -> &'static str {
        match self {
            Contender::Retick => "Retick's service",
            Contender::Relay => "a bare tokio-tungstenite relay",
            Contender::Colyseus => "Colyseus, stock",
            Contender::ColyseusTuned => "Colyseus, tuned",
        }
    }
}

/// What a hidden server is started with.
#[derive(Args)]
struct ServerArguments {
    #[arg(long)]
    contender: Contender,
    #[arg(long)]
    rooms: u32,
}

/// What the hidden clients are started with.
#[derive(Args)]
struct ClientsArguments {
    #[arg(long)]
    contender: Contender,
    /// Process of the server, whose time and memory are read
    #[arg(long)]
    server: u32,
    /// Milliseconds before anything is measured
    #[arg(long)]
    warm_millis: u64,
    #[arg(long)]
    seconds: u64,
}

/// Runs `retick bench`.
pub fn run(arguments: &BenchArguments) -> Result<(), Failure> {
    match &arguments.command {
        BenchCommand::Rooms(arguments) => rooms(arguments),
        BenchCommand::LoadServer(ServerArguments { contender: Contender::Retick, rooms }) => server::run(*rooms),
        BenchCommand::LoadServer(ServerArguments { rooms, .. }) => relay::run(*rooms),
        BenchCommand::LoadClients(arguments) => generator::run(arguments),
    }
}

fn rooms(arguments: &RoomsArguments) -> Result<(), Failure> {
    if arguments.only != Some(Part::Service) {
        machine::run(&arguments.machine, arguments.quick)?;
    }
    if arguments.only == Some(Part::Machine) { Ok(()) } else { service::run(arguments) }
}
