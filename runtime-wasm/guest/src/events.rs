//! A step's presentation events on their way out (K10): straight to the host, so that none of them stays in the module's memory.

use retick_core::event::{EventId, EventSink};

/// Gives events to the host. On targets other than wasm32 there is none, and they go nowhere.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostEvents;

impl EventSink for HostEvents {
    fn emit(&self, id: EventId, payload: &[u8]) {
        host::emit(id, payload);
    }
}

#[cfg(target_arch = "wasm32")]
mod host {
    use retick_core::event::EventId;

    #[allow(unsafe_code)]
    mod import {
        #[link(wasm_import_module = "retick")]
        unsafe extern "C" {
            pub fn emit(module: u32, source: u32, event: u32, pointer: *const u8, length: usize);
        }
    }

    #[allow(unsafe_code)]
    pub fn emit(id: EventId, payload: &[u8]) {
        let (module, event) = (u32::from(id.module), u32::from(id.event));
        // SAFETY: the import takes the place and length of a payload, which is valid for the call; the host only reads it.
        unsafe { import::emit(module, id.source, event, payload.as_ptr(), payload.len()) }
    }
}

#[cfg(not(target_arch = "wasm32"))]
mod host {
    use retick_core::event::EventId;

    pub fn emit(_id: EventId, _payload: &[u8]) {}
}
