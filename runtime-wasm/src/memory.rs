//! The guest's memory: checked access, and its size. Pointers and lengths come from the guest and are never trusted.

use retick_core::runtime::StepFault;
use wasmtime::{AsContextMut, Memory};

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

/// Grows the memory to `pages`, which its maximum allows.
pub(crate) fn grow_to(memory: Memory, mut store: impl AsContextMut, pages: u64) -> Result<(), StepFault> {
    let missing = pages.saturating_sub(memory.size(store.as_context()));
    if missing == 0 {
        return Ok(());
    }
    memory.grow(store.as_context_mut(), missing).map(drop).map_err(|_| StepFault::Host)
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
        AdvanceError, Capabilities, GameDescription, HydrateError, Keep, Output, Runtime, RuntimeFactory, SeatStep,
        StepBatch, abi,
    };
    use retick_core::seat::{ControlEpoch, Presence, SeatCount};
    use retick_core::tick::{Tick, TickRate};
    use wasmtime::{LinearMemory, MemoryCreator, MemoryType};

    use super::*;
    use crate::limits::Limits;
    use crate::{WasmFactory, WasmRuntime, engine};

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

    /// A machine that has no memory left beyond 100 pages of a game, and none for another game while it is full.
    #[derive(Default)]
    struct Exhausted {
        full: AtomicBool,
    }

    struct Pages {
        bytes: Vec<u8>,
        size: usize,
    }

    const HAD: usize = 100 * 65_536;

    // SAFETY: the buffer is allocated once, as large as the memory's reservation is asked to be, and never moves.
    #[expect(unsafe_code, reason = "a host that fails to grow can't be had otherwise")]
    unsafe impl LinearMemory for Pages {
        fn byte_size(&self) -> usize {
            self.size
        }

        fn byte_capacity(&self) -> usize {
            HAD
        }

        fn grow_to(&mut self, new_size: usize) -> wasmtime::Result<()> {
            if new_size > HAD {
                return Err(wasmtime::Error::msg("no memory left"));
            }
            self.size = new_size;
            Ok(())
        }

        fn as_ptr(&self) -> *mut u8 {
            self.bytes.as_ptr().cast_mut()
        }
    }

    // SAFETY: every access is bounds-checked, since neither a reservation nor a guard is promised.
    #[expect(unsafe_code, reason = "a host that fails to grow can't be had otherwise")]
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
                return Err("no memory left".into());
            }
            Ok(Box::new(Pages { bytes: vec![0; HAD], size }))
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

    fn machine(host: &Arc<Exhausted>) -> WasmFactory {
        let limits = Limits::default();
        let mut config = engine::config(&limits);
        let creator: Arc<dyn MemoryCreator> = host.clone();
        config.with_host_memory(creator).memory_init_cow(false);
        config.memory_reservation(0).memory_reservation_for_growth(0).memory_guard_size(0);
        WasmFactory::load_with(&growing_game(), limits, &config).expect("loads")
    }

    fn begin(factory: &WasmFactory) -> WasmRuntime {
        let seats = SeatCount::new(1).expect("valid");
        let config = SessionConfig::empty();
        let descriptor = MatchDescriptor::new(factory.manifest(), config, SessionSeed::from_u64(1), seats);
        factory.create_runtime(&descriptor).expect("begins")
    }

    /// W02: out of memory is this machine's fault, by name. The guest never sees −1 below the limit, and nothing is lost.
    #[test]
    fn w02_a_host_without_memory_is_a_host_fault_and_no_answer_to_the_guest() {
        let poor = machine(&Arc::default());
        let rich = WasmFactory::load(&growing_game(), Limits::default()).expect("loads");
        assert_eq!(poor.manifest().identity(), rich.manifest().identity());
        let (mut poor, mut rich, mut output) = (begin(&poor), begin(&rich), Output::default());
        poor.advance(&growing(0, &[99]), &mut output).expect("there are 100 pages");
        poor.keep(Keep::CHECKPOINT, &mut output).expect("no fault");
        let before = poor.memory().to_vec();
        let fault = AdvanceError::Fault { tick: Tick::new(1), fault: StepFault::Host };
        assert_eq!(poor.advance(&growing(1, &[1]), &mut output), Err(fault));
        assert!(poor.memory() == before && poor.tick() == Tick::new(1));
        // A state of a machine that has the memory can't be built here either, and that is typed too.
        rich.advance(&growing(0, &[100]), &mut output).expect("there is memory");
        rich.keep(Keep::CHECKPOINT, &mut output).expect("no fault");
        let [own, theirs] = [0, 1].map(|index: usize| output.kept[index].checkpoint.expect("asked for"));
        let mut bytes = vec![];
        rich.export(theirs, 0, usize::MAX, &mut bytes).expect("there");
        assert_eq!(poor.hydrate(Tick::new(1), &bytes), Err(HydrateError::Host));
        assert!(poor.memory() == before);
        assert_eq!(poor.restore(own), Ok(()));
    }

    /// K2: a machine that can't even put the state back keeps it, fails by name, and goes on from it when it can again.
    #[test]
    fn k2_a_state_that_can_not_be_put_back_yet_is_not_lost() {
        let host = Arc::<Exhausted>::default();
        let (mut game, mut output) = (begin(&machine(&host)), Output::default());
        let before = game.memory().to_vec();
        host.full.store(true, Ordering::Relaxed);
        let fault = |tick| AdvanceError::Fault { tick: Tick::new(tick), fault: StepFault::Host };
        assert_eq!(game.advance(&growing(0, &[2, 200]), &mut output), Err(fault(1)));
        assert!(game.memory() == before && game.tick() == Tick::ZERO);
        assert_eq!(game.keep(Keep::CHECKSUM, &mut output), Err(fault(0)));
        assert_eq!(game.advance(&growing(0, &[1]), &mut output), Err(fault(0)));
        host.full.store(false, Ordering::Relaxed);
        assert_eq!(game.advance(&growing(0, &[1]), &mut output), Ok(()));
        let mut other = begin(&machine(&host));
        other.advance(&growing(0, &[1]), &mut output).expect("there is memory");
        game.keep(Keep::CHECKSUM, &mut output).expect("no fault");
        other.keep(Keep::CHECKSUM, &mut output).expect("no fault");
        assert_eq!(output.kept[0].checksum, output.kept[1].checksum);
    }

    fn growing(tick: u64, steps: &[u32]) -> StepBatch {
        let mut batch = StepBatch::default();
        batch.reset(Tick::new(tick));
        for pages in steps {
            batch.push_step(Keep::NOTHING);
            let (presence, epoch) = (Presence::Human, ControlEpoch(0));
            let input = &pages.to_le_bytes();
            batch.push_seat(SeatStep { input, substituted: false, malformed: false, presence, epoch });
        }
        batch
    }
}
