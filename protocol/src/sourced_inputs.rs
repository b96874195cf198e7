//! Inputs that come from other objects: their values, and their errors. Pure.

mod check;
mod read;
mod there;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use cartouche_crds::{InputSource, SensitiveOutput};
use cartouche_templating::{NoValue, Room, Sourced, UnreadableText, read_text};
use serde_json::Value;

use crate::{
    category::Category,
    messages::{
        diagnosis::{Diagnosis, Fault},
        reconcile_error::{ReconcileError, Requeue},
    },
    references::{SourceObject, key, revision_path, traced_by, wait_for, waits_until_ready},
    sources::{Source, Value as Given},
    trace::Revision,
};
pub use check::{check, check_namespaces};
pub use read::{ObjectRead, RunnableRead, SourceRead};
use there::{is_on_its_way, no_key, no_output};

/// All reasons why inputs have no value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoInputs {
    /// Faults that a user has to correct.
    pub faults: Vec<Fault>,
    /// Values that are missing.
    pub missing: Vec<Fault>,
    /// True if some are missing and nothing is known to bring them.
    pub is_lacking: bool,
}

impl NoInputs {
    /// Returns true if there is no reason.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    fn check(self) -> Result<(), Self> {
        if self.is_nothing() { Ok(()) } else { Err(self) }
    }

    /// Returns the error of the Runnable. A missing value is waited for, and looked for again after
    /// this time; a fault ends only with a change.
    #[must_use]
    pub fn error(self, again: Duration) -> ReconcileError {
        let (category, requeue) = if self.faults.is_empty() {
            (Category::DependencyNotReady, Requeue::After(again))
        } else {
            (Category::SourceError, Requeue::OnChange)
        };
        let is_lacking = self.faults.is_empty() && self.is_lacking;
        let all = self.faults.into_iter().chain(self.missing);
        let diagnosis = if is_lacking {
            Diagnosis::SourcesMissing(all.collect())
        } else {
            Diagnosis::Sources(all.collect())
        };
        ReconcileError::from_diagnosis(category, requeue, diagnosis, None)
    }
}

/// The result of reading the sources of a Runnable.
#[derive(Debug, Default)]
pub struct Taken {
    /// The inputs, by name. Optional ones that are missing are left out.
    pub values: BTreeMap<String, Sourced>,
    /// The source of each, for chains.
    pub sources: Vec<Source>,
    /// The reasons why some have no value.
    pub wrong: NoInputs,
}

/// Returns the inputs of a Runnable in this namespace, by name, as far as their objects have been
/// `read`. Optional ones that are missing are left out.
pub fn values<'a>(
    namespace: &str,
    sources: &[InputSource],
    read: impl Fn(&SourceObject) -> Option<&'a SourceRead>,
) -> Result<BTreeMap<String, Sourced>, NoInputs> {
    let Taken { values, wrong, .. } = take_inputs(namespace, sources, read);
    wrong.check().map(|()| values)
}

/// Returns the same, with the state of each source.
pub fn take_inputs<'a>(
    namespace: &str,
    sources: &[InputSource],
    read: impl Fn(&SourceObject) -> Option<&'a SourceRead>,
) -> Taken {
    let mut taken = Taken::default();
    let mut room = Room::default();
    for source in sources {
        let Some(object) = SourceObject::read_in(namespace, source) else {
            continue;
        };
        let optional = source.optional == Some(true);
        let (given, revision) = match value(source, &object, read(&object), &mut room) {
            Ok((value, revision)) => {
                taken.values.insert(source.name.clone(), value);
                (given_or(Given::Given, source, read(&object)), revision)
            }
            Err(Wrong::Missing(_)) if optional => {
                let without = without_value(source, read(&object));
                (given_or(Given::LeftOut, source, read(&object)), without)
            }
            Err(Wrong::Missing(missing)) => {
                taken.wrong.missing.push(missing);
                taken.wrong.is_lacking |= !read(&object).is_some_and(is_on_its_way);
                (Given::Missing, None)
            }
            Err(Wrong::Awaited(missing)) => {
                taken.wrong.missing.push(missing);
                (Given::Missing, None)
            }
            Err(Wrong::Fault(fault)) => {
                let why = fault.what.clone();
                taken.wrong.faults.push(fault);
                (Given::Unusable(why), None)
            }
        };
        taken.sources.push(Source {
            key: found_key(&object, read(&object)).source_key(namespace, traced_by(source)),
            wait_for: wait_for(source, &object),
            value: given,
            revision,
        });
    }
    taken
}

