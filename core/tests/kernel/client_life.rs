//! A5, A10, A14, A15: what a client makes of its match's life; a room is played by hand.

use retick_core::client::{
    Client, ClientConfig, ClientEvent, ClientRole, ClientStatus, EndReason, MatchResult, Output, RequestError,
};
use retick_core::config::SessionConfig;
use retick_core::frame::{Frame, FrameError, FrameRunWriter};
use retick_core::identity::MatchDescriptor;
use retick_core::rng::SessionSeed;
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::{ControlEpoch, Generation, Seat};
use retick_core::tick::{Moment, Tick, TickRate};
use retick_core::wire::{
    Claim, ClaimId, ClientMessage, Entry, Frames, History, ReleaseTag, ResumeToken, RoomClock, RoomMessage, RoomRules,
    Settlement, Welcome,
};

use crate::counter::{Add, descriptor, factory, frame, seats};
use retick_core::input::GameInput;

const RULES: RoomRules = RoomRules { hard_tolerance_ticks: 6, checksum_cadence_ticks: 1 };
const OLD: Generation = Generation(0);
const NEW: Generation = Generation(1);

/// A client, and the caller's time.
struct Peer {
    client: Client,
    now: Moment,
}

impl Peer {
    fn connected(role: ClientRole) -> Peer {
        let mut client = Client::new(ClientConfig { role, ..ClientConfig::default() }, Box::new(factory()));
        client.handle_connected(Moment::ZERO);
        Peer { client, now: Moment::ZERO }
    }

    /// A player whose match has begun.
    fn playing() -> Peer {
        let mut peer = Peer::connected(ClientRole::Player);
        peer.welcome(&descriptor(2), Some(1), 0).unwrap();
        peer.start(OLD);
        peer.outputs();
        peer
    }

    fn receive(&mut self, message: &RoomMessage<'_>) -> Result<(), EndReason> {
        let mut bytes = vec![];
        message.encode_into(&mut bytes);
        self.client.handle_message(&bytes, self.now)
    }

    fn welcome(&mut self, descriptor: &MatchDescriptor, epoch: Option<u32>, frontier: u64) -> Result<(), EndReason> {
        let (seat, id, token) = (Seat::new(0).unwrap(), ClaimId(1), ResumeToken([7; 32]));
        let claim = epoch.map(|epoch| Claim { seat, id, epoch: ControlEpoch(epoch), token });
        let (descriptor, frontier) = (&descriptor.to_bytes()[..], Tick::new(frontier));
        let history = History::Frames { next: Tick::ZERO };
        self.receive(&RoomMessage::Welcome(Welcome { claim, descriptor, rules: RULES, frontier, history }))
    }

    fn start(&mut self, generation: Generation) {
        self.receive(&RoomMessage::Started { generation, clock: RoomClock::default() }).unwrap();
    }

    fn frames(&mut self, generation: Generation, first: u64, count: u32) -> Result<(), EndReason> {
        let (mut run, mut last) = (FrameRunWriter::default(), None);
        for tick in first..first + u64::from(count) {
            let frame = of(generation, tick);
            run.push(&frame, last.as_ref());
            last = Some(frame);
        }
        let (first, tag) = (Tick::new(first), ReleaseTag::default());
        self.receive(&RoomMessage::Frames(Frames { generation, first, count, complete: true, tag, body: run.body() }))
    }

    /// A turn, at this time.
    fn turn(&mut self, millis: u64) {
        self.now = Moment::from_millis(millis);
        self.client.handle_turn(self.now);
        while self.client.wanted_input().is_some() {
            self.client.submit_input(&Add::schema().pack(&Add(1)).unwrap()).unwrap();
        }
        self.client.step().unwrap();
    }

    fn outputs(&mut self) -> (Vec<String>, Vec<ClientEvent>) {
        let (mut messages, mut events) = (vec![], vec![]);
        while let Some(output) = self.client.poll_output() {
            match output {
                Output::Transmit(bytes) => messages.push(format!("{:?}", ClientMessage::decode(bytes).unwrap())),
                Output::Event(event) => events.push(event),
            }
        }
        (messages, events)
    }

    fn confirmed(&self) -> u64 {
        self.client.session().unwrap().confirmed().index()
    }
}

