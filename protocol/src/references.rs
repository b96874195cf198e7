//! The objects in the references of a Runnable's inputs. Pure.

mod object;

use std::collections::{BTreeMap, BTreeSet};

use cartouche_crds::{InputSource, WaitFor};

use crate::trace::SourceKey;
pub use object::{AnyObject, SourceKind, SourceObject};
pub(crate) use object::{wait_for, waits_until_ready};

/// Returns the keys of one object that a Runnable in this namespace reads.
#[must_use]
pub fn keys<'a>(
    namespace: &str,
    sources: &'a [InputSource],
    object: &SourceObject,
) -> BTreeSet<&'a str> {
    let of_object =
        |source: &&InputSource| SourceObject::read_in(namespace, source).as_ref() == Some(object);
    let asked = sources.iter().filter(of_object);
    asked
        .flat_map(|source| [Some(key(source)), revision_path(source)])
        .flatten()
        .collect()
}

/// Returns the key, the output or the path that an input comes from; empty if the reference has
/// none.
#[must_use]
pub fn key(source: &InputSource) -> &str {
    let map = source.config_map_key_ref.as_ref().map(|of| &of.key);
    let secret = source.secret_key_ref.as_ref().map(|of| &of.key);
    let runnable = source.runnable_ref.as_ref().map(|of| &of.output);
    let object = source.object_ref.as_ref().map(|of| &of.path);
    let all = [map, secret, runnable, object];
    all.into_iter().flatten().next().map_or("", String::as_str)
}

/// Returns the source of an input of a Runnable in this namespace, as far as the reference says, or
/// `None` if it does not name one kind of source. Only a read gives the name of an object that
/// labels find, and shows that an object is cluster-scoped.
#[must_use]
pub fn source_key(namespace: &str, source: &InputSource) -> Option<SourceKey> {
    let object = SourceObject::from_source(source)?;
    Some(object.source_key(namespace, traced_by(source)))
}

/// Returns the part that separates its source from others of the same object.
pub(crate) fn traced_by(source: &InputSource) -> &str {
    match source.object_ref {
        Some(_) => revision_path(source).unwrap_or_default(),
        None => key(source),
    }
}

pub(crate) fn revision_path(source: &InputSource) -> Option<&str> {
    source.object_ref.as_ref()?.revision_path.as_deref()
}

/// Returns the Runnables that inputs of a Runnable in this namespace come from, as far as
/// references name them, each with its strictest `waitFor`.
#[must_use]
pub fn runnables(namespace: &str, sources: &[InputSource]) -> BTreeMap<SourceKey, WaitFor> {
    let mut all = BTreeMap::new();
    for source in sources {
        let object = SourceObject::from_source(source);
        let Some(object) = object.filter(|it| it.is_runnable() && !it.name.is_empty()) else {
            continue;
        };
        let asked = wait_for(source, &object);
        let wait_for = all.entry(object.source_key(namespace, "")).or_insert(asked);
        *wait_for = asked.max(*wait_for);
    }
    all
}

/// Returns the whole objects that inputs of a Runnable in this namespace come from, as far as
/// references name them and outputs of Runnables may be written to them.
#[must_use]
pub fn sinks(namespace: &str, sources: &[InputSource]) -> BTreeSet<SourceKey> {
    let objects = sources.iter().filter_map(SourceObject::from_source);
    objects.filter_map(|it| it.as_sink(namespace)).collect()
}
