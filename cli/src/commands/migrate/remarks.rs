//! Differences from Cartographer for one object. `docs/how-to/migrate-from-cartographer.md` has all differences.

mod pruned;

use cartouche_authoring::schema::catalog::Catalog;
use cartouche_crds::{ClusterRunTemplateSpec, GROUP};
use cartouche_engines::kinds::{self, HealthFrom, KnownKind};
use cartouche_language::{Consequence, MAX_LABEL, Root, Warning, WarningKind};
use cartouche_templating::Template;
use serde_json::Value;

/// Action that a difference needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// No action.
    Same,
    /// No action, but the user should know of it.
    Differs,
    /// The user has to change something.
    Change,
    /// The user has to check: the command could not.
    Unknown,
}

impl Level {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Differs => "differs",
            Self::Change => "change",
            Self::Unknown => "unknown",
        }
    }
}

#[derive(Debug)]
pub(super) struct Remark {
    pub(super) level: Level,
    pub(super) text: String,
}

impl Remark {
    pub(super) fn new(level: Level, text: impl Into<String>) -> Self {
        Self {
            level,
            text: text.into(),
        }
    }
}

pub(super) fn of_template(spec: &ClusterRunTemplateSpec) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let template = match Template::compile(spec) {
        Ok(template) => template,
        Err(problems) => {
            return problems
                .iter()
                .map(|problem| Remark::new(Level::Change, problem.to_string()))
                .collect();
        }
    };
    let warnings = template.warnings().iter();
    remarks.extend(warnings.map(|warning| Remark::new(level_of(warning), warning.to_string())));
    remarks.extend(pruned::of_template(spec));
    if has_quoted_text(&spec.template) {
        let text = "text in $('...')$ is inserted unchanged; Cartographer took it for a path";
        remarks.push(Remark::new(Level::Differs, text));
    }
    let Some((api_version, kind)) = template.literal_kind() else {
        let text = "tags decide the kind of the runs, so the kind was not checked";
        remarks.push(Remark::new(Level::Unknown, text));
        return remarks;
    };
    remarks.extend(of_kind(api_version, kind));
    let empty = serde_json::json!({ "apiVersion": api_version, "kind": kind });
    let health = template.health(&empty);
    let reports_by_condition = kinds::find_kind(api_version, kind)
        .is_some_and(|known| known.health == HealthFrom::SucceededCondition);
    if template.has_outputs() && health.message.is_empty() && !reports_by_condition {
        let text = format!(
            "outputs of a {kind} now arrive; Cartographer read them only of kinds with a condition Succeeded"
        );
        remarks.push(Remark::new(Level::Differs, text));
    }
    remarks
}

/// Returns the level of a warning. A rule that is never met needs a change: Cartographer worked without the rule.
fn level_of(warning: &Warning) -> Level {
    let is_of_rule = warning.root == Root::Spec;
    match &warning.kind {
        WarningKind::Unmet(it) if is_of_rule && it.so == Consequence::NeverReady => Level::Change,
        _ => Level::Differs,
    }
}

fn of_kind(api_version: &str, kind: &str) -> Vec<Remark> {
    let known = Catalog::default().get(api_version, kind);
    if known.is_some_and(|known| known.namespaced == Some(false)) {
        let text = format!("a run can no longer be a {kind}, which is in no namespace");
        return vec![Remark::new(Level::Change, text)];
    }
    if kinds::find_kind(api_version, kind).is_some_and(KnownKind::is_watched) {
        return Vec::new();
    }
    let text = format!(
        "the controller may not watch {kind} of {api_version}: add it as docs/concepts/security.md shows, or install config/any-kind; \
         until then it polls"
    );
    vec![Remark::new(Level::Differs, text)]
}

fn has_quoted_text(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("$('"),
        Value::Array(items) => items.iter().any(has_quoted_text),
        Value::Object(fields) => fields.values().any(has_quoted_text),
        _ => false,
    }
}

