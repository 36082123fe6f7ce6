//! A bad network between a client and the service, for the demo: a TCP proxy with latency, jitter, stalls and cuts.
//!
//! TCP keeps its order, so a delayed byte delays all behind it: that is what a real loss looks like to a WebSocket. When a byte is
//! passed on is decided by [`Line`] and [`ProxyPlan`], which know no clock and no socket; one seed gives the same delays again, as
//! far as the bytes arrive alike.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use retick_core::rng::{RngStream, SessionSeed};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep_until};

/// Most bytes that are read, and passed on, at once.
const CHUNK_BYTES: usize = 4 * 1024;
/// Most chunks under way in one direction; beyond, the proxy stops reading.
const MAX_CHUNKS_UNDER_WAY: usize = 1024;

/// How bad the network is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProxyPlan {
    /// Draws everything that is left to chance.
    pub seed: u64,
    /// Least and greatest round trip that the proxy adds, in milliseconds: one is drawn for each connection, half of it for each
    /// direction.
    pub round_trip_millis: (u32, u32),
    /// Most that a chunk is late on top of that, in milliseconds.
    pub jitter_millis: u32,
    /// When nothing passes for a while, if ever.
    pub stall: Option<Stall>,
    /// When the connection is lost, from when on, and for how long: milliseconds since the proxy's start. Whatever is open is
    /// dropped, and new connections are dropped as they are opened.
    pub cuts: Vec<(u64, u64)>,
}

/// Times in which nothing passes, in one direction at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stall {
    /// How long each lasts, in milliseconds.
    pub millis: u32,
    /// Mean pause from one's end to the next, in milliseconds. Each is between a half and one and a half of it.
    pub every_millis: u32,
}

impl ProxyPlan {
    /// A network that adds nothing.
    #[cfg(test)]
    pub fn clear(seed: u64) -> ProxyPlan {
        ProxyPlan { seed, round_trip_millis: (0, 0), jitter_millis: 0, stall: None, cuts: Vec::new() }
    }

    /// The two directions of a connection, to the service and back. Each connection has its own.
    fn lines(&self, connection: u64) -> (Line, Line) {
        let seed = SessionSeed::from_u64(self.seed);
        let stream = |name: &str| RngStream::derive(&seed, &format!("proxy {connection} {name}"));
        let (least, most) = self.round_trip_millis;
        let round_trip = stream("round trip").range(least..=most.max(least));
        let latency = Duration::from_millis(round_trip.into()) / 2;
        let line = |name| Line::new(stream(name), latency, self.jitter_millis, self.stall);
        (line("there"), line("back"))
    }

    /// When the cut ends that `elapsed` lies in, if it lies in one.
    fn cut_until(&self, elapsed: Duration) -> Option<Duration> {
        let cuts = self.cuts.iter().map(|(at, millis)| (*at, at.saturating_add(*millis)));
        let around = cuts.filter(|(start, end)| (*start..*end).contains(&whole_millis(elapsed)));
        around.map(|(_, end)| Duration::from_millis(end)).max()
    }

    /// When the next cut begins.
    fn next_cut(&self, elapsed: Duration) -> Option<Duration> {
        let starts = self.cuts.iter().map(|(at, _)| Duration::from_millis(*at));
        starts.filter(|start| *start > elapsed).min()
    }
}

fn whole_millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// One direction of one connection: decides when a chunk is passed on. Times are since the connection's start.
#[derive(Debug)]
struct Line {
    rng: RngStream,
    latency: Duration,
    jitter_millis: u32,
    stall: Option<Stall>,
    /// The stall that comes next, or is under way: its start and end.
    next_stall: Option<(Duration, Duration)>,
    last: Duration,
}

impl Line {
    fn new(rng: RngStream, latency: Duration, jitter_millis: u32, stall: Option<Stall>) -> Line {
        let mut line = Line { rng, latency, jitter_millis, stall, next_stall: None, last: Duration::ZERO };
        line.plan_stall(Duration::ZERO);
        line
    }

    fn plan_stall(&mut self, after: Duration) {
        let Some(Stall { millis, every_millis }) = self.stall else { return };
        // At least a millisecond, so that stalls can't be endless.
        let least = (every_millis / 2).max(1);
        let pause = self.rng.range(least..=every_millis.saturating_add(every_millis / 2).max(least));
        let start = after + Duration::from_millis(pause.into());
        self.next_stall = Some((start, start + Duration::from_millis(millis.into())));
    }

    /// When a chunk that arrived at `arrived` is passed on: never before one that arrived earlier.
    fn release(&mut self, arrived: Duration) -> Duration {
        let jitter = Duration::from_millis(self.rng.range(0..=self.jitter_millis).into());
        let mut release = (arrived + self.latency + jitter).max(self.last);
        while let Some((start, end)) = self.next_stall.filter(|(start, _)| *start <= release) {
            if release < end {
                release = end;
                break;
            }
            debug_assert!(start <= end, "a stall ends after its start");
            self.plan_stall(end);
        }
        self.last = release;
        release
    }
}

