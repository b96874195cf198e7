//! The observed state of the Runnables, and its comparison with the expected outputs.

use std::collections::{BTreeMap, BTreeSet};

use cartouche_crds::{ClusterRunTemplate, Runnable};
use kube::ResourceExt;
use serde_json::Value;

/// A Runnable as the story sees it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// True if the status is of the present generation.
    pub(crate) observed: bool,
    /// Status of the condition `Ready`; empty while there is none.
    pub(crate) ready: String,
    /// Reason of the condition `Ready`.
    pub(crate) reason: String,
    pub(crate) message: String,
    /// Name and number of the current run.
    pub(crate) run: Option<(String, i64)>,
    /// Start of the current run, in seconds since 1970.
    pub(crate) started: Option<i64>,
    pub(crate) outputs: BTreeMap<String, Value>,
    /// Number of the run that gave the outputs.
    pub(crate) outputs_from: Option<i64>,
    /// Value that approves the run that waits for approval.
    pub(crate) approval: Option<String>,
    /// Outputs that the template promises; `None` if the template does not exist.
    pub(crate) promised: Option<BTreeSet<String>>,
}

impl Row {
    fn of(runnable: &Runnable, templates: &[ClusterRunTemplate]) -> Self {
        let status = runnable.status.clone().unwrap_or_default();
        let ready = status.conditions.iter().find(|c| c.type_ == "Ready");
        let wanted = &runnable.spec.run_template_ref.name;
        let template = templates.iter().find(|t| t.name_any() == *wanted);
        let run = status.current_run.as_ref();
        Self {
            name: runnable.name_any(),
            observed: status.observed_generation == runnable.metadata.generation,
            ready: ready.map(|c| c.status.clone()).unwrap_or_default(),
            reason: ready.map(|c| c.reason.clone()).unwrap_or_default(),
            message: ready.map(|c| c.message.clone()).unwrap_or_default(),
            run: run.map(|run| (run.name.clone(), run.sequence)),
            started: run
                .and_then(|run| run.started_at.as_ref())
                .map(|time| time.0.as_second()),
            outputs: status.outputs.unwrap_or_default(),
            outputs_from: status.outputs_from.map(|from| from.sequence),
            approval: status.pending.and_then(|pending| pending.approval),
            promised: template
                .map(|t| t.spec.outputs.clone().unwrap_or_default())
                .map(|outputs| outputs.into_keys().collect()),
        }
    }

    /// Returns the number of the current run, or 0 without one.
    pub(crate) fn sequence(&self) -> i64 {
        self.run.as_ref().map_or(0, |(_, sequence)| *sequence)
    }

    /// Returns a sentence about what is missing, or `None` if the run for the present inputs succeeded and
    /// gave every output that the template promises.
    pub(crate) fn lacks(&self) -> Option<String> {
        let Some(promised) = &self.promised else {
            return Some(format!("{}: its template does not exist", self.name));
        };
        let missing: Vec<_> = promised
            .iter()
            .filter(|output| !self.outputs.contains_key(*output))
            .map(String::as_str)
            .collect();
        if !self.observed {
            return Some(format!(
                "{}: the controller has not reconciled it yet",
                self.name
            ));
        }
        if self.ready != "True" {
            return Some(self.not_ready(&missing));
        }
        if !missing.is_empty() {
            return Some(format!("{}: no output {}", self.name, missing.join(", ")));
        }
        let stale = !promised.is_empty() && self.outputs_from != Some(self.sequence());
        stale.then(|| format!("{}: the outputs are not from its current run", self.name))
    }

    fn not_ready(&self, missing: &[&str]) -> String {
        let mut text = format!("{}: Ready is {}, {}", self.name, self.ready, self.reason);
        if !self.message.is_empty() {
            text = format!("{text}: {}", self.message);
        }
        if !missing.is_empty() {
            text = format!("{text}; no output {}", missing.join(", "));
        }
        text
    }
}

/// Returns the Runnables in the order of their names.
pub(crate) fn rows(runnables: &[Runnable], templates: &[ClusterRunTemplate]) -> Vec<Row> {
    let mut rows: Vec<_> = runnables.iter().map(|r| Row::of(r, templates)).collect();
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    rows
}

/// Returns everything that is missing. An empty list of Runnables is a failure too.
pub(crate) fn lacking(rows: &[Row]) -> Vec<String> {
    if rows.is_empty() {
        return vec!["there is no Runnable".to_owned()];
    }
    rows.iter().filter_map(Row::lacks).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn template() -> ClusterRunTemplate {
        serde_json::from_value(json!({
            "apiVersion": "carto.run/v1alpha1",
            "kind": "ClusterRunTemplate",
            "metadata": { "name": "t" },
            "spec": { "template": {}, "outputs": { "a": ".a", "b": ".b" } },
        }))
        .unwrap()
    }

    fn row(ready: &str, outputs: &Value, outputs_from: i64) -> Row {
        let runnable = serde_json::from_value(json!({
            "apiVersion": "carto.run/v1alpha1",
            "kind": "Runnable",
            "metadata": { "name": "r", "namespace": "n", "generation": 3 },
            "spec": { "runTemplateRef": { "name": "t" } },
            "status": {
                "observedGeneration": 3,
                "conditions": [{
                    "type": "Ready", "status": ready, "reason": "Why", "message": "because",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }],
                "outputs": outputs,
                "outputsFrom": {
                    "sequence": outputs_from, "name": "r-1", "uid": "u",
                    "inputHash": "h", "rulesHash": "h",
                },
                "currentRun": {
                    "sequence": 2, "inputHash": "h", "phase": "Created", "attempted": true,
                    "apiVersion": "batch/v1", "kind": "Job", "name": "r-2",
                },
            },
        }))
        .unwrap();
        rows(&[runnable], &[template()]).remove(0)
    }

    #[test]
    fn ready_with_every_promised_output_of_the_current_run_lacks_nothing() {
        assert_eq!(row("True", &json!({ "a": 1, "b": null }), 2).lacks(), None);
    }

    #[test]
    fn an_output_that_did_not_come_is_named() {
        let lacks = row("True", &json!({ "a": 1 }), 2).lacks().unwrap();
        assert_eq!(lacks, "r: no output b");
    }

    #[test]
    fn outputs_of_an_older_run_are_not_enough() {
        let lacks = row("True", &json!({ "a": 1, "b": 2 }), 1).lacks();
        assert_eq!(
            lacks.unwrap(),
            "r: the outputs are not from its current run"
        );
    }

    #[test]
    fn what_is_not_ready_says_why() {
        let lacks = row("False", &json!({ "a": 1 }), 1).lacks().unwrap();
        assert_eq!(lacks, "r: Ready is False, Why: because; no output b");
    }

    #[test]
    fn a_status_of_an_older_generation_counts_for_nothing() {
        let mut row = row("True", &json!({ "a": 1, "b": 2 }), 2);
        row.observed = false;
        let lacks = row.lacks().unwrap();
        assert_eq!(lacks, "r: the controller has not reconciled it yet");
    }

    #[test]
    fn a_runnable_without_its_template_lacks_it() {
        let mut row = row("True", &json!({}), 2);
        row.promised = None;
        assert_eq!(row.lacks().unwrap(), "r: its template does not exist");
    }

    #[test]
    fn no_runnable_at_all_is_no_success() {
        assert_eq!(lacking(&[]), ["there is no Runnable"]);
    }
}
