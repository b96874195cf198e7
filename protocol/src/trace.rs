//! Traces: the revisions that something was made from, and their union over several sources. Pure.

mod key;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use cartouche_crds::Coherence;
use cartouche_language::short_hash;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use key::SourceKey;

/// Maximum number of traced sources of one Runnable, ancestors included. The status stores each for
/// the current run, the outputs and each of several unfinished runs, and a status that is too large
/// is refused.
pub const MOST_SOURCES: usize = 64;

/// Revision of a missing value.
const ABSENT: &str = "absent";

/// Longest revision of an object that is kept verbatim, in bytes.
const LONGEST_VALUE: usize = 128;

/// The content of a source, in one word. Equal content has equal revisions: a run with the same
/// outputs as the one before causes no change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Revision(String);

impl Revision {
    /// Returns the revision of the outputs of a Runnable: 16 hexadecimal digits. Sensitive outputs
    /// count by their name and the HMAC of their value: no unkeyed hash of one may leave the
    /// process.
    #[must_use]
    pub fn of_outputs(
        outputs: &BTreeMap<String, Value>,
        sensitive: &BTreeMap<String, String>,
    ) -> Self {
        let mut content = json!({ "outputs": outputs });
        if !sensitive.is_empty() {
            content["sensitive"] = json!(sensitive);
        }
        Self(short_hash(&content))
    }

    /// Returns the revision of the value of a `ConfigMap`'s key: 16 hexadecimal digits.
    #[must_use]
    pub fn of_text(value: &str) -> Self {
        Self(short_hash(&json!(value)))
    }

    /// Returns the revision of any value: 16 hexadecimal digits.
    #[must_use]
    pub fn of_value(value: &Value) -> Self {
        Self(short_hash(value))
    }

    /// Returns the revision of a Secret's value: the first 16 hexadecimal digits of its
    /// [mark](cartouche_templating::secret_mark).
    #[must_use]
    pub fn of_mark(mark: &str) -> Self {
        Self(mark.chars().take(16).collect())
    }

    /// Returns the revision of a source without a value, even if the source itself is missing. No
    /// hash of 16 digits equals it.
    #[must_use]
    pub fn without_value() -> Self {
        Self(ABSENT.to_owned())
    }

    /// Returns the revision of the value that an object gives as its revision. A string counts as
    /// it is. Other values, long strings, and the word for a missing value count by their hash.
    #[must_use]
    pub fn from_value(value: &Value) -> Self {
        match value {
            Value::String(text) if text.len() <= LONGEST_VALUE && text != ABSENT => {
                Self::from_text(text)
            }
            other => Self::of_value(other),
        }
    }

    /// Returns a revision that is given as text: at an object's `revisionPath`, or in a status.
    #[must_use]
    pub fn from_text(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text that a status has.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The revisions that a run was made from: one of every traced source and ancestor.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sources(BTreeMap<SourceKey, Revision>);

impl Sources {
    /// No sources.
    pub const NOTHING: Self = Self(BTreeMap::new());

    /// Reads them from a status.
    #[must_use]
    pub fn read(written: &BTreeMap<String, String>) -> Self {
        let all = written.iter();
        all.map(|(key, revision)| (SourceKey::read(key), Revision::from_text(revision)))
            .collect()
    }

    /// Returns them in the form of a status.
    #[must_use]
    pub fn to_status(&self) -> BTreeMap<String, String> {
        let all = self.iter();
        all.map(|(key, revision)| (key.to_string(), revision.to_string()))
            .collect()
    }

    /// Returns the revision of a source, if it is traced.
    #[must_use]
    pub fn get(&self, key: &SourceKey) -> Option<&Revision> {
        self.0.get(key)
    }

    /// Iterates over the sources and their revisions, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&SourceKey, &Revision)> {
        self.0.iter()
    }

    /// Returns the number of sources.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if nothing is traced.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(SourceKey, Revision)> for Sources {
    fn from_iter<T: IntoIterator<Item = (SourceKey, Revision)>>(all: T) -> Self {
        Self(all.into_iter().collect())
    }
}

/// The union of what several sources derive from: every revision of each ancestor, with the direct
/// sources that name it. Neither order nor repetition matters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace(BTreeMap<SourceKey, BTreeMap<Revision, BTreeSet<SourceKey>>>);

/// The reason why there is no single revision of each ancestor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceError {
    /// There are this many, which is more than [`MOST_SOURCES`].
    TooMany(usize),
    /// An ancestor has two revisions. Of several such ancestors, it is the first by name.
    Incoherent(Incoherence),
}

