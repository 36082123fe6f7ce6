//! N7, N8: what a runner refuses and forgets; the room is played by hand. Whole matches are in the testing kit, preparations in
//! `runner_preparation`.

use crate::counter::{Add, Counter, descriptor, factory};
use retick_core::client::EndReason;
use retick_core::frame::{Frame, FrameRunWriter, SeatFrame};
use retick_core::identity::MatchDescriptor;
use retick_core::input::InputError;
use retick_core::runner::{
    Connection, Lifecycle, LinkId, MAX_CONFIRMED_FRAME_QUEUE, MAX_TRANSPORT_ERROR_BYTES, MatchUiState, Mode,
    NetworkedOptions, Occupancy, OfflineOptions, Output, PreparationRequest, Presentation, Runner, RunnerConfig,
    RunnerConfigError, RunnerError, RunnerEvent, Status, TransportEvent, ViewContext, controls_active, match_ui_state,
};
use retick_core::runtime::{CreateError, NativeFactory, RuntimeFactory};
use retick_core::seat::{ControlEpoch, Generation, Presence, Seat};
use retick_core::session::{CommandError, HeldInputs, LocalSetupError, MAX_STEPS_PER_UPDATE};
use retick_core::tick::Tick;
use retick_core::wire::{
    Claim, ClaimId, ClientMessage, CloseReason, Frames, History, ReleaseTag, ResumeToken, RoomClock, RoomMessage,
    RoomRules, Welcome,
};
use std::sync::Arc;

const RULES: RoomRules = RoomRules { hard_tolerance_ticks: 6, checksum_cadence_ticks: 10 };
pub const TICK_MILLIS: f64 = 1000.0 / 60.0;

pub fn seat(number: u8) -> Seat {
    Seat::new(number).unwrap()
}

fn runner(config: RunnerConfig) -> Runner {
    Runner::new(config, Arc::new(factory())).unwrap()
}

pub fn add(value: i64) -> Vec<u8> {
    factory().manifest().input_schema().pack(&Add(value)).unwrap()
}

/// What came out: messages as `Debug`, requests and events.
#[derive(Default, Debug)]
pub struct Out {
    pub messages: Vec<String>,
    pub requests: Vec<PreparationRequest>,
    pub hangups: Vec<LinkId>,
    pub events: Vec<RunnerEvent>,
}

impl Out {
    pub fn statuses(&self) -> Vec<Status> {
        let status = |event: &RunnerEvent| match event {
            RunnerEvent::Status(status) => Some(*status),
            _ => None,
        };
        self.events.iter().filter_map(status).collect()
    }
}

pub fn drain(runner: &mut Runner) -> Out {
    let mut out = Out::default();
    while let Some(output) = runner.poll_output() {
        match output {
            Output::Transmit { bytes, .. } => out.messages.push(format!("{:?}", ClientMessage::decode(bytes).unwrap())),
            Output::Hangup { link } => out.hangups.push(link),
            Output::Prepare(request) => out.requests.push(*request),
            Output::Event(event) => out.events.push(event),
        }
    }
    out
}

pub fn send(runner: &mut Runner, link: LinkId, message: &RoomMessage<'_>) {
    let mut bytes = vec![];
    message.encode_into(&mut bytes);
    runner.handle_transport(link, TransportEvent::Message(&bytes));
}

pub fn welcome(runner: &mut Runner, link: LinkId, descriptor: &MatchDescriptor) {
    let claim = Claim { seat: seat(1), id: ClaimId(1), epoch: ControlEpoch(1), token: ResumeToken([7; 32]) };
    let (claim, descriptor, rules, frontier) = (Some(claim), &descriptor.to_bytes(), RULES, Tick::ZERO);
    let history = History::Frames { next: Tick::ZERO };
    send(runner, link, &RoomMessage::Welcome(Welcome { claim, descriptor, rules, frontier, history }));
}

pub fn started(runner: &mut Runner, link: LinkId) {
    send(runner, link, &RoomMessage::Started { generation: Generation(0), clock: RoomClock::default() });
}

/// The bytes of a message with the frame of one tick, which stands alone.
pub fn frame_message(tick: u64, input: &[u8]) -> Vec<u8> {
    frame_message_of(Generation(0), tick, input)
}

