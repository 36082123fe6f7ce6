//! The area that the host fills with a block before it calls.

use alloc::vec::Vec;

/// Blocks begin at a multiple of this.
const ALIGNMENT: usize = 8;

/// The module's side of `retick_buffer`: an area that only grows, and hands out what the host wrote only for the place that it
/// was told.
#[derive(Debug, Default)]
pub struct Buffer {
    bytes: Vec<u8>,
}

impl Buffer {
    /// An empty area.
    #[must_use]
    pub const fn new() -> Buffer {
        Buffer { bytes: Vec::new() }
    }

    /// The address of `length` bytes or more for the host to fill. What the area held is then of no meaning.
    pub fn reserve(&mut self, length: usize) -> usize {
        let needed = length.saturating_add(ALIGNMENT);
        if self.bytes.len() < needed {
            self.bytes.resize(needed, 0);
        }
        // Exposed, because the host writes through this address.
        self.bytes.as_mut_ptr().expose_provenance().wrapping_add(self.start())
    }

    /// The block that the host says it wrote: `None` unless it stands where [`Buffer::reserve`] said, and within it.
    pub fn block(&self, address: usize, length: usize) -> Option<&[u8]> {
        let start = self.start();
        let here = address == self.bytes.as_ptr().addr().wrapping_add(start);
        self.bytes.get(start..start.checked_add(length)?).filter(|_| here)
    }

    fn start(&self) -> usize {
        self.bytes.as_ptr().addr().wrapping_neg() % ALIGNMENT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w1_a_block_is_read_only_from_where_it_was_told_to_be() {
        let mut buffer = Buffer::new();
        assert_eq!(buffer.block(0, 0).map(<[u8]>::len), None);
        let address = buffer.reserve(100);
        assert_eq!(address % ALIGNMENT, 0);
        assert_eq!(buffer.block(address, 100), Some(&[0; 100][..]));
        assert_eq!(buffer.block(address, 0), Some(&[][..]));
        assert_eq!(buffer.block(address + 8, 10), None);
        assert_eq!(buffer.block(address, 100 + ALIGNMENT + 1), None);
        assert_eq!(buffer.block(address, usize::MAX), None);
        assert_eq!(buffer.reserve(5), address, "a smaller block goes to the same place");
    }
}
