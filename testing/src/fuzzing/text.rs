//! The canonical text and the binary form: one of each for a value, and either can be made of the other (K13).

use std::collections::{BTreeMap, BTreeSet};

use retick_core::codec::{canonical, text};
use serde::{Deserialize, Serialize};

use super::{Seed, Verdict};

/// A value of every shape that the forms know.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Node {
    Empty,
    Flag(bool),
    Small(i8),
    Wide(i64),
    Huge(u128),
    Half(f32),
    Float(f64),
    Letter(char),
    Word(String),
    Pair(u8, Box<Node>),
    Maybe(Option<Box<Node>>),
    Doubt(Option<Option<bool>>),
    List(Vec<Node>),
    Named(BTreeMap<String, Node>),
    Keyed(BTreeMap<i16, Node>),
    Record {
        tick: u64,
        node: Box<Node>,
    },
    /// A list that the reader does not know for a set: only writing it again shows another order.
    Set(BTreeSet<u8>),
}

pub(super) fn check(input: &[u8]) -> Verdict {
    let Some((kind, bytes)) = input.split_first() else { return Verdict::Refused };
    if kind % 2 == 0 { of_text(bytes) } else { of_binary(bytes) }
}

fn of_text(bytes: &[u8]) -> Verdict {
    let Ok(given) = std::str::from_utf8(bytes) else { return Verdict::Refused };
    let node = text::from_text_canonical::<Node>(given);
    let Ok(node) = node else { return Verdict::Refused };
    assert_eq!(text::to_text(&node).as_deref(), Ok(given), "one text for a value");
    let binary = canonical::encode(&node);
    let Ok(binary) = binary else { panic!("what has a text has a binary form: {:?}", binary.err()) };
    let again = canonical::decode_canonical::<Node>(&binary);
    let Ok(again) = again else { panic!("the binary form reads back: {:?}", again.err()) };
    assert_eq!(text::to_text(&again).as_deref(), Ok(given), "and gives the same text");
    Verdict::Taken
}

fn of_binary(bytes: &[u8]) -> Verdict {
    let Ok(node) = canonical::decode_canonical::<Node>(bytes) else { return Verdict::Refused };
    assert_eq!(canonical::encode(&node).as_deref(), Ok(bytes), "one binary form for a value");
    // A key that tags are known by has no text.
    let Ok(written) = text::to_text(&node) else { return Verdict::Taken };
    let again = text::from_text_canonical::<Node>(&written);
    let Ok(again) = again else { panic!("the text reads back: {:?} of {written}", again.err()) };
    assert_eq!(canonical::encode(&again).as_deref(), Ok(bytes), "and gives the same bytes");
    Verdict::Taken
}

fn nodes() -> Vec<(&'static str, Node)> {
    let word = |text: &str| Node::Word(text.to_owned());
    let boxed = |node: Node| Box::new(node);
    vec![
        ("empty", Node::Empty),
        ("numbers", Node::List(vec![Node::Small(-7), Node::Wide(-(1 << 60)), Node::Huge(u128::MAX), Node::Flag(true)])),
        (
            "floats",
            Node::List(vec![
                Node::Half(0.1),
                Node::Float(-0.0),
                Node::Float(f64::NAN),
                Node::Float(5e-324),
                Node::Half(f32::INFINITY),
                Node::Float(1e16),
            ]),
        ),
        ("words", Node::List(vec![word("line\n\"quoted\" \u{1}"), Node::Letter('ß'), word("")])),
        ("options", Node::List(vec![Node::Maybe(None), Node::Doubt(Some(None)), Node::Doubt(Some(Some(true)))])),
        ("pair", Node::Pair(3, boxed(Node::Maybe(Some(boxed(Node::Empty)))))),
        ("named", Node::Named(BTreeMap::from([("b".to_owned(), Node::Empty), ("a".to_owned(), Node::Small(1))]))),
        ("keyed", Node::Keyed(BTreeMap::from([(-2, word("x")), (10, Node::Flag(false)), (9, Node::Empty)]))),
        ("set", Node::Set(BTreeSet::from([1, 20, 3]))),
        ("record", Node::Record { tick: 1 << 54, node: boxed(Node::List(Vec::new())) }),
    ]
}

pub(super) fn seeds() -> Vec<Seed> {
    let names = ["text-", "binary-"];
    let mut seeds = Vec::new();
    for (name, node) in nodes() {
        let (Ok(written), Ok(binary)) = (text::to_text(&node), canonical::encode(&node)) else { continue };
        for (kind, bytes) in [(0, written.as_bytes()), (1, &binary)] {
            let name = [names[usize::from(kind)], name].concat();
            seeds.push(Seed::tagged(name.leak(), kind, bytes));
        }
    }
    seeds
}
