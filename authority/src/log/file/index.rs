//! Which segment holds a record, and where in it to begin looking.

use super::format::{HEADER_BYTES, Link};

/// Bytes between two marks: what a look-up walks over at most, besides the record itself.
const MARK_BYTES: u64 = 32 * 1024;

/// A record whose place is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mark {
    pub(super) sequence: u64,
    pub(super) offset: u64,
}

/// One segment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Segment {
    /// Number of its first record.
    pub(super) first: u64,
    /// Its bytes.
    pub(super) length: u64,
    /// Some of its records in order, [`MARK_BYTES`] apart.
    marks: Vec<Mark>,
}

impl Segment {
    /// A segment that has its header alone. `expected_bytes` is what it will hold, so that its marks have their memory.
    pub(super) fn new(link: Link, expected_bytes: u64) -> Segment {
        let marks = usize::try_from(expected_bytes / MARK_BYTES).unwrap_or(0) + 1;
        Segment { first: link.sequence, length: HEADER_BYTES as u64, marks: Vec::with_capacity(marks) }
    }

    /// Takes in the next record, whose frame has this many bytes.
    pub(super) fn push(&mut self, sequence: u64, frame_bytes: usize) {
        if self.marks.last().is_none_or(|mark| self.length - mark.offset >= MARK_BYTES) {
            self.marks.push(Mark { sequence, offset: self.length });
        }
        self.length += frame_bytes as u64;
    }

    /// Whether the segment holds no record.
    pub(super) fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }
}

/// Every segment, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Index(Vec<Segment>);

impl Index {
    pub(super) fn push(&mut self, segment: Segment) {
        self.0.push(segment);
    }

    /// Number of the first record of each segment that holds one.
    pub(super) fn firsts(&self) -> impl Iterator<Item = u64> {
        self.0.iter().filter(|segment| !segment.is_empty()).map(|segment| segment.first)
    }

    /// The segment whose first record has this number, if the log has that record.
    pub(super) fn beginning_with(&self, sequence: u64) -> Option<&Segment> {
        self.0.iter().find(|segment| segment.first == sequence && !segment.is_empty())
    }

    /// Forgets the segments before that one, and gives the numbers of their first records.
    pub(super) fn forget_before(&mut self, sequence: u64) -> Vec<u64> {
        let count = self.0.partition_point(|segment| segment.first < sequence);
        self.0.drain(..count).map(|segment| segment.first).collect()
    }

    /// The segment that records are appended to.
    pub(super) fn last(&self) -> Option<&Segment> {
        self.0.last()
    }

    pub(super) fn last_mut(&mut self) -> Option<&mut Segment> {
        self.0.last_mut()
    }

    /// The segment that holds this record, and a mark at or before it, if the record exists.
    pub(super) fn locate(&self, sequence: u64) -> Option<(&Segment, Mark)> {
        let segment = &self.0[self.0.partition_point(|segment| segment.first <= sequence).checked_sub(1)?];
        let mark = segment.marks.partition_point(|mark| mark.sequence <= sequence).checked_sub(1)?;
        Some((segment, segment.marks[mark]))
    }
}

#[cfg(test)]
mod tests {
    use retick_core::digest::Digest;

    use super::*;

    #[test]
    fn a12_a_look_up_walks_over_less_than_a_mark_is_wide() {
        let mut index = Index::default();
        let (mut sequence, mut places) = (1, Vec::new());
        for _ in 0..3 {
            let mut segment = Segment::new(Link { sequence, hash: Digest::of(b"") }, 0);
            for _ in 0..2000 {
                places.push((sequence, segment.first, segment.length));
                segment.push(sequence, 100);
                sequence += 1;
            }
            index.push(segment);
        }
        assert_eq!(index.locate(0), None);
        for (sequence, first, offset) in places {
            let (segment, mark) = index.locate(sequence).unwrap();
            assert_eq!(segment.first, first);
            assert!(mark.sequence <= sequence && mark.offset <= offset && offset - mark.offset < MARK_BYTES + 100);
            assert_eq!(offset - mark.offset, (sequence - mark.sequence) * 100);
        }
    }
}
