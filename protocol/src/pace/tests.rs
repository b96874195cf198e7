//! The number of writes by processes that share one status.

use serde_json::{Value, json};

use super::*;

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn status(of: Value) -> RunnableStatus {
    serde_json::from_value(of).unwrap()
}

/// A status that waits for this reason, with this message.
fn waits(reason: &str, hash: &str, message: &str) -> RunnableStatus {
    status(json!({
        "observedGeneration": 1,
        "conditions": [condition("Ready", "Unknown", reason, message)],
        "pending": {
            "sequence": 2, "inputHash": hash, "reason": reason, "since": "2026-01-01T00:00:00Z",
            "approval": format!("2:{hash}"),
        },
    }))
}

fn condition(name: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": name, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1,
    })
}

fn says(message: &str) -> RunnableStatus {
    status(json!({
        "observedGeneration": 1, "conditions": [condition("Ready", "False", "UnknownError", message)],
    }))
}

fn news(stored: &RunnableStatus, next: &RunnableStatus) -> News {
    StatusChange::of_runnable(stored, next).news
}

#[test]
fn what_has_happened_is_told_from_words() {
    let stored = waits("RunAtWork", "a", "waits for app-1");
    assert_eq!(news(&stored, &stored), News::Nothing);
    let words = waits("RunAtWork", "b", "waits for app-1");
    assert_eq!(news(&stored, &words), News::Words);
    let words = waits("RunAtWork", "a", "waits");
    assert_eq!(news(&stored, &words), News::Words);
    let mut unwatched = stored.clone();
    let failing = condition(WATCH_UNAVAILABLE, "True", "WatchFailing", "jobs");
    let failing: Condition = serde_json::from_value(failing).unwrap();
    unwatched.conditions.push(failing);
    assert_eq!(news(&stored, &unwatched), News::Words);
    assert_eq!(news(&unwatched, &stored), News::Words);
    let reason = waits("ApprovalRequired", "a", "waits for app-1");
    assert_eq!(news(&stored, &reason), News::Conditions);
    let mut begun = stored.clone();
    begun.pending = None;
    assert_eq!(news(&stored, &begun), News::Conditions);
    let mut next = stored.clone();
    next.pending.as_mut().unwrap().sequence += 1;
    assert_eq!(news(&stored, &next), News::Conditions);
    let edited = |status: &RunnableStatus| {
        let mut edited = status.clone();
        edited.observed_generation = Some(2);
        edited.conditions[0].observed_generation = Some(2);
        edited
    };
    assert_eq!(news(&stored, &edited(&stored)), News::Conditions);
    assert_eq!(news(&stored, &edited(&begun)), News::Ledger);
    assert_eq!(news(&begun, &edited(&begun)), News::Ledger);
    for field in [
        json!({ "outputs": { "a": 1 } }),
        json!({ "profile": { "name": "p", "hash": "" } }),
    ] {
        let mut written = serde_json::to_value(&stored).unwrap();
        let (key, value) = field.as_object().unwrap().iter().next().unwrap();
        written[key] = value.clone();
        if let Ok(next) = serde_json::from_value::<RunnableStatus>(written) {
            assert_eq!(news(&stored, &next), News::Ledger, "{field}");
        }
    }
}

#[test]
fn for_which_of_its_sources_a_run_waits_is_words() {
    let stored = waits("DependencyNotReady", "", "waits for a");
    let failed = waits("DependencyFailed", "", "b has failed");
    assert_eq!(news(&stored, &failed), News::Words);
    let other = waits("ApprovalRequired", "", "waits");
    assert_eq!(news(&stored, &other), News::Conditions);
    let mut run_ended = failed.clone();
    let ended = condition(STAMPED_OBJECT_CONDITION, "True", "Done", "");
    run_ended
        .conditions
        .push(serde_json::from_value(ended).unwrap());
    assert_eq!(news(&stored, &run_ended), News::Conditions);
}

/// Processes that share one status.
struct Play {
    stored: RunnableStatus,
    paces: Vec<StatusPace>,
    writes: Vec<(u64, usize)>,
}

