//! Origins of the values of a run.

use std::collections::BTreeMap;

use cartouche_language::syntax::{self, PathStep, To};
use serde_json::{Value, json};

use super::{DraftRun, RenderSubject, value_of};
use crate::{
    input_schema,
    source::{self, Document, Node, Segment, SourceSpan},
    template_file, yaml,
};

/// One value that is made of tags.
pub struct Origin {
    /// Path to it in the run.
    path: String,
    value: Value,
    /// Place of the text with the tags.
    place: String,
    text: String,
    tags: Vec<TagOrigin>,
}

struct TagOrigin {
    path: String,
    value: Value,
    /// Place of the value, if it is written.
    place: Option<String>,
}

/// The files that a run was rendered from.
pub struct Files<'a> {
    /// File of the template.
    pub template: &'a Document,
    /// File of the Runnable.
    pub runnable: &'a Document,
    /// File of the selected object.
    pub selected: Option<&'a Document>,
    /// The profile that it is made with.
    pub profile: Option<&'a Document>,
    /// Places of inputs from other objects, by name.
    pub sourced: &'a BTreeMap<String, SourceSpan>,
}

/// Returns all values with tags, in the order of the template.
#[must_use]
pub fn origins(files: &Files<'_>, subject: &RenderSubject<'_>, run: &DraftRun) -> Vec<Origin> {
    let mut origins: Vec<(Vec<Segment>, Origin)> = Vec::new();
    let Some(body) = template_file::body(files.template) else {
        return Vec::new();
    };
    for placed in template_file::tags(files.template) {
        let tag = TagOrigin {
            value: value_of(&placed.tag.path, subject, run).unwrap_or_default(),
            place: written(files, &placed.tag.path)
                .or_else(|| sourced(files, &placed.tag.path))
                .or_else(|| of_profile(files, &placed.tag.path))
                .or_else(|| of_run(&placed.tag.path))
                .or_else(|| by_default(files.template, &placed.tag.path)),
            path: placed.tag.path,
        };
        if let Some((_, origin)) = origins.last_mut().filter(|(at, _)| *at == placed.at) {
            origin.tags.push(tag);
            continue;
        }
        let (leaf, _, _) = body.follow(&placed.at);
        let value = Segment::value_at(&placed.at, run.rendered.document());
        let origin = Origin {
            path: source::field_path(&placed.at),
            value: value.cloned().unwrap_or_default(),
            place: files.template.place(&leaf.span).describe(),
            text: leaf.text().unwrap_or_default().to_owned(),
            tags: vec![tag],
        };
        origins.push((placed.at, origin));
    }
    origins.into_iter().map(|(_, origin)| origin).collect()
}

/// Returns the place of the value of a path in the file of the Runnable or of the selected object.
fn written(files: &Files<'_>, path: &str) -> Option<String> {
    let steps = syntax::steps(path);
    let (document, below) = match syntax::below(&steps, &["runnable"]) {
        Some(below) => (files.runnable, below),
        None => (files.selected?, syntax::below(&steps, &["selected"])?),
    };
    Some(
        document
            .place(&follow(&document.root, below)?.span)
            .describe(),
    )
}

/// Returns the node that steps of a path lead to.
fn follow<'a>(root: &'a Node, steps: &[PathStep]) -> Option<&'a Node> {
    let mut node = root;
    for step in steps {
        node = match &step.to {
            To::Key(key) => node.get(key)?,
            To::Index(index) => {
                let items = node.items();
                let index = if *index < 0 {
                    items
                        .len()
                        .checked_sub(usize::try_from(index.unsigned_abs()).ok()?)?
                } else {
                    usize::try_from(*index).ok()?
                };
                items.get(index)?
            }
            // The list that is searched is close enough.
            To::Elements => break,
        };
    }
    Some(node)
}

/// Returns the place of the value of a profile that a path leads to, or into.
fn of_profile(files: &Files<'_>, path: &str) -> Option<String> {
    let steps = syntax::steps(path);
    let profile = files.profile?;
    let values = profile.root.at(&["spec", "values"])?;
    let found = follow(values, syntax::below(&steps, &["profile", "values"])?)?;
    Some(profile.place(&found.span).describe())
}

/// Returns the origin of a fact about the run, which is written nowhere.
fn of_run(path: &str) -> Option<String> {
    let steps = syntax::steps(path);
    syntax::below(&steps, &["run"]).map(|_| "the run itself".to_owned())
}

/// Returns the place in another object of the input that a path leads to, or into.
fn sourced(files: &Files<'_>, path: &str) -> Option<String> {
    let steps = syntax::steps(path);
    let name = input_schema::below_inputs(&steps)?.first()?.key()?;
    Some(files.sourced.get(name)?.describe())
}

/// Returns the place of the default that a path leads to, or into, in the template.
fn by_default(template: &Document, path: &str) -> Option<String> {
    let steps = syntax::steps(path);
    let inputs = input_schema::below_inputs(&steps)?;
    let default = input_schema::default_of(template, inputs)?;
    let place = template.place(&default.span).describe();
    Some(format!("{place}, the default"))
}

/// Writes origins as comments under a YAML document.
#[must_use]
pub fn as_comments(origins: &[Origin], profile: Option<&str>) -> String {
    let profile = profile.map_or_else(String::new, |name| {
        format!(" or in ClusterRunProfile {name}")
    });
    let mut lines = vec![format!(
        "where the values come from; values that are not listed are literal in the template{profile}"
    )];
    for origin in origins {
        lines.push(String::new());
        lines.push(format!("{} = {}", origin.path, origin.value));
        lines.push(format!("  {}: {}", origin.place, one_line(&origin.text)));
        for tag in &origin.tags {
            let place = tag
                .place
                .as_deref()
                .map_or(String::from("not set"), |place| format!("from {place}"));
            lines.push(format!("  {} = {} {place}", tag.path, tag.value));
        }
    }
    let mut out: String = lines.iter().map(|line| yaml::comment(line)).collect();
    out.push_str(
        "#\n# added by Cartouche: metadata.name, metadata.namespace, metadata.ownerReferences, labels and\n\
         # annotations of carto.run\n",
    );
    out
}

fn one_line(text: &str) -> String {
    const SHOWN: usize = 100;
    let mut line = text.replace('\n', "\\n");
    if line.len() > SHOWN {
        line.truncate(line.floor_char_boundary(SHOWN));
        line.push('…');
    }
    line
}

/// Writes origins as JSON.
#[must_use]
pub fn as_json(origins: &[Origin]) -> Value {
    let origin = |origin: &Origin| {
        let tags = origin
            .tags
            .iter()
            .map(|tag| json!({ "path": tag.path, "value": tag.value, "from": tag.place }));
        json!({
            "path": origin.path,
            "value": origin.value,
            "text": origin.text,
            "from": origin.place,
            "tags": tags.collect::<Vec<_>>(),
        })
    };
    origins.iter().map(origin).collect()
}
