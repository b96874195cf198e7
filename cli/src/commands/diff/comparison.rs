//! What would run now, against what ran last.

use std::{collections::HashSet, fmt::Write as _};

use anyhow::bail;
use cartouche_crds::{PROFILE_ANNOTATION, Runnable};
use cartouche_protocol::{ledger::Due, told::Told};
use kube::{
    ResourceExt as _,
    api::{DynamicObject, PostParams},
};
use serde::Serialize;
use serde_json::{Value, json};

use super::prospect::Prospect;
use crate::{
    cluster::{Cluster, Denied, first_line, within},
    foreign::in_one_line,
    live::{
        managed_fields::owned,
        object_diff::{self, FieldChange},
    },
};

/// All that `diff` says of a Runnable.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Comparison {
    pub(super) name: String,
    pub(super) namespace: String,
    /// Nothing where it follows from a Secret that the user may not read.
    pub(super) would_run: Option<bool>,
    /// The number of the run that would be made, or that is the same.
    pub(super) sequence: i64,
    /// Nothing where it follows from such a one.
    pub(super) input_hash: Option<String>,
    /// Kind of the run.
    pub(super) kind: String,
    /// The profile that it is made with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) profile: Option<String>,
    /// The one that the last run says it was made with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) last_profile: Option<String>,
    pub(super) last: Last,
    /// What to know of this comparison.
    pub(super) notes: Vec<String>,
    pub(super) verdict: String,
    /// Whether either side may hold parts of a Secret.
    #[serde(skip)]
    pub(super) has_secrets: bool,
}

/// What is compared with the last run.
#[derive(Debug, Serialize)]
#[serde(tag = "state")]
pub(super) enum Last {
    /// The Runnable is not in the cluster, or has no run: all of this is new.
    None { run: Value },
    /// Its object, of this name, was deleted.
    Gone { name: String },
    /// You may not read it: all of this run.
    NotSeen { name: String, run: Value },
    /// It is there, and this differs.
    Known { changes: Vec<FieldChange> },
}

