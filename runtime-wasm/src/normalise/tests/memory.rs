//! The memory behind its base: what of it a game reaches, what it finds there, and what is marked.

use wasmtime::{Engine, Instance, Module, OptLevel, Store, Trap};

use super::{Marks, Nans, engine_with, floats, marked, random_module, run, set_depth, set_gas, word};
use crate::normalise::{BASE_NAME, GAS_NAME, PAGES_NAME};
use crate::pages::SMALL_PAGE_BYTES;

/// The pages that a map of so many marks.
fn marks(map: &[u8]) -> Vec<usize> {
    assert!(map.iter().all(|mark| *mark <= 1), "a mark is 0 or 1");
    map.iter().enumerate().filter(|(_, mark)| **mark == 1).map(|(page, _)| page).collect()
}

/// A module whose memory has one page and may grow to two, with `f` of one parameter.
struct Game {
    store: Store<()>,
    instance: Instance,
}

impl Game {
    fn new(body: &str, kind: Marks) -> Game {
        let text =
            format!("(module (memory (export \"memory\") 1 2) (func (export \"f\") (param i32) (result i32) {body}))");
        let module = marked(&wat::parse_str(text).expect("well-formed"), kind);
        let engine: Engine = engine_with(Nans::AsTheyCome, OptLevel::Speed);
        let module = Module::new(&engine, module).expect("a valid module");
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &module, &[]).expect("nothing to import");
        set_gas(&mut store, &instance, i64::MAX);
        Game { store, instance }
    }

    fn call(&mut self, argument: i32) -> Result<i32, Trap> {
        set_depth(&mut self.store, &self.instance);
        let function = self.instance.get_typed_func::<i32, i32>(&mut self.store, "f").expect("exported");
        function.call(&mut self.store, argument).map_err(|error| *error.downcast_ref().expect("a trap"))
    }

    fn word(&mut self, name: &str) -> i32 {
        word(&mut self.store, &self.instance, name).expect("exported")
    }

    /// The map, which has a mark for each of the game's pages, and the game's memory.
    fn parts(&mut self) -> (Vec<u8>, Vec<u8>) {
        let base = usize::try_from(self.word(BASE_NAME)).expect("an address");
        let memory = self.instance.get_memory(&mut self.store, "memory").expect("exported").data(&self.store).to_vec();
        (memory[..(memory.len() - base) / SMALL_PAGE_BYTES].to_vec(), memory[base..].to_vec())
    }
}

const LIMIT: i32 = 2 << 16;
/// Instructions that write at the parameter, and how many bytes.
const STORES: [(&str, usize); 14] = [
    ("(i32.store8 (local.get 0) (i32.const -1))", 1),
    ("(i32.store16 (local.get 0) (i32.const -1))", 2),
    ("(i32.store (local.get 0) (i32.const -1))", 4),
    ("(i64.store8 (local.get 0) (i64.const -1))", 1),
    ("(i64.store16 (local.get 0) (i64.const -1))", 2),
    ("(i64.store32 (local.get 0) (i64.const -1))", 4),
    ("(i64.store (local.get 0) (i64.const -1))", 8),
    ("(f32.store (local.get 0) (f32.const -nan:0x7fffff))", 4),
    ("(f64.store (local.get 0) (f64.const -nan:0xfffffffffffff))", 8),
    ("(v128.store (local.get 0) (v128.const i64x2 -1 -1))", 16),
    ("(v128.store8_lane 3 (local.get 0) (v128.const i64x2 -1 -1))", 1),
    ("(v128.store64_lane 1 (local.get 0) (v128.const i64x2 -1 -1))", 8),
    ("(memory.fill (local.get 0) (i32.const -1) (i32.const 9000))", 9000),
    ("(memory.copy (local.get 0) (i32.const 0) (i32.const 9000))", 9000),
];

