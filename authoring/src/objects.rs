//! The objects of some manifests, and which of them belong together.

pub(crate) mod nameless;

use cartouche_language::suggestion;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use cartouche_crds::Selector;
use serde_json::Value;

use crate::{
    finding::{Finding, Rule},
    manifests,
    source::{Document, SourceSpan},
    unrendered,
};

/// Kind of a Runnable.
pub const RUNNABLE: &str = "Runnable";
/// Kind of a template.
pub const TEMPLATE: &str = "ClusterRunTemplate";
/// Kind of a profile.
pub const PROFILE: &str = "ClusterRunProfile";
/// The namespace of objects that name none.
pub const DEFAULT_NAMESPACE: &str = "default";

/// Objects by purpose.
#[derive(Default)]
pub struct Objects {
    /// Objects of the kind [`TEMPLATE`].
    pub templates: Vec<Document>,
    /// Objects of the kind [`RUNNABLE`].
    pub runnables: Vec<Document>,
    /// Objects of the kind [`PROFILE`].
    pub profiles: Vec<Document>,
    /// Objects that a selector may pick.
    pub others: Vec<Document>,
    /// Findings about files that could not be read, and about unusable objects.
    pub findings: Vec<Finding>,
    /// Files and messages of findings about unusable objects.
    refused: BTreeSet<(Option<String>, String)>,
}

impl Objects {
    /// Reads files and folders. A file that is no valid YAML is a finding, and so is a file of a folder that cannot be
    /// read. A named file that cannot be read is an error.
    pub fn load(paths: &[PathBuf]) -> anyhow::Result<Self> {
        let loaded = manifests::load(paths)?;
        let mut objects = Self {
            findings: loaded.findings,
            ..Self::default()
        };
        for document in loaded.documents {
            objects.add(document);
        }
        Ok(objects)
    }

    fn add(&mut self, mut document: Document) {
        if let Some(finding) = unusable(&mut document) {
            self.refuse(finding);
        } else if document.is_ours(TEMPLATE) {
            self.templates.push(document);
        } else if document.is_ours(RUNNABLE) {
            self.runnables.push(document);
        } else if document.is_ours(PROFILE) {
            self.profiles.push(document);
        } else {
            self.others.push(document);
        }
    }

    /// Adds the finding about an unusable object. The same expression of a generator is reported once per file.
    fn refuse(&mut self, finding: Finding) {
        let file = finding.place.as_ref().map(|it| it.source.name.clone());
        let is_new = self.refused.insert((file, finding.message.clone()));
        if finding.rule != Rule::Manifest || is_new {
            self.findings.push(finding);
        }
    }

