//! `ClusterRunTemplate.status`: the condition that a template is accepted, with all errors.

use std::sync::Arc;

use cartouche_crds::{
    ClusterRunTemplate, ClusterRunTemplateStatus,
    conditions::{FALSE, STALLED, TRUE},
};
use cartouche_protocol::{
    compiled::Compiled,
    messages::{
        diagnosis::{Diagnosis, Fault},
        format::truncate,
    },
    newer_release,
    pace::StatusChange,
    policy::{Asks, Policy},
    status::{ConditionValue, condition},
};
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Condition, jiff::Timestamp};
use kube::{ResourceExt, runtime::controller::Action};
use serde_json::json;

use crate::{
    api::{Connection, Requests},
    mutants,
    status_writes::{PAUSE, StatusWrites, write},
    templates::Templates,
};

/// Type of the condition that Runnables can use the template.
const ACCEPTED: &str = "Accepted";

/// Writer of the status of templates.
pub struct Acceptance {
    /// The templates, compiled.
    pub templates: Arc<Templates>,
    /// The controller's own requests.
    pub requests: Requests,
    /// Connection with the API server's clock.
    pub connection: Connection,
    /// Pace and refusals of the writes.
    pub writes: StatusWrites,
}

impl Acceptance {
    /// Reconciles one template.
    pub async fn reconcile(&self, template: Arc<ClusterRunTemplate>) -> Action {
        let compiled = self.templates.compile(&template);
        let stored = template.status.clone().unwrap_or_default();
        let Some(now) = self.connection.clock().now_for(&template.metadata) else {
            return Action::requeue(PAUSE);
        };
        let name = template.name_any();
        let warnings = self.templates.warnings(&compiled);
        let status = status(&compiled, &stored, &warnings, now);
        let change = StatusChange::of_conditions(&stored.conditions, &status.conditions);
        if template.metadata.deletion_timestamp.is_some() {
            return Action::await_change();
        }
        if let Some(action) = self.writes.due(&name, &change) {
            return action;
        }
        let spec = json!(template.spec);
        let status = (&status, &change);
        write(&self.requests, &self.writes, &*template, spec, status).await
    }
}

fn status(
    compiled: &Compiled,
    stored: &ClusterRunTemplateStatus,
    warned: &[String],
    now: Timestamp,
) -> ClusterRunTemplateStatus {
    let known = newer_release::known_template(compiled).err();
    let asked = Policy::merge(&Asks::default(), &compiled.asks);
    let unusable = asked.err().unwrap_or_default();
    let (status, reason, message) = match (known, &compiled.template) {
        (Some(newer), _) => (FALSE, newer.category.as_str(), newer.message),
        (None, Ok(template)) if unusable.is_empty() => {
            let own: Vec<String> = template
                .warnings()
                .iter()
                .map(ToString::to_string)
                .collect();
            let own = (!own.is_empty()).then(|| truncate(own.join("; ")));
            let of_runs = of_runs(compiled, stored, warned);
            // The warnings of runs are bounded each, and are parsed again: they must not be cut.
            let warnings: Vec<String> = own.into_iter().chain(of_runs).collect();
            (TRUE, choose_reason(&warnings), warnings.join("; "))
        }
        (None, template) => {
            let wrong = template.as_ref().err();
            let mut faults = wrong.map(|it| Fault::all(it)).unwrap_or_default();
            faults.extend(unusable);
            let in_full = wrong.map(|it| truncate(it.to_string()));
            let diagnosis = Diagnosis::Unacceptable(faults);
            (FALSE, "Invalid", diagnosis.message(in_full.as_deref()))
        }
    };
    let value = ConditionValue {
        status,
        reason: reason.to_owned(),
        message,
    };
    let conditions = conditions(&stored.conditions, value, Some(compiled.generation), now);
    ClusterRunTemplateStatus {
        observed_generation: Some(compiled.generation),
        conditions,
        unknown_fields: stored.unknown_fields.clone(),
    }
}

/// Returns the reason of a condition that is true.
pub(crate) fn choose_reason(warnings: &[String]) -> &'static str {
    if warnings.is_empty() {
        "Accepted"
    } else {
        "AcceptedWithWarnings"
    }
}

/// Text before the warnings of the API server that runs had.
const OF_RUNS: &str = "of its runs the API server warns: ";

/// Separator of these.
const AND: &str = " / ";
/// Maximum number of them that are reported.
const MOST: usize = 5;

/// Joins the API server's warnings of runs of this state of the template with those in the status: another controller,
/// or this one before a restart, may have had others.
fn of_runs(
    compiled: &Compiled,
    stored: &ClusterRunTemplateStatus,
    warned: &[String],
) -> Option<String> {
    let mut conditions = stored.conditions.iter();
    let accepted = conditions.find(|condition| {
        condition.type_ == ACCEPTED && condition.observed_generation == Some(compiled.generation)
    });
    let warnings = accepted.and_then(|accepted| accepted.message.rsplit_once(OF_RUNS));
    let warnings = warnings
        .into_iter()
        .flat_map(|(_, warnings)| warnings.split(AND));
    let mut all: Vec<&str> = warnings.collect();
    for warning in warned {
        if all.len() < MOST && !all.contains(&warning.as_str()) {
            all.push(warning);
        }
    }
    (!all.is_empty()).then(|| format!("{OF_RUNS}{}", all.join(AND)))
}