/// W6: every kind of store marks the pages of all its bytes and no other, wherever it stands, an offset included.
#[test]
fn w6_every_store_marks_what_it_writes() {
    for (store, bytes) in STORES {
        let offset = store.replacen(' ', " offset=5 ", 1);
        let has_offset = store.contains("store");
        for (shift, text) in [(0, store), (5, &offset)].into_iter().take(1 + usize::from(has_offset)) {
            let last = usize::try_from(LIMIT).expect("positive") - bytes - shift;
            for address in [0, 1, 4095 - shift, 4096, 8191 - shift, last] {
                let mut game = Game::new(&format!("{text} (i32.const 0)"), Marks::Map);
                assert_eq!(game.call(i32::try_from(address).expect("small")), Ok(0), "{text} at {address}");
                let first = address + shift;
                let expected: Vec<usize> =
                    (first / SMALL_PAGE_BYTES..=(first + bytes - 1) / SMALL_PAGE_BYTES).collect();
                assert_eq!(marks(&game.parts().0), expected, "{text} at {address}");
            }
        }
    }
}

/// W3, W6: no address of the game's reaches the map or anything else beside its memory, whatever the instruction, the offset and
/// the tracker. What is refused has written nothing.
#[test]
fn w3_nothing_beside_the_memory_can_be_reached() {
    let accesses = STORES.map(|(store, bytes)| (store.to_owned(), bytes)).into_iter().chain([
        ("(drop (i32.load8_u (local.get 0)))".to_owned(), 1),
        ("(drop (i64.load (local.get 0)))".to_owned(), 8),
        ("(drop (v128.load (local.get 0)))".to_owned(), 16),
        ("(drop (v128.load32_lane 1 (local.get 0) (v128.const i64x2 0 0)))".to_owned(), 4),
        ("(i32.store8 offset=4294967295 (local.get 0) (i32.const 1))".to_owned(), 1),
        ("(i32.store8 offset=4294836224 (local.get 0) (i32.const 1))".to_owned(), 1),
        ("(memory.copy (i32.const 0) (local.get 0) (i32.const 9000))".to_owned(), 9000),
    ]);
    for (text, bytes) in accesses {
        let never = text.contains("offset=");
        let just_beyond = LIMIT - i32::try_from(bytes).expect("small") + 1;
        for address in [just_beyond, LIMIT, LIMIT + 1, -65_536, -65_537, -4096, -16, -1] {
            // Of such an offset, not even address 0 is in the memory.
            let address = if never { address.max(0) } else { address };
            for kind in [Marks::Map, Marks::None] {
                let mut game = Game::new(&format!("{text} (i32.const 0)"), kind);
                assert_eq!(game.call(address), Err(Trap::MemoryOutOfBounds), "{text} at {address}");
                let (map, memory) = game.parts();
                assert!(map.iter().chain(&memory).all(|byte| *byte == 0), "{text} at {address}");
            }
        }
    }
    // Fills and copies of nothing are in the memory up to its very end.
    for text in [
        "(memory.fill (local.get 0) (i32.const 1) (i32.const 0))",
        "(memory.copy (local.get 0) (i32.const 0) (i32.const 0))",
    ] {
        let mut game = Game::new(&format!("{text} (i32.const 0)"), Marks::Map);
        assert_eq!((game.call(LIMIT), game.call(LIMIT + 1)), (Ok(0), Err(Trap::MemoryOutOfBounds)), "{text}");
        assert_eq!(marks(&game.parts().0), [] as [usize; 0]);
    }
}

