//! N1, A7, A9: what ends a client, and which requests it does not send; a room is played by hand, and breaks each of its rules.

use retick_core::client::{
    Client, ClientConfig, ClientEvent, ClientStatus, EndReason, MAX_LOSSY_MESSAGE_BYTES, MAX_REDUNDANT_INPUTS, Output,
    RequestError, Transport,
};
use retick_core::codec::wire::WireError;
use retick_core::config::SessionConfig;
use retick_core::frame::{Frame, FrameError, FrameRunWriter, MAX_COMMAND_BYTES, SeatFrame};
use retick_core::identity::{DescriptorError, MatchDescriptor};
use retick_core::rng::SessionSeed;
use retick_core::runtime::{AdvanceError, CreateError, NativeFactory, RuntimeFactory};
use retick_core::seat::{ControlEpoch, Generation, Presence, Seat};
use retick_core::session::{ConfirmError, SessionError, SessionFault};
use retick_core::tick::{Moment, Tick};
use retick_core::wire::{
    Claim, ClaimId, ClientMessage, Frames, History, MAX_EPHEMERAL_BYTES, MessageError, ReleaseTag, ResumeToken,
    RoomClock, RoomMessage, RoomRules, Welcome,
};

use crate::counter::{Counter, descriptor, factory, frame, seats};
use crate::events;

const GENERATION: Generation = Generation(0);
const RULES: RoomRules = RoomRules { hard_tolerance_ticks: 6, checksum_cadence_ticks: 1 };

/// A client with a transport, and the game that it has loaded.
fn connected(factory: impl RuntimeFactory + 'static) -> Client {
    let mut client = Client::new(ClientConfig::default(), Box::new(factory));
    client.handle_connected(Moment::ZERO);
    client
}

/// The same, greeted, and in a match that has begun.
fn live(factory: impl RuntimeFactory + 'static, descriptor: &MatchDescriptor) -> Client {
    let mut client = connected(factory);
    welcome(&mut client, &descriptor.to_bytes(), 0, RULES).unwrap();
    send(&mut client, &RoomMessage::Started { generation: GENERATION, clock: RoomClock::default() }).unwrap();
    outputs(&mut client);
    client
}

fn counting() -> Client {
    live(factory(), &descriptor(2))
}

fn send(client: &mut Client, message: &RoomMessage<'_>) -> Result<(), EndReason> {
    let mut bytes = vec![];
    message.encode_into(&mut bytes);
    client.handle_message(&bytes, Moment::ZERO)
}

fn welcome(client: &mut Client, descriptor: &[u8], seat: u8, rules: RoomRules) -> Result<(), EndReason> {
    let (seat, id, epoch) = (Seat::new(seat).unwrap(), ClaimId(1), ControlEpoch(1));
    let claim = Claim { seat, id, epoch, token: ResumeToken([7; 32]) };
    let history = History::Frames { next: Tick::ZERO };
    let frontier = Tick::ZERO;
    send(client, &RoomMessage::Welcome(Welcome { claim: Some(claim), descriptor, rules, frontier, history }))
}

/// What the first of several frames is written against.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stands {
    Alone,
    OnTheLast,
}

/// Sends frames of consecutive ticks from `first` on.
fn send_frames(client: &mut Client, first: u64, count: u32, stands: Stands, body: &[u8]) -> Result<(), EndReason> {
    let (generation, first, tag) = (GENERATION, Tick::new(first), ReleaseTag::default());
    let complete = stands == Stands::Alone;
    send(client, &RoomMessage::Frames(Frames { generation, first, count, complete, tag, body }))
}

fn body(frame: &Frame, base: Option<&Frame>) -> Vec<u8> {
    let mut run = FrameRunWriter::default();
    run.push(frame, base);
    run.body().to_vec()
}

/// Everything that comes out: the messages, decoded as `Debug`, and the events.
fn outputs(client: &mut Client) -> (Vec<String>, Vec<ClientEvent>) {
    let (mut messages, mut events) = (vec![], vec![]);
    while let Some(output) = client.poll_output() {
        match output {
            Output::Transmit(bytes) => messages.push(format!("{:?}", ClientMessage::decode(bytes).unwrap())),
            Output::Event(event) => events.push(event),
        }
    }
    (messages, events)
}

