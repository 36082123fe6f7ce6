//! Who watches a match: the judges, the digest of all that was seen, and the totals.

use retick_core::digest::Digest;
use retick_core::tick::Moment;

use super::checks::{Breach, Suite, Terms};
use super::coverage::Coverage;
use super::trace::{Seen, TraceDigest};

/// Everyone who watches.
pub(super) struct Watch {
    suite: Suite,
    digest: TraceDigest,
    pub(super) coverage: Coverage,
    breach: Option<Breach>,
    /// Everything seen, where somebody wants to doctor it.
    recording: Option<Vec<(Moment, Seen)>>,
}

impl Watch {
    pub(super) fn new(terms: &Terms) -> Watch {
        Watch {
            suite: Suite::new(terms),
            digest: TraceDigest::new(),
            coverage: Coverage::default(),
            breach: None,
            recording: None,
        }
    }

    /// The same, and everything seen is kept.
    pub(super) fn recording(self) -> Watch {
        Watch { recording: Some(Vec::new()), ..self }
    }

    pub(super) fn is_breached(&self) -> bool {
        self.breach.is_some()
    }

    pub(super) fn breaches(&mut self, breach: Breach) {
        self.breach.get_or_insert(breach);
    }

    pub(super) fn see(&mut self, at: Moment, seen: Seen) {
        self.digest.add(at, &seen);
        self.coverage.see(&seen);
        if self.breach.is_none() {
            self.breach = self.suite.see(at, &seen).err();
        }
        if let Some(recording) = &mut self.recording {
            recording.push((at, seen));
        }
    }

    pub(super) fn finish(&mut self, at: Moment) {
        if self.breach.is_none() {
            self.breach = self.suite.finish(at).err();
        }
    }

    pub(super) fn into_parts(self) -> (Option<Breach>, Digest, Coverage, Vec<(Moment, Seen)>) {
        (self.breach, self.digest.finish(), self.coverage, self.recording.unwrap_or_default())
    }
}
