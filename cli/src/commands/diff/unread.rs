//! Errors of comparisons whose template the user may not read: the state by the status, and a hint at a template
//! file.

use anyhow::anyhow;
use cartouche_authoring::foreign::in_one_line;
use cartouche_crds::Runnable;

use crate::{
    cluster::{AccessDenied, Cluster},
    live::{pending, runs},
};

/// Adds the state by the status to the error, if only the right to read templates is missing.
pub(super) async fn by_status(
    error: anyhow::Error,
    name: &str,
    cluster: &Cluster,
) -> anyhow::Error {
    if !AccessDenied::hides_templates(&error) {
        return error;
    }
    let Ok(Some(runnable)) = cluster.runnable_if_any(name).await else {
        return error;
    };
    let text = format!("{error:#}");
    let (what, to_do) = text.split_once('\n').unwrap_or((&text, ""));
    let with_file = cluster
        .place()
        .command(&format!("diff {name} --template FILE"));
    let said = in_one_line(&said_by_status(&runnable));
    anyhow!(
        "{what}; by its status, {said}\n{to_do}\nhint: `{with_file}` takes the template from a file"
    )
}

/// Describes the pending run, or the last one, by the status.
fn said_by_status(runnable: &Runnable) -> String {
    let status = runnable.status.as_ref();
    if status.is_none_or(|status| status.observed_generation != runnable.metadata.generation) {
        return "the controller has not observed its last change yet".to_owned();
    }
    if let Some(due) = pending::pending(runnable) {
        return format!("run {} is pending: {}", due.sequence, due.reason);
    }
    let runs = runs::runs(runnable);
    match runs.iter().find(|run| run.current) {
        Some(run) => format!(
            "no run is pending, and run {} is {}",
            run.sequence, run.state
        ),
        None => "no run is pending, and there was none yet".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn said(status: &Value) -> String {
        let runnable = json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
            "metadata": { "name": "hello", "generation": 2 },
            "spec": { "runTemplateRef": { "name": "greet" } },
            "status": status,
        });
        said_by_status(&serde_json::from_value(runnable).unwrap())
    }

    #[test]
    fn a_status_says_which_run_waits_or_was_the_last_one() {
        let waits = json!({ "observedGeneration": 2, "pending": {
            "sequence": 4, "inputHash": "v1:a", "reason": "ApprovalRequired", "since": "2026-01-01T00:00:00Z",
        } });
        assert_eq!(said(&waits), "run 4 is pending: ApprovalRequired");
        let none = json!({ "observedGeneration": 2 });
        assert_eq!(said(&none), "no run is pending, and there was none yet");
        let run = json!({ "observedGeneration": 2, "currentRun": {
            "sequence": 3, "name": "hello-3", "inputHash": "v1:a", "apiVersion": "batch/v1", "kind": "Job",
            "phase": "Created", "uid": "u",
        } });
        assert_eq!(said(&run), "no run is pending, and run 3 is Running");
    }

    #[test]
    fn a_status_says_nothing_of_a_change_that_no_controller_has_seen() {
        let earlier = json!({ "observedGeneration": 1 });
        assert_eq!(
            said(&earlier),
            "the controller has not observed its last change yet"
        );
    }
}