/// W7: growing answers from the limit alone, pays for its length, and leaves zeros, also where a game wrote before it had the
/// memory; what was zero stays unmarked.
#[test]
fn w7_growing_answers_from_the_limit_and_leaves_zeros() {
    let body = "(if (i32.eq (local.get 0) (i32.const 9)) (then
            (i32.store (i32.const 70004) (i32.const 1)) (i32.store8 (i32.const 131071) (i32.const 1))))
        (if (i32.lt_u (i32.add (local.get 0) (i32.const 1)) (i32.const 5)) (then (return (memory.grow (local.get 0)))))
        (memory.size)";
    for kind in [Marks::Map, Marks::None] {
        let mut game = Game::new(body, kind);
        assert_eq!((game.call(9), game.call(0), game.call(2), game.call(-1)), (Ok(1), Ok(1), Ok(-1), Ok(-1)));
        let gas = |game: &mut Game| {
            let global = game.instance.get_global(&mut game.store, GAS_NAME).expect("exported");
            global.get(&mut game.store).i64().expect("a number")
        };
        let before = gas(&mut game);
        assert_eq!(game.call(0), Ok(1));
        let nothing = before - gas(&mut game);
        let before = gas(&mut game);
        assert_eq!(game.call(1), Ok(1));
        assert_eq!(before - gas(&mut game) - nothing, 65_536 / 16);
        assert_eq!((game.call(9), game.call(1), game.word(PAGES_NAME)), (Ok(2), Ok(-1), 2));
        let mut game = Game::new(body, kind);
        game.call(9).expect("beyond its memory, and below its limit");
        let memory = game.instance.get_memory(&mut game.store, "memory").expect("exported");
        memory.data_mut(&mut game.store)[..64].fill(0);
        game.call(1).expect("it grows");
        let (map, memory) = game.parts();
        assert!(memory.iter().all(|byte| *byte == 0));
        let expected: &[usize] = if kind == Marks::Map { &[17, 31] } else { &[] };
        assert_eq!(marks(&map), expected);
    }
}

/// W7: gas that does not suffice for the length ends a growth, and one that is refused costs nothing.
#[test]
fn w7_a_growth_that_can_not_be_paid_is_out_of_gas() {
    for (gas, argument, expected) in
        [(4_097, 1, Err(Trap::UnreachableCodeReached)), (4_098, 1, Ok(1)), (2, 60_000, Ok(-1))]
    {
        let mut game = Game::new("(memory.grow (local.get 0))", Marks::Map);
        set_gas(&mut game.store, &game.instance, gas);
        assert_eq!(game.call(argument), expected, "{gas}");
    }
}

/// W6: random modules do the same whether they mark or not, gas included, and every page that differs is marked.
#[test]
fn w6_marks_change_nothing_and_miss_nothing() {
    let engine = engine_with(Nans::AsTheyCome, OptLevel::Speed);
    let (mut ran, mut wrote) = (0, 0);
    for module in (0..120).filter_map(random_module).chain((0..40).map(floats::module)) {
        let (with, without) = (marked(&module, Marks::Map), marked(&module, Marks::None));
        let left = run(&engine, &with);
        assert_eq!(left, run(&engine, &without));
        let Some(left) = left else { continue };
        ran += 1;
        // The data segments are in the memory from the start, unmarked.
        let module = Module::new(&engine, &with).expect("a valid module");
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &module, &[]).expect("it ran");
        let base = usize::try_from(word(&mut store, &instance, BASE_NAME).expect("exported")).expect("an address");
        let Some(memory) = module.exports().find_map(|export| instance.get_memory(&mut store, export.name())) else {
            continue;
        };
        let before = memory.data(&store)[base..].to_vec();
        let after = left.whole.expect("a memory");
        let differing = before.chunks(SMALL_PAGE_BYTES).zip(after[base..].chunks(SMALL_PAGE_BYTES));
        let differing: Vec<usize> = differing.enumerate().filter(|(_, (a, b))| a != b).map(|(page, _)| page).collect();
        let marked = marks(&after[..before.len() / SMALL_PAGE_BYTES]);
        assert!(differing.iter().all(|page| marked.contains(page)), "{differing:?} {marked:?}");
        wrote += u32::from(!differing.is_empty());
    }
    assert!(ran > 100 && wrote > 40, "{ran} {wrote}");
}
