//! `cartouche rerun`.

use anyhow::bail;
use cartouche_authoring::foreign::in_one_line;
use cartouche_crds::{
    RERUN_REQUEST_ANNOTATION, RERUN_TOKEN_ANNOTATION, RETRY_NOW_ANNOTATION, RerunRequest, RunPhase,
    Runnable,
    conditions::{FALSE, RUN_TEMPLATE_READY},
};
use cartouche_protocol::{
    category::Category, ledger::Ledger, messages::format::MessageParts, rerun,
};
use clap::Args;
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Condition, jiff::Timestamp};
use kube::{
    Api, ResourceExt as _,
    api::{Patch, PatchParams},
};
use serde_json::json;

use crate::cluster::{CLIENT, Cluster, ClusterArgs, within};
use crate::commands::many::{self, Deed, ManyArgs, Plan};
use crate::live::{place::Place, runs};
use crate::outcome::Outcome;

/// Run Runnables again without a change
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cartouche rerun hello
  cartouche rerun hello --reason 'the registry was down'
  cartouche rerun hello --token incident-4711
  cartouche rerun --failed --template image-build --dry-run
  cartouche rerun -l team=shop --yes

Sets the annotation carto.run/rerun-token. Each new value asks for one run: with your own --token, you can repeat the
command safely. The annotation carto.run/rerun-request has the user and the reason. The run carries both, and
`cartouche history` shows them.

If the API server refuses the current run (a quota, a webhook), the command asks for a retry within a minute, by the
annotation carto.run/retry-now. It then asks for no further run and notes no reason; with --token it asks for one more
run. A re-run does not wait for a scheduled retry (spec.retry), and is attempt 1 itself.

The command asks before it changes more than one Runnable; without a terminal --yes is needed.

Exit code 1 if you say no; 2 if it failed for one or more of them.")]
pub(crate) struct RerunArgs {
    #[command(flatten)]
    which: ManyArgs,
    /// Token of the request; by default the current time
    #[arg(long)]
    token: Option<String>,
    /// Reason, in a few words
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// Request for a re-run, performed on each Runnable.
struct Rerun {
    request: RerunRequest,
    /// True if a refused run is only retried. A token given by the user always stands for a run of its own.
    hastens: bool,
}

pub(crate) async fn execute(args: &RerunArgs, cluster: &Cluster) -> anyhow::Result<Outcome> {
    if args.token.as_deref() == Some("") {
        bail!("the token is empty\nhint: leave --token out, or give it a string");
    }
    let token = args.token.clone();
    let deed = Rerun {
        hastens: token.is_none(),
        request: RerunRequest {
            token: token.unwrap_or_else(|| Timestamp::now().to_string()),
            by: cluster.user().await.unwrap_or_default(),
            reason: args.reason.clone().unwrap_or_default(),
        },
    };
    many::perform(&deed, &args.which, cluster).await
}

impl Deed for Rerun {
    fn title(&self, runnables: &str) -> String {
        format!("Re-run {runnables}")
    }

    fn prospect(&self) -> &'static str {
        "would run again"
    }

    fn plan(&self, runnable: &Runnable) -> Plan {
        let token = &self.request.token;
        let present = runnable.annotations().get(RERUN_TOKEN_ANNOTATION);
        let ledger = runnable
            .status
            .as_ref()
            .map(Ledger::from_status)
            .unwrap_or_default();
        let answered = ledger.answered_by_seen();
        if present == Some(token) || answered == Some(&*rerun::bound_token(token)) {
            let name = runnable.name_any();
            return Plan::Nothing(format!(
                "this run of {name} was already requested: {token}\n"
            ));
        }
        Plan::Due
    }

    async fn perform(&self, runnable: &Runnable, cluster: &Cluster) -> anyhow::Result<Outcome> {
        let (name, token) = (runnable.name_any(), &self.request.token);
        let refused = refused(runnable).filter(|_| self.hastens);
        let annotations = match refused {
            Some(_) => json!({ RETRY_NOW_ANNOTATION: token }),
            None => json!({
                RERUN_TOKEN_ANNOTATION: token,
                RERUN_REQUEST_ANNOTATION: self.request.annotation(),
            }),
        };
        let api: Api<Runnable> = cluster.api();
        let mut metadata = json!({ "uid": runnable.uid(), "annotations": annotations });
        if refused.is_some() {
            // If the run has been made meanwhile, the request would be for another one.
            metadata["resourceVersion"] = json!(runnable.resource_version());
        }
        let patch = Patch::Merge(json!({ "metadata": metadata }));
        let parameters = PatchParams::apply(CLIENT);
        let what = format!("setting the annotation of Runnable {name}");
        within(&what, api.patch(&name, &parameters, &patch)).await?;
        if let Some(run) = refused {
            return Ok(Outcome::good(format!(
                "{name}: run {run} was refused; the controller retries it within a minute, and no further run is requested\n"
            )));
        }
        Ok(Outcome {
            err: beside(runnable, &cluster.place()),
            ..Outcome::good(format!("{name} will run again: {token}\n"))
        })
    }
}