/// The same frames in every generation.
fn of(generation: Generation, tick: u64) -> Frame {
    let mut other = Frame::new(generation, Tick::new(tick));
    frame(tick).seats().for_each(|seat| other.push_seat(seat));
    other
}

fn next_generation() -> MatchDescriptor {
    descriptor(2).reconfigured(SessionConfig::empty()).unwrap()
}

#[test]
fn a10_a_new_generation_starts_the_session_over() {
    let mut peer = Peer::playing();
    peer.frames(OLD, 0, 5).unwrap();
    let (before, descriptor) = (peer.client.chain_head(), next_generation().to_bytes());
    peer.receive(&RoomMessage::Reconfigured { descriptor: &descriptor }).unwrap();
    let (messages, events) = peer.outputs();
    assert!(messages.contains(&format!("{:?}", ClientMessage::Ready { generation: NEW })), "{messages:?}");
    assert!(events.contains(&ClientEvent::Reconfigured { generation: NEW }));
    // What the old generation had confirmed was applied before.
    let checksums = events.iter().filter(|event| format!("{event:?}").contains("Checksum")).count();
    assert_eq!(checksums, 5);
    assert_eq!((peer.confirmed(), peer.client.status()), (0, ClientStatus::Waiting));
    assert_ne!(peer.client.chain_head(), before);
    assert_eq!(peer.client.descriptor().map(MatchDescriptor::generation), Some(NEW));
    // It plays on from tick 0, in the new generation.
    peer.start(NEW);
    peer.turn(50);
    let (messages, _) = peer.outputs();
    let inputs = messages.iter().find(|message| message.starts_with("Inputs")).unwrap();
    assert!(inputs.contains("Generation(1)") && inputs.contains("first: Tick(0)"), "{inputs}");
    peer.frames(NEW, 0, 3).unwrap();
    peer.turn(60);
    assert_eq!(peer.confirmed(), 3);
    assert_eq!(peer.frames(OLD, 5, 1), Err(EndReason::Protocol), "frames of the old generation have no place any more");
}

/// The fault that this caught: a client that had joined late waited for as many ticks of the new generation as it had missed of
/// the old one, and sent no input.
#[test]
fn a10_a_late_joiner_plays_from_tick_0_of_a_new_generation() {
    let mut peer = Peer::connected(ClientRole::Player);
    peer.welcome(&descriptor(2), Some(1), 4).unwrap();
    peer.start(OLD);
    peer.frames(OLD, 0, 6).unwrap();
    peer.turn(10);
    peer.receive(&RoomMessage::Activated { generation: OLD, tick: Tick::new(9) }).unwrap();
    peer.receive(&RoomMessage::Reconfigured { descriptor: &next_generation().to_bytes() }).unwrap();
    peer.receive(&RoomMessage::Activated { generation: NEW, tick: Tick::ZERO }).unwrap();
    peer.start(NEW);
    peer.outputs();
    peer.turn(50);
    let (messages, _) = peer.outputs();
    assert!(messages.iter().any(|message| message.starts_with("Inputs")), "{messages:?}");
}

#[test]
fn a10_a_config_that_the_game_does_not_take_ends_that_client() {
    let config = SessionConfig::from_bytes(b"no config of this game").unwrap();
    let descriptor = descriptor(2).reconfigured(config).unwrap().to_bytes();
    let told = Peer::playing().receive(&RoomMessage::Reconfigured { descriptor: &descriptor });
    assert!(matches!(told, Err(EndReason::Create(_))), "{told:?}");
}

#[test]
fn a10_another_match_is_no_new_generation() {
    let (seed, config) = (SessionSeed::from_u64(9), SessionConfig::empty());
    let other =
        MatchDescriptor::new(factory().manifest(), config.clone(), seed, seats(1)).reconfigured(config).unwrap();
    for changed in [other, descriptor(2)] {
        let mut peer = Peer::playing();
        let told = peer.receive(&RoomMessage::Reconfigured { descriptor: &changed.to_bytes() });
        let (before, after) = (descriptor(2).digest(), changed.digest());
        assert_eq!(told, Err(EndReason::MatchChanged { before, after }));
    }
    // The game takes no match of three seats, and so it can't follow.
    let mut unseated = Peer::connected(ClientRole::Player);
    let descriptor = next_generation().to_bytes();
    assert_eq!(unseated.receive(&RoomMessage::Reconfigured { descriptor: &descriptor }), Err(EndReason::Protocol));
}

