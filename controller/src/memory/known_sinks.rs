//! When the objects that outputs are written to were looked at.

use std::{collections::BTreeMap, time::Duration};

use cartouche_crds::{OutputSink, OutputsFrom};
use cartouche_protocol::{
    sinks::{self, Sinks},
    sourced_inputs::SourceObject,
};

/// What was found the last time, as long as nothing says that it may have changed. Times are of the clock that goes on while
/// the machine sleeps.
#[derive(Debug, Default)]
pub struct KnownSinks {
    looked: Option<Looked>,
    /// Objects that are wanted no more and are not there, and since when that is known.
    absent: BTreeMap<SourceObject, Duration>,
    /// How often in a row somebody else had written one of them meanwhile.
    pub conflicts: u8,
    /// The run, by uid, that was read for its sensitive outputs, and the template by which: what it lacked then it does not give.
    pub read_whole: Option<(String, (String, i64))>,
}

/// For what sinks are looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct LookedForSinks {
    /// The sinks.
    pub sinks: Vec<OutputSink>,
    /// The run that the outputs are of.
    pub from: Option<OutputsFrom>,
    /// A digest of the outputs.
    pub outputs: u64,
    /// The uid of the template, and its generation.
    pub template: (String, i64),
}

#[derive(Debug)]
struct Looked {
    what: LookedForSinks,
    found: Sinks,
    at: Duration,
}

impl KnownSinks {
    /// What was found for the same, no longer ago than this where that is given.
    #[must_use]
    pub fn lately(
        &self,
        what: &LookedForSinks,
        pause: Option<Duration>,
        now: Duration,
    ) -> Option<&Sinks> {
        let looked = self.looked.as_ref().filter(|looked| looked.what == *what)?;
        let is_fresh = pause.is_none_or(|pause| looked.at + pause > now);
        is_fresh.then_some(&looked.found)
    }

    /// This was found.
    pub fn keep(&mut self, what: LookedForSinks, found: Sinks, now: Duration) {
        self.looked = Some(Looked {
            what,
            found,
            at: now,
        });
    }

    /// An object that is wanted no more is not there. Whether that has been so for this long.
    pub fn is_absent_for(&mut self, object: &SourceObject, pause: Duration, now: Duration) -> bool {
        let since = *self.absent.entry(object.clone()).or_insert(now);
        let is_over = since + pause <= now;
        if is_over {
            self.absent.remove(object);
        }
        is_over
    }

    /// Whether any is waited for to stay away.
    #[must_use]
    pub fn has_absent(&self) -> bool {
        !self.absent.is_empty()
    }

    /// It is there, or wanted again.
    pub fn is_back(&mut self, object: &SourceObject) {
        self.absent.remove(object);
    }

    /// One of them may have changed.
    pub fn doubt(&mut self) {
        self.looked = None;
    }

    /// The same, if it is one of these.
    pub fn doubt_if(&mut self, are: impl Fn(&SourceObject) -> bool) {
        let looked = self.looked.iter().flat_map(|looked| &looked.what.sinks);
        let named = looked.map(sinks::of);
        if named
            .chain(self.absent.keys().cloned())
            .any(|sink| are(&sink))
        {
            self.doubt();
        }
    }

    /// When they were looked at, if that is known.
    #[must_use]
    pub fn looked_at(&self) -> Option<Duration> {
        self.looked.as_ref().map(|looked| looked.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_secs(30);

    fn what(outputs: u64) -> LookedForSinks {
        LookedForSinks {
            sinks: Vec::new(),
            from: None,
            outputs,
            template: (String::new(), 1),
        }
    }

    #[test]
    fn they_are_looked_at_again_after_a_while_and_when_anything_may_have_changed() {
        let mut known = KnownSinks::default();
        known.keep(what(1), Sinks::default(), Duration::ZERO);
        let is_known = |known: &KnownSinks, outputs, seconds| {
            let now = Duration::from_secs(seconds);
            known.lately(&what(outputs), Some(PAUSE), now).is_some()
        };
        assert!(is_known(&known, 1, 29));
        assert!(!is_known(&known, 1, 30));
        assert!(!is_known(&known, 2, 1));
        known.doubt();
        assert!(!is_known(&known, 1, 1));
    }

    #[test]
    fn what_is_gone_is_forgotten_only_after_it_has_stayed_away() {
        let mut known = KnownSinks::default();
        let object =
            SourceObject::known(cartouche_protocol::sourced_inputs::SourceKind::Secret, "db");
        let is_over = |known: &mut KnownSinks, seconds| {
            known.is_absent_for(&object, PAUSE, Duration::from_secs(seconds))
        };
        assert!(!is_over(&mut known, 1));
        assert!(!is_over(&mut known, 30));
        known.is_back(&object);
        assert!(!is_over(&mut known, 31));
        assert!(is_over(&mut known, 61));
        assert!(!known.has_absent());
    }
}
