//! `retick module`: what it says of the committed game, and of modules that are none.

use std::fs;

use retick_wasm::{Limits, normalise};
use serde_json::Value;

use crate::{check_refused, retick, scratch, stderr, stdout};

/// The committed game.
const SKIRMISH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/skirmish/skirmish.wasm");

/// Runs to the end, expecting this exit code, and reads the document that it prints.
fn document(arguments: &[&str], code: i32) -> Value {
    let output = retick(arguments);
    assert_eq!(output.status.code(), Some(code), "{}{}", stdout(&output), stderr(&output));
    serde_json::from_str(&stdout(&output)).unwrap()
}

/// The names of a document's fields.
fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn inspect_tells_what_a_module_is() {
    let output = retick(&["module", "inspect", SKIRMISH]);
    let said = stdout(&output);
    assert!(output.status.success(), "{said}{}", stderr(&output));
    for words in ["identity ", "60 a second", "2 to 8", "commands, projection", "retick_step", "memory (memory)"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let document = document(&["module", "inspect", SKIRMISH, "--json"], 0);
    let names = ["abi_version", "contents", "description", "identity", "limits", "report", "tracking"];
    assert_eq!(keys(&document), names);
    assert!(said.contains(document["identity"].as_str().unwrap()));
    assert_eq!(document["abi_version"], 1);
    assert_eq!(document["description"]["ticks_per_second"], 60);
    assert_eq!(
        (&document["description"]["seats"]["fewest"], &document["description"]["seats"]["most"]),
        (&2.into(), &8.into())
    );
    assert!(document["description"]["input_schema"]["fields"].as_array().unwrap().len() > 1);
    assert!(document["contents"]["exports"].as_array().unwrap().iter().any(|export| export["name"] == "retick_init"));
    assert!(document["contents"]["imports"].as_array().unwrap().iter().all(|import| import["module"] == "retick"));
    let module = fs::read(SKIRMISH).unwrap();
    let report = *normalise(&module, &Limits::default()).unwrap().report();
    assert_eq!(document["report"]["marked_stores"], report.marked_stores);
    assert_eq!(document["report"]["original_bytes"], module.len());
    assert_eq!(document["report"]["normalised_bytes"], report.normalised_bytes);
    assert_eq!(keys(&document["report"]).len(), 12);
    assert_eq!(document["limits"]["limit-memory-pages"], 256);
    assert!(said.contains(&format!("marked_stores{:>21}", report.marked_stores)), "{said}");
}

#[test]
fn certify_passes_the_committed_game_and_names_each_budget_that_it_exceeds() {
    let output = retick(&["module", "certify", SKIRMISH, "--ticks", "30", "--seed", "3"]);
    let said = stdout(&output);
    assert!(output.status.success(), "{said}{}", stderr(&output));
    for words in ["\nmatches: 2 seats, seed 3; 8 seats, seed 3\n", "replayed_ticks", "µs", "\ncertified\n"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let small = ["module", "certify", SKIRMISH, "--ticks", "20", "--seats", "2", "--json"];
    let passed = document(&small, 0);
    assert_eq!(keys(&passed), ["figures", "findings", "identity", "log", "matches", "passed"]);
    assert_eq!((&passed["passed"], passed["findings"].as_array().unwrap().len()), (&true.into(), 0));
    assert_eq!(passed["matches"], serde_json::json!([{"seats": 2, "seed": 1}]));
    assert_eq!(keys(&passed["figures"]).len(), 13);
    assert_eq!(passed["figures"]["replayed_ticks"], 20);
    let gas = passed["figures"]["gas"]["value"].as_u64().unwrap();
    assert!(gas > 0 && passed["figures"]["step"]["median_nanos"].as_u64().unwrap() > 0);

    let exact = gas.to_string();
    assert_eq!(document(&[&small[..], &["--max-gas", &exact]].concat(), 0)["passed"], true);
    let short = (gas - 1).to_string();
    for (budget, most, code) in [
        ("--max-median-step-us", "0", "RTK-M201"),
        ("--max-step-us", "0", "RTK-M202"),
        ("--max-gas", &short, "RTK-M203"),
        ("--max-pages", "0", "RTK-M204"),
        ("--max-memory-pages", "0", "RTK-M205"),
        ("--max-projection-bytes", "0", "RTK-M206"),
    ] {
        let output = retick(&[&small[..], &[budget, most]].concat());
        assert_eq!(output.status.code(), Some(1), "{budget}: {}", stderr(&output));
        assert!(stderr(&output).contains(code), "{budget}: {}", stderr(&output));
        let failed: Value = serde_json::from_str(&stdout(&output)).unwrap();
        assert_eq!((&failed["passed"], &failed["findings"][0]["code"]), (&false.into(), &code.into()), "{budget}");
        let message = failed["findings"][0]["message"].as_str().unwrap();
        assert!(message.contains(&format!("of which {most} are allowed")), "{message}");
    }
    let both = [&small[..7], &["--max-gas", "1", "--max-pages", "0"]].concat();
    let output = retick(&both);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("RTK-M203  ") && stdout(&output).contains("RTK-M204  "));
    assert!(stdout(&output).ends_with("not certified\n") && stderr(&output).contains("and 1 more"));
}

#[test]
fn certify_refuses_matches_that_are_none() {
    check_refused(&["module", "certify", SKIRMISH, "--ticks", "9", "--seats", "9"], 2, &["RTK-M002", "9 seats"]);
    check_refused(&["module", "certify", SKIRMISH, "--seats", "0"], 2, &["--seats"]);
    check_refused(&["module", "certify", SKIRMISH, "--ticks", "0"], 2, &["--ticks"]);
    check_refused(&["module", "certify", SKIRMISH, "--set", "rounds=many"], 2, &["rounds=many"]);
    check_refused(&["module", "certify", SKIRMISH, "--max-gas", "much"], 2, &["--max-gas"]);
    check_refused(&["module", "certify"], 2, &["<FILE>"]);
    check_refused(&["module", "no-such-command"], 2, &["no-such-command"]);
    // One tick mispredicts nothing, so that nothing was proved.
    check_refused(&["module", "certify", SKIRMISH, "--ticks", "1", "--seats", "2"], 1, &["RTK-M005"]);
}

/// The interface's functions but for the step, with a description that is none.
const INTERFACE: &str = r#"
    (func (export "retick_abi") (result i32) (i32.const 1))
    (func (export "retick_buffer") (param i32) (result i32) (i32.const 0))
    (func (export "retick_describe") (result i64) (i64.const 0))
    (func (export "retick_init") (param i32 i32) (result i32) (i32.const 0))"#;
const STEP: &str = r#"(func (export "retick_step") (param i32 i32) (result i32) (i32.const 0))"#;
const MEMORY: &str = r#"(memory (export "memory") 1)"#;

#[test]
fn each_kind_of_refusal_is_named_and_ends_with_2() {
    let whole = |start: &str, memory: &str| format!("(module {start} {memory} {INTERFACE} {STEP})");
    let relaxed =
        "(func (drop (f32x4.relaxed_madd (v128.const i64x2 0 0) (v128.const i64x2 0 0) (v128.const i64x2 0 0))))";
    let admitted = [
        ("limit", whole("", r#"(memory (export "memory") 300)"#), "300 memory pages"),
        ("feature", whole("", r#"(memory (export "memory") 1 1 shared)"#), "threads"),
        ("instruction", whole(relaxed, MEMORY), "relaxed-simd"),
        ("import", whole(r#"(import "env" "clock" (func))"#, MEMORY), "the import `clock` from `env` is not granted"),
        ("export", format!("(module {MEMORY} {INTERFACE})"), "the export `retick_step` is missing"),
        ("start", whole("(func $boot) (start $boot)", MEMORY), "start function"),
    ];
    let described = [
        (
            "version",
            whole("", MEMORY).replace("(result i32) (i32.const 1))", "(result i32) (i32.const 2))"),
            "version 2",
        ),
        ("fault", whole("", MEMORY).replace("(i64.const 0)", "unreachable"), "the game aborted"),
        ("description", whole("", MEMORY), "the description: the block ends early"),
    ];
    for (name, text, words) in admitted.iter().chain(&described) {
        let file = scratch(&format!("module-{name}.wasm"));
        fs::write(&file, wat::parse_str(text).unwrap()).unwrap();
        let path = file.to_str().unwrap();
        for command in ["inspect", "certify"] {
            check_refused(&["module", command, path], 2, &["is refused", path, words]);
        }
        let told = document(&["module", "certify", path, "--json"], 2);
        assert_eq!((&told["findings"][0]["code"], &told["identity"]), (&"RTK-M001".into(), &Value::Null), "{name}");
        assert!(told["findings"][0]["message"].as_str().unwrap().contains(words));
    }
    let nowhere = scratch("module-not-written.wasm");
    for (name, ..) in admitted {
        let file = scratch(&format!("module-{name}.wasm"));
        let (path, out) = (file.to_str().unwrap(), nowhere.to_str().unwrap());
        check_refused(&["module", "normalise", path, "-o", out], 2, &["is refused", path]);
    }
    assert!(!nowhere.exists());
    let (text, large) = (scratch("module-text.wasm"), scratch("module-large.wasm"));
    fs::write(&text, b"no module").unwrap();
    fs::write(&large, vec![0; 3 << 20]).unwrap();
    for command in [&["inspect"][..], &["certify"], &["normalise", "-o", nowhere.to_str().unwrap()]] {
        let refused = |file: &str, words: &[&str]| {
            check_refused(&[&["module"], command, &[file]].concat(), 2, words);
        };
        refused(text.to_str().unwrap(), &["is refused", "not a valid module at byte 0"]);
        refused(large.to_str().unwrap(), &["3145728", "2097152"]);
        refused(scratch("module-missing.wasm").to_str().unwrap(), &["can't read"]);
    }
}

#[test]
fn normalise_writes_what_runs() {
    let file = scratch("module-normalised.wasm");
    let path = file.to_str().unwrap();
    let output = retick(&["module", "normalise", SKIRMISH, "-o", path]);
    assert!(output.status.success(), "{}", stderr(&output));
    let module = fs::read(SKIRMISH).unwrap();
    let written = fs::read(&file).unwrap();
    assert!(written == normalise(&module, &Limits::default()).unwrap().bytes());
    assert!(stdout(&output).contains(&format!("{} bytes became {}", module.len(), written.len())));
    // What runs is no game's module again: it has a page of marks more than a game may have.
    check_refused(&["module", "inspect", path], 2, &["257 memory pages"]);
    let nowhere = scratch("no-such-folder").join("module.wasm");
    check_refused(&["module", "normalise", SKIRMISH, "-o", nowhere.to_str().unwrap()], 2, &["can't write"]);
    check_refused(&["module", "normalise", SKIRMISH], 2, &["--output"]);
}
