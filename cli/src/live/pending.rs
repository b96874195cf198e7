//! The pending run, and its texts.

use cartouche_crds::{PendingRun, Runnable};
use cartouche_protocol::{category::Category, facts::DryRun};

use super::{age, place::Place};

/// Returns the pending run, if one waits.
pub(crate) fn pending(runnable: &Runnable) -> Option<&PendingRun> {
    runnable.status.as_ref()?.pending.as_ref()
}

/// Returns true if the run waits for approval.
pub(crate) fn waits_for_approval(pending: &PendingRun) -> bool {
    pending.reason == Category::ApprovalRequired.as_str()
}

/// Describes the API server's answer to the dry run. With a `place`, adds the command that asks again.
pub(crate) fn describe_dry_run(
    pending: &PendingRun,
    name: &str,
    place: Option<&Place>,
) -> Option<String> {
    let said = pending.dry_run.as_deref()?;
    let ago = age::ago(Some(&pending.since));
    let again = place.map(|place| place.command(&format!("diff {name} --server-dry-run")));
    let again = again.map(|again| format!(" (`{again}` checks it again)"));
    let again = again.unwrap_or_default();
    Some(match DryRun::parse(said) {
        Some(DryRun::Accepted) => format!("the API server would accept it (dry run {ago} ago)"),
        Some(DryRun::Refused(why)) => {
            format!("the API server would refuse it (dry run {ago} ago): {why}{again}")
        }
        Some(DryRun::Unknown(why)) => {
            format!("it is unknown if the API server would accept it: {why}{again}")
        }
        None => said.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(dry_run: &str) -> String {
        let pending = serde_json::from_value(json!({
            "sequence": 4, "inputHash": "v1:a", "reason": "ApprovalRequired",
            "since": "2026-01-01T00:00:00Z", "dryRun": dry_run,
        }))
        .unwrap();
        describe_dry_run(&pending, "hello", Some(&Place::new("shop", "demo"))).unwrap()
    }

    #[test]
    fn a_dry_run_is_reported_with_the_command_that_repeats_it() {
        assert!(said("accepted").starts_with("the API server would accept it (dry run "));
        let again = "(`cartouche diff hello --server-dry-run -n shop` checks it again)";
        let refused = said("refused: jobs \"x\" is forbidden: quota");
        assert!(refused.contains("would refuse it"), "{refused}");
        assert!(
            refused.ends_with(&format!(" ago): jobs \"x\" is forbidden: quota {again}")),
            "{refused}"
        );
        let unknown = said("unknown: no answer");
        assert!(
            unknown.ends_with(&format!("would accept it: no answer {again}")),
            "{unknown}"
        );
    }
}