pub(super) fn of_runnable(runnable: &Value) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let text = |pointer: &str| {
        runnable
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let inputs = runnable.pointer("/spec/inputs").and_then(Value::as_object);
    let nulls: Vec<&str> = inputs
        .into_iter()
        .flatten()
        .filter(|(_, value)| value.is_null())
        .map(|(name, _)| name.as_str())
        .collect();
    if !nulls.is_empty() {
        let text = format!(
            "inputs that are null were dropped and are kept now: {}",
            nulls.join(", ")
        );
        remarks.push(Remark::new(Level::Differs, text));
    }
    if text("/metadata/name").len() > MAX_LABEL
        || text("/spec/runTemplateRef/name").len() > MAX_LABEL
    {
        remarks.push(Remark::new(
            Level::Differs,
            "its name, or that of its template, was too long to run; now it runs",
        ));
    }
    remarks.extend(pruned::of_runnable(runnable));
    if runnable.pointer("/spec/selector").is_some() {
        remarks.push(Remark::new(
            Level::Differs,
            "the selected object is watched: a change of what the template reads makes a run",
        ));
    }
    remarks
}

/// Returns the remark for a kind of Cartographer that Cartouche does not serve, or `None`.
pub(super) fn not_served(api_version: &str, kind: &str) -> Option<Remark> {
    let is_cartographer = api_version.split('/').next() == Some(GROUP);
    is_cartographer.then(|| {
        Remark::new(
            Level::Change,
            format!("Cartouche does not serve {kind}: only Runnable and ClusterRunTemplate"),
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn remarks(template: &Value) -> Vec<String> {
        let spec = serde_json::from_value(
            json!({ "template": template, "outputs": { "x": ".status.x" } }),
        )
        .unwrap();
        of_template(&spec)
            .into_iter()
            .map(|remark| format!("{}: {}", remark.level.as_str(), remark.text))
            .collect()
    }

    #[test]
    fn a_task_run_works_as_before() {
        let template = json!({ "apiVersion": "tekton.dev/v1", "kind": "TaskRun", "metadata": { "generateName": "x-" } });
        assert_eq!(remarks(&template), Vec::<String>::new());
    }

    #[test]
    fn outputs_of_jobs_are_new() {
        let template = json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": { "generateName": "x-" } });
        let remarks = remarks(&template);
        assert_eq!(remarks.len(), 1);
        assert!(
            remarks[0].starts_with("differs: outputs of a Job now arrive"),
            "{remarks:?}"
        );
    }

    fn with_rule(rule: &Value) -> Vec<String> {
        let template = json!({ "apiVersion": "tekton.dev/v1", "kind": "TaskRun", "metadata": { "generateName": "x-" } });
        let spec = json!({ "template": template, "healthRule": rule });
        let remarks = of_template(&serde_json::from_value(spec).unwrap()).into_iter();
        remarks
            .map(|it| format!("{}: {}", it.level.as_str(), it.text))
            .collect()
    }

    #[test]
    fn a_rule_that_cartographer_ignored_is_named_and_one_that_no_run_meets_needs_a_change() {
        let met = with_rule(&json!({ "singleConditionType": "Succeeded" }));
        assert_eq!(met.len(), 1, "{met:?}");
        assert!(met[0].starts_with("differs: Cartographer ignored spec.healthRule"));
        let unmet = with_rule(&json!({ "singleConditionType": "Ready" }));
        let said =
            "change: healthRule.singleConditionType: a TaskRun never has the condition 'Ready'";
        assert!(unmet[0].starts_with(said), "{unmet:?}");
        assert!(unmet[1].starts_with("differs: Cartographer ignored"));
    }

    #[test]
    fn a_template_that_reads_the_status_needs_a_change() {
        let template = json!({
            "apiVersion": "tekton.dev/v1", "kind": "TaskRun",
            "metadata": { "generateName": "$(runnable.status.outputs.x)$-" },
        });
        assert!(remarks(&template)[0].starts_with("change: "));
    }

    #[test]
    fn a_kind_that_tags_decide_is_not_called_the_same() {
        let template = json!({
            "apiVersion": "batch/v1", "kind": "$(runnable.spec.inputs.kind)$",
            "metadata": { "generateName": "x-" },
        });
        assert_eq!(
            remarks(&template),
            ["unknown: tags decide the kind of the runs, so the kind was not checked"]
        );
    }

    #[test]
    fn a_kind_that_the_controller_may_not_watch_is_named() {
        let template = json!({ "apiVersion": "example.com/v1", "kind": "Backup", "metadata": { "generateName": "x-" } });
        assert!(remarks(&template)[0].contains("may not watch Backup"));
    }
}
