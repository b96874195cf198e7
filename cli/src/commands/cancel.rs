//! `cartouche cancel`.

use anyhow::{anyhow, bail};
use cartouche_authoring::foreign::in_one_line;
use cartouche_crds::{Cancellation, ClusterRunTemplate, Runnable};
use cartouche_engines::kinds::{Standing, StopRequest, asked_to_stop, queue_of, standing};
use cartouche_protocol::policy::{Asks, Policy};
use cartouche_protocol::status::RunState;
use cartouche_templating::Template;
use clap::Args;
use k8s_openapi::jiff::Timestamp;
use kube::{
    ResourceExt as _,
    api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, Preconditions},
};
use serde_json::json;

use crate::outcome::Outcome;
use crate::{
    cluster::{AccessDenied, CLIENT, Cluster, ClusterArgs, first_line, within},
    commands::many::{self, Deed, ManyArgs, Plan},
    live::{
        place::Place,
        requests,
        runs::{self, LedgerRun},
    },
};

/// Stop a run in progress
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cartouche cancel shop-build --reason 'the wrong branch'
  cartouche suspend shop-build && cartouche cancel shop-build
  cartouche cancel shop-build --run 2
  cartouche cancel --template image-build --dry-run

The command asks the run to stop, with your own permissions, in the way of its kind: a Tekton TaskRun or PipelineRun
by spec.status, an Argo Workflow by spec.shutdown, a Job or Pod by a deadline of one second; or as spec.stop of its
template says. A Job, Pod or Workflow that a queue holds may ignore that: the controller then deletes it about a
minute later, or this command does, if spec.stop.delete is set. The run then counts as failed and is not retried, and
no new run is made until something changes. (If you delete a run instead, a new one is made.)

The annotation carto.run/cancel-request of the run has the user and the reason; `cartouche history` and `why` show
them. --run stops an earlier run that is still running, by its number in `cartouche history`. The command asks before
it stops more than one run; without a terminal --yes is needed.

Exit code 1 if you say no; 2 if one or more of them could not be stopped.")]
pub(crate) struct CancelArgs {
    #[command(flatten)]
    which: ManyArgs,
    /// Number of the run to stop, instead of the current one
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["selector", "template", "failed", "all"])]
    run: Option<i64>,
    /// Reason, in a few words
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

pub(crate) async fn execute(args: &CancelArgs, cluster: &Cluster) -> anyhow::Result<Outcome> {
    if args.run.is_some() && args.which.names.len() > 1 {
        bail!("--run is the number of a run of one Runnable\nhint: name one Runnable");
    }
    let asked = Cancellation {
        by: cluster.user().await.unwrap_or_default(),
        reason: args.reason.clone().unwrap_or_default(),
        at: Timestamp::now().to_string(),
    };
    let templates = match cluster.templates().await {
        Err(error) if AccessDenied::find(&error).is_some() => {
            CancelTemplates::Unread(first_line(&error))
        }
        read => CancelTemplates::Known(read?),
    };
    let place = cluster.place();
    let deed = CancelAction {
        run: args.run,
        asked,
        templates,
        place,
    };
    many::perform(&deed, &args.which, cluster).await
}

/// Cancellation of runs, performed on each Runnable.
struct CancelAction {
    /// Number of the run, unless it is the current one.
    run: Option<i64>,
    asked: Cancellation,
    templates: CancelTemplates,
    place: Place,
}

/// Templates, which may say how their runs are stopped.
enum CancelTemplates {
    Known(Vec<ClusterRunTemplate>),
    /// The user may not list templates, for this reason: runs are stopped in the way of their kind.
    Unread(String),
}

impl Deed for CancelAction {
    fn title(&self, runnables: &str) -> String {
        format!("Stop the runs of {runnables}")
    }

    fn prospect(&self) -> &'static str {
        "would have its run stopped"
    }

    fn plan(&self, runnable: &Runnable) -> Plan {
        let name = runnable.name_any();
        match self.meant(runnable) {
            None if let Some(number) = self.run => Plan::Impossible(anyhow!(
                "{name} has no run {number}\nhint: `{}` lists its runs",
                self.place.command(&format!("history {name}"))
            )),
            None => Plan::Nothing(format!(
                "{name} has no run: nothing to stop; `{}` prevents the next one\n",
                self.suspend(&name)
            )),
            Some(run) if run.retry_at.is_some() && runnable.spec.suspend != Some(true) => {
                Plan::Impossible(to_be_tried_again(
                    &name,
                    &run,
                    runnable,
                    &self.suspend(&name),
                ))
            }
            Some(run) if run.state != RunState::Running => {
                let others = self.at_work_before(runnable, &run);
                Plan::Nothing(not_running(&name, &run, &others))
            }
            Some(run) => match self.templates.request(runnable, &run, &self.suspend(&name)) {
                Ok(_) => Plan::Due,
                Err(error) => Plan::Impossible(error),
            },
        }
    }

    async fn perform(&self, runnable: &Runnable, cluster: &Cluster) -> anyhow::Result<Outcome> {
        let name = runnable.name_any();
        let Some(run) = self.meant(runnable) else {
            bail!("{name} has no run");
        };
        let request = self
            .templates
            .request(runnable, &run, &self.suspend(&name))?;
        let mut asked = self.ask(&name, &run, &request, cluster).await?;
        if let CancelTemplates::Unread(why) = &self.templates {
            asked.err = format!(
                "{why}; the run is stopped in the way of its kind, and spec.stop of its template is ignored\n"
            );
        }
        Ok(asked)
    }
}