impl Play {
    fn of(processes: usize) -> Self {
        Self {
            stored: RunnableStatus::default(),
            paces: vec![StatusPace::default(); processes],
            writes: Vec::new(),
        }
    }

    /// A process looks once, and would write this status.
    fn look(&mut self, process: usize, next: &RunnableStatus, second: u64) {
        let change = StatusChange::of_runnable(&self.stored, next);
        if self.paces[process].due(&change, at(second)) == WriteTime::Now {
            self.paces[process].record_write(&change, at(second));
            self.stored = next.clone();
            self.writes.push((second, process));
        }
    }

    fn writes_within(&self, seconds: std::ops::Range<u64>) -> usize {
        let all = self.writes.iter();
        all.filter(|(second, _)| seconds.contains(second)).count()
    }
}

#[test]
fn what_waits_is_told_once_in_ten_seconds_however_often_it_changes() {
    let mut play = Play::of(1);
    for second in 0..100 {
        play.look(0, &waits("RunAtWork", &second.to_string(), ""), second);
    }
    assert_eq!(play.writes.len(), 10, "{:?}", play.writes);
}

/// A status without a pending change.
fn is_ready() -> RunnableStatus {
    status(json!({
        "observedGeneration": 1, "conditions": [condition("Ready", "True", "Ready", "")],
    }))
}

#[test]
fn what_waits_is_written_once_in_ten_seconds_whatever_its_inputs_turn() {
    let failed = status(json!({
        "observedGeneration": 1, "conditions": [condition("Ready", "False", "TemplateStampFailure", "no")],
    }));
    let turns = [
        [
            waits("ApprovalRequired", "a", ""),
            waits("ApprovalRequired", "b", ""),
        ],
        [
            waits("ApprovalRequired", "a", ""),
            waits("Rejected", "b", ""),
        ],
        [waits("RunAtWork", "a", ""), waits("Debouncing", "b", "")],
        [
            waits("DependencyNotReady", "", "a"),
            waits("ApprovalRequired", "b", ""),
        ],
        [waits("DependencyNotReady", "", "a"), is_ready()],
        [waits("ApprovalRequired", "a", ""), is_ready()],
        [waits("ApprovalRequired", "a", ""), failed],
    ];
    for turn in turns {
        let mut play = Play::of(1);
        for second in 0..300_usize {
            play.look(0, &turn[second % 2], u64::try_from(second).unwrap());
        }
        let seconds: Vec<u64> = play.writes.iter().map(|(second, _)| *second).collect();
        let apart = seconds.windows(2).map(|it| it[1] - it[0]);
        assert!(apart.min() >= Some(10), "{turn:?} {seconds:?}");
        assert!(seconds.len() > 25, "{turn:?} {seconds:?}");
    }
}

#[test]
fn that_the_next_run_waits_is_written_at_once() {
    let mut play = Play::of(1);
    for number in 0..5 {
        let second = u64::try_from(number).unwrap();
        let mut next = waits("RunAtWork", "a", "");
        next.pending.as_mut().unwrap().sequence = number;
        play.look(0, &next, second);
        assert_eq!(play.writes.last(), Some(&(second, 0)));
    }
}

#[test]
fn what_waits_is_written_once_in_ten_seconds_in_the_long_run_however_often_it_is_edited() {
    let mut play = Play::of(1);
    let edited = |second: u64| {
        let mut next = waits("ApprovalRequired", &second.to_string(), "");
        let generation = i64::try_from(second).ok();
        next.observed_generation = generation;
        next.conditions[0].observed_generation = generation;
        next
    };
    for second in 0..300 {
        // The stored generation counts, not those in between.
        play.look(0, &edited(second - second % 4), second);
    }
    let most = 30 + usize::try_from(TURNS_AT_ONCE).unwrap();
    assert!(
        (30..=most).contains(&play.writes.len()),
        "{:?}",
        play.writes
    );
    // The end of a wait is written at once.
    let mut ready = status(json!({ "conditions": [condition("Ready", "True", "Ready", "")] }));
    ready.observed_generation = Some(300);
    play.look(0, &ready, 300);
    assert_eq!(play.writes.last(), Some(&(300, 0)));
}