pub fn frame_message_of(generation: Generation, tick: u64, input: &[u8]) -> Vec<u8> {
    let mut frame = Frame::new(generation, Tick::new(tick));
    for _ in 0..2 {
        frame.push_seat(SeatFrame { input: Some(input), presence: Presence::Human, ..SeatFrame::default() });
    }
    let (mut run, mut bytes) = (FrameRunWriter::default(), vec![]);
    run.push(&frame, None);
    let body = run.body();
    let (first, tag) = (Tick::new(tick), ReleaseTag::default());
    RoomMessage::Frames(Frames { generation, first, count: 1, complete: true, tag, body }).encode_into(&mut bytes);
    bytes
}

/// A runner on an open link, and that link.
pub fn connected(config: RunnerConfig, factory: Arc<dyn RuntimeFactory>) -> (Runner, LinkId) {
    let mut runner = Runner::new(config, factory).unwrap();
    let link = runner
        .start_networked(NetworkedOptions { room_code: Some("K3XW".into()), ..NetworkedOptions::default() })
        .unwrap();
    runner.handle_transport(link, TransportEvent::Connected);
    (runner, link)
}

/// A runner whose match has begun.
fn live() -> (Runner, LinkId) {
    let (mut runner, link) = connected(RunnerConfig::default(), Arc::new(factory()));
    welcome(&mut runner, link, &descriptor(2));
    started(&mut runner, link);
    drain(&mut runner);
    (runner, link)
}

#[test]
fn n7_a_config_that_contradicts_itself_makes_no_runner() {
    let check = |change: fn(&mut RunnerConfig), expected: Option<RunnerConfigError>| {
        let mut config = RunnerConfig::default();
        change(&mut config);
        let made = Runner::new(config, Arc::new(factory())).err();
        assert_eq!(made, expected.map(RunnerError::Config));
        assert!(made.is_none_or(|error| error.code() == "runner.config-invalid"));
    };
    check(|_| {}, None);
    check(|config| *config = RunnerConfig::mobile(), None);
    check(|config| config.max_offline_steps_per_update = MAX_STEPS_PER_UPDATE, None);
    check(|config| config.max_offline_steps_per_update = 0, Some(RunnerConfigError::OfflineSteps { found: 0 }));
    let found = MAX_STEPS_PER_UPDATE + 1;
    check(
        |config| config.max_offline_steps_per_update = MAX_STEPS_PER_UPDATE + 1,
        Some(RunnerConfigError::OfflineSteps { found }),
    );
    check(|config| config.client.max_confirmed_frames_per_turn = Some(0), Some(RunnerConfigError::NoTurn));
    check(|config| config.client.max_steps_per_turn = 0, Some(RunnerConfigError::NoTurn));
    check(|config| config.confirmed_frame_queue = MAX_CONFIRMED_FRAME_QUEUE, None);
    let (most, found) = (MAX_CONFIRMED_FRAME_QUEUE, MAX_CONFIRMED_FRAME_QUEUE + 1);
    check(
        |config| config.confirmed_frame_queue = MAX_CONFIRMED_FRAME_QUEUE + 1,
        Some(RunnerConfigError::FrameQueue { found, most }),
    );
    let window = 256;
    check(|config| config.offline_checksum_cadence_ticks = 256, None);
    for cadence in [0, 257] {
        let config = RunnerConfig { offline_checksum_cadence_ticks: cadence, ..RunnerConfig::default() };
        let made = Runner::new(config, Arc::new(factory())).err();
        assert_eq!(made, Some(RunnerError::Config(RunnerConfigError::Cadence { window, cadence })));
    }
}

#[test]
fn n8_a_delta_that_no_time_has_changes_nothing() {
    let mut runner = runner(RunnerConfig::default());
    runner.start_offline(&OfflineOptions::new(descriptor(2))).unwrap();
    runner.update(TICK_MILLIS * 1.5, &mut HeldInputs).unwrap();
    let before = format!("{:?}", runner.snapshot());
    for delta in [-0.001, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX] {
        let error = runner.update(delta, &mut HeldInputs).unwrap_err();
        assert_eq!((&error, error.code()), (&RunnerError::Delta, "runner.delta-invalid"));
        assert_eq!(format!("{:?}", runner.snapshot()), before, "{delta}");
    }
    assert_eq!(runner.update(0.0, &mut HeldInputs), Ok(()));
    assert_eq!(runner.session().unwrap().confirmed(), Tick::new(1));
}

