//! A desync that the demo plants, to show that it is named: one bit of one player's state flips in one tick (A8).

use std::sync::Arc;

use retick_core::client::{DesyncFinding, DesyncPlace};
use retick_core::codec::canonical;
use retick_core::fields::{FieldNames, SerdeFields, path_at};
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::Seat;
use retick_core::tick::{Tick, TickRate};
use retick_core::wire::{PlaceTick, Witness};
use retick_testing::twins::{Plant, PlantedFactory, Reach};
use skirmish::Skirmish;

use super::report::Results;
use crate::failure::Failure;

/// When it is planted: everyone of the first cast is there, and nobody else yet.
const PLANTED_TICK: Tick = Tick::new(150);
/// The bit.
const MASK: u8 = 1;
/// How long naming it may take, from the tick on, in seconds.
const MOST_SECONDS: f64 = 10.0;

/// What is planted, and where.
pub struct Planted {
    /// Whose state it is.
    pub seat: Seat,
    /// That player's game, which is everybody's but for the bit.
    pub twin: Arc<dyn RuntimeFactory>,
    field: String,
}

impl Planted {
    /// Flips a bit that the game shows and never computes with, in the state of this seat's player.
    pub fn new(factory: Arc<dyn RuntimeFactory>, seat: Seat) -> Planted {
        let field = format!("players[{seat}].falls");
        let wanted = field.clone();
        let place = move |state: &[u8]| {
            let (_tick, body) = state.split_at_checked(size_of::<u64>())?;
            let game: Skirmish = canonical::decode(body).ok()?;
            let found = (0..body.len() as u64).find(|at| path_at(&game, *at).as_deref() == Some(&wanted))?;
            Some(found + size_of::<u64>() as u64)
        };
        let plant = Plant { tick: PLANTED_TICK, place: Arc::new(place), mask: MASK, reach: Reach::Every };
        Planted { seat, twin: Arc::new(PlantedFactory::new(factory, plant)), field }
    }

    /// Says what the room found out, and whether it is what was planted.
    pub fn conclude(&self, results: &Results, rate: TickRate) -> Result<(), Failure> {
        let (seat, field) = (self.seat, &self.field);
        println!("\nplanted: a bit of {field} in S({PLANTED_TICK}) at the machine of seat {seat}");
        let missing = |what: &str| Failure::CheckFailed(format!("the desync was not named: {what}"));
        let Some((finding, confirmed)) = results.finding() else { return Err(missing("nothing was announced")) };
        println!("found:   {finding}");
        let Some(place) = &finding.place else { return Err(missing("no place was found")) };
        let state = results.examined(place.tick.tick()).ok_or_else(|| missing("nobody has the state"))?;
        let name = SerdeFields::<Skirmish>::new().name(state, place.address);
        let seconds = confirmed.since(PLANTED_TICK) as f64 / f64::from(rate.hz());
        let DesyncPlace { address, ours, theirs, .. } = place;
        println!("         tick {}, address {address:#x}, values {ours:02x?} and {theirs:02x?}", place.tick.tick());
        println!("         field {}, {seconds:.1} s after it was planted", name.as_deref().unwrap_or("without a name"));
        let is_it = name.as_ref() == Some(field) && self.is_planted(&finding, place) && seconds <= MOST_SECONDS;
        if is_it {
            println!("the desync that was planted was named");
            Ok(())
        } else {
            Err(missing("it is not what was planted"))
        }
    }

    fn is_planted(&self, finding: &DesyncFinding, place: &DesyncPlace) -> bool {
        let (one, other) = finding.witnesses;
        let is_seat = [one, other].contains(&Witness::Seat(self.seat));
        let flipped = place.ours.first().zip(place.theirs.first()).map(|(ours, theirs)| ours ^ theirs);
        is_seat && place.tick == PlaceTick::First(PLANTED_TICK) && flipped == Some(MASK)
    }
}
