//! `retick module symbols`: statics by name and part, from the debug sections of a module.

use std::fs;

use crate::{check_refused, retick, scratch, stderr, stdout};

/// Abbreviations, by number: a unit, a base type, a structure, a member, an array, its bound, a variable, a namespace, a typedef.
const ABBREVIATIONS: &[u8] = &[
    1, 0x11, 1, 0, 0, // compile unit with children
    2, 0x24, 0, 0x03, 0x08, 0x0b, 0x0b, 0, 0, // base type: name, byte size
    3, 0x13, 1, 0x03, 0x08, 0x0b, 0x0b, 0, 0, // structure: name, byte size
    4, 0x0d, 0, 0x03, 0x08, 0x49, 0x13, 0x38, 0x0b, 0, 0, // member: name, type, location
    5, 0x01, 1, 0x49, 0x13, 0, 0, // array: type
    6, 0x21, 0, 0x37, 0x0b, 0, 0, // bound: count
    7, 0x34, 0, 0x03, 0x08, 0x49, 0x13, 0x02, 0x18, 0, 0, // variable: name, type, location
    8, 0x39, 1, 0x03, 0x08, 0, 0, // namespace: name
    9, 0x16, 0, 0x03, 0x08, 0x49, 0x13, 0, 0, // typedef: name, type
    0,
];

/// Entries of one unit, behind its header.
struct Unit(Vec<u8>);

impl Unit {
    /// Adds an entry, and says where it stands in the unit.
    fn entry(&mut self, abbreviation: u8, parts: &[&[u8]]) -> [u8; 4] {
        // Length, version, offset of the abbreviations, size of an address.
        let at = u32::try_from(11 + self.0.len()).unwrap().to_le_bytes();
        self.0.push(abbreviation);
        parts.iter().for_each(|part| self.0.extend_from_slice(part));
        at
    }

    fn end_children(&mut self) {
        self.0.push(0);
    }

    fn finish(self) -> Vec<u8> {
        let length = u32::try_from(7 + self.0.len()).unwrap();
        [&length.to_le_bytes()[..], &[4, 0, 0, 0, 0, 0, 4], &self.0].concat()
    }
}

/// `struct Player { u32 score; u16 health; }`, and `game::players`, four of them at 0x100400, `clock` at 0x100500.
fn debug_info() -> Vec<u8> {
    let at = |address: u32| [&[5, 0x03][..], &address.to_le_bytes()].concat();
    let mut unit = Unit(Vec::new());
    unit.entry(1, &[]);
    let word = unit.entry(2, &[b"u32\0", &[4]]);
    let half = unit.entry(2, &[b"u16\0", &[2]]);
    let alias = unit.entry(9, &[b"Health\0", &half]);
    let player = unit.entry(3, &[b"Player\0", &[8]]);
    unit.entry(4, &[b"score\0", &word, &[0]]);
    unit.entry(4, &[b"health\0", &alias, &[4]]);
    unit.end_children();
    let players = unit.entry(5, &[&player]);
    unit.entry(6, &[&[4]]);
    unit.end_children();
    unit.entry(8, &[b"game\0"]);
    unit.entry(7, &[b"players\0", &players, &at(0x10_0400)]);
    unit.end_children();
    unit.entry(7, &[b"clock\0", &word, &at(0x10_0500)]);
    unit.end_children();
    unit.finish()
}

fn escaped(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("\\{byte:02x}")).collect()
}

#[test]
fn a8_statics_are_named_with_their_parts() {
    let (info, abbreviations) = (escaped(&debug_info()), escaped(ABBREVIATIONS));
    let text = format!(
        "(module (memory 1) (@custom \".debug_info\" \"{info}\") (@custom \".debug_abbrev\" \"{abbreviations}\"))"
    );
    let (module, list) = (scratch("debug.wasm"), scratch("debug.symbols"));
    fs::write(&module, wat::parse_str(text).unwrap()).unwrap();
    let output = retick(&["module", "symbols", module.to_str().unwrap()]);
    let said = stdout(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    for line in ["0x00100400 8*4 game::players", "0x00100418 4 game::players[3].score", "0x00100500 4 clock"] {
        assert!(said.lines().any(|found| found == line), "{said} without {line}");
    }
    fs::write(&list, &said).unwrap();
    for (file, address, name) in [
        (&module, "0x10040c", "game::players[1].health"),
        (&list, "1049616", "game::players[2].score"),
        (&list, "0x100501", "clock+1"),
    ] {
        let output = retick(&["module", "symbols", file.to_str().unwrap(), "--at", address]);
        assert_eq!(stdout(&output).trim(), name, "{}", stderr(&output));
    }
    check_refused(&["module", "symbols", list.to_str().unwrap(), "--at", "7"], 1, &["0x7"]);
}

#[test]
fn a8_a_stripped_module_has_no_symbols_and_damaged_ones_are_refused() {
    let stripped = scratch("stripped.wasm");
    fs::write(&stripped, wat::parse_str("(module)").unwrap()).unwrap();
    check_refused(&["module", "symbols", stripped.to_str().unwrap()], 2, &["no debug sections"]);
    let info = debug_info();
    let cut = escaped(&info[..info.len() - 9]);
    let damaged = scratch("damaged.wasm");
    fs::write(&damaged, wat::parse_str(format!("(module (@custom \".debug_info\" \"{cut}\"))")).unwrap()).unwrap();
    check_refused(&["module", "symbols", damaged.to_str().unwrap()], 2, &["debug sections"]);
    fs::write(&stripped, "no list\n").unwrap();
    check_refused(&["module", "symbols", stripped.to_str().unwrap()], 2, &["line 1"]);
}