/// Returns the object that was found. One that labels select then has a name, and a cluster-scoped
/// one an empty namespace.
fn found_key(object: &SourceObject, read: Option<&SourceRead>) -> SourceObject {
    let mut found = object.clone();
    if let (Some(SourceRead::Object(read)), Some(any)) = (read, &mut found.any) {
        found.name.clone_from(&read.name);
        found.namespace = Some(read.namespace.clone());
        Arc::make_mut(any).labels.clear();
    }
    found
}

/// Returns the state of a source, unless its object exists and says that it is not ready.
fn given_or(given: Given, source: &InputSource, read: Option<&SourceRead>) -> Given {
    match read {
        Some(SourceRead::Object(read)) if !read.is_ready && waits_until_ready(source) => {
            Given::ObjectNotReady
        }
        _ => given,
    }
}

/// Returns the revision of a source without a value. A run without that value was made from its
/// absence: once there is a value, the Runnable has to look again.
fn without_value(source: &InputSource, read: Option<&SourceRead>) -> Option<Revision> {
    if source.object_ref.is_some() && revision_path(source).is_none() {
        return None;
    }
    let revision = match read {
        Some(SourceRead::Runnable(of)) => of.seen.revision.clone(),
        Some(SourceRead::Object(of)) => revision_path(source)
            .and_then(|path| of.field(path))
            .map(Revision::from_value),
        _ => None,
    };
    Some(revision.unwrap_or_else(Revision::without_value))
}

enum Wrong {
    /// It is missing.
    Missing(Fault),
    /// It exists, and is about to change: even an optional input waits for it.
    Awaited(Fault),
    Fault(Fault),
}

fn value(
    source: &InputSource,
    object: &SourceObject,
    read: Option<&SourceRead>,
    room: &mut Room,
) -> Result<(Sourced, Option<Revision>), Wrong> {
    let (input, key) = (&source.name, key(source));
    let from = || {
        format!(
            "input {input} comes from {} {key} of {object}",
            object.kind.part()
        )
    };
    match read {
        None | Some(SourceRead::Absent) => Err(absent(format!(
            "input {input} comes from {object}, which is not there"
        ))),
        Some(SourceRead::Secret(marks)) => {
            let mark = marks.get(key).ok_or_else(|| no_key(&from(), None))?;
            let revision = Revision::of_mark(mark);
            let value = Sourced::secret(&object.name, key, mark.clone());
            Ok((value, Some(revision)))
        }
        Some(SourceRead::SecretRun) => Err(Wrong::Fault(fault(
            format!(
                "{}, which a Runnable made as its run: the status of that Runnable shows the uid by which its values could be guessed",
                from()
            ),
            "name another Secret: one that outputs are written to, or a copy",
        ))),
        Some(SourceRead::ConfigMap(map)) => {
            let reference = source.config_map_key_ref.as_ref();
            let read_as = reference.and_then(|it| it.read_as).unwrap_or_default();
            text(map, key, from).and_then(|text| {
                let value = read_text(text, read_as, room);
                let value = value.map_err(|error| unusable(&from(), &error))?;
                Ok((Sourced::plain(value), Some(Revision::of_text(text))))
            })
        }
        Some(SourceRead::Runnable(of)) => {
            let revision = of.seen.revision.clone();
            if let Some(sensitive) = of.sensitive.get(key) {
                return Ok((reference(object, sensitive, &from())?, revision));
            }
            if of.seen.behind.contains(key) {
                return Err(behind(&from()));
            }
            let found = of.output(key).zip(revision);
            let (value, revision) = found.ok_or_else(|| no_output(&from(), key, of))?;
            Ok((plain(value, room, &from())?, Some(revision)))
        }
        Some(SourceRead::Object(of)) => {
            let value = field(of, key, &from())?;
            let value = plain(value, room, &from())?;
            let revision = revision_path(source).map(|path| field(of, path, &from()));
            let revision = match revision.transpose() {
                // The value is there: only the state of the object that it belongs to is unknown.
                Err(Wrong::Missing(_)) if source.optional == Some(true) => None,
                revision => revision?,
            };
            Ok((value, revision.map(Revision::from_value)))
        }
        Some(SourceRead::Several(names)) => Err(Wrong::Fault(fault(
            format!(
                "input {input} comes from {object}, and there are several: {}",
                names.join(", ")
            ),
            "add labels, or remove them from the other objects, until only one matches",
        ))),
    }
}

