//! What is known of common kinds that have no `Succeeded` condition.

use serde_json::Value;

use super::{Health, Verdict, conditions};

const JOB: &str = "JobCondition";
const POD: &str = "PodPhase";
const WORKFLOW: &str = "WorkflowPhase";
const ALWAYS_HEALTHY: &str = "AlwaysHealthy";

/// Judges a run by its kind.
pub(super) fn judge((api_version, kind): (&str, &str), run: &Value) -> Health {
    let (group, _) = api_version.split_once('/').unwrap_or(("", api_version));
    match (group, kind) {
        ("batch", "Job") => job(run),
        ("", "Pod") => phase(run, POD, &["Failed"]),
        ("argoproj.io", "Workflow") => phase(run, WORKFLOW, &["Failed", "Error"]),
        ("", "ConfigMap" | "Secret") | ("rbac.authorization.k8s.io", _) => {
            Health::new(Verdict::Succeeded, ALWAYS_HEALTHY, "")
        }
        // Its condition is on its way.
        ("tekton.dev", _) => Health::unknown(""),
        _ => Health::unknown(&format!(
            "the run has no Succeeded condition; if {kind} never has one, give the \
             ClusterRunTemplate a healthRule that says when it has succeeded"
        )),
    }
}

fn job(run: &Value) -> Health {
    let holding = |kind| conditions(run, kind).find(|condition| condition.status() == "True");
    // The last two come before the end: the first two are what the Job controller ends a Job with.
    for (kind, verdict) in [
        ("Failed", Verdict::Failed),
        ("Complete", Verdict::Succeeded),
        ("FailureTarget", Verdict::Unknown),
        ("Suspended", Verdict::Unknown),
    ] {
        if let Some(condition) = holding(kind) {
            return Health::new(verdict, JOB, condition.message());
        }
    }
    Health::unknown("")
}

fn phase(run: &Value, reason: &str, failures: &[&str]) -> Health {
    let text = |field: &str| {
        let value = run.get("status").and_then(|status| status.get(field));
        value.and_then(Value::as_str).unwrap_or_default()
    };
    let verdict = match text("phase") {
        "" => return Health::unknown(""),
        "Succeeded" => Verdict::Succeeded,
        phase if failures.contains(&phase) => Verdict::Failed,
        _ => Verdict::Unknown,
    };
    Health::new(verdict, reason, text("message"))
}
