//! Tracking by the kernel on a memory that the engine made, written by a module's own code.

use wasmtime::{Instance, Memory, Module, Store, TypedFunc};

use super::super::{PageSet, PageStore, ProtectPages, SMALL_PAGE_BYTES, Tracker};
use crate::engine;
use crate::limits::Limits;

/// Where the game's part begins: it has the second of WebAssembly's pages and the third, of four. Its data is an image of a file
/// that the engine maps, the rest is the system's own pages.
const PART: usize = 65_536;
const PART_PAGES: u32 = 32;

const MODULE: &str = r#"(module
    (memory (export "memory") 4 4)
    (data (i32.const 8) "before")
    (data (i32.const 69640) "within")
    (func (export "load") (param i32 i32) (i32.load8_u (local.get 0)) drop)
    (func (export "store") (param i32 i32) (i64.store (local.get 0) (i64.const -1)))
    (func (export "fill") (param i32 i32) (memory.fill (local.get 0) (i32.const 7) (local.get 1)))
    (func (export "copy") (param i32 i32) (memory.copy (local.get 0) (i32.const 8) (local.get 1))))"#;

struct Game {
    tracker: ProtectPages,
    memory: Memory,
    instance: Instance,
    store: Store<()>,
}

impl Game {
    fn new() -> Game {
        let engine = engine::engine(&engine::config(&Limits::default())).expect("supported");
        let module = Module::new(&engine, wat::parse_str(MODULE).expect("text")).expect("valid");
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &module, &[]).expect("no imports");
        let memory = instance.get_memory(&mut store, "memory").expect("exported");
        let part = PART..PART + PART_PAGES as usize * SMALL_PAGE_BYTES;
        let tracker = ProtectPages::new(memory.data_mut(&mut store), part).expect("the probe says so");
        Game { tracker, memory, instance, store }
    }

    fn call(&mut self, name: &str, address: u32, bytes: u32) {
        let function: TypedFunc<(u32, u32), ()> =
            self.instance.get_typed_func(&mut self.store, name).expect("exported");
        function.call(&mut self.store, (address, bytes)).expect("inside the memory");
    }
}

/// W6: a module's stores and bulk operations are named by page, and its loads are not, on data that the engine maps and on zeros.
#[test]
fn w6_a_modules_own_writes_are_named() {
    if ProtectPages::probe().is_err() {
        return;
    }
    const START: u32 = 65_536;
    let calls: [(&str, u32, u32, &[u32]); 11] = [
        ("load", START, 0, &[]),
        ("load", 69_640, 0, &[]),
        ("store", 8, 0, &[]),
        ("store", START, 0, &[0]),
        ("store", 69_640, 0, &[1]),
        ("load", 69_640, 0, &[]),
        ("store", START + 3 * 4096 - 4, 0, &[2, 3]),
        ("store", START + 32 * 4096 - 8, 0, &[31]),
        ("fill", START + 9 * 4096 - 1, 4098, &[8, 9, 10]),
        ("copy", START + 20 * 4096, 6, &[20]),
        ("fill", 3 * START, START, &[]),
    ];
    let mut game = Game::new();
    let pages = PageStore::new(&[0; PART_PAGES as usize * SMALL_PAGE_BYTES]).expect("whole pages");
    let mut dirty = PageSet::new(PART_PAGES);
    for (name, address, bytes, expected) in calls {
        game.call(name, address, bytes);
        dirty.clear();
        game.tracker.collect(game.memory.data_mut(&mut game.store), &pages, &mut dirty).expect("tracked");
        assert_eq!(dirty.sorted(), expected, "{name} {address}");
    }
    assert_eq!(game.memory.data(&game.store)[PART + 20 * 4096..][..6], [255, 255, 255, 255, 255, 255]);
    // The engine may take its memory back first.
    let Game { tracker, store, .. } = game;
    drop(store);
    drop(tracker);
}
