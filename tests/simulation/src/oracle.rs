//! The judge: reads what the API server's store went through, never the controller's own word.
//!
//! The names are those of `docs/exactly-once.md`. Of its exceptions, people delete only runs that are
//! confirmed and settled, so that I1 cannot occur, and what they delete may be `Lost` but is then not asked
//! for outputs (I2). Statuses are emptied and put back at any moment (I3): what follows from that is
//! excused by name, and counted, so that an excuse that is used for everything is seen.

mod beginnings;
mod ledgers;
mod losses;
mod runs;
mod settled;

use std::collections::BTreeMap;

use cartouche_crds::{RUN_SEQUENCE_LABEL, RunnableStatus};
use serde_json::Value;

use crate::{
    store::{Change, Happened, Store},
    strangers::STRANGER,
};

pub use settled::unsettled;

/// Something that must never happen, and did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The property.
    pub property: &'static str,
    /// What happened.
    pub what: String,
}

impl Violation {
    /// A violation of a property.
    #[must_use]
    pub fn new(property: &'static str, what: String) -> Self {
        Self { property, what }
    }
}

/// A known limit of the protocol that excuses what would be a violation without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Excuse {
    /// A create was under way while its Runnable, and with it the run that it made before, was deleted:
    /// the API server carries it out, and garbage collection takes what it made.
    OutlivedItsRunnable,
    /// I3: the run with this number was deleted, and then the status that knew of it was lost.
    DeletedAndForgotten,
    /// I3: the whole status was lost while a create was on its way, and nobody had a reason to wait.
    LostWhileOnItsWay,
    /// I3: the runs that are not known are of another kind, and the ledger was lost and no template stands
    /// for that kind any more, or the whole status was emptied, or an old copy of it was put back.
    LostWithItsKind,
    /// I3: the ledger was lost, or an old one was put back, while somebody's object was there that looks
    /// like a run.
    ForgedAndLost,
    /// Somebody's object was there less than half a minute before the intent, and no watch had shown it
    /// yet: it is taken for the run.
    QuickerThanTheCreate,
    /// A run of the original was deleted before it was compared with what is rendered.
    DeletedUncompared,
    /// The original made two runs in one second, and the API server words what it is sent otherwise:
    /// only one of them is compared with that.
    TiedAndReworded,
    /// The original made two runs in one second, and when they were taken over the inputs were those of neither:
    /// which of them is newer nobody can tell.
    TiedAndChanged,
}

/// What the judge found.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// What must not have happened.
    pub violations: Vec<Violation>,
    /// How often what excused it.
    pub excused: BTreeMap<Excuse, usize>,
}

impl Verdict {
    fn broken(&mut self, property: &'static str, what: String) {
        self.violations.push(Violation::new(property, what));
    }

    fn excuse(&mut self, excuse: Excuse) {
        *self.excused.entry(excuse).or_default() += 1;
    }

    /// What both found.
    pub fn add(&mut self, other: Self) {
        self.violations.extend(other.violations);
        for (excuse, times) in other.excused {
            *self.excused.entry(excuse).or_default() += times;
        }
    }
}

/// What broke S1 to S5.
#[must_use]
pub fn forbidden(store: &Store) -> Verdict {
    let losses = losses::Losses::of(store);
    let mut found = Verdict::default();
    runs::judge(store, &losses, &mut found);
    beginnings::judge(store, &mut found);
    found.add(ledgers::judged(store, &losses));
    found
}

/// Whether a change made a run with a number. What a stranger made is none.
#[must_use]
pub fn makes_a_run(change: &Change) -> bool {
    change.happened == Happened::Created
        && change.key.resource.is_run()
        && change.actor != STRANGER
        && number(&change.object).is_some()
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn uid(object: &Value) -> &str {
    text(object, "/metadata/uid")
}

fn owner(object: &Value) -> &str {
    text(object, "/metadata/ownerReferences/0/uid")
}

/// The sequence on the label of a run.
fn number(object: &Value) -> Option<i64> {
    object["metadata"]["labels"]
        .get(RUN_SEQUENCE_LABEL)?
        .as_str()?
        .parse()
        .ok()
}

fn input_hash(object: &Value) -> &str {
    object["metadata"]["annotations"]
        .get(cartouche_crds::INPUT_HASH_ANNOTATION)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The status of a Runnable.
fn status(object: &Value) -> RunnableStatus {
    object
        .get("status")
        .and_then(|status| serde_json::from_value(status.clone()).ok())
        .unwrap_or_default()
}