/// The client ends with this reason, says so once, and takes nothing more; what it had stays as it was.
fn check_end(mut client: Client, break_rule: impl FnOnce(&mut Client) -> Result<(), EndReason>, expected: &EndReason) {
    let before = held(&client);
    outputs(&mut client);
    assert_eq!(break_rule(&mut client), Err(expected.clone()));
    assert_eq!((client.end(), client.status()), (Some(expected), ClientStatus::Ended));
    assert_eq!(held(&client), before, "{expected}");
    assert_eq!(outputs(&mut client), (vec![], vec![ClientEvent::Ended(expected.clone())]));
    assert_eq!(welcome(&mut client, &descriptor(2).to_bytes(), 0, RULES), Err(expected.clone()));
    assert_eq!(client.step(), Err(expected.clone()));
    client.handle_connected(Moment::ZERO);
    assert_eq!(outputs(&mut client), (vec![], vec![]), "{expected}: it is over once");
    assert_eq!((client.wanted_input(), client.next_timeout()), (None, None));
}

/// What a client holds of a match.
fn held(client: &Client) -> impl PartialEq + std::fmt::Debug + use<> {
    let session = client.session().map(|session| (session.confirmed(), session.received()));
    (client.seat(), client.claim(), session, client.chain_head())
}

#[test]
fn k12_a_greeting_of_a_match_that_can_t_be_played_ends_the_client() {
    let other = NativeFactory::<Counter>::new(|sources| sources.module("counter.rs", b"other rules")).unwrap();
    let (room, loaded) = (factory().manifest().identity(), other.manifest().identity());
    let foreign = |client: &mut Client| welcome(client, &descriptor(2).to_bytes(), 0, RULES);
    check_end(connected(other), foreign, &EndReason::Identity { room, loaded });

    let bytes = descriptor(2).to_bytes();
    let cut = |client: &mut Client| welcome(client, &bytes[..bytes.len() - 1], 0, RULES);
    let malformed = DescriptorError::Encoding(WireError::Malformed);
    check_end(connected(factory()), cut, &EndReason::Descriptor(malformed));
    let longer = |client: &mut Client| welcome(client, &[&bytes[..], &[0]].concat(), 0, RULES);
    let trailing = DescriptorError::Encoding(WireError::NotCanonical { offset: bytes.len() });
    check_end(connected(factory()), longer, &EndReason::Descriptor(trailing));

    for (count, error) in
        [(3, CreateError::Refused { code: 33, log: vec![] }), (5, CreateError::Seats { seats: 5, least: 1, most: 4 })]
    {
        let refused = |client: &mut Client| welcome(client, &descriptor(count).to_bytes(), 0, RULES);
        check_end(connected(factory()), refused, &EndReason::Create(error));
    }

    let window = ClientConfig::default().checkpoint_window_ticks;
    for cadence in [0, window + 1] {
        let rules = RoomRules { checksum_cadence_ticks: cadence, ..RULES };
        let cadenced = |client: &mut Client| welcome(client, &bytes, 0, rules);
        let error = SessionError::Cadence { window, cadence };
        check_end(connected(factory()), cadenced, &EndReason::Session(error));
    }
    // A7: beside the cadence the window must hold the slowest round trip, one second.
    for (cadence, fits) in [(window - 60, true), (window - 59, false)] {
        let rules = RoomRules { checksum_cadence_ticks: cadence, ..RULES };
        let cadenced = |client: &mut Client| welcome(client, &bytes, 0, rules);
        if fits {
            assert_eq!(cadenced(&mut connected(factory())), Ok(()));
        } else {
            let error = EndReason::CheckpointWindow { window_ticks: window, needed_ticks: u64::from(window) + 1 };
            check_end(connected(factory()), cadenced, &error);
        }
    }
    let beyond = |client: &mut Client| welcome(client, &bytes, 2, RULES);
    check_end(connected(factory()), beyond, &EndReason::Protocol);
}

