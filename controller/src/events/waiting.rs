//! Events that wait to be sent: each namespace has a share of the room and its turn. Pure.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

use crate::mutants;

/// Maximum number of waiting events in all namespaces.
pub(super) const MOST: usize = 1_000;
/// Maximum number of waiting events of one namespace.
pub(super) const MOST_OF_ONE: usize = 200;
/// Number of events of one namespace from which on only the newest of a reason and object waits.
const CROWD: usize = 20;

/// An event to be sent.
pub(super) struct PendingEvent {
    pub(super) namespace: String,
    /// Uid of the object that it is about.
    pub(super) object: String,
    pub(super) reason: String,
    pub(super) is_warning: bool,
    /// The whole event, as the API server takes it.
    pub(super) body: Value,
}

/// All events that wait.
#[derive(Default)]
pub(super) struct PendingEvents {
    namespaces: BTreeMap<String, Share>,
    /// Namespaces in which events wait; the next one first.
    order: VecDeque<String>,
    count: usize,
}

/// Events of one namespace, the oldest first.
#[derive(Default)]
struct Share {
    warnings: VecDeque<PendingEvent>,
    others: VecDeque<PendingEvent>,
}

impl PendingEvents {
    /// Adds an event. Returns the number of events that are dropped for it, or instead of it.
    pub(super) fn push(&mut self, event: PendingEvent) -> usize {
        let own = self.namespaces.get_mut(&event.namespace);
        if let Some(own) = own
            && own.count() >= CROWD
        {
            let given_up = own.give_up_like(&event);
            if given_up > 0 {
                own.queue(event.is_warning).push_back(event);
                self.count = self.count + 1 - given_up;
                return given_up;
            }
        }
        let is_full = self.count >= MOST || self.count_of(&event.namespace) >= MOST_OF_ONE;
        if is_full && !self.make_room(&event) {
            return 1;
        }
        self.add(event);
        usize::from(is_full)
    }

    /// Takes the next event: of each namespace in turn, Warnings first.
    pub(super) fn pop(&mut self) -> Option<PendingEvent> {
        let count = |namespace: &str| self.namespaces.get(namespace).map_or(0, Share::count);
        mutants::turns(&mut self.order, count);
        let namespace = self.order.pop_front()?;
        let share = self.namespaces.get_mut(&namespace)?;
        let warning = share.warnings.pop_front();
        let event = warning.or_else(|| share.others.pop_front())?;
        self.count -= 1;
        if share.count() == 0 {
            self.namespaces.remove(&namespace);
        } else {
            self.order.push_back(namespace);
        }
        Some(event)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn add(&mut self, event: PendingEvent) {
        let share = self.namespaces.entry(event.namespace.clone()).or_default();
        if share.count() == 0 {
            self.order.push_back(event.namespace.clone());
        }
        share.queue(event.is_warning).push_back(event);
        self.count += 1;
    }

    fn count_of(&self, namespace: &str) -> usize {
        self.namespaces.get(namespace).map_or(0, Share::count)
    }

    /// Drops an event for this one: of the namespace with most of them, or of its own if that has used its share. The
    /// oldest that is no Warning goes first; an event that is no Warning pushes out no Warning of its own namespace.
    /// Returns true if one was dropped.
    fn make_room(&mut self, event: &PendingEvent) -> bool {
        let own = self.count_of(&event.namespace);
        let shares = self.namespaces.iter();
        let most = shares.max_by_key(|(_, share)| share.count());
        let other = most.filter(|(_, share)| own < MOST_OF_ONE && share.count() > own);
        let other = other.map(|(name, _)| name.clone());
        let even_warning = event.is_warning || other.is_some();
        let from = other.unwrap_or_else(|| event.namespace.clone());
        let Some(share) = self.namespaces.get_mut(&from) else {
            return false;
        };
        let mut given_up = share.others.pop_front();
        if given_up.is_none() && even_warning {
            given_up = share.warnings.pop_front();
        }
        if share.count() == 0 {
            self.namespaces.remove(&from);
            self.order.retain(|it| *it != from);
        }
        self.count -= usize::from(given_up.is_some());
        given_up.is_some()
    }
}

impl Share {
    fn count(&self) -> usize {
        self.warnings.len() + self.others.len()
    }

    fn queue(&mut self, of_warnings: bool) -> &mut VecDeque<PendingEvent> {
        if of_warnings {
            &mut self.warnings
        } else {
            &mut self.others
        }
    }

