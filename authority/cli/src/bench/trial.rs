//! One trial: a server with so many rooms on one core, their clients on another, and what the two processes say to each other and
//! to whoever started them: lines of JSON.

use std::io::{self, BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;

use retick_core::seat::SeatCount;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::Contender;
use crate::failure::Failure;

/// The cores of server and clients. Where there is one, they share it, and no figure is worth anything.
const SERVER_CORE: usize = 0;
const CLIENTS_CORE: usize = 1;
/// Ticks of the system's accounting in a second.
const ACCOUNTING_HZ: f64 = 100.0;

/// The seats of every room.
pub(super) fn seats() -> SeatCount {
    SeatCount::new(4).expect("four seats are a count")
}

/// Where a server is, and a path for each seat, room by room.
pub(super) struct Opening {
    pub(super) address: SocketAddr,
    pub(super) paths: Vec<String>,
}

impl Opening {
    pub(super) fn to_json(&self) -> String {
        json!({ "address": self.address.to_string(), "paths": self.paths }).to_string()
    }

    pub(super) fn from_json(line: &str) -> Option<Opening> {
        let json: Value = serde_json::from_str(line).ok()?;
        let paths = json["paths"].as_array()?.iter().map(|path| Some(path.as_str()?.to_owned()));
        Some(Opening { address: json["address"].as_str()?.parse().ok()?, paths: paths.collect::<Option<_>>()? })
    }
}

/// How a service's rooms stand at the end.
pub(super) struct Standing {
    /// Inputs that the rooms put in themselves.
    pub(super) substituted: u64,
}

impl Standing {
    pub(super) fn to_json(&self) -> String {
        json!({ "substituted": self.substituted }).to_string()
    }
}

/// What a process used.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// Share of one core in its own code, and in the system's.
    pub(super) user: f64,
    pub(super) system: f64,
    /// Resident memory, in bytes.
    pub(super) memory_bytes: f64,
}

impl Usage {
    /// What process `id` has used since it began, in seconds, and its memory.
    pub(super) fn of(id: u32) -> io::Result<Usage> {
        let malformed = || io::Error::other("the process's accounts have another form");
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat"))?;
        // Behind the command's name, which may hold anything.
        let fields: Vec<_> = stat.rsplit_once(')').ok_or_else(malformed)?.1.split_whitespace().collect();
        let seconds = |place: usize| fields.get(place)?.parse::<f64>().ok().map(|ticks| ticks / ACCOUNTING_HZ);
        let status = std::fs::read_to_string(format!("/proc/{id}/status"))?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next());
        let memory = resident.and_then(|kibibytes| kibibytes.parse::<f64>().ok()).ok_or_else(malformed)?;
        let (user, system) = (seconds(11).ok_or_else(malformed)?, seconds(12).ok_or_else(malformed)?);
        Ok(Usage { user, system, memory_bytes: memory * 1024.0 })
    }

    /// The shares of a core between an earlier reading and this one.
    pub(super) fn since(&self, earlier: &Usage, seconds: f64) -> Usage {
        let share = |now: f64, before: f64| (now - before) / seconds;
        let (user, system) = (share(self.user, earlier.user), share(self.system, earlier.system));
        Usage { user, system, memory_bytes: self.memory_bytes }
    }

    fn to_json(self) -> Value {
        json!([self.user, self.system, self.memory_bytes])
    }

    fn from_json(json: &Value) -> Option<Usage> {
        let [user, system, memory_bytes] = [0, 1, 2].map(|place| json[place].as_f64());
        Some(Usage { user: user?, system: system?, memory_bytes: memory_bytes? })
    }
}

/// What the clients of a trial saw.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outcome {
    /// Ticks confirmed to a seat in a second, on average and to the seat that got the fewest.
    pub(super) rate_mean: f64,
    pub(super) rate_least: f64,
    /// Time from one frame of a seat to the next.
    pub(super) gap_p50_millis: f64,
    pub(super) gap_p99_millis: f64,
    pub(super) gap_longest_millis: f64,
    /// How much later than they meant to the clients themselves were.
    pub(super) late_p99_millis: f64,
    pub(super) server: Usage,
    pub(super) clients: Usage,
}

impl Outcome {
    pub(super) fn to_json(self) -> String {
        let gaps = [self.gap_p50_millis, self.gap_p99_millis, self.gap_longest_millis, self.late_p99_millis];
        let (rates, server, clients) = ([self.rate_mean, self.rate_least], self.server, self.clients);
        json!({ "rates": rates, "gaps": gaps, "server": server.to_json(), "clients": clients.to_json() }).to_string()
    }

