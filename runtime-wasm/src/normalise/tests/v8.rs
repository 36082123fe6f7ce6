//! The same modules in another engine: V8, by node where there is one.

use std::io::Write as _;
use std::process::{Command, Stdio};

use wasmtime::{Engine, Extern, Instance, Module, OptLevel, Store, Val, ValType};

use super::{
    GAS, Nans, Vectors, argument, engine_with, floats, hex, normalised, random_module_of, set_depth, set_gas, word,
};
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

/// Reads a module a line, and a word for each of its exports: the types of a function's parameters, or `-`. Calls these functions,
/// and writes what they gave, the globals, the gas and the memory.
const RANDOM_SCRIPT: &str = r#"
const bits = (view, value) => { view[0] = value; return Buffer.from(view.buffer).toString("hex"); };
const shown = (value) => typeof value === "bigint" ? String(value) : typeof value !== "number" ? "-"
  : Number.isNaN(value) ? "nan" : bits(new Float64Array(1), value);
const given = { i: 5, I: -3n, f: NaN, F: NaN };
for (const line of require("fs").readFileSync(0, "utf8").trim().split("\n")) {
  const [hex, ...words] = line.split(" ");
  const module = new WebAssembly.Module(Buffer.from(hex, "hex"));
  const names = WebAssembly.Module.exports(module).map((export_) => export_.name);
  let left = [];
  try {
    const { exports } = new WebAssembly.Instance(module);
    exports["retick:gas"].value = 1n << 40n;
    names.forEach((name, index) => {
      if (words[index] === "-") return;
      exports["retick:depth"].value = exports["retick:depth-budget"].value;
      try {
        const result = exports[name](...[...words[index].slice(1)].map((type) => given[type]));
        left.push([result].flat().filter((value) => value !== undefined).map(shown).join(","));
      } catch (error) {
        if (!(error instanceof WebAssembly.RuntimeError)) throw error;
        left.push("trap");
      }
    });
    for (const name of names) {
      const item = exports[name];
      if (item instanceof WebAssembly.Memory) {
        const game = Buffer.from(item.buffer).subarray(exports["retick:base"].value);
        let end = game.length;
        while (end > 0 && game[end - 1] === 0) end -= 1;
        left.push(game.subarray(0, end).toString("hex"));
      } else if (item instanceof WebAssembly.Global) {
        try { left.push(shown(item.value)); } catch { left.push("-"); }
      }
    }
  } catch (error) {
    if (!(error instanceof WebAssembly.RuntimeError)) throw error;
    left = ["trap"];
  }
  console.log(left.join(" "));
}
"#;