/// An ancestor with two revisions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incoherence {
    /// The ancestor.
    pub ancestor: SourceKey,
    /// One revision.
    pub one: Named,
    /// Another one.
    pub other: Named,
}

/// A revision, and the direct sources that name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The revision.
    pub revision: Revision,
    /// The direct sources, in order. They include the ancestor itself if it is one of them.
    pub by: Vec<SourceKey>,
}

impl Trace {
    /// Returns the trace of one source: its own revision, and the sources of its outputs. A source
    /// without a revision is not traced itself; outputs of unknown provenance take no part.
    #[must_use]
    pub fn new(key: &SourceKey, revision: Option<&Revision>, gives: Option<&Sources>) -> Self {
        let own = revision.map(|revision| (key, revision));
        let all = own
            .into_iter()
            .chain(gives.into_iter().flat_map(Sources::iter));
        let mut trace = Self::default();
        for (ancestor, revision) in all {
            let by = trace.0.entry(ancestor.clone()).or_default();
            let by = by.entry(revision.clone()).or_default();
            by.insert(key.clone());
        }
        trace
    }

    /// Returns the union of both.
    #[must_use]
    pub fn join(mut self, other: Self) -> Self {
        for (ancestor, revisions) in other.0 {
            let own = self.0.entry(ancestor).or_default();
            for (revision, by) in revisions {
                own.entry(revision).or_default().extend(by);
            }
        }
        self
    }

    /// Returns the sources for a Runnable with this coherence.
    pub(crate) fn sources_for(&self, coherence: Coherence) -> Result<Sources, TraceError> {
        match coherence {
            Coherence::Required => self.sources(),
            Coherence::Ignored => self.undisputed_sources(),
        }
    }

    /// Returns the one revision of each ancestor.
    pub fn sources(&self) -> Result<Sources, TraceError> {
        if self.0.len() > MOST_SOURCES {
            return Err(TraceError::TooMany(self.0.len()));
        }
        match self.incoherences().next() {
            Some(incoherence) => Err(TraceError::Incoherent(incoherence)),
            None => Ok(self.undisputed_or_read()),
        }
    }

    /// Returns the same for inputs that need not be coherent. Of an ancestor with two revisions,
    /// the revision of a Runnable that is read itself is traced; otherwise none, since neither
    /// would be true.
    pub fn undisputed_sources(&self) -> Result<Sources, TraceError> {
        match self.sources() {
            Err(TraceError::Incoherent(_)) => Ok(self.undisputed_or_read()),
            sources => sources,
        }
    }

    /// Returns every ancestor with more than one revision, in order.
    pub fn incoherences(&self) -> impl Iterator<Item = Incoherence> {
        self.0.iter().filter_map(|(ancestor, revisions)| {
            let mut named = revisions.iter().map(|(revision, by)| Named {
                revision: revision.clone(),
                by: by.iter().cloned().collect(),
            });
            Some(Incoherence {
                ancestor: ancestor.clone(),
                one: named.next()?,
                other: named.next()?,
            })
        })
    }

    /// Returns true if any source names this ancestor.
    pub(crate) fn names(&self, ancestor: &SourceKey) -> bool {
        self.0.contains_key(ancestor)
    }

    /// Returns the revision that a source itself has, if this ancestor is one.
    pub(crate) fn read_itself(&self, ancestor: &SourceKey) -> Option<&Revision> {
        let mut revisions = self.0.get(ancestor)?.iter();
        revisions.find_map(|(revision, by)| by.contains(ancestor).then_some(revision))
    }

    /// Returns the one revision of each ancestor, or the revision that was read, for a Runnable
    /// that is read itself: only for Runnables is it known if others have looked at their present
    /// outputs.
    fn undisputed_or_read(&self) -> Sources {
        let all = self.0.iter().filter_map(|(key, revisions)| {
            let mut of_key = revisions.keys();
            let only = of_key.next().filter(|_| revisions.len() == 1);
            let own = || key.as_runnable().and_then(|_| self.read_itself(key));
            Some((key.clone(), only.or_else(own)?.clone()))
        });
        all.collect()
    }
}

impl FromIterator<Self> for Trace {
    fn from_iter<T: IntoIterator<Item = Self>>(all: T) -> Self {
        all.into_iter().fold(Self::default(), Self::join)
    }
}
