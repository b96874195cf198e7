//! Fair order of reconciliations. Pure.
//!
//! A Runnable is reconciled by one task at a time. No namespace starves the others: its share of concurrent
//! reconciliations depends on how many namespaces have work. Within a namespace changes start before results are
//! recorded, so that when many change at once the last run need not wait for the end of the first. An edited template
//! reruns many Runnables: everything else comes before that.
//!
//! Heavy Runnables take turns one at a time, by namespace and in order. A change of one keeps the controller and the
//! API server busy for long, so its namespace rests from such changes afterwards. Other reconciles of heavy ones, for
//! results, sources and polls, take a tenth of the time once the namespace has used up a burst, if each takes less than
//! 3.3 seconds. Light ones are not affected.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use crate::runnable_key::RunnableKey;

/// Number of changed Runnables in a row after which one without a change follows, so that results always get through.
const CHANGES_IN_A_ROW: u32 = 3;
/// One in this many reconciliations is for Runnables of edited templates, whatever else waits.
const FOR_TEMPLATES: u32 = 8;
/// Length of a namespace's rest after a change of a heavy Runnable, as a multiple of its duration: such changes take a
/// twentieth of the time. A status write of such a Runnable keeps one processor of the API server busy throughout.
const REST: u32 = 19;
/// Longest rest, since a slow API server makes reconciliations long.
const LONGEST_REST: Duration = Duration::from_secs(30);
/// Pause that reconciles of heavy ones without a change cause, as a multiple of their duration.
const PAUSE: u32 = 9;
/// Pauses that a namespace may owe before it waits: ten seconds of such reconciles, enough for the first look at a
/// hundred of 0.1 s.
const BURST: Duration = Duration::from_secs(90);

/// Urgency of a reconciliation; the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Priority {
    /// Its spec has changed.
    Changed,
    /// Its template has changed, and possibly those of many others with it.
    Template,
    /// A run has ended, or anything else.
    Other,
}

/// Turn of one Runnable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) key: RunnableKey,
    /// True if it needs the place for heavy ones.
    pub(super) is_heavy: bool,
}

/// Running and waiting reconciliations.
pub(super) struct FairQueue {
    /// Maximum number of concurrent reconciliations.
    most: usize,
    /// Number of reconciliations that namespaces share by need. The others are for idle namespaces, one each, so that
    /// such a namespace waits only for as many others as there are such places.
    shared: usize,
    /// Number of running reconciliations, and of namespaces that have any.
    running: usize,
    busy: usize,
    /// Number of waiting Runnables of all namespaces.
    waiting: usize,
    namespaces: HashMap<String, Namespace>,
    /// Namespaces with a waiting light Runnable; the next one first.
    order: VecDeque<String>,
    /// Namespaces with a waiting heavy Runnable, likewise.
    heavy_order: VecDeque<String>,
    /// The heavy Runnable that is being reconciled, and whether it has changed.
    heavy: Option<(RunnableKey, bool)>,
    /// True if the last turn was that of a heavy Runnable.
    was_heavy: bool,
    /// Namespaces that rest from heavy Runnables.
    rests: HashMap<String, Rest>,
    /// Time of the last call of `get`.
    asked_at: Duration,
}

/// Times until which a namespace rests from heavy Runnables.
#[derive(Default)]
struct Rest {
    /// End of the rest from changed ones.
    changed: Duration,
    /// End of the pauses that the others owe.
    owed: Duration,
}

impl Rest {
    /// Returns the time from which a heavy Runnable may begin.
    fn end(&self, has_changed: bool) -> Duration {
        if has_changed {
            self.changed
        } else {
            self.owed.saturating_sub(BURST)
        }
    }

    /// Adds the rest after a reconcile of this duration.
    fn add(&mut self, has_changed: bool, now: Duration, took: Duration) {
        if has_changed {
            self.changed = now + took.saturating_mul(REST).min(LONGEST_REST);
        } else {
            let pause = took.saturating_mul(PAUSE).min(LONGEST_REST);
            // The time of the reconcile itself pays for no pause.
            let owed = (self.owed + took).max(now) + pause;
            self.owed = owed.min(now + BURST + LONGEST_REST);
        }
    }

    fn is_over(&self, now: Duration) -> bool {
        self.changed.max(self.owed) <= now
    }
}

#[derive(Default)]
struct Namespace {
    /// Runnables that are being reconciled, each with the priority of its next turn, if it was enqueued again.
    reconciling: HashMap<String, Option<Priority>>,
    /// Waiting light Runnables, each with its highest priority.
    waiting: HashMap<String, Priority>,
    /// Order of the waiting ones, for each priority. One that has become more urgent is in two.
    changed: VecDeque<String>,
    of_templates: VecDeque<String>,
    others: VecDeque<String>,
    /// Waiting heavy ones, in order.
    heavy: VecDeque<String>,
    /// The same, each with whether it or its template has changed.
    heavy_waiting: HashMap<String, bool>,
    /// Number of changed ones that had their turn in a row.
    row: u32,
    /// Number of turns since the last one for a template.
    since_template: u32,
}

