//! Files that replace live objects.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use cartouche_authoring::{
    objects::{Objects, RUNNABLE, TEMPLATE},
    source::Document,
};
use cartouche_crds::{ClusterRunTemplate, Runnable};
use serde::de::DeserializeOwned;

/// Files that replace the live objects.
#[derive(Default)]
pub(crate) struct Edited {
    pub(crate) template: Option<PathBuf>,
    pub(crate) runnable: Option<PathBuf>,
}

impl Edited {
    /// Returns the live Runnable with the edits of the file applied.
    pub(super) fn runnable(&self, live: &Runnable) -> anyhow::Result<Runnable> {
        match &self.runnable {
            None => Ok(live.clone()),
            Some(path) => {
                let document = one(path, RUNNABLE, |objects| &objects.runnables)?;
                Ok(apply_manifest(live, parse_document(&document, "Runnable")?))
            }
        }
    }

    pub(super) fn template(&self) -> anyhow::Result<Option<ClusterRunTemplate>> {
        let path = self.template.as_ref();
        path.map(|path| {
            parse_document(
                &one(path, TEMPLATE, |objects| &objects.templates)?,
                "template",
            )
        })
        .transpose()
    }
}

/// Returns a live Runnable as it is once a manifest of it is applied.
pub(super) fn apply_manifest(live: &Runnable, new: Runnable) -> Runnable {
    let mut runnable = live.clone();
    runnable.spec = new.spec;
    runnable.metadata.labels = new.metadata.labels;
    runnable.metadata.annotations = new.metadata.annotations;
    runnable
}

pub(super) fn parse_document<T: DeserializeOwned>(
    document: &Document,
    what: &str,
) -> anyhow::Result<T> {
    serde_json::from_value(document.value.clone()).with_context(|| {
        format!(
            "{} holds no {what} that can be read\nhint: cartouche validate says why",
            document.source.name
        )
    })
}

/// Returns the only object of its kind in a file.
fn one(
    path: &PathBuf,
    kind: &str,
    pick: impl Fn(&Objects) -> &Vec<Document>,
) -> anyhow::Result<Document> {
    let objects = Objects::load_all(std::slice::from_ref(path))?;
    match pick(&objects).as_slice() {
        [one] => Ok(one.clone()),
        found => bail!(
            "{} must have exactly one {kind}, but has {}\nhint: `cartouche diff -f` takes files that hold several",
            path.display(),
            found.len()
        ),
    }
}
