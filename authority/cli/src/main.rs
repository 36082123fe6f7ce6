//! `retick`: serves rooms, signs tickets for them, plays the demo, verifies replays, tests a game's determinism, inspects and
//! certifies modules, measures what a machine carries.
//!
//! Results go to standard output, errors to standard error with exit code 2; exit code 1 means that a check was run and failed.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line speaks on its standard streams")]

mod bench;
mod demo;
mod failure;
mod false_alarms;
mod files;
mod games;
mod live_line;
mod log;
mod module;
mod observer;
mod play;
mod proxy;
mod recording;
mod replay;
mod scripted;
mod serve;
mod simulate;
mod synctest;
mod ticket;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Deterministic rollback for games: rooms, replays and proofs.
///
/// A match is played by machines that simulate the same ticks from the same inputs. `retick demo` shows all of it on this
/// machine: a room service, players on a bad network, and the proof that everyone saw the same match.
#[derive(Parser)]
#[command(name = "retick", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Play a match through a real room service on a bad network, and prove that all machines agree
    Demo(demo::DemoArguments),
    /// Play skirmish in a room of a running service
    Play(play::PlayArguments),
    /// Serve rooms until interrupted
    Serve(serve::ServeArguments),
    /// Make keys and join tickets, and look at one
    Ticket(ticket::TicketArguments),
    /// Look at the log of a room
    Log(log::LogArguments),
    /// Re-simulate a replay and compare every checksum
    Verify(replay::verify::VerifyArguments),
    /// Verify, look at, compare and draw replays
    Replay(replay::ReplayArguments),
    /// Roll a game module back in every tick, and check that it comes out the same
    Synctest(synctest::SynctestArguments),
    /// Roll back by the million, and count how often that is taken for a desync
    FalseAlarms(false_alarms::FalseAlarmArguments),
    /// Play whole matches drawn from seeds, with faults, liars and crashes, and judge them at every step
    Simulate(simulate::SimulateArguments),
    /// Inspect, certify or rewrite a game module
    Module(module::ModuleArguments),
    /// Measure what this machine carries
    Bench(bench::BenchArguments),
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Play(arguments) => play::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Ticket(arguments) => ticket::run(&arguments),
        Command::Log(arguments) => log::run(&arguments),
        Command::Verify(arguments) => replay::verify::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Synctest(arguments) => synctest::run(&arguments),
        Command::FalseAlarms(arguments) => false_alarms::run(&arguments),
        Command::Simulate(arguments) => simulate::run(&arguments),
        Command::Module(arguments) => module::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("retick: {failure}");
            failure.exit_code()
        }
    }
}
