//! The sources and ancestors that a message names. Pure.
//!
//! All who may read the Runnable see the message of a hold, and so does its account. The message
//! names no Runnable or object that the account may not read: an ancestor is known through reads of
//! others, with permissions of their own.

use std::collections::BTreeSet;

use cartouche_crds::InputSource;

use super::{Question, Readiness, graph, readiness::waited_for};
use crate::{
    messages::diagnosis::{Failed, NotReady},
    references::{sinks, source_key},
    trace::{Incoherence, Named, SourceKey},
};

impl Readiness {
    /// Returns the same with only the names and states that the account is known to be allowed to
    /// read: what is read here, what another Runnable of the same account reads, and the owners of
    /// outputs in such an object, which shows them.
    #[must_use]
    pub fn hide_unreadable(self, question: &Question<'_>) -> Self {
        let is_plain = matches!(self, Self::Ready(_) | Self::Error(_));
        if is_plain {
            return self;
        }
        let named = Names::from_question(question);
        match self {
            Self::NotReady(key, why) if named.has(&key) => Self::NotReady(key, named.why(why)),
            Self::NotReady(key, _) => Self::NotReady(by(&key, question), NotReady::Upstream),
            Self::Failed(failed) => Self::Failed(named.failed(failed)),
            Self::Cycle(way) => {
                let mut way: Vec<SourceKey> = way.into_iter().map(|it| named.key(it)).collect();
                way.dedup();
                Self::Cycle(way)
            }
            plain => plain,
        }
    }
}

/// Names of sources and ancestors that may be shown.
struct Names<'a>(BTreeSet<&'a SourceKey>);

impl<'a> Names<'a> {
    fn from_question(question: &Question<'a>) -> Self {
        let Question {
            of,
            account,
            sources,
            known,
            through_sinks,
            ..
        } = *question;
        let mut names: BTreeSet<&SourceKey> = sources.iter().map(|source| &source.key).collect();
        names.insert(of);
        let of_account = known.values();
        let of_account = of_account.filter(|it| it.account == account && it.has_read());
        for seen in of_account {
            names.extend(seen.reads.keys().chain(&seen.objects));
        }
        let is_object = |key: &&SourceKey| key.as_runnable().is_none();
        let read = through_sinks.get(of).into_iter().flatten();
        names.extend(read.filter(is_object));
        let objects = through_sinks.iter().filter(|(key, _)| is_object(key));
        for (object, writers) in objects {
            if names.contains(object) {
                names.extend(writers);
            } else if writers.contains(of) {
                names.insert(object);
            }
        }
        Self(names)
    }

    fn has(&self, key: &SourceKey) -> bool {
        self.0.contains(key)
    }

    fn key(&self, key: SourceKey) -> SourceKey {
        if self.has(&key) {
            key
        } else {
            SourceKey::UNNAMED
        }
    }

    fn keys(&self, keys: Vec<SourceKey>) -> Vec<SourceKey> {
        let mut shown: Vec<SourceKey> = keys.into_iter().map(|key| self.key(key)).collect();
        shown.dedup();
        shown
    }

    fn why(&self, why: NotReady) -> NotReady {
        match why {
            NotReady::Apart { other, ancestor } => NotReady::Apart {
                other: self.key(other),
                ancestor: self.key(ancestor),
            },
            why => why,
        }
    }

    fn failed(&self, failed: Failed) -> Failed {
        let Failed::Incoherent { between, who, why } = failed else {
            return failed;
        };
        let Incoherence {
            ancestor,
            one,
            other,
        } = *between;
        let by = |named: Named| Named {
            by: self.keys(named.by),
            ..named
        };
        Failed::Incoherent {
            between: Box::new(Incoherence {
                ancestor: self.key(ancestor),
                one: by(one),
                other: by(other),
            }),
            who: self.keys(who),
            why,
        }
    }
}

/// Returns the objects other than Runnables that inputs of a Runnable in this namespace come from,
/// as far as references name them: as sources, and as whole objects if outputs may be written to
/// them.
pub(super) fn objects(namespace: &str, sources: &[InputSource]) -> BTreeSet<SourceKey> {
    let keys = sources.iter().filter_map(|it| source_key(namespace, it));
    let mut all: BTreeSet<SourceKey> = keys.filter(|key| key.as_runnable().is_none()).collect();
    all.extend(sinks(namespace, sources));
    all
}

/// Returns the source through which an ancestor is waited for.
fn by(ancestor: &SourceKey, question: &Question<'_>) -> SourceKey {
    let leads = |source: &&SourceKey| {
        let follows = |key: &SourceKey| -> Vec<SourceKey> {
            let seen = question.known.get(key).into_iter();
            seen.flat_map(|seen| seen.follows().cloned()).collect()
        };
        graph::reach([(*source).clone()], follows).contains(ancestor)
    };
    let mut sources = waited_for(question).into_iter();
    sources.find(leads).cloned().unwrap_or(SourceKey::UNNAMED)
}