impl FairQueue {
    /// Creates a queue for this many concurrent reconciliations.
    pub(super) fn new(concurrency: u16) -> Self {
        let most = usize::from(concurrency);
        Self {
            most,
            shared: most - (most / 4).max(usize::from(most > 1)),
            running: 0,
            busy: 0,
            waiting: 0,
            namespaces: HashMap::new(),
            order: VecDeque::new(),
            heavy_order: VecDeque::new(),
            heavy: None,
            was_heavy: false,
            rests: HashMap::new(),
            asked_at: Duration::ZERO,
        }
    }

    /// Enqueues a Runnable. If it is being reconciled, it follows once more after that.
    pub(super) fn enqueue(&mut self, key: &RunnableKey, priority: Priority) {
        let namespace = self.namespaces.entry(key.namespace.clone()).or_default();
        let was_empty = namespace.waiting.is_empty();
        let waited = namespace.waiting.len();
        namespace.enqueue(&key.name, priority);
        self.waiting += namespace.waiting.len() - waited;
        if was_empty && !namespace.waiting.is_empty() {
            self.order.push_back(key.namespace.clone());
        }
    }

    /// Returns the number of waiting Runnables, without those that are being reconciled and will be once more.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Begins the next reconciliation, if one may begin. Calls `is_heavy` for each Runnable when it is its turn.
    pub(super) fn get(
        &mut self,
        now: Duration,
        is_heavy: impl Fn(&RunnableKey) -> bool,
    ) -> Option<Turn> {
        self.asked_at = now;
        if self.running >= self.most {
            return None;
        }
        // If there is one place, light ones get it as often as heavy ones.
        let first = if self.was_heavy {
            None
        } else {
            self.get_heavy(now)
        };
        let turn = first
            .or_else(|| self.get_light(is_heavy))
            .or_else(|| self.get_heavy(now))?;
        self.was_heavy = turn.is_heavy;
        self.begin(&turn.key);
        Some(turn)
    }

    /// Returns the next end of a rest in a namespace with a waiting heavy Runnable, when `get` must be called again. It
    /// includes rests that ended since the last call.
    pub(super) fn rest_ends(&self) -> Option<Duration> {
        let resting = self
            .heavy_order
            .iter()
            .filter_map(|name| self.rests.get(name));
        let ends = resting.flat_map(|rest| [rest.end(true), rest.end(false)]);
        ends.filter(|end| *end > self.asked_at).min()
    }

    /// Takes the next light Runnable. Those before it that are heavy by now move to the heavy ones.
    fn get_light(&mut self, is_heavy: impl Fn(&RunnableKey) -> bool) -> Option<Turn> {
        // No more namespaces than there are reconciliations can have their share already.
        for _ in 0..self.order.len() {
            let name = self.order.pop_front()?;
            let has_room = self.has_room(&name);
            let namespace = self.namespaces.get_mut(&name)?;
            let had_heavy = !namespace.heavy.is_empty();
            let mut next = None;
            while has_room
                && next.is_none()
                && let Some((runnable, priority)) = namespace.get()
            {
                let key = RunnableKey {
                    namespace: name.clone(),
                    name: runnable,
                };
                if is_heavy(&key) {
                    namespace.wait_as_heavy(key.name, priority != Priority::Other);
                } else {
                    next = Some(key);
                }
            }
            if !had_heavy && !namespace.heavy.is_empty() {
                self.heavy_order.push_back(name.clone());
            }
            if !namespace.waiting.is_empty() {
                self.order.push_back(name);
            }
            if let Some(key) = next {
                return Some(Turn {
                    key,
                    is_heavy: false,
                });
            }
        }
        None
    }

    /// Takes the next heavy Runnable. A namespace that may not have its turn yet keeps its place in the order.
    fn get_heavy(&mut self, now: Duration) -> Option<Turn> {
        if self.heavy.is_some() {
            return None;
        }
        let (at, next) = self.heavy_order.iter().enumerate().find_map(|(at, name)| {
            let namespace = self.namespaces.get(name).filter(|_| self.has_room(name))?;
            let rest = self.rests.get(name);
            let may = |has_changed| rest.is_none_or(|rest| rest.end(has_changed) <= now);
            Some((at, namespace.next_heavy(may)?))
        })?;
        let name = self.heavy_order.remove(at)?;
        let namespace = self.namespaces.get_mut(&name)?;
        let runnable = namespace.heavy.remove(next)?;
        let has_changed = namespace.heavy_waiting.remove(&runnable)?;
        if !namespace.heavy.is_empty() {
            self.heavy_order.push_back(name.clone());
        }
        let key = RunnableKey {
            namespace: name,
            name: runnable,
        };
        self.heavy = Some((key.clone(), has_changed));
        Some(Turn {
            key,
            is_heavy: true,
        })
    }