impl Comparison {
    /// Asks the API server how it would keep the run: as the ServiceAccount of the Runnable, or as the user if the
    /// user may.
    pub(crate) async fn of(
        prospect: &Prospect,
        as_account: bool,
        cluster: &Cluster,
    ) -> anyhow::Result<Self> {
        let served = if as_account {
            let account = prospect.runnable.spec.service_account();
            let acting = cluster.as_account(&cluster.namespace, account)?;
            Some(dry_run(prospect, &acting).await?)
        } else {
            // Whoever may not create runs still gets an answer.
            dry_run(prospect, cluster).await.ok()
        };
        let last_run = last_run(prospect.live.as_ref(), cluster).await?;
        let unread = match &last_run {
            LastRun::NotSeen { why, .. } => Some(format!("{why}: all of the run is shown")),
            _ => None,
        };
        let (last, last_profile) = last(prospect, last_run, served.as_ref());
        let profile = prospect.profile.as_ref().map(ToString::to_string);
        let is_other = matches!(last, Last::Known { .. }) && profile != last_profile;
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

    /// The difference, and all of the run: for who answers for it. A difference leaves out what is empty, and what others
    /// have changed in the last run, be it that they did so to have it left out.
    pub(crate) fn whole(&self, prospect: &Prospect) -> String {
        let mut out = self.text();
        if !matches!(self.last, Last::None { .. } | Last::NotSeen { .. }) {
            let run = object_diff::shown_new(prospect.run.rendered.document());
            let _ = write!(out, "all of the run:\n{run}");
        }
        out
    }

    /// What is new, line by line.
    pub(super) fn difference(&self) -> String {
        match &self.last {
            Last::None { run } | Last::NotSeen { run, .. } => object_diff::shown_new(run),
            Last::Gone { .. } => String::new(),
            Last::Known { changes } => object_diff::shown(changes),
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

/// What the run is compared with.
fn last(prospect: &Prospect, last_run: LastRun, served: Option<&Value>) -> (Last, Option<String>) {
    let whole = || prospect.run.rendered.document().clone();
    match last_run {
        LastRun::None => (Last::None { run: whole() }, None),
        LastRun::NotSeen { name, .. } => (Last::NotSeen { name, run: whole() }, None),
        LastRun::Gone(name) => (Last::Gone { name }, None),
        LastRun::Known(object) => {
            let changes = match served {
                Some(served) => differences(&object, served),
                None => known_differences(&object, &prospect.run.object),
            };
            (Last::Known { changes }, profile_of(&object))
        }
    }
}

/// The profile that a run says it was made with.
fn profile_of(object: &Value) -> Option<String> {
    let annotations = object.pointer("/metadata/annotations")?;
    let profile = annotations.get(PROFILE_ANNOTATION)?.as_str()?;
    Some(in_one_line(profile))
}

/// What the last run was made with, and this one is.
fn moved(last: Option<&str>, now: Option<&str>) -> String {
    const NONE: &str = "no profile";
    let (last, now) = (last.unwrap_or(NONE), now.unwrap_or(NONE));
    format!("it was made with {last}, and the next one will be with {now}")
}

fn notes(prospect: &Prospect, last: &Last, served: bool) -> Vec<String> {
    let mut notes = Vec::new();
    match last {
        Last::None { .. } if prospect.live.is_none() => {
            notes.push("the Runnable is not in the cluster yet".to_owned());
        }
        Last::None { .. } => notes.push("there was no run yet".to_owned()),
        Last::Gone { name } => notes.push(format!(
            "the object of the last run, {name}, is gone: only hashes can be compared"
        )),
        Last::Known { .. } if !served && prospect.is_new() => notes.push(
            "fields that are only in the last run are not shown: the API server made no dry run of the new one"
                .to_owned(),
        ),
        Last::NotSeen { .. } | Last::Known { .. } => {}
    }
    notes.extend(prospect.newer.as_ref().map(|newer| {
        let what = in_one_line(Told::of(&newer.message).what);
        format!("{what}; what becomes of it, a newer release decides")
    }));
    // Where nothing else is told of it, the verdict says so.
    notes.extend(prospect.untold().filter(|_| prospect.due.is_some()));
    notes.extend(prospect.unknown_profile.clone());
    notes.extend(prospect.not_refreshed.clone());
    if prospect.is_provisional {
        notes.push(
            "the template reads uid, generation or creationTimestamp, or a new Secret: on the cluster the hash is another"
                .to_owned(),
        );
    }
    notes
}

fn verdict(prospect: &Prospect, moved: Option<&str>) -> String {
    let hash = prospect.input_hash();
    let hash = hash.map(|hash| format!(" ({hash})")).unwrap_or_default();
    match prospect.due {
        None => format!(
            "{}: if it has, or if what is rendered differs, this would be run {}",
            prospect.untold().unwrap_or_default(),
            prospect.sequence
        ),
        Some(Due::New(next)) if prospect.runnable.spec.suspend == Some(true) => {
            format!("this would be run {next} once the Runnable is resumed{hash}")
        }
        Some(Due::New(next)) => format!("this would be run {next}{hash}"),
        Some(Due::Pending(present)) => format!("run {present} is to be made of it{hash}"),
        Some(Due::Nothing(present)) if let Some(moved) = moved => {
            format!("only the profile changed: no run. Run {present} is the same{hash}: {moved}")
        }
        Some(Due::Nothing(present)) => {
            format!("nothing to run: run {present} is the same{hash}")
        }
        Some(Due::OtherHash(present)) => format!(
            "whether run {present} is the same is found out by the controller: its hash was made in another way"
        ),
    }
}

/// The object of the last run.
enum LastRun {
    None,
    /// It was deleted; this was its name.
    Gone(String),
    /// The user may not read it, as this says.
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
        Err(error) if Denied::of(&error).is_some() => {
            let (name, why) = (name.clone(), first_line(&error));
            return Ok(LastRun::NotSeen { name, why });
        }
        other => other?,
    };
    // Another object may have its name by now.
    let is_it = |object: &DynamicObject| current.uid.is_none() || object.uid() == current.uid;
    Ok(match found.filter(is_it) {
        Some(object) => LastRun::Known(serde_json::to_value(object)?),
        None => LastRun::Gone(current.name.clone()),
    })
}

/// What differs of what templates render. A field that somebody else has changed since, as `cartouche cancel` does,
/// tells nothing of that.
pub(crate) fn differences(old: &Value, new: &Value) -> Vec<FieldChange> {
    let rendered =
        |object: &Value| object_diff::comparable(&owned(object).unwrap_or_else(|| object.clone()));
    let others: HashSet<String> = [old, new]
        .into_iter()
        .flat_map(|object| {
            object_diff::changes(&rendered(object), &object_diff::comparable(object))
        })
        .map(|change| change.path)
        .collect();
    let mut changes = object_diff::changes(&rendered(old), &rendered(new));
    changes.retain(|change| !others.contains(&change.path));
    changes
}

/// What differs of what is rendered now. The last run also has what the API server filled in, which cannot
/// be told from what is rendered no longer.
fn known_differences(old: &Value, new: &Value) -> Vec<FieldChange> {
    let mut changes =
        object_diff::changes(&object_diff::comparable(old), &object_diff::comparable(new));
    changes.retain(|change| change.new.is_some());
    changes
}

/// What differs of a run that was not made yet. The API server has filled nothing into it, so that fields which only the
/// old one has are left out.
pub(crate) fn rendered_differences(old: &Value, new: &Value) -> Vec<FieldChange> {
    let mut changes = differences(old, new);
    changes.retain(|change| change.new.is_some());
    changes
}

/// The run as the API server would keep it, with all that it fills in.
async fn dry_run(prospect: &Prospect, cluster: &Cluster) -> anyhow::Result<Value> {
    let rendered = &prospect.run.rendered;
    let (api_version, kind) = (rendered.api_version(), rendered.kind());
    let Some(served) = cluster.served(api_version, kind).await? else {
        bail!("the cluster has no kind {kind} of {api_version}\nhint: install what serves it");
    };
    let api = cluster.objects(&served);
    let mut object = prospect.run.object.clone();
    if !prospect.is_new()
        && let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
    {
        // The present run has that name.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_api_server_filled_in_does_not_differ_from_a_run_that_it_has_not_seen() {
        let old = json!({
            "metadata": { "managedFields": [{
                "manager": cartouche_crds::FIELD_MANAGER,
                "fieldsV1": { "f:spec": { "f:completionMode": {}, "f:image": {} } },
            }] },
            "spec": { "completionMode": "NonIndexed", "image": "a:1" },
        });
        let new = json!({ "spec": { "image": "a:2" } });
        let paths = |changes: Vec<FieldChange>| -> Vec<String> {
            changes.into_iter().map(|change| change.path).collect()
        };
        assert_eq!(paths(rendered_differences(&old, &new)), ["spec.image"]);
        assert_eq!(paths(differences(&old, &new)).len(), 2);
    }
}
