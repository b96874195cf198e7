//! What became of each Runnable, for people and for programs.

use std::collections::BTreeSet;

use cartouche_crds::{Approval, Runnable};
use kube::ResourceExt as _;
use serde::Serialize;

use crate::{
    live::pending::pending,
    outcome::{FAILED, FOUND, GOOD},
};

/// How it went with one Runnable.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer {
    namespace: String,
    name: String,
    /// The number of the run that is meant; nothing where none waits.
    sequence: Option<i64>,
    input_hash: Option<String>,
    /// Both of them, as the annotation has it.
    approval: Option<String>,
    /// Whether that is approved.
    approved: bool,
    /// True once it is refused.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    rejected: bool,
    /// The Secrets that were not read, or why the run was not shown: it is not known whether what was shown is what is approved.
    unverified: BTreeSet<String>,
    /// The same in words.
    message: String,
    #[serde(skip)]
    pub(super) code: u8,
}

impl Answer {
    pub(super) fn approved(namespace: &str, runnable: &Runnable, approval: &Approval) -> Self {
        Self::of(namespace, runnable, approval, "is approved").with(true, GOOD)
    }

    pub(super) fn already(namespace: &str, runnable: &Runnable, approval: &Approval) -> Self {
        Self::of(namespace, runnable, approval, "was approved already").with(true, GOOD)
    }

    pub(super) fn tried(namespace: &str, runnable: &Runnable, approval: &Approval) -> Self {
        let text = "would be approved (dry run: nothing was changed)";
        Self::of(namespace, runnable, approval, text).with(false, GOOD)
    }

    /// It is refused, as this annotation says.
    pub(super) fn rejected(namespace: &str, runnable: &Runnable, approval: &Approval) -> Self {
        Self {
            rejected: true,
            ..Self::of(namespace, runnable, approval, "is refused")
        }
    }

    /// The same, which was only tried.
    pub(super) fn rejection_tried(
        namespace: &str,
        runnable: &Runnable,
        approval: &Approval,
    ) -> Self {
        let text = "would be refused (dry run: nothing was changed)";
        Self::of(namespace, runnable, approval, text)
    }

    /// Somebody has said no to the question.
    pub(super) fn refused(namespace: &str, runnable: &Runnable, approval: &Approval) -> Self {
        Self::of(namespace, runnable, approval, "is not approved").with(false, FOUND)
    }

    /// Nothing waits for a person, as this says.
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

    fn of(namespace: &str, runnable: &Runnable, approval: &Approval, what: &str) -> Self {
        let (name, sequence) = (runnable.name_any(), approval.sequence);
        let message = format!("run {sequence} of {name} {what}: {approval}");
        Self {
            sequence: Some(sequence),
            input_hash: pending(runnable).map(|pending| pending.input_hash.clone()),
            approval: Some(approval.to_string()),
            ..Self::about_none(namespace, &name, message, GOOD)
        }
    }

    /// Without these Secrets it was not known whether what was shown is what this is about.
    pub(super) fn unverified(mut self, secrets: &BTreeSet<String>) -> Self {
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

/// A line for each.
pub(super) fn text(answers: &[Answer]) -> String {
    let lines = answers.iter().map(|answer| format!("{}\n", answer.message));
    lines.collect()
}
