//! What waits for a number that no run was seen of.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use cartouche_crds::Runnable;
use cartouche_tests::fixture::objects::text;

use super::{
    Player,
    State::{Done, Follows},
};
use crate::{scene::Scene, sight::status};

/// Whether a controller was killed between the intent of a number and its create, and another number came then: for ten minutes a
/// create for the first one may still arrive.
fn may_still_run(source: &Runnable) -> bool {
    let status = status(source);
    let mut earlier = status.history.iter();
    earlier.any(|run| run.result.is_none() && run.uid.is_none())
}

/// The Runnables that wait for such a number of their source. All others that follow have to be ready.
pub(super) async fn held(scene: &Scene, players: &[Player]) -> Result<BTreeSet<String>> {
    let mut held = BTreeSet::new();
    for Player { name, group, .. } in players.iter().filter(|it| it.state == Follows) {
        let runnable = scene.now(name).await?;
        if crate::sight::ready(&runnable) {
            continue;
        }
        let source = scene.now(&Done.name(*group)).await?;
        let conditions = serde_json::to_value(status(&runnable).conditions)?;
        let is_held = conditions.as_array().is_some_and(|all| {
            all.iter()
                .any(|it| text(&it["message"]).contains("has not ended"))
        });
        ensure!(is_held && may_still_run(&source), "{name}: {conditions:#}");
        held.insert(name.clone());
    }
    Ok(held)
}
