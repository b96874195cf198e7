//! The states that Runnables of the play reach and keep.

use cartouche_crds::{RunResult, Runnable, StopReason};
use serde_json::{Value, json};

use super::{
    deeds::Deed,
    signs::{
        at_work, because, follows, refused_or_given_up, rejected_or_asked_anew, told, tried_again,
        waits_for, written_to,
    },
};
use crate::{
    engine::{JOB, fails, hangs, succeeds},
    sight::{confirmed, failed, is_at, output, ready, result, status},
};

/// Returns true if a Runnable has reached something.
pub(super) type Sign = fn(&Runnable) -> bool;

/// A state, the way to it, and its signs.
pub(super) struct State {
    pub(super) name: &'static str,
    /// The inputs with this value.
    pub(super) inputs: fn(i64) -> Value,
    /// Further fields of the spec, in the group with this number.
    pub(super) spec: fn(usize) -> Value,
    /// Changes of the template, if the state has one of its own.
    pub(super) template: Option<fn(&mut Value)>,
    /// The state of its source.
    pub(super) reads: Option<&'static str>,
    pub(super) changes: Changes,
    /// Sign before any action.
    pub(super) begins: Sign,
    pub(super) deed: Deed,
    /// Sign at rest.
    pub(super) rests: Sign,
    pub(super) runs: Runs,
}

/// Frequency of changes of its inputs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Changes {
    Always,
    /// Seldom, because a run that works until the test ends it must not become too much.
    Seldom,
    Never,
}

