use alloc::collections::BTreeMap;
use alloc::vec;

use super::super::{decode, encode};
use super::*;

/// A map in whichever order the list has, as a hash map would show it.
struct AnyOrder<K, V>(Vec<(K, V)>);

impl<K: Serialize, V: Serialize> Serialize for AnyOrder<K, V> {
    fn serialize<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use ser::SerializeMap as _;
        let mut map = serializer.serialize_map(None)?;
        self.0.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;
        map.end()
    }
}

/// A value that refuses itself.
struct Refused;

impl Serialize for Refused {
    fn serialize<S: ser::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(ser::Error::custom("not today"))
    }
}

fn custom(path: &str) -> Option<EncodeError> {
    Some(EncodeError { path: path.into(), reason: EncodeReason::Custom("not today".into()) })
}

#[test]
fn k13_nan_bits_are_canonical() {
    for bits in [0x7FF8_0000_0000_0000_u64, 0xFFF8_0000_0000_0000, 0x7FF0_0000_0000_0001, u64::MAX] {
        assert_eq!(encode(&f64::from_bits(bits)).unwrap(), 0x7FF8_0000_0000_0000_u64.to_le_bytes());
    }
    for bits in [0x7FC0_0000_u32, 0xFFC0_0000, 0x7F80_0001, u32::MAX] {
        assert_eq!(encode(&f32::from_bits(bits)).unwrap(), 0x7FC0_0000_u32.to_le_bytes());
    }
    assert_eq!(encode(&-0.0_f64).unwrap(), 0x8000_0000_0000_0000_u64.to_le_bytes());
    assert_eq!(encode(&f32::NEG_INFINITY).unwrap(), 0xFF80_0000_u32.to_le_bytes());
}

#[test]
fn k13_a_map_has_the_same_bytes_in_whichever_order_it_comes() {
    let entries: Vec<(u32, Vec<u8>)> = (0..600_u16).map(|i| (u32::from(i), vec![7; usize::from(i % 5)])).collect();
    let sorted = encode(&entries.iter().cloned().collect::<BTreeMap<_, _>>()).unwrap();
    let mut descending = AnyOrder(entries.into_iter().rev().collect());
    assert_eq!(encode(&descending).unwrap(), sorted);
    for turn in 0..600 {
        descending.0.swap(turn, turn * 7 % 600);
        assert_eq!(encode(&descending).unwrap(), sorted);
    }
    // Maps inside keys and values are sorted before the keys are compared.
    let inner = |first: u8, second: u8| AnyOrder(vec![(first, ()), (second, ())]);
    let outer = AnyOrder(vec![(inner(9, 1), inner(4, 3)), (inner(1, 2), inner(3, 4))]);
    let again = AnyOrder(vec![(inner(2, 1), inner(4, 3)), (inner(1, 9), inner(4, 3))]);
    assert_eq!(encode(&outer).unwrap(), encode(&again).unwrap());
}

#[test]
fn k13_a_key_that_stands_twice_is_refused_with_its_name() {
    let refusal = |path: &str| Some(EncodeError { path: path.into(), reason: EncodeReason::DuplicateKey });
    assert_eq!(encode(&AnyOrder(vec![("b", 1), ("a", 2), ("b", 3)])).err(), refusal(r#"["b"]"#));
    assert_eq!(encode(&(AnyOrder(vec![(1_u16, 1), (1, 1)]),)).err(), refusal("0[0x0100]"));
    // Two NaNs are one key, whatever their payloads.
    let (one, other) = (f64::from_bits(0x7FF8_0000_0000_0001), f64::from_bits(0xFFF8_0000_0000_0002));
    assert_eq!(encode(&AnyOrder(vec![(one, 1), (other, 2)])).err(), refusal("[0x000000000000f87f]"));
}

#[test]
fn k13_a_refused_value_is_named_by_its_path() {
    #[derive(Serialize)]
    struct Player<T> {
        score: u8,
        name: T,
    }
    #[derive(Serialize)]
    enum Mode<T> {
        Newtype(T),
        Tuple(u8, T),
        Named { inner: T },
    }
    #[derive(Serialize)]
    struct State<T> {
        players: Vec<Player<T>>,
    }
    let state = State { players: vec![Player { score: 1, name: Some(Refused) }] };
    assert_eq!(encode(&state).err(), custom("players[0].name"));
    let state = State { players: vec![Player { score: 0, name: None }, Player { score: 1, name: Some(Refused) }] };
    assert_eq!(encode(&state).err(), custom("players[1].name"));
    assert_eq!(encode(&Refused).err(), custom(""));
    assert_eq!(encode(&(1, Mode::Newtype(Refused))).err(), custom("1.Newtype"));
    assert_eq!(encode(&Mode::Tuple(1, Refused)).err(), custom("Tuple.1"));
    assert_eq!(encode(&[Mode::Named { inner: Refused }][..]).err(), custom("[0].Named.inner"));
    assert_eq!(encode(&AnyOrder(vec![("north", Refused)])).err(), custom(r#"["north"]"#));
    assert_eq!(encode(&AnyOrder(vec![(Refused, 1)])).err(), custom("{key 0}"));
}

#[test]
fn k13_a_field_left_out_on_a_condition_is_refused() {
    #[derive(Serialize)]
    struct Sparse {
        #[serde(skip)]
        _cache: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        target: Option<u8>,
    }
    assert_eq!(encode(&Sparse { _cache: 9, target: Some(7) }).unwrap(), [1, 7]);
    let refusal = EncodeError { path: "target".into(), reason: EncodeReason::OmittedField };
    assert_eq!(encode(&Sparse { _cache: 9, target: None }), Err(refusal));
}

#[test]
fn k13_lengths_are_what_was_written() {
    struct Liar(Option<usize>);
    impl Serialize for Liar {
        fn serialize<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            use ser::SerializeSeq as _;
            let mut list = serializer.serialize_seq(self.0)?;
            (0..3_u8).try_for_each(|element| list.serialize_element(&element))?;
            list.end()
        }
    }
    for claimed in [None, Some(0), Some(3), Some(usize::MAX)] {
        assert_eq!(encode(&Liar(claimed)).unwrap(), encode(&[0_u8, 1, 2][..]).unwrap());
    }
    struct Shown(u8);
    impl Serialize for Shown {
        fn serialize<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(&format_args!("<{}>", self.0))
        }
    }
    assert_eq!(encode(&Shown(250)).unwrap(), encode("<250>").unwrap());
}

#[test]
fn k13_elements_without_bytes_end_at_the_limit() {
    let most = vec![(); 65_536];
    assert_eq!(decode::<Vec<()>>(&encode(&most).unwrap()), Ok(most));
    let refusal = EncodeError { path: "[65536]".into(), reason: EncodeReason::TooLong };
    assert_eq!(encode(&vec![(); 65_537]), Err(refusal));
    // The bound is one for the whole value.
    assert_eq!(encode(&[vec![(); 40_000], vec![(); 30_000]][..]).unwrap_err().path, "[1][25536]");
    assert!(encode(&vec![0_u8; 65_537]).is_ok());
}

#[test]
fn k13_steady_encoding_needs_no_larger_buffer() {
    let value = (vec![1_u64; 100], "text", Some([1.5_f32; 8]));
    let mut out = encode(&value).unwrap();
    let (capacity, place) = (out.capacity(), out.as_ptr());
    out.clear();
    super::super::encode_into(&value, &mut out).unwrap();
    assert_eq!((out.capacity(), out.as_ptr()), (capacity, place));
}
