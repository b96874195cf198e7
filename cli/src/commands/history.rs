//! `cartouche history`.

use cartouche_authoring::foreign::in_one_line;
use clap::{Args, ValueEnum};
use serde_json::json;

use crate::outcome::Outcome;
use crate::{
    cluster::{Cluster, ClusterArgs},
    commands::get::{colour, short_hash},
    live::{
        age, requests,
        runs::{self, LedgerRun},
        table,
    },
};

/// List the runs of a Runnable, newest first
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cartouche history hello
  cartouche history hello -o json | jq '.[] | select(.state == \"Failed\")'

A star marks the run for the current inputs, `o` the run that the outputs come from. ATTEMPT appears once a run has
been retried. RESULT is Unknown for an earlier run that may not have been made, NameTaken if another client's object
has its name, and OutputsUnread for a run that succeeded and is not recorded until its outputs can be read. TOOK ends
at the time in the run's object. If there is none, or the object is gone, <= precedes the time until the controller
saw the end, which may be late. RE-RUN FOR has the user and reason of a re-run, and MESSAGE those of a stop, as long
as the run's object exists (--reason of `cartouche rerun` and `cartouche cancel`).")]
pub(crate) struct HistoryArgs {
    /// Name of the Runnable
    name: String,
    /// Format of the output
    #[arg(short, long, value_enum, default_value_t)]
    output: HistoryFormat,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// Format of a history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum HistoryFormat {
    #[default]
    Table,
    Json,
}

pub(crate) async fn execute(args: &HistoryArgs, cluster: &Cluster) -> anyhow::Result<Outcome> {
    let runnable = cluster.runnable(&args.name).await?;
    let mut runs = runs::runs(&runnable);
    requests::add(&mut runs, &runnable, cluster).await?;
    Ok(match args.output {
        HistoryFormat::Json => Outcome::good(format!("{:#}\n", json!(runs))),
        HistoryFormat::Table if runs.is_empty() => Outcome {
            err: format!("{} has no run yet\n", args.name),
            ..Outcome::default()
        },
        HistoryFormat::Table => Outcome::good(list(&runs)),
    })
}

/// Column after RESULT.
const AFTER_RESULT: usize = 5;

fn list(runs: &[LedgerRun]) -> String {
    let mut rows: Vec<_> = runs.iter().map(row).collect();
    let mut header = vec![
        "", "SEQUENCE", "KIND", "NAME", "RESULT", "STARTED", "TOOK", "HASH", "MESSAGE",
    ];
    if runs.iter().any(|run| run.attempt > 1) {
        let at = AFTER_RESULT;
        header.insert(at, "ATTEMPT");
        for (row, run) in rows.iter_mut().zip(runs) {
            row.insert(at, run.attempt.to_string());
        }
    }
    if runs.iter().any(|run| run.rerun_token.is_some()) {
        let at = header.len() - 1;
        header.insert(at, "RE-RUN FOR");
        for (row, run) in rows.iter_mut().zip(runs) {
            row.insert(at, in_one_line(&requests::asked_for(run)));
        }
    }
    table::table(&header, &rows)
}

fn row(run: &LedgerRun) -> Vec<String> {
    let started = age::ago(run.started_at.as_ref());
    vec![
        format!(
            "{}{}",
            if run.current { "*" } else { " " },
            if run.gives_outputs { "o" } else { " " }
        ),
        run.sequence.to_string(),
        in_one_line(&run.kind),
        in_one_line(&run.name),
        format!("{0}{1}{0:#}", colour(run.state.as_str()), run.state),
        if started.is_empty() {
            started
        } else {
            format!("{started} ago")
        },
        age::format_duration(
            run.started_at.as_ref(),
            run.ended_at.as_ref(),
            run.finished_at.as_ref(),
        ),
        short_hash(&run.input_hash),
        in_one_line(&requests::message(run)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_a_column_once_there_is_a_second_one() {
        let mut runs = runs::tests::some_runs();
        assert!(!list(&runs).contains("ATTEMPT"));
        runs[0].attempt = 2;
        let table = anstream::adapter::strip_str(&list(&runs)).to_string();
        let cells: Vec<Vec<&str>> = table
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(cells[0][4], "ATTEMPT", "{table}");
        assert_eq!(cells[1][5], "2", "{table}");
    }

    /// Tests words and keys of later releases.
    #[test]
    fn a_word_for_a_stop_that_is_not_known_is_shown_as_it_is() {
        let at = "2026-01-01T00:00:00Z";
        let runnable = json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "Runnable", "metadata": { "name": "hello" },
            "spec": { "runTemplateRef": { "name": "job" } },
            "status": {
                "teardown": { "since": at }, "cluster": "east", "ticks": [1],
                "currentRun": {
                    "sequence": 2, "name": "r-2", "inputHash": "v1:a", "apiVersion": "batch/v1", "kind": "Job", "phase": "Created",
                    "uid": "u2", "teardown": {}, "stop": { "reason": "QueueTimedOut", "at": at, "by": "x" },
                },
                "history": [format!("1 Failed batch/v1/Job/r-1 u1 - - v1:a stop=TakenBack@{at} cluster=east override=x teardown=1 : m")],
            },
        });
        let table = list(&runs::runs(&serde_json::from_value(runnable).unwrap()));
        for part in [
            format!("to be stopped (QueueTimedOut) at {at}"),
            format!("stopped (TakenBack) at {at} (m)"),
        ] {
            assert!(table.contains(&part), "{table}");
        }
    }

    #[test]
    fn no_message_begins_a_row_of_its_own() {
        let mut run = runs::tests::some_runs().swap_remove(0);
        let request = "alice\r\u{1b}[2J";
        run.cancel_request = serde_json::from_value(json!({ "by": request })).ok();
        let table = list(&[run]);
        assert_eq!(table.lines().count(), 2, "{table:?}");
        assert!(table.contains("alice \\u001b[2J"), "{table:?}");
        assert!(!table.contains('\r'), "{table:?}");
    }
}
