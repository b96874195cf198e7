//! Number of writes of statuses at rest.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Result, ensure};
use cartouche_crds::conditions::STALLED;
use serde_json::Value;
use tokio::time::sleep;

use super::{Player, REST, SETTLE, states::REFUSED};
use crate::{chain::asked, scene::Scene};

/// Writes of both: each process may put its own words in place of the other's once, half a minute later. A
/// count that begins earlier sees these two writes.
const WORDS_OF_BOTH: usize = 2;
/// Longer than both words take.
const WORDS_TAKE: Duration = Duration::from_secs(70);
/// Seconds between two writes of one Runnable on average. Each process retries a refused run at growing
/// pauses, and writes before and after that.
const REFUSED_APART: u64 = 10;

/// Returns true if the last of these statuses is Stalled.
fn is_stalled(statuses: &[(u64, Value)]) -> bool {
    let conditions = statuses
        .last()
        .and_then(|(_, it)| it["conditions"].as_array());
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|it| it["type"] == STALLED && it["status"] == "True")
}

/// Checks that at rest a Runnable has at most one write in ten minutes. One whose run is refused is retried,
/// at growing pauses.
pub(super) async fn rests(scene: &Scene, players: &[Player]) -> Result<()> {
    let settle = Duration::from_secs(u64::try_from(asked(SETTLE)?)?);
    let seconds = u64::try_from(asked(REST)?)?;
    sleep(settle).await;
    let before = scene.written()?;
    sleep(Duration::from_secs(seconds)).await;
    let after = scene.written()?;
    let counts = |name: &str| {
        let all = |of: &BTreeMap<String, Vec<_>>| of.get(name).map_or(0, Vec::len);
        all(&after) - all(&before)
    };
    let (refused, others): (Vec<_>, Vec<_>) = players.iter().partition(|it| it.is(REFUSED));
    let sum = |of: &[&Player]| of.iter().map(|it| counts(&it.name)).sum::<usize>();
    println!(
        "{} writes of {} Runnables in {seconds} s at rest, {} of {} that are refused",
        sum(&others),
        others.len(),
        sum(&refused),
        refused.len()
    );
    let words = if settle < WORDS_TAKE {
        WORDS_OF_BOTH
    } else {
        0
    };
    // The minute may end after which a missing object is a failure.
    let stalls = |name: &str| {
        let is = |of: &BTreeMap<String, Vec<_>>| of.get(name).is_some_and(|it| is_stalled(it));
        usize::from(settle < WORDS_TAKE && is(&after) && !is(&before))
    };
    let rate = (others.len() as u64 * seconds).div_ceil(600);
    let mut too_many: Vec<String> = others
        .iter()
        .filter(|it| counts(&it.name) > words.max(1) + stalls(&it.name))
        .map(|it| format!("{}: {}", it.name, counts(&it.name)))
        .collect();
    let stalled = others.iter().map(|it| stalls(&it.name)).sum::<usize>();
    let allowed = usize::try_from(rate)? + words * others.len() + stalled;
    if sum(&others) > allowed {
        too_many.push(format!("{} of {allowed} in all", sum(&others)));
    }
    let of_refused = refused.len() * usize::try_from(seconds.div_ceil(REFUSED_APART))?;
    if settle >= WORDS_TAKE && sum(&refused) > of_refused {
        too_many.push(format!(
            "{} of {of_refused} of those that are refused",
            sum(&refused)
        ));
    }
    for it in &too_many {
        let name = it.split(':').next().unwrap_or_default();
        for (version, status) in after.get(name).into_iter().flatten().rev().take(3) {
            println!("{name} {version} {status}");
        }
    }
    ensure!(too_many.is_empty(), "{too_many:#?}");
    Ok(())
}