#[test]
fn what_is_put_off_says_when_it_is_written() {
    let mut pace = StatusPace::default();
    let steps = [("a", at(0)), ("b", at(1))];
    let mut stored = RunnableStatus::default();
    for (message, now) in steps {
        let change = StatusChange::of_runnable(&stored, &says(message));
        assert_eq!(pace.due(&change, now), WriteTime::Now);
        pace.record_write(&change, now);
        stored = says(message);
    }
    let change = StatusChange::of_runnable(&stored, &says("c"));
    assert_eq!(pace.due(&change, at(3)), WriteTime::After(at(8)));
    assert_eq!(pace.due(&change, at(11)), WriteTime::Now);
    assert_eq!(pace.looks_after(at(11)), Some(at(10)));
    assert_eq!(pace.looks_after(at(21)), None);
}

#[test]
fn two_releases_that_say_it_differently_write_once_more_each() {
    let mut play = Play::of(2);
    for second in 0..600 {
        play.look(0, &says("no such thing"), second);
        if second >= 10 {
            play.look(1, &says("there is no such thing"), second);
        }
    }
    assert_eq!(play.writes, [(0, 0), (40, 1)]);
    for second in 600..36_000 {
        play.look(0, &says("no such thing"), second);
        play.look(1, &says("there is no such thing"), second);
    }
    for hour in 1..10 {
        let within = play.writes_within(3_600 * hour..3_600 * (hour + 1));
        assert!(within <= 6, "{:?}", play.writes);
    }
}

#[test]
fn a_watch_that_fails_for_one_of_two_is_no_reason_to_fight() {
    let mut failing = says("no");
    let unwatched = condition(WATCH_UNAVAILABLE, "True", "WatchFailing", "jobs");
    failing
        .conditions
        .push(serde_json::from_value(unwatched).unwrap());
    let mut play = Play::of(2);
    for second in 0..600 {
        play.look(0, &failing, second);
        play.look(1, &says("no"), second);
    }
    assert!(play.writes.len() <= 2, "{:?}", play.writes);
}

#[test]
fn two_that_name_different_reasons_fight_less_and_less_often() {
    let reason = |reason: &str| waits(reason, "", "");
    let mut play = Play::of(2);
    for second in 0..36_000 {
        play.look(0, &reason("RunAtWork"), second);
        play.look(1, &reason("ApprovalRequired"), second);
    }
    assert!(play.writes_within(0..60) <= 8, "{:?}", play.writes);
    assert!(play.writes_within(32_400..36_000) <= 4);
}

#[test]
fn what_a_person_is_to_approve_comes_back_though_the_one_who_replaced_it_is_gone() {
    let mut play = Play::of(2);
    play.look(0, &waits("ApprovalRequired", "a", ""), 0);
    play.look(1, &waits("ApprovalRequired", "b", ""), 1);
    play.look(1, &waits("ApprovalRequired", "b", ""), 31);
    assert_eq!(play.writes, [(0, 0), (31, 1)]);
    for second in 32..40 {
        play.look(0, &waits("ApprovalRequired", "a", ""), second);
    }
    assert_eq!(play.writes.last(), Some(&(32, 0)));
    let mut fight = Play::of(2);
    for second in 0..36_000 {
        fight.look(0, &waits("ApprovalRequired", "a", ""), second);
        fight.look(1, &waits("ApprovalRequired", "b", ""), second);
    }
    assert!(fight.writes_within(32_400..36_000) <= 4);
}

