//! Names for the bytes of a game's states, so that a fault says `players[1].health` beside the byte (T3).

use std::cell::RefCell;
use std::rc::Rc;

use retick_core::fields::FieldNames;

use super::ByteDifference;

type Names = Rc<dyn FieldNames>;

thread_local! {
    static NAMES: RefCell<Option<Names>> = const { RefCell::new(None) };
}

/// While it lives, the faults of this thread name fields.
#[must_use = "fields are named for as long as it lives"]
pub struct NamedFields {
    before: Option<Names>,
}

impl Drop for NamedFields {
    fn drop(&mut self) {
        NAMES.set(self.before.take());
    }
}

/// Lets the faults of this thread name the field that stands at a byte of a state, while what comes back lives: by
/// [`SerdeFields`](retick_core::fields::SerdeFields) for a native game, by [`Symbols`](retick_core::fields::Symbols) for a module.
///
/// ```
/// use std::sync::Arc;
///
/// use retick_core::fields::SerdeFields;
/// use retick_core::runtime::RuntimeFactory;
/// use retick_testing::assert::{check_two_client_convergence, name_fields};
/// use retick_testing::fixtures::{Tally, tally_descriptor, tally_factory, zig_packed};
/// use retick_testing::twins::{FlippedMix, flipped_factory};
///
/// let _names = name_fields(SerdeFields::<Tally>::new());
/// let twin: [Arc<dyn RuntimeFactory>; 2] =
///     [Arc::new(tally_factory()), Arc::new(flipped_factory::<FlippedMix, 1, 30>())];
/// let fault = check_two_client_convergence(twin.clone(), &tally_descriptor(&twin[0], 2, 1), &zig_packed, 60);
/// assert!(fault.is_err_and(|fault| fault.to_string().contains("S(30), first at mix, byte 64")));
/// ```
pub fn name_fields(names: impl FieldNames + 'static) -> NamedFields {
    let names: Names = Rc::new(names);
    NamedFields { before: NAMES.replace(Some(names)) }
}

/// Where two states differ first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Located {
    pub(super) difference: Option<ByteDifference>,
    pub(super) field: Option<String>,
}

impl Located {
    /// Of two states whose bytes are at hand.
    pub(super) fn between(first: &[u8], second: &[u8]) -> Located {
        let difference = ByteDifference::between(first, second);
        let field = difference.and_then(|difference| {
            let names = NAMES.with_borrow(Clone::clone)?;
            names.name(first, difference.offset).or_else(|| names.name(second, difference.offset))
        });
        Located { difference, field }
    }

    /// Of two states that may not be kept any more.
    pub(super) fn of(states: Option<(Vec<u8>, Vec<u8>)>) -> Located {
        states.map_or(Located::default(), |(first, second)| Located::between(&first, &second))
    }

    /// In words.
    pub(super) fn place(difference: Option<&ByteDifference>, field: Option<&str>) -> String {
        match (difference, field) {
            (Some(difference), Some(field)) => format!("{field}, {difference}"),
            (Some(difference), None) => difference.to_string(),
            (None, _) => "in no byte that can be compared".to_owned(),
        }
    }
}