/// The values of the runs that are made of it.
#[derive(Clone, Copy)]
pub(super) enum Runs {
    /// No value twice, and the last one.
    Newest,
    /// No value twice.
    Some,
    These(&'static [i64]),
}

use Changes::{Never, Seldom};

/// The state of a Runnable with outputs and a history.
pub(super) const DONE: &str = "done";
/// A Runnable whose outputs are in objects, too.
const SINKS: &str = "sinks";
/// Text that no status may show.
pub(super) const HIDDEN: &str = "-planted";
/// A foreign `ConfigMap`.
pub(super) const TAKEN: &str = "taken";

const PLAIN: State = State {
    name: DONE,
    inputs: succeeds,
    spec: |_| json!({}),
    template: None,
    reads: None,
    changes: Changes::Always,
    begins: ready,
    deed: Deed::Nothing,
    rests: ready,
    runs: Runs::Newest,
};

fn by_key(object: &str) -> Value {
    json!({ "inputsFrom": [{ "name": "value", "configMapKeyRef": { "name": object, "key": "value", "as": "JSON" } }] })
}

fn by_output(runnable: &str) -> Value {
    json!({ "inputsFrom": [{ "name": "value", "runnableRef": { "name": runnable, "output": "value" } }] })
}

fn writes_to(kinds: &[&str], name: &str) -> Value {
    let of = |kind: &&str| json!({ "kind": kind, "name": name });
    json!({ "writeOutputsTo": kinds.iter().map(of).collect::<Vec<_>>() })
}

/// Makes the template one of a Job that a queue never admits, and that has a short timeout.
fn queued(template: &mut Value) {
    let pod =
        json!({ "restartPolicy": "Never", "containers": [{ "name": "work", "image": "work" }] });
    *template = json!({
        "timeout": "2s",
        "template": {
            "apiVersion": JOB.api_version(), "kind": JOB.name,
            "metadata": { "generateName": "$(runnable.metadata.name)$-" },
            "spec": { "suspend": true, "template": { "spec": pod } },
        },
    });
}

fn hides(template: &mut Value) {
    let hidden = format!("pin-$(runnable.spec.inputs.value)${HIDDEN}");
    template["template"]["spec"]["pin"] = hidden.into();
    template["outputs"]["pin"] = ".spec.pin".into();
    template["sensitiveOutputs"] = json!(["pin"]);
}

const fn of_source(name: &'static str, reads: &'static str, spec: fn(usize) -> Value) -> State {
    State {
        name,
        inputs: |_| json!({ "play": "succeed" }),
        spec,
        reads: Some(reads),
        changes: Never,
        begins: follows,
        rests: follows,
        ..PLAIN
    }
}

/// Returns a state that stays as it begins, with its sign and the rest of its spec.
const fn kept_back(name: &'static str, spec: fn(usize) -> Value, is_kept: Sign) -> State {
    State {
        name,
        spec,
        begins: is_kept,
        rests: is_kept,
        runs: Runs::These(&[]),
        ..PLAIN
    }
}

/// Returns a state that works until the action on its run, and does not change.
const fn works(name: &'static str, deed: Deed, rests: Sign) -> State {
    State {
        name,
        inputs: hangs,
        changes: Never,
        begins: |it| is_at(1)(it),
        deed,
        rests,
        runs: Runs::These(&[0]),
        ..PLAIN
    }
}

/// All of them.
pub(super) static STATES: [State; 34] = [
    PLAIN,
    State {
        name: SINKS,
        spec: |group| writes_to(&["ConfigMap", "Secret"], &format!("{SINKS}-{group}")),
        begins: |it| written_to(it, 2),
        rests: |it| written_to(it, 2),
        ..PLAIN
    },
    State {
        name: "hides",
        spec: |group| writes_to(&["Secret"], &format!("hides-{group}")),
        template: Some(hides),
        begins: |it| written_to(it, 1),
        rests: |it| written_to(it, 1) && status(it).sensitive_outputs.contains_key("pin"),
        ..PLAIN
    },
    State {
        name: "collides",
        spec: |_| writes_to(&["ConfigMap"], TAKEN),
        begins: |it| because(it, "OutputSinkFailed"),
        rests: |it| because(it, "OutputSinkFailed"),
        ..PLAIN
    },
    State {
        name: "pinned",
        template: Some(|_| ()),
        rests: |it| ready(it) && status(it).profile.is_some(),
        ..PLAIN
    },
    of_source("follows", DONE, |group| {
        by_output(&format!("{DONE}-{group}"))
    }),
    of_source("further", "follows", |group| {
        by_output(&format!("follows-{group}"))
    }),
    of_source("reads", SINKS, |group| by_key(&format!("{SINKS}-{group}"))),
    State {
        name: "failed",
        inputs: fails,
        begins: failed,
        rests: failed,
        ..PLAIN
    },
    State {
        name: "broken",
        inputs: fails,
        spec: |_| json!({ "retry": { "backoff": { "initial": "1h", "max": "1h" } } }),
        begins: tried_again,
        rests: |it| failed(it) && tried_again(it),
        ..PLAIN
    },
    State {
        name: "late",
        inputs: hangs,
        spec: |_| json!({ "timeout": "2s" }),
        begins: |it| result(it).is_some(),
        rests: |it| failed(it) && told(it, &StopReason::TimedOut),
        ..PLAIN
    },
    // Several are at work.
    State {
        name: "busy",
        inputs: hangs,
        changes: Seldom,
        begins: confirmed,
        rests: |it| at_work(it) && status(it).history.iter().any(|run| run.result.is_none()),
        runs: Runs::Some,
        ..PLAIN
    },
    State {
        name: "behind",
        inputs: hangs,
        spec: |_| json!({ "concurrencyPolicy": "LatestOnly" }),
        begins: |it| is_at(1)(it),
        rests: |it| waits_for(it, "RunAtWork"),
        runs: Runs::These(&[0]),
        ..PLAIN
    },
    State {
        name: "replaces",
        inputs: hangs,
        spec: |_| json!({ "concurrencyPolicy": "Replace" }),
        begins: confirmed,
        rests: at_work,
        ..PLAIN
    },
    State {
        name: "suspended",
        deed: Deed::Suspend,
        rests: |it| because(it, "Suspended") && output(it) == Some(0),
        runs: Runs::These(&[0]),
        ..PLAIN
    },
    // Needs what neither release knows.
    State {
        name: "alone",
        deed: Deed::Need,
        rests: |it| is_at(1)(it) && status(it).needs == ["ticks"],
        runs: Runs::These(&[0]),
        ..PLAIN
    },
    kept_back(
        "settles",
        |_| json!({ "start": { "debounce": "1h" } }),
        |it| waits_for(it, "Debouncing"),
    ),
    kept_back(
        "asked",
        |_| json!({ "approval": "Manual" }),
        |it| waits_for(it, "ApprovalRequired"),
    ),
    State {
        changes: Never,
        deed: Deed::Reject,
        rests: rejected_or_asked_anew,
        ..kept_back(
            "rejected",
            |_| json!({ "approval": "Manual" }),
            |it| waits_for(it, "ApprovalRequired"),
        )
    },
    State {
        changes: Never,
        deed: Deed::Approve,
        rests: ready,
        runs: Runs::These(&[0]),
        ..kept_back(
            "approved",
            |_| json!({ "approval": "Manual" }),
            |it| waits_for(it, "ApprovalRequired"),
        )
    },
    State {
        rests: refused_or_given_up,
        ..kept_back(
            REFUSED,
            |_| json!({ "serviceAccountName": "weak" }),
            crate::sight::refused,
        )
    },
    kept_back(
        "unserved",
        |_| json!({ "serviceAccountName": "missing" }),
        |it| because(it, "ServiceAccountError"),
    ),
    State {
        template: Some(|it| it["profile"] = "Required".into()),
        ..kept_back(
            "unmatched",
            |_| json!({}),
            |it| because(it, "ProfileNotFound"),
        )
    },
    State {
        inputs: |_| json!({ "play": "succeed" }),
        ..kept_back(
            "unfed",
            |_| by_key("missing"),
            |it| because(it, "DependencyNotReady"),
        )
    },
    State {
        inputs: |_| json!({ "play": "succeed" }),
        ..kept_back(
            "orphan",
            |_| by_output("missing"),
            |it| because(it, "DependencyNotReady"),
        )
    },
    State {
        inputs: |value| json!({ "misspelt": value }),
        ..kept_back(
            "unrendered",
            |_| json!({}),
            |it| because(it, "TemplateStampFailure"),
        )
    },
    kept_back(
        "untemplated",
        |_| json!({ "runTemplateRef": { "name": "missing" } }),
        |it| because(it, "RunTemplateNotFound"),
    ),
    State {
        template: Some(queued),
        ..kept_back("queued", |_| json!({}), at_work)
    },
    // Its engine ignores that.
    State {
        spec: |_| json!({ "timeout": "2s" }),
        template: Some(|it| it["stop"] = json!({ "mergePatch": { "spec": { "told": true } } })),
        ..works("stubborn", Deed::Nothing, |it| {
            result(it).is_none() && told(it, &StopReason::TimedOut)
        })
    },
    State {
        spec: |_| json!({ "retry": {} }),
        ..works("cancelled", Deed::Cancel, |it| {
            failed(it) && !tried_again(it)
        })
    },
    works("lost", Deed::DeleteUnseen, |it| {
        result(it) == Some(RunResult::Lost)
    }),
    State {
        runs: Runs::These(&[0, 0]),
        ..works("remade", Deed::DeleteRun, |it| is_at(2)(it) && at_work(it))
    },
    State {
        inputs: succeeds,
        begins: ready,
        ..works("cleared", Deed::DeleteRun, ready)
    },
    works("going", Deed::Delete, |it| {
        it.metadata.deletion_timestamp.is_some() && confirmed(it)
    }),
];

/// The state of a Runnable whose account may not make runs.
pub(super) const REFUSED: &str = "refused";