#[test]
fn n8_an_update_after_a_long_sleep_is_bounded() {
    let mut runner = runner(RunnerConfig::default());
    runner.start_offline(&OfflineOptions::new(descriptor(2))).unwrap();
    runner.update(3_600_000.0, &mut HeldInputs).unwrap();
    assert_eq!(runner.session().unwrap().confirmed(), Tick::new(8));
    assert!((0.0..1.0).contains(&runner.snapshot().alpha));

    let (mut runner, link) = live();
    for tick in 0..150 {
        runner.handle_transport(link, TransportEvent::Message(&frame_message(tick, &add(1))));
    }
    for applied in [60, 120, 150] {
        runner.update(3_600_000.0, &mut HeldInputs).unwrap();
        let session = runner.session().unwrap();
        assert_eq!(session.confirmed(), Tick::new(applied));
        assert!(session.head().since(session.confirmed()) <= 4, "and predicts no more than a turn may");
        assert_eq!(runner.snapshot().net.unwrap().queued_frames, 150 - usize::try_from(applied).unwrap());
    }
}

#[test]
fn n7_one_runner_plays_seats_of_this_machine_and_bots() {
    let mut runner = runner(RunnerConfig::default());
    assert_eq!(runner.apply_input(&add(1)), Err(RunnerError::NotRunning));
    let mut options = OfflineOptions::new(descriptor(4));
    options.local_seats.insert(seat(2));
    runner.start_offline(&options.clone().fill_with_bots()).unwrap();
    runner.apply_input(&add(1)).unwrap();
    runner.apply_seat_input(seat(2), &add(20)).unwrap();
    assert_eq!(runner.apply_seat_input(seat(3), &add(1)), Err(RunnerError::SeatNotLocal { seat: seat(3) }));
    let short = InputError::Length { actual: 0, expected: 1 };
    let refused = RunnerError::Input { seat: Some(seat(0)), tick: None, error: short };
    assert_eq!(runner.apply_input(&[]), Err(refused.clone()));
    assert_eq!(refused.code(), "runner.input-invalid");
    let mut bots = |seat: Seat, _: Tick, packed: &mut Vec<u8>| *packed = add(if seat.number() == 1 { -3 } else { -4 });
    runner.update(TICK_MILLIS * 10.5, &mut bots).unwrap();
    // Eight ticks of 1 + 20 - 3 - 4.
    assert_eq!(runner.render_state().unwrap().current, (8 * 14i64).to_le_bytes());
    let snapshot = runner.snapshot();
    assert_eq!((snapshot.status, snapshot.local_seat, snapshot.rollbacks), (Status::Offline, Some(seat(0)), 0));
    assert_eq!((snapshot.applied_through, snapshot.predicted_through), (Some(Tick::new(7)), Some(Tick::new(7))));
    assert!(snapshot.ready && snapshot.net.is_none() && snapshot.controls_active());
    assert_eq!(snapshot.presence, [Presence::Human, Presence::Bot, Presence::Human, Presence::Bot]);
    let local_seats = options.local_seats;
    assert_eq!(snapshot.lifecycle, Lifecycle::Running { mode: Mode::Offline, local_seats, connection: None });
    assert_eq!(runner.request_command(&[2]), Ok(()));
    let long = RunnerError::Command(CommandError::TooLong { actual: 4097, limit: 4096 });
    assert_eq!((runner.request_command(&[0; 4097]), long.code()), (Err(long.clone()), "runner.command-refused"));
    assert_eq!(runner.send_ephemeral(b"hi"), Err(RunnerError::NotRunning));
    // What was held belongs to the match that is over.
    runner.start_offline(&options).unwrap();
    runner.update(TICK_MILLIS * 1.5, &mut bots).unwrap();
    assert_eq!(runner.render_state().unwrap().current, 0i64.to_le_bytes());
}

