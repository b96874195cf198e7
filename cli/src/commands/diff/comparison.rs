//! Comparison of the next run with the last one.

use std::fmt::Write as _;

use anyhow::bail;
use cartouche_authoring::foreign::in_one_line;
use cartouche_crds::{PROFILE_ANNOTATION, Runnable};
use cartouche_protocol::{ledger::Due, messages::format::MessageParts, status::RunState};
use kube::{
    ResourceExt as _,
    api::{DynamicObject, PostParams},
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    cluster::{AccessDenied, Cluster, first_line, within},
    live::{
        object_diff,
        prospect::Prospect,
        run_diff::{NO_PROFILE, RunDiff, RunSide, differences, rendered_differences},
        sources::changed_secrets,
    },
};

/// All that `diff` says about a Runnable.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Comparison {
    pub(super) name: String,
    pub(super) namespace: String,
    /// True if a run would be made; `None` if that depends on a Secret that the user may not read.
    pub(super) would_run: Option<bool>,
    /// Number of the run that would be made, or of the last run if it is the same.
    pub(super) sequence: i64,
    /// Hash of the run; `None` if it depends on a Secret that the user may not read.
    pub(super) input_hash: Option<String>,
    /// Kind of the run.
    pub(super) kind: String,
    /// Profile that the run is made with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) profile: Option<String>,
    /// Profile that the last run was made with, according to its annotation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) last_profile: Option<String>,
    pub(super) last: Last,
    /// Remarks on this comparison.
    pub(super) notes: Vec<String>,
    pub(super) verdict: String,
    /// True if either side may hold parts of a Secret.
    #[serde(skip)]
    pub(super) has_secrets: bool,
}

/// Last run, and its difference from the next one.
#[derive(Debug, Serialize)]
#[serde(tag = "state")]
pub(super) enum Last {
    /// The Runnable is not in the cluster, or has no run: all of the run is new.
    None { run: Value },
    /// The API server refused to make the last run. `run` is all of the next one.
    Refused { name: String, run: Value },
    /// The last run is being made. `run` is all of the next one.
    BeingMade { name: String, run: Value },
    /// The object of the last run is gone, since the run ended or before.
    Gone { name: String, ended: bool },
    /// The user may not read the last run. `run` is all of the next one.
    NotSeen { name: String, run: Value },
    /// The last run exists, with these differences.
    Known(RunDiff),
}

impl Comparison {
    /// Compares the runs, after a dry run of the new one: as the ServiceAccount of the Runnable, or as the user if
    /// permitted.
    pub(crate) async fn compare(
        prospect: &Prospect,
        as_account: bool,
        cluster: &Cluster,
    ) -> anyhow::Result<Self> {
        let served = if as_account {
            let account = prospect.runnable.spec.service_account();
            let acting = cluster.as_account(&cluster.namespace, account)?;
            Some(dry_run(prospect, &acting).await?)
        } else {
            // A user who may not create runs still gets an answer.
            dry_run(prospect, cluster).await.ok()
        };
        let last_run = last_run(prospect.live.as_ref(), cluster).await?;
        let unread = match &last_run {
            LastRun::NotSeen { why, .. } => Some(format!("{why}: all of the run is shown")),
            _ => None,
        };
        let (last, last_profile) = last(prospect, last_run, served.as_ref());
        let profile = prospect.profile.as_ref().map(ToString::to_string);
        let is_other = matches!(last, Last::Known(_)) && profile != last_profile;
        let moved = (is_other && prospect.unknown_profile.is_none())
            .then(|| moved(last_profile.as_deref(), profile.as_deref()));
        Ok(Self {
            name: prospect.runnable.name_any(),
            namespace: cluster.namespace.clone(),
            would_run: prospect
                .due
                .map(|due| matches!(due, Due::New(_) | Due::Pending(_))),
            sequence: prospect.sequence,
            input_hash: prospect.input_hash().map(str::to_owned),
            kind: prospect.run.rendered.kind().to_owned(),
            notes: unread
                .into_iter()
                .chain(notes(prospect, &last, served.is_some()))
                .collect(),
            last,
            profile,
            last_profile,
            verdict: verdict(prospect, moved.as_deref()),
            has_secrets: prospect.has_secrets,
        })
    }

    /// Returns the difference and all of the run, for a user who approves it. A difference leaves out empty fields,
    /// and fields of the last run that others changed, even if they did so to hide a difference.
    pub(crate) fn whole(&self, prospect: &Prospect) -> String {
        let mut out = self.text();
        if self.last.run().is_none() {
            let run = object_diff::shown_new(prospect.run.rendered.document());
            let _ = write!(out, "all of the run:\n{run}");
        }
        out
    }

