//! The flags of `retick serve`, and the service's config that they make.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use retick_authority::log::file::{Durability, Retention};
use retick_authority::referee::{RefereeMode, Sampling};
use retick_authority::service::{
    Admission, CreateToken, Creation, DEFAULT_SYNC_MILLIS, LogSettings, MAX_SYNC_MILLIS, MAX_TICKET_KEYS,
    MIN_CREATE_TOKEN_BYTES, Origins, RefereeSettings, ServiceConfig, TicketKeys, TlsIdentity,
};
use retick_core::runtime::RuntimeFactory;
use retick_core::ticket::TicketPublicKey;

use super::default_listen;
use crate::failure::Failure;
use crate::files::read_bounded;
use crate::games;

/// Most bytes of a file with keys, certificates or a token.
const MAX_SECRET_FILE_BYTES: u64 = 256 * 1024;

/// Where it listens, and for whom.
#[derive(Args)]
pub struct ListenArguments {
    /// Where to listen, by address or by host name; port 0 takes a free one
    #[arg(long, value_name = "HOST:PORT", default_value_t = default_listen())]
    listen: String,
    /// Where to serve metrics and the monitor, to whoever reaches it [default: 127.0.0.1, on the port behind that of --listen]
    #[arg(long, value_name = "HOST:PORT")]
    admin_listen: Option<String>,
    /// Serve no metrics and no monitor
    #[arg(long, conflicts_with = "admin_listen")]
    no_admin: bool,
    /// The certificate chain with which to speak TLS, in PEM form
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Its private key, in PEM form
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// A web page's origin that may use the service, for example `https://game.example`; may be repeated, and `*` is any
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,
}

/// Who may join, and who may make rooms.
#[derive(Args)]
pub struct AdmissionArguments {
    /// Let anyone join who knows a room's code: for development and for private networks
    #[arg(long, conflicts_with = "ticket_key")]
    open: bool,
    /// A public key of the game's backend, whose tickets admit, as `retick ticket keygen` prints it; may be repeated
    #[arg(long, value_name = "KEY")]
    ticket_key: Vec<TicketPublicKey>,
    /// A file with the token with which the game's backend makes rooms and matches players
    #[arg(long, value_name = "FILE")]
    create_token_file: Option<PathBuf>,
}

/// How much of everything.
#[derive(Args)]
pub struct LimitArguments {
    /// Most rooms at once
    #[arg(long, default_value_t = ServiceConfig::default().max_rooms)]
    max_rooms: usize,
    /// Most rooms at once that one address has made
    #[arg(long, default_value_t = ServiceConfig::default().max_rooms_per_address)]
    max_rooms_per_address: usize,
    /// Most connections at once
    #[arg(long, default_value_t = ServiceConfig::default().max_connections)]
    max_connections: usize,
    /// Most connections at once of one address
    #[arg(long, default_value_t = ServiceConfig::default().max_connections_per_address)]
    max_connections_per_address: usize,
    /// Rooms, matches, lists and changes that one address may ask for in a minute
    #[arg(long, value_name = "COUNT", default_value_t = ServiceConfig::default().lobby_requests_per_minute_per_address)]
    lobby_requests_per_minute: u32,
}

/// Whether rooms outlive the service.
#[derive(Args)]
pub struct LogArguments {
    /// A folder in which rooms are kept, so that they go on when the service starts again; its logs hold the rooms' secrets
    #[arg(long, value_name = "DIR")]
    log_dir: Option<PathBuf>,
    /// When frames are forced to the disk: before they leave, at intervals, or when the system likes
    #[arg(long, value_enum, default_value_t = DurabilityArgument::EveryFrame, requires = "log_dir")]
    durability: DurabilityArgument,
    /// Milliseconds between two syncs with `--durability interval`
    #[arg(long, value_name = "MILLIS", default_value_t = DEFAULT_SYNC_MILLIS, requires = "log_dir",
        value_parser = clap::value_parser!(u64).range(1..=MAX_SYNC_MILLIS))]
    sync_millis: u64,
    /// Which of a room's records stay, once a snapshot makes the older ones unneeded for a restart
    #[arg(long, value_enum, default_value_t = RetentionArgument::SinceSnapshot, requires = "log_dir")]
    log_retention: RetentionArgument,
}

/// Which of a room's records stay.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum RetentionArgument {
    /// Those that a restart needs: the last minutes
    SinceSnapshot,
    /// All of them: the whole match can be had from its log, which grows as long as the match lasts
    All,
}

/// When frames are forced to the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum DurabilityArgument {
    /// Before they leave: none that a player has seen is ever lost
    EveryFrame,
    /// At intervals: a crash loses those that no returning player has
    Interval,
    /// When the system likes: a crash of the machine may lose the room
    None,
}

/// Whether the service plays along (A13).
#[derive(Args)]
pub struct RefereeArguments {
    /// Play the game beside every room that the service knows it for, and say who is wrong when reports differ
    #[arg(long, value_enum, value_name = "HOW MUCH")]
    referee: Option<RefereeArgument>,
    /// The module of a game that it knows, beside the built-in skirmish; may be repeated
    #[arg(long, value_name = "MODULE", requires = "referee")]
    referee_game: Vec<PathBuf>,
}

