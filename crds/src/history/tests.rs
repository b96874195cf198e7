use super::*;
use crate::line::MESSAGE_BYTES;

const LINE: &str = "7 Succeeded batch/v1/Job/hello-x2k9 6c0a9d1e-uid 2026-01-02T03:04:05Z 2026-01-02T03:05:00Z v1:9f86 : all steps have completed";

fn at(time: &str) -> Time {
    Time(time.parse().unwrap())
}

fn entry() -> HistoryEntry {
    HistoryEntry {
        sources: None,
        sequence: 7,
        input_hash: "v1:9f86".to_owned(),
        api_version: "batch/v1".to_owned(),
        kind: "Job".to_owned(),
        name: "hello-x2k9".to_owned(),
        uid: Some("6c0a9d1e-uid".to_owned()),
        result: Some(RunResult::Succeeded),
        started_at: Some(at("2026-01-02T03:04:05Z")),
        intent_at: None,
        taken_by: None,
        finished_at: Some(at("2026-01-02T03:05:00Z")),
        message: "all steps have completed".to_owned(),
        rules_hash: None,
        rerun_token: None,
        unknown: Vec::new(),
        attempt: 1,
        stop: None,
        unknown_fields: crate::UnknownFields::default(),
    }
}

/// Later releases must be able to read these lines, so they never change.
#[test]
fn golden_lines_are_written_and_read_to_the_letter() {
    let bare = HistoryEntry {
        sequence: 1,
        api_version: "v1".to_owned(),
        kind: "Pod".to_owned(),
        uid: None,
        result: Some(RunResult::Lost),
        started_at: None,
        finished_at: None,
        message: String::new(),
        ..entry()
    };
    let full = HistoryEntry {
        result: Some(RunResult::Failed),
        taken_by: Some("a-uid".to_owned()),
        intent_at: Some(at("2026-01-02T03:04:00Z")),
        rules_hash: Some("77".to_owned()),
        rerun_token: Some("two words".to_owned()),
        message: "it : failed\nbadly".to_owned(),
        ..entry()
    };
    let golden = [
        (entry(), LINE),
        (bare, "1 Lost v1/Pod/hello-x2k9 - - - v1:9f86"),
        (
            full,
            "7 Failed batch/v1/Job/hello-x2k9 6c0a9d1e-uid 2026-01-02T03:04:05Z 2026-01-02T03:05:00Z v1:9f86 takenBy=a-uid \
             intentAt=2026-01-02T03:04:00Z rulesHash=77 rerunToken=two%20words : it : failed badly",
        ),
    ];
    for (entry, line) in golden {
        assert_eq!(entry.line().as_deref(), Some(line));
        let message = short_message(&entry.message);
        assert_eq!(line.parse(), Ok(HistoryEntry { message, ..entry }));
    }
}

#[test]
fn a_run_without_a_result_has_no_line() {
    let running = HistoryEntry {
        result: None,
        ..entry()
    };
    assert_eq!(running.line(), None);
}

#[test]
fn keys_of_later_releases_are_kept() {
    let line = "7 Lost v1/Pod/a - - - h takenBy=x attempts=3 why=two%20words : m";
    let entry: HistoryEntry = line.parse().unwrap();
    assert_eq!(entry.unknown, ["attempts=3", "why=two%20words"]);
    assert_eq!(entry.line().as_deref(), Some(line));
    let odd = "7 Lost v1/Pod/a - - - h taken%42y=x lower=%2d";
    let entry: HistoryEntry = odd.parse().unwrap();
    assert_eq!(entry.line().as_deref(), Some(odd), "to the letter");
}

#[test]
fn values_that_nobody_expects_are_read_as_they_were() {
    for odd in [
        "",
        "/",
        "a/b",
        "-",
        ":",
        "%",
        "%2D",
        " ",
        "a b\tc",
        "\u{a0}ü\u{2028}",
        "a=b",
        "\0",
    ] {
        let entry = HistoryEntry {
            input_hash: odd.to_owned(),
            name: format!("n{odd}"),
            uid: Some(odd.to_owned()),
            taken_by: Some(odd.to_owned()),
            ..entry()
        };
        let line = entry.line().unwrap();
        assert_eq!(line.lines().count(), 1, "{line:?}");
        assert_eq!(line.parse(), Ok(entry), "{line:?}");
    }
}

#[test]
fn a_line_that_was_read_is_written_no_longer_than_it_was() {
    let long = format!("7 Lost v1/Pod/a - - - h takenBy={}", "%C2%A0".repeat(600));
    let entry: HistoryEntry = long.parse().unwrap();
    assert_eq!(entry.line(), Some(long));
}

#[test]
fn a_line_that_cannot_be_read_says_why() {
    use UnreadableLine::{Blank, Escape, Key, Number, Object, Result, Short, Time};

    for (line, why) in [
        ("", Short),
        ("7 Lost v1/Pod/a - - -", Short),
        ("7 Lost v1/Pod/a - - : h", Time),
        ("0 Lost v1/Pod/a - - - h", Number),
        ("-3 Lost v1/Pod/a - - - h", Number),
        ("99999999999999999999 Lost v1/Pod/a - - - h", Number),
        ("9007199254740993 Lost v1/Pod/a - - - h", Number),
        ("7 Undecided v1/Pod/a - - - h", Result),
        ("7 Lost Pod/a - - - h", Object),
        ("7 Lost v1/Pod/a - yesterday - h", Time),
        ("7 Lost v1/Pod/a - - - h key", Key),
        ("7 Lost v1/Pod/a - - - %zz", Escape),
        ("7 Lost v1/Pod/a - - - %f", Escape),
        ("7 Lost v1/Pod/a %FF - - h", Escape),
        ("7  Lost v1/Pod/a - - - h", Object),
        ("7 Lost v1/Pod/a - - - a\u{a0}b", Blank),
        ("7 Lost v1/Pod/a\t - - - h", Blank),
        ("7 Lost v1/Pod/a - - - h takenBy=\u{85}", Blank),
    ] {
        assert_eq!(line.parse::<HistoryEntry>(), Err(why), "{line}");
    }
}

#[test]
fn a_message_is_cut_between_characters_and_stays_on_its_line() {
    let message = format!("{}ä\r\nb", "x".repeat(MESSAGE_BYTES - 1));
    assert_eq!(short_message(&message), "x".repeat(MESSAGE_BYTES - 1));
    assert_eq!(short_message("a\nb\u{7}"), "a b ");
}

/// A line of a later release is read, kept and written back, whatever it contains.
#[test]
fn words_and_keys_of_later_releases_are_no_reason_not_to_read_a_line() {
    for (key, reason) in [
        ("teardown=done", "QueueTimedOut"),
        ("cluster=east-1", "TakenBack"),
        ("override=alice", "Later"),
    ] {
        let line =
            format!("7 Failed v1/Pod/a - - - h stop={reason}@2026-01-02T03:04:05Z {key} : m");
        let entry: HistoryEntry = line.parse().unwrap();
        assert_eq!(entry.unknown, [key]);
        assert_eq!(entry.stop.as_ref().unwrap().reason.as_str(), reason);
        assert_eq!(entry.line(), Some(line));
    }
}