    /// Returns the difference, line by line.
    pub(super) fn difference(&self) -> String {
        match &self.last {
            last if let Some(run) = last.run() => object_diff::shown_new(run),
            // No run is made because of it, but the next one will have it.
            Last::Known(found) if found.changes.is_empty() && self.would_run == Some(false) => {
                object_diff::format_changes(&found.by_profile)
            }
            Last::Known(found) => object_diff::format_changes(&found.changes),
            _ => String::new(),
        }
    }

    pub(super) fn text(&self) -> String {
        let mut out = self.difference();
        for line in self.notes.iter().chain([&self.verdict]) {
            let _ = writeln!(out, "{line}");
        }
        out
    }
}

impl Last {
    /// Returns all of the new run, where there is no last run to compare it with.
    fn run(&self) -> Option<&Value> {
        match self {
            Self::None { run }
            | Self::Refused { run, .. }
            | Self::BeingMade { run, .. }
            | Self::NotSeen { run, .. } => Some(run),
            Self::Gone { .. } | Self::Known(_) => None,
        }
    }
}

/// Returns the last run with its differences, and the profile that it was made with.
fn last(prospect: &Prospect, last_run: LastRun, served: Option<&Value>) -> (Last, Option<String>) {
    let whole = || prospect.run.rendered.document().clone();
    match last_run {
        LastRun::None => (Last::None { run: whole() }, None),
        LastRun::Refused(name) => (Last::Refused { name, run: whole() }, None),
        LastRun::BeingMade(name) => (Last::BeingMade { name, run: whole() }, None),
        LastRun::NotSeen { name, .. } => (Last::NotSeen { name, run: whole() }, None),
        LastRun::Gone { name, ended } => (Last::Gone { name, ended }, None),
        LastRun::Known(object) => {
            let new = match served {
                Some(served) => RunSide::from_object(served).with(prospect.run.facts()),
                None => RunSide::from_object(&prospect.run.object),
            };
            let (old, making) = (RunSide::from_object(&object), prospect.making());
            let found = match served {
                Some(_) => differences(&old, &new, Some(&making)),
                None => rendered_differences(&old, &new, Some(&making)),
            };
            (Last::Known(found), profile_of(&object))
        }
    }
}

/// Returns the profile that a run was made with, according to its annotation.
fn profile_of(object: &Value) -> Option<String> {
    let annotations = object.pointer("/metadata/annotations")?;
    let profile = annotations.get(PROFILE_ANNOTATION)?.as_str()?;
    Some(in_one_line(profile))
}

/// Returns a sentence about the profiles of the last run and of the next one.
fn moved(last: Option<&str>, now: Option<&str>) -> String {
    let (last, now) = (last.unwrap_or(NO_PROFILE), now.unwrap_or(NO_PROFILE));
    format!("it used {last}, and the next run will use {now}")
}

/// Returns true if no run is to come.
fn is_same(prospect: &Prospect) -> bool {
    matches!(prospect.due, Some(Due::Nothing(_) | Due::OtherHash(_)))
}

fn notes(prospect: &Prospect, last: &Last, served: bool) -> Vec<String> {
    let mut notes = Vec::new();
    match last {
        Last::None { .. } if prospect.live.is_none() => {
            notes.push("the Runnable is not in the cluster yet".to_owned());
        }
        Last::None { .. } => notes.push("there was no run yet".to_owned()),
        Last::Refused { name, .. } => notes.push(format!(
            "the last run, {name}, was refused and never created: all of the run is shown"
        )),
        Last::BeingMade { name, .. } => notes.push(format!(
            "the last run, {name}, is being made: all of the run is shown"
        )),
        Last::Gone { name, ended } => {
            let when = if *ended {
                "after its end, by its TTL or by a delete"
            } else {
                "before its end"
            };
            notes.push(format!(
                "the object of the last run, {name}, was removed {when}: only hashes can be compared"
            ));
        }
        Last::Known(_) if !served && prospect.is_new() => notes.push(
            "fields that are only in the last run are not shown: the API server made no dry run of the new one"
                .to_owned(),
        ),
        Last::NotSeen { .. } | Last::Known(_) => {}
    }
    notes.extend(prospect.newer.as_ref().map(|newer| {
        let what = in_one_line(MessageParts::parse(&newer.message).what);
        format!("{what}; the newer release decides about the run")
    }));
    if let Last::Known(found) = last
        && !(found.changes.is_empty() && is_same(prospect))
    {
        notes.extend(found.describe_profile_changes());
    }
    let changed = changed_secrets(&prospect.runnable, &prospect.revisions);
    notes.extend(
        changed
            .iter()
            .map(|it| format!("changed since the last run: {}", in_one_line(it))),
    );
    // If nothing is known of the pending change, the verdict says so.
    notes.extend(prospect.unknown_hash().filter(|_| prospect.due.is_some()));
    notes.extend(prospect.unknown_profile.clone());
    notes.extend(prospect.not_refreshed.clone());
    if !prospect.provisional.is_empty() {
        let read = prospect.provisional.join(" and ");
        notes.push(format!(
            "the template reads {read}, so the hash on the cluster differs"
        ));
    }
    notes
}