#[test]
fn a6_another_match_or_seat_after_a_reconnect_ends_the_client() {
    let reconnected = || {
        let mut client = counting();
        client.handle_disconnected(Moment::ZERO);
        client.handle_connected(Moment::ZERO);
        client
    };
    assert_eq!(welcome(&mut reconnected(), &descriptor(2).to_bytes(), 0, RULES), Ok(()), "guard");
    let (config, seed) = (SessionConfig::empty(), SessionSeed::from_u64(10));
    let other = MatchDescriptor::new(factory().manifest(), config, seed, seats(2));
    let (before, after) = (descriptor(2).digest(), other.digest());
    let changed = |client: &mut Client| welcome(client, &other.to_bytes(), 0, RULES);
    check_end(reconnected(), changed, &EndReason::MatchChanged { before, after });
    let moved = |client: &mut Client| welcome(client, &descriptor(2).to_bytes(), 1, RULES);
    check_end(reconnected(), moved, &EndReason::Protocol);
}

#[test]
fn k13_bytes_that_are_no_message_end_the_client() {
    let ends = |bytes: &[u8], error| {
        let take = |client: &mut Client| client.handle_message(bytes, Moment::ZERO);
        check_end(counting(), take, &EndReason::Message(error));
    };
    ends(b"", MessageError::Encoding(WireError::Malformed));
    ends(b"\xFFhello", MessageError::Encoding(WireError::Malformed));
    // A closing message, and a byte behind it.
    ends(&[7, 5, 0], MessageError::Encoding(WireError::NotCanonical { offset: 2 }));
    let none = |client: &mut Client| send_frames(client, 0, 0, Stands::Alone, b"");
    check_end(counting(), none, &EndReason::Message(MessageError::Limit));
}

#[test]
fn a2_frames_that_do_not_decode_end_the_client() {
    let (first, second) = (frame(0), frame(1));
    let ends = |stands: Stands, bytes: &[u8], error| {
        let take = |client: &mut Client| send_frames(client, 0, 1, stands, bytes);
        check_end(counting(), take, &EndReason::Frame(error));
    };
    let whole = body(&first, None);
    ends(Stands::Alone, &whole[..whole.len() - 1], FrameError::Encoding(WireError::Malformed));
    ends(Stands::Alone, &body(&second, Some(&first)), FrameError::NoBase);
    ends(Stands::OnTheLast, &whole, FrameError::NoBase);
    let mut crowded = Frame::new(GENERATION, Tick::ZERO);
    (0..3).for_each(|_| crowded.push_seat(SeatFrame::default()));
    ends(Stands::Alone, &body(&crowded, None), FrameError::Limit);

    // Behind a first frame that is good: an abbreviated one that repeats it, and one that skips a tick.
    let begun = || {
        let mut client = counting();
        send_frames(&mut client, 0, 1, Stands::Alone, &whole).unwrap();
        client
    };
    let after = |client: &mut Client| send_frames(client, 1, 1, Stands::OnTheLast, &body(&second, Some(&first)));
    assert_eq!(after(&mut begun()), Ok(()), "guard");
    let same = |client: &mut Client| send_frames(client, 1, 1, Stands::OnTheLast, &body(&renumbered(&first, 1), None));
    check_end(begun(), same, &EndReason::Frame(FrameError::NotAbbreviated));
    let skips = |client: &mut Client| send_frames(client, 2, 1, Stands::OnTheLast, &body(&frame(2), Some(&second)));
    check_end(begun(), skips, &EndReason::Frame(FrameError::NoBase));
}

/// The same frame for another tick.
fn renumbered(frame: &Frame, tick: u64) -> Frame {
    let mut other = Frame::new(frame.generation(), Tick::new(tick));
    frame.seats().for_each(|seat| other.push_seat(seat));
    frame.commands().for_each(|(source, payload)| other.push_command(source, payload));
    other
}

#[test]
fn i1_a_frame_out_of_order_ends_the_client() {
    for found in [1, 2, u64::MAX] {
        let late = |client: &mut Client| send_frames(client, found, 1, Stands::Alone, &body(&frame(1), None));
        let error = ConfirmError::NotNext { expected: Tick::ZERO, found: Tick::new(found) };
        check_end(counting(), late, &EndReason::Order(error));
    }
    let trailing = [body(&frame(0), None), vec![0]].concat();
    let mut client = counting();
    let error = FrameError::Encoding(WireError::NotCanonical { offset: trailing.len() - 1 });
    assert_eq!(send_frames(&mut client, 0, 1, Stands::Alone, &trailing), Err(EndReason::Frame(error)));
}

