//! The explanation of a Runnable's state as text.

use std::fmt::Write as _;

use cartouche_authoring::foreign::in_one_line;
use cartouche_crds::{RerunRequest, conditions::RUN_TEMPLATE_READY};
use cartouche_engines::Judged;
use cartouche_protocol::{
    category::Category,
    messages::{diagnosis::format_name, format::MessageParts},
    status::{BEING_MADE, NOT_ENDED, RunState, is_at_work},
    trace::SourceKey,
};

use super::{
    explained_run::{Because, ExplainedRun, RunDifference},
    explanation::{BlockedBy, NextRun, WhyReport},
    log::LastLines,
    retry::RetryState,
};
use crate::{
    commands::get::colour,
    live::{
        age, object_diff, pending, requests,
        run_diff::RunDiff,
        sources::{SourceChange, SourcesState},
    },
};

pub(super) fn text(explanation: &WhyReport) -> String {
    let mut out = state(explanation);
    match &explanation.run {
        None => out.push_str("no run yet\n"),
        Some(run) => out.push_str(&cause(run)),
    }
    out.push_str(&next(explanation));
    out
}

/// Returns the state of Ready, with what blocks it and what to do.
fn state(explanation: &WhyReport) -> String {
    let WhyReport { name, reason, .. } = explanation;
    let mut out = match &explanation.ready {
        None => format!("{name}: no controller has reconciled it yet\n"),
        Some(status) => {
            let paint = colour(status);
            let (status, reason) = (in_one_line(status), in_one_line(reason));
            format!("{name}: Ready is {paint}{status}{paint:#} ({reason})\n")
        }
    };
    if let Some(why) = &explanation.left_alone {
        let _ = writeln!(out, "  {}", in_one_line(why));
    }
    if explanation.suspended {
        out.push_str("  suspended: no new run starts until you resume it\n");
    }
    if let Some(profile) = &explanation.profile {
        let name = in_one_line(&profile.name);
        let _ = writeln!(out, "  pinned to ClusterRunProfile {name}");
    }
    if explanation.ready.is_some() && !explanation.observed {
        out.push_str("  the controller has not observed the last change yet\n");
    }
    let status = explanation.ready.as_deref().unwrap_or_default();
    if is_at_work(status, reason) {
        out.push_str(&in_progress(explanation));
    } else if let Some(blocking) = &explanation.blocked_by {
        let _ = writeln!(out, "  {}", in_one_line(what_blocks(explanation, blocking)));
    }
    if let Some(warning) = explanation.run.as_ref().and_then(|it| it.warning.as_ref()) {
        let _ = writeln!(out, "  its events say: {}", in_one_line(warning));
    }
    let log = explanation.run.as_ref().and_then(|it| it.log.as_ref());
    out.push_str(&log.map(LastLines::text).unwrap_or_default());
    if let Some(warned) = &explanation.warned {
        let _ = writeln!(out, "  an event warns: {}", in_one_line(warned));
    }
    out.push_str(&awaited(&explanation.sources));
    for seen in &explanation.seen {
        let _ = writeln!(out, "  {}", in_one_line(seen));
    }
    if let Some(writers) = &explanation.writers {
        let _ = writeln!(out, "  {}", in_one_line(writers));
    }
    let pending = explanation.pending.as_ref();
    let place = &explanation.place;
    // Commands about the answer of the API server need a rendered run.
    let again = explanation.not_seen.is_none().then_some(place);
    let tried = pending.and_then(|pending| pending::describe_dry_run(pending, name, again));
    if let Some(tried) = tried {
        let _ = writeln!(out, "  {}", in_one_line(&tried));
    }
    if let Some(retry) = &explanation.retry {
        let _ = writeln!(out, "  {}", retry.text());
    }
    if let Some(to_do) = &explanation.to_do {
        let _ = writeln!(out, "  to do: {}", in_one_line(to_do));
    }
    let is_open = explanation.not_seen.is_none() && explanation.seen.is_empty();
    if is_about_profiles(explanation) && is_open {
        let which = place.command(&format!("profile which {name}"));
        let _ = writeln!(
            out,
            "  `{which}` shows which profiles match, and by which rules"
        );
    }
    let blocking = explanation.blocked_by.as_ref();
    // A message of an engine has no parts.
    let blocking = blocking.filter(|blocking| blocking.condition == RUN_TEMPLATE_READY);
    let in_full = blocking.and_then(|blocking| MessageParts::parse(&blocking.message).in_full);
    if let Some(in_full) = in_full {
        let _ = writeln!(out, "  in full: {}", in_one_line(in_full));
    }
    if let Some(warnings) = &explanation.warnings {
        let _ = writeln!(out, "  the template warns: {}", in_one_line(warnings));
    }
    out
}

