//! Checked access to the guest's memory. Pointers and lengths come from the guest and are never trusted.

use retick_core::runtime::StepFault;

/// The bytes of a span that the guest named.
pub(crate) fn read(memory: &[u8], pointer: u32, length: u32) -> Result<&[u8], StepFault> {
    let range = range(pointer, length).ok_or(StepFault::Interface)?;
    memory.get(range).ok_or(StepFault::Interface)
}

/// Fills a span that the guest named.
pub(crate) fn write(memory: &mut [u8], pointer: u32, bytes: &[u8]) -> Result<(), StepFault> {
    let length = u32::try_from(bytes.len()).map_err(|_| StepFault::Interface)?;
    let range = range(pointer, length).ok_or(StepFault::Interface)?;
    memory.get_mut(range).ok_or(StepFault::Interface)?.copy_from_slice(bytes);
    Ok(())
}

fn range(pointer: u32, length: u32) -> Option<core::ops::Range<usize>> {
    let start = usize::try_from(pointer).ok()?;
    Some(start..start.checked_add(usize::try_from(length).ok()?)?)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use retick_core::config::{ConfigSchema, SessionConfig};
    use retick_core::identity::MatchDescriptor;
    use retick_core::input::InputSchema;
    use retick_core::rng::SessionSeed;
    use retick_core::runtime::{
        Capabilities, CreateError, GameDescription, Keep, Output, Runtime, RuntimeFactory, SeatStep, StepBatch, abi,
    };
    use retick_core::seat::{ControlEpoch, Presence, SeatCount};
    use retick_core::tick::{Tick, TickRate};
    use wasmtime::{LinearMemory, MemoryCreator, MemoryType};

    use super::*;
    use crate::limits::Limits;
    use crate::{Tracking, WasmFactory, engine};

    #[test]
    fn w1_spans_outside_the_memory_are_refused() {
        let mut memory = vec![0; 8];
        assert_eq!(write(&mut memory, 6, &[1, 2]), Ok(()));
        assert_eq!(read(&memory, 6, 2), Ok(&[1, 2][..]));
        assert_eq!(read(&memory, 8, 0), Ok(&[][..]));
        for (pointer, length) in [(7, 2), (9, 0), (u32::MAX, 1), (1, u32::MAX), (u32::MAX, u32::MAX)] {
            assert_eq!(read(&memory, pointer, length), Err(StepFault::Interface), "{pointer} {length}");
        }
        assert_eq!(write(&mut memory, 7, &[1, 2]), Err(StepFault::Interface));
    }

    /// A machine that has no memory for another game while it is full.
    #[derive(Default)]
    struct Exhausted {
        full: AtomicBool,
    }

    struct Pages(Vec<u8>);

    // SAFETY: the buffer is allocated once, as large as the memory is asked to be, and never moves.
    #[expect(unsafe_code, reason = "a machine without memory can't be had otherwise")]
    unsafe impl LinearMemory for Pages {
        fn byte_size(&self) -> usize {
            self.0.len()
        }

        fn byte_capacity(&self) -> usize {
            self.0.len()
        }

        fn grow_to(&mut self, _: usize) -> wasmtime::Result<()> {
            Err(wasmtime::Error::msg("no memory left"))
        }

        fn as_ptr(&self) -> *mut u8 {
            self.0.as_ptr().cast_mut()
        }
    }

    // SAFETY: every access is bounds-checked, since neither a reservation nor a guard is promised.
    #[expect(unsafe_code, reason = "a machine without memory can't be had otherwise")]
    unsafe impl MemoryCreator for Exhausted {
        fn new_memory(
            &self,
            _: MemoryType,
            size: usize,
            _: Option<usize>,
            _: Option<usize>,
            _: usize,
        ) -> Result<Box<dyn LinearMemory>, String> {
            if self.full.load(Ordering::Relaxed) {
                Err("no memory left".into())
            } else {
                Ok(Box::new(Pages(vec![0; size])))
            }
        }
    }

    fn growing_game() -> Vec<u8> {
        let game = GameDescription {
            tick_rate: TickRate::Hz60,
            state_schema: "fixture/v1",
            config_schema: ConfigSchema::empty(),
            seats: 1..=1,
            capabilities: Capabilities::default(),
        };
        let word = InputSchema::builder("word").integer("word", 0..=i64::from(u32::MAX)).build().expect("valid");
        let mut block = vec![];
        abi::encode_description(&game, &word, &mut block);
        let span = abi::pack_span(4096, u32::try_from(block.len()).expect("short"));
        let bytes: String = block.iter().map(|byte| format!("\\{byte:02x}")).collect();
        let interface = include_str!("../tests/wat/interface.txt").replace("{description}", &bytes);
        let text = include_str!("../tests/wat/grow.wat").replace(";; interface\n", &interface);
        wat::parse_str(text.replace("{span}", &span.to_string())).expect("well-formed")
    }

    /// W02: out of memory is this machine's fault, by name, before a match begins. One that has begun has all the memory that it may
    /// ever have, so that the game never sees −1 below its limit; and all that as on a machine with plenty.
    #[test]
    fn w02_a_machine_without_memory_begins_no_match_and_ends_none() {
        let host = Arc::<Exhausted>::default();
        let limits = Limits { memory_pages: 64, ..Limits::default() };
        let mut config = engine::config(&limits);
        let creator: Arc<dyn MemoryCreator> = host.clone();
        config.with_host_memory(creator).memory_init_cow(false);
        config.memory_reservation(0).memory_reservation_for_growth(0).memory_guard_size(0);
        let poor = WasmFactory::load_with(&growing_game(), limits, Tracking::Automatic, &config).expect("loads");
        let rich = WasmFactory::load(&growing_game(), limits).expect("loads");
        assert_eq!(poor.manifest().identity(), rich.manifest().identity());
        let seats = SeatCount::new(1).expect("valid");
        let descriptor = MatchDescriptor::new(poor.manifest(), SessionConfig::empty(), SessionSeed::from_u64(1), seats);
        let mut games = [&poor, &rich].map(|factory| factory.create_runtime(&descriptor).expect("there is memory"));
        host.full.store(true, Ordering::Relaxed);
        assert_eq!(
            poor.create_runtime(&descriptor).map(drop),
            Err(CreateError::Fault { fault: StepFault::Host, log: vec![] })
        );
        let checksums = games.each_mut().map(|game| {
            let mut output = Output::default();
            game.advance(&growing(&[1, 60, 9, 2]), &mut output).expect("no fault");
            // The last of these would have been a page too many, and left the size as it was.
            let pages = u32::from_le_bytes(*game.trailer()[8..].first_chunk().expect("after the tick"));
            (pages, output.kept.last().and_then(|kept| kept.checksum))
        });
        assert_eq!((checksums[0].0, checksums[0]), (64, checksums[1]));
    }

    fn growing(steps: &[u32]) -> StepBatch {
        let mut batch = StepBatch::default();
        batch.reset(Tick::ZERO);
        for pages in steps {
            batch.push_step(Keep::CHECKSUM);
            let (presence, epoch) = (Presence::Human, ControlEpoch(0));
            let input = &pages.to_le_bytes();
            batch.push_seat(SeatStep { input, substituted: false, malformed: false, presence, epoch });
        }
        batch
    }
}
