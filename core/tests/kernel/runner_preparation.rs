//! N7, K12: what waits while a game prepares a match, and what becomes of a preparation; the room is played by hand.

use crate::counter::{Add, descriptor, factory, seats};
use crate::runner::{
    TICK_MILLIS, add, connected, drain, frame_message, frame_message_of, seat, send, started, welcome,
};
use retick_core::asset::{AssetError, AssetPin, AssetPins, VerifiedAsset, verify_asset};
use retick_core::client::{EndReason, MAX_HELD_BYTES, MAX_HELD_MESSAGES};
use retick_core::config::{ConfigSchema, ConfigValue, SessionConfig};
use retick_core::identity::MatchDescriptor;
use retick_core::rng::SessionSeed;
use retick_core::runner::{
    AssetPreparation, Lifecycle, LinkId, Mode, NetworkedOptions, PreparationFault, PreparationRequest, Runner,
    RunnerConfig, RunnerError, RunnerEvent, Status, TransportEvent,
};
use retick_core::runtime::{
    Capabilities, GameDescription, InitContext, NativeFactory, NoCommand, RuntimeFactory, Simulation, StepContext,
};
use retick_core::seat::Generation;
use retick_core::session::HeldInputs;
use retick_core::tick::{Tick, TickRate};
use retick_core::wire::{CloseReason, Frames, MAX_ROOM_MESSAGE_BYTES, ReleaseTag, RoomClock, RoomMessage};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A game whose config pins its assets.
#[derive(Clone, Serialize, Deserialize)]
struct Mapped(u64);

impl Simulation for Mapped {
    type Input = Add;
    type Command = NoCommand;

    fn describe() -> GameDescription {
        let config_schema = ConfigSchema::builder("mapped/v1").bytes("assets", AssetPins::MAX_CONFIG_BYTES).build();
        GameDescription {
            tick_rate: TickRate::Hz60,
            state_schema: "mapped/v1",
            config_schema: config_schema.unwrap(),
            seats: 2..=2,
            capabilities: Capabilities::default(),
        }
    }

    fn init(_: &InitContext<'_>) -> Result<Self, u32> {
        Ok(Mapped(0))
    }

    fn step(&mut self, context: &StepContext<'_, Self>) {
        self.0 += context.seats().map(|seat| context.input(seat).0.unsigned_abs()).sum::<u64>();
    }
}

const MAP: &[u8] = b"a large map";
const SONG: &[u8] = b"a long song";

fn mapped() -> Arc<dyn RuntimeFactory> {
    Arc::new(NativeFactory::<Mapped>::new(|sources| sources.module("mapped.rs", b"its source")).unwrap())
}

fn pins() -> AssetPins {
    AssetPins::new([AssetPin::of("maps/forest", MAP).unwrap(), AssetPin::of("songs/dawn", SONG).unwrap()]).unwrap()
}

fn mapped_config(pins: &[u8]) -> SessionConfig {
    let values = [("assets", ConfigValue::Bytes(pins.to_vec()))];
    mapped().manifest().config_schema().encode(&values).unwrap()
}

fn mapped_match(pins: &[u8]) -> MatchDescriptor {
    MatchDescriptor::new(mapped().manifest(), mapped_config(pins), SessionSeed::from_u64(3), seats(2))
}

/// A runner that prepares, up to its request.
fn preparing() -> (Runner, LinkId, PreparationRequest) {
    let preparation = AssetPreparation::Awaited { pins_field: Some("assets") };
    let (mut runner, link) = connected(RunnerConfig { preparation, ..RunnerConfig::default() }, mapped());
    drain(&mut runner);
    welcome(&mut runner, link, &mapped_match(&pins().to_bytes()));
    let mut out = drain(&mut runner);
    assert_eq!(out.messages, Vec::<String>::new(), "it does not say that it is ready");
    assert_eq!(out.requests.len(), 1);
    (runner, link, out.requests.remove(0))
}

fn verified(request: &PreparationRequest) -> Vec<VerifiedAsset<'_>> {
    let contents: [(&str, &[u8]); 2] = [("maps/forest", MAP), ("songs/dawn", SONG)];
    let find = |name: &str| contents.iter().find(|(known, _)| *known == name).map(|(_, content)| *content);
    request.assets.verify(find).unwrap()
}

