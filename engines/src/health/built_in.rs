//! Built-in rules for the health of a kind, for a run without a `Succeeded` condition.

use cartouche_language::object::{holding, text};
use serde_json::Value;

use super::ALWAYS_HEALTHY;
use crate::{
    kinds::{self, HealthFrom, PodsOf},
    pods::{self, PodsWords},
    verdict::{Health, Verdict},
};

/// Judges a run by its kind.
pub(super) fn judge((api_version, kind): (&str, &str), run: &Value) -> Health {
    let Some(known) = kinds::find_kind(api_version, kind) else {
        return Health::unknown(&format!(
            "the run has no Succeeded condition; if {kind} never has one, give the \
             ClusterRunTemplate a healthRule that says when it has succeeded"
        ));
    };
    match known.health {
        // The engine has yet to write the condition.
        HealthFrom::SucceededCondition => Health::unknown(""),
        HealthFrom::Conditions { reason, decisive } => by_own_conditions(run, reason, decisive),
        HealthFrom::Phase { reason, failures } => {
            let no_success = known.queue.and_then(|queue| (queue.no_success)(run));
            match by_phase(run, reason, failures, known.pods == PodsOf::Itself) {
                health if health.verdict == Verdict::Succeeded && no_success.is_some() => {
                    Health::new(Verdict::Failed, reason, no_success.unwrap_or_default())
                }
                health => health,
            }
        }
        HealthFrom::Existence => Health::new(Verdict::Succeeded, ALWAYS_HEALTHY, ""),
    }
}

fn by_own_conditions(run: &Value, reason: &str, decisive: &[(&str, Verdict)]) -> Health {
    for &(kind, verdict) in decisive {
        if let Some(condition) = holding(run, kind) {
            let health = Health::new(verdict, reason, text(condition, "message"));
            return health.with_cause(text(condition, "reason"));
        }
    }
    Health::unknown("")
}

fn by_phase(run: &Value, reason: &str, failures: &[&str], is_pod: bool) -> Health {
    let status = run.get("status").unwrap_or_default();
    let verdict = match text(status, "phase") {
        "" => return Health::unknown(""),
        "Succeeded" => Verdict::Succeeded,
        phase if failures.contains(&phase) => Verdict::Failed,
        _ => Verdict::Unknown,
    };
    let message = text(status, "message");
    let mut health = Health::new(verdict, reason, message).with_cause(text(status, "reason"));
    // A Pod usually leaves it to its containers.
    if is_pod && message.is_empty() {
        let said = |words| pods::of_pod(run, verdict, words).unwrap_or_default();
        let whole = said(PodsWords::default());
        (health.message, health.pods) = (whole.words, whole.reason);
        let discreet = said(PodsWords::without_messages()).words;
        health.discreet = Some(discreet).filter(|it| *it != health.message);
    }
    health
}
