//! Runs and statuses, as the API server has them.

use cartouche_crds::{
    PendingRun, RunResult, RunnableStatus,
    conditions::{FALSE, READY, STALLED, TRUE},
};
use cartouche_engines::{Health, PodsTell, Verdict};
use cartouche_language::name_suffix;
use cartouche_protocol::{
    ledger::{Asked, FetchedRun, Ledger, OutputsRead, PodsSaid, RunIdentity},
    sources::Readiness,
    status::{ConditionValue, condition},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{
    known::{outputs, owner},
    world::{Hold, Run, Who, Word, World},
};
use crate::cast::{NOW, token};

pub(super) const API_VERSION: &str = "example.dev/v1";
pub(super) const KIND: &str = "Task";
pub(super) const RULES: &str = "rules";

pub(super) fn run_name(who: Who, number: i64) -> String {
    format!("run-{}", name_suffix(&owner(who), number))
}

/// Returns the identity of a run.
pub(super) fn identity(run: &Run) -> RunIdentity {
    let number = i64::from(run.number);
    RunIdentity {
        profile: None,
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        name: run_name(run.of, number),
        uid: format!("{}-{number}", owner(run.of)),
        owner_uid: Some(owner(run.of)),
        sequence: Some(number),
        input_hash: Some(run.document.hash()),
        rerun_token: token(run.token),
        created: Some(NOW),
        made_with_status: false,
    }
}

/// Returns the run that has this uid.
pub(super) fn run_of<'a>(world: &'a World, who: Who, uid: &str) -> Option<&'a Run> {
    let mut runs = world.runs.iter();
    runs.find(|run| run.of == who && identity(run).uid == uid)
}

/// Returns a run that has ended, as it is read.
pub(super) fn fetched(run: &Run) -> FetchedRun {
    let succeeded = run.result == Some(true);
    FetchedRun {
        sensitive: cartouche_engines::Sensitive::default(),
        failure: None,
        run: identity(run),
        health: Health {
            verdict: if succeeded {
                Verdict::Succeeded
            } else {
                Verdict::Failed
            },
            reason: "Done".to_owned(),
            message: String::new(),
            cause: String::new(),
            pods: None,
            discreet: None,
        },
        outputs: if succeeded {
            OutputsRead::Values(outputs(run.of, run.document))
        } else {
            OutputsRead::None
        },
        rules_hash: RULES.into(),
        matches: false,
        standing: cartouche_engines::kinds::Standing::FREE,
        pods_tell: PodsTell::Nothing,
        pods_said: PodsSaid::Nothing,
        controller: None,
        stopped: None,
        asked: Asked::No,
        version: None,
    }
}

/// Removes the entries that no longer bear on anything.
pub(super) fn trimmed(ledger: Ledger) -> Ledger {
    let source = ledger.outputs_from.as_ref().map(|from| from.sequence);
    ledger.forget(|entry| entry.result.is_some() && Some(entry.sequence) != source)
}

/// Returns a status that holds a ledger and names the cause that holds the next run back.
pub(super) fn status(ledger: &Ledger, said: &Word, observed: Option<i64>) -> RunnableStatus {
    let current = ledger.current.as_ref();
    let succeeded = current.is_some_and(|run| run.result == Some(RunResult::Succeeded));
    let ready = ConditionValue {
        status: if succeeded && said.is_none() {
            TRUE
        } else {
            FALSE
        },
        reason: "Model".to_owned(),
        message: String::new(),
    };
    let has_failed = current.is_some_and(|run| run.result == Some(RunResult::Failed));
    let stalled = ConditionValue {
        status: TRUE,
        ..ready.clone()
    };
    // As for a Runnable whose run has failed and that nothing else holds back.
    let stalled =
        (has_failed && said.is_none()).then(|| condition(&[], STALLED, stalled, observed, NOW));
    let ready = condition(&[], READY, ready, observed, NOW);
    let reason = match said {
        Some(Hold::Sources(held)) => match **held {
            Readiness::NotReady(..) => Some("DependencyNotReady"),
            Readiness::Failed(_) => Some("DependencyFailed"),
            Readiness::Cycle(_) => Some("DependencyCycle"),
            Readiness::Error(_) | Readiness::Ready(_) => None,
        },
        Some(Hold::Suspended) | None => None,
    };
    let pending = reason.map(|reason| PendingRun {
        sequence: ledger.next_sequence(),
        input_hash: String::new(),
        reason: reason.to_owned(),
        since: Time(NOW),
        approval: None,
        dry_run: None,
        unknown_fields: cartouche_crds::UnknownFields::default(),
    });
    RunnableStatus {
        observed_generation: observed,
        conditions: [ready].into_iter().chain(stalled).collect(),
        outputs: ledger.outputs.clone(),
        outputs_from: ledger.outputs_from.clone(),
        current_run: ledger.current.clone(),
        pending,
        answered_token: ledger.answered_token.clone(),
        history: ledger.history.clone(),
        ..RunnableStatus::default()
    }
}
