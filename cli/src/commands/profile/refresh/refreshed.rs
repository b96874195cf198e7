//! Result of a refresh for each Runnable, for people and for programs.

use cartouche_crds::Runnable;
use kube::ResourceExt as _;
use serde::Serialize;

use crate::{
    live::{
        object_diff::{self, FieldChange},
        prospect::Prospect,
    },
    outcome::{FAILED, FOUND, GOOD},
};

/// Separator between a problem and its cure in one text.
const TO_DO: &str = "; to do: ";

/// Profile of a Runnable before and after a request. Profiles are written as `<name>@<generation>`.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Refreshed {
    pub(super) name: String,
    pub(super) namespace: String,
    /// Profile of the next run without the request.
    pub(super) before: Option<String>,
    /// Profile of the next run after the request.
    pub(super) after: Option<String>,
    /// Token of the request, if one was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) request: Option<String>,
    /// Reason why the profile stays the same or is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) problem: Option<String>,
    /// Reason why no next run can be made without the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) problem_before: Option<String>,
    /// Changes of the next run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) changes: Vec<FieldChange>,
}

impl Refreshed {
    /// Returns the profiles of the next run without and with the request.
    pub(super) fn foreseen(
        runnable: &Runnable,
        before: &anyhow::Result<Prospect>,
        after: anyhow::Result<Prospect>,
    ) -> Self {
        let version = |it: &Prospect| it.profile.as_ref().map(ToString::to_string);
        let found = Self {
            name: runnable.name_any(),
            namespace: runnable.namespace().unwrap_or_default(),
            before: before.as_ref().ok().and_then(version),
            problem_before: before.as_ref().err().map(in_words),
            ..Self::default()
        };
        let after = match after {
            Ok(after) => after,
            Err(error) => {
                return Self {
                    problem: Some(in_words(&error)),
                    ..found
                };
            }
        };
        let changes = before.as_ref().map(|before| {
            let [old, new] = [before, &after].map(|it| it.run.rendered.document());
            object_diff::changes(old, new)
        });
        let problem = after.unknown_profile.clone();
        Self {
            after: version(&after),
            problem: problem.or_else(|| after.not_refreshed.clone()),
            changes: changes.unwrap_or_default(),
            ..found
        }
    }

    /// Returns the exit code of a dry run for this Runnable. If the profiles `are_unread`, it is unknown which one would
    /// be chosen.
    pub(super) fn code(&self, are_unread: bool) -> u8 {
        match self.problem {
            Some(_) if are_unread => FAILED,
            Some(_) => FOUND,
            None => GOOD,
        }
    }

    /// Returns what the new profile replaces, as the rest of a sentence.
    pub(super) fn instead(&self) -> String {
        match (&self.before, &self.problem_before) {
            (before, None) if *before == self.after => " again".to_owned(),
            (Some(before), _) => format!(" instead of {before}"),
            (None, Some(why)) => format!("; without the refresh: {why}"),
            (None, None) => " instead of no profile".to_owned(),
        }
    }

    pub(super) fn text(&self) -> String {
        let said = if let Some(why) = &self.problem {
            why.clone()
        } else {
            let after = self.after.as_deref().unwrap_or("no profile");
            format!("{after} would be chosen{}", self.instead())
        };
        let said = said.replace(TO_DO, "\n  to do: ");
        let mut out = format!("{}: {said}\n", self.name);
        out.push_str(&object_diff::format_changes(&self.changes));
        out
    }
}

fn in_words(error: &anyhow::Error) -> String {
    format!("{error:#}").replace("\nhint: ", TO_DO)
}