/// What a proxy did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ProxyCounts {
    /// Connections that were passed on.
    pub connections: u64,
    /// Connections that a cut dropped.
    pub cut_connections: u64,
    /// Connections that were dropped as they were opened, during a cut.
    pub refused_connections: u64,
}

#[derive(Debug, Default)]
struct Counters {
    connections: AtomicU64,
    cut_connections: AtomicU64,
    refused_connections: AtomicU64,
}

/// A running proxy on a free loopback port. It ends, with all its connections, when it is dropped.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    counters: Arc<Counters>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// Starts a proxy in front of `target`. The plan's times begin now.
    ///
    /// # Errors
    /// When no port can be listened on.
    pub async fn start(target: SocketAddr, plan: ProxyPlan) -> io::Result<Proxy> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let counters = Arc::new(Counters::default());
        let task = tokio::spawn(accept(listener, target, Arc::new(plan), counters.clone()));
        Ok(Proxy { address, counters, task })
    }

    /// Where to connect to instead of the target.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it did so far.
    pub fn counts(&self) -> ProxyCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ProxyCounts {
            connections: read(&self.counters.connections),
            cut_connections: read(&self.counters.cut_connections),
            refused_connections: read(&self.counters.refused_connections),
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, target: SocketAddr, plan: Arc<ProxyPlan>, counters: Arc<Counters>) {
    let origin = Instant::now();
    // Ends its tasks when this one is ended.
    let mut connections = JoinSet::new();
    let mut number = 0;
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
        };
        let Ok((near, _)) = accepted else { continue };
        if plan.cut_until(origin.elapsed()).is_some() {
            counters.refused_connections.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        number += 1;
        connections.spawn(connect(near, target, number, origin, plan.clone(), counters.clone()));
    }
}