#[test]
fn n7_a_match_waits_for_its_preparation_and_loses_nothing_meanwhile() {
    let (mut runner, link, request) = preparing();
    assert_eq!((&request.assets, request.descriptor.digest()), (&pins(), mapped_match(&pins().to_bytes()).digest()));
    started(&mut runner, link);
    for tick in 0..5 {
        runner.handle_transport(link, TransportEvent::Message(&frame_message(tick, &add(1))));
    }
    runner.update(TICK_MILLIS, &mut HeldInputs).unwrap();
    let snapshot = runner.snapshot();
    assert_eq!(
        (snapshot.status, snapshot.lifecycle),
        (Status::Connecting, Lifecycle::Starting { mode: Mode::Networked })
    );
    assert!(!snapshot.ready && snapshot.render.is_none() && snapshot.local_seat.is_none());
    assert!(
        drain(&mut runner).messages.iter().all(|message| message.starts_with("Ping")),
        "it keeps the transport alive"
    );
    runner.complete_preparation(request.ticket, Ok(&verified(&request))).unwrap();
    assert_eq!(drain(&mut runner).messages[0], "Ready { generation: Generation(0) }");
    assert_eq!(runner.session().unwrap().received(), Tick::new(5));
    runner.update(TICK_MILLIS, &mut HeldInputs).unwrap();
    assert_eq!(runner.snapshot().applied_through, Some(Tick::new(4)));
    assert_eq!(runner.snapshot().local_seat, Some(seat(1)));
    // The second completion is of a preparation that is over.
    assert_eq!(runner.complete_preparation(request.ticket, Ok(&[])), Err(RunnerError::StalePreparation));
    assert_eq!(
        (runner.stats().stale_preparations, RunnerError::StalePreparation.code()),
        (1, "runner.preparation-stale")
    );
    assert_ne!(runner.status(), Status::Error);
}

#[test]
fn n7_a_reconnect_goes_on_with_the_preparation_and_drops_what_comes_again() {
    let (mut runner, link, request) = preparing();
    started(&mut runner, link);
    runner.handle_transport(link, TransportEvent::Message(&frame_message(0, &add(1))));
    runner.handle_transport(link, TransportEvent::Reconnecting);
    runner.handle_transport(link, TransportEvent::Connected);
    welcome(&mut runner, link, &mapped_match(&pins().to_bytes()));
    assert!(drain(&mut runner).requests.is_empty(), "the same ticket goes on");
    for tick in 0..2 {
        runner.handle_transport(link, TransportEvent::Message(&frame_message(tick, &add(1))));
    }
    runner.complete_preparation(request.ticket, Ok(&verified(&request))).unwrap();
    assert_eq!(runner.session().unwrap().received(), Tick::new(2));

    // Completed while there is no transport: the next greeting is answered as by any client that returns.
    let (mut runner, link, request) = preparing();
    runner.handle_transport(link, TransportEvent::Reconnecting);
    runner.complete_preparation(request.ticket, Ok(&verified(&request))).unwrap();
    assert_eq!(drain(&mut runner).messages, Vec::<String>::new());
    runner.handle_transport(link, TransportEvent::Connected);
    drain(&mut runner);
    welcome(&mut runner, link, &mapped_match(&pins().to_bytes()));
    assert_eq!(drain(&mut runner).messages, ["Ready { generation: Generation(0) }"]);

    // Another match than the one that is being prepared.
    let (mut runner, link, _) = preparing();
    runner.handle_transport(link, TransportEvent::Reconnecting);
    runner.handle_transport(link, TransportEvent::Connected);
    welcome(&mut runner, link, &mapped_match(&AssetPins::default().to_bytes()));
    assert!(matches!(runner.snapshot().error, Some(RunnerError::Ended(EndReason::MatchChanged { .. }))));
}

#[test]
fn k12_an_asset_that_is_not_what_the_config_pins_is_terminal() {
    let forest = pins().pin("maps/forest").unwrap().clone();
    let wrong = verify_asset(&forest, b"a larg3 map").unwrap_err();
    let missing = AssetError::Missing { name: "songs/dawn".into() };
    let only_forest = [verify_asset(&forest, MAP).unwrap()];
    let game = PreparationFault::Game { code: 7 };
    let asset = "runner.asset-mismatch";
    for (result, fault, code) in [
        (Err(PreparationFault::Asset(wrong.clone())), PreparationFault::Asset(wrong), asset),
        (Ok(&only_forest[..]), PreparationFault::Asset(missing), asset),
        (Err(game.clone()), game, "runner.preparation-failed"),
    ] {
        let (mut runner, link, request) = preparing();
        let error = RunnerError::Preparation(fault);
        assert_eq!(runner.complete_preparation(request.ticket, result), Err(error.clone()));
        assert_eq!(
            (runner.status(), runner.snapshot().error, error.code()),
            (Status::Error, Some(error.clone()), code)
        );
        assert_eq!(drain(&mut runner).hangups, [link]);
        // Right contents come too late now.
        assert_eq!(
            runner.complete_preparation(request.ticket, Ok(&verified(&request))),
            Err(RunnerError::StalePreparation)
        );
        assert!(runner.session().is_none());
    }
}