    /// Drops the waiting events that this one replaces. Returns their number.
    fn give_up_like(&mut self, event: &PendingEvent) -> usize {
        let before = self.count();
        self.queue(event.is_warning)
            .retain(|it| it.object != event.object || it.reason != event.reason);
        before - self.count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(namespace: &str, object: usize, reason: &str, is_warning: bool) -> PendingEvent {
        PendingEvent {
            namespace: namespace.to_owned(),
            object: object.to_string(),
            reason: reason.to_owned(),
            is_warning,
            body: Value::Null,
        }
    }

    fn all(waiting: &mut PendingEvents) -> Vec<PendingEvent> {
        let all: Vec<PendingEvent> = std::iter::from_fn(|| waiting.pop()).collect();
        assert!(waiting.is_empty() && waiting.namespaces.is_empty() && waiting.order.is_empty());
        all
    }

    #[test]
    fn each_namespace_has_its_turn_and_warnings_go_first() {
        let mut waiting = PendingEvents::default();
        for object in 0..3 {
            waiting.push(event("many", object, "A", false));
        }
        waiting.push(event("many", 3, "B", true));
        waiting.push(event("few", 4, "A", false));
        let order: Vec<String> = all(&mut waiting).into_iter().map(|it| it.object).collect();
        assert_eq!(order, ["3", "4", "0", "1", "2"]);
    }

    #[test]
    fn where_many_wait_the_newest_of_a_reason_of_one_object_is_left() {
        let (mut waiting, mut given_up) = (PendingEvents::default(), 0);
        waiting.push(event("ns", 2, "A", false));
        waiting.push(event("ns", 1, "A", true));
        for number in 0..500 {
            let mut event = event("ns", 1, "B", false);
            event.body = number.into();
            given_up += waiting.push(event);
        }
        let left = all(&mut waiting);
        assert_eq!(left.len() + given_up, 502);
        assert!(left.len() <= CROWD, "{}", left.len());
        assert!(left[0].is_warning && left[1].object == "2");
        let newest = left.iter().rfind(|it| it.object == "1");
        assert_eq!(newest.unwrap().body, 499);
    }

    #[test]
    fn a_full_share_gives_up_its_oldest_and_no_warning_for_another_event() {
        let mut waiting = PendingEvents::default();
        for object in 0..2 * MOST_OF_ONE {
            waiting.push(event("ns", object, "A", false));
        }
        assert_eq!(waiting.count, MOST_OF_ONE);
        for object in 0..MOST_OF_ONE {
            assert_eq!(waiting.push(event("ns", object, "B", true)), 1);
        }
        assert_eq!(waiting.push(event("ns", 0, "C", false)), 1);
        let left = all(&mut waiting);
        assert_eq!(left.len(), MOST_OF_ONE);
        assert!(left.iter().all(|it| it.is_warning));
    }

    #[test]
    fn whatever_comes_the_room_is_bounded_and_each_event_is_sent_given_up_or_waits() {
        let mut random = fastrand::Rng::with_seed(7);
        let (mut waiting, mut sent, mut given_up) = (PendingEvents::default(), 0, 0);
        for pushed in 1..20_000 {
            // Some flood, with one object or with many.
            let namespace = random.usize(..20).min(random.usize(..20));
            let object = random.usize(..=namespace * 50);
            let reason = ["A", "B"][random.usize(..2)];
            let event = event(&namespace.to_string(), object, reason, random.bool());
            given_up += waiting.push(event);
            sent += usize::from(random.u8(..8) == 0 && waiting.pop().is_some());
            let counts: Vec<usize> = waiting.namespaces.values().map(Share::count).collect();
            assert!(counts.iter().all(|count| (1..=MOST_OF_ONE).contains(count)));
            assert_eq!(counts.len(), waiting.order.len());
            assert_eq!(counts.iter().sum::<usize>(), waiting.count);
            assert!(waiting.count <= MOST);
            assert_eq!(sent + given_up + waiting.count, pushed);
        }
        assert!(sent > 1_000 && given_up > 1_000);
    }

    #[test]
    fn where_all_room_is_taken_who_has_most_gives_it_to_who_has_less() {
        let mut waiting = PendingEvents::default();
        for object in 0..2 * MOST {
            let namespace = (object % 10).to_string();
            waiting.push(event(&namespace, object, "A", false));
        }
        assert_eq!(waiting.count, MOST);
        for object in 0..12 {
            assert_eq!(waiting.push(event("victim", object, "A", false)), 1);
        }
        let left = all(&mut waiting);
        assert_eq!(left.len(), MOST);
        let of_victim = left.iter().filter(|it| it.namespace == "victim");
        assert_eq!(of_victim.count(), 12);
    }
}
