//! Tests of what is held back, of what is forgotten, and of what is kept of those that leave.

use std::time::Duration;

use cartouche_protocol::{
    category::Category,
    messages::{
        diagnosis::Denied,
        reconcile_error::{ReconcileError, Requeue},
    },
    pace::StatusChange,
    references::{SourceKind, SourceObject},
    sinks::Sinks,
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::{
    Leaving, LookedForSinks, Memories, Memory, MissingPermissions, Operation, RunnableKey,
    backoffs::MAX_BACKOFFS, left::MAX_LEFT,
};
use crate::{
    backoff::STEPS,
    clock::{asleep, boot_time},
    lock::lock,
};

/// Records a write of nothing but words of the status.
pub(crate) fn write_words(memory: &mut Memory, now: Duration) {
    let says = |message: &str| -> Vec<Condition> {
        serde_json::from_value(serde_json::json!([{
            "type": "Ready", "status": "Unknown", "reason": "ApprovalRequired", "message": message,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]))
        .unwrap()
    };
    let words = StatusChange::of_conditions(&says("a"), &says("b"));
    memory.pace.record_write(&words, now);
}

fn problem() -> ReconcileError {
    ReconcileError::new(Category::UnknownError, Requeue::Backoff, "no")
}

#[test]
fn each_step_that_fails_waits_longer_for_itself() {
    let mut memory = Memory::default();
    let now = Duration::from_secs(1);
    let mut waits = (Duration::ZERO, Duration::ZERO);
    for _ in 0..12 {
        waits.0 = memory.record_failure(Operation::Create(1), &problem(), now);
        waits.1 = memory.record_failure(Operation::Read("a".to_owned()), &problem(), now);
    }
    let most = STEPS.longest.mul_f64(0.8);
    assert!(waits.0 >= most && waits.1 >= most, "{waits:?}");
    memory.clear_failure(&Operation::Create(1));
    assert!(memory.in_backoff(&Operation::Create(1), now).is_none());
    assert!(
        memory
            .in_backoff(&Operation::Read("a".to_owned()), now)
            .is_some()
    );
    assert!(memory.record_failure(Operation::Create(1), &problem(), now) < Duration::from_secs(2));
}

#[test]
fn what_fails_after_a_long_wait_is_tried_again_as_soon_as_ever() {
    let mut memory = Memory::default();
    let render = Operation::Render(1);
    let wait = Requeue::After(Duration::from_mins(5));
    let held = ReconcileError::new(Category::RunAtWork, wait, "waits");
    for hours in 0..12 {
        memory.record_failure(render.clone(), &held, Duration::from_hours(hours));
    }
    let now = Duration::from_hours(11);
    assert!(memory.record_failure(render, &problem(), now) < Duration::from_secs(2));
}

#[test]
fn what_failed_long_ago_is_forgotten_and_never_more_is_kept_than_fits() {
    let mut memory = Memory::default();
    for sequence in 0..100 {
        memory.record_failure(Operation::Create(sequence), &problem(), Duration::ZERO);
    }
    assert_eq!(memory.backoffs.len(), MAX_BACKOFFS);
    assert!(memory.last_failure(&Operation::Create(99)).is_some());
    memory.record_failure(Operation::List, &problem(), STEPS.longest * 4);
    assert_eq!(memory.backoffs.len(), 1);
}

/// Returns the number of tries of a step that always fails, while something else frees it again and again.
fn tries(seconds: u64, mut free: impl FnMut(&mut Memory)) -> usize {
    let mut memory = Memory::default();
    let mut tries = 0;
    for _ in 0..10 * seconds {
        if memory
            .in_backoff(&Operation::Create(1), boot_time())
            .is_none()
        {
            memory.record_failure(Operation::Create(1), &problem(), boot_time());
            tries += 1;
        }
        free(&mut memory);
        asleep::sleep_for(Duration::from_millis(100));
    }
    tries
}

#[test]
fn what_is_freed_again_and_again_is_tried_less_and_less_often() {
    let alone = tries(600, |_| {});
    let freed = tries(600, Memory::retry_now);
    assert!((8..=13).contains(&alone), "{alone}");
    assert!((12..=24).contains(&freed), "{freed}");
}

#[test]
fn a_right_that_comes_has_it_tried_at_once_and_once_more_a_moment_later() {
    let mut memory = Memory::default();
    let is_held = |memory: &Memory| memory.in_backoff(&Operation::List, boot_time()).is_some();
    for _ in 0..8 {
        memory.record_failure(Operation::List, &problem(), boot_time());
    }
    assert!(is_held(&memory));
    memory.retry_now();
    assert!(!is_held(&memory));
    memory.record_failure(Operation::List, &problem(), boot_time());
    asleep::sleep_for(Duration::from_secs(2));
    memory.retry_now();
    assert!(!is_held(&memory));
}

#[test]
fn an_edit_frees_what_was_refused_and_another_input_does_not() {
    let mut memory = Memory::default();
    memory.record_rendering(1, 1);
    for _ in 0..8 {
        memory.record_failure(Operation::Create(1), &problem(), boot_time());
        memory.record_failure(Operation::List, &problem(), boot_time());
    }
    let is_held = |memory: &Memory, what| memory.in_backoff(&what, boot_time()).is_some();
    memory.secret_changed("any");
    memory.selection_changed();
    memory.record_rendering(2, 1);
    assert!(is_held(&memory, Operation::Create(1)));
    memory.record_rendering(2, 2);
    assert!(!is_held(&memory, Operation::Create(1)));
    assert!(is_held(&memory, Operation::List));
}

/// Returns the times at which runs are created that are all refused, within these hours. What is rendered changes each
/// 20 ms; with `numbered`, each create has another number.
fn refused_creates(hours: u64, numbered: bool) -> Vec<Duration> {
    let (mut memory, mut creates) = (Memory::default(), Vec::new());
    let begun = boot_time();
    for hash in 0..hours * 3_600 * 50 {
        let now = boot_time();
        memory.record_rendering(hash, 1);
        let number = if numbered { creates.len() } else { 1 };
        let number = i64::try_from(number).unwrap();
        let making = Operation::Make(1);
        let steps = [&Operation::Create(number), &making];
        if steps.iter().all(|it| memory.in_backoff(it, now).is_none()) {
            memory.record_refusal(number, Some(making), problem(), (None, now));
            creates.push(now.saturating_sub(begun));
        }
        asleep::sleep_for(Duration::from_millis(20));
    }
    creates
}

#[test]
fn what_is_refused_is_created_once_a_minute_at_most_however_often_it_changes() {
    for (numbered, least) in [(true, 140), (false, 30)] {
        let creates = refused_creates(3, numbered);
        let first = Duration::from_secs(15);
        assert_eq!(creates.iter().filter(|at| **at < first).count(), 3);
        let pauses = creates[2..]
            .windows(2)
            .map(|it| it[1].saturating_sub(it[0]));
        assert!(pauses.min() >= Some(Duration::from_mins(1)), "{creates:?}");
        assert!(creates.len() >= least, "{}", creates.len());
    }
}

#[test]
fn a_run_that_is_made_begins_the_pauses_anew() {
    let mut memory = Memory::default();
    let making = Operation::Make(1);
    for _ in 0..12 {
        memory.record_refusal(1, Some(making.clone()), problem(), (None, boot_time()));
    }
    memory.clear_making_failures();
    assert!(memory.in_backoff(&making, boot_time()).is_none());
    memory.record_refusal(2, Some(making.clone()), problem(), (None, boot_time()));
    let (_, left) = memory.in_backoff(&making, boot_time()).unwrap();
    assert!(left < Duration::from_secs(2), "{left:?}");
}

fn key(name: &str) -> RunnableKey {
    RunnableKey {
        namespace: "default".to_owned(),
        name: name.to_owned(),
    }
}

fn reached(memories: &Memories, uid: &str) -> i64 {
    lock(&memories.get_or_create(&key("a"), uid))
        .state
        .reached_sequence
}

/// Has very many Runnables come and leave.
fn fill(memories: &Memories, how: Leaving) {
    for number in 0..MAX_LEFT {
        let name = number.to_string();
        lock(&memories.get_or_create(&key(&name), &format!("{how:?}-{name}")))
            .state
            .reached_sequence = 1;
        let _ = memories.remove(&key(&name), how);
    }
}

#[test]
fn a_runnable_that_could_not_be_read_comes_back_with_the_number_that_it_had_reached() {
    let memories = Memories::default();
    lock(&memories.get_or_create(&key("a"), "first"))
        .state
        .reached_sequence = 7;
    let left = memories.remove(&key("a"), Leaving::Unreadable);
    assert_eq!(left.as_deref(), Some("first"));
    assert_eq!(reached(&memories, "first"), 7);
    memories.sweep(|_| false);
    let another = reached(&memories, "another");
    assert_eq!(another, 0, "of another uid nothing is known");
    assert_eq!(reached(&memories, "first"), 7);
    memories.sweep(|_| false);
    fill(&memories, Leaving::Unreadable);
    let late = reached(&memories, "first");
    assert_eq!(late, 0, "of very many the latest are known");
}

#[test]
fn however_many_are_deleted_those_are_known_that_cannot_be_read() {
    let memories = Memories::default();
    lock(&memories.get_or_create(&key("a"), "first"))
        .state
        .reached_sequence = 7;
    let _ = memories.remove(&key("a"), Leaving::Unreadable);
    fill(&memories, Leaving::Deleted);
    fill(&memories, Leaving::Deleted);
    assert_eq!(reached(&memories, "first"), 7);
    assert_eq!(reached(&memories, "Deleted-999"), 1);
    fill(&memories, Leaving::Unreadable);
    fill(&memories, Leaving::Deleted);
    assert_eq!(memories.left.lock().unwrap().len(), MAX_LEFT);
    assert_eq!(reached(&memories, "Unreadable-0"), 1);
}

#[test]
fn a_permission_that_is_granted_has_it_asked_again_by_those_who_wait_for_one_and_nothing_forgotten()
{
    let (memories, now) = (Memories::default(), boot_time());
    let missing = vec![Denied::one("create", "jobs.batch")];
    let memory = memories.get_or_create(&key("a"), "a");
    let mut asked = MissingPermissions::new((1, "t".to_owned(), 1));
    asked.record_answer(Some(missing.clone()), now);
    lock(&memory).missing_permissions = Some(asked);
    let is_due = || {
        let memory = lock(&memory);
        let kept = memory.missing_permissions.as_ref().unwrap();
        assert_eq!(kept.fresh_answer(now), missing);
        kept.is_due(now)
    };
    let refused = ReconcileError {
        requeue: Requeue::OnRbac,
        ..problem()
    };
    lock(&memory).record_failure(Operation::List, &refused, now);
    assert!(memories.waiting_for(Requeue::OnKind, None).is_empty());
    assert!(!is_due(), "a kind is not what it waits for");
    assert_eq!(memories.waiting_for(Requeue::OnRbac, None), [key("a")]);
    assert!(is_due());
}

#[test]
fn what_waits_beside_its_inputs_looks_at_them_now_and_then() {
    let at = Duration::from_secs;
    let mut memory = Memory {
        waits_beside_inputs: true,
        ..Memory::default()
    };
    assert_eq!(memory.inputs_after(at(1)), None, "nothing was written");
    write_words(&mut memory, at(1));
    assert_eq!(memory.inputs_after(at(4)), Some(at(17)));
    assert_eq!(memory.inputs_after(at(21)), None);
    memory.waits_beside_inputs = false;
    assert_eq!(
        memory.inputs_after(at(4)),
        None,
        "its inputs may end the wait"
    );
}

#[test]
fn that_what_is_fought_over_is_changed_once_more_is_no_news() {
    let object = SourceObject::in_own_namespace(SourceKind::ConfigMap, "db");
    let sinks = serde_json::json!([{ "kind": "ConfigMap", "name": "db" }]);
    let what = LookedForSinks {
        sinks: serde_json::from_value(sinks).unwrap(),
        from: None,
        outputs: 1,
        template: (String::new(), 1),
    };
    let mut memory = Memory::default();
    let changed = |memory: &mut Memory| memory.sources_changed(|it| *it == object);
    memory
        .sinks
        .keep(what.clone(), Sinks::default(), boot_time());
    assert!(changed(&mut memory));
    memory.sinks.keep(what, Sinks::default(), boot_time());
    memory.sinks.leave(&object, 1, true, boot_time());
    assert!(memory.sinks.holds_off(&object, boot_time()));
    let before = memory.changes;
    assert!(!changed(&mut memory));
    assert_eq!(memory.changes, before);
    let from =
        serde_json::json!([{ "name": "a", "configMapKeyRef": { "name": "db", "key": "k" } }]);
    let sources: Vec<cartouche_crds::InputSource> = serde_json::from_value(from).unwrap();
    memory.sources.become_for("default", &sources);
    assert!(changed(&mut memory), "an input comes from it");
}

#[test]
fn permissions_are_asked_about_in_rounds_however_often_roles_change() {
    let mut memory = Memory::default();
    let asked = Operation::AskPermissions;
    let begun = boot_time();
    memory.record_failure(asked.clone(), &problem(), begun);
    memory.record_failure(Operation::Create(1), &problem(), begun);
    memory.retry_now();
    assert!(
        memory
            .in_backoff(&Operation::Create(1), boot_time())
            .is_none()
    );
    let round = Duration::from_secs(10);
    let (_, left) = memory.in_backoff(&asked, begun).unwrap();
    assert_eq!(left, round);
    assert!(memory.in_backoff(&asked, begun + round).is_none());
    memory.record_rendering(1, 1);
    memory.record_failure(asked.clone(), &problem(), boot_time());
    memory.record_rendering(2, 1);
    assert!(
        memory.in_backoff(&asked, boot_time()).is_some(),
        "another input"
    );
    memory.record_rendering(2, 2);
    assert!(memory.in_backoff(&asked, boot_time()).is_none(), "an edit");
}

#[test]
fn a_request_to_try_at_once_frees_what_is_held_back_each_time_it_is_another() {
    let mut memory = Memory::default();
    let (create, now) = (Operation::Create(1), boot_time());
    let ask = |memory: &mut Memory, request: Option<&str>| {
        memory.retry_asked(request.map(str::to_owned));
        memory.in_backoff(&create, boot_time()).is_none()
    };
    ask(&mut memory, None);
    for _ in 0..8 {
        memory.record_failure(create.clone(), &problem(), now);
    }
    assert!(!ask(&mut memory, None));
    assert!(ask(&mut memory, Some("1")));
    memory.record_failure(create.clone(), &problem(), boot_time());
    assert!(!ask(&mut memory, Some("1")), "it was answered");
    assert!(!ask(&mut memory, None), "taken away");
}

#[test]
fn a_request_that_was_there_before_this_process_frees_nothing() {
    let mut memory = Memory::default();
    let create = Operation::Create(1);
    memory.record_failure(create.clone(), &problem(), boot_time());
    memory.retry_asked(Some("1".to_owned()));
    assert!(memory.in_backoff(&create, boot_time()).is_some());
}