#[test]
fn k12_pins_that_nobody_can_read_are_terminal_before_anything_is_loaded() {
    for (bytes, field) in [(&[1u8][..], "assets"), (&[0; 8], "no such field")] {
        let preparation = AssetPreparation::Awaited { pins_field: Some(field) };
        let (mut runner, link) = connected(RunnerConfig { preparation, ..RunnerConfig::default() }, mapped());
        welcome(&mut runner, link, &mapped_match(bytes));
        let error = runner.snapshot().error.unwrap();
        assert!(matches!(error, RunnerError::Preparation(PreparationFault::Pins(_))), "{error}");
        assert!(drain(&mut runner).requests.is_empty());
    }
    // A match of another game is refused before anything is asked for.
    let preparation = AssetPreparation::Awaited { pins_field: None };
    let (mut runner, link) = connected(RunnerConfig { preparation, ..RunnerConfig::default() }, Arc::new(factory()));
    welcome(&mut runner, link, &mapped_match(&[0; 8]));
    let error = runner.snapshot().error.unwrap();
    assert!(matches!(error, RunnerError::Ended(EndReason::Identity { .. })));
    assert_eq!((error.code(), drain(&mut runner).requests.len()), ("client.identity-mismatch", 0));
}

#[test]
fn n7_a_preparation_is_aborted_by_a_stop_a_failure_and_a_new_start_and_never_replaces_a_session() {
    let ends: [fn(&mut Runner, LinkId); 5] = [
        |runner, _| runner.stop().unwrap(),
        |runner, link| assert!(runner.start_networked(NetworkedOptions::default()).unwrap() > link),
        |runner, _| runner.dispose(),
        |runner, link| runner.handle_transport(link, TransportEvent::Disconnected),
        |runner, link| send(runner, link, &RoomMessage::Closing(CloseReason::Superseded)),
    ];
    for end in ends {
        let (mut runner, link, request) = preparing();
        end(&mut runner, link);
        let lifecycle = runner.lifecycle();
        let aborted = RunnerEvent::PreparationAborted { ticket: request.ticket };
        let out = drain(&mut runner);
        assert_eq!(out.events.iter().filter(|event| **event == aborted).count(), 1, "{lifecycle:?}");
        assert_eq!(out.hangups, [link]);
        let stale = runner.complete_preparation(request.ticket, Ok(&verified(&request)));
        assert_eq!((stale, runner.stats().stale_preparations), (Err(RunnerError::StalePreparation), 1));
        assert_eq!(runner.lifecycle(), lifecycle);
        assert!(runner.session().is_none());
    }
    // A request that nobody took out is taken back, so that there is nothing to abort.
    let preparation = AssetPreparation::Awaited { pins_field: None };
    let (mut runner, link) = connected(RunnerConfig { preparation, ..RunnerConfig::default() }, Arc::new(factory()));
    welcome(&mut runner, link, &descriptor(2));
    runner.stop().unwrap();
    let out = drain(&mut runner);
    assert!(out.requests.is_empty());
    assert!(!out.events.iter().any(|event| matches!(event, RunnerEvent::PreparationAborted { .. })));
}

