//! `cartouche profile refresh`.

mod refreshed;

use std::{collections::BTreeMap, fmt::Write as _, sync::Mutex};

use anyhow::{anyhow, bail};
use cartouche_crds::{
    PROFILE_REFRESH_ANNOTATION, RERUN_REQUEST_ANNOTATION, RERUN_TOKEN_ANNOTATION, RerunRequest,
    Runnable,
};
use cartouche_protocol::{
    facts::{RunnableFacts, Unknown, choose_profile},
    ledger::Ledger,
    messages::diagnosis::Diagnosis,
    profiles::Profiles,
    rerun,
};
use clap::Args;
use k8s_openapi::jiff::Timestamp;
use kube::{
    Api, ResourceExt as _,
    api::{Patch, PatchParams},
};
use serde_json::json;

use crate::{
    cluster::{CLIENT, Cluster, ClusterArgs, within},
    commands::many::{self, Deed, ManyArgs, Plan},
    format::OutputFormat,
    live::{profiles, prospect::render_refresh, selection::plain},
    outcome::{FAILED, Outcome},
};
use refreshed::Refreshed;

/// Refresh the profile of Runnables
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cartouche profile refresh hello --dry-run
  cartouche profile refresh hello
  cartouche profile refresh hello --rerun --reason 'moved to the new pool'
  cartouche profile refresh --template image-build --yes

Sets the annotation carto.run/profile-refresh. With each new value, the controller chooses the profile by the current
rules. If no profile can be chosen, the command writes nothing and fails. A refresh makes no run: the next one uses the
chosen profile, and --rerun asks for one. --dry-run shows the profile that would be chosen, and what it changes in the
next run. JSON and YAML are lists, with the profile before and after. The command asks before it changes more than one
Runnable; without a terminal --yes is needed.

Exit code 1 if you say no, or if --dry-run finds that no profile can be chosen or used; 2 if it failed for one or more
of them, or if --dry-run cannot read the template or the profiles.")]
pub(crate) struct RefreshArgs {
    #[command(flatten)]
    which: ManyArgs,
    /// Token of the request; by default the current time
    #[arg(long)]
    token: Option<String>,
    /// Request a run as well, with the same token
    #[arg(long)]
    rerun: bool,
    /// Reason for the run, in a few words
    #[arg(long, value_name = "TEXT", requires = "rerun")]
    reason: Option<String>,
    /// Format of the output
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// Refresh of profiles, performed on each Runnable.
struct Refresh {
    token: String,
    /// Request to run again, if the user asks for that.
    rerun: Option<RerunRequest>,
    /// Profiles to choose from; `None` if the user may not list them.
    profiles: Option<Profiles>,
    output: OutputFormat,
    /// Answers for a program, by the name of the Runnable.
    found: Mutex<BTreeMap<String, Refreshed>>,
}

pub(crate) async fn execute(args: &RefreshArgs, cluster: &Cluster) -> anyhow::Result<Outcome> {
    if args.token.as_deref() == Some("") {
        bail!("the token is empty\nhint: leave --token out, or give it a string");
    }
    let token = args.token.clone();
    let token = token.unwrap_or_else(|| Timestamp::now().to_string());
    if args.which.dry_run {
        return dry_run(args, &token, cluster).await;
    }
    let rerun = if args.rerun {
        Some(RerunRequest {
            token: token.clone(),
            by: cluster.user().await.unwrap_or_default(),
            reason: args.reason.clone().unwrap_or_default(),
        })
    } else {
        None
    };
    let refresh = Refresh {
        token,
        rerun,
        profiles: profiles::read(cluster).await?,
        output: args.output,
        found: Mutex::default(),
    };
    let mut outcome = many::perform(&refresh, &args.which, cluster).await?;
    if args.output != OutputFormat::Text {
        let found = refresh.found.into_inner().unwrap_or_default();
        let found: Vec<Refreshed> = found.into_values().collect();
        outcome.out = args.output.write(&found, |_| String::new())?;
    }
    Ok(outcome)
}

impl Refresh {
    /// Returns the profile that the current rules would pin the Runnable to; if that is unknown, `problem` says why.
    /// A request that would change nothing is an error.
    fn foreseen(&self, runnable: &Runnable, ledger: &Ledger) -> anyhow::Result<Refreshed> {
        let name = runnable.name_any();
        let version = |name: &str| {
            let known = self.profiles.as_ref().and_then(|all| all.get(name));
            known.map_or_else(|| name.to_owned(), |known| known.version.to_string())
        };
        let pinned = ledger.profile.as_deref();
        let found = Refreshed {
            namespace: runnable.namespace().unwrap_or_default(),
            before: pinned.map(|pinned| version(&pinned.name)),
            name,
            ..Refreshed::default()
        };
        let unknown = |why: &str| Refreshed {
            problem: Some(why.to_owned()),
            ..found.clone()
        };
        let Some(profiles) = &self.profiles else {
            return Ok(unknown("you may not list ClusterRunProfiles"));
        };
        let mut facts = RunnableFacts::from_runnable(runnable);
        facts.profile_refresh = Some(rerun::bound_token(&self.token));
        match choose_profile(&facts, profiles, false, ledger) {
            Ok(chosen) => match chosen.not_refreshed {
                Some(why) => Err(self.refused(&found.name, &Diagnosis::ProfileNotRefreshed(why))),
                None => Ok(Refreshed {
                    after: chosen.pinned.map(|pinned| version(&pinned.name)),
                    ..found
                }),
            },
            Err(Unknown::Namespace) => Ok(unknown("you may not read the namespace")),
            // A Runnable that is pinned to no profile may still be asked to run.
            Err(Unknown::Held(held)) if pinned.is_none() => Ok(unknown(&held.to_string())),
            Err(Unknown::Held(held)) => Err(self.refused(&found.name, &Diagnosis::Profile(held))),
        }
    }