/// The game of the event tests has no canonical form from `S(8)` on, and so no checksum to report.
#[test]
fn w5_a_session_that_faults_ends_the_client() {
    let mut client = live(events::factory(), &events::descriptor());
    for tick in 0..8 {
        let mut frame = Frame::new(GENERATION, Tick::new(tick));
        frame.push_seat(SeatFrame { input: Some(&[0]), ..SeatFrame::default() });
        send_frames(&mut client, tick, 1, Stands::Alone, &body(&frame, None)).unwrap();
    }
    let Err(EndReason::Fault(SessionFault::Capture(error))) = client.step() else { panic!("it went on") };
    assert!(matches!(error, AdvanceError::Capture { tick, .. } if tick == Tick::new(8)));
    let expected = EndReason::Fault(SessionFault::Capture(error));
    assert_eq!(client.step(), Err(expected.clone()));
    assert_eq!(client.end(), Some(&expected));
    let ended = outputs(&mut client).1.into_iter().filter(|event| matches!(event, ClientEvent::Ended(_)));
    assert_eq!(ended.collect::<Vec<_>>(), [ClientEvent::Ended(expected)]);
}

/// Each request of a client, with this many bytes where it has any.
fn requests(client: &mut Client, length: usize) -> [Result<(), RequestError>; 3] {
    let payload = vec![7; length];
    [client.request_command(&payload), client.send_ephemeral(&payload), client.leave()]
}

#[test]
fn a9_nothing_is_requested_without_a_seat_and_a_transport() {
    let nothing = |mut client: Client, what: &str| {
        outputs(&mut client);
        assert_eq!(requests(&mut client, 1), [const { Err(RequestError::NotConnected) }; 3], "{what}");
        assert_eq!(outputs(&mut client), (vec![], vec![]), "{what}");
    };
    nothing(Client::new(ClientConfig::default(), Box::new(factory())), "no transport");
    nothing(connected(factory()), "no greeting");
    let mut lost = counting();
    lost.handle_disconnected(Moment::ZERO);
    nothing(lost, "the transport is lost");
    let mut resuming = counting();
    resuming.handle_disconnected(Moment::ZERO);
    resuming.handle_connected(Moment::ZERO);
    nothing(resuming, "the room has not answered yet");
    let mut over = counting();
    assert!(over.handle_message(b"", Moment::ZERO).is_err());
    nothing(over, "over");
    let mut client = counting();
    assert_eq!(requests(&mut client, 1), [Ok(()); 3], "guard");
    assert_eq!(outputs(&mut client).0.len(), 3);
}

#[test]
fn a9_requests_end_at_their_limits() {
    let mut client = counting();
    let too_long = |actual, limit| Err(RequestError::TooLong { actual, limit });
    let (command, ephemeral) = (MAX_COMMAND_BYTES + 1, MAX_EPHEMERAL_BYTES + 1);
    assert_eq!(client.request_command(&vec![7; command]), too_long(command, MAX_COMMAND_BYTES));
    assert_eq!(client.send_ephemeral(&vec![7; ephemeral]), too_long(ephemeral, MAX_EPHEMERAL_BYTES));
    assert_eq!(outputs(&mut client), (vec![], vec![]));
    assert_eq!(client.request_command(&[7; MAX_COMMAND_BYTES]), Ok(()));
    assert_eq!(client.send_ephemeral(&[7; MAX_EPHEMERAL_BYTES]), Ok(()));
    let sent = outputs(&mut client).0;
    // What was refused has used no number up.
    assert!(sent.len() == 2 && sent[0].contains("sequence: 1,") && sent[1].starts_with("Ephemeral"));
}

#[test]
fn k7_a_game_without_commands_requests_none() {
    let mut client = live(events::factory(), &events::descriptor());
    for length in [0, 1, MAX_COMMAND_BYTES + 1] {
        assert_eq!(client.request_command(&vec![7; length]), Err(RequestError::CommandsUnsupported));
    }
    assert_eq!(outputs(&mut client), (vec![], vec![]));
}

/// A client with this config in a match that has begun, at the moment at which it did.
fn live_with(config: ClientConfig) -> Client {
    let mut client = Client::new(config, Box::new(factory()));
    client.handle_connected(Moment::ZERO);
    welcome(&mut client, &descriptor(2).to_bytes(), 0, RULES).unwrap();
    send(&mut client, &RoomMessage::Started { generation: GENERATION, clock: RoomClock::default() }).unwrap();
    outputs(&mut client);
    client
}

