//! What a Runnable would run now.

mod edited;
mod making;
mod read;
mod sources;
mod state;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use cartouche_crds::{ClusterRunTemplate, ProfileVersion, Runnable};
use cartouche_protocol::{ledger::Due, reconcile_error::ReconcileError};
use serde_json::Value;

pub(crate) use edited::Edited;
pub(crate) use read::{of_files, of_named, refreshed, with_template_of};

use crate::{live::run_diff, render::Run};

/// What a Runnable would run.
pub(crate) struct Prospect {
    /// As it is on the cluster, if it is there.
    pub(crate) live: Option<Runnable>,
    /// As it is or would be.
    pub(crate) runnable: Runnable,
    /// The number that the run would have.
    pub(crate) sequence: i64,
    pub(crate) run: Run,
    /// The profile that it is made with, as it is now.
    pub(crate) profile: Option<ProfileVersion>,
    /// Why that cannot be known, if it cannot: then the run is shown without one.
    pub(crate) unknown_profile: Option<String>,
    /// Why a request to choose it anew was not followed.
    pub(crate) not_refreshed: Option<String>,
    /// Why no controller of this release makes the run, if it is of a newer one.
    pub(crate) newer: Option<ReconcileError>,
    /// None where it cannot be told, since it follows from Secrets that are unread.
    pub(crate) due: Option<Due>,
    /// The Secrets that the hash follows from, and that the user may not read: without them there is no hash.
    pub(crate) unread: BTreeSet<String>,
    /// The revisions of what its inputs come from, as a status has them; none of what is not known.
    pub(crate) revisions: BTreeMap<String, String>,
    /// The template that it is rendered with.
    pub(crate) template: ClusterRunTemplate,
    /// The object that is selected.
    pub(crate) selected: Option<Value>,
    /// The facts, in words, that its hash follows from and that the cluster has yet to give.
    pub(crate) provisional: Vec<String>,
    /// Whether the last run, this one, or what is selected may hold parts of a Secret.
    pub(crate) has_secrets: bool,
}

/// Said of an error that may repeat parts of a Secret.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OfSecrets;

impl fmt::Display for OfSecrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("this may hold parts of a Secret")
    }
}

impl Prospect {
    /// Whether it is another run than the present one.
    pub(crate) fn is_new(&self) -> bool {
        matches!(self.due, Some(Due::New(_)))
    }

    /// The hash of what is rendered, if it can be known.
    pub(crate) fn input_hash(&self) -> Option<&str> {
        let hash = self.run.rendered.input_hash();
        Some(hash).filter(|_| self.unread.is_empty())
    }

    /// Why its hash cannot be known, if it cannot.
    pub(crate) fn untold(&self) -> Option<String> {
        let names: Vec<&str> = self.unread.iter().map(String::as_str).collect();
        match names.as_slice() {
            [] => None,
            [name] => Some(format!(
                "whether the Secret {name} has changed cannot be told, since you may not read it"
            )),
            several => Some(format!(
                "whether the Secrets {} have changed cannot be told, since you may not read them",
                several.join(", ")
            )),
        }
    }

    /// The run's making, as far as it is known now.
    pub(crate) fn making(&self) -> run_diff::Making<'_> {
        let Run {
            rendering,
            filled,
            rendered,
            ..
        } = &self.run;
        run_diff::Making::new(rendering, filled.as_ref(), rendered.document())
    }

    /// Marks an error that may repeat parts of a Secret.
    pub(crate) fn marked(&self, error: anyhow::Error) -> anyhow::Error {
        marked(error, self.has_secrets)
    }
}

/// Whether a run is what is rendered now: tags of a template that renders something else may not be those that it
/// was made of.
pub(crate) fn is_rendered_now(due: Option<Due>, sequence: i64) -> bool {
    matches!(due, Some(Due::Pending(now) | Due::Nothing(now)) if now == sequence)
}

fn marked(error: anyhow::Error, has_secrets: bool) -> anyhow::Error {
    if has_secrets {
        error.context(OfSecrets)
    } else {
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_tell_nothing_of_a_run_that_is_not_what_is_rendered_now() {
        for due in [Due::Pending(2), Due::Nothing(2)] {
            assert!(is_rendered_now(Some(due), 2));
            assert!(!is_rendered_now(Some(due), 3));
        }
        for due in [Due::New(3), Due::OtherHash(2)] {
            assert!(!is_rendered_now(Some(due), 2));
        }
        for sequence in [2, 3] {
            assert!(!is_rendered_now(None, sequence));
        }
    }
}
