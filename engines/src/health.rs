//! Success or failure of a run, of any kind.
//!
//! A template's `healthRule` decides. Without one the run's `Succeeded` condition decides if it has one, or else
//! the built-in rule of its kind. Runs are written by others, so nothing is taken for granted about them.

mod built_in;
mod ended;
mod judged;
mod rule;
mod unmet;

use cartouche_language::object::{SUCCEEDED, conditions, text};
use serde_json::Value;

use crate::verdict::{Health, Verdict};
pub use ended::ended_at;
pub use judged::{Judged, choose_rule};
pub use rule::CompiledRule;
pub use unmet::unmet;

/// The reason of a run that has succeeded once it exists.
const ALWAYS_HEALTHY: &str = "AlwaysHealthy";

/// Judges a run of that `apiVersion` and kind by the rule, if there is one.
#[must_use]
pub fn health(rule: Option<&CompiledRule>, kind: (&str, &str), run: &Value) -> Health {
    match rule {
        Some(rule) => {
            let mut health = rule.judge(run);
            if let Some(said) = judged::ended_undecided(rule, &health, kind, run) {
                health.message = said;
            }
            health
        }
        None => by_condition(run, SUCCEEDED, "SucceededCondition")
            .unwrap_or_else(|| built_in::judge(kind, run)),
    }
}

/// Judges a run without its template: by its `Succeeded` condition, or else by the built-in rule of its kind.
#[must_use]
pub fn built_in_health(run: &Value) -> Health {
    health(None, (text(run, "apiVersion"), text(run, "kind")), run)
}

/// Judges by one condition: True is success, False failure. Returns `None` if the run does not have it.
fn by_condition(run: &Value, kind: &str, reason: &str) -> Option<Health> {
    let mut found = conditions(run, kind);
    let condition = found.next()?;
    if found.next().is_some() {
        // It is ambiguous which of them counts. As in Cartographer, none does.
        let message = format!("the run has more than one condition of type {kind}");
        return Some(Health::new(Verdict::Unknown, reason, &message));
    }
    let verdict = match text(condition, "status") {
        "True" => Verdict::Succeeded,
        "False" => Verdict::Failed,
        _ => Verdict::Unknown,
    };
    let health = Health::new(verdict, reason, text(condition, "message"));
    Some(health.with_cause(text(condition, "reason")))
}

#[cfg(test)]
mod tests;
