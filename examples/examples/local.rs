//! Play without a network: two players and a bot at one machine, then the same world with a third player.
//!
//! What an offline game uses: a derived input, a large state that is cheap to checkpoint, events for sounds, a replay that
//! anyone can verify, and a promotion, by which a friend takes over the bot's seat.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::time::Duration;

use retick_core::chunked::{CheckpointClone, Chunked};
use retick_core::config::{ConfigSchema, SessionConfig};
use retick_core::event::{EventId, EventLife};
use retick_core::identity::MatchDescriptor;
use retick_core::input::{GameInput, InputSchema};
use retick_core::replay::{Verdict, verify};
use retick_core::rng::SessionSeed;
use retick_core::runtime::{
    Capabilities, GameDescription, InitContext, NativeFactory, NoCommand, RuntimeFactory, Simulation, StepContext,
};
use retick_core::seat::{Seat, SeatCount, SeatSet};
use retick_core::session::{
    HeldInputs, InputRetention, LocalConfig, LocalSession, ReplayExportError, SessionPolicy, TickInputs,
};
use retick_core::snapshot::PromotionSnapshot;
use retick_core::tick::{Tick, TickRate};
use serde::{Deserialize, Serialize};

const BEDS: u32 = 100_000;
const BEDS_A_SOWING: u32 = 5;
/// The game's own number for the sound of sowing.
const SOWN: u16 = 1;

/// Gardeners walk along a row of beds and sow.
#[derive(CheckpointClone, Serialize, Deserialize)]
struct Garden {
    places: Vec<u32>,
    sown: u32,
    /// Cloned in constant time: a checkpoint costs what a tick touches.
    beds: Chunked<u8>,
}

#[derive(Clone, GameInput)]
#[input(id = "garden-input/v1")]
struct Work {
    #[input(range = 0..=3)]
    walk: u8,
    /// A pulse: nobody sows again because an input is repeated for them.
    #[input(policy = "once")]
    sow: bool,
}

impl Simulation for Garden {
    type Input = Work;
    type Command = NoCommand;

    fn describe() -> GameDescription {
        GameDescription {
            tick_rate: TickRate::Hz60,
            state_schema: "garden-state/v1",
            config_schema: ConfigSchema::empty(),
            seats: 1..=4,
            capabilities: Capabilities { commands: false, projection: true },
        }
    }

    fn init(context: &InitContext<'_>) -> Result<Self, u32> {
        let mut beds = Chunked::new();
        beds.resize(BEDS as usize, 0);
        Ok(Garden { places: vec![0; context.seats.count()], sown: 0, beds })
    }

    fn step(&mut self, context: &StepContext<'_, Self>) {
        for (seat, work) in context.inputs() {
            let place = &mut self.places[seat.index()];
            *place = (*place + u32::from(work.walk)) % (BEDS - BEDS_A_SOWING);
            if work.sow {
                let (first, end) = (*place as usize, (*place + BEDS_A_SOWING) as usize);
                self.beds.for_each_chunk_mut(first..end, |_, beds| {
                    beds.iter_mut().for_each(|seeds| *seeds = seeds.saturating_add(1));
                });
                self.sown += 1;
                let id = EventId { module: 0, source: u32::from(seat.number()), event: SOWN };
                context.emit(id, &place.to_le_bytes());
            }
        }
    }

    fn project(&self, out: &mut Vec<u8>) {
        self.places.iter().chain([&self.sown]).for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
    }
}

/// What a game would draw: the places, and how often was sown.
fn drawn(projection: &[u8]) -> Vec<u32> {
    projection.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect()
}

/// The bot walks on, and sows every half second.
struct Bot {
    schema: InputSchema,
}

impl TickInputs for Bot {
    fn bot(&mut self, _: Seat, tick: Tick, packed: &mut Vec<u8>) {
        let work = Work { walk: 1, sow: tick.index().is_multiple_of(30) };
        self.schema.pack_into(&work, packed).expect("in range");
    }
}

