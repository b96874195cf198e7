//! The state of knowledge at an event.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use cartouche_crds::RunnableStatus;

use crate::{
    history::{Actor, Event, Object, Run, Runnable, Time, Verb},
    loss::{Loss, Lost, is_loss},
    runs::Runs,
    verdict::Verdict,
};

/// Extent of the events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sight {
    /// All of it.
    #[default]
    Whole,
    /// Logged or observed events: an unlogged status may lie between two of them, so that no number can be
    /// checked for its cause. The makers of objects before the record began are unknown.
    Record,
    /// A record whose writer was killed and lost the unlogged events, so that no run can be checked for its
    /// intent.
    Torn,
    /// The present only, with the knowledge of each run: earlier intents are unknown.
    Moment,
}

impl Sight {
    /// Returns true if more has happened than the events show.
    pub(crate) fn is_partial(self) -> bool {
        matches!(self, Self::Record | Self::Torn)
    }

    /// Returns true if the events have every intent.
    pub(crate) fn has_intents(self) -> bool {
        matches!(self, Self::Whole | Self::Record)
    }
}

/// A known run.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools)] // facts, each on its own
pub struct Known {
    /// The run.
    pub run: Run,
    /// Its maker. [`Actor::Controller`] makes runs of ours.
    pub maker: Actor,
    /// Time at which it was made, or was first known.
    pub at: Time,
    /// The same in seconds.
    pub second: Option<i64>,
    /// The hash that a user has written on it since it was made.
    pub rehashed: Option<String>,
    /// Time of its deletion; `None` if it exists.
    pub gone: Option<Time>,
    /// True if it was deleted before it had ended.
    pub cut_short: bool,
    /// True if a user had asked it to stop before it ended.
    pub cancelled: bool,
    /// True if a user deleted it before a ledger knew it, or while a create for it was on its way (I1).
    pub unrecorded: bool,
    /// True if the status was lost since it was made (I3).
    pub forgettable: bool,
    /// True if a ledger has named its uid.
    pub recorded: bool,
    /// True if a ledger has recorded it as the source of the outputs.
    pub gave: bool,
    /// True if it had succeeded when the number of the status was lost, or given the outputs when anything
    /// was (I3).
    pub had_succeeded: bool,
    /// True if it is a stranger's, and was taken for a run, which is excused.
    pub overtaken: bool,
}

impl Known {
    /// Returns an existing run.
    #[must_use]
    pub fn new(run: Run, maker: Actor, at: Time) -> Self {
        Self {
            cancelled: run.cancelled,
            run,
            maker,
            at,
            second: None,
            rehashed: None,
            gone: None,
            cut_short: false,
            unrecorded: false,
            forgettable: false,
            recorded: false,
            gave: false,
            had_succeeded: false,
            overtaken: false,
        }
    }

    /// Returns true if it exists.
    pub(crate) fn is_there(&self) -> bool {
        self.gone.is_none()
    }

    /// Returns true if a Runnable's controllers made it: ours, or the original.
    pub(crate) fn is_of(&self, runnable: &str) -> bool {
        self.maker != Actor::Stranger && self.run.runnable == runnable
    }

    /// Returns true if it is a run of ours, with a number.
    pub(crate) fn is_ours(&self) -> bool {
        self.maker == Actor::Controller && self.run.number.is_some()
    }

    /// Compares the numbers, or the times where one of them is the original's.
    pub(crate) fn is_newer_than(&self, other: &Self) -> bool {
        match (self.run.number, other.run.number) {
            (Some(this), Some(other)) => this > other,
            _ => self.run.created > other.run.created,
        }
    }
}

/// A known Runnable.
#[derive(Clone, Debug, Default)]
pub struct Served {
    /// Its status.
    pub status: Arc<RunnableStatus>,
    /// True if a backup was restored, and no run was intended since.
    pub restored: bool,
    pub(crate) gone: bool,
    /// The highest number that was ever current in its status.
    pub(crate) reached: i64,
    /// Runs whose stop its ledger has recorded.
    pub(crate) told: BTreeSet<String>,
    /// Time since when the present number is current.
    pub(crate) since: Time,
    pub(crate) losses: Vec<Loss>,
    /// Profiles at the intents of runs, by number and name.
    pub(crate) pins: BTreeMap<(i64, String), BTreeSet<Option<String>>>,
    /// Numbers, hashes and names that a ledger gave, with the first time and its `intentAt` in seconds.
    pub(crate) intents: BTreeMap<(i64, String, String), (Time, Option<i64>)>,
}

impl Served {
    /// Returns a Runnable with this status.
    #[must_use]
    pub fn new(status: Arc<RunnableStatus>, restored: bool) -> Self {
        Self {
            status,
            restored,
            ..Self::default()
        }
    }
}