#[test]
fn a10_who_was_away_starts_over_when_it_comes_back() {
    let mut peer = Peer::playing();
    peer.frames(OLD, 0, 5).unwrap();
    peer.turn(10);
    peer.client.handle_disconnected(peer.now);
    peer.client.handle_connected(peer.now);
    let (messages, _) = peer.outputs();
    assert!(messages[0].contains("Resume") && messages[0].contains("next: Tick(5)"), "{messages:?}");
    peer.welcome(&next_generation(), Some(1), 0).unwrap();
    let (messages, events) = peer.outputs();
    assert!(events.contains(&ClientEvent::Reconfigured { generation: NEW }));
    assert_eq!(messages, [format!("{:?}", ClientMessage::Ready { generation: NEW })]);
    assert_eq!(peer.confirmed(), 0);
}

#[test]
fn a5_a_late_joiner_is_ready_once_it_has_caught_up_and_plays_from_the_tick_it_is_told() {
    let mut peer = Peer::connected(ClientRole::Player);
    peer.welcome(&descriptor(2), Some(2), 4).unwrap();
    peer.start(OLD);
    peer.frames(OLD, 0, 3).unwrap();
    peer.turn(10);
    let ready = format!("{:?}", ClientMessage::Ready { generation: OLD });
    assert!(!peer.outputs().0.contains(&ready), "one frame is missing");
    peer.frames(OLD, 3, 3).unwrap();
    peer.turn(20);
    let (messages, _) = peer.outputs();
    assert!(messages.contains(&ready));
    assert!(!messages.iter().any(|message| message.starts_with("Inputs")), "{messages:?}");
    peer.receive(&RoomMessage::Activated { generation: OLD, tick: Tick::new(9) }).unwrap();
    assert_eq!(peer.client.active_from(), Some(Tick::new(9)));
    peer.frames(OLD, 6, 2).unwrap();
    peer.turn(170);
    let (messages, _) = peer.outputs();
    let inputs: Vec<_> = messages.iter().filter(|message| message.starts_with("Inputs")).collect();
    assert!(peer.client.session().unwrap().next_input(Seat::new(0).unwrap()) > Tick::new(9));
    assert!(inputs.iter().any(|inputs| inputs.contains("ControlEpoch(2)")), "{inputs:?}");
    assert_eq!(messages.iter().filter(|message| **message == ready).count(), 0, "said once");
}

#[test]
fn a15_a_clock_that_stands_still_holds_the_present_and_the_input() {
    let rate = TickRate::Hz60;
    let mut peer = Peer::playing();
    let at = |tick: u64| rate.moment_of(Tick::new(tick)).as_nanos() / 1_000_000;
    peer.frames(OLD, 0, 2).unwrap();
    peer.turn(at(2));
    peer.receive(&RoomMessage::Paused { generation: OLD, tick: Tick::new(5) }).unwrap();
    for tick in 3..120 {
        peer.turn(at(tick));
    }
    let seat = Seat::new(0).unwrap();
    let next = |peer: &Peer| peer.client.session().unwrap().next_input(seat);
    assert_eq!((next(&peer), peer.client.paused_at()), (Tick::new(5), Some(Tick::new(5))));
    assert!(peer.client.session().unwrap().head() <= Tick::new(5));
    assert_eq!((peer.client.room_tick(), peer.client.status()), (Tick::new(5), ClientStatus::Live));
    // What the room answers meanwhile says nothing about a clock that runs.
    let clock = Some(RoomClock { micros: 70_000 });
    let sent_micros = peer.now.as_micros();
    peer.receive(&RoomMessage::Pong { sent_micros, clock, counters: Default::default() }).unwrap();
    peer.receive(&RoomMessage::Resumed { generation: OLD, clock: RoomClock { micros: 70_000 } }).unwrap();
    peer.frames(OLD, 2, 2).unwrap();
    peer.turn(at(121));
    peer.turn(at(125));
    // Six ticks of the room's clock later than 70 ms, which was within tick 4, and half of the 83 ms that the answer took; not two
    // seconds later.
    let room_tick = peer.client.room_tick().index();
    assert!((10..=13).contains(&room_tick), "{room_tick}");
    assert!((7..=18).contains(&next(&peer).index()), "{}", next(&peer));
    let (_, events) = peer.outputs();
    let paused = events.iter().filter(|event| matches!(event, ClientEvent::Paused { .. } | ClientEvent::Unpaused));
    assert_eq!(paused.count(), 2);
}

