//! Waits for a number whose run was never seen.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use cartouche_crds::Runnable;

use super::{Player, STATES};
use crate::{
    scene::Scene,
    sight::{condition, status},
};

/// Returns true if a controller was killed between the intent of a number and its create, and another number
/// came then: for ten minutes a create for the first one may still arrive.
fn may_still_run(source: &Runnable) -> bool {
    let status = status(source);
    let mut earlier = status.history.iter();
    earlier.any(|run| run.result.is_none() && run.uid.is_none())
}

/// Returns the Runnables that wait for such a number of their source, directly or indirectly. All others that
/// follow have to be ready. Where the source of a ready one waits, no run of it is pending, and it reports
/// `Reconciling`.
pub(super) async fn held(scene: &Scene, players: &[Player]) -> Result<BTreeSet<String>> {
    let mut held = BTreeSet::new();
    // Sources come before their readers.
    for Player { name, state, group } in players {
        let Some(source) = state.reads else { continue };
        let now = scene.now(name).await?;
        let is_ready = crate::sight::ready(&now);
        let is_behind = held.contains(&format!("{source}-{group}"));
        if is_ready && !is_behind {
            continue;
        }
        let is_on_its_way = condition(&now, "Reconciling").is_some_and(|it| it.status == "True");
        ensure!(
            !is_ready || is_on_its_way,
            "{name} is ready while {source}-{group} waits, and does not say that a change is on its way"
        );
        let (mut reads, mut has_reason) = (Some(source), false);
        while let Some(source) = reads {
            has_reason |= may_still_run(&scene.now(&format!("{source}-{group}")).await?);
            reads = STATES
                .iter()
                .find(|it| it.name == source)
                .and_then(|it| it.reads);
        }
        ensure!(
            has_reason,
            "{name} is not ready, and nothing that it reads may still run"
        );
        held.insert(name.clone());
    }
    Ok(held)
}