/// Returns the conditions of a template or profile that no Runnable can use.
#[must_use]
pub fn refusal_conditions(
    stored: &[Condition],
    message: &str,
    generation: Option<i64>,
    now: Timestamp,
) -> Vec<Condition> {
    let value = ConditionValue {
        status: FALSE,
        reason: "Invalid".to_owned(),
        message: message.to_owned(),
    };
    conditions(stored, value, generation, now)
}

/// Returns the conditions of a template or profile.
pub(crate) fn conditions(
    stored: &[Condition],
    value: ConditionValue,
    generation: Option<i64>,
    now: Timestamp,
) -> Vec<Condition> {
    let value = mutants::change_condition(value);
    // Tools that do not know Accepted read this one: only a change helps.
    let stalled = (value.status == FALSE).then(|| ConditionValue {
        status: TRUE,
        ..value.clone()
    });
    let accepted = condition(stored, ACCEPTED, value, generation, now);
    let stalled = stalled.map(|value| condition(stored, STALLED, value, generation, now));
    [accepted].into_iter().chain(stalled).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cartouche_protocol::pace::WriteTime;
    use serde_json::Value;

    use super::*;
    use crate::status_writes::Paces;

    fn template(generation: i64) -> Compiled {
        let object = json!({
            "metadata": { "name": "t", "uid": "u", "generation": generation },
            "spec": { "template": { "apiVersion": "batch/v1", "kind": "Job", "metadata": { "generateName": "a-" } } },
        });
        let object: ClusterRunTemplate = serde_json::from_value(object).unwrap();
        Compiled::new(&object)
    }

    /// Returns the status of this generation after these warnings.
    fn after(
        stored: &ClusterRunTemplateStatus,
        generation: i64,
        warned: &[&str],
    ) -> ClusterRunTemplateStatus {
        let warned: Vec<String> = warned.iter().map(|text| (*text).to_owned()).collect();
        status(
            &template(generation),
            stored,
            &warned,
            Timestamp::UNIX_EPOCH,
        )
    }

    fn message(status: &ClusterRunTemplateStatus) -> &str {
        &status.conditions[0].message
    }

    #[test]
    fn what_a_template_asks_for_and_cannot_be_used_is_told_with_all_else_that_is_wrong() {
        let spec =
            |template| json!({ "template": template, "timeout": "soon", "retry": { "limit": 21 } });
        let job = json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": { "generateName": "a-" } });
        let accepted = |template: Value| {
            let object = json!({ "metadata": { "name": "t" }, "spec": spec(template) });
            let object: ClusterRunTemplate = serde_json::from_value(object).unwrap();
            let stored = ClusterRunTemplateStatus::default();
            status(&Compiled::new(&object), &stored, &[], Timestamp::UNIX_EPOCH).conditions
        };
        let asked = "the template's spec.retry.limit 21 is not a number from 0 to 20; the template's spec.timeout \"soon\" is not a duration from 1s to 8760h, such as 30s or 5m";
        let conditions = accepted(job);
        let [accepts, stalled] = &conditions[..] else {
            panic!("two conditions");
        };
        assert_eq!((&*accepts.status, &*accepts.reason), (FALSE, "Invalid"));
        assert_eq!(&*stalled.status, TRUE);
        let cure = "to do: give a number from 0 to 20; give a duration from 1s to 8760h, such as 30s or 5m";
        assert_eq!(
            accepts.message,
            format!("it would fail for every Runnable: {asked}; {cure}")
        );
        let both = &accepted(json!({ "kind": "Job" }))[0].message;
        assert!(
            both.contains("apiVersion") && both.contains(asked),
            "{both}"
        );
    }

    #[test]
    fn warnings_that_are_told_already_are_read_again_one_by_one() {
        let first = after(&ClusterRunTemplateStatus::default(), 1, &["a", "b; c"]);
        let told = "of its runs the API server warns: a / b; c";
        assert_eq!(message(&first), told);
        assert_eq!(after(&first, 1, &[]), first, "after a restart");
        assert_eq!(after(&first, 1, &["b; c"]), first);
        let more = after(&first, 1, &["b; c", "d"]);
        assert_eq!(message(&more), format!("{told} / d"));
        assert_eq!(message(&after(&more, 2, &[])), "", "of another state");
        let full = after(&more, 1, &["e", "f", "g"]);
        assert_eq!(message(&full), format!("{told} / d / e / f"));
    }

    /// A warning of the template itself quotes its content.
    #[test]
    fn what_a_template_says_itself_is_not_read_as_a_warning_of_its_runs() {
        let mut stored = after(&ClusterRunTemplateStatus::default(), 1, &["a"]);
        stored.conditions[0].message =
            "of its runs the API server warns: mine; of its runs the API server warns: a"
                .to_owned();
        let told = of_runs(&template(1), &stored, &["b".to_owned()]);
        assert_eq!(
            told.as_deref(),
            Some("of its runs the API server warns: a / b")
        );
    }

    #[test]
    fn what_another_release_says_of_a_template_is_replaced_once() {
        let ours = after(&ClusterRunTemplateStatus::default(), 1, &["a"]);
        let theirs = |message: &str| {
            let mut theirs = ours.clone();
            theirs.conditions[0].message = message.to_owned();
            theirs
        };
        let paces = Paces::default();
        let mut writes = 0;
        for second in 0..600 {
            let now = Duration::from_secs(second);
            // The other release writes its own words over these at once.
            let change = StatusChange::of_conditions(&theirs("b").conditions, &ours.conditions);
            if paces.due("t", &change, now) == WriteTime::Now {
                paces.record_write("t".to_owned(), &change, now);
                writes += 1;
            }
        }
        assert_eq!(writes, 1);
    }
}