/// What was said on the connection before holds for that one: the new greeting says it again, or it is over.
#[test]
fn a15_a_returner_knows_of_a_pause_from_its_new_greeting_alone() {
    let mut peer = Peer::playing();
    peer.receive(&RoomMessage::Paused { generation: OLD, tick: Tick::new(5) }).unwrap();
    peer.client.handle_disconnected(peer.now);
    assert_eq!(peer.client.paused_at(), Some(Tick::new(5)));
    peer.client.handle_connected(peer.now);
    peer.welcome(&descriptor(2), Some(1), 0).unwrap();
    assert_eq!(peer.client.paused_at(), None);
}

/// A room may begin behind the greeting with frames that the client has, and with one that stands alone.
#[test]
fn a7_a_returner_skips_the_frames_that_it_has_and_needs_one_that_stands_alone() {
    let returned = || {
        let mut peer = Peer::playing();
        peer.frames(OLD, 0, 5).unwrap();
        peer.client.handle_disconnected(peer.now);
        peer.client.handle_connected(peer.now);
        peer.welcome(&descriptor(2), Some(1), 8).unwrap();
        assert_eq!(peer.client.status(), ClientStatus::CatchingUp);
        peer
    };
    let mut peer = returned();
    peer.frames(OLD, 3, 5).unwrap();
    let mut straight = Peer::playing();
    straight.frames(OLD, 0, 8).unwrap();
    assert_eq!(peer.client.chain_head(), straight.client.chain_head());
    assert_eq!(peer.client.session().unwrap().received(), Tick::new(8));
    // The frame before it came on the last connection, and may not be what the room abbreviates against.
    let (first, tag, body) = (Tick::new(5), ReleaseTag::default(), &[][..]);
    let abbreviated = RoomMessage::Frames(Frames { generation: OLD, first, count: 1, complete: false, tag, body });
    assert_eq!(returned().receive(&abbreviated), Err(EndReason::Frame(FrameError::NoBase)));
}

/// A room that asks for what its log lacks stands still, and what it confirms next may lie before what this client has (A12).
#[test]
fn a12_nothing_is_sampled_while_a_restored_room_waits() {
    let rate = TickRate::Hz60;
    let at = |tick: u64| rate.moment_of(Tick::new(tick)).as_nanos() / 1_000_000;
    let next = |peer: &Peer| peer.client.session().unwrap().next_input(Seat::new(0).unwrap());
    let mut peer = Peer::playing();
    peer.frames(OLD, 0, 5).unwrap();
    peer.turn(at(5));
    peer.client.handle_disconnected(peer.now);
    peer.client.handle_connected(peer.now);
    peer.welcome(&descriptor(2), Some(1), 3).unwrap();
    peer.receive(&RoomMessage::TailWanted { generation: OLD, next: Tick::new(3) }).unwrap();
    peer.turn(at(6));
    let waiting = next(&peer);
    (7..60).for_each(|tick| peer.turn(at(tick)));
    assert_eq!(next(&peer), waiting);
    peer.receive(&RoomMessage::Started { generation: OLD, clock: RoomClock { micros: 83_334 } }).unwrap();
    peer.frames(OLD, 5, 1).unwrap();
    (60..70).for_each(|tick| peer.turn(at(tick)));
    assert!(next(&peer) > waiting, "it goes on");
}

