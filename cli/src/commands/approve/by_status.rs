//! Approval by the status alone, where the user may not read all that the run is rendered from.

use std::{collections::BTreeSet, fmt::Write as _};

use cartouche_authoring::foreign::in_one_line;
use cartouche_crds::{Approval, Runnable};
use kube::ResourceExt as _;

use super::{
    ApproveArgs,
    answer::ApproveAnswer,
    answered, unseen,
    waiting::{self, ApprovalState},
};
use crate::{
    cluster::{Cluster, as_json, first_line},
    live::{object_diff, pending},
};

/// Approves a run that cannot be shown because of `error`. If the status asks for approval, the user must pass
/// `--unverified`; to report that no run waits, this is not needed.
pub(super) async fn answer(
    error: &anyhow::Error,
    runnable: &Runnable,
    args: &ApproveArgs,
    cluster: &Cluster,
) -> anyhow::Result<ApproveAnswer> {
    if waiting::asked_for(runnable).is_some() && !args.unverified {
        return Err(unseen(error, runnable, cluster));
    }
    let namespace = &cluster.namespace;
    let unverified = BTreeSet::from([first_line(error)]);
    let approval = match waiting::by_status(runnable, &cluster.place())? {
        ApprovalState::ForPerson(approval) => approval,
        ApprovalState::Approved(approval) => {
            let answer = ApproveAnswer::already(namespace, runnable, &approval);
            return Ok(answer.with_unverified(&unverified));
        }
        ApprovalState::Nothing(why) => return Ok(ApproveAnswer::nothing(namespace, runnable, why)),
    };
    let shown = format_status(&first_line(error), (runnable, &approval), cluster)?;
    answered((runnable, &approval), (shown, &unverified), args, cluster).await
}

/// Returns the text shown in place of the run: the spec of its Runnable, and the API server's answer about the run.
fn format_status(
    why: &str,
    (runnable, approval): (&Runnable, &Approval),
    cluster: &Cluster,
) -> anyhow::Result<String> {
    let (namespace, name) = (&cluster.namespace, runnable.name_any());
    let spec = object_diff::shown_new(&as_json(runnable)?["spec"]);
    let mut out = format!("Runnable {namespace}/{name}:\n{spec}");
    let pending = pending::pending(runnable);
    let tried = pending.and_then(|pending| pending::describe_dry_run(pending, &name, None));
    if let Some(tried) = tried {
        let _ = writeln!(out, "{}", in_one_line(&tried));
    }
    let _ = writeln!(
        out,
        "not verified: by the status, {approval} waits for approval; the run is not shown: {}",
        in_one_line(why)
    );
    Ok(out)
}
