//! Result of an approval for each Runnable, for people and for programs.

use std::collections::BTreeSet;

use cartouche_crds::{Approval, Runnable};
use kube::ResourceExt as _;
use serde::Serialize;

use crate::{
    live::pending::pending,
    outcome::{FAILED, FOUND, GOOD},
};

/// Result for one Runnable.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ApproveAnswer {
    namespace: String,
    name: String,
    /// Number of the run; `None` if no run waits.
    sequence: Option<i64>,
    input_hash: Option<String>,
    /// Number and hash, as in the annotation.
    approval: Option<String>,
    /// True once the run is approved.
    approved: bool,
    /// True once the run is rejected.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    rejected: bool,
    /// Secrets that were not read, or the reason why the run was not shown. If there are any, the run that was shown
    /// may differ from the approved one.
    unverified: BTreeSet<String>,
    /// The result in words.
    message: String,
    #[serde(skip)]
    pub(super) code: u8,
}

impl ApproveAnswer {
    pub(super) fn approved(namespace: &str, runnable: &Runnable, approval: &Approval) -> Self {
        Self::new(namespace, runnable, approval, "is approved").with(true, GOOD)
    }

    pub(super) fn already(namespace: &str, runnable: &Runnable, approval: &Approval) -> Self {
        Self::new(namespace, runnable, approval, "is already approved").with(true, GOOD)
    }

    pub(super) fn tried(namespace: &str, runnable: &Runnable, approval: &Approval) -> Self {
        let text = "would be approved (dry run: nothing was changed)";
        Self::new(namespace, runnable, approval, text).with(false, GOOD)
    }

    /// Returns the answer for a rejected run.
    pub(super) fn rejected(namespace: &str, runnable: &Runnable, approval: &Approval) -> Self {
        Self {
            rejected: true,
            ..Self::new(namespace, runnable, approval, "is rejected")
        }
    }

    /// Returns the answer for a rejection in a dry run.
    pub(super) fn rejection_tried(
        namespace: &str,
        runnable: &Runnable,
        approval: &Approval,
    ) -> Self {
        let text = "would be rejected (dry run: nothing was changed)";
        Self::new(namespace, runnable, approval, text)
    }

    /// Returns the answer for a question that the user answered with no.
    pub(super) fn refused(namespace: &str, runnable: &Runnable, approval: &Approval) -> Self {
        Self::new(namespace, runnable, approval, "is not approved").with(false, FOUND)
    }

    /// Returns the answer where no run waits for a person; `message` says why.
    pub(super) fn nothing(namespace: &str, runnable: &Runnable, message: String) -> Self {
        Self::about_none(namespace, &runnable.name_any(), message, GOOD)
    }

    pub(super) fn failed(namespace: &str, name: &str, error: &anyhow::Error) -> Self {
        Self::about_none(namespace, name, format!("{error:#}"), FAILED)
    }

    fn about_none(namespace: &str, name: &str, message: String, code: u8) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            sequence: None,
            input_hash: None,
            approval: None,
            approved: false,
            rejected: false,
            unverified: BTreeSet::new(),
            message,
            code,
        }
    }

    fn new(namespace: &str, runnable: &Runnable, approval: &Approval, what: &str) -> Self {
        let (name, sequence) = (runnable.name_any(), approval.sequence);
        let message = format!("run {sequence} of {name} {what}: {approval}");
        Self {
            sequence: Some(sequence),
            input_hash: pending(runnable).map(|pending| pending.input_hash.clone()),
            approval: Some(approval.to_string()),
            ..Self::about_none(namespace, &name, message, GOOD)
        }
    }

    /// Adds what was not read, without which it is unknown if the run that was shown is this one.
    pub(super) fn with_unverified(mut self, secrets: &BTreeSet<String>) -> Self {
        if !secrets.is_empty() {
            self.message.push_str(" (not verified)");
        }
        self.unverified.clone_from(secrets);
        self
    }

    fn with(self, approved: bool, code: u8) -> Self {
        Self {
            approved,
            code,
            ..self
        }
    }
}

/// Returns a line for each answer.
pub(super) fn text(answers: &[ApproveAnswer]) -> String {
    let lines = answers.iter().map(|answer| format!("{}\n", answer.message));
    lines.collect()
}
