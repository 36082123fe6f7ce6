//! Checked access to the guest's memory. Pointers and lengths come from the guest and are never trusted.

use retick_core::runtime::StepFault;

/// The bytes of a span that the guest named.
pub(crate) fn read(memory: &[u8], pointer: u32, length: u32) -> Result<&[u8], StepFault> {
    let range = range(pointer, length).ok_or(StepFault::Interface)?;
    memory.get(range).ok_or(StepFault::Interface)
}

/// Fills a span that the guest named.
pub(crate) fn write(memory: &mut [u8], pointer: u32, bytes: &[u8]) -> Result<(), StepFault> {
    let length = u32::try_from(bytes.len()).map_err(|_| StepFault::Interface)?;
    let range = range(pointer, length).ok_or(StepFault::Interface)?;
    memory.get_mut(range).ok_or(StepFault::Interface)?.copy_from_slice(bytes);
    Ok(())
}

fn range(pointer: u32, length: u32) -> Option<core::ops::Range<usize>> {
    let start = usize::try_from(pointer).ok()?;
    Some(start..start.checked_add(usize::try_from(length).ok()?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w1_spans_outside_the_memory_are_refused() {
        let mut memory = vec![0; 8];
        assert_eq!(write(&mut memory, 6, &[1, 2]), Ok(()));
        assert_eq!(read(&memory, 6, 2), Ok(&[1, 2][..]));
        assert_eq!(read(&memory, 8, 0), Ok(&[][..]));
        for (pointer, length) in [(7, 2), (9, 0), (u32::MAX, 1), (1, u32::MAX), (u32::MAX, u32::MAX)] {
            assert_eq!(read(&memory, pointer, length), Err(StepFault::Interface), "{pointer} {length}");
        }
        assert_eq!(write(&mut memory, 7, &[1, 2]), Err(StepFault::Interface));
    }
}