#[test]
fn n7_an_input_that_is_none_is_asked_for_again_and_ends_nothing() {
    let error = InputError::Length { actual: 0, expected: 1 };
    let (mut networked, _) = live();
    let mut offline = runner(RunnerConfig::default());
    offline.start_offline(&OfflineOptions::new(descriptor(2)).fill_with_bots()).unwrap();
    for (runner, wrong) in [(&mut networked, seat(1)), (&mut offline, seat(1))] {
        let mut asked = vec![];
        let mut inputs = Sampler(|seat: Seat, tick: Tick, packed: &mut Vec<u8>| {
            let is_first = seat == wrong && !asked.contains(&seat);
            asked.push(seat);
            *packed = if is_first { vec![] } else { add(i64::try_from(tick.index()).unwrap()) };
        });
        let refused = runner.update(TICK_MILLIS * 1.5, &mut inputs).unwrap_err();
        assert_eq!(refused, RunnerError::Input { seat: Some(wrong), tick: Some(Tick::ZERO), error });
        assert_ne!(runner.status(), Status::Error);
        assert_eq!(runner.update(TICK_MILLIS, &mut inputs), Ok(()));
        assert!(runner.session().unwrap().head() > Tick::ZERO, "and was");
    }
}

/// A sampler of every seat.
struct Sampler<F>(F);

impl<F: FnMut(Seat, Tick, &mut Vec<u8>)> retick_core::session::TickInputs for Sampler<F> {
    fn bot(&mut self, seat: Seat, tick: Tick, packed: &mut Vec<u8>) {
        (self.0)(seat, tick, packed);
    }

    fn local(&mut self, seat: Seat, tick: Tick, packed: &mut Vec<u8>) {
        (self.0)(seat, tick, packed);
    }
}

#[test]
fn n7_a_start_that_is_refused_leaves_the_runner_failed_and_the_next_one_works() {
    let mut runner = runner(RunnerConfig::default());
    runner.start_offline(&OfflineOptions::new(descriptor(2))).unwrap();
    let refused = runner.start_offline(&OfflineOptions::new(descriptor(3))).unwrap_err();
    assert_eq!(refused, RunnerError::StartRefused(CreateError::Refused { code: 33, log: vec![] }));
    assert_eq!(refused.code(), "runner.start-refused");
    assert_eq!(runner.lifecycle(), Lifecycle::Failed { error: refused.clone() });
    assert_eq!(runner.snapshot().error, Some(refused.clone()));
    assert_eq!(runner.update(1.0, &mut HeldInputs), Err(refused), "until the next start");
    let mut twice = OfflineOptions::new(descriptor(2));
    twice.bot_seats.insert(seat(0));
    let options = runner.start_offline(&twice).unwrap_err();
    assert_eq!(options, RunnerError::OfflineOptions(LocalSetupError::SeatTwice { seat: seat(0) }));
    assert_eq!(options.code(), "runner.offline-options-invalid");
    runner.start_offline(&OfflineOptions::new(descriptor(2))).unwrap();
    assert_eq!(runner.update(1.0, &mut HeldInputs), Ok(()));
    assert_eq!(drain(&mut runner).statuses(), [Status::Offline, Status::Error, Status::Offline]);
}

#[test]
fn n7_a_disposed_runner_takes_nothing_more() {
    let (mut runner, link) = live();
    runner.dispose();
    assert_eq!((runner.lifecycle(), runner.status()), (Lifecycle::Disposed, Status::Stopped));
    assert!(!runner.snapshot().controls_active());
    let out = drain(&mut runner);
    assert_eq!(out.hangups, [link]);
    let disposed = Err(RunnerError::Disposed);
    assert_eq!(runner.update(1.0, &mut HeldInputs), disposed);
    assert_eq!(runner.start_offline(&OfflineOptions::new(descriptor(2))), disposed);
    assert_eq!(runner.start_networked(NetworkedOptions::default()), Err(RunnerError::Disposed));
    assert_eq!((runner.stop(), runner.leave()), (disposed.clone(), disposed));
    assert_eq!(RunnerError::Disposed.code(), "runner.disposed");
    runner.handle_transport(link, TransportEvent::Connected);
    assert_eq!(runner.stats().stale_transport_events, 1);
}

