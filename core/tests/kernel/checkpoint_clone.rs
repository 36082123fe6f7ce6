//! K3: what `#[derive(CheckpointClone)]` clones and overwrites, and how.

use std::fmt::Debug;

use retick_core::chunked::CheckpointClone;

/// Notes how it came by its value.
#[derive(PartialEq, Debug)]
struct Probe {
    value: u8,
    origin: Origin,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Origin {
    Made,
    Cloned,
    Overwritten,
}

impl Clone for Probe {
    fn clone(&self) -> Self {
        Probe { value: self.value, origin: Origin::Cloned }
    }

    fn clone_from(&mut self, source: &Self) {
        *self = Probe { value: source.value, origin: Origin::Overwritten };
    }
}

fn probe(value: u8, origin: Origin) -> Probe {
    Probe { value, origin }
}

/// Checks the clone of `make(2, Made)`, and `make(1, Made)` after it was overwritten by that.
fn check<T: Clone + PartialEq + Debug>(make: impl Fn(u8, Origin) -> T) {
    let source = make(2, Origin::Made);
    assert_eq!(source.clone(), make(2, Origin::Cloned));
    let mut target = make(1, Origin::Made);
    target.clone_from(&source);
    assert_eq!(target, make(2, Origin::Overwritten));
}

#[derive(CheckpointClone, PartialEq, Debug)]
struct Named {
    first: Probe,
    r#type: Probe,
}

#[derive(CheckpointClone, PartialEq, Debug)]
struct Tuple(Probe, Probe);

#[derive(CheckpointClone, PartialEq, Debug)]
struct Unit;

#[derive(CheckpointClone, PartialEq, Debug)]
struct Generic<'a, T: PartialEq, const N: usize>
where
    T: Debug,
{
    value: T,
    borrowed: &'a [u8; N],
}

#[derive(CheckpointClone, PartialEq, Debug)]
enum Phase<T> {
    Lobby,
    Play(T, Probe),
    Over { winner: T, r#match: Probe },
}

#[derive(CheckpointClone, PartialEq, Debug)]
enum Only {
    One(Probe),
}

#[derive(CheckpointClone, Debug)]
enum Never {}

#[test]
fn k3_structs_are_overwritten_field_by_field() {
    check(|value, origin| Named { first: probe(value, origin), r#type: probe(value + 10, origin) });
    check(|value, origin| Tuple(probe(value, origin), probe(value + 10, origin)));
    check(|value, origin| Generic { value: probe(value, origin), borrowed: &[7; 3] });
    let mut unit = Unit;
    unit.clone_from(&Unit);
    assert_eq!(unit.clone(), Unit);
}

#[test]
fn k3_enums_are_overwritten_field_by_field_while_the_variant_stays() {
    check(|value, origin| Phase::Play(probe(value, origin), probe(value + 10, origin)));
    check(|value, origin| Phase::Over { winner: probe(value, origin), r#match: probe(value + 10, origin) });
    check(|value, origin| Only::One(probe(value, origin)));
    let lobby = Phase::<Probe>::Lobby;
    assert_eq!(lobby.clone(), Phase::Lobby);
    let mut phase = Phase::Play(probe(1, Origin::Made), probe(2, Origin::Made));
    let over = Phase::Over { winner: probe(3, Origin::Made), r#match: probe(4, Origin::Made) };
    phase.clone_from(&over);
    assert_eq!(phase, Phase::Over { winner: probe(3, Origin::Cloned), r#match: probe(4, Origin::Cloned) });
    phase.clone_from(&lobby);
    assert_eq!(phase, Phase::Lobby);
    assert!(None::<Never>.clone().is_none());
}

#[test]
fn k3_an_overwritten_state_keeps_its_buffers() {
    #[derive(CheckpointClone)]
    struct State {
        units: Vec<u64>,
    }
    let (mut old, new) = (State { units: vec![1; 100] }, State { units: vec![2; 90] });
    let buffer = old.units.as_ptr();
    old.clone_from(&new);
    assert_eq!((old.units.as_ptr(), old.units), (buffer, new.units));
}
