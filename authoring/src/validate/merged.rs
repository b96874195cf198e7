//! Fields that a profile merges into pods and into runs of a kind, and that these do not have.

use cartouche_language::syntax;
use serde_json::Value;

use super::{knowledge::Knowledge, shape};
use crate::{
    finding::Finding,
    schema::{
        Schema, check,
        mismatch::{Mismatch, MismatchKind},
        partial::Partial,
    },
    source::{Content, Document, Node, Segment},
};

pub(super) fn check(profile: &Document, knowledge: &Knowledge) -> Vec<Finding> {
    let mut mismatches = Vec::new();
    let pod = knowledge.catalog.get("v1", "Pod");
    let to_pod = Segment::keys(["spec", "podTemplate"]);
    mismatches.extend(below(
        profile,
        &to_pod,
        pod.as_ref().and_then(|pod| pod.schema()),
    ));
    let patches = profile.root.at(&["spec", "patches"]).map(Node::items);
    for (index, patch) in patches.unwrap_or_default().iter().enumerate() {
        let text = |key: &str| patch.get(key).and_then(Node::text).unwrap_or_default();
        let kind = knowledge.catalog.get(text("apiVersion"), text("kind"));
        let at = [
            Segment::keys(["spec", "patches"]).as_slice(),
            &[Segment::Index(index), "patch".into()],
        ]
        .concat();
        mismatches.extend(below(
            profile,
            &at,
            kind.as_ref().and_then(|kind| kind.schema()),
        ));
    }
    let findings = mismatches.iter();
    findings
        .map(|mismatch| shape::finding(profile, &profile.root, mismatch))
        .collect()
}

/// Returns the mismatches of a part that is merged. A field that is missing in it may be in the run.
fn below(profile: &Document, at: &[Segment], schema: Option<Schema<'_>>) -> Vec<Mismatch> {
    let (node, _, taken) = profile.root.follow(at);
    let Some(schema) = schema.filter(|_| taken == at.len()) else {
        return Vec::new();
    };
    let found = check::check(schema, &partial(node)).into_iter();
    let found =
        found.filter(|it| !matches!(it.fault, MismatchKind::Missing { .. } | MismatchKind::Null));
    found
        .map(|mismatch| Mismatch {
            at: [at, &mismatch.at].concat(),
            ..mismatch
        })
        .collect()
}

/// Returns the known part of a value. A tag alone may be of any type.
fn partial(node: &Node) -> Partial {
    match &node.content {
        Content::Array(items) => Partial::Array(items.iter().map(partial).collect()),
        Content::Object(entries) => {
            let fields = entries.iter();
            Partial::Object(
                fields
                    .map(|it| (it.key.clone(), partial(&it.value)))
                    .collect(),
            )
        }
        Content::Scalar(Value::String(text)) if syntax::may_hold_tags(text) => {
            match syntax::tags(text).as_slice() {
                [tag] if tag.alone => Partial::Open,
                _ => Partial::Typed("string".to_owned()),
            }
        }
        Content::Scalar(value) => Partial::from(value),
    }
}