fn sample(client: &mut Client) {
    let neutral = factory().manifest().input_schema().neutral().to_vec();
    while client.wanted_input().is_some() {
        client.submit_input(&neutral).unwrap();
    }
}

/// However often it is stepped, and whatever arrives meanwhile: a turn is one turn.
#[test]
fn n6_messages_and_steps_between_two_turns_share_the_budget() {
    let config =
        ClientConfig { max_confirmed_frames_per_turn: Some(2), max_steps_per_turn: 3, ..ClientConfig::default() };
    let mut client = live_with(config);
    let confirmed = |client: &Client| client.session().unwrap().confirmed().index();
    // A turn in which nothing has arrived predicts three ticks, however often it is stepped.
    let later = Moment::from_millis(200);
    client.handle_turn(later);
    sample(&mut client);
    let predicted: u64 = (0..4).map(|_| client.step().unwrap().predicted).sum();
    assert_eq!(predicted, 3);
    // Two frames of seven in the next, although a message arrives between its steps; then two more.
    for (turn, frames) in [(1, [0, 4]), (2, [4, 7])] {
        client.handle_turn(later);
        for tick in frames[0]..frames[1] {
            send_frames(&mut client, tick, 1, Stands::Alone, &body(&as_guessed(tick), None)).unwrap();
            assert_eq!(client.step().unwrap().resimulated, 0);
        }
        assert_eq!(confirmed(&client), 2 * turn);
    }
    assert_eq!(client.stats().queued_frames, 3);
}

/// Nobody moves, as was guessed.
fn as_guessed(tick: u64) -> Frame {
    let (mut frame, neutral) =
        (Frame::new(GENERATION, Tick::new(tick)), factory().manifest().input_schema().neutral().to_vec());
    for _ in 0..2 {
        let (presence, epoch) = (Presence::Human, ControlEpoch(0));
        frame.push_seat(SeatFrame { input: Some(&neutral), substituted: false, presence, epoch });
    }
    frame
}

#[test]
fn n6_a_turn_rolls_back_once_however_many_corrections_arrive() {
    let mut client = live_with(ClientConfig::default());
    for turn in 1..=2_u64 {
        client.handle_turn(Moment::from_millis(200));
        sample(&mut client);
        client.step().unwrap();
        let corrections = (0..3).map(|message| {
            let tick = 3 * (turn - 1) + message;
            send_frames(&mut client, tick, 1, Stands::Alone, &body(&frame(tick), None)).unwrap();
            u64::from(client.step().unwrap().resimulated > 0)
        });
        assert_eq!(corrections.sum::<u64>(), u64::from(turn == 1), "turn {turn}");
    }
    // The second turn's first step took all that had waited, and rolled back for it before anything arrived.
    assert_eq!(client.stats().rollbacks, 2);
}

/// What was never confirmed is sent again with every message, the oldest first, and no message outgrows a datagram.
#[test]
fn n2_what_is_repeated_on_a_lossy_transport_is_bounded() {
    let mut client = live_with(ClientConfig { transport: Transport::Lossy, ..ClientConfig::default() });
    let mut longest = 0;
    for turn in 0..400_u64 {
        client.handle_turn(Moment::from_millis(17 * turn));
        sample(&mut client);
        client.step().unwrap();
        let mut messages = 0;
        while let Some(output) = client.poll_output() {
            let Output::Transmit(bytes) = output else { continue };
            let Ok(ClientMessage::Inputs(inputs)) = ClientMessage::decode(bytes) else { continue };
            assert!(bytes.len() <= MAX_LOSSY_MESSAGE_BYTES, "{} bytes", bytes.len());
            assert!(inputs.inputs.len() as u64 <= MAX_REDUNDANT_INPUTS);
            assert!(messages > 0 || inputs.first == Tick::ZERO, "the oldest comes first, again and again");
            longest = longest.max(inputs.inputs.len());
            messages += 1;
        }
        assert!(messages <= 2, "turn {turn}: {messages} messages");
    }
    // The look-ahead of two seconds is the end of it.
    assert!(longest > 100, "guard: {longest}");
}
