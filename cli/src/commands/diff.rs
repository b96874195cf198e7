//! `cartouche diff`, and what a live Runnable would run now.

use std::{collections::HashSet, fmt::Write as _, path::PathBuf};

use anyhow::{Context as _, anyhow, bail};
use cartouche_crds::{ClusterRunTemplate, Runnable};
use cartouche_protocol::{
    facts::RunnableFacts,
    ledger::{Due, Ledger},
};
use cartouche_templating::Template;
use clap::Args;
use kube::{
    ResourceExt as _,
    api::{DynamicObject, PostParams},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{
    cluster::{Cluster, ClusterArgs, as_json, within},
    live::{
        managed_fields::owned,
        object_diff::{self, FieldChange},
    },
};
use crate::{
    objects::Objects,
    outcome::{FOUND, GOOD, Outcome},
    render::{self, Run, Subject},
    source::Document,
};

/// Show what a Runnable would run now, against what it ran last
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cartouche diff hello
  cartouche diff hello -t template.yaml          with an edited template
  cartouche diff hello -r runnable.yaml          with an edited Runnable
  cartouche diff hello -r runnable.yaml --server-dry-run

The API server is asked to make the run and not to keep it, so that both sides have what it fills in: with
--server-dry-run as the ServiceAccount of the Runnable, which you need permission to impersonate; else as you,
if you may. Exit code 1 if there would be a new run.")]
pub(crate) struct DiffArgs {
    /// The Runnable
    name: String,
    /// File with an edited template
    #[arg(short, long, value_name = "FILE")]
    template: Option<PathBuf>,
    /// File with an edited Runnable
    #[arg(short, long, value_name = "FILE")]
    runnable: Option<PathBuf>,
    /// Make the dry run as the ServiceAccount of the Runnable, and fail if it is refused
    #[arg(long)]
    server_dry_run: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// What a live Runnable would run.
pub(crate) struct Prospect {
    pub(crate) live: Runnable,
    /// The number it would have.
    pub(crate) sequence: i64,
    pub(crate) run: Run,
    pub(crate) due: Due,
}

impl Prospect {
    /// Whether it is another run than the present one.
    pub(crate) fn is_new(&self) -> bool {
        matches!(self.due, Due::New(_))
    }
}

/// Files to take instead of the live objects.
#[derive(Default)]
pub(crate) struct Edited {
    pub(crate) template: Option<PathBuf>,
    pub(crate) runnable: Option<PathBuf>,
}

impl Edited {
    /// A live Runnable with what is edited of it.
    fn runnable(&self, live: &Runnable) -> anyhow::Result<Runnable> {
        let mut runnable = live.clone();
        if let Some(path) = &self.runnable {
            let new: Runnable = read(path, "Runnable", |objects| &objects.runnables)?;
            runnable.spec = new.spec;
            runnable.metadata.labels = new.metadata.labels;
            runnable.metadata.annotations = new.metadata.annotations;
        }
        Ok(runnable)
    }

    fn template(&self) -> anyhow::Result<Option<ClusterRunTemplate>> {
        let path = self.template.as_ref();
        path.map(|path| read(path, "template", |objects| &objects.templates))
            .transpose()
    }
}

/// The only object of its kind in a file.
fn read<T: DeserializeOwned>(
    path: &PathBuf,
    what: &str,
    pick: impl Fn(&Objects) -> &Vec<Document>,
) -> anyhow::Result<T> {
    let document = one(path, pick)?;
    serde_json::from_value(document.value.clone()).with_context(|| {
        format!(
            "{} holds no {what} that can be read\nhint: cartouche validate says why",
            path.display()
        )
    })
}

/// Renders a live Runnable, or an edited one in its place.
pub(crate) async fn prospect(
    cluster: &Cluster,
    name: &str,
    edited: &Edited,
) -> anyhow::Result<Prospect> {
    let live = cluster.runnable(name).await?;
    let runnable = edited.runnable(&live)?;
    let template_name = runnable.spec.run_template_ref.name.clone();
    let template = match edited.template()? {
        None => cluster.template(&template_name).await?,
        edited => edited,
    };
    let Some(template) = template else {
        bail!("there is no ClusterRunTemplate {template_name}");
    };
    let template = Template::compile(&template.spec)
        .map_err(|problems| anyhow!("the template cannot be used: {problems}"))?;
    let selected = match &runnable.spec.selector {
        Some(selector) => Some(serde_json::to_value(cluster.selected(selector).await?)?),
        None => None,
    };
    let mut value = as_json(&runnable)?;
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("namespace".to_owned(), cluster.namespace.clone().into());
    }
    let subject = Subject {
        template: &template,
        template_name: &template_name,
        runnable: &value,
        selected: selected.as_ref(),
    };
    let ledger = live.status.as_ref().map(Ledger::of).unwrap_or_default();
    let run = numbered(&subject, ledger.next_sequence())?;
    let asked = RunnableFacts::of(&runnable).rerun_token;
    let due = ledger.due(run.rendered.input_hash(), asked.as_deref());
    let (run, sequence) = match due {
        Due::New(next) => (run, next),
        Due::Pending(present) | Due::Nothing(present) | Due::OtherHash(present) => {
            (numbered(&subject, present)?, present)
        }
    };
    Ok(Prospect {
        live,
        sequence,
        run,
        due,
    })
}

fn numbered(subject: &Subject<'_>, sequence: i64) -> anyhow::Result<Run> {
    render::run_numbered(subject, sequence).map_err(|problems| {
        let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
        anyhow!("it cannot be rendered: {}", texts.join("; "))
    })
}

fn one(path: &PathBuf, pick: impl Fn(&Objects) -> &Vec<Document>) -> anyhow::Result<Document> {
    let objects = Objects::load_all(std::slice::from_ref(path))?;
    match pick(&objects).as_slice() {
        [one] => Ok(one.clone()),
        found => bail!(
            "{} has to hold exactly one such object, and holds {}",
            path.display(),
            found.len()
        ),
    }
}

pub(crate) async fn execute(args: &DiffArgs, cluster: &Cluster) -> anyhow::Result<Outcome> {
    let edited = Edited {
        template: args.template.clone(),
        runnable: args.runnable.clone(),
    };
    let prospect = prospect(cluster, &args.name, &edited).await?;
    let served = if args.server_dry_run {
        let acting =
            cluster.as_account(&cluster.namespace, prospect.live.spec.service_account())?;
        Some(dry_run(&prospect, &acting).await?)
    } else {
        // Whoever may not create runs still gets an answer.
        dry_run(&prospect, cluster).await.ok()
    };
    let mut out = String::new();
    match last_run(&prospect.live, cluster).await? {
        Last::None => out.push_str("there was no run yet\n"),
        Last::Gone(name) => {
            let _ = writeln!(
                out,
                "the object of the last run, {name}, is gone: only hashes can be compared"
            );
        }
        Last::Known(object) => {
            let changes = match &served {
                Some(served) => differences(&object, served),
                None => known_differences(&object, &prospect.run.object),
            };
            out.push_str(&object_diff::shown(&changes));
            if served.is_none() && prospect.is_new() {
                out.push_str("fields that are only in the last run are not shown: you may not ask for a dry run\n");
            }
        }
    }
    out.push_str(&verdict(&prospect));
    Ok(Outcome {
        out,
        err: String::new(),
        code: match prospect.due {
            Due::New(_) | Due::Pending(_) => FOUND,
            Due::Nothing(_) | Due::OtherHash(_) => GOOD,
        },
    })
}

fn verdict(prospect: &Prospect) -> String {
    let hash = prospect.run.rendered.input_hash();
    match prospect.due {
        Due::New(next) if prospect.live.spec.suspend == Some(true) => {
            format!("this would be run {next} once the Runnable is resumed ({hash})\n")
        }
        Due::New(next) => format!("this would be run {next} ({hash})\n"),
        Due::Pending(present) => format!("run {present} is to be made of it ({hash})\n"),
        Due::Nothing(present) => format!("nothing to run: run {present} is the same ({hash})\n"),
        Due::OtherHash(present) => format!(
            "whether run {present} is the same is found out by the controller: its hash was made in another way\n"
        ),
    }
}

/// The object of the last run.
pub(crate) enum Last {
    None,
    /// It was deleted; this was its name.
    Gone(String),
    Known(Value),
}

async fn last_run(runnable: &Runnable, cluster: &Cluster) -> anyhow::Result<Last> {
    let Some(current) = runnable
        .status
        .as_ref()
        .and_then(|status| status.current_run.as_ref())
    else {
        return Ok(Last::None);
    };
    let found = cluster
        .object(&current.api_version, &current.kind, &current.name)
        .await?;
    Ok(match found {
        Some(object) => Last::Known(serde_json::to_value(object)?),
        None => Last::Gone(current.name.clone()),
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
        metadata.insert(
            "name".to_owned(),
            json!(format!("{}-dry", prospect.live.name_any())),
        );
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
