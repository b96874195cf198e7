//! Fields that a document depends on and that only a cluster gives: the hash of a file differs from the one there.

use cartouche_crds::ClusterRunTemplateSpec;
use cartouche_templating::Template;
use serde_json::{Value, json};

use super::{RenderSubject, rendered, with_metadata};

/// Another uid than that of any file.
const OTHER_UID: &str = "00000000-0000-0000-0000-000000000001";

/// Returns the fields, in words, that a template reads and that each Runnable gets from the cluster; `None` if the hash
/// is the same for all.
#[must_use]
pub fn read(subject: &RenderSubject<'_>, spec: Option<&ClusterRunTemplateSpec>) -> Option<String> {
    let others = [
        ("uid", json!(OTHER_UID)),
        ("generation", json!(2)),
        ("creationTimestamp", json!("2000-01-01T00:00:01Z")),
    ];
    let read = others
        .into_iter()
        .filter(|(field, other)| follows_from(subject, field, other));
    let named = read.map(|(field, other)| {
        let without = spec.and_then(without_context);
        let alone = without.as_ref().map(|template| RenderSubject {
            template,
            ..*subject
        });
        if alone.is_some_and(|subject| !follows_from(&subject, field, &other)) {
            format!("the {field} of the Runnable, in runner.context")
        } else {
            format!("runnable.metadata.{field}")
        }
    });
    let named: Vec<String> = named.collect();
    (!named.is_empty()).then(|| named.join(" and "))
}

/// Returns true if the hash changes with this field of the metadata.
fn follows_from(subject: &RenderSubject<'_>, field: &str, other: &Value) -> bool {
    let other = with_metadata(subject.runnable, &[(field, other.clone())], true);
    let hash = |subject: &RenderSubject<'_>| {
        let rendered = rendered(subject);
        rendered.map(|rendered| rendered.input_hash().to_owned())
    };
    hash(subject)
        != hash(&RenderSubject {
            runnable: &other,
            ..*subject
        })
}

/// Returns the template without the context of containers, if it has one: the context names the Runnable with its uid.
fn without_context(spec: &ClusterRunTemplateSpec) -> Option<Template> {
    let mut spec = spec.clone();
    let runner = spec.runner.as_mut().filter(|it| it.context == Some(true))?;
    (runner.context, runner.dry_run, runner.timeout) = (None, None, None);
    Template::compile(&spec).ok()
}
