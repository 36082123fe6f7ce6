//! N7: plain game loops over real sockets: two runners on a thread of their own, without async.

use std::sync::Arc;
use std::time::{Duration, Instant};

use retick_authority::room::SeatState;
use retick_authority::service::RoomPhase;
use retick_client::{BlockingConfig, BlockingRunner, LoopEvent, Reconnect, RoomCode};
use retick_core::client::ClientEvent;
use retick_core::digest::Checksum;
use retick_core::input::GameInput;
use retick_core::runner::{MatchUiState, OfflineOptions, RunnerError, RunnerEvent, Status};
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::Seat;
use retick_core::session::{SessionEvent, TickInputs};
use retick_core::tick::Tick;
use tokio::task::spawn_blocking;

use crate::game::{Push, descriptor, factory, room_config};
use crate::server::{DEADLINE, Server, local_config, room_is, soon};

/// Plays a script, and changes at almost every tick.
struct Script;

impl TickInputs for Script {
    fn bot(&mut self, seat: Seat, tick: Tick, packed: &mut Vec<u8>) {
        self.local(seat, tick, packed);
    }

    fn local(&mut self, seat: Seat, tick: Tick, packed: &mut Vec<u8>) {
        let push = (tick.index() / 2 * (u64::from(seat.number()) + 3)) % 1000;
        *packed = Push::schema().pack(&Push(push.cast_signed())).expect("within the schema");
    }
}

/// A game's loop around one runner, with what it was told.
struct Loop {
    matches: BlockingRunner,
    last: Instant,
    statuses: Vec<Status>,
    checksums: Vec<(Tick, Checksum)>,
}

impl Loop {
    fn new(config: BlockingConfig, game: &Arc<dyn RuntimeFactory>) -> Loop {
        let matches = BlockingRunner::new(config, game.clone()).expect("a runner");
        Loop { matches, last: Instant::now(), statuses: Vec::new(), checksums: Vec::new() }
    }

    /// One turn of the loop.
    fn turn(&mut self) -> Result<(), RunnerError> {
        let delta = self.last.elapsed();
        self.last += delta;
        let updated = self.matches.update(delta.as_secs_f64() * 1000.0, &mut Script);
        while let Some(event) = self.matches.next_event() {
            match event {
                LoopEvent::Runner(RunnerEvent::Status(status)) => self.statuses.push(status),
                LoopEvent::Runner(RunnerEvent::Match(ClientEvent::Session(SessionEvent::Checksum {
                    tick,
                    checksum,
                }))) => self.checksums.push((tick, checksum)),
                LoopEvent::Runner(_) | LoopEvent::Prepare(_) => {}
            }
        }
        updated
    }

    fn confirmed(&self) -> Tick {
        self.matches.runner().session().map_or(Tick::ZERO, |session| session.confirmed())
    }
}

/// Lets loops run, turn by turn, until `done`.
fn run<const N: usize>(what: &str, loops: &mut [Loop; N], mut done: impl FnMut(&[Loop; N]) -> bool) {
    let began = Instant::now();
    while !done(loops) {
        assert!(began.elapsed() < DEADLINE, "{what}: {:?}", loops.each_ref().map(|looped| looped.statuses.clone()));
        for looped in loops.iter_mut() {
            // A failure shows in the status.
            let _ = looped.turn();
        }
        loops[0].matches.wait(Duration::from_millis(4));
    }
}

