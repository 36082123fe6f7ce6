//! What the engine's errors mean (W5).

use retick_core::runtime::StepFault;
use wasmtime::{Error, Trap};

/// A fault that the host raised while it served the guest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct HostRaised(pub StepFault);

/// The fault that an error of a call stands for. Only what the module itself did has a name; all else is this machine's, a native
/// stack that is smaller than the module's depth budget needs among it.
pub(crate) fn fault_of(error: &Error) -> StepFault {
    if let Some(HostRaised(fault)) = error.downcast_ref() {
        return *fault;
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::MemoryOutOfBounds | Trap::TableOutOfBounds) => StepFault::OutOfBounds,
        Some(Trap::IntegerOverflow | Trap::IntegerDivisionByZero | Trap::BadConversionToInteger) => {
            StepFault::Arithmetic
        }
        Some(Trap::UnreachableCodeReached) => StepFault::Aborted,
        Some(Trap::IndirectCallToNull | Trap::BadSignature) => StepFault::BadCall,
        _ => StepFault::Host,
    }
}