/// Another config may pin other assets: nothing of them is played before they are there, generation by generation.
#[test]
fn k12_each_generation_is_prepared_in_its_turn() {
    let (mut runner, link, request) = preparing();
    runner.complete_preparation(request.ticket, Ok(&verified(&request))).unwrap();
    started(&mut runner, link);
    drain(&mut runner);
    let desert = AssetPins::new([AssetPin::of("maps/desert", MAP).unwrap()]).unwrap();
    let second = request.descriptor.reconfigured(mapped_config(&desert.to_bytes())).unwrap();
    let third = second.reconfigured(mapped_config(&pins().to_bytes())).unwrap();
    send(&mut runner, link, &RoomMessage::Reconfigured { descriptor: &second.to_bytes() });
    let mut out = drain(&mut runner);
    let asked = out.requests.remove(0);
    assert_eq!((&asked.assets, &asked.descriptor, out.requests.len()), (&desert, &second, 0));
    assert!(!out.messages.iter().any(|message| message.starts_with("Ready")), "{out:?}");
    assert_eq!((runner.status(), runner.session().is_some()), (Status::Connecting, false));
    let stale = runner.complete_preparation(request.ticket, Ok(&verified(&request)));
    assert_eq!(stale, Err(RunnerError::StalePreparation));
    // What comes of it waits, and the generation after it too.
    runner.handle_transport(link, TransportEvent::Message(&frame_message_of(Generation(1), 0, &add(1))));
    send(&mut runner, link, &RoomMessage::Reconfigured { descriptor: &third.to_bytes() });
    assert!(drain(&mut runner).requests.is_empty());
    let found = asked.assets.verify(|_| Some(MAP)).unwrap();
    runner.complete_preparation(asked.ticket, Ok(&found)).unwrap();
    let out = drain(&mut runner);
    assert_eq!(out.messages[0], "Ready { generation: Generation(1) }");
    assert_eq!(out.requests.iter().map(|request| &request.descriptor).collect::<Vec<_>>(), [&third]);
    runner.complete_preparation(out.requests[0].ticket, Ok(&verified(&out.requests[0]))).unwrap();
    assert_eq!(drain(&mut runner).messages, ["Ready { generation: Generation(2) }"]);
    assert_eq!(runner.session().unwrap().descriptor(), &third);
    send(&mut runner, link, &RoomMessage::Started { generation: Generation(2), clock: RoomClock::default() });
    runner.handle_transport(link, TransportEvent::Message(&frame_message_of(Generation(2), 0, &add(1))));
    runner.update(TICK_MILLIS, &mut HeldInputs).unwrap();
    assert_eq!(runner.snapshot().applied_through, Some(Tick::ZERO));
}

/// The tickets of two preparations of one runner differ: the older one completes nothing.
#[test]
fn n7_a_ticket_is_of_one_preparation_alone() {
    let (mut runner, _, old) = preparing();
    let link = runner.start_networked(NetworkedOptions::default()).unwrap();
    runner.handle_transport(link, TransportEvent::Connected);
    welcome(&mut runner, link, &mapped_match(&pins().to_bytes()));
    let new = drain(&mut runner).requests.remove(0);
    assert_ne!(new.ticket, old.ticket);
    assert_eq!(runner.complete_preparation(old.ticket, Ok(&verified(&old))), Err(RunnerError::StalePreparation));
    assert!(runner.session().is_none());
    runner.complete_preparation(new.ticket, Ok(&verified(&new))).unwrap();
    assert!(runner.session().is_some());
}

#[test]
fn n7_what_comes_during_a_preparation_is_held_up_to_its_limits() {
    let (mut runner, link, request) = preparing();
    for tick in 0..MAX_HELD_MESSAGES as u64 {
        runner.handle_transport(link, TransportEvent::Message(&frame_message(tick, &add(1))));
    }
    assert_eq!(runner.status(), Status::Connecting);
    let overflow = RunnerError::Ended(EndReason::PreparationOverflow);
    let last = frame_message(MAX_HELD_MESSAGES as u64, &add(1));
    runner.handle_transport(link, TransportEvent::Message(&last));
    assert_eq!((runner.snapshot().error, overflow.code()), (Some(overflow.clone()), "client.preparation-overflow"));
    assert_eq!(runner.complete_preparation(request.ticket, Ok(&[])), Err(RunnerError::StalePreparation));

    // As many of the longest messages as fit, and one more. Nobody has looked into them yet.
    let (mut runner, link, _) = preparing();
    let (generation, first, tag) = (Generation(0), Tick::ZERO, ReleaseTag::default());
    let (body, mut longest) = (vec![0; MAX_ROOM_MESSAGE_BYTES - 64], vec![]);
    RoomMessage::Frames(Frames { generation, first, count: 1, complete: true, tag, body: &body })
        .encode_into(&mut longest);
    for _ in 0..MAX_HELD_BYTES / longest.len() {
        runner.handle_transport(link, TransportEvent::Message(&longest));
        assert_eq!(runner.status(), Status::Connecting);
    }
    runner.handle_transport(link, TransportEvent::Message(&longest));
    assert_eq!(runner.snapshot().error, Some(overflow));
}
