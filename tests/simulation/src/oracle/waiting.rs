//! C5: whoever does not run for what is there, in the end, says truly what keeps it from that.

use cartouche_crds::{RunResult, RunnableStatus};
use serde_json::Value;

use super::status;
use crate::{
    chain::{Chain, Role},
    people::runnable,
    plan::Plan,
    store::Store,
};

/// Whether nobody need ask whether this Runnable has run for what is there.
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
    let held = stored.pending.as_ref().is_some_and(|pending| {
        ["DependencyNotReady", "DependencyFailed"].contains(&pending.reason.as_str())
    });
    let message = stored
        .conditions
        .iter()
        .find(|condition| condition.type_ == "RunTemplateReady")
        .map_or("", |condition| condition.message.as_str());
    held && causes(store, chain, role).any(|name| message.contains(&name))
}

/// Who of those that a member stems from keeps it back for good: who is suspended, whose run has failed, who gives nothing, or is not
/// there.
fn causes(store: &Store, chain: Chain, role: Role) -> impl Iterator<Item = String> {
    let ancestors = role.ancestors().iter();
    ancestors
        .map(move |ancestor| chain.number(*ancestor))
        .filter(|number| {
            let Some(object) = store.get(&runnable(*number)) else {
                return true;
            };
            let stored = status(&object);
            let current = stored.current_run.as_ref();
            let has_failed =
                current.is_some_and(|run| run.result.is_some_and(|it| it != RunResult::Succeeded));
            object["spec"]["suspend"] == true || has_failed || stored.outputs.is_none()
        })
        .map(|number| format!("r{number}"))
}