    /// Returns true if all that was given could be read. Otherwise a missing object may be in the rest.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.findings.is_empty()
    }

    /// Loads files, and fails if one of them could not be read.
    pub fn load_all(paths: &[PathBuf]) -> anyhow::Result<Self> {
        let objects = Self::load(paths)?;
        match objects.findings.first() {
            Some(unreadable) => Err(unreadable.as_error()),
            None => Ok(objects),
        }
    }

    /// Loads files, and fails if one of them could not be read and no object is left.
    pub fn load_rest(paths: &[PathBuf]) -> anyhow::Result<Self> {
        let objects = Self::load(paths)?;
        let is_empty = objects.selectable().next().is_none();
        match objects.findings.first() {
            Some(unreadable) if is_empty => Err(unreadable.as_error()),
            _ => Ok(objects),
        }
    }

    /// Returns the answer of a command on these objects. A missing object may be in a file that could not be read, so
    /// that error takes precedence.
    pub fn or_unreadable<T>(&self, answer: anyhow::Result<T>) -> anyhow::Result<T> {
        answer.map_err(|error| match self.findings.first() {
            Some(unreadable) => unreadable.as_error(),
            None => error,
        })
    }

    /// Adds objects of any kind that are there only to be selected.
    pub fn add_selected(&mut self, paths: &[PathBuf]) -> anyhow::Result<()> {
        if !paths.is_empty() {
            let loaded = manifests::load(paths)?;
            self.findings.extend(loaded.findings);
            self.others.extend(loaded.documents);
        }
        Ok(())
    }

    /// Returns the template that a Runnable refers to.
    #[must_use]
    pub fn template_of(&self, runnable: &Document) -> Option<&Document> {
        let name = template_name(runnable);
        self.templates
            .iter()
            .find(|template| template.name() == name)
    }

    /// Returns the profile of this name.
    #[must_use]
    pub fn profile(&self, name: &str) -> Option<&Document> {
        self.profiles.iter().find(|profile| profile.name() == name)
    }

    /// Returns the finding about a Runnable whose template is not among the objects.
    #[must_use]
    pub fn missing_template(&self, runnable: &Document) -> Finding {
        let name = template_name(runnable);
        let place = runnable.place_of(&["spec", "runTemplateRef", "name"]);
        let names = self.templates.iter().map(Document::name);
        Finding::warning(
            Rule::Reference,
            format!("there is no ClusterRunTemplate '{name}' among these files"),
        )
        .at(place)
        .maybe_help(suggestion::hint(name, "the templates are", names.clone()))
        .maybe_help(suggest_renamed(name, names))
    }

    /// Returns the object that a Runnable selects.
    #[must_use]
    pub fn selected_by(&self, runnable: &Document) -> Selected<'_> {
        let Some(selector) = runnable.value.pointer("/spec/selector") else {
            return Selected::NotAsked;
        };
        let Ok(selector) = serde_json::from_value::<Selector>(selector.clone()) else {
            return Selected::None;
        };
        let namespace = namespace_of(runnable);
        let mut found: Vec<&Document> = Vec::new();
        for object in self.selectable() {
            // With --selected an object is given as it is on a cluster, beside its manifest.
            let is_known = found
                .iter()
                .any(|known| is_same(known, object) && object.is_ours(RUNNABLE));
            if !is_known && mismatch(&selector, namespace, object).is_none() {
                found.push(object);
            }
        }
        match found.as_slice() {
            [] => Selected::None,
            [one] => Selected::One(one),
            _ => Selected::Many(found),
        }
    }

    /// Returns the objects that a Runnable does not select, and why. Templates, profiles and Runnables count only if
    /// the selector asks for their kind.
    #[must_use]
    pub fn not_selected(&self, runnable: &Document) -> Vec<(&Document, String)> {
        let selector = runnable.value.pointer("/spec/selector").cloned();
        let selector = selector.and_then(|it| serde_json::from_value::<Selector>(it).ok());
        let Some(selector) = selector else {
            return Vec::new();
        };
        let kind = selector.resource.kind.as_deref().unwrap_or_default();
        let ours = |object: &Document| {
            [RUNNABLE, TEMPLATE, PROFILE]
                .iter()
                .any(|kind| object.is_ours(kind))
        };
        let given = self.selectable();
        let given = given.filter(|object| !ours(object) || object.kind() == kind);
        let namespace = namespace_of(runnable);
        given
            .filter_map(|object| Some((object, mismatch(&selector, namespace, object)?)))
            .collect()
    }

    /// Returns everything that a selector may pick: Runnables select each other too.
    pub(crate) fn selectable(&self) -> impl Iterator<Item = &Document> {
        self.others
            .iter()
            .chain(&self.runnables)
            .chain(&self.templates)
            .chain(&self.profiles)
    }
}

/// Returns the only finding about an object of Cartouche that cannot be used at all. Gives a Runnable with only a
/// `generateName` a name.
pub(crate) fn unusable(document: &mut Document) -> Option<Finding> {
    let ours = [TEMPLATE, RUNNABLE, PROFILE];
    if !ours.iter().any(|kind| document.is_ours(kind)) {
        return None;
    }
    if document.is_ours(RUNNABLE) {
        nameless::name(document);
    }
    unrendered::check(document).or_else(|| nameless::check(document))
}

/// Returns the cure if a missing name is there with a prefix or suffix: Kustomize changes names, and knows no reference
/// of Cartouche unless it is configured.
pub(crate) fn suggest_renamed<'a>(
    name: &str,
    mut names: impl Iterator<Item = &'a str>,
) -> Option<String> {
    const MARKS: [char; 2] = ['-', '.'];
    let is_longer = |long: &&str| {
        let around = long.split_once(name).filter(|_| !name.is_empty());
        around.is_some_and(|(before, after)| {
            (before.is_empty() || before.ends_with(MARKS))
                && (after.is_empty() || after.starts_with(MARKS))
                && *long != name
        })
    };
    let found = names.find(is_longer)?;
    Some(format!(
        "did a namePrefix change it? '{found}' is there: with config/kustomize/name-references.yaml as configurations, Kustomize changes the reference as well"
    ))
}

/// The cure if Kustomize adds a hash to the name of a generated object, and not to a reference of Cartouche.
pub const GENERATED: &str = "add config/kustomize/name-references.yaml to the configurations of the Kustomization, so that it changes the reference as well, or give that generator options: {disableNameSuffixHash: true}";

