//! Reads of the objects that inputs come from.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use cartouche_crds::InputSource;
use cartouche_protocol::{references::SourceObject, sourced_inputs::SourceRead};

use crate::picked::Kept;

/// Greatest age of a read that counts as current.
const JUST: Duration = Duration::from_secs(1);

/// Last read of each object, until something shows that it may have changed. Times are of the clock that goes on while
/// the machine sleeps.
#[derive(Debug, Default)]
pub struct KnownSources {
    /// The sources that the objects were read for.
    of: Vec<InputSource>,
    /// The account that read them.
    account: String,
    known: BTreeMap<SourceObject, KeptSource>,
    /// True if they gave no inputs: they are read again without a sign of change.
    pub are_wanting: bool,
    /// True if an object that is not watched was read and not kept, for lack of room: it is read again as if it had
    /// been kept.
    pub has_unkept: bool,
}

#[derive(Debug)]
struct KeptSource {
    read: SourceRead,
    at: Duration,
    /// Its place among all objects that are kept.
    _place: Option<Arc<Kept>>,
}

impl KnownSources {
    /// Forgets what was read for other sources, which may lack keys, or as another account, which may have had other
    /// permissions. Returns true if it did.
    pub fn become_for(&mut self, account: &str, sources: &[InputSource]) -> bool {
        // A Runnable that reads nothing has been allowed nothing.
        let account = if sources.is_empty() { "" } else { account };
        let is_new = self.of != sources || self.account != account;
        if is_new {
            *self = Self {
                of: sources.to_vec(),
                account: account.to_owned(),
                ..Self::default()
            };
        }
        is_new
    }

    /// Returns true if an input comes from this namespace, by a reference that names it.
    #[must_use]
    pub fn are_in(&self, namespace: &str) -> bool {
        let mut objects = self.of.iter().filter_map(SourceObject::from_source);
        objects.any(|object| object.namespace.as_deref() == Some(namespace))
    }

    /// Returns true if an input comes from any of these.
    #[must_use]
    pub fn name(&self, are: impl Fn(&SourceObject) -> bool) -> bool {
        self.of
            .iter()
            .filter_map(SourceObject::from_source)
            .any(|it| are(&it))
    }

    /// Returns the last read of an object, within the last `pause` if that is given.
    #[must_use]
    pub fn lately(
        &self,
        object: &SourceObject,
        pause: Option<Duration>,
        now: Duration,
    ) -> Option<SourceRead> {
        let known = self.known.get(object)?;
        let is_fresh = pause.is_none_or(|pause| known.at + pause > now);
        is_fresh.then(|| known.read.clone())
    }

    /// Returns the last read of an object if it is current and not older than `since`. That is the read of the ledger,
    /// to which a write is bound, so the object need not be read again.
    #[must_use]
    pub fn just_read(
        &self,
        object: &SourceObject,
        since: Duration,
        now: Duration,
    ) -> Option<SourceRead> {
        let known = self.known.get(object)?;
        let is_of_now = known.at >= since && known.at + JUST > now;
        is_of_now.then(|| known.read.clone())
    }

    /// Keeps a read.
    pub fn keep(
        &mut self,
        object: SourceObject,
        read: SourceRead,
        place: Option<Arc<Kept>>,
        now: Duration,
    ) {
        let known = KeptSource {
            read,
            at: now,
            _place: place,
        };
        self.known.insert(object, known);
    }

    /// Returns the time of the oldest read of these.
    #[must_use]
    pub fn oldest(&self, is_one: impl Fn(&SourceObject) -> bool) -> Option<Duration> {
        let all = self.known.iter().filter(|(known, _)| is_one(known));
        all.map(|(_, known)| known.at).min()
    }

    /// Forgets the reads of objects that may have changed.
    pub fn doubt(&mut self, are: impl Fn(&SourceObject) -> bool) {
        self.known.retain(|known, _| !are(known));
    }
}

#[cfg(test)]
mod tests {
    use cartouche_protocol::references::SourceKind;

    use super::*;

    const PAUSE: Duration = Duration::from_secs(30);

    fn object(kind: SourceKind, name: &str) -> SourceObject {
        SourceObject::in_own_namespace(kind, name)
    }

    fn known(names: &[&str]) -> KnownSources {
        let mut sources = KnownSources::default();
        for name in names {
            for kind in [SourceKind::ConfigMap, SourceKind::Secret] {
                sources.keep(object(kind, name), SourceRead::Absent, None, Duration::ZERO);
            }
        }
        sources
    }

    fn knows(sources: &KnownSources, kind: SourceKind, name: &str) -> bool {
        sources.lately(&object(kind, name), None, PAUSE).is_some()
    }

    #[test]
    fn what_may_have_changed_is_read_again_and_nothing_else() {
        let mut sources = known(&["a", "b"]);
        sources.doubt(|it| *it == object(SourceKind::ConfigMap, "a"));
        assert!(!knows(&sources, SourceKind::ConfigMap, "a"));
        assert!(knows(&sources, SourceKind::ConfigMap, "b"));
        assert!(knows(&sources, SourceKind::Secret, "a"));
        sources.doubt(|it| it.kind == SourceKind::ConfigMap);
        assert!(!knows(&sources, SourceKind::ConfigMap, "b"));
        assert!(knows(&sources, SourceKind::Secret, "b"));
    }

    #[test]
    fn what_nobody_watches_is_read_again_after_a_while() {
        let sources = known(&["a"]);
        let at = |seconds| {
            let object = object(SourceKind::Secret, "a");
            let now = Duration::from_secs(seconds);
            sources.lately(&object, Some(PAUSE), now).is_some()
        };
        assert!(at(29));
        assert!(!at(30));
    }

    #[test]
    fn before_a_run_only_that_need_not_be_read_which_was_read_a_moment_ago_and_after_the_ledger() {
        let sources = known(&["a"]);
        let at = |since, now| {
            let object = object(SourceKind::Secret, "a");
            let is_known = sources.just_read(&object, since, now).is_some();
            assert!(!is_known || sources.lately(&object, None, now).is_some());
            is_known
        };
        let moment = Duration::from_millis(1);
        assert!(at(Duration::ZERO, moment));
        assert!(!at(Duration::ZERO, JUST));
        assert!(!at(moment, moment));
    }

    #[test]
    fn other_sources_are_read_anew() {
        let mut sources = known(&["a"]);
        sources.become_for("default", &[]);
        assert!(knows(&sources, SourceKind::Secret, "a"));
        sources.become_for("default", &[InputSource::default()]);
        assert!(!knows(&sources, SourceKind::Secret, "a"));
    }

    #[test]
    fn what_was_read_as_one_account_says_nothing_to_another_one() {
        let reads = [InputSource::default()];
        let mut sources = KnownSources::default();
        assert!(sources.become_for("reader", &reads));
        assert!(!sources.become_for("reader", &reads));
        assert!(sources.become_for("other", &reads));
    }
}