/// The events so far, and the judge's findings.
#[derive(Clone, Debug, Default)]
pub struct Past {
    pub(crate) sight: Sight,
    pub(crate) runs: Runs,
    pub(crate) runnables: BTreeMap<String, Served>,
    pub(crate) templates: BTreeMap<String, String>,
    pub(crate) most_attempts: Option<i64>,
    pub(crate) is_without_overlap: bool,
    pub(crate) needs_approval: bool,
    /// Creates that were given up, by name.
    given_up: BTreeMap<String, Run>,
    pub(crate) found: Verdict,
}

impl Past {
    /// Returns a past without events.
    #[must_use]
    pub fn new(sight: Sight) -> Self {
        Self {
            sight,
            ..Self::default()
        }
    }

    /// Returns a past as a world shows it: it is not judged.
    #[must_use]
    pub fn shown(runs: Vec<Known>, runnables: BTreeMap<String, Served>) -> Self {
        Self {
            sight: Sight::Moment,
            runs: runs.into_iter().collect(),
            runnables,
            ..Self::default()
        }
    }

    /// Returns the findings.
    #[must_use]
    pub fn verdict(self) -> Verdict {
        self.found
    }

    /// Returns the runs that were made for Runnables, in the order in which they became known.
    pub fn made(&self) -> impl Iterator<Item = &Run> {
        let made = self.runs.iter().filter(|it| it.maker == Actor::Controller);
        made.map(|known| &known.run)
    }

    /// Judges an event by the earlier ones, and remembers it.
    ///
    /// A create that was given up is remembered by its name. It made a run if an object with a number is seen
    /// that no other actor is known to have made, or if a ledger confirms a uid for its name.
    pub fn tell(&mut self, event: Event) {
        let (at, actor, verb) = (event.at, event.actor, event.verb);
        match event.object {
            Object::Template { name, kind } => {
                self.templates.insert(name, kind);
            }
            Object::Run(run) => self.tell_run((at, event.second), actor, verb, run),
            Object::Runnable(runnable) => match verb {
                Verb::Deleted => self.served(&runnable.uid).gone = true,
                Verb::GivenUp => self.announce(at, &runnable),
                Verb::Created | Verb::Changed => {
                    self.tell_status((at, event.second), actor, &runnable);
                }
            },
        }
    }

    fn tell_run(&mut self, at: (Time, Option<i64>), actor: Actor, verb: Verb, run: Run) {
        if verb == Verb::GivenUp {
            self.given_up.insert(run.name.clone(), run);
            return;
        }
        let Some(index) = self.runs.at(&run.uid) else {
            // An object without a number is the original's, or no run.
            let is_run = run.number.is_some_and(|number| number > 0);
            if verb == Verb::Created || verb == Verb::Changed && is_run {
                self.make(at, actor, run);
            }
            return;
        };
        let known = &mut self.runs[index];
        if verb == Verb::Deleted {
            // A world that sees little may not know its end.
            known.run.result = known.run.result.or(run.result);
            if actor == Actor::Controller {
                self.retired(at.1, index);
            }
            let known = &mut self.runs[index];
            if known.is_there() {
                known.gone = Some(at.0);
                known.cut_short = known.run.result.is_none();
                known.unrecorded |= actor != Actor::Controller && !known.recorded;
            }
        } else {
            known.cancelled |= run.cancelled && known.run.result.is_none();
            known.run.result = run.result;
            known.run.answer = run.answer;
            if !run.hash.is_empty() && run.hash != known.run.hash {
                known.rehashed = Some(run.hash);
            }
        }
    }

    fn make(&mut self, (at, second): (Time, Option<i64>), maker: Actor, run: Run) {
        let index = self.runs.push(Known {
            second,
            ..Known::new(run, maker, at)
        });
        let made = &self.runs[index];
        if made.is_ours() {
            self.judge_made(index);
        } else if made.maker == Actor::Controller {
            let what = format!("{} has no number", made.run.name);
            self.found.broken("S1", what);
        }
    }