fn verdict(prospect: &Prospect, moved: Option<&str>) -> String {
    let hash = prospect.input_hash();
    let hash = hash.map(|hash| format!(" ({hash})")).unwrap_or_default();
    match prospect.due {
        None => format!(
            "{}: if so, or if the rendered object differs, this would be run {}",
            prospect.unknown_hash().unwrap_or_default(),
            prospect.sequence
        ),
        Some(Due::New(next)) if prospect.runnable.spec.suspend == Some(true) => {
            format!("this would be run {next} once the Runnable is resumed{hash}")
        }
        Some(Due::New(next)) => format!("this would be run {next}{hash}"),
        Some(Due::Pending(present)) => format!("run {present} will be created from it{hash}"),
        Some(Due::Nothing(present)) if let Some(moved) = moved => {
            format!("only the profile changed: no run. Run {present} is the same{hash}: {moved}")
        }
        Some(Due::Nothing(present)) => {
            format!("nothing to run: run {present} is the same{hash}")
        }
        Some(Due::OtherHash(present)) => format!(
            "the controller will find out if run {present} is the same: its hash has another form"
        ),
    }
}

/// Object of the last run.
enum LastRun {
    None,
    /// The API server refused to make the run of this name.
    Refused(String),
    /// The run is to be made and has no object yet.
    BeingMade(String),
    /// The object no longer exists.
    Gone {
        name: String,
        ended: bool,
    },
    /// The user may not read the object, for this reason.
    NotSeen {
        name: String,
        why: String,
    },
    Known(Value),
}

async fn last_run(runnable: Option<&Runnable>, cluster: &Cluster) -> anyhow::Result<LastRun> {
    let status = runnable.and_then(|runnable| runnable.status.as_ref());
    let Some(current) = status.and_then(|status| status.current_run.as_ref()) else {
        return Ok(LastRun::None);
    };
    let name = &current.name;
    let read = cluster.object(&current.api_version, &current.kind, name);
    let found = match read.await {
        Err(error) if AccessDenied::find(&error).is_some() => {
            let (name, why) = (name.clone(), first_line(&error));
            return Ok(LastRun::NotSeen { name, why });
        }
        other => other?,
    };
    // Another object may have this name by now.
    let is_it = |object: &DynamicObject| current.uid.is_none() || object.uid() == current.uid;
    if let Some(object) = found.filter(is_it) {
        return Ok(LastRun::Known(serde_json::to_value(object)?));
    }
    let name = current.name.clone();
    Ok(match RunState::from(current) {
        RunState::Rejected => LastRun::Refused(name),
        RunState::Pending => LastRun::BeingMade(name),
        state => LastRun::Gone {
            name,
            ended: matches!(state, RunState::Ended(_)),
        },
    })
}

/// Returns the run as the API server would store it, with all defaults.
async fn dry_run(prospect: &Prospect, cluster: &Cluster) -> anyhow::Result<Value> {
    let rendered = &prospect.run.rendered;
    let (api_version, kind) = (rendered.api_version(), rendered.kind());
    let Some(served) = cluster.find_kind(api_version, kind).await? else {
        bail!("the cluster has no kind {kind} of {api_version}\nhint: install what serves it");
    };
    let api = cluster.objects(&served);
    let mut object = prospect.run.object.clone();
    if !prospect.is_new()
        && let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
    {
        // The current run has this name.
        let name = format!("{}-dry", prospect.runnable.name_any());
        metadata.insert("name".to_owned(), json!(name));
    }
    let object: DynamicObject = serde_json::from_value(object)?;
    let parameters = PostParams {
        dry_run: true,
        field_manager: Some(cartouche_crds::FIELD_MANAGER.to_owned()),
    };
    let what = format!("a dry run of {kind}");
    Ok(serde_json::to_value(
        within(&what, api.create(&parameters, &object)).await?,
    )?)
}
