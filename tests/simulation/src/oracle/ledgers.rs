//! What the ledgers say, against the runs that there were: S2 to S5.

use std::collections::{BTreeMap, BTreeSet};

use cartouche_crds::{CurrentRun, RunPhase, RunnableStatus};
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

use super::{
    Excuse, Verdict, input_hash,
    losses::{Losses, Lost, is_stood_for},
    number, owner, status, text, uid,
};
use crate::{
    discovery::Resource,
    people::is_person,
    store::{BEGINNING, Change, Happened, Store},
    strangers::STRANGER,
};

/// A run is never deleted sooner than ten minutes after it was made, give or take what the API
/// server's clock was set by.
const MINIMUM_AGE_SECONDS: i64 = 600 - 120;
/// So much older than its intent a run may seem.
const CLOCKS_SECONDS: i64 = 30;

/// What is known of a run while the log is read.
struct Run<'a> {
    made: &'a Change,
    newest: &'a Value,
    gone: bool,
    /// Somebody, not retention, deleted it while it was under way.
    cut_short: bool,
}

struct Reader<'a> {
    store: &'a Store,
    losses: &'a Losses,
    runs: BTreeMap<&'a str, Run<'a>>,
    ledgers: BTreeMap<&'a str, RunnableStatus>,
    /// Objects of strangers that were taken for runs.
    overtaken: BTreeSet<String>,
    found: Verdict,
}

/// What broke S2 to S5.
pub(super) fn judged(store: &Store, losses: &Losses) -> Verdict {
    let mut reader = Reader {
        store,
        losses,
        runs: BTreeMap::new(),
        ledgers: BTreeMap::new(),
        overtaken: BTreeSet::new(),
        found: Verdict::default(),
    };
    for change in store.log() {
        match change.key.resource {
            Resource::Runnables => reader.ledger(change),
            Resource::Tasks | Resource::Builds => reader.run(change),
            _ => {}
        }
    }
    reader.found
}

impl<'a> Reader<'a> {
    fn broken(&mut self, property: &'static str, change: &Change, what: &str) {
        let what = format!("{} at {}: {what}", change.key.name, change.version);
        self.found.broken(property, what);
    }

    fn run(&mut self, change: &'a Change) {
        let object = &*change.object;
        if change.happened == Happened::Created {
            let run = Run {
                made: change,
                newest: object,
                gone: false,
                cut_short: false,
            };
            self.runs.insert(uid(object), run);
        } else if let Some(run) = self.runs.get_mut(uid(object)) {
            run.newest = object;
            let ended = object.pointer("/status/conditions").is_some();
            if change.happened == Happened::Deleted {
                run.gone = true;
                run.cut_short = !ended;
                if change.actor.contains(" as ") {
                    self.retired(change, ended);
                }
            }
        }
    }

    /// S5.
    fn retired(&mut self, change: &Change, ended: bool) {
        let object = &*change.object;
        let uid = uid(object);
        let age = self
            .runs
            .get(uid)
            .map(|run| change.at.as_secs().cast_signed() - run.made_at());
        let ledger = self.ledgers.get(owner(object));
        let is = |other: Option<&str>| other == Some(uid);
        let current = ledger
            .and_then(|ledger| ledger.current_run.as_ref())
            .is_some_and(|run| is(run.uid.as_deref()));
        let source = ledger
            .and_then(|ledger| ledger.outputs_from.as_ref())
            .is_some_and(|from| is(Some(&from.uid)));
        let known = ledger
            .is_some_and(|ledger| ledger.history.iter().any(|entry| is(entry.uid.as_deref())));
        if !ended || current || source || !known {
            self.broken("S5", change, "it was deleted, but had to stay");
        }
        if age.is_none_or(|age| age < MINIMUM_AGE_SECONDS) {
            self.broken(
                "S5",
                change,
                &format!("it was deleted after {age:?} seconds"),
            );
        }
    }

    fn ledger(&mut self, change: &'a Change) {
        let object = &*change.object;
        let new = status(object);
        let old = self
            .ledgers
            .insert(uid(object), new.clone())
            .unwrap_or_default();
        if is_person(&change.actor) && old != new {
            return;
        }
        self.content(change, &new);
        self.growth(change, &old, &new);
        self.outputs(change, &old, &new);
    }

