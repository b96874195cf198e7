//! What something was made from: revisions, and how those of several sources are put together. Pure.

mod key;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use cartouche_crds::Coherence;
use cartouche_templating::short_hash;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use key::SourceKey;

/// How many traced sources, ancestors included, one Runnable may have. Each stands in its status for its current
/// run, its outputs and each of so many runs that have not ended, and a status that is too large is refused.
pub const MOST_SOURCES: usize = 64;

/// The revision of what is not there.
const ABSENT: &str = "absent";

/// Revisions that objects tell themselves are kept as they are up to so many bytes.
const LONGEST_TOLD: usize = 128;

/// What a source holds, in one word. Equal content has equal revisions: a run that gives what the one before gave moves
/// nothing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Revision(String);

impl Revision {
    /// Of the outputs of a Runnable: 16 hexadecimal digits. Of those that are sensitive only the HMAC of their value
    /// counts, by their name: no unkeyed hash of one may leave the process.
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

    /// Of the value of a `ConfigMap`'s key: 16 hexadecimal digits.
    #[must_use]
    pub fn of_text(value: &str) -> Self {
        Self(short_hash(&json!(value)))
    }

    /// Of any value: 16 hexadecimal digits.
    #[must_use]
    pub fn of_value(value: &Value) -> Self {
        Self(short_hash(value))
    }

    /// Of a Secret's value: the first 16 hexadecimal digits of its [mark](cartouche_templating::secret_mark).
    #[must_use]
    pub fn of_mark(mark: &str) -> Self {
        Self(mark.chars().take(16).collect())
    }

    /// Of a source that holds nothing, be it that it is not there: no hash of 16 digits is this word.
    #[must_use]
    pub fn absent() -> Self {
        Self(ABSENT.to_owned())
    }

    /// Of the value that an object gives as its revision: a text as it is, and by its hash what is no text, a long one, or the
    /// word for what is absent.
    #[must_use]
    pub fn told(value: &Value) -> Self {
        match value {
            Value::String(text) if text.len() <= LONGEST_TOLD && text != ABSENT => {
                Self::given(text)
            }
            other => Self::of_value(other),
        }
    }

    /// What stands for the content already: the text at an object's `revisionPath`, or what a status says.
    #[must_use]
    pub fn given(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// As it stands in a status.
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

/// One revision of every traced source and ancestor: what a run was made from.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sources(BTreeMap<SourceKey, Revision>);

impl Sources {
    /// No sources.
    pub const NOTHING: Self = Self(BTreeMap::new());

    /// As a status has them.
    #[must_use]
    pub fn read(written: &BTreeMap<String, String>) -> Self {
        let all = written.iter();
        all.map(|(key, revision)| (SourceKey::read(key), Revision::given(revision)))
            .collect()
    }

    /// As they are put into a status.
    #[must_use]
    pub fn written(&self) -> BTreeMap<String, String> {
        let all = self.iter();
        all.map(|(key, revision)| (key.to_string(), revision.to_string()))
            .collect()
    }

    /// The revision of a source.
    #[must_use]
    pub fn get(&self, key: &SourceKey) -> Option<&Revision> {
        self.0.get(key)
    }

    /// Each source and its revision, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&SourceKey, &Revision)> {
        self.0.iter()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing is traced.
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

/// What several sources stem from together: of each ancestor every revision that any of them names, and which of them do.
/// Putting traces together is a union, so that neither order nor repetition matters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace(BTreeMap<SourceKey, BTreeMap<Revision, BTreeSet<SourceKey>>>);

/// Why no one revision of each ancestor can be named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceError {
    /// There are so many, which is more than [`MOST_SOURCES`].
    TooMany(usize),
    /// An ancestor has two revisions: of several, the first by name.
    Incoherent(Incoherence),
}

/// An ancestor of which two revisions are in play.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incoherence {
    /// Which.
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
    /// By which direct sources, in order. The ancestor itself, if it is one of them.
    pub by: Vec<SourceKey>,
}

impl Trace {
    /// What one source brings: its own revision, and what its outputs name. A source without a revision is not traced
    /// itself; outputs that name nothing take no part.
    #[must_use]
    pub fn of(key: &SourceKey, revision: Option<&Revision>, gives: Option<&Sources>) -> Self {
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

    /// Both together.
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

    /// What somebody stems from who asks for this.
    pub(crate) fn sources_for(&self, coherence: Coherence) -> Result<Sources, TraceError> {
        match coherence {
            Coherence::Required => self.sources(),
            Coherence::Ignored => self.undisputed_sources(),
        }
    }

    /// The one revision of each ancestor.
    pub fn sources(&self) -> Result<Sources, TraceError> {
        if self.0.len() > MOST_SOURCES {
            return Err(TraceError::TooMany(self.0.len()));
        }
        match self.incoherences().next() {
            Some(incoherence) => Err(TraceError::Incoherent(incoherence)),
            None => Ok(self.undisputed_or_read()),
        }
    }

    /// The same where the inputs need not be coherent. Of an ancestor with two revisions in play, the revision of a Runnable that is read
    /// itself is traced; else none, since neither would be true.
    pub fn undisputed_sources(&self) -> Result<Sources, TraceError> {
        match self.sources() {
            Err(TraceError::Incoherent(_)) => Ok(self.undisputed_or_read()),
            sources => sources,
        }
    }

    /// Every ancestor of which more than one revision is in play, in order.
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

    /// Whether any source names this ancestor.
    pub(crate) fn names(&self, ancestor: &SourceKey) -> bool {
        self.0.contains_key(ancestor)
    }

    /// The revision that a source itself has, if this ancestor is one.
    pub(crate) fn read_itself(&self, ancestor: &SourceKey) -> Option<&Revision> {
        let mut revisions = self.0.get(ancestor)?.iter();
        revisions.find_map(|(revision, by)| by.contains(ancestor).then_some(revision))
    }

    /// The one revision of each ancestor, or of a Runnable that is read itself the revision that was read: only of Runnables is it known
    /// whether others have looked at what they give now.
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