/// One row of the reconnect table: what the transport says to a match that runs, and what becomes of it.
fn check_transport(event: TransportEvent<'_>, status: Status, error: Option<RunnerError>) {
    let (mut runner, link) = live();
    runner.handle_transport(link, TransportEvent::Message(&frame_message(0, &add(1))));
    runner.update(1.0, &mut HeldInputs).unwrap();
    assert_eq!(runner.status(), Status::Live, "guard");
    drain(&mut runner);
    runner.handle_transport(link, event);
    let snapshot = runner.snapshot();
    assert_eq!((snapshot.status, &snapshot.error), (status, &error), "{event:?}");
    assert_eq!(snapshot.render.is_some(), error.is_none(), "a terminal event tears down");
    let hangups = if error.is_some() { vec![link] } else { vec![] };
    assert_eq!(drain(&mut runner).hangups, hangups);
    if let Some(error) = error {
        assert_eq!(runner.update(1.0, &mut HeldInputs), Err(error));
        assert!(runner.start_networked(NetworkedOptions::default()).unwrap() > link, "the game offers to join again");
        assert_eq!((runner.status(), runner.snapshot().error), (Status::Connecting, None));
    }
}

#[test]
fn n7_the_reconnect_table() {
    check_transport(TransportEvent::Reconnecting, Status::Syncing, None);
    check_transport(TransportEvent::Disconnected, Status::Error, Some(RunnerError::TransportDisconnected));
    check_transport(TransportEvent::Error("no route"), Status::Error, Some(RunnerError::Transport("no route".into())));
    let (long, kept) = ("x".repeat(MAX_TRANSPORT_ERROR_BYTES + 1), "x".repeat(MAX_TRANSPORT_ERROR_BYTES));
    check_transport(TransportEvent::Error(&long), Status::Error, Some(RunnerError::Transport(kept.into())));
    assert_eq!(RunnerError::TransportDisconnected.code(), "runner.transport-disconnected");
    assert_eq!(RunnerError::Transport("".into()).code(), "runner.transport-failed");
    let occupancy = Occupancy { occupied: 2, max_players: 2, locked: false };
    check_transport(TransportEvent::Occupancy(occupancy), Status::Live, None);
    assert!(occupancy.is_full() && !Occupancy { occupied: 1, ..occupancy }.is_full());
}

#[test]
fn n7_a_room_s_end_ends_the_match_and_an_answered_leave_only_stops_it() {
    for (reason, status) in [(CloseReason::Left, Status::Stopped), (CloseReason::Superseded, Status::Error)] {
        let (mut runner, link) = live();
        runner.leave().unwrap();
        assert_eq!(runner.lifecycle().clone(), runner.snapshot().lifecycle, "it runs until the room has answered");
        assert!(drain(&mut runner).messages.contains(&"Leave".to_owned()));
        send(&mut runner, link, &RoomMessage::Closing(reason));
        assert_eq!(runner.status(), status, "{reason}");
        assert_eq!(drain(&mut runner).hangups, [link]);
    }
    let error = RunnerError::Ended(EndReason::Closed(CloseReason::Superseded));
    assert_eq!(error.code(), "client.closed");
    // Without a seat there is nothing to leave.
    let (mut runner, link) = connected(RunnerConfig::default(), Arc::new(factory()));
    runner.leave().unwrap();
    assert_eq!((runner.status(), drain(&mut runner).hangups), (Status::Stopped, vec![link]));
}

#[test]
fn n7_messages_of_a_link_that_is_over_reach_no_later_match() {
    let (mut runner, old) = live();
    let link = runner.start_networked(NetworkedOptions::default()).unwrap();
    assert!(link > old);
    runner.handle_transport(link, TransportEvent::Connected);
    welcome(&mut runner, link, &descriptor(2));
    started(&mut runner, link);
    for event in [
        TransportEvent::Message(&frame_message(0, &add(9))),
        TransportEvent::Reconnecting,
        TransportEvent::Disconnected,
    ] {
        runner.handle_transport(old, event);
    }
    assert_eq!(runner.stats().stale_transport_events, 3);
    let session = runner.session().unwrap();
    assert_eq!((session.received(), runner.snapshot().connection), (Tick::ZERO, Some(Connection::Connected)));
    assert_eq!(drain(&mut runner).hangups, [old]);
    // A message between two transports is of neither.
    runner.handle_transport(link, TransportEvent::Reconnecting);
    runner.handle_transport(link, TransportEvent::Message(&frame_message(0, &add(9))));
    assert_eq!(runner.snapshot().net.unwrap().stray_messages, 1);
    assert_eq!(runner.session().unwrap().received(), Tick::ZERO);
}

