//! The next run of a Runnable, or the current one if it is the rendered one.

mod edited;
mod making;
mod read;
mod sources;
mod state;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use cartouche_authoring::render::DraftRun;
use cartouche_crds::{ClusterRunTemplate, ProfileVersion, Runnable};
use cartouche_protocol::{ledger::Due, messages::reconcile_error::ReconcileError};
use serde_json::Value;

pub(crate) use edited::Edited;
pub(crate) use read::{of_files, of_named, render_refresh, with_template_of};

use crate::live::run_diff;

/// Run of a Runnable as it is rendered now.
pub(crate) struct Prospect {
    /// Runnable on the cluster, if it exists.
    pub(crate) live: Option<Runnable>,
    /// Runnable as it is, or as edited.
    pub(crate) runnable: Runnable,
    /// Number of the run.
    pub(crate) sequence: i64,
    pub(crate) run: DraftRun,
    /// Profile that the run is made with, in its present version.
    pub(crate) profile: Option<ProfileVersion>,
    /// Reason why the profile is unknown, if it is; the run is then rendered without one.
    pub(crate) unknown_profile: Option<String>,
    /// Reason why a refresh of the profile was not followed.
    pub(crate) not_refreshed: Option<String>,
    /// Reason why controllers of this release do not make the run, if a newer one serves it.
    pub(crate) newer: Option<ReconcileError>,
    /// Decision if a run is due; `None` if it depends on Secrets that the user may not read.
    pub(crate) due: Option<Due>,
    /// Secrets that the hash depends on and that the user may not read; if there are any, the hash is unknown.
    pub(crate) unread: BTreeSet<String>,
    /// Revisions of the sources of the inputs, as in a status, as far as they are known.
    pub(crate) revisions: BTreeMap<String, String>,
    /// Template that the run is rendered with.
    pub(crate) template: ClusterRunTemplate,
    /// Object that is selected.
    pub(crate) selected: Option<Value>,
    /// Descriptions of facts that the hash depends on and that only the cluster can give.
    pub(crate) provisional: Vec<String>,
    /// True if the last run, this one, or the selected object may hold parts of a Secret.
    pub(crate) has_secrets: bool,
}

/// Mark on an error that may repeat parts of a Secret.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OfSecrets;

impl fmt::Display for OfSecrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("this may hold parts of a Secret")
    }
}

impl Prospect {
    /// Returns true if the run is another one than the current run.
    pub(crate) fn is_new(&self) -> bool {
        matches!(self.due, Some(Due::New(_)))
    }

    /// Returns the hash of the inputs, or `None` if it is unknown.
    pub(crate) fn input_hash(&self) -> Option<&str> {
        let hash = self.run.rendered.input_hash();
        Some(hash).filter(|_| self.unread.is_empty())
    }

    /// Returns the reason why the hash is unknown, or `None`.
    pub(crate) fn unknown_hash(&self) -> Option<String> {
        let names: Vec<&str> = self.unread.iter().map(String::as_str).collect();
        match names.as_slice() {
            [] => None,
            [name] => Some(format!(
                "you may not read the Secret {name}, so it is unknown if it has changed"
            )),
            several => Some(format!(
                "you may not read the Secrets {}, so it is unknown if they have changed",
                several.join(", ")
            )),
        }
    }

    /// Returns how the run is made, for comparing it with another one.
    pub(crate) fn making(&self) -> run_diff::MakingFacts<'_> {
        let DraftRun {
            rendering,
            filled,
            rendered,
            ..
        } = &self.run;
        run_diff::MakingFacts::new(rendering, filled.as_ref(), rendered.document())
    }

    /// Marks an error that may repeat parts of a Secret.
    pub(crate) fn mark(&self, error: anyhow::Error) -> anyhow::Error {
        marked(error, self.has_secrets)
    }
}

/// Returns true if the run of this number is the rendered one. Otherwise the tags of the present template may not be
/// those of the run.
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