fn code_of(code: retick_authority::service::RoomCode) -> RoomCode {
    code.to_string().parse().expect("a code is a code")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n7_plain_loops_play_in_a_room_reconnect_and_leave() {
    let (server, game) = (Server::start(local_config()), factory::<60>(b"one"));
    let code = server.handle.create_room(room_config(&game, 2)).expect("a room");
    let (status, address) = (server.status(code), server.address.to_string());
    let played = spawn_blocking(move || {
        let mut loops = [(); 2].map(|()| Loop::new(BlockingConfig::default(), &game));
        // One of them has played at this machine before.
        let offline = OfflineOptions::new(descriptor(&game, 2)).fill_with_bots();
        loops[0].matches.start_offline(&offline).expect("it plays this");
        run("offline", &mut loops, |loops| loops[0].confirmed() >= Tick::new(10));
        for looped in &mut loops {
            looped.matches.connect(address.clone(), code_of(code)).expect("a thread");
        }
        run("both are live", &mut loops, |loops| loops.iter().all(|looped| looped.confirmed() >= Tick::new(60)));
        assert_eq!(loops[0].statuses[..2], [Status::Offline, Status::Connecting]);
        assert_eq!(loops[0].matches.snapshot().room_code, Some(code.to_string().as_str()));
        for _ in 0..2 {
            loops[0].statuses.clear();
            let before = loops[0].confirmed();
            loops[0].matches.reconnect();
            run("it is back", &mut loops, |loops| {
                loops[0].statuses.ends_with(&[Status::Live]) && loops[0].confirmed() > before.saturating_add(20)
            });
            assert_eq!(loops[0].statuses[0], Status::Syncing);
        }
        let snapshot = loops[0].matches.snapshot();
        let net = snapshot.net.expect("networked");
        assert_eq!((net.client.desyncs, snapshot.ui_state()), (0, MatchUiState::Live));
        assert!(net.client.round_trip_micros.is_some() && net.client.sent_bytes > 0 && net.client.received_bytes > 0);
        for looped in &mut loops {
            looped.matches.leave().expect("it plays");
        }
        run("both have left", &mut loops, |loops| {
            loops.iter().all(|looped| looped.matches.snapshot().status == Status::Stopped)
        });
        loops.map(|looped| looped.checksums)
    });
    let [one, other] = soon("the loops end", played).await.expect("no panic");
    let common: Vec<_> = one.iter().filter(|seen| other.contains(seen)).collect();
    assert!(common.len() >= 4, "{common:?}");
    let differ = |(tick, checksum): &&(Tick, Checksum)| other.iter().any(|(at, seen)| at == tick && seen != checksum);
    // Offline play reports too, of another match; those stand before the first common state.
    let shared = one.iter().position(|seen| Some(seen) == common.first().copied()).expect("there is one");
    assert_eq!(one[shared..].iter().find(differ), None);
    room_is("nobody is left", &status, |status| status.phase == RoomPhase::Closed).await;
    assert_eq!(status.borrow().stats.desyncs, 0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n7_dropping_a_runner_ends_its_thread_and_the_room_sees_it_go() {
    let (server, game) = (Server::start(local_config()), factory::<60>(b"one"));
    let code = server.handle.create_room(room_config(&game, 1)).expect("a room");
    let (status, address) = (server.status(code), server.address.to_string());
    let dropped = spawn_blocking(move || {
        let mut loops = [Loop::new(BlockingConfig::default(), &game)];
        loops[0].matches.connect(address, code_of(code)).expect("a thread");
        run("it plays", &mut loops, |loops| loops[0].confirmed() >= Tick::new(20));
        // Returns only when the thread is gone.
        drop(loops);
    });
    soon("the thread ends", dropped).await.expect("no panic");
    room_is("its seat waits for it", &status, |status| status.seats == [SeatState::Disconnected]).await;
    server.stop().await;
}

/// What a service that is not there, or does not know the room, is to a runner.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n7_what_can_not_be_reached_is_a_typed_failure_and_the_next_start_works() {
    let (server, game) = (Server::start(local_config()), factory::<60>(b"one"));
    let code = server.handle.create_room(room_config(&game, 1)).expect("a room");
    let address = server.address.to_string();
    let played = spawn_blocking(move || {
        let reconnect = Reconnect { first_delay_millis: 10, max_delay_millis: 20, give_up_millis: 100 };
        let mut loops = [Loop::new(BlockingConfig { reconnect, ..BlockingConfig::default() }, &game)];
        let failed = |loops: &[Loop; 1]| loops[0].matches.snapshot().status == Status::Error;
        loops[0].matches.connect(address.clone(), "NO-SUCH-ROOM".parse().expect("it could be one")).expect("a thread");
        run("no such room", &mut loops, failed);
        let error = loops[0].matches.snapshot().error.expect("it failed");
        assert_eq!(
            (error.code(), error.to_string()),
            ("runner.transport-failed", "the transport failed: there is no such room".into())
        );
        // Nobody listens on the port that was free a moment ago.
        let nobody = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        loops[0].matches.connect(nobody.expect("a free port").to_string(), code_of(code)).expect("a thread");
        assert_eq!(loops[0].matches.snapshot().status, Status::Connecting);
        run("nobody listens", &mut loops, failed);
        assert_eq!(loops[0].matches.snapshot().error, Some(RunnerError::TransportDisconnected));
        loops[0].matches.connect(address, code_of(code)).expect("a thread");
        run("it plays", &mut loops, |loops| loops[0].confirmed() >= Tick::new(20));
        assert_eq!(loops[0].matches.snapshot().error, None);
    });
    soon("the loop ends", played).await.expect("no panic");
    server.stop().await;
}
