//! The statuses that somebody emptied, or put back.

use std::collections::BTreeMap;

use cartouche_crds::RunnableStatus;

use super::{status, text, uid};
use crate::{discovery::Resource, people::is_person, store::Store};

/// A status that was written by somebody else than a controller.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loss {
    /// When.
    pub(super) version: u64,
    /// What was lost.
    pub(super) lost: Lost,
}

/// What is missing from a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// Nothing in it shows that anybody ever served the Runnable, so that nobody has a reason to wait
    /// or to look further than for a new one.
    Everything,
    /// All that is said of runs.
    Runs,
    /// What happened since a copy of it was made.
    Since,
}

impl Lost {
    fn from(status: &RunnableStatus) -> Self {
        if status.current_run.is_some() {
            return Self::Since;
        }
        let silent = status
            .observed_generation
            .is_none_or(|generation| generation < 0);
        if silent && status.conditions.is_empty() {
            Self::Everything
        } else {
            Self::Runs
        }
    }
}

/// Whether a template stood for runs of this kind, so that they are looked for where a ledger is gone.
pub(super) fn is_stood_for(store: &Store, runs: Resource, version: u64) -> bool {
    let mut kinds: BTreeMap<&str, &str> = BTreeMap::new();
    let log = store.log().iter();
    for change in log.take_while(|change| change.version <= version) {
        if change.key.resource == Resource::Templates {
            kinds.insert(
                &change.key.name,
                text(&change.object, "/spec/template/kind"),
            );
        }
    }
    kinds.values().any(|kind| *kind == runs.kind())
}

/// The losses of all Runnables.
#[derive(Default)]
pub(super) struct Losses(BTreeMap<String, Vec<Loss>>);

impl Losses {
    /// Those that there were.
    pub(super) fn of(store: &Store) -> Self {
        let mut losses = Self::default();
        let mut before: BTreeMap<&str, RunnableStatus> = BTreeMap::new();
        let changes = store.log().iter();
        for change in changes.filter(|change| change.key.resource == Resource::Runnables) {
            let new = status(&change.object);
            let old = before.insert(uid(&change.object), new.clone());
            if is_person(&change.actor) && old.is_some_and(|old| old != new) {
                let loss = Loss {
                    version: change.version,
                    lost: Lost::from(&new),
                };
                let all = losses.0.entry(uid(&change.object).to_owned()).or_default();
                all.push(loss);
            }
        }
        losses
    }

    /// Those of a Runnable between two versions, oldest first.
    pub(super) fn between(&self, runnable: &str, since: u64, until: u64) -> &[Loss] {
        let all = self.0.get(runnable).map(Vec::as_slice).unwrap_or_default();
        let from = all.partition_point(|loss| loss.version <= since);
        let to = all.partition_point(|loss| loss.version < until);
        all.get(from..to).unwrap_or_default()
    }
}
