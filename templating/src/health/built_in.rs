//! What is known of the health of a kind, applied to a run that has no `Succeeded` condition.

use serde_json::Value;

use super::{ALWAYS_HEALTHY, Health, Verdict, conditions};
use crate::{
    document::text,
    kinds::{self, HealthFrom},
};

/// Judges a run by its kind.
pub(super) fn judge((api_version, kind): (&str, &str), run: &Value) -> Health {
    let Some(known) = kinds::known(api_version, kind) else {
        return Health::unknown(&format!(
            "the run has no Succeeded condition; if {kind} never has one, give the \
             ClusterRunTemplate a healthRule that says when it has succeeded"
        ));
    };
    match known.health {
        // Its condition is on its way.
        HealthFrom::SucceededCondition => Health::unknown(""),
        HealthFrom::Conditions { reason, decisive } => by_own_conditions(run, reason, decisive),
        HealthFrom::Phase { reason, failures } => by_phase(run, reason, failures),
        HealthFrom::Existence => Health::new(Verdict::Succeeded, ALWAYS_HEALTHY, ""),
    }
}

fn by_own_conditions(run: &Value, reason: &str, decisive: &[(&str, Verdict)]) -> Health {
    let holding =
        |kind| conditions(run, kind).find(|condition| text(condition, "status") == "True");
    for &(kind, verdict) in decisive {
        if let Some(condition) = holding(kind) {
            return Health::new(verdict, reason, text(condition, "message"));
        }
    }
    Health::unknown("")
}

fn by_phase(run: &Value, reason: &str, failures: &[&str]) -> Health {
    let status = run.get("status").unwrap_or_default();
    let verdict = match text(status, "phase") {
        "" => return Health::unknown(""),
        "Succeeded" => Verdict::Succeeded,
        phase if failures.contains(&phase) => Verdict::Failed,
        _ => Verdict::Unknown,
    };
    Health::new(verdict, reason, text(status, "message"))
}