/// Returns true if no run is made because no profile can be used.
fn is_about_profiles(explanation: &WhyReport) -> bool {
    let reasons = [
        Category::ProfileAmbiguous,
        Category::ProfileNotFound,
        Category::ProfileDoesNotFit,
    ];
    let blocking = explanation.blocked_by.as_ref();
    blocking.is_some_and(|it| reasons.iter().any(|reason| reason.as_str() == it.reason))
}

/// Lists what the sources wait for beyond what the status says, and how they have changed since the current run.
fn awaited(sources: &SourcesState) -> String {
    let mut out = String::new();
    for awaited in sources.waits_for.iter().skip(1) {
        let _ = writeln!(out, "  since {}", in_one_line(&awaited.why));
    }
    for changed in &sources.changed_since {
        let line = changed.describe();
        let _ = writeln!(out, "  changed since its run: {}", in_one_line(&line));
    }
    for hidden in &sources.not_visible {
        let _ = writeln!(
            out,
            "  you may not read {}, so what it waits for is unknown",
            in_one_line(&format_name(&SourceKey::read(hidden)))
        );
    }
    out
}

/// Returns what blocks the Runnable, in words for people.
fn what_blocks<'a>(explanation: &'a WhyReport, blocking: &'a BlockedBy) -> &'a str {
    if blocking.condition == RUN_TEMPLATE_READY {
        MessageParts::parse(&blocking.message).what
    } else {
        // The message of Ready says more about a run than its engine does.
        &explanation.message
    }
}

/// Returns a line on the run in progress, in the words of its engine.
fn in_progress(explanation: &WhyReport) -> String {
    let Some(ExplainedRun { run, .. }) = &explanation.run else {
        return String::new();
    };
    let mut out = match run.state {
        RunState::Running => {
            let since = age::ago(run.started_at.as_ref());
            format!("  run {} running for {since}", run.sequence)
        }
        RunState::Pending | RunState::Rejected => format!("  run {} is being made", run.sequence),
        _ => return String::new(),
    };
    let says_no_more = ["", BEING_MADE, NOT_ENDED].contains(&&*explanation.message);
    if !says_no_more {
        let _ = write!(out, ": {}", in_one_line(&explanation.message));
    }
    out.push('\n');
    out
}

/// Returns the last run and its cause.
fn cause(explained: &ExplainedRun) -> String {
    let ExplainedRun { run, because, .. } = explained;
    let paint = colour(run.state.as_str());
    let (begun, made) = match run.state {
        RunState::Pending | RunState::Rejected => ("planned", "to be made"),
        _ => ("started", "made"),
    };
    // No object of that name was ever made for the run.
    let never = if run.state == RunState::Rejected {
        "; it was never created"
    } else {
        ""
    };
    let mut out = format!(
        "run {}: {} {}, {paint}{}{paint:#}, {begun} {} ago{never}\n  {made} because {}",
        run.sequence,
        in_one_line(&run.kind),
        in_one_line(&run.name),
        run.state,
        age::ago(run.started_at.as_ref()),
        reasons(because)
    );
    if run.attempt > 1 {
        let _ = writeln!(out, "  it is attempt {}", run.attempt);
    }
    if let Some(deadline) = &explained.deadline {
        let _ = writeln!(out, "  it times out at {}", deadline.0);
    }
    if let Some(judged) = &explained.judged {
        let since = age::ago(run.started_at.as_ref());
        let _ = writeln!(out, "  {}", in_one_line(&judged_by(judged, &since)));
    }
    if let Some(stopped) = requests::describe_stop(run) {
        let _ = writeln!(out, "  {}", in_one_line(&stopped));
    }
    out
}

/// Describes the rules that judge a running run, and what is missing after this time.
fn judged_by(judged: &Judged, since: &str) -> String {
    let Judged { by, missing } = judged;
    match missing.as_slice() {
        [] => format!("it is judged by {by}"),
        missing => format!(
            "it is judged by {by}, and after {since}: {}",
            missing.join("; ")
        ),
    }
}

fn reasons(because: &Because) -> String {
    match because {
        Because::First => "it is the first run\n".to_owned(),
        Because::Retried { run } => format!("run {run} failed, and this is a retry\n"),
        Because::Deleted { run } => format!("run {run} was deleted before it finished\n"),
        Because::MadeWay { run } => {
            format!("run {run} was to be stopped for a change, and that change was reverted\n")
        }
        Because::Forgotten => {
            "of something that is no longer known: the runs before it are forgotten\n".to_owned()
        }
        Because::Requested(request) => format!("{}\n", in_one_line(&requested(request))),
        Because::Changed {
            run,
            found,
            not_seen,
            sources,
        } => changed(*run, found, not_seen.as_deref(), sources),
    }
}

