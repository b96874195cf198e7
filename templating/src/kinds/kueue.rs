//! What Kueue writes into an object when it lets it work, beside the field that holds it.
//!
//! Of a flavour it adds labels of nodes, tolerations and scheduling gates to the pods, and where a Job may do with fewer pods it
//! sets how many. Entries of maps, such as `nodeSelector`, are no matter for a comparison: only lists and numbers are named here.

use serde_json::Value;

use super::known;
use crate::object::text;

/// The label by which an object names its queue.
const QUEUE_NAME: &str = "kueue.x-k8s.io/queue-name";
/// The annotation by which a Job may do with fewer pods.
const MIN_PARALLELISM: &str = "kueue.x-k8s.io/job-min-parallelism";
/// The annotation by which such a Job has as many completions as pods.
const SAME_COMPLETIONS: &str = "kueue.x-k8s.io/job-completions-equal-parallelism";

/// The places in an object that are written when it is admitted, as JSON pointers.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Admission {
    /// The lists that items are added to.
    pub lists: Vec<String>,
    /// The numbers that may become smaller.
    pub counts: &'static [&'static str],
    /// The smallest number that they may become.
    pub least: i128,
}

/// What may have been written into a live object that names a queue, of what was rendered.
pub(crate) fn admission(live: &Value, document: &Value) -> Option<Admission> {
    live.get("metadata")?.get("labels")?.get(QUEUE_NAME)?;
    let (api_version, kind) = (text(document, "apiVersion"), text(document, "kind"));
    let known = known(api_version, kind)?;
    let (_, pod) = (known.queue?, known.pod_template?);
    // A Pod's own gates are the queue's field, and compared nowhere.
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

/// The numbers of a Job that may become smaller, and how small.
fn fewer(document: &Value) -> Option<(i128, &'static [&'static str])> {
    let is_job = text(document, "kind") == "Job";
    let annotations = document.get("metadata")?.get("annotations")?;
    let least: u32 = text(annotations, MIN_PARALLELISM).parse().ok()?;
    // The words that Go takes for true.
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