/// What waited for a transport that is being replaced is not for the next one: there the greeting comes first.
#[test]
fn n7_messages_that_waited_for_a_lost_transport_are_not_sent_on_the_next() {
    let (mut runner, link) = live();
    runner.send_ephemeral(b"late").unwrap();
    runner.handle_transport(link, TransportEvent::Reconnecting);
    runner.handle_transport(link, TransportEvent::Connected);
    let messages = drain(&mut runner).messages;
    assert!(messages.len() == 1 && messages[0].starts_with("Hello"), "{messages:?}");
}

#[test]
fn n7_what_a_match_s_screen_shows() {
    use MatchUiState as Ui;
    let (connected, lost) = (Some(Connection::Connected), Some(Connection::Reconnecting));
    let table = [
        (Status::Offline, true, None, Ui::Offline, true),
        (Status::Connecting, false, None, Ui::Connecting, false),
        (Status::Connecting, false, connected, Ui::Connecting, false),
        (Status::Connecting, false, lost, Ui::Connecting, false),
        (Status::Syncing, false, connected, Ui::Connecting, false),
        (Status::Syncing, true, None, Ui::Connecting, false),
        (Status::Syncing, true, connected, Ui::CatchingUp, true),
        (Status::Syncing, true, lost, Ui::Reconnecting, false),
        (Status::Syncing, false, lost, Ui::Reconnecting, false),
        (Status::Live, true, connected, Ui::Live, true),
        (Status::Live, false, connected, Ui::Live, false),
        (Status::Stopped, false, None, Ui::Stopped, false),
        (Status::Error, false, None, Ui::Error, false),
        (Status::Error, true, connected, Ui::Error, false),
    ];
    for (status, ready, connection, shown, controls) in table {
        assert_eq!(match_ui_state(status, ready, connection), shown, "{status:?} {ready} {connection:?}");
        assert_eq!(controls_active(status, ready, connection), controls, "{status:?} {ready} {connection:?}");
    }
}

/// The sum, as a picture of its own type.
struct Sum;

impl Presentation for Sum {
    type View = (f64, Status);

    fn project(&self, projection: &[u8], context: ViewContext) -> (f64, Status) {
        let sum = i64::from_le_bytes(projection.try_into().unwrap());
        (f64::from(i32::try_from(sum).unwrap()), context.status)
    }

    fn interpolate(&self, previous: (f64, Status), current: (f64, Status), alpha: f64) -> (f64, Status) {
        (previous.0 + (current.0 - previous.0) * alpha, current.1)
    }
}

#[test]
fn n7_a_picture_lies_between_the_tick_before_and_the_present_one() {
    let mut runner = runner(RunnerConfig::default());
    assert_eq!(runner.view(&Sum), Err(RunnerError::NoRenderState));
    assert_eq!(RunnerError::NoRenderState.code(), "runner.no-render-state");
    runner.start_offline(&OfflineOptions::new(descriptor(2))).unwrap();
    runner.apply_input(&add(8)).unwrap();
    for (quarters, sum) in [(1, 0.0), (2, 0.0), (3, 0.0), (4, 0.0), (5, 2.0), (6, 4.0), (7, 6.0), (8, 8.0), (9, 10.0)] {
        runner.update(TICK_MILLIS / 4.0, &mut HeldInputs).unwrap();
        let (shown, status) = runner.view(&Sum).unwrap();
        assert!((shown - sum).abs() < 1e-4, "{quarters} quarters: {shown}");
        assert_eq!(status, Status::Offline);
    }
    runner.stop().unwrap();
    assert_eq!(runner.view(&Sum), Err(RunnerError::NoRenderState), "nothing of the match is left");
}

#[test]
fn n7_the_code_of_an_end_is_stable() {
    let code = |reason| RunnerError::Ended(reason).code();
    assert_eq!(code(EndReason::Protocol), "client.protocol");
    let other = NativeFactory::<Counter>::new(|sources| sources.module("counter.rs", b"other rules")).unwrap();
    let (mut runner, link) = connected(RunnerConfig::default(), Arc::new(other));
    welcome(&mut runner, link, &descriptor(2));
    assert_eq!(runner.snapshot().error.unwrap().code(), "client.identity-mismatch");
}
