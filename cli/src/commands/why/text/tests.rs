use cartouche_crds::RunResult;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::json;

use super::*;
use crate::commands::why::explanation::tests::{condition, explanation};

#[test]
fn the_text_says_what_the_document_says() {
    let conditions = json!([
        condition("RunTemplateReady", "False", "RunTemplateNotFound"),
        condition("Ready", "False", "RunTemplateNotFound"),
    ]);
    let blocked = explanation(&conditions, true);
    let plain = anstream::adapter::strip_str(&text(&blocked)).to_string();
    let to_do = blocked.to_do.unwrap();
    assert_eq!(
        plain,
        format!(
            "hello: Ready is False (RunTemplateNotFound)\n  m\n  to do: {to_do}\n\
             no run yet\nrun 1 comes next\n  `cartouche diff hello` shows what differs\n"
        )
    );
}

#[test]
fn what_an_engine_says_is_not_taken_for_the_words_of_cartographer() {
    let [of_template, of_run] = ["RunTemplateReady", "StampedObjectCondition"].map(|name| {
        let mut blocking = condition(name, "False", "Failed");
        blocking["message"] = json!("no; in full: it burned");
        let ready = condition("Ready", "False", "Failed");
        text(&explanation(&json!([blocking, ready]), true))
    });
    assert!(
        of_template.contains("  in full: it burned\n"),
        "{of_template}"
    );
    assert!(!of_run.contains("in full"), "{of_run}");
}

#[test]
fn no_message_reaches_the_terminal_as_a_command_or_as_a_line_of_its_own() {
    let engine = condition("StampedObjectCondition", "False", "Failed");
    let mut ready = condition("Ready", "False", "Failed");
    ready["message"] = json!("a\nhello: Ready is True\u{1b}[2J");
    let mut blocked = explanation(&json!([engine, ready]), true);
    blocked.warnings = Some("b\u{9b}2J".to_owned());
    blocked.next = NextRun::Unknown {
        message: "c\rd".to_owned(),
    };
    let plain = text(&blocked)
        .replace("\u{1b}[31m", "")
        .replace("\u{1b}[0m", "");
    assert!(plain.contains("a hello: Ready is True"), "{plain}");
    let is_command = |c: char| c != '\n' && c.is_control();
    assert!(!plain.contains(is_command), "{plain:?}");
}

#[test]
fn a_run_whose_predecessors_are_forgotten_is_not_called_the_first() {
    assert_eq!(reasons(&Because::First), "it is the first run\n");
    let forgotten = reasons(&Because::Forgotten);
    assert!(
        forgotten.contains("the runs before it are forgotten"),
        "{forgotten}"
    );
}

#[test]
fn what_failed_says_when_it_is_tried_again_and_when_it_is_not_any_more() {
    let at: Time = serde_json::from_value(json!("2026-01-01T00:00:10Z")).unwrap();
    let (attempt, attempts) = (2, 4);
    let told = [
        (
            RetryState::Scheduled {
                attempt,
                attempts,
                at: at.clone(),
            },
            "attempt 2 of 4 begins at 2026-01-01T00:00:10Z; a change or a re-run starts immediately",
        ),
        (
            RetryState::Held {
                attempt,
                attempts,
                at,
            },
            "attempt 2 of 4, planned for 2026-01-01T00:00:10Z, waits until you resume",
        ),
        (
            RetryState::Exhausted { attempts },
            "it was the last attempt, 4 of 4",
        ),
    ];
    for (retry, words) in told {
        let mut failed = explanation(&json!([condition("Ready", "False", "Failed")]), true);
        failed.retry = Some(retry);
        let plain = text(&failed);
        assert!(plain.contains(words), "{plain}");
    }
}

#[test]
fn a_runnable_that_nobody_has_looked_at_needs_a_controller() {
    let unobserved = text(&explanation(&json!([]), false));
    let expected =
        "hello: no controller has reconciled it yet\n  to do: check that the controller runs";
    assert!(unobserved.starts_with(expected), "{unobserved}");
}