    /// S2: what the ledger says of a run is so.
    fn content(&mut self, change: &Change, ledger: &RunnableStatus) {
        let current = ledger.current_run.iter();
        let current = current.map(|run| (run.sequence, &run.input_hash, &run.uid));
        let history = ledger.history.iter();
        let history = history.map(|run| (run.sequence, &run.input_hash, &run.uid));
        let entries: Vec<_> = current.chain(history).collect();
        for (sequence, hash, uid) in entries {
            let Some(uid) = uid else { continue };
            if self.is_strangers(uid) {
                self.stranger(change, ledger, uid);
                continue;
            }
            let same = self.runs.get(uid.as_str()).is_some_and(|run| {
                // Those of the original say neither; `beginnings` looks at them.
                let other = number(run.newest).is_none();
                other || number(run.newest) == Some(sequence) && input_hash(run.newest) == hash
            });
            if !same {
                let what = format!("run {sequence} is said to be {uid}, which it is not");
                self.broken("S2", change, &what);
            }
        }
    }

    fn is_strangers(&self, uid: &str) -> bool {
        let run = self.runs.get(uid);
        run.is_some_and(|run| run.made.actor == STRANGER)
    }

    /// S4: what somebody else made is no run, unless it overtook the create.
    fn stranger(&mut self, change: &Change, ledger: &RunnableStatus, uid: &str) {
        if self.overtaken.contains(uid) {
            return;
        }
        let owner_uid = super::uid(&change.object);
        let made = self.runs.get(uid).map(|run| {
            let at = text(&run.made.object, "/metadata/creationTimestamp");
            at.parse::<Timestamp>().unwrap_or_default()
        });
        let intended = self.intended(change, ledger, uid);
        let young = made.zip(intended).is_some_and(|(made, intended)| {
            intended.duration_since(made).as_secs() <= CLOCKS_SECONDS
        });
        let lost = self.losses.between(owner_uid, 0, change.version);
        if !lost.is_empty() {
            self.overtaken.insert(uid.to_owned());
            self.found.excuse(Excuse::ForgedAndLost);
        } else if young {
            self.overtaken.insert(uid.to_owned());
            self.found.excuse(Excuse::QuickerThanTheCreate);
        } else {
            self.broken("S4", change, &format!("{uid} is somebody else's"));
        }
    }

    /// When the number was intended for which a ledger takes an object.
    fn intended(&self, change: &Change, ledger: &RunnableStatus, uid: &str) -> Option<Timestamp> {
        let current = ledger.current_run.iter();
        let current = current.map(|run| (run.sequence, &run.uid));
        let history = ledger.history.iter().map(|run| (run.sequence, &run.uid));
        let mut runs = current.chain(history);
        let (sequence, _) = runs.find(|(_, known)| known.as_deref() == Some(uid))?;
        let log = self.store.log().iter();
        let mut before = log.filter(|it| it.key == change.key && it.version <= change.version);
        before.find_map(|earlier| {
            let status = super::status(&earlier.object);
            let current = status.current_run.filter(|run| run.sequence == sequence)?;
            Some(current.intent_at?.0)
        })
    }

    /// S3: every number has a cause, and none is used twice or given back.
    fn growth(&mut self, change: &Change, old: &RunnableStatus, new: &RunnableStatus) {
        let (Some(before), Some(after)) = (&old.current_run, &new.current_run) else {
            if old.current_run.is_some() && change.happened != Happened::Deleted {
                self.broken("S3", change, "the ledger is gone");
            }
            if let Some(after) = &new.current_run {
                self.beginning(change, after);
            }
            return;
        };
        if after.sequence < before.sequence {
            self.broken("S3", change, "the number went back");
        }
        let lost = !self
            .losses
            .between(uid(&change.object), 0, change.version)
            .is_empty();
        let has_cause = self.has_cause(before, after) || lost && self.catches_up(after);
        if after.sequence > before.sequence && !has_cause {
            let what = format!("run {} has no cause", after.sequence);
            self.broken("S3", change, &what);
        }
    }

