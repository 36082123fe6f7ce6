//! A [`Chunked`] as the sequence of its elements: the same bytes as a `Vec` of them (K13).

use core::fmt;
use core::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use super::Chunked;

impl<T: Serialize> Serialize for Chunked<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self)
    }
}

/// Whatever number of elements is claimed, memory is taken for those that come.
impl<'de, T: Deserialize<'de> + Clone> Deserialize<'de> for Chunked<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Elements(PhantomData))
    }
}

struct Elements<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de> + Clone> Visitor<'de> for Elements<T> {
    type Value = Chunked<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Chunked<T>, A::Error> {
        let mut chunked = Chunked::new();
        while let Some(element) = sequence.next_element()? {
            chunked.push(element);
        }
        Ok(chunked)
    }
}