#[test]
fn what_is_new_here_is_no_repetition() {
    let mut play = Play::of(2);
    play.look(0, &waits("RunAtWork", "a", ""), 0);
    play.look(1, &waits("ApprovalRequired", "a", ""), 1);
    play.look(0, &waits("Debouncing", "", ""), 10);
    assert_eq!(play.writes.len(), 3);
    play.look(1, &waits("ApprovalRequired", "a", ""), 10);
    assert_eq!(play.writes.len(), 3, "it was told, and replaced");
    play.look(1, &waits("ApprovalRequired", "a", ""), 11);
    assert_eq!(play.writes.len(), 4);
}

#[test]
fn the_number_of_tries_is_no_other_text() {
    let tried = |times| says(&format::with_tries("no", times, None, None));
    let mut play = Play::of(2);
    play.look(0, &tried(1), 0);
    play.look(1, &says("it is no"), 30);
    play.look(1, &says("it is no"), 60);
    assert_eq!(play.writes.len(), 2);
    play.look(0, &tried(10), 100);
    assert_eq!(play.writes.len(), 2, "the same words, which were replaced");
}

#[test]
fn conditions_of_templates_keep_the_same_pace() {
    let said = |message: &str, status: &str| -> Vec<Condition> {
        let of = condition("Accepted", status, "Invalid", message);
        vec![serde_json::from_value(of).unwrap()]
    };
    let change = |before, after: &[Condition]| StatusChange::of_conditions(before, after);
    let (a, b, other) = (said("a", "False"), said("b", "False"), said("a", "True"));
    assert_eq!(change(&a, &a).news, News::Nothing);
    assert_eq!(change(&a, &b).news, News::Words);
    assert_eq!(change(&a, &other).news, News::Conditions);
    let mut pace = StatusPace::default();
    assert_eq!(
        pace.due(&change(&a, &b), at(1)),
        WriteTime::After(OTHERS_STAND)
    );
    assert_eq!(pace.due(&change(&a, &b), at(31)), WriteTime::Now);
}

#[test]
fn conditions_that_turn_without_end_are_written_once_in_ten_seconds() {
    let stalled = status(json!({
        "observedGeneration": 1, "conditions": [condition("Stalled", "True", "TemplateStampFailure", "no")],
    }));
    let turns = [
        StatusChange::of_runnable(&stalled, &is_ready()),
        StatusChange::of_runnable(&is_ready(), &stalled),
    ];
    let mut pace = StatusPace::default();
    let mut written = 0;
    for tenth in 0..3_000_u32 {
        let now = at(1_000) + Duration::from_millis(100) * tenth;
        let change = &turns[written % 2];
        assert_eq!(change.news, News::Conditions);
        if pace.due(change, now) == WriteTime::Now {
            pace.record_write(change, now);
            written += 1;
        }
        // Five minutes: those at once, and one every ten seconds.
        let most = 6 + usize::try_from(tenth / 100).unwrap();
        assert!(
            written <= most,
            "{written} after {tenth} tenths of a second"
        );
    }
    assert!(written > 30, "{written}");
    let mut edited = waits("ApprovalRequired", "a", "to do");
    edited.observed_generation = Some(2);
    let edit = StatusChange::of_runnable(&stalled, &edited);
    assert_eq!(pace.due(&edit, at(1_300)), WriteTime::Now);
}

#[test]
fn what_another_release_puts_back_is_written_every_half_an_hour_in_the_end() {
    let mut pace = ContestedPace::default();
    assert_eq!(pace.time_left(1, Duration::ZERO), None);
    let (mut now, mut writes) = (Duration::ZERO, 0);
    while now < Duration::from_hours(1) {
        if pace.time_left(1, now).is_none() {
            pace.record_write(1, now);
            writes += 1;
        }
        now += Duration::from_secs(1);
    }
    // At once, then after half a minute, and half an hour later.
    assert_eq!(writes, 3);
    // Long after that it counts as new.
    now += 2 * REPEATED_AFTER;
    pace.record_write(1, now);
    assert_eq!(pace.time_left(1, now), Some(OTHERS_STAND));
    // So does anything else.
    assert_eq!(pace.time_left(2, now), None);
    pace.record_write(2, now);
    assert_eq!(pace.time_left(1, now), None);
}