/// Returns a sensitive output as an input, which is only a reference, like a Secret's. A pod could
/// not use one of another namespace.
fn reference(object: &SourceObject, of: &SensitiveOutput, from: &str) -> Result<Sourced, Wrong> {
    if object.namespace.is_some() {
        let what = format!("{from}, which is sensitive and stored in a Secret of that namespace");
        let cure = "read it in the namespace of its Runnable, or write it to where both may use it";
        return Err(Wrong::Fault(fault(what, cure)));
    }
    Ok(Sourced::secret(&of.name, &of.key, of.revision.clone()))
}

fn plain(value: &Value, room: &mut Room, from: &str) -> Result<Sourced, Wrong> {
    let fits = room.take_value(value);
    fits.map_err(|error| unusable(from, &error))?;
    Ok(Sourced::plain(value.clone()))
}

fn field<'a>(of: &'a ObjectRead, path: &str, from: &str) -> Result<&'a Value, Wrong> {
    match (of.field(path), of.without.get(path)) {
        (Some(value), _) => Ok(value),
        (None, Some(NoValue::Unusable(why))) => Err(Wrong::Fault(fault(
            format!("{from}: {why}"),
            "give a path that leads to one value",
        ))),
        (None, Some(NoValue::TooMuch(why))) => {
            Err(Wrong::Fault(fault(format!("{from}: {why}"), TOO_MUCH)))
        }
        (None, _) => {
            let cure = "make sure that the object has it, correct the path, or set optional if the template can do without it";
            Err(Wrong::Missing(fault(
                format!("{from}, which has nothing at {path}"),
                cure,
            )))
        }
    }
}

fn text<'a>(map: &'a Value, key: &str, from: impl Fn() -> String) -> Result<&'a str, Wrong> {
    let of = |field: &str| map.get(field).and_then(|data| data.get(key));
    of("data")
        .and_then(Value::as_str)
        .ok_or_else(|| match of("binaryData") {
            Some(_) => Wrong::Fault(fault(
                format!("{}, which is in its binaryData", from()),
                "give a key of data: an input is text or JSON",
            )),
            None => no_key(&from(), there::key_hint(map, key)),
        })
}

/// Cure for an object or a value that is too large to be held.
const TOO_MUCH: &str = "make it smaller, or let the run read it itself";

fn unusable(from: &str, error: &UnreadableText) -> Wrong {
    let cure = "correct the value, or let the run read it itself";
    Wrong::Fault(fault(format!("{from}: {error}"), cure))
}

fn absent(what: String) -> Wrong {
    let cure = "create it, correct the name, or set optional if the template can do without it";
    Wrong::Missing(fault(what, cure))
}

fn behind(from: &str) -> Wrong {
    let what =
        format!("{from}, whose Secret has not been written since it gave its present outputs");
    let cure = "run `cartouche why` on that Runnable: it shows why the Secret was not written";
    Wrong::Awaited(fault(what, cure))
}

fn fault(what: String, cure: &str) -> Fault {
    Fault::new(what, Some(cure.to_owned()))
}

#[cfg(test)]
mod tests;