impl CancelAction {
    /// Returns the run to stop: the one with the given number, or the current one.
    fn meant(&self, runnable: &Runnable) -> Option<LedgerRun> {
        let mut runs = runs::runs(runnable).into_iter();
        runs.find(|run| {
            self.run
                .map_or(run.current, |number| run.sequence == number)
        })
    }

    /// Returns the rest of a sentence about earlier runs that are still running, unless `--run` names a run.
    fn at_work_before(&self, runnable: &Runnable, run: &LedgerRun) -> String {
        let runs = runs::runs(runnable).into_iter();
        let at_work = runs.filter(|it| {
            self.run.is_none() && it.sequence < run.sequence && it.state == RunState::Running
        });
        let results = at_work.map(|it| {
            let number = it.sequence;
            let cancel = format!("cancel {} --run {number}", runnable.name_any());
            format!(
                "; run {number} is still running: `{}` stops it",
                self.place.command(&cancel)
            )
        });
        results.collect()
    }

    /// Returns the command that keeps a Runnable from making further runs.
    fn suspend(&self, name: &str) -> String {
        self.place.command(&format!("suspend {name}"))
    }

    /// Stops the run. The requester is written first: the deletion event of a deleted run still carries it.
    async fn stop(
        &self,
        api: &Api<DynamicObject>,
        object: &DynamicObject,
        request: &StopRequest,
    ) -> kube::Result<()> {
        let (name, uid) = (object.name_any(), object.uid());
        if let Some(patch) = request.patch(uid.as_deref(), Some(&self.asked)) {
            let parameters = PatchParams::apply(CLIENT);
            api.patch(&name, &parameters, &Patch::Merge(patch)).await?;
        }
        if *request == StopRequest::Delete {
            let preconditions = Preconditions {
                uid,
                resource_version: None,
            };
            // As the controller does: the run is there until its pods are gone, so that no later run begins beside them.
            let parameters = DeleteParams::foreground().preconditions(preconditions);
            api.delete(&name, &parameters).await?;
        }
        Ok(())
    }

    /// Asks a run to stop, unless it was asked before.
    async fn ask(
        &self,
        name: &str,
        run: &LedgerRun,
        request: &StopRequest,
        cluster: &Cluster,
    ) -> anyhow::Result<Outcome> {
        let (api_version, kind) = (&run.api_version, &run.kind);
        let Some(served) = cluster.find_kind(api_version, kind).await? else {
            bail!("the cluster has no kind {kind} of {api_version} any more");
        };
        let api = cluster.objects(&served);
        let run_name = format!("{kind} {}", run.name);
        let reading = format!("reading {run_name}");
        let found = within(&reading, api.get_opt(&run.name)).await?;
        // Another object may have this name by now.
        let is_it = |object: &DynamicObject| run.uid.is_none() || object.uid() == run.uid;
        let Some(object) = found.filter(is_it) else {
            let why = self.place.command(&format!("why {name}"));
            bail!("{run_name} is gone\nhint: {why}");
        };
        let by = requests::cancellation(&object.metadata);
        // A deadline may be the run's own; only the request prevents a retry.
        let part = |field: &str| object.data.get(field);
        let (spec, status) = (part("spec"), part("status"));
        let whole =
            json!({ "apiVersion": api_version, "kind": kind, "spec": spec, "status": status });
        let in_its_way = asked_to_stop(&whole);
        let left = left_to_controller(run, request, standing(&whole));
        let is_asked = match request {
            StopRequest::Patch(_) => request.is_in(&object.data),
            StopRequest::Delete => object.metadata.deletion_timestamp.is_some(),
        };
        // A stop by its timeout is not a request of a person.
        let by_person = by.is_some() || in_its_way && run.stop.is_none() && left.is_empty();
        if is_asked && by_person {
            let by = by.map_or_else(String::new, |by| in_one_line(&format!(" ({by})")));
            let text = format!("{run_name} has already been asked to stop{by}{left}\n");
            return Ok(Outcome::good(text));
        }
        let what = format!("stopping {run_name}");
        within(&what, self.stop(&api, &object, request)).await?;
        Ok(Outcome::good(format!(
            "{run_name} has been asked to stop{left}; run {} of {name} then counts as failed, and is not retried\n",
            run.sequence
        )))
    }
}

