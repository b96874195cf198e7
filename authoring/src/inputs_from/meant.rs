//! Objects that are missing among the files under the name and namespace that a Runnable gives, while a similar one is
//! there.

use cartouche_language::suggestion;
use cartouche_protocol::references::{SourceKind, SourceObject};

use super::Entry;
use crate::{
    finding::{Finding, Rule},
    objects::{Objects, namespace_of},
    source::Document,
};

/// The object that was probably meant.
enum Meant<'a> {
    /// It has a similar name.
    Named(&'a Document),
    /// It has that name, in another namespace.
    Elsewhere(&'a Document),
}

/// Returns the finding about an object that is not there, if another one was probably meant.
pub(super) fn finding(
    objects: &Objects,
    runnable: &Document,
    entry: &Entry,
    object: &SourceObject,
) -> Option<Finding> {
    let meant = meant(objects, runnable, object)?;
    let (document, why, help) = match meant {
        Meant::Named(document) => (
            document,
            "which is not among these files".to_owned(),
            format!("did you mean '{}'?", document.name()),
        ),
        Meant::Elsewhere(document) => (
            document,
            format!(
                "which is not in the namespace {}, but in {}",
                object.namespace_in(namespace_of(runnable)),
                namespace_of(document)
            ),
            move_or_name(object, runnable, document),
        ),
    };
    let message = format!(
        "Runnable {}: input {} comes from {object}, {why}",
        runnable.name(),
        entry.name()
    );
    let place = runnable.place_at(&entry.steps(&[entry.reference(), "name"]));
    let finding = Finding::warning(Rule::Source, message)
        .at(place)
        .label("no such object here");
    let label = format!("{} {} is here", document.kind(), document.name());
    Some(finding.beside(document, label).help(help))
}

fn meant<'a>(
    objects: &'a Objects,
    runnable: &Document,
    object: &SourceObject,
) -> Option<Meant<'a>> {
    if object.labels().is_some() {
        return None;
    }
    let identity = object.type_meta();
    let is_one = |it: &&Document| (it.api_version(), it.kind()) == identity;
    let of_kind: Vec<&Document> = objects.selectable().filter(is_one).collect();
    let own = namespace_of(runnable);
    let namespace = object.namespace_in(own);
    let is_here = |it: &&&Document| {
        it.namespace() == namespace || (it.namespace().is_empty() && namespace == own)
    };
    // A Runnable does not read itself.
    let is_self = |it: &&&Document| std::ptr::eq(**it, runnable) || it.name() == runnable.name();
    let here = of_kind.iter().filter(is_here);
    let here = here.filter(|it| !object.is_runnable() || !is_self(it));
    let nearest = suggestion::nearest(&object.name, here.map(|it| it.name()));
    let find = |name: &str, is_wanted_here: bool| {
        let mut found = of_kind.iter();
        let found = found.find(|it| it.name() == name && is_here(it) == is_wanted_here);
        found.copied()
    };
    let elsewhere = find(&object.name, false).map(Meant::Elsewhere);
    elsewhere.or_else(|| nearest.and_then(|name| find(name, true)).map(Meant::Named))
}

fn move_or_name(object: &SourceObject, runnable: &Document, found: &Document) -> String {
    let (own, there) = (namespace_of(runnable), namespace_of(found));
    match object.kind {
        SourceKind::ConfigMap | SourceKind::Secret => format!(
            "move one of the two, so that both are in one namespace, or make a copy in {own}: a Runnable reads ConfigMaps and Secrets of its own namespace; objectRef reads others"
        ),
        _ => format!(
            "write namespace: {there} beside its name; the ServiceAccount needs the right to get it there"
        ),
    }
}
