//! `retick serve --referee full`: a player whose machine comes to another state is named by everyone, and plays on (A13).

use std::sync::Arc;
use std::time::Duration;

use retick_client::{CreateOptions, NetClient, NetConfig, NetEnd, create_room};
use retick_core::client::ClientEvent;
use retick_core::config::SessionConfig;
use retick_core::identity::MatchDescriptor;
use retick_core::rng::SessionSeed;
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::{Seat, SeatCount};
use retick_core::tick::Tick;
use retick_testing::twins::{Plant, PlantedFactory, Reach};
use retick_wasm::{Limits, WasmFactory};

use crate::{Serving, check_refused};

/// A byte of the module's memory that the game does not use, in this state.
const PLANTED: (u64, u64) = (0x9_0123, 90);
const SEED: u64 = 5;
const PATIENCE: Duration = Duration::from_secs(30);

/// What one player was told, in order: who is wrong, and that it was put right.
#[derive(Debug, Default)]
struct Told {
    wrong: Vec<Seat>,
    repaired: bool,
    found: Option<String>,
    ended: bool,
}

impl Told {
    fn take(&mut self, event: ClientEvent) {
        match event {
            ClientEvent::Verdict { wrong, .. } => self.wrong.extend(wrong),
            ClientEvent::Repaired { .. } => self.repaired = true,
            ClientEvent::Found(finding) => self.found = Some(finding.to_string()),
            ClientEvent::Ended(_) => self.ended = true,
            _ => {}
        }
    }
}

async fn listen(client: &mut NetClient, told: &mut Told, done: impl Fn(&Told) -> bool) {
    while !done(told) {
        let event = tokio::time::timeout(PATIENCE, client.next_event()).await.unwrap_or_else(|_| panic!("{told:?}"));
        told.take(event.unwrap());
    }
}

#[test]
fn a13_a_service_with_a_referee_names_the_seat_that_is_wrong_and_puts_it_right() {
    let service = Serving::start(&["--open", "--no-admin", "--referee", "full"]);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let honest: Arc<dyn RuntimeFactory> = Arc::new(WasmFactory::load(skirmish::MODULE, Limits::default()).unwrap());
        let (address, tick) = PLANTED;
        let plant =
            Plant { tick: Tick::new(tick), place: Arc::new(move |_| Some(address)), mask: 1, reach: Reach::Every };
        let twin: Arc<dyn RuntimeFactory> = Arc::new(PlantedFactory::new(honest.clone(), plant));
        let config: SessionConfig = skirmish::Rules::default().to_config().unwrap();
        let seats = SeatCount::new(2).unwrap();
        let descriptor = MatchDescriptor::new(honest.manifest(), config, SessionSeed::from_u64(SEED), seats);
        let options = CreateOptions { checksum_cadence_ticks: Some(60), ..CreateOptions::default() };
        let code = create_room(&service.address, &descriptor, &options).await.unwrap();
        let schema = honest.manifest().input_schema().clone();
        let mut clients = Vec::new();
        for (number, factory) in [honest, twin].into_iter().enumerate() {
            let (schema, seat) = (schema.clone(), Seat::new(u8::try_from(number).unwrap()).unwrap());
            let script = move |tick| schema.pack(&skirmish::scripted_input(seat, tick, SEED)).unwrap();
            let config = NetConfig::new(service.address.as_str(), code.clone());
            let mut client = NetClient::spawn(config, Box::new(factory), script);
            let joined = tokio::time::timeout(PATIENCE, client.next_event()).await.unwrap();
            assert!(matches!(joined, Some(ClientEvent::Joined { seat: given, .. }) if given == seat), "{joined:?}");
            clients.push(client);
        }
        let wrong = Seat::new(1).unwrap();
        let [mut honest, mut planted] = [Told::default(), Told::default()];
        listen(&mut clients[1], &mut planted, |told| told.repaired).await;
        listen(&mut clients[0], &mut honest, |told| told.found.is_some() && !told.wrong.is_empty()).await;
        assert_eq!((honest.wrong, honest.ended, planted.ended), (vec![wrong], false, false));
        let found = honest.found.unwrap();
        assert!(found.contains("the referee and seat 1") && found.contains("0x90123"), "{found}");
        for client in clients {
            client.leave().unwrap();
            let outcome = client.join().await.unwrap();
            assert!(matches!(outcome.end, NetEnd::Left), "{}", outcome.end);
        }
    });
}

#[test]
fn a13_a_referee_is_told_how_much_to_play_and_knows_its_games_before_anything_listens() {
    check_refused(&["serve", "--open", "--referee", "half"], 2, &["sampled", "full"]);
    check_refused(&["serve", "--open", "--referee-game", "game.wasm"], 2, &["--referee"]);
    check_refused(&["serve", "--open", "--referee", "full", "--referee-game", "/nowhere"], 2, &["/nowhere"]);
}
