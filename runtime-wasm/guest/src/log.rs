//! Lines for whoever debugs the game. They leave the module and nothing comes back, so they are never part of the state.

use core::fmt;

/// Most bytes of a formatted line; the rest is cut off.
const MAX_LINE_BYTES: usize = 512;

/// Logs a formatted line: `log!("{} bullets", bullets.len())`. It allocates nothing and is cut off at 512 bytes.
#[macro_export]
macro_rules! log {
    ($($format:tt)+) => {
        $crate::log_line(::core::format_args!($($format)+))
    };
}

/// Logs a line. On targets other than wasm32 there is no host to hear it.
pub fn log(line: &str) {
    host::log(line);
}

/// Logs a formatted line; [`log!`](crate::log!) is its short form.
pub fn log_line(line: fmt::Arguments<'_>) {
    let mut buffer = Line::new();
    // A line that is cut off is not an error.
    let _ = fmt::write(&mut buffer, line);
    log(buffer.as_str());
}

/// What a module's panic handler does: logs the message and the place, and traps.
#[cfg(target_arch = "wasm32")]
pub fn report_panic(info: &core::panic::PanicInfo<'_>) -> ! {
    log_line(format_args!("{info}"));
    core::arch::wasm32::unreachable()
}

struct Line {
    bytes: [u8; MAX_LINE_BYTES],
    length: usize,
}

impl Line {
    const fn new() -> Line {
        Line { bytes: [0; MAX_LINE_BYTES], length: 0 }
    }

    fn as_str(&self) -> &str {
        // Whole characters were written, and nothing else.
        core::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = MAX_LINE_BYTES - self.length;
        let taken = text.floor_char_boundary(room);
        self.bytes[self.length..self.length + taken].copy_from_slice(&text.as_bytes()[..taken]);
        self.length += taken;
        if taken == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}

#[cfg(target_arch = "wasm32")]
mod host {
    #[allow(unsafe_code)]
    mod import {
        #[link(wasm_import_module = "retick")]
        unsafe extern "C" {
            pub fn log(pointer: *const u8, length: usize);
        }
    }

    #[allow(unsafe_code)]
    pub fn log(line: &str) {
        // SAFETY: the import takes the place and length of a line, which is valid for the call; the host only reads it.
        unsafe { import::log(line.as_ptr(), line.len()) }
    }
}

#[cfg(not(target_arch = "wasm32"))]
mod host {
    pub fn log(_line: &str) {}
}

#[cfg(test)]
mod tests {
    use core::fmt::Write;
    use std::string::String;

    use super::*;

    fn written(texts: &[&str]) -> String {
        let mut line = Line::new();
        // What does not fit is cut off, which the result says.
        let _ = texts.iter().try_for_each(|text| line.write_str(text));
        line.as_str().into()
    }

    #[test]
    fn a_line_is_cut_off_at_a_whole_character() {
        assert_eq!(written(&["tick ", "7"]), "tick 7");
        let long = "é".repeat(300);
        assert_eq!(written(&[&long]), "é".repeat(256));
        assert_eq!(written(&["x", &long]).len(), 511);
        crate::log!("{} of {}", 1, 2);
    }
}