/// Describes the change since an earlier run.
fn changed(
    run: i64,
    found: &RunDifference,
    not_seen: Option<&str>,
    sources: &[SourceChange],
) -> String {
    let diff = match found {
        RunDifference::Known(diff) => diff,
        RunDifference::Unknown { .. } => &RunDiff::default(),
    };
    let mut out = match found {
        RunDifference::Unknown { .. } => {
            let why = not_seen.map_or_else(|| "its object is gone".to_owned(), in_one_line);
            format!(
                "the rendered object differs from run {run} ({why}, so the fields are unknown)\n"
            )
        }
        RunDifference::Known(_) if !diff.changes.is_empty() => {
            format!("the rendered object differs from run {run}:\n")
        }
        RunDifference::Known(_) if !sources.is_empty() => {
            format!("something that no field shows has changed since run {run}:\n")
        }
        RunDifference::Known(_) => format!(
            "the rendered object differs from run {run} in something that no field shows, such as the value of a Secret, the uid of an object or a tag in place of its value\n"
        ),
    };
    for line in object_diff::format_changes(&diff.changes).lines() {
        let _ = writeln!(out, "    {line}");
    }
    let are_the_cause = diff.changes.is_empty() && matches!(found, RunDifference::Known(_));
    if !(sources.is_empty() || are_the_cause) {
        out.push_str("  these sources of its inputs had changed:\n");
    }
    for source in sources {
        let _ = writeln!(out, "    {}", in_one_line(&source.describe()));
    }
    if let Some(line) = diff.describe_profile_changes() {
        let _ = writeln!(out, "  {line}");
    }
    out
}

/// Describes who asked for a run that is like the one before, and the reason.
fn requested(request: &RerunRequest) -> String {
    let by = match request.by.as_str() {
        "" => "a user",
        by => by,
    };
    let token = &request.token;
    match request.reason.as_str() {
        "" => format!("{by} requested it: {token}"),
        reason => format!("{by} requested it: {token} ({reason})"),
    }
}

fn is_tried_again(explanation: &WhyReport) -> bool {
    let retry = explanation.retry.as_ref();
    retry.is_some_and(|retry| {
        matches!(
            retry,
            RetryState::Scheduled { .. } | RetryState::Held { .. } | RetryState::Said { .. }
        )
    })
}

fn is_running(explanation: &WhyReport, sequence: i64) -> bool {
    let run = explanation.run.as_ref().map(|explained| &explained.run);
    run.is_some_and(|run| run.sequence == sequence && run.state == RunState::Running)
}

/// Returns true if the blocking condition has said already why the next run is unknown.
fn is_said_above(explanation: &WhyReport, message: &str) -> bool {
    let blocking = explanation.blocked_by.as_ref();
    blocking.is_some_and(|blocking| MessageParts::parse(&blocking.message).what == message)
}

/// Returns a line on the next run.
fn next(explanation: &WhyReport) -> String {
    match &explanation.next {
        NextRun::New { sequence } => format!(
            "run {sequence} comes next\n  `{}` shows what differs\n",
            explanation
                .place
                .command(&format!("diff {}", explanation.name))
        ),
        NextRun::Pending { sequence } => {
            format!("run {sequence} comes next, and is about to be created\n")
        }
        NextRun::Nothing { sequence } if is_tried_again(explanation) => format!(
            "nothing else to run: run {sequence} matches the rendered object, and will be retried\n"
        ),
        NextRun::Nothing { sequence } if is_running(explanation, *sequence) => {
            format!(
                "nothing else to run: run {sequence} matches the rendered object, and is running\n"
            )
        }
        NextRun::Nothing { sequence } => {
            format!("nothing to run: run {sequence} matches the rendered object\n")
        }
        NextRun::OtherHash { sequence } => {
            format!("the controller will find out if run {sequence} matches the rendered object\n")
        }
        NextRun::Deleting { finalizers } => format!(
            "no more runs are made: the Runnable is being deleted, and waits for {}\n",
            match finalizers.as_slice() {
                [] => "what it owns".to_owned(),
                all => in_one_line(&format!("its finalizers: {}", all.join(", "))),
            }
        ),
        NextRun::Unknown { message } if is_said_above(explanation, message) => {
            "the next run is unknown until you fix that\n".to_owned()
        }
        NextRun::Unknown { message } => {
            format!("the next run is unknown: {}\n", in_one_line(message))
        }
    }
}

#[cfg(test)]
mod tests;