    fn refused(&self, name: &str, why: &Diagnosis) -> anyhow::Error {
        let run = match self.rerun {
            Some(_) => "; `cartouche rerun` runs it with its present profile".to_owned(),
            None => String::new(),
        };
        anyhow!(
            "nothing is requested, and {name} keeps its profile: {why}\nhint: {}{run}",
            why.cure()
        )
    }

    /// Returns the text for a Runnable. In a format for programs, stores the answer and returns an empty text.
    fn record_answer(&self, found: Refreshed, text: String) -> String {
        if self.output == OutputFormat::Text {
            return text;
        }
        if let Ok(mut all) = self.found.lock() {
            all.insert(found.name.clone(), found);
        }
        String::new()
    }
}

impl Deed for Refresh {
    fn title(&self, runnables: &str) -> String {
        match self.rerun {
            Some(_) => format!("Refresh the profiles of {runnables}, and re-run them"),
            None => format!("Refresh the profiles of {runnables}"),
        }
    }

    fn prospect(&self) -> &'static str {
        "would have its profile refreshed"
    }

    fn plan(&self, runnable: &Runnable) -> Plan {
        let (name, token) = (runnable.name_any(), &self.token);
        let ledger = runnable
            .status
            .as_ref()
            .map(Ledger::from_status)
            .unwrap_or_default();
        let present = runnable.annotations().get(PROFILE_REFRESH_ANNOTATION);
        let bounded = rerun::bound_token(token);
        let text = match ledger.profile.as_deref() {
            Some(pinned)
                if present == Some(token) || pinned.refresh_token.as_deref() == Some(&*bounded) =>
            {
                format!("this refresh of {name} was already requested: {token}\n")
            }
            None if self.rerun.is_none() => {
                format!("{name} is pinned to no profile: the rules choose one for its next run\n")
            }
            _ => {
                return match self.foreseen(runnable, &ledger) {
                    Ok(_) => Plan::Due,
                    Err(error) => Plan::Impossible(error),
                };
            }
        };
        let pinned = ledger.profile.as_deref();
        let pinned = pinned.map(|pinned| pinned.name.clone());
        let found = Refreshed {
            name,
            namespace: runnable.namespace().unwrap_or_default(),
            before: pinned.clone(),
            after: pinned,
            problem: Some(text.trim_end().to_owned()),
            ..Refreshed::default()
        };
        Plan::Nothing(self.record_answer(found, text))
    }

    async fn perform(&self, runnable: &Runnable, cluster: &Cluster) -> anyhow::Result<Outcome> {
        let (name, token) = (runnable.name_any(), &self.token);
        let ledger = runnable
            .status
            .as_ref()
            .map(Ledger::from_status)
            .unwrap_or_default();
        let found = self.foreseen(runnable, &ledger)?;
        let mut annotations = json!({ PROFILE_REFRESH_ANNOTATION: token });
        if let Some(request) = &self.rerun {
            annotations[RERUN_TOKEN_ANNOTATION] = json!(token);
            annotations[RERUN_REQUEST_ANNOTATION] = json!(request.annotation());
        }
        let patch = Patch::Merge(json!({
            "metadata": { "uid": runnable.uid(), "annotations": annotations },
        }));
        let (api, parameters): (Api<Runnable>, _) = (cluster.api(), PatchParams::apply(CLIENT));
        let what = format!("setting the annotation of Runnable {name}");
        within(&what, api.patch(&name, &parameters, &patch)).await?;
        let place = cluster.place();
        let which = place.command(&format!("profile which {name}"));
        let then = match self.rerun {
            Some(_) => "and run again with it",
            None => "and use it for its next run",
        };
        let mut text = format!("{name} will choose its profile again, {then}: {token}\n");
        if let Some(after) = &found.after {
            let instead = found.instead();
            let _ = writeln!(text, "  by the current rules that is {after}{instead}");
        }
        let found = Refreshed {
            request: Some(token.clone()),
            ..found
        };
        Ok(Outcome {
            err: format!("`{which}` shows the chosen profile\n"),
            ..Outcome::good(self.record_answer(found, text))
        })
    }
}

/// Shows the profiles that would be chosen, and the changes that follow.
async fn dry_run(args: &RefreshArgs, token: &str, cluster: &Cluster) -> anyhow::Result<Outcome> {
    let mut runnables = Vec::new();
    for name in &args.which.names {
        runnables.push(cluster.runnable(plain(name)).await?);
    }
    if args.which.names.is_empty() {
        runnables = cluster
            .selected_runnables(&args.which.selection, false)
            .await?;
    }
    let (mut all, mut outcome) = (Vec::new(), Outcome::default());
    for runnable in &runnables {
        match Box::pin(render_refresh(cluster, runnable, token)).await {
            Ok(both) => {
                let found = Refreshed::foreseen(runnable, &both.before, both.after);
                outcome.code = outcome.code.max(found.code(both.are_profiles_unread));
                all.push(found);
            }
            Err(error) if runnables.len() == 1 => return Err(error),
            Err(error) => {
                let failed = Outcome::failed(&error.context(runnable.name_any()));
                outcome.err.push_str(&failed.err);
                outcome.code = FAILED;
            }
        }
    }
    outcome.out = args
        .output
        .write(&all, |all| all.iter().map(Refreshed::text).collect())?;
    outcome.err.push_str("dry run: nothing was changed\n");
    Ok(outcome)
}
