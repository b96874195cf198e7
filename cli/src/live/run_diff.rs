//! Differences between two runs that can be the cause of the later one: not what is unique to each run, and not their
//! profiles.

mod put_back;

use std::collections::HashSet;

use cartouche_authoring::{
    foreign::in_one_line,
    source::{self, Segment},
};
use cartouche_crds::{
    INPUT_HASH_ANNOTATION, PROFILE_ANNOTATION, RERUN_TOKEN_ANNOTATION, RUN_SEQUENCE_LABEL,
};
use cartouche_language::RunFacts;
use cartouche_templating::Rendered;
use serde::Serialize;
use serde_json::Value;

use super::{
    managed_fields::own_fields,
    object_diff::{self, FieldChange, comparable},
};

/// Most fields of a profile that are named.
const NAMED: usize = 4;

/// Run, with the facts that only this run has.
#[derive(Clone, Copy)]
pub(crate) struct RunSide<'a> {
    object: &'a Value,
    own: RunFacts<'a>,
    profile: Option<&'a str>,
}

/// Facts about how a run is made.
pub(crate) struct MakingFacts<'a> {
    /// Rendered document, with open tags.
    rendered: &'a Rendered,
    /// Places that a profile sets.
    merged: Vec<Vec<Segment>>,
}

/// Difference between two runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunDiff {
    /// Changes that can make a run.
    pub(crate) changes: Vec<FieldChange>,
    /// Changes by the profiles, which make no run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) by_profile: Vec<FieldChange>,
    /// The profiles of both runs, if they differ.
    #[serde(skip)]
    pub(crate) moved: Option<String>,
}

impl RunDiff {
    /// Describes the changes by the profiles in a line. It names fields without values, which may be a Secret's.
    pub(crate) fn describe_profile_changes(&self) -> Option<String> {
        let moved = self.moved.iter().map(|moved| format!(" ({moved})"));
        let moved: String = moved.collect();
        (!self.by_profile.is_empty()).then(|| {
            let fields = named(self.by_profile.iter().map(|change| {
                let file = change.file.iter().map(|file| format!("{file}: "));
                in_one_line(&format!("{}{}", file.collect::<String>(), change.path))
            }));
            format!("also differs by the profile{moved}, which makes no run: {fields}")
        })
    }
}

impl<'a> RunSide<'a> {
    /// Makes a side of an existing run.
    pub(crate) fn from_object(object: &'a Value) -> Self {
        let text = |pointer: &[&str]| -> Option<&'a str> {
            let found = pointer.iter().try_fold(object, |value, key| value.get(key));
            found.and_then(Value::as_str)
        };
        let annotation = |name| text(&["metadata", "annotations", name]);
        let sequence = text(&["metadata", "labels", RUN_SEQUENCE_LABEL]);
        let own = RunFacts {
            name: text(&["metadata", "name"]).unwrap_or_default(),
            sequence: sequence.and_then(|it| it.parse().ok()).unwrap_or_default(),
            input_hash: annotation(INPUT_HASH_ANNOTATION).unwrap_or_default(),
            rerun_token: annotation(RERUN_TOKEN_ANNOTATION),
        };
        Self {
            object,
            own,
            profile: annotation(PROFILE_ANNOTATION),
        }
    }

    /// Returns true if the run was made with this profile, in this version.
    pub(crate) fn is_made_with(&self, profile: Option<&str>) -> bool {
        self.profile == profile
    }

    /// Replaces the facts of the run: an object from a dry run may have another name.
    pub(crate) fn with(self, own: RunFacts<'a>) -> Self {
        Self { own, ..self }
    }

    /// Returns the object without what distinguishes it from any other run.
    fn of_any_run(&self, other: &Self, making: Option<&MakingFacts<'_>>) -> Value {
        let mut object = self.object.clone();
        if let Some(making) = making {
            let rendered = making.rendered;
            put_back::places(&mut object, rendered.document(), rendered.open(), &self.own);
        }
        put_back::own(&mut object, &self.own, &other.own);
        object
    }
}

impl<'a> MakingFacts<'a> {
    /// Derives the places that a profile sets from the document with its tags filled in, without and with the
    /// profile.
    pub(crate) fn new(rendered: &'a Rendered, filled: Option<&Value>, made: &Value) -> Self {
        let merged = filled.map(|filled| object_diff::changes(filled, made));
        let merged = merged.into_iter().flatten().map(|change| change.at);
        Self {
            rendered,
            merged: merged.collect(),
        }
    }

    /// Returns the fields that a profile sets, in a few words, or `None`.
    pub(crate) fn format_merged(&self) -> Option<String> {
        let places = self.merged.iter().map(|at| source::field_path(at));
        (!self.merged.is_empty()).then(|| named(places))
    }

    fn is_merged(&self, change: &FieldChange) -> bool {
        let mut merged = self.merged.iter();
        merged.any(|place| change.at.starts_with(place.as_slice()))
    }
}

/// Returns the first of some fields, and the number of the others.
fn named(places: impl ExactSizeIterator<Item = String>) -> String {
    let rest = match places.len().saturating_sub(NAMED) {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    };
    let names: Vec<String> = places.take(NAMED).collect();
    format!("{}{rest}", names.join(", "))
}

/// Returns the difference. Fields that others have changed since, as `cartouche cancel` does, are left out.
pub(crate) fn differences(
    old: &RunSide<'_>,
    new: &RunSide<'_>,
    making: Option<&MakingFacts<'_>>,
) -> RunDiff {
    let left = old.of_any_run(new, making);
    let right = new.of_any_run(old, making);
    let rendered =
        |object: &Value| comparable(&own_fields(object).unwrap_or_else(|| object.clone()));
    let others: HashSet<Vec<Segment>> = [&left, &right]
        .into_iter()
        .flat_map(|object| object_diff::changes(&rendered(object), &comparable(object)))
        .map(|change| change.at)
        .collect();
    let (left, right) = (rendered(&left), rendered(&right));
    let mut changes = object_diff::changes(&left, &right);
    changes.retain(|change| !others.contains(&change.at));
    let is_another = old.profile != new.profile;
    // A field of the old run alone may derive from its profile or its template, so it counts as a change that can
    // make a run.
    let is_of_profile = |change: &FieldChange| making.is_some_and(|it| it.is_merged(change));
    let (by_profile, changes) = changes.into_iter().partition(is_of_profile);
    RunDiff {
        changes,
        by_profile,
        moved: is_another.then(|| {
            let named = |it: Option<&str>| it.map_or_else(|| NO_PROFILE.to_owned(), in_one_line);
            format!("{} became {}", named(old.profile), named(new.profile))
        }),
    }
}

/// Text for a run that is made without a profile.
pub(crate) const NO_PROFILE: &str = "no profile";

/// Returns the difference from a run that the API server has not seen. It lacks defaults, so fields that only the old
/// run has are left out.
pub(crate) fn rendered_differences(
    old: &RunSide<'_>,
    new: &RunSide<'_>,
    making: Option<&MakingFacts<'_>>,
) -> RunDiff {
    let mut found = differences(old, new, making);
    for changes in [&mut found.changes, &mut found.by_profile] {
        changes.retain(|change| change.new.is_some() || change.file.is_some());
    }
    found
}

#[cfg(test)]
mod tests;