/// Returns the number of the current run if the API server has refused it, and nothing else prevents a retry.
fn refused(runnable: &Runnable) -> Option<i64> {
    let current = runnable.status.as_ref()?.current_run.as_ref()?;
    // After a webhook failure it is uncertain that nothing was made: the phase stays Pending.
    let is_refused = current.phase != RunPhase::Created && current.result.is_none();
    let reason = Category::StampedObjectRejectedByAPIServer.as_str();
    let is_tried = blocked(runnable).is_some_and(|it| it.reason == reason)
        && runnable.spec.suspend != Some(true);
    (is_refused && is_tried).then_some(current.sequence)
}

/// Returns a remark on the requested run.
fn beside(runnable: &Runnable, place: &Place) -> String {
    let name = runnable.name_any();
    if runnable.spec.suspend == Some(true) {
        return format!(
            "it is suspended: the run starts once you resume it ({})\n",
            place.command(&format!("resume {name}"))
        );
    }
    if let Some(blocked) = blocked(runnable) {
        let what = MessageParts::parse(&blocked.message).what;
        let what = in_one_line(what);
        return format!(
            "it is blocked: {what}\nthe run starts once you fix that ({})\n",
            place.command(&format!("why {name}"))
        );
    }
    if runs::retry_scheduled(runnable).is_some() {
        return "it does not wait for the scheduled retry, and is attempt 1 itself\n".to_owned();
    }
    String::new()
}

/// Returns the condition that prevents a run, if the status is that of the last change.
fn blocked(runnable: &Runnable) -> Option<&Condition> {
    let observed = runnable.status.as_ref()?.observed_generation;
    let condition = runs::condition(runnable, RUN_TEMPLATE_READY)?;
    (observed == runnable.metadata.generation && condition.status == FALSE).then_some(condition)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the remark for a Runnable of generation 2, whose controller has observed this generation.
    fn said(status: &str, observed: i64, suspend: bool) -> String {
        let runnable = json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
            "metadata": { "name": "hello", "generation": 2 },
            "spec": { "runTemplateRef": { "name": "greet" }, "suspend": suspend },
            "status": { "observedGeneration": observed, "conditions": [{
                "type": RUN_TEMPLATE_READY, "status": status, "reason": "TemplateStampFailure",
                "message": "the input 'region' is missing; to do: it has to be a string",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }] },
        });
        beside(
            &serde_json::from_value(runnable).unwrap(),
            &Place::new("shop", "default"),
        )
    }

    #[test]
    fn a_runnable_that_cannot_be_rendered_is_said_to_be_blocked_and_by_what() {
        assert_eq!(
            said("False", 2, false),
            "it is blocked: the input 'region' is missing\n\
             the run starts once you fix that (cartouche why hello -n shop)\n"
        );
        assert_eq!(said("True", 2, false), "");
        // The status is that of an earlier change; the last one may have fixed the problem.
        assert_eq!(said("False", 1, false), "");
        assert!(said("False", 2, true).starts_with("it is suspended"));
    }

    #[test]
    fn a_run_that_is_refused_is_tried_where_nothing_else_is_wrong() {
        const REFUSED: &str = "StampedObjectRejectedByAPIServer";
        let of = |phase: &str, reason: &str, suspend: bool| {
            let run = json!({ "sequence": 3, "name": "hello-3", "apiVersion": "batch/v1", "kind": "Job",
                "phase": phase, "inputHash": "" });
            let conditions = json!([{ "type": RUN_TEMPLATE_READY, "status": "False", "reason": reason,
                "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z" }]);
            let runnable = json!({
                "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
                "metadata": { "name": "hello", "generation": 2 },
                "spec": { "runTemplateRef": { "name": "greet" }, "suspend": suspend },
                "status": { "observedGeneration": 2, "currentRun": run, "conditions": conditions },
            });
            refused(&serde_json::from_value(runnable).unwrap())
        };
        assert_eq!(of("Rejected", REFUSED, false), Some(3));
        assert_eq!(of("Pending", REFUSED, false), Some(3));
        assert_eq!(of("Rejected", REFUSED, true), None);
        assert_eq!(of("Rejected", "TemplateStampFailure", false), None);
        assert_eq!(of("Created", REFUSED, false), None);
    }
}