/// A status whose outputs are in a Secret, or are not written yet; another release may give another
/// revision of the same.
fn gives(behind: bool, revision: &str) -> RunnableStatus {
    status(json!({
        "observedGeneration": 1, "outputs": { "a": 1 },
        "outputsFrom": { "sequence": 1, "name": "app-x", "uid": "u", "rulesHash": "r" },
        "sinks": [{ "kind": "Secret", "name": "s", "sequence": 1, "behind": behind }],
        "sensitiveOutputs": { "pin": { "name": "s", "key": "pin", "revision": revision } },
        "conditions": [condition("Ready", if behind { "False" } else { "True" }, "OutputSinkFailed", "")],
    }))
}

/// The writes of two processes in an hour, each with its own view.
fn writes_in_an_hour(views: &[RunnableStatus; 2]) -> [u32; 2] {
    let (mut stored, mut paces) = (views[0].clone(), [(); 2].map(|()| StatusPace::default()));
    let mut writes = [0; 2];
    for second in 0..3600 {
        for (index, view) in views.iter().enumerate() {
            let (mut next, pace) = (view.clone(), &mut paces[index]);
            let mut change = StatusChange::of_runnable(&stored, &next);
            if pace.holds_sinks(&change, at(second)).is_some() {
                next = with_sinks_of(next, &stored);
                change = StatusChange::of_runnable(&stored, &next);
            }
            if pace.due(&change, at(second)) == WriteTime::Now {
                pace.record_write(&change, at(second));
                stored = next;
                writes[index] += 1;
            }
        }
    }
    writes
}

#[test]
fn two_that_see_sinks_otherwise_write_seldom() {
    let (first, other) = (gives(false, "a"), gives(false, "b"));
    assert_eq!(writes_in_an_hour(&[first.clone(), other]), [3, 3]);
    // Ready changes as well, at the pace of conditions.
    for writes in writes_in_an_hour(&[first, gives(true, "a")]) {
        assert!((4..=14).contains(&writes), "{writes}");
    }
}

#[test]
fn what_waits_is_written_though_sinks_are_contested() {
    let (mut pace, views) = (
        StatusPace::default(),
        [gives(false, "a"), gives(false, "b")],
    );
    for view in [1, 0, 1, 0] {
        let change = StatusChange::of_runnable(&views[1 - view], &views[view]);
        pace.record_write(&change, at(0));
    }
    let mut next = views[0].clone();
    next.pending = waits("ApprovalRequired", "a", "").pending;
    let change = StatusChange::of_runnable(&views[1], &next);
    assert_eq!(change.news, News::Sinks);
    assert!(pace.holds_sinks(&change, at(1)).is_some());
    next.sensitive_outputs
        .clone_from(&views[1].sensitive_outputs);
    let change = StatusChange::of_runnable(&views[1], &next);
    assert_eq!(pace.due(&change, at(1)), WriteTime::Now);
    // Outputs of another run are no contest.
    next.outputs_from.as_mut().unwrap().sequence = 2;
    let of_other = StatusChange::of_runnable(&views[1], &next);
    pace.record_write(&of_other, at(2));
    let change = StatusChange::of_runnable(&views[1], &views[0]);
    assert_eq!(pace.holds_sinks(&change, at(3)), None);
}

#[test]
fn what_becomes_of_the_sinks_of_another_run_is_written_at_once() {
    let (mut pace, both) = (StatusPace::default(), [gives(false, "a"), gives(true, "a")]);
    for round in 0..10 {
        // This process itself sees another state each time.
        let change = StatusChange::of_runnable(&both[round % 2], &both[1 - round % 2]);
        assert_eq!(pace.due(&change, at(0)), WriteTime::Now);
        pace.record_write(&change, at(0));
    }
    let mut next = gives(true, "a");
    next.outputs_from.as_mut().unwrap().sequence = 2;
    let change = StatusChange::of_runnable(&both[0], &next);
    assert_eq!(change.news, News::Ledger);
    assert_eq!(pace.due(&change, at(0)), WriteTime::Now);
}
