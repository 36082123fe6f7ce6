//! The same modules in another engine: V8, by node where there is one.

use std::io::Write as _;
use std::process::{Command, Stdio};

use wasmtime::{Instance, Module, OptLevel, Store};

use super::{GAS, Nans, argument, engine_with, floats, hex, normalised, set_depth, set_gas, word};
use crate::normalise::{BASE_NAME, GAS_NAME};

/// Bytes at the front of the memory in which the modules work.
const WORKED_BYTES: usize = 1024;
const MODULES: u64 = 40;

/// Reads modules in hexadecimal, a line each; calls both functions with NaNs; writes the front of each memory likewise, and the gas
/// that is left.
const SCRIPT: &str = r#"
const lines = require("fs").readFileSync(0, "utf8").trim().split("\n");
for (const line of lines) {
  const instance = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(line, "hex")));
  const { f, g, memory } = instance.exports;
  const gas = instance.exports["retick:gas"];
  const own = (name) => instance.exports["retick:" + name]?.value;
  if (gas) gas.value = 1n << 40n;
  for (const call of [f, g]) {
    if (gas) instance.exports["retick:depth"].value = own("depth-budget");
    call(NaN, NaN);
  }
  console.log(Buffer.from(memory.buffer, own("base") ?? 0, 1024).toString("hex") + (gas ? gas.value : ""));
}
"#;

/// What V8 leaves in the memories, with its tiers as they are or one alone; nothing where there is no node.
fn in_v8(tier: &[&str], modules: &[Vec<u8>]) -> Option<Vec<String>> {
    let node =
        Command::new("node").args(tier).args(["-e", SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut node = node.ok()?;
    let mut given = node.stdin.take().expect("it was asked for");
    modules.iter().for_each(|module| writeln!(given, "{}", hex(module)).expect("node reads"));
    drop(given);
    let output = node.wait_with_output().expect("node ends");
    assert!(output.status.success(), "node failed");
    Some(String::from_utf8(output.stdout).expect("hexadecimal").lines().map(str::to_owned).collect())
}

fn in_wasmtime(modules: &[Vec<u8>]) -> Vec<String> {
    let engine = engine_with(Nans::AsTheyCome, OptLevel::Speed);
    let run = |module: &Vec<u8>| {
        let module = Module::new(&engine, module).expect("a valid module");
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &module, &[]).expect("nothing to import");
        let gas = instance.get_global(&mut store, GAS_NAME);
        set_gas(&mut store, &instance, GAS);
        let base = word(&mut store, &instance, BASE_NAME).unwrap_or(0);
        for name in ["f", "g"] {
            let function = instance.get_func(&mut store, name).expect("exported");
            let ty = function.ty(&store);
            let given: Vec<_> = ty.params().filter_map(|ty| argument(&ty)).collect();
            let mut results: Vec<_> = ty.results().filter_map(|ty| argument(&ty)).collect();
            set_depth(&mut store, &instance);
            function.call(&mut store, &given, &mut results).expect("no trap");
        }
        let memory = instance.get_memory(&mut store, "memory").expect("exported");
        let worked = hex(&memory.data(&store)[usize::try_from(base).expect("an address")..][..WORKED_BYTES]);
        let left = gas.and_then(|gas| gas.get(&mut store).i64());
        worked + &left.map_or_else(String::new, |left| left.to_string())
    };
    modules.iter().map(run).collect()
}

/// W4: modules full of NaNs leave the same bytes and the same gas in V8, whichever of its compilers runs them, as in the engine of this crate.
/// Without node there is nothing to compare with.
#[test]
fn w4_v8_computes_the_same_bits() {
    let originals: Vec<_> = (0..MODULES).map(floats::module).collect();
    let normalised: Vec<_> = originals.iter().map(|module| normalised(module)).collect();
    let expected = in_wasmtime(&normalised);
    for tier in [&[][..], &["--liftoff-only"], &["--no-liftoff"]] {
        let Some(found) = in_v8(tier, &normalised) else { return };
        assert_eq!(found, expected, "{tier:?}");
    }
    assert_ne!(in_v8(&[], &originals), Some(in_wasmtime(&originals)), "guard: without the rewrite they differ");
}
