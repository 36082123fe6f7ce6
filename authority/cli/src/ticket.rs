//! `retick ticket`: keys and join tickets, for backends that don't sign their own yet, and for looking at one.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand};
use retick_authority::service::RoomCode;
use retick_core::ticket::{Access, SignedTicket, Ticket, TicketPublicKey, TicketSigningKey, TicketTerms};

use crate::failure::Failure;
use crate::files::read_secret;

/// Arguments of `retick ticket`.
#[derive(Args)]
pub struct TicketArguments {
    #[command(subcommand)]
    command: TicketCommand,
}

#[derive(Subcommand)]
enum TicketCommand {
    /// Make a secret key in a new file, and print its public key, for `retick serve --ticket-key`
    Keygen {
        /// The file, which must not exist yet
        file: PathBuf,
    },
    /// Sign a ticket, and print it
    Sign(SignArguments),
    /// Print what a ticket says, and whether a key has signed it
    Show {
        /// The ticket
        ticket: SignedTicket,
        /// The public key that it is held against
        #[arg(long, value_name = "KEY")]
        key: Option<TicketPublicKey>,
    },
}

#[derive(Args)]
struct SignArguments {
    /// The file with the secret key
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// The player's name, as your backend knows it
    #[arg(long)]
    player: String,
    /// The room's code
    #[arg(long)]
    room: RoomCode,
    /// For how long it admits, in seconds
    #[arg(long, default_value_t = 300)]
    seconds: u64,
    /// Let the player watch, and take no seat
    #[arg(long)]
    watch: bool,
}

/// Runs `retick ticket`.
pub fn run(arguments: &TicketArguments) -> Result<(), Failure> {
    match &arguments.command {
        TicketCommand::Keygen { file } => keygen(file),
        TicketCommand::Sign(arguments) => sign(arguments),
        TicketCommand::Show { ticket, key } => show(ticket, *key),
    }
}

fn keygen(path: &Path) -> Result<(), Failure> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(|error| Failure::Run(format!("no randomness: {error}")))?;
    let text: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    create_secret(path, &(text + "\n")).map_err(|error| Failure::Write { path: path.into(), error })?;
    println!("{}", TicketSigningKey::from_secret_bytes(&secret).public_key());
    Ok(())
}

/// Writes a file that nobody else may read, and that was not there.
fn create_secret(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(text.as_bytes())
}

fn sign(arguments: &SignArguments) -> Result<(), Failure> {
    let SignArguments { key, player, room, seconds, watch } = arguments;
    let signer = read_key(key)?;
    let expires = unix_seconds().saturating_add(*seconds);
    let access = if *watch { Access::Watch } else { Access::Play };
    let ticket = Ticket::new(player, &room.to_string(), expires, access);
    let ticket = ticket.map_err(|error| Failure::Run(format!("--player: {error}")))?;
    println!("{}", signer.sign(&ticket));
    Ok(())
}

fn read_key(path: &Path) -> Result<TicketSigningKey, Failure> {
    Ok(TicketSigningKey::from_secret_bytes(&read_secret(path)?))
}

fn show(signed: &SignedTicket, key: Option<TicketPublicKey>) -> Result<(), Failure> {
    let ticket = signed.claimed_ticket();
    let access = match ticket.access() {
        Access::Play => "play",
        Access::Watch => "watch",
    };
    // A name is whatever a backend takes for one: control characters are not for a terminal.
    println!("player  {}", ticket.player().escape_debug());
    println!("room    {}", ticket.room().escape_debug());
    println!("access  {access}");
    println!("expires {} (in seconds since 1970; now {})", ticket.expires_unix_seconds(), unix_seconds());
    println!("key     {}", signed.claimed_key());
    let Some(key) = key else {
        println!("nothing of this is proved without --key");
        return Ok(());
    };
    let terms = TicketTerms { trusted: &[key], room: ticket.room(), now_unix_seconds: unix_seconds() };
    signed.verify(&terms).map_err(|error| Failure::CheckFailed(error.to_string()))?;
    println!("valid");
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a ticket expires by the wall clock")]
fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
