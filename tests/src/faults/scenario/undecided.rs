//! Ends that the protocol declares undecidable, each with its name and its exact runs.

use serde_json::json;

use super::Scenario;
use crate::faults::record::{End, Run};

/// An undecidable end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undecided {
    /// Its name in lists.
    pub name: &'static str,
    /// The number of two runs, if the end is that.
    pub twice: Option<i64>,
}

/// No controller saw the deletion of the run: its end cannot be known, and nothing is made again.
const LOST: Undecided = Undecided {
    name: "Lost: the unfinished run was gone while no controller watched",
    twice: None,
};
/// The confirmation died with its controller.
const AGAIN: Undecided = Undecided {
    name: "I1: deleted before it was confirmed, while no controller watched, and made again under its number",
    twice: Some(1),
};
/// A create was sent twice, and the first to arrive was deleted before the second arrived.
const LATE: Undecided = Undecided {
    name: "I1: deleted before it was confirmed, while another create for it was on its way",
    twice: Some(1),
};

impl Scenario {
    /// Returns the undecidable case if this end is one.
    #[must_use]
    pub fn undecidable(self, end: &End) -> Option<Undecided> {
        let numbered = |runs: &[Run]| -> Vec<(i64, i64)> {
            let numbered = runs.iter().map(|run| (run.sequence, run.value));
            numbered
                .map(|(sequence, value)| (sequence, value.unwrap_or_default()))
                .collect()
        };
        let (made, exist) = (numbered(&end.made), numbered(&end.exist));
        if end.deleted > 0 {
            return None;
        }
        // Numbers with values, of those that were made and of those that are left.
        match (self, made.as_slice(), exist.as_slice()) {
            (Self::DeletedRun, [(1, 1)], [])
                if end.current.get("result") == Some(&json!("Lost")) =>
            {
                Some(LOST)
            }
            (Self::KindRemovedAmidRun | Self::DeletedUnconfirmed, [(1, 1), (2, 2)], [(2, 2)])
                if is_settled(end, 2) && is_lost(end, 1) =>
            {
                Some(LOST)
            }
            (Self::DeletedUnconfirmed, [(1, 1), (1, 1), (2, 2)], [(1, 1), (2, 2)])
                if is_settled(end, 2) && is_same(&end.made[..2]) =>
            {
                Some(AGAIN)
            }
            (
                Self::DeletedUnconfirmed,
                [(1, 1), (1, 1), (2, 1), (3, 2)],
                [(1, 1), (2, 1), (3, 2)],
            ) if is_settled(end, 3) && is_same(&end.made[..2]) => Some(LATE),
            _ => None,
        }
    }
}

/// Returns true if the last change has its run, and the run its outputs.
fn is_settled(end: &End, sequence: i64) -> bool {
    let current = &end.current;
    current.get("sequence") == Some(&json!(sequence))
        && current.get("result") == Some(&json!("Succeeded"))
        && end.outputs == json!([{ "value": 2 }, sequence])
}

/// Returns true if the history has this run with an unknown end.
fn is_lost(end: &End, sequence: i64) -> bool {
    let mut of_it = end
        .history
        .iter()
        .filter(|entry| entry.get("sequence") == Some(&json!(sequence)));
    of_it.any(|entry| entry.get("result") == Some(&json!("Lost")))
}

/// Returns true if these runs have the same content.
fn is_same(runs: &[Run]) -> bool {
    runs.windows(2).all(|pair| pair[0].hash == pair[1].hash)
}