async fn connect(
    near: TcpStream,
    target: SocketAddr,
    number: u64,
    origin: Instant,
    plan: Arc<ProxyPlan>,
    counters: Arc<Counters>,
) {
    let Ok(far) = TcpStream::connect(target).await else { return };
    // The proxy alone decides on delays. Without the option they only get worse.
    let _ = (near.set_nodelay(true), far.set_nodelay(true));
    counters.connections.fetch_add(1, Ordering::Relaxed);
    if carry(near, far, &plan, number, origin).await == CarryEnd::Cut {
        counters.cut_connections.fetch_add(1, Ordering::Relaxed);
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CarryEnd {
    /// Both sides have closed, or one was lost.
    Closed,
    /// A cut came.
    Cut,
}

/// Passes bytes on both ways until both sides have closed, one is lost, or a cut comes.
async fn carry<S>(near: S, far: S, plan: &ProxyPlan, number: u64, origin: Instant) -> CarryEnd
where
    S: AsyncRead + AsyncWrite,
{
    let (there, back) = plan.lines(number);
    let (near_read, near_write) = split(near);
    let (far_read, far_write) = split(far);
    let cut = async {
        match plan.next_cut(origin.elapsed()) {
            Some(start) => sleep_until(origin + start).await,
            None => std::future::pending().await,
        }
    };
    let both = async { tokio::try_join!(pass(near_read, far_write, there), pass(far_read, near_write, back)) };
    tokio::select! {
        // A lost side and a closed one look alike from here: both sockets are dropped.
        _ = both => CarryEnd::Closed,
        () = cut => CarryEnd::Cut,
    }
}

/// Passes bytes on one way, each chunk when its line says so, and the end too.
async fn pass(from: impl AsyncRead + Unpin, to: impl AsyncWrite + Unpin, line: Line) -> io::Result<()> {
    let (sender, receiver) = mpsc::channel(MAX_CHUNKS_UNDER_WAY);
    tokio::try_join!(collect(from, line, sender), hand_on(to, receiver)).map(|_| ())
}

async fn collect(
    mut from: impl AsyncRead + Unpin,
    mut line: Line,
    sender: mpsc::Sender<(Instant, Vec<u8>)>,
) -> io::Result<()> {
    let origin = Instant::now();
    let mut buffer = [0; CHUNK_BYTES];
    loop {
        let length = from.read(&mut buffer).await?;
        let chunk = buffer.get(..length).unwrap_or_default().to_vec();
        let release = origin + line.release(origin.elapsed());
        if sender.send((release, chunk)).await.is_err() || length == 0 {
            return Ok(());
        }
    }
}

async fn hand_on(mut to: impl AsyncWrite + Unpin, mut receiver: mpsc::Receiver<(Instant, Vec<u8>)>) -> io::Result<()> {
    while let Some((release, chunk)) = receiver.recv().await {
        sleep_until(release).await;
        // An empty chunk is the end.
        if chunk.is_empty() {
            return to.shutdown().await;
        }
        to.write_all(&chunk).await?;
        to.flush().await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tokio::io::{DuplexStream, duplex};

    use super::*;

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn bad_plan() -> ProxyPlan {
        let stall = Some(Stall { millis: 200, every_millis: 1_000 });
        ProxyPlan {
            seed: 7,
            round_trip_millis: (80, 120),
            jitter_millis: 15,
            stall,
            cuts: vec![(500, 100), (550, 200)],
        }
    }

    #[test]
    fn a_line_keeps_the_order_within_its_bounds_and_repeats_with_its_seed() {
        let releases = |connection| -> Vec<Duration> {
            let mut line = bad_plan().lines(connection).0;
            (0..10_000).map(|chunk| line.release(millis(chunk))).collect()
        };
        let first = releases(1);
        assert_eq!(first, releases(1));
        assert_ne!(first, releases(2));
        assert!(first.windows(2).all(|pair| pair[0] <= pair[1]));
        let late = |chunk: usize| first[chunk] - millis(chunk as u64);
        let (least, most) = (millis(40), millis(60 + 15 + 200));
        assert!((0..10_000).all(|chunk| (least..=most).contains(&late(chunk))));
        // Stalls happen, and come to an end.
        let stalled = (0..10_000).filter(|chunk| late(*chunk) > millis(75)).count();
        assert!((1_000..4_000).contains(&stalled), "{stalled}");
    }

    #[test]
    fn a_clear_plan_delays_nothing() {
        let mut line = ProxyPlan::clear(1).lines(1).1;
        assert!((0..1_000).all(|chunk| line.release(millis(chunk)) == millis(chunk)));
        let mut always = Line::new(line.rng, Duration::ZERO, 0, Some(Stall { millis: 5, every_millis: 0 }));
        assert!(always.release(millis(100)) <= millis(105));
    }

    #[test]
    fn cuts_may_overlap() {
        let plan = bad_plan();
        let until = |elapsed| plan.cut_until(millis(elapsed));
        assert_eq!(
            [499, 500, 599, 600, 749, 750].map(until),
            [None, Some(millis(600)), Some(millis(750)), Some(millis(750)), Some(millis(750)), None]
        );
        assert_eq!(
            [0, 500, 550].map(|elapsed| plan.next_cut(millis(elapsed))),
            [Some(millis(500)), Some(millis(550)), None]
        );
    }

    /// A client and a service with a proxy between them, all in memory.
    fn pipe(plan: ProxyPlan) -> (DuplexStream, DuplexStream, JoinHandle<CarryEnd>) {
        let ((client, near), (far, service)) = (duplex(64 * 1024), duplex(64 * 1024));
        let origin = Instant::now();
        (client, service, tokio::spawn(async move { carry(near, far, &plan, 1, origin).await }))
    }

    #[tokio::test]
    async fn bytes_arrive_unchanged_in_order_and_late_both_ways() {
        let plan = ProxyPlan { round_trip_millis: (40, 40), jitter_millis: 5, ..ProxyPlan::clear(3) };
        let (mut client, mut service, carried) = pipe(plan);
        let sent: Vec<u8> = (0..200_000u32).flat_map(|number| number.to_le_bytes()).collect();
        let began = Instant::now();
        let expected = sent.clone();
        let request = tokio::spawn(async move {
            client.write_all(&sent).await.expect("the proxy takes it");
            client.shutdown().await.expect("the proxy takes it");
            let mut answer = vec![];
            client.read_to_end(&mut answer).await.expect("the proxy answers");
            answer
        });
        let mut received = vec![];
        service.read_to_end(&mut received).await.expect("the proxy passes it on");
        assert!(received == expected);
        service.write_all(b"thanks").await.expect("the proxy takes it");
        drop(service);
        assert_eq!(request.await.expect("the task ended"), b"thanks");
        assert!(began.elapsed() >= millis(40), "{:?}", began.elapsed());
        assert_eq!(carried.await.expect("the task ended"), CarryEnd::Closed);
    }

    #[tokio::test]
    async fn a_cut_drops_what_is_open() {
        let plan = ProxyPlan { cuts: vec![(30, 1_000)], ..ProxyPlan::clear(3) };
        let (mut client, mut service, carried) = pipe(plan);
        client.write_all(b"hello").await.expect("the proxy takes it");
        let mut received = vec![];
        service.read_to_end(&mut received).await.expect("a cut looks like an end");
        assert_eq!(received, b"hello");
        assert_eq!(client.read_to_end(&mut received).await.expect("a cut looks like an end"), 0);
        assert_eq!(carried.await.expect("the task ended"), CarryEnd::Cut);
    }
}