    fn from_json(line: &str) -> Option<Outcome> {
        let json: Value = serde_json::from_str(line).ok()?;
        let number = |list: &str, place: usize| json[list][place].as_f64();
        Some(Outcome {
            rate_mean: number("rates", 0)?,
            rate_least: number("rates", 1)?,
            gap_p50_millis: number("gaps", 0)?,
            gap_p99_millis: number("gaps", 1)?,
            gap_longest_millis: number("gaps", 2)?,
            late_p99_millis: number("gaps", 3)?,
            server: Usage::from_json(&json["server"])?,
            clients: Usage::from_json(&json["clients"])?,
        })
    }
}

/// Says a line to whoever reads the standard output.
pub(super) fn say(line: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(|error| Failure::Run(error.to_string()))
}

/// The lines of the standard input.
pub(super) fn lines() -> UnboundedReceiver<String> {
    let (sender, receiver) = unbounded_channel();
    thread::spawn(move || io::stdin().lock().lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    receiver
}

/// How a trial is made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trial<'a> {
    pub(super) contender: Contender,
    pub(super) rooms: u32,
    pub(super) warm_millis: u64,
    pub(super) seconds: u64,
    /// Where Colyseus's rooms are.
    pub(super) colyseus: Option<&'a Path>,
}

impl Trial<'_> {
    /// Runs it: what the clients saw, and how many inputs the service put in.
    pub(super) fn run(&self) -> Result<(Outcome, u64), Failure> {
        let mut server = Process::start(&mut self.server()?, SERVER_CORE)?;
        let opening = server.hear()?;
        let mut clients = Process::start(&mut self.clients(server.child.id())?, CLIENTS_CORE)?;
        clients.tell(opening.trim_end())?;
        clients.hear()?;
        if self.contender == Contender::Retick {
            server.tell("start")?;
        }
        let line = clients.hear()?;
        let outcome = Outcome::from_json(&line).ok_or_else(|| Failure::Run(format!("no outcome: {line}")))?;
        if self.contender != Contender::Retick {
            return Ok((outcome, 0));
        }
        server.tell("stand")?;
        let line = server.hear()?;
        let standing: Option<Value> = serde_json::from_str(&line).ok();
        let substituted = standing.and_then(|standing| standing["substituted"].as_u64());
        Ok((outcome, substituted.ok_or_else(|| Failure::Run(format!("no standing: {line}")))?))
    }

    fn server(&self) -> Result<Command, Failure> {
        let rooms = self.rooms.to_string();
        let name = match self.contender {
            Contender::Retick => "retick",
            Contender::Relay => "relay",
            Contender::Colyseus | Contender::ColyseusTuned => {
                let folder = self.colyseus.ok_or_else(|| Failure::Run("Colyseus's folder is not given".to_owned()))?;
                let mut command = Command::new("node");
                let manner = if self.contender == Contender::Colyseus { "stock" } else { "tuned" };
                command.arg(folder.join("server.mjs")).args([manner, &rooms, &seats().to_string()]);
                return Ok(command);
            }
        };
        let mut command = Command::new(own_path()?);
        command.args(["bench", "load-server", "--contender", name, "--rooms", &rooms]);
        Ok(command)
    }

    fn clients(&self, server: u32) -> Result<Command, Failure> {
        let name = match self.contender {
            Contender::Retick => "retick",
            Contender::Relay => "relay",
            Contender::Colyseus | Contender::ColyseusTuned => "colyseus",
        };
        let mut command = Command::new(own_path()?);
        command.args(["bench", "load-clients", "--contender", name, "--server", &server.to_string()]);
        command.args(["--warm-millis", &self.warm_millis.to_string(), "--seconds", &self.seconds.to_string()]);
        Ok(command)
    }
}

fn own_path() -> Result<std::path::PathBuf, Failure> {
    std::env::current_exe().map_err(|error| Failure::Run(format!("this program's own file: {error}")))
}

/// A process of a trial, which ends with it.
struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Process {
    fn start(command: &mut Command, core: usize) -> Result<Process, Failure> {
        let last = thread::available_parallelism().map_or(0, |cores| cores.get() - 1);
        let mut pinned = Command::new("taskset");
        pinned.args(["--cpu-list", &core.min(last).to_string()]).arg(command.get_program()).args(command.get_args());
        let started = pinned.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = started.map_err(|error| Failure::Run(format!("taskset, of util-linux: {error}")))?;
        let missing = || Failure::Run("a process without its streams".to_owned());
        let (input, output) = (child.stdin.take().ok_or_else(missing)?, child.stdout.take().ok_or_else(missing)?);
        Ok(Process { child, input, output: BufReader::new(output) })
    }

    fn tell(&mut self, line: &str) -> Result<(), Failure> {
        writeln!(self.input, "{line}").map_err(|error| Failure::Run(format!("a process of the trial: {error}")))
    }

    fn hear(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        match self.output.read_line(&mut line) {
            Ok(0) => Err(Failure::Run("a process of the trial ended early".to_owned())),
            Ok(_) => Ok(line),
            Err(error) => Err(Failure::Run(format!("a process of the trial: {error}"))),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
