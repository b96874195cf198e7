//! Changes that Kueue makes to an object when it admits it, beside the field that holds it.
//!
//! For a flavour it adds node labels, tolerations and scheduling gates to the pods, and it may reduce the number
//! of pods of a Job that permits it. New entries of maps, such as `nodeSelector`, do not matter for a comparison,
//! so only lists and numbers are named here.

use cartouche_language::object::text;
use serde_json::Value;

use super::find_kind;

/// Label with the name of an object's queue.
const QUEUE_NAME: &str = "kueue.x-k8s.io/queue-name";
/// Annotation with the minimum number of pods of a Job.
const MIN_PARALLELISM: &str = "kueue.x-k8s.io/job-min-parallelism";
/// Annotation that ties the completions of such a Job to its pods.
const SAME_COMPLETIONS: &str = "kueue.x-k8s.io/job-completions-equal-parallelism";

/// The places in an object that are written when it is admitted, as JSON pointers.
#[derive(Debug, Default, PartialEq)]
pub struct Admission {
    /// Lists that items are added to.
    pub lists: Vec<String>,
    /// Numbers that may become smaller.
    pub counts: &'static [&'static str],
    /// Lower bound of these numbers.
    pub least: i128,
}

/// Returns the places of the rendered document that Kueue may have changed, if the live object names a queue.
#[must_use]
pub fn admission(live: &Value, document: &Value) -> Option<Admission> {
    live.get("metadata")?.get("labels")?.get(QUEUE_NAME)?;
    let (api_version, kind) = (text(document, "apiVersion"), text(document, "kind"));
    let known = find_kind(api_version, kind)?;
    let (_, pod) = (known.queue?, known.pod_template?);
    // A Pod's own gates are the queue's field, and never compared.
    let gates = (kind != "Pod").then_some("schedulingGates");
    let lists = ["tolerations"].into_iter().chain(gates);
    let lists = lists.map(|list| format!("{pod}/spec/{list}"));
    let (least, counts) = fewer(document).unwrap_or_default();
    Some(Admission {
        lists: lists.collect(),
        counts,
        least,
    })
}

/// Returns the numbers of a Job that may become smaller, with their lower bound.
fn fewer(document: &Value) -> Option<(i128, &'static [&'static str])> {
    let is_job = text(document, "kind") == "Job";
    let annotations = document.get("metadata")?.get("annotations")?;
    let least: u32 = text(annotations, MIN_PARALLELISM).parse().ok()?;
    // The words that Go parses as true.
    let is_same = matches!(
        text(annotations, SAME_COMPLETIONS),
        "1" | "t" | "T" | "true" | "True" | "TRUE"
    );
    let counts: &[&str] = if is_same {
        &["/spec/parallelism", "/spec/completions"]
    } else {
        &["/spec/parallelism"]
    };
    is_job.then_some((least.into(), counts))
}