/// Lets `frames` frames of a display of 50 Hz pass, and counts the sounds.
fn play(local: &mut LocalSession, frames: u32, inputs: &mut impl TickInputs) -> Result<u32, Box<dyn Error>> {
    let mut sounds = 0;
    for _ in 0..frames {
        local.update(Duration::from_millis(20), inputs)?;
        while let Some(event) = local.poll_presentation_event() {
            // Nothing is predicted here: each sound is played once, and never taken back.
            assert_eq!((event.life, event.key.event), (EventLife::Confirmed, SOWN));
            sounds += 1;
        }
        while local.poll_event().is_some() {}
    }
    Ok(sounds)
}

fn main() -> Result<(), Box<dyn Error>> {
    let factory = NativeFactory::<Garden>::new(|sources| sources.module("local.rs", include_bytes!("local.rs")))?;
    // A promotion widens nothing: the seats of those who may come are there from the start.
    let seats = SeatCount::new(3).ok_or("three seats")?;
    let descriptor = MatchDescriptor::new(factory.manifest(), SessionConfig::empty(), SessionSeed::from_u64(9), seats);
    let [left, right, third] = [0, 1, 2].map(|number| Seat::new(number).expect("below the limit"));

    let config = LocalConfig {
        local_seats: [left, right].into_iter().collect(),
        bot_seats: [third].into_iter().collect(),
        policy: SessionPolicy { input_retention: InputRetention::All, ..SessionPolicy::default() },
        ..LocalConfig::default()
    };
    let mut local = LocalSession::new(factory.create(&descriptor)?, &descriptor, config)?;
    let mut bot = Bot { schema: factory.manifest().input_schema().clone() };
    local.set_input_of(left, &Work { walk: 3, sow: false })?;
    let mut sounds = play(&mut local, 50, &mut bot)?;
    // An input stays until it is set again: the left player stands and sows for five frames, six ticks.
    local.set_input_of(left, &Work { walk: 0, sow: true })?;
    sounds += play(&mut local, 5, &mut bot)?;
    local.set_input_of(left, &Work { walk: 0, sow: false })?;
    local.set_input_of(right, &Work { walk: 2, sow: false })?;
    sounds += play(&mut local, 45, &mut bot)?;
    // Two seconds are 120 ticks; the bot sowed four times.
    assert_eq!((local.tick(), sounds), (Tick::new(120), 10));
    assert_eq!(drawn(local.projections().0), [180, 108, 120, 10]);
    println!("S({}): places and sowings {:?}", local.tick(), drawn(local.projections().0));

    let replay = local.export_replay()?;
    let verdict = verify(&replay, &factory);
    assert!(matches!(verdict, Verdict::Verified { ticks, .. } if ticks == local.tick()), "{verdict:?}");
    println!("a replay of {} bytes: {verdict:?}", replay.len());

    // A friend sits down. The world goes on at the same tick, and the bot's seat is the friend's.
    let saved = local.export_promotion()?.to_bytes();
    let promotion = PromotionSnapshot::from_bytes(&saved)?;
    let config = LocalConfig { local_seats: seats.seats().collect(), bot_seats: SeatSet::EMPTY, ..config };
    let mut joined = LocalSession::from_promotion(factory.create(promotion.descriptor())?, &promotion, config)?;
    joined.set_input_of(third, &Work { walk: 3, sow: false })?;
    assert_eq!(play(&mut joined, 50, &mut HeldInputs)?, 0);
    assert_eq!((joined.tick(), drawn(joined.projections().0)), (Tick::new(180), vec![180, 108, 300, 10]));
    // Nothing vouches for where it began.
    assert_eq!(joined.export_replay(), Err(ReplayExportError::Promoted));
    println!("S({}), with a friend: {:?}", joined.tick(), drawn(joined.projections().0));
    Ok(())
}

#[test]
fn the_example_runs() -> Result<(), Box<dyn Error>> {
    main()
}