    /// Returns true if one more Runnable of a namespace may be reconciled.
    fn has_room(&self, name: &str) -> bool {
        let namespace = self.namespaces.get(name);
        let reconciling = namespace.map_or(0, |it| it.reconciling.len());
        let idle = reconciling == 0;
        let sharing = self.busy + usize::from(idle);
        let share = (self.shared / sharing).max(1);
        (idle || self.running < self.shared) && reconciling < share
    }

    fn begin(&mut self, key: &RunnableKey) {
        if let Some(namespace) = self.namespaces.get_mut(&key.namespace) {
            self.waiting -= 1;
            self.running += 1;
            self.busy += usize::from(namespace.reconciling.is_empty());
            namespace.reconciling.insert(key.name.clone(), None);
        }
    }

    /// Ends a reconciliation of this duration. Returns true if the Runnable was enqueued meanwhile, and waits again.
    pub(super) fn finish(&mut self, key: &RunnableKey, now: Duration, took: Duration) -> bool {
        if let Some((_, has_changed)) = self.heavy.take_if(|(heavy, _)| heavy == key) {
            let rest = self.rests.entry(key.namespace.clone()).or_default();
            rest.add(has_changed, now, took);
            self.rests.retain(|_, rest| !rest.is_over(now));
        }
        let Some(namespace) = self.namespaces.get_mut(&key.namespace) else {
            return false;
        };
        let Some(again) = namespace.reconciling.remove(&key.name) else {
            return false;
        };
        self.running -= 1;
        self.busy -= usize::from(namespace.reconciling.is_empty());
        if let Some(priority) = again {
            self.enqueue(key, priority);
        } else if namespace.is_idle() {
            self.namespaces.remove(&key.namespace);
        }
        again.is_some()
    }
}

impl Namespace {
    fn is_idle(&self) -> bool {
        self.reconciling.is_empty() && self.waiting.is_empty() && self.heavy.is_empty()
    }

    fn enqueue(&mut self, name: &str, priority: Priority) {
        if let Some(again) = self.reconciling.get_mut(name) {
            *again = Some(again.map_or(priority, |again| again.min(priority)));
            return;
        }
        if let Some(has_changed) = self.heavy_waiting.get_mut(name) {
            *has_changed |= priority != Priority::Other;
            return;
        }
        let waits = self.waiting.get(name);
        if waits.is_some_and(|known| *known <= priority) {
            return;
        }
        self.waiting.insert(name.to_owned(), priority);
        self.queue(priority).push_back(name.to_owned());
    }

    /// Moves a Runnable to the heavy ones.
    fn wait_as_heavy(&mut self, name: String, has_changed: bool) {
        self.heavy_waiting.insert(name.clone(), has_changed);
        self.heavy.push_back(name);
    }

    /// Returns the position of the next heavy one that `may` begin, by whether it has changed.
    fn next_heavy(&self, may: impl Fn(bool) -> bool) -> Option<usize> {
        let has_changed = |name: &String| self.heavy_waiting.get(name).copied().unwrap_or_default();
        self.heavy.iter().position(|name| may(has_changed(name)))
    }

    /// Takes the next waiting Runnable, with its priority.
    fn get(&mut self) -> Option<(String, Priority)> {
        let next = self.next()?;
        if self.waiting.is_empty() {
            self.changed.clear();
            self.of_templates.clear();
            self.others.clear();
        }
        Some(next)
    }

    fn next(&mut self) -> Option<(String, Priority)> {
        self.since_template = self.since_template.saturating_add(1);
        if self.since_template >= FOR_TEMPLATES
            && let Some(next) = self.take(Priority::Template)
        {
            self.since_template = 0;
            return Some(next);
        }
        if self.row >= CHANGES_IN_A_ROW
            && let Some(other) = self.take(Priority::Other)
        {
            self.row = 0;
            return Some(other);
        }
        let changed = self.take(Priority::Changed);
        if changed.is_some() {
            self.row = self.row.saturating_add(1);
        }
        changed
            .or_else(|| self.take(Priority::Other))
            .or_else(|| self.take(Priority::Template))
    }

    /// Takes the first that waits with this priority. Those before it that have become more urgent are dropped, as they
    /// would pile up.
    fn take(&mut self, priority: Priority) -> Option<(String, Priority)> {
        loop {
            let name = self.queue(priority).pop_front()?;
            if self.waiting.get(&name) == Some(&priority) {
                self.waiting.remove(&name);
                return Some((name, priority));
            }
        }
    }

    fn queue(&mut self, priority: Priority) -> &mut VecDeque<String> {
        match priority {
            Priority::Changed => &mut self.changed,
            Priority::Template => &mut self.of_templates,
            Priority::Other => &mut self.others,
        }
    }
}

#[cfg(test)]
mod tests;
