//! The object of the files that a Runnable selects.

use serde_json::Value;

use super::references;
use crate::{
    finding::{Finding, Rule},
    objects::{self, Objects, Selected},
    source::Document,
};

/// Returns the object, and the finding if it is not exactly one.
pub(super) fn select<'a>(
    objects: &'a Objects,
    runnable: &Document,
) -> (Option<&'a Document>, Vec<Finding>) {
    match objects.selected_by(runnable) {
        Selected::NotAsked => (None, Vec::new()),
        Selected::One(one) => (Some(one), Vec::new()),
        Selected::None => (None, vec![none(objects, runnable)]),
        Selected::Many(found) => (None, vec![objects::several_selected(runnable, &found)]),
    }
}

fn none(objects: &Objects, runnable: &Document) -> Finding {
    let name = runnable.name();
    let place = objects::selector_place(runnable);
    let nearly = nearly_selected(objects, runnable);
    // Labels that no object can have are reported already.
    let is_found_elsewhere = !references::labels(runnable).is_empty();
    if nearly.is_empty() || is_found_elsewhere || !objects.is_whole() {
        let message = format!(
            "what the template makes of Runnable {name} was not checked: no object among these files matches its selector"
        );
        let finding = Finding::note(Rule::Unchecked, message).at(place);
        return Finding {
            notes: nearly,
            ..finding.help("add such an object to the files")
        };
    }
    let message = format!("no object among these files matches the selector of Runnable {name}");
    let finding = Finding::warning(Rule::Selector, message)
        .at(place)
        .label("this picks none of them")
        .help("correct the labels or the namespace of one of the two: a Runnable selects in its own namespace");
    Finding {
        notes: nearly,
        ..finding
    }
}

/// Returns the reasons why objects of that kind are not selected.
fn nearly_selected(objects: &Objects, runnable: &Document) -> Vec<String> {
    let wanted = |key| {
        runnable
            .value
            .pointer(&format!("/spec/selector/resource/{key}"))
    };
    let is_wanted = |object: &Document| {
        let is = |key, has: &str| wanted(key).and_then(Value::as_str) == Some(has);
        is("kind", object.kind()) && is("apiVersion", object.api_version())
    };
    let others = objects.not_selected(runnable).into_iter();
    others
        .filter(|(object, _)| is_wanted(object))
        .take(objects::NAMED)
        .map(|(object, why)| format!("not {}: {why}", objects::describe(object)))
        .collect()
}