#[test]
fn what_blocks_is_not_said_again_of_what_would_run() {
    let mut template = condition("RunTemplateReady", "False", "TemplateStampFailure");
    template["message"] = json!("no value; to do: give one; in full: empty list");
    let ready = condition("Ready", "False", "TemplateStampFailure");
    let told = |message: &str| {
        let mut blocked = explanation(&json!([template, ready]), true);
        blocked.next = NextRun::Unknown {
            message: message.to_owned(),
        };
        text(&blocked)
    };
    let same = told("no value");
    assert!(same.ends_with("is unknown until you fix that\n"), "{same}");
    assert_eq!(same.matches("no value").count(), 1, "{same}");
    let other = told("no such template");
    assert!(other.ends_with("is unknown: no such template\n"), "{other}");
}

#[test]
fn what_is_running_is_not_said_to_have_run() {
    let mut runs = crate::live::runs::tests::some_runs();
    let run = runs.swap_remove(1);
    let (sequence, ended) = (run.sequence, RunState::Ended(RunResult::Succeeded));
    let told = |state| {
        let mut run = run.clone();
        run.state = state;
        let mut explained = explanation(&json!([condition("Ready", "True", "Ready")]), true);
        explained.run = Some(ExplainedRun::new(run, Because::First));
        explained.next = NextRun::Nothing { sequence };
        text(&explained)
    };
    assert!(
        told(RunState::Running)
            .ends_with("nothing else to run: run 4 matches the rendered object, and is running\n")
    );
    assert!(told(ended).ends_with("nothing to run: run 4 matches the rendered object\n"));
}

#[test]
fn a_word_for_a_stop_that_is_not_known_is_shown_as_it_is() {
    let mut run = crate::live::runs::tests::some_runs().swap_remove(1);
    run.state = RunState::Ended(RunResult::Failed);
    run.stop = cartouche_crds::Stop::of_word("QueueTimedOut@2026-01-01T00:00:00Z");
    let mut explained = explanation(&json!([condition("Ready", "False", "Failed")]), true);
    explained.run = Some(ExplainedRun::new(run, Because::First));
    let told = text(&explained);
    let word = "stopped (QueueTimedOut) at 2026-01-01T00:00:00Z";
    assert!(told.contains(word), "{told}");
}

#[test]
fn no_cause_is_empty_and_what_only_a_profile_changed_is_told_apart() {
    let change = |path: &str| object_diff::FieldChange {
        path: path.to_owned(),
        old: Some(json!("a")),
        new: Some(json!("b")),
        ..object_diff::FieldChange::default()
    };
    let secret = SourceChange {
        source: "Secret/demo/db/token".to_owned(),
        inputs: vec!["token".to_owned()],
        before: Some("v1".to_owned()),
        after: Some("v2".to_owned()),
    };
    let told = |changes: &[&str], by_profile: &[&str], sources: &[SourceChange]| {
        let changed = |paths: &[&str]| paths.iter().map(|path| change(path)).collect();
        let found = RunDifference::Known(RunDiff {
            changes: changed(changes),
            by_profile: changed(by_profile),
            moved: None,
        });
        let text = changed_since(&found, sources);
        anstream::adapter::strip_str(&text).to_string()
    };
    assert_eq!(
        told(&["spec.x"], &["spec.y"], &[]),
        "the rendered object differs from run 1:\n    - spec.x: \"a\"\n    + spec.x: \"b\"\n  \
         also differs by the profile, which makes no run: spec.y\n"
    );
    let of_secret = told(&[], &[], std::slice::from_ref(&secret));
    let begin = "something that no field shows has changed since run 1:\n    ";
    assert!(of_secret.starts_with(begin), "{of_secret}");
    assert!(
        of_secret.ends_with("which gives the input token: v1 became v2\n"),
        "{of_secret}"
    );
    assert!(!told(&[], &[], &[]).contains(":\n"));
    assert!(
        told(&["spec.x"], &[], &[secret]).contains("  these sources of its inputs had changed:\n")
    );
}

fn changed_since(found: &RunDifference, sources: &[SourceChange]) -> String {
    changed(1, found, None, sources)
}