    fn tell_status(
        &mut self,
        (at, second): (Time, Option<i64>),
        actor: Actor,
        runnable: &Runnable,
    ) {
        let Runnable {
            uid,
            status,
            approved,
            refresh,
        } = runnable.clone();
        let known = self.runnables.contains_key(&uid);
        let old = Arc::clone(&self.served(&uid).status);
        if actor == Actor::Controller {
            self.confirm(at, &status);
            self.announce(at, runnable);
            self.note_pin(&uid, &old, &status);
            self.judge_pin(&uid, (&old, &status), refresh.as_deref());
            self.judge_approval(&uid, (&old, &status), approved.as_deref(), second);
            self.judge_written(&uid, &old, &status, second);
            let source = status.outputs_from.as_ref();
            if let Some(run) = source.and_then(|from| self.run_mut(&from.uid)) {
                run.gave = true;
            }
        } else if known && is_loss(&old, &status) {
            let lost = Lost::from(&status);
            let served = self.served(&uid);
            served.losses.push(Loss { at, lost });
            served.restored |= lost == Lost::Since;
            // Where the number stays, nothing shows that the runs have to be read again.
            let is_seen = numbered(&old) != numbered(&status);
            for run in self.runs.iter_mut().filter(|it| it.run.runnable == uid) {
                run.forgettable = true;
                run.had_succeeded |= run.gave || is_seen && run.run.result == Some(true);
            }
        }
        for (_, _, uid) in entries(&status) {
            if let Some(index) = uid.and_then(|uid| self.runs.at(uid)) {
                self.runs[index].recorded = true;
            }
        }
        let served = self.served(&uid);
        if numbered(&served.status) != numbered(&status) {
            served.since = at;
        }
        let number = status.current_run.as_ref().map_or(0, |run| run.sequence);
        served.reached = served.reached.max(number);
        served.status = status;
    }

    fn judge_written(
        &mut self,
        runnable: &str,
        old: &RunnableStatus,
        new: &RunnableStatus,
        second: Option<i64>,
    ) {
        self.judge_content(runnable, new);
        self.judge_growth(runnable, old, new, second);
        self.judge_retries(runnable, old, new);
        self.judge_overlap(runnable, old, new);
        self.judge_stops(runnable, old, new);
        self.judge_outputs(runnable, old, new);
        let number = |status: &RunnableStatus| {
            let current = status.current_run.as_ref();
            current.map(|run| run.sequence)
        };
        let current = new.current_run.as_ref();
        if current.is_some_and(|run| run.uid.is_none()) && number(old) < number(new) {
            self.served(runnable).restored = false;
        }
    }

    /// Adds the runs that a ledger knows by their uid, but of which only a create that was given up was seen.
    fn confirm(&mut self, at: Time, status: &RunnableStatus) {
        let current = status.current_run.iter().map(|run| (&run.uid, &run.name));
        let history = status.history.iter().map(|run| (&run.uid, &run.name));
        let confirmed = current.chain(history);
        let confirmed = confirmed.filter_map(|(uid, name)| Some((uid.as_deref()?, name)));
        let unseen: BTreeSet<_> = confirmed
            .filter(|(uid, _)| self.runs.at(uid).is_none())
            .collect();
        for (uid, name) in unseen {
            if let Some(asked) = self.given_up.get(name) {
                let uid = uid.to_owned();
                let run = Run {
                    uid,
                    ..asked.clone()
                };
                self.make((at, None), Actor::Controller, run);
            }
        }
    }

    fn announce(&mut self, at: Time, runnable: &Runnable) {
        if let Some(current) = &runnable.status.current_run {
            let (hash, name) = (current.input_hash.clone(), current.name.clone());
            let intended = current.intent_at.as_ref().map(|time| time.0.as_second());
            let served = self.served(&runnable.uid);
            let intent = (current.sequence, hash, name);
            served.intents.entry(intent).or_insert((at, intended));
        }
    }

    pub(crate) fn served(&mut self, uid: &str) -> &mut Served {
        self.runnables.entry(uid.to_owned()).or_default()
    }

    pub(crate) fn run(&self, uid: &str) -> Option<&Known> {
        self.runs.at(uid).map(|index| &self.runs[index])
    }

    pub(crate) fn run_mut(&mut self, uid: &str) -> Option<&mut Known> {
        self.runs.at(uid).map(|index| &mut self.runs[index])
    }

    pub(crate) fn losses(&self, runnable: &str) -> &[Loss] {
        let served = self.runnables.get(runnable);
        served.map_or(&[], |served| &served.losses)
    }
}

/// Returns the number and the name of the current run.
fn numbered(status: &RunnableStatus) -> Option<(i64, &str)> {
    let current = status.current_run.as_ref();
    current.map(|run| (run.sequence, &*run.name))
}

/// An entry of a run in a status: number, hash, uid.
pub(crate) type Entry<'a> = (i64, &'a str, Option<&'a str>);

/// Returns the runs in a status.
pub(crate) fn entries(status: &RunnableStatus) -> impl Iterator<Item = Entry<'_>> {
    let current = status.current_run.iter();
    let current = current.map(|run| (run.sequence, &*run.input_hash, run.uid.as_deref()));
    let history = status.history.iter();
    let history = history.map(|run| (run.sequence, &*run.input_hash, run.uid.as_deref()));
    current.chain(history)
}
