//! `cartouche profile refresh`.

use std::fmt::Write as _;

use anyhow::bail;
use cartouche_crds::{
    PROFILE_REFRESH_ANNOTATION, RERUN_REQUEST_ANNOTATION, RERUN_TOKEN_ANNOTATION, RerunRequest,
    Runnable,
};
use cartouche_protocol::{ledger::Ledger, rerun};
use clap::Args;
use k8s_openapi::jiff::Timestamp;
use kube::{
    Api, ResourceExt as _,
    api::{Patch, PatchParams},
};
use serde_json::json;

use crate::{
    cluster::{CLIENT, Cluster, ClusterArgs, within},
    commands::{
        diff::{Prospect, refreshed},
        many::{self, Deed, ManyArgs, Plan},
    },
    live::{object_diff, selection::plain},
    outcome::{FOUND, GOOD, Outcome},
};

/// Have the profile chosen anew
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cartouche profile refresh hello --dry-run
  cartouche profile refresh hello
  cartouche profile refresh hello --rerun --reason 'moved to the new pool'
  cartouche profile refresh --template image-build --yes

It sets the annotation carto.run/profile-refresh. A value that was not the last one has the profile chosen
by the rules as they are now; where none can be chosen the present one stays, and the conditions say why. It
makes no run: the next one is made with what is chosen, and --rerun asks for one. --dry-run says which
would be chosen, and shows what that changes of the next run. Before more than one Runnable is changed you
are asked; without a terminal --yes is needed. Exit code 1 if it could not be done for some of them.")]
pub(crate) struct RefreshArgs {
    #[command(flatten)]
    which: ManyArgs,
    /// The request; the present time if it is not given
    #[arg(long)]
    token: Option<String>,
    /// Ask for a run as well, with the same request
    #[arg(long)]
    rerun: bool,
    /// Why it is to run, in a few words
    #[arg(long, value_name = "TEXT", requires = "rerun")]
    reason: Option<String>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// Asks to choose anew.
struct Refresh {
    token: String,
    /// The request to run again, if that is asked for.
    rerun: Option<RerunRequest>,
}

pub(crate) async fn execute(args: &RefreshArgs, cluster: &Cluster) -> anyhow::Result<Outcome> {
    if args.token.as_deref() == Some("") {
        bail!("an empty token asks for nothing\nhint: leave --token out, or give it a string");
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
    many::perform(&Refresh { token, rerun }, &args.which, cluster).await
}

impl Deed for Refresh {
    fn title(&self, runnables: &str) -> String {
        match self.rerun {
            Some(_) => format!("Choose the profiles anew, and re-run, of {runnables}"),
            None => format!("Choose the profiles anew of {runnables}"),
        }
    }

    fn prospect(&self) -> &'static str {
        "would have its profile chosen anew"
    }

    fn plan(&self, runnable: &Runnable) -> Plan {
        let (name, token) = (runnable.name_any(), &self.token);
        let ledger = runnable.status.as_ref().map(Ledger::of).unwrap_or_default();
        let present = runnable.annotations().get(PROFILE_REFRESH_ANNOTATION);
        let bounded = rerun::bounded(token);
        match ledger.profile.as_deref() {
            Some(pinned)
                if present == Some(token) || pinned.refresh_token.as_deref() == Some(&*bounded) =>
            {
                let already = "was asked to choose its profile with this request already";
                Plan::Nothing(format!("{name} {already}: {token}\n"))
            }
            None if self.rerun.is_none() => Plan::Nothing(format!(
                "{name} is pinned to no profile: its next run is made with what the rules choose then\n"
            )),
            _ => Plan::Due,
        }
    }

    async fn perform(&self, runnable: &Runnable, cluster: &Cluster) -> anyhow::Result<Outcome> {
        let (name, token) = (runnable.name_any(), &self.token);
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
            Some(_) => "and is to run again with it",
            None => "and its next run is made with it",
        };
        Ok(Outcome {
            err: format!("`{which}` says what was chosen\n"),
            ..Outcome::good(format!(
                "{name} is to choose its profile anew, {then}: {token}\n"
            ))
        })
    }
}

/// Says which would be chosen, and what that changes.
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
    let mut outcome = Outcome::default();
    for runnable in &runnables {
        let (text, code) = match Box::pin(refreshed(cluster, runnable, token)).await {
            Ok([before, after]) => foreseen(runnable, &before, after),
            // Of several, the others are told all the same.
            Err(error) if runnables.len() == 1 => return Err(error),
            Err(error) => (
                format!("{}: {}", runnable.name_any(), in_words(&error)),
                FOUND,
            ),
        };
        outcome.out.push_str(&text);
        outcome.code = outcome.code.max(code);
    }
    "dry run: nothing was changed\n".clone_into(&mut outcome.err);
    Ok(outcome)
}

fn foreseen(
    runnable: &Runnable,
    before: &anyhow::Result<Prospect>,
    after: anyhow::Result<Prospect>,
) -> (String, u8) {
    let name = runnable.name_any();
    let after = match after {
        Ok(after) => after,
        Err(error) => return (format!("{name}: {}", in_words(&error)), FOUND),
    };
    if let Some(why) = &after.unknown_profile {
        return (format!("{name}: {why}\n"), FOUND);
    }
    let of = |prospect: &Prospect| {
        let profile = prospect.profile.as_ref();
        profile.map_or_else(|| "no profile".to_owned(), ToString::to_string)
    };
    let mut out = match before {
        Ok(_) if let Some(why) = &after.not_refreshed => format!("{name}: {why}\n"),
        Ok(before) if before.profile == after.profile => {
            format!("{name}: {} would be chosen again\n", of(&after))
        }
        Ok(before) => format!(
            "{name}: {} would be chosen instead of {}\n",
            of(&after),
            of(before)
        ),
        Err(error) => format!(
            "{name}: {} would be chosen; as it is: {}",
            of(&after),
            in_words(error)
        ),
    };
    let mut code = GOOD;
    if let Some(why) = &after.not_refreshed {
        if before.is_err() {
            let _ = writeln!(out, "{why}");
        }
        code = FOUND;
    }
    if let Ok(before) = before {
        let [old, new] = [before, &after].map(|it| it.run.rendered.document());
        out.push_str(&object_diff::shown(&object_diff::changes(old, new)));
    }
    (out, code)
}

/// An error in lines of a text.
fn in_words(error: &anyhow::Error) -> String {
    let text = format!("{error:#}\n");
    text.replace("\nhint: ", "\n  to do: ")
}