/// Returns the name that a generator of Kustomize gives to an object of this name: with a hash behind it.
#[must_use]
pub fn find_generated<'a>(name: &str, mut names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Digits and letters that make no words.
    let is_hash =
        |end: &str| end.len() == 10 && end.chars().all(|c| "bcdfghkmt2456789".contains(c));
    names.find(|long| {
        let end = long
            .strip_prefix(name)
            .and_then(|rest| rest.strip_prefix('-'));
        !name.is_empty() && end.is_some_and(is_hash)
    })
}

/// Result of a selector.
#[derive(Clone)]
pub enum Selected<'a> {
    /// There is no selector.
    NotAsked,
    /// Exactly one object matches.
    One(&'a Document),
    /// No object matches.
    None,
    /// Several objects match.
    Many(Vec<&'a Document>),
}

fn is_same(one: &Document, other: &Document) -> bool {
    let name = |document: &Document| (document.kind().to_owned(), document.name().to_owned());
    name(one) == name(other) && namespace_of(one) == namespace_of(other)
}

/// Returns the reason why a selector does not pick an object, or `None` if it does.
pub(crate) fn mismatch(selector: &Selector, namespace: &str, object: &Document) -> Option<String> {
    let wanted = (
        selector.resource.api_version.as_deref().unwrap_or_default(),
        selector.resource.kind.as_deref().unwrap_or_default(),
    );
    if wanted != (object.api_version(), object.kind()) {
        return Some(format!(
            "it is a {} of {}",
            object.kind(),
            object.api_version()
        ));
    }
    if !object.namespace().is_empty() && object.namespace() != namespace {
        return Some(format!("it is in the namespace {}", object.namespace()));
    }
    let empty = Value::Null;
    let labels = object.value.pointer("/metadata/labels").unwrap_or(&empty);
    let differing = selector
        .matching_labels
        .iter()
        .find(|(key, value)| labels.get(key.as_str()).and_then(Value::as_str) != Some(value))?;
    Some(format!("its label {} is not {}", differing.0, differing.1))
}

/// Returns the place of the selector of a Runnable.
#[must_use]
pub fn selector_place(runnable: &Document) -> SourceSpan {
    runnable.place_of_key(&["spec", "selector"])
}

/// Returns the finding about a Runnable that selects several objects.
#[must_use]
pub fn several_selected(runnable: &Document, found: &[&Document]) -> Finding {
    let message = format!(
        "the selector of Runnable {} matches {} objects, and has to match exactly one",
        runnable.name(),
        found.len()
    );
    let finding = Finding::error(Rule::Selector, message)
        .at(selector_place(runnable))
        .help("add labels until one is left");
    let finding = found.iter().take(NAMED).fold(finding, |finding, object| {
        finding.beside(object, format!("it matches {}", describe(object)))
    });
    match found.len().saturating_sub(NAMED) {
        0 => finding,
        more => finding.with_note(format!("it matches {more} more")),
    }
}

/// Most objects of a selector that are named.
pub(crate) const NAMED: usize = 5;

/// Returns kind and name of an object.
#[must_use]
pub fn describe(object: &Document) -> String {
    format!("{} {}", object.kind(), object.name())
}

pub(crate) fn template_name(runnable: &Document) -> &str {
    let name = runnable.value.pointer("/spec/runTemplateRef/name");
    name.and_then(Value::as_str).unwrap_or_default()
}

/// Returns the namespace of a Runnable.
#[must_use]
pub fn namespace_of(runnable: &Document) -> &str {
    match runnable.namespace() {
        "" => DEFAULT_NAMESPACE,
        namespace => namespace,
    }
}

/// Returns findings about objects of one kind and name: it is not known which of them counts.
pub(crate) fn duplicates(documents: &[Document]) -> Vec<Finding> {
    let mut seen: BTreeMap<(&str, &str, &str), &Document> = BTreeMap::new();
    let mut findings = Vec::new();
    for document in documents {
        let name = (document.kind(), document.namespace(), document.name());
        if let Some(first) = seen.insert(name, document) {
            let place = first.place_of(&["metadata", "name"]);
            let message = format!("there are two of {} '{}'", document.kind(), document.name());
            findings.push(
                Finding::warning(Rule::Manifest, message)
                    .at_document(document)
                    .with_related(place, "the other one")
                    .help("rename one of them, or check their folders one by one"),
            );
        }
    }
    findings
}