/// What a script says of some lines in V8, with its tiers as they are or one alone; nothing where there is no node.
pub(super) fn in_v8(tier: &[&str], script: &str, lines: &[String]) -> Option<Vec<String>> {
    let node =
        Command::new("node").args(tier).args(["-e", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut node = node.ok()?;
    let mut given = node.stdin.take().expect("it was asked for");
    lines.iter().for_each(|line| writeln!(given, "{line}").expect("node reads"));
    drop(given);
    let output = node.wait_with_output().expect("node ends");
    assert!(output.status.success(), "node failed");
    Some(String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect())
}

pub(super) fn hex_lines(modules: &[Vec<u8>]) -> Vec<String> {
    modules.iter().map(|module| hex(module)).collect()
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
        let Some(found) = in_v8(tier, SCRIPT, &hex_lines(&normalised)) else { return };
        assert_eq!(found, expected, "{tier:?}");
    }
    assert_ne!(
        in_v8(&[], SCRIPT, &hex_lines(&originals)),
        Some(in_wasmtime(&originals)),
        "guard: without the rewrite they differ"
    );
}

/// A float that is a number, as a double's bytes; any NaN is one that the other side may show otherwise.
fn shown(value: &Val) -> String {
    let double = |value: f64| if value.is_nan() { "nan".to_owned() } else { hex(&value.to_le_bytes()) };
    match value {
        Val::I32(value) => double(f64::from(*value)),
        Val::I64(value) => value.to_string(),
        Val::F32(bits) => double(f64::from(f32::from_bits(*bits))),
        Val::F64(bits) => double(f64::from_bits(*bits)),
        _ => "-".to_owned(),
    }
}

/// The letter that stands for a type, and what is given for it; nothing for what no script can give.
fn letter(ty: &ValType) -> Option<(char, Val)> {
    match ty {
        ValType::I32 => Some(('i', Val::I32(5))),
        ValType::I64 => Some(('I', Val::I64(-3))),
        ValType::F32 => Some(('f', Val::F32(0x7FC0_0000))),
        ValType::F64 => Some(('F', Val::F64(0x7FF8_0000_0000_0000))),
        _ => None,
    }
}

/// A module's line for the script, and what the engine of this crate leaves.
fn line_and_left(engine: &Engine, bytes: &[u8]) -> (String, (String, i64)) {
    let module = Module::new(engine, bytes).expect("a valid module");
    let callable = |export: wasmtime::ExternType| {
        let function = export.func()?.clone();
        function.results().map(|ty| letter(&ty).map(drop)).collect::<Option<()>>()?;
        function.params().map(|ty| letter(&ty)).collect::<Option<Vec<_>>>()
    };
    let calls: Vec<Call> = module.exports().map(|export| (export.name().to_owned(), callable(export.ty()))).collect();
    let words = calls.iter().map(|(_, call)| match call {
        Some(given) => format!("({}", given.iter().map(|(letter, _)| letter).collect::<String>()),
        None => "-".to_owned(),
    });
    let line = [hex(bytes)].into_iter().chain(words).collect::<Vec<_>>().join(" ");
    (line, left(engine, &module, &calls).unwrap_or_else(|| ("trap".to_owned(), 0)))
}

/// An export's name and, of a function that a script can call, what is given to it.
type Call = (String, Option<Vec<(char, Val)>>);

/// Everything that is left, and the gas that it took.
fn left(engine: &Engine, module: &Module, calls: &[Call]) -> Option<(String, i64)> {
    let mut store = Store::new(engine, ());
    let instance = Instance::new(&mut store, module, &[]).ok()?;
    set_gas(&mut store, &instance, GAS);
    let mut left = Vec::new();
    for (name, call) in calls {
        let Some(given) = call else { continue };
        set_depth(&mut store, &instance);
        let function = instance.get_func(&mut store, name).expect("exported");
        let given: Vec<Val> = given.iter().map(|(_, value)| *value).collect();
        let mut results: Vec<Val> = function.ty(&store).results().filter_map(|ty| Some(letter(&ty)?.1)).collect();
        let called = function.call(&mut store, &given, &mut results);
        left.push(
            called.map_or_else(|_| "trap".to_owned(), |()| results.iter().map(shown).collect::<Vec<_>>().join(",")),
        );
    }
    let base = usize::try_from(word(&mut store, &instance, BASE_NAME)?).ok()?;
    for (name, _) in calls {
        match instance.get_export(&mut store, name)? {
            Extern::Memory(memory) => {
                let game = &memory.data(&store)[base..];
                left.push(hex(&game[..game.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)]));
            }
            Extern::Global(global) => left.push(shown(&global.get(&mut store))),
            _ => {}
        }
    }
    let gas = instance.get_global(&mut store, GAS_NAME)?.get(&mut store).i64()?;
    Some((left.join(" "), GAS - gas))
}

/// W4: random modules of everything that may load give the same results, traps, globals, gas and memory in V8, in each of its tiers.
#[test]
fn w4_v8_runs_random_modules_alike() {
    let engine = engine_with(Nans::AsTheyCome, OptLevel::Speed);
    let modules = (0..600).filter_map(|seed| random_module_of(seed, Vectors::None));
    let modules: Vec<Vec<u8>> = modules.map(|module| normalised(&module)).collect();
    let (lines, expected): (Vec<_>, Vec<_>) = modules.iter().map(|module| line_and_left(&engine, module)).unzip();
    let worked = expected.iter().filter(|(_, spent)| *spent > 50).count();
    assert!(worked > 60, "guard: {worked} of {} do something", expected.len());
    for tier in [&[][..], &["--liftoff-only"], &["--no-liftoff"]] {
        let Some(found) = in_v8(tier, RANDOM_SCRIPT, &lines) else { return };
        for (index, (found, (expected, _))) in found.iter().zip(&expected).enumerate() {
            assert_eq!(found, expected, "module {index} {tier:?}");
        }
        assert_eq!(found.len(), expected.len());
    }
}