impl CancelTemplates {
    /// Returns how a run is stopped, or an error if that is unknown.
    fn request(
        &self,
        runnable: &Runnable,
        run: &LedgerRun,
        suspend: &str,
    ) -> anyhow::Result<StopRequest> {
        let of_run = (run.api_version.as_str(), run.kind.as_str());
        let (way, unread) = match self {
            Self::Known(all) => (way_to_stop(all, runnable, of_run), String::new()),
            Self::Unread(why) => (
                StopRequest::of_kind(of_run.0, of_run.1),
                format!(", and its template, which may have a spec.stop, cannot be read: {why}"),
            ),
        };
        way.ok_or_else(|| {
            anyhow!(
                "Cartouche does not know how to stop a {} of {}{unread}\nhint: set spec.stop in the template, or stop {} with the tools of its engine; if you delete it, the controller makes a new run, unless you suspend the Runnable first: {suspend}",
                run.kind,
                run.api_version,
                run.name,
            )
        })
    }
}

/// Returns the rest of a sentence about a run that does not heed the request: the controller sees the request and
/// deletes it.
fn left_to_controller(run: &LedgerRun, request: &StopRequest, standing: Standing) -> String {
    let (api_version, kind) = (&run.api_version, &run.kind);
    // For a run that no queue holds, its template may know another way.
    let is_of_kind = StopRequest::of_kind(api_version, kind).as_ref() == Some(request);
    let is_heeded = standing.heeds_stop || *request == StopRequest::Delete;
    let queue = queue_of(api_version, kind).filter(|_| standing.is_queued());
    match queue {
        _ if is_heeded => String::new(),
        Some(queue) => format!(
            ": it is queued ({}), so the controller deletes it in about a minute",
            queue.sign
        ),
        None if is_of_kind => {
            ": it ignores that in its present state, so the controller deletes it in about a minute"
                .to_owned()
        }
        None => String::new(),
    }
}

/// Returns the way to stop a run, as the controller decides it. The controller stops nothing while it cannot read the
/// template.
fn way_to_stop(
    templates: &[ClusterRunTemplate],
    runnable: &Runnable,
    of_run: (&str, &str),
) -> Option<StopRequest> {
    let name = &runnable.spec.run_template_ref.name;
    let template = templates.iter().find(|it| it.name_any() == *name);
    let usable = template.and_then(|it| Some((it, Template::compile(&it.spec).ok()?)));
    let Some((template, compiled)) = usable else {
        // The kind that the `stop` of an unusable template applies to is unknown.
        return StopRequest::of_kind(of_run.0, of_run.1);
    };
    let asks = Asks::of_template(&template.spec);
    let policy = Policy::as_far_as_usable(&Asks::default(), &asks);
    policy.way_to_stop(of_run, compiled.literal_kind())
}

/// Returns the error for a failed run with a retry to come: a request on an ended run does not prevent that.
fn to_be_tried_again(
    name: &str,
    run: &LedgerRun,
    runnable: &Runnable,
    suspend: &str,
) -> anyhow::Error {
    // The condition may have another message, for example of what the retry waits for.
    let at = run.retry_at.as_ref().map(|at| format!("at {}", at.0));
    let scheduled = runs::retry_scheduled(runnable).map(|condition| condition.message.clone());
    let scheduled = scheduled.or(at).unwrap_or_default();
    anyhow!(
        "run {} of {name} has ended, and will be retried: {}\nhint: `{suspend}` postpones the retry; set spec.retry.limit: 0 in the Runnable to end the retries",
        run.sequence,
        in_one_line(&scheduled),
    )
}

fn not_running(name: &str, run: &LedgerRun, others: &str) -> String {
    match run.state {
        RunState::Ended(result) => format!(
            "run {} of {name} has already ended: {}{others}\n",
            run.sequence,
            result.as_str()
        ),
        RunState::OutputsUnread => format!(
            "run {} of {name} has already succeeded, but its outputs cannot be read: nothing to stop{others}\n",
            run.sequence
        ),
        state => format!(
            "run {} of {name} has not started ({state}): nothing to stop{others}\n",
            run.sequence
        ),
    }
}

#[cfg(test)]
mod tests;
