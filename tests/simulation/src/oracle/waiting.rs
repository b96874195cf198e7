//! C5: a Runnable that has not run for the present state, in the end, reports the true cause.

use cartouche_crds::{RunResult, RunnableStatus};
use serde_json::Value;

use super::status;
use crate::{
    chain::{Chain, Role},
    plan::Plan,
    store::Store,
};

/// Returns true if this Runnable need not have run for the present state.
pub(super) fn is_excused(
    store: &Store,
    plan: &Plan,
    number: usize,
    object: &Value,
    stored: &RunnableStatus,
) -> bool {
    let role = plan
        .chain
        .zip(plan.chain.and_then(|chain| chain.role(number)));
    let Some((chain, role)) = role else {
        return false;
    };
    if object["spec"]["suspend"] == true {
        return true;
    }
    waits_truly(store, chain, role, object, stored)
}

/// Returns true if a member waits, and names one that it has to wait for.
fn waits_truly(
    store: &Store,
    chain: Chain,
    role: Role,
    object: &Value,
    stored: &RunnableStatus,
) -> bool {
    let held = stored.pending.as_ref().is_some_and(|pending| {
        ["DependencyNotReady", "DependencyFailed"].contains(&pending.reason.as_str())
    });
    let ready = stored
        .conditions
        .iter()
        .find(|it| it.type_ == "RunTemplateReady");
    let message = ready.map_or("", |condition| condition.message.as_str());
    let is_of_now = stored.observed_generation == object["metadata"]["generation"].as_i64();
    let named = |of: &Role| message.contains(&chain.key(*of).name);
    let is_true_of = |of: Role| {
        let is_awaited = chain.ancestors(role).contains(&of);
        if role == Role::D && chain.ignored && !chain.strict || !is_awaited {
            // In that case its lag is no reason.
            let is_read = is_awaited || role.reads().iter().any(|(read, _)| *read == of);
            return is_read && gives_nothing(store, chain, of, is_awaited);
        }
        keeps_back(store, chain, of)
    };
    held && is_of_now && Role::ALL.into_iter().filter(named).any(is_true_of)
}

/// Returns true if a member has no outputs at all, or waits itself, if that counts.
fn gives_nothing(store: &Store, chain: Chain, role: Role, waiting: bool) -> bool {
    let Some(object) = store.get(&chain.key(role)) else {
        return true;
    };
    let stored = status(&object);
    let waits =
        || object["spec"]["suspend"] != true && waits_truly(store, chain, role, &object, &stored);
    stored.outputs.is_none() || waiting && waits()
}

/// Returns true if a member gives nothing new for good: it is suspended, missing, without outputs, its run
/// has failed, or went before its outputs were read, or it waits itself.
fn keeps_back(store: &Store, chain: Chain, role: Role) -> bool {
    let Some(object) = store.get(&chain.key(role)) else {
        return true;
    };
    let stored = status(&object);
    let current = stored.current_run.as_ref();
    let has_failed =
        current.is_some_and(|run| run.result.is_some_and(|it| it != RunResult::Succeeded));
    let gave_nothing = current.is_some_and(|run| {
        let from = stored.outputs_from.as_ref();
        from.is_some_and(|from| run.result.is_some() && from.sequence < run.sequence)
    });
    object["spec"]["suspend"] == true
        || has_failed
        || gave_nothing
        || stored.outputs.is_none()
        || waits_truly(store, chain, role, &object, &stored)
}