    /// A ledger where there was none begins with the newest run that there is.
    fn beginning(&mut self, change: &Change, after: &CurrentRun) {
        let adopted = after.uid.as_deref().and_then(|uid| self.runs.get(uid));
        let mut live = self.runs.values().filter(|run| {
            !run.gone
                && run.made.actor != STRANGER
                && owner(run.newest) == uid(&change.object)
                && adopted.is_none_or(|adopted| run.is_newer_than(adopted))
        });
        let Some(newer) = live.next() else { return };
        let losses = self.losses.between(uid(&change.object), 0, change.version);
        let silent = losses.last().filter(|loss| loss.lost == Lost::Everything);
        if silent.is_some_and(|loss| newer.made.version > loss.version) {
            self.found.excuse(Excuse::LostWhileOnItsWay);
            return;
        }
        let kind = newer.made.key.resource;
        let other_kind = kind.kind() != after.kind;
        let unseen = silent.is_some() || !is_stood_for(self.store, kind, change.version);
        if !losses.is_empty() && other_kind && unseen {
            self.found.excuse(Excuse::LostWithItsKind);
            return;
        }
        let what = format!(
            "run {} begins, though {} is there",
            after.sequence, newer.made.key.name
        );
        self.broken("S3", change, &what);
    }

    /// A backup was put back, and the runs that are newer than it were found.
    fn catches_up(&self, after: &CurrentRun) -> bool {
        let run = after.uid.as_deref().and_then(|uid| self.runs.get(uid));
        run.is_some_and(|run| number(run.newest).is_none_or(|number| number == after.sequence))
    }

    /// The name of the number before is held by what somebody else made.
    fn is_taken(&self, before: &CurrentRun) -> bool {
        let mut runs = self.runs.values();
        before.phase != RunPhase::Created
            && runs.any(|run| {
                run.made.actor == STRANGER && run.made.key.name == before.name && !run.gone
            })
    }

    fn has_cause(&self, before: &CurrentRun, after: &CurrentRun) -> bool {
        let cut_short = before
            .uid
            .as_deref()
            .and_then(|uid| self.runs.get(uid))
            .is_some_and(|run| run.cut_short);
        before.input_hash != after.input_hash
            || (before.phase == RunPhase::Created && before.rerun_token != after.rerun_token)
            || cut_short
            || self.is_taken(before)
    }

    /// S4: outputs come from runs that the ledger knows, and never go back.
    fn outputs(&mut self, change: &Change, old: &RunnableStatus, new: &RunnableStatus) {
        let Some(from) = &new.outputs_from else {
            if change.happened == Happened::Deleted {
                return;
            }
            if old.outputs_from.is_some() {
                self.broken("S4", change, "where the outputs are from is gone");
            }
            if old.outputs.is_some() && old.outputs != new.outputs {
                self.broken("S4", change, "outputs that nothing has replaced are gone");
            }
            return;
        };
        if old
            .outputs_from
            .as_ref()
            .is_some_and(|old| old.sequence > from.sequence)
        {
            self.broken("S4", change, "the outputs went back");
        }
        let current = new
            .current_run
            .iter()
            .map(|run| (run.sequence, run.uid.as_deref()));
        let history = new
            .history
            .iter()
            .map(|run| (run.sequence, run.uid.as_deref()));
        let known = current
            .chain(history)
            .any(|run| run == (from.sequence, Some(from.uid.as_str())));
        let kept = old.outputs_from.as_ref() == Some(from);
        let answer = new
            .outputs
            .as_ref()
            .and_then(|outputs| outputs.get("answer"));
        let given = self.runs.get(from.uid.as_str()).is_some_and(|run| {
            answer.and_then(Value::as_str) == Some(text(run.newest, "/status/answer"))
        });
        if !(known || kept) || !given {
            self.broken(
                "S4",
                change,
                "the outputs are not those of a run that it knows",
            );
        }
    }
}

impl Run<'_> {
    /// Seconds after the beginning; what the original made is older.
    fn made_at(&self) -> i64 {
        if number(&self.made.object).is_some() {
            return self.made.at.as_secs().cast_signed();
        }
        let at = text(&self.made.object, "/metadata/creationTimestamp").parse::<Timestamp>();
        at.map_or(0, |at| at.as_second() - BEGINNING)
    }

    /// By the number, and by the time where one of them is the original's.
    fn is_newer_than(&self, other: &Self) -> bool {
        let created = |run: &Self| text(&run.made.object, "/metadata/creationTimestamp").to_owned();
        match (number(&self.made.object), number(&other.made.object)) {
            (Some(this), Some(other)) => this > other,
            _ => created(self) > created(other),
        }
    }
}