/// How much a referee plays.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum RefereeArgument {
    /// A part of each match, and whatever reports differ about
    Sampled,
    /// Every tick
    Full,
}

impl RefereeArguments {
    /// The referee, with its games loaded.
    pub fn settle(&self) -> Result<Option<RefereeSettings>, Failure> {
        let mode = match self.referee {
            None => return Ok(None),
            Some(RefereeArgument::Full) => RefereeMode::Full,
            Some(RefereeArgument::Sampled) => RefereeMode::Sampled(Sampling::default()),
        };
        let mut games: Vec<Arc<dyn RuntimeFactory>> = vec![games::skirmish()?];
        for path in &self.referee_game {
            games.push(games::from_file(path)?);
        }
        Ok(Some(RefereeSettings { mode, games }))
    }
}

impl LogArguments {
    pub fn settings(&self) -> Option<LogSettings> {
        let durability = match self.durability {
            DurabilityArgument::EveryFrame => Durability::EveryFrame,
            DurabilityArgument::Interval => Durability::Interval(Duration::from_millis(self.sync_millis)),
            DurabilityArgument::None => Durability::None,
        };
        let retention = match self.log_retention {
            RetentionArgument::SinceSnapshot => Retention::SinceSnapshot,
            RetentionArgument::All => Retention::All,
        };
        Some(LogSettings { durability, retention, ..LogSettings::new(self.log_dir.as_ref()?) })
    }
}

impl ListenArguments {
    pub async fn apply(&self, config: ServiceConfig) -> Result<ServiceConfig, Failure> {
        let address = resolve("--listen", &self.listen).await?;
        let admin_address = match &self.admin_listen {
            Some(host) => Some(resolve("--admin-listen", host).await?),
            None if self.no_admin => None,
            None => Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port_behind(address.port())))),
        };
        let origins = if self.allow_origin.iter().any(|origin| origin == "*") {
            Origins::any()
        } else {
            Origins::listed(self.allow_origin.iter().cloned())
        };
        Ok(ServiceConfig { address, admin_address, origins, tls: self.tls()?, ..config })
    }

    fn tls(&self) -> Result<Option<TlsIdentity>, Failure> {
        let (Some(certificate), Some(key)) = (&self.tls_cert, &self.tls_key) else { return Ok(None) };
        let read = |path| read_bounded(path, MAX_SECRET_FILE_BYTES);
        let identity = TlsIdentity::from_pem(&read(certificate)?, &read(key)?);
        identity.map(Some).map_err(|error| Failure::Run(format!("{}: {error}", certificate.display())))
    }
}

impl AdmissionArguments {
    /// Who may join and make rooms. Without a word about it, nothing is served.
    pub fn settle(&self) -> Result<(Admission, Creation), Failure> {
        let creation = match &self.create_token_file {
            None => Creation::AsAdmission,
            Some(path) => {
                let text = read_bounded(path, MAX_SECRET_FILE_BYTES)?;
                let token = std::str::from_utf8(&text).ok().and_then(|text| CreateToken::new(text.trim()));
                let words =
                    || format!("{}: a token of at least {MIN_CREATE_TOKEN_BYTES} bytes of text", path.display());
                Creation::Token(token.ok_or_else(|| Failure::Run(words()))?)
            }
        };
        if self.open {
            return Ok((Admission::Open, creation));
        }
        if self.ticket_key.is_empty() {
            let words = "who may join is not said: --ticket-key KEY lets in who has a ticket of your game's backend \
                         (see `retick ticket --help`), --open lets in anyone who knows a room's code";
            return Err(Failure::Run(words.into()));
        }
        let keys = TicketKeys::new(&self.ticket_key);
        let keys = keys.ok_or_else(|| Failure::Run(format!("--ticket-key: at most {MAX_TICKET_KEYS} of them")))?;
        Ok((Admission::Tickets(keys), creation))
    }
}

impl LimitArguments {
    pub fn apply(&self, config: ServiceConfig) -> ServiceConfig {
        ServiceConfig {
            max_rooms: self.max_rooms,
            max_rooms_per_address: self.max_rooms_per_address,
            max_connections: self.max_connections,
            max_connections_per_address: self.max_connections_per_address,
            lobby_requests_per_minute_per_address: self.lobby_requests_per_minute,
            ..config
        }
    }
}

/// A free port beside a free one, and otherwise the next.
fn port_behind(port: u16) -> u16 {
    if port == 0 { 0 } else { port.checked_add(1).unwrap_or(port - 1) }
}

/// The first address of a host.
async fn resolve(flag: &str, host: &str) -> Result<SocketAddr, Failure> {
    let found = tokio::net::lookup_host(host).await;
    let found = found.map_err(|error| Failure::Run(format!("{flag} {host}: {error}")))?.next();
    found.ok_or_else(|| Failure::Run(format!("{flag} {host}: no such host")))
}