#[test]
fn a14_an_observer_sends_no_input_and_no_report_and_shows_what_is_confirmed() {
    let mut peer = Peer::connected(ClientRole::Observer);
    let (messages, _) = peer.outputs();
    assert!(messages[0].contains("Observe"), "{messages:?}");
    peer.welcome(&descriptor(2), None, 6).unwrap();
    peer.start(OLD);
    peer.frames(OLD, 0, 8).unwrap();
    for millis in 0..50 {
        peer.turn(20 * millis);
    }
    let (messages, events) = peer.outputs();
    assert!(messages.iter().all(|message| message.starts_with("Ping")), "{messages:?}");
    assert_eq!(events[0], ClientEvent::Watching { resumed: false });
    let session = peer.client.session().unwrap();
    assert_eq!((session.confirmed(), session.head(), peer.client.seat()), (Tick::new(8), Tick::new(8), None));
    assert!(peer.client.request_command(&[1]).is_err() && peer.client.send_ephemeral(b"boo").is_err());
    assert!(peer.client.vote_to_start().is_err() && peer.client.request_pause().is_err());
    // It comes back where it was.
    peer.client.handle_disconnected(peer.now);
    peer.client.handle_connected(peer.now);
    let bytes = match peer.client.poll_output() {
        Some(Output::Transmit(bytes)) => bytes.to_vec(),
        other => panic!("{other:?}"),
    };
    let Ok(ClientMessage::Hello(hello)) = ClientMessage::decode(&bytes) else { panic!("a greeting") };
    assert_eq!(hello.entry, Entry::Observe { ticket: b"", generation: OLD, next: Tick::new(8), fence: Some(0) });
    peer.welcome(&descriptor(2), None, 8).unwrap();
    peer.receive(&RoomMessage::Reconfigured { descriptor: &next_generation().to_bytes() }).unwrap();
    assert_eq!(peer.confirmed(), 0);
    assert_eq!(peer.client.leave(), Ok(()));
}

#[test]
fn a14_a_seat_for_an_observer_or_none_for_a_player_ends_the_client() {
    let greeted = |role, epoch| Peer::connected(role).welcome(&descriptor(2), epoch, 0);
    assert_eq!(greeted(ClientRole::Observer, Some(1)), Err(EndReason::Protocol));
    assert_eq!(greeted(ClientRole::Player, None), Err(EndReason::Protocol));
    assert_eq!((greeted(ClientRole::Observer, None), greeted(ClientRole::Player, Some(1))), (Ok(()), Ok(())));
}

#[test]
fn a15_a_player_votes_asks_and_says_how_it_ended_and_is_told() {
    let mut peer = Peer::playing();
    peer.client.vote_to_wait().unwrap();
    peer.client.vote_to_start().unwrap();
    peer.client.request_start().unwrap();
    peer.client.request_pause().unwrap();
    peer.client.request_unpause().unwrap();
    peer.client.request_reconfigure(&SessionConfig::empty()).unwrap();
    peer.client.report_result(Tick::new(3), b"2:1").unwrap();
    assert!(peer.client.report_result(Tick::new(3), &[7; 1025]).is_err());
    let said: Vec<_> = [
        ClientMessage::Vote { ready: false },
        ClientMessage::Vote { ready: true },
        ClientMessage::Start,
        ClientMessage::Pause { generation: OLD, paused: true },
        ClientMessage::Pause { generation: OLD, paused: false },
        ClientMessage::Reconfigure { generation: OLD, config: b"" },
        ClientMessage::Result { generation: OLD, tick: Tick::new(3), result: b"2:1" },
    ]
    .iter()
    .map(|message| format!("{message:?}"))
    .collect();
    assert_eq!(peer.outputs().0, said);
    // A config that no machine could start with would end the match of everyone (A10).
    let other = SessionConfig::from_bytes(b"another game's").unwrap();
    let refused = peer.client.request_reconfigure(&other);
    assert!(matches!(refused, Err(RequestError::Config(_))), "{refused:?}");
    assert_eq!(peer.outputs().0, [""; 0]);
    let agreed = Settlement::Agreed { tick: Tick::new(3), result: b"2:1" };
    peer.receive(&RoomMessage::Settled { generation: OLD, settlement: agreed }).unwrap();
    let result = MatchResult::Agreed { tick: Tick::new(3), result: b"2:1".to_vec() };
    assert_eq!(peer.outputs().1, [ClientEvent::Settled(result)]);
    peer.receive(&RoomMessage::Settled { generation: OLD, settlement: Settlement::Disputed }).unwrap();
    assert_eq!(peer.outputs().1, [ClientEvent::Settled(MatchResult::Disputed)]);
}
