//! What a module consists of, by name.

use retick_wasm::{Contents, Export, ExportKind, Limits, LoadError};

use crate::support::{load, module};

#[test]
fn w2_a_modules_parts_are_listed_as_they_stand() {
    let bytes = module(
        r#"(module
        (import "retick" "log" (func $log (param i32 i32)))
        (import "retick" "emit" (func (param i32 i32 i32 i32 i32)))
        (memory (export "memory") 2 9)
        (table (export "jumps") 3 funcref)
        (global (export "score") (mut i32) (i32.const 0))
        (global i64 (i64.const 1))
        (data (i32.const 0) "twelve bytes")
;; interface
        (func (export "retick_step") (param i32 i32) (result i32) (i32.const 0))
        (@custom "notes" "seven b"))"#,
    );
    let contents = Contents::of(&bytes, &Limits::default()).expect("admitted");
    let import = |name: &str| ("retick".to_owned(), name.to_owned());
    assert_eq!(contents.imports, [import("log"), import("emit")]);
    let export = |name: &str, kind| Export { name: name.to_owned(), kind };
    for expected in [
        export("memory", ExportKind::Memory),
        export("jumps", ExportKind::Table),
        export("score", ExportKind::Global),
        export("retick_step", ExportKind::Function),
    ] {
        assert!(contents.exports.contains(&expected), "{expected:?} is not in {:?}", contents.exports);
    }
    // Four of the interface, one that reads inputs, and the step.
    assert_eq!((contents.exports.len(), contents.functions, contents.globals, contents.tables), (8, 6, 2, 1));
    assert_eq!((contents.initial_pages, contents.maximum_pages), (2, Some(9)));
    assert!(contents.data_bytes > 12);
    let notes = contents.custom_sections.iter().find(|(name, _)| name == "notes");
    assert_eq!(notes, Some(&("notes".to_owned(), 7)));
}

#[test]
fn w2_what_is_not_admitted_is_not_listed() {
    let refused = Contents::of(&module(include_str!("../wat/start.wat")), &Limits::default());
    assert_eq!(refused, Err(LoadError::StartFunction));
    assert!(matches!(Contents::of(b"no module", &Limits::default()), Err(LoadError::Invalid { .. })));
    let none = Limits { memory_pages: 0, ..Limits::default() };
    let refused = Contents::of(&module(include_str!("../wat/grow.wat")), &none);
    assert_eq!(refused, Err(LoadError::BadLimits { name: "memory-pages", value: 0 }));
    load(include_str!("../wat/grow.wat")).expect("admitted under the default limits");
}
