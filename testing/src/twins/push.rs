//! PUSH: 64 entities in a map, whose order goes into the state (D02). Clean when ordered by id; faulty with random keys, and with
//! an order that insertions left behind and a snapshot does not carry.

use std::collections::BTreeSet;

use retick_core::runtime::{GameDescription, InitContext, NativeFactory, NoCommand, Simulation, StepContext};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::description;
use crate::fixtures::TallyInput;

/// Entities at all times.
const IDS: u32 = 64;
/// In the frames up to this one, ids are removed and added again.
const LAST_CHURNED_FRAME: u64 = 89;

/// A set of ids in some order of its own. All encode as the same set.
pub trait PushIds: Clone + Default + Send + Serialize + DeserializeOwned + 'static {
    /// Adds an id that is not there.
    fn insert(&mut self, id: u32);
    /// Removes an id.
    fn remove(&mut self, id: u32);
    /// The ids, in the set's own order.
    fn ids(&self) -> impl Iterator<Item = u32>;
}

/// The state of PUSH.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "M: PushIds")]
pub struct Push<M> {
    mix: u32,
    ids: M,
}

impl<M: PushIds> Simulation for Push<M> {
    type Input = TallyInput;
    type Command = NoCommand;

    fn describe() -> GameDescription {
        description("twin/push/v1", true)
    }

    fn init(_: &InitContext<'_>) -> Result<Self, u32> {
        let mut ids = M::default();
        (0..IDS).for_each(|id| ids.insert(id));
        Ok(Push { mix: 1, ids })
    }

    fn step(&mut self, context: &StepContext<'_, Self>) {
        self.mix = self.ids.ids().fold(self.mix, |mix, id| mix.wrapping_mul(31).wrapping_add(id));
        let tick = context.tick().index();
        if tick < LAST_CHURNED_FRAME {
            let first = u32::try_from(tick * 7 % u64::from(IDS)).unwrap_or(0);
            let second = (first + 16) % IDS;
            self.ids.remove(first);
            self.ids.remove(second);
            self.ids.insert(second);
            self.ids.insert(first);
        }
    }

    /// The mix, and the ids in the set's own order.
    fn project(&self, out: &mut Vec<u8>) {
        [self.mix].into_iter().chain(self.ids.ids()).for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
    }
}

/// Clean: ordered by id.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct OrderedIds(BTreeSet<u32>);

impl PushIds for OrderedIds {
    fn insert(&mut self, id: u32) {
        self.0.insert(id);
    }

    fn remove(&mut self, id: u32) {
        self.0.remove(&id);
    }

    fn ids(&self) -> impl Iterator<Item = u32> {
        self.0.iter().copied()
    }
}

/// Faulty: a standard hash map, whose keys each instance draws for itself.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "BTreeSet<u32>", into = "BTreeSet<u32>")]
#[expect(clippy::disallowed_types, reason = "its order is the planted fault")]
pub struct RandomIds(std::collections::HashMap<u32, ()>);

impl From<BTreeSet<u32>> for RandomIds {
    fn from(ids: BTreeSet<u32>) -> RandomIds {
        RandomIds(ids.into_iter().map(|id| (id, ())).collect())
    }
}

impl From<RandomIds> for BTreeSet<u32> {
    fn from(ids: RandomIds) -> BTreeSet<u32> {
        ids.0.into_keys().collect()
    }
}

impl PushIds for RandomIds {
    fn insert(&mut self, id: u32) {
        self.0.insert(id, ());
    }

    fn remove(&mut self, id: u32) {
        self.0.remove(&id);
    }

    fn ids(&self) -> impl Iterator<Item = u32> {
        self.0.keys().copied()
    }
}

/// Faulty: open addressing with a fixed hash. Which of the ids with one home comes first, insertions decided.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "BTreeSet<u32>", into = "BTreeSet<u32>")]
pub struct ProbedIds {
    slots: [Slot; SLOTS],
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Slot {
    Empty,
    Removed,
    Id(u32),
}

const SLOTS: usize = 2 * IDS as usize;

impl Default for ProbedIds {
    fn default() -> ProbedIds {
        ProbedIds { slots: [Slot::Empty; SLOTS] }
    }
}

impl From<BTreeSet<u32>> for ProbedIds {
    fn from(ids: BTreeSet<u32>) -> ProbedIds {
        let mut probed = ProbedIds::default();
        ids.into_iter().for_each(|id| probed.insert(id));
        probed
    }
}

impl From<ProbedIds> for BTreeSet<u32> {
    fn from(ids: ProbedIds) -> BTreeSet<u32> {
        ids.ids().collect()
    }
}

impl ProbedIds {
    /// The places to look for an id, the nearest first.
    fn probe(id: u32) -> impl Iterator<Item = usize> {
        let home = id as usize % 16 * 8;
        (0..SLOTS).map(move |step| (home + step) % SLOTS)
    }
}

impl PushIds for ProbedIds {
    fn insert(&mut self, id: u32) {
        let free = |place: &usize| !matches!(self.slots[*place], Slot::Id(_));
        if let Some(place) = ProbedIds::probe(id).find(free) {
            self.slots[place] = Slot::Id(id);
        }
    }

    fn remove(&mut self, id: u32) {
        let mut places = ProbedIds::probe(id).take_while(|place| self.slots[*place] != Slot::Empty);
        if let Some(place) = places.find(|place| self.slots[*place] == Slot::Id(id)) {
            self.slots[place] = Slot::Removed;
        }
    }

    fn ids(&self) -> impl Iterator<Item = u32> {
        self.slots.iter().filter_map(|slot| if let Slot::Id(id) = slot { Some(*id) } else { None })
    }
}

/// Makes runtimes of PUSH.
///
/// # Panics
/// When the manifest can't be, which would be a mistake in this file.
pub fn push_factory<M: PushIds>() -> NativeFactory<Push<M>> {
    let factory = NativeFactory::new(|builder| builder.module("push.rs", include_bytes!("push.rs")));
    factory.unwrap_or_else(|error| panic!("the manifest of PUSH: {error}"))
}
