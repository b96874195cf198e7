//! `docs/reference/labels-and-annotations.md`: a table of keys for each kind of object, from the constants in `crds`.

use cartouche_crds::{KEYS, Key, KeyField, KeyHolder};

use crate::page::{Block, Table};

/// Returns a block for each section of the page.
pub(super) fn blocks() -> Vec<Block> {
    let sections = [
        "a Runnable",
        "a run",
        "a pod",
        "output objects",
        "cluster objects",
    ];
    let blocks = sections.into_iter().map(|name| Block {
        name,
        content: table(name),
    });
    blocks.collect()
}

fn table(section: &str) -> String {
    let mut table = Table::new(&["key", "on", "set by", "meaning"]);
    for key in KEYS.iter().filter(|key| section_of(key.on) == section) {
        table.add([
            name(key),
            holder(key.on).to_owned(),
            key.set_by.to_owned(),
            key.meaning.to_owned(),
        ]);
    }
    table.text()
}

fn section_of(holder: KeyHolder) -> &'static str {
    match holder {
        KeyHolder::Runnable => "a Runnable",
        KeyHolder::Run => "a run",
        KeyHolder::Pod => "a pod",
        KeyHolder::OutputObject => "output objects",
        KeyHolder::Definition | KeyHolder::ClusterRole | KeyHolder::Role => "cluster objects",
    }
}

fn name(key: &Key) -> String {
    let field = match key.field {
        KeyField::Label => "label",
        KeyField::Annotation => "annotation",
    };
    format!("{field} `{}`", key.key)
}

fn holder(holder: KeyHolder) -> &'static str {
    match holder {
        KeyHolder::Runnable => "Runnable",
        KeyHolder::Run => "run",
        KeyHolder::Pod => "pod of a run",
        KeyHolder::OutputObject => "Secret, ConfigMap",
        KeyHolder::Definition => "definition (CRD)",
        KeyHolder::ClusterRole => "ClusterRole",
        KeyHolder::Role => "Role, ClusterRole",
    }
}
