//! What a Runnable would run now.

mod edited;
mod making;
mod sources;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use anyhow::{anyhow, bail};
use cartouche_crds::{
    ClusterRunTemplate, INPUT_HASH_ANNOTATION, PROFILE_REFRESH_ANNOTATION, ProfileRequirement,
    ProfileVersion, Runnable,
};
use cartouche_protocol::{
    compiled::Compiled,
    diagnosis::{Diagnosis, Fault},
    facts::RunnableFacts,
    ledger::{Due, Ledger},
    newer_release::{known_fields, leaves_alone},
    profiles::Profiles,
    reconcile_error::ReconcileError,
};
use cartouche_templating::{HASH_VERSION, Template, kinds, syntax};
use serde_json::Value;

pub(crate) use edited::Edited;
use edited::{applied, typed};
use making::Making;
use sources::Sources;

use crate::{
    cluster::{Cluster, as_json},
    live::profiles,
    objects::{Objects, Selected},
    outcome::diagnosed,
    render::{self, Run, Subject, placeholders},
    source::Document,
};

/// What a Runnable would run.
pub(crate) struct Prospect {
    /// As it is on the cluster, if it is there.
    pub(crate) live: Option<Runnable>,
    /// As it is or would be.
    pub(crate) runnable: Runnable,
    /// The number that the run would have.
    pub(crate) sequence: i64,
    pub(crate) run: Run,
    /// The profile that it is made with, as it is now.
    pub(crate) profile: Option<ProfileVersion>,
    /// Why that cannot be known, if it cannot: then the run is shown without one.
    pub(crate) unknown_profile: Option<String>,
    /// Why a request to choose it anew was not followed.
    pub(crate) not_refreshed: Option<String>,
    /// Why no controller of this release makes the run, if it is of a newer one.
    pub(crate) newer: Option<ReconcileError>,
    /// None where it cannot be told, since it follows from Secrets that are unread.
    pub(crate) due: Option<Due>,
    /// The Secrets that the hash follows from, and that the user may not read: without them there is no hash.
    pub(crate) unread: BTreeSet<String>,
    /// The revisions of what its inputs come from, as a status has them; none of what is not known.
    pub(crate) revisions: BTreeMap<String, String>,
    /// The template that it is rendered with.
    pub(crate) template: ClusterRunTemplate,
    /// The object that is selected.
    pub(crate) selected: Option<Value>,
    /// The facts, in words, that its hash follows from and that the cluster has yet to give.
    pub(crate) provisional: Vec<String>,
    /// Whether the last run, this one, or what is selected may hold parts of a Secret.
    pub(crate) has_secrets: bool,
}

/// Said of an error that may repeat parts of a Secret.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OfSecrets;

impl fmt::Display for OfSecrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("this may hold parts of a Secret")
    }
}

impl Prospect {
    /// Whether it is another run than the present one.
    pub(crate) fn is_new(&self) -> bool {
        matches!(self.due, Some(Due::New(_)))
    }

    /// The hash of what is rendered, if it can be known.
    pub(crate) fn input_hash(&self) -> Option<&str> {
        let hash = self.run.rendered.input_hash();
        Some(hash).filter(|_| self.unread.is_empty())
    }

    /// Why its hash cannot be known, if it cannot.
    pub(crate) fn untold(&self) -> Option<String> {
        let names: Vec<&str> = self.unread.iter().map(String::as_str).collect();
        match names.as_slice() {
            [] => None,
            [name] => Some(format!(
                "whether the Secret {name} has changed cannot be told, since you may not read it"
            )),
            several => Some(format!(
                "whether the Secrets {} have changed cannot be told, since you may not read them",
                several.join(", ")
            )),
        }
    }

    /// Marks an error that may repeat parts of a Secret.
    pub(crate) fn marked(&self, error: anyhow::Error) -> anyhow::Error {
        marked(error, self.has_secrets)
    }
}

/// Renders a live Runnable, or an edited one in its place.
pub(crate) async fn prospect(
    cluster: &Cluster,
    name: &str,
    edited: &Edited,
) -> anyhow::Result<Prospect> {
    let live = cluster.runnable(name).await?;
    let runnable = edited.runnable(&live)?;
    of_live(cluster, (live, runnable), edited.template()?, &[]).await
}

/// What the next run of a live Runnable would be, whether or not it is due: as it is, and once it asks for its profile to be chosen
/// anew.
pub(crate) async fn refreshed(
    cluster: &Cluster,
    live: &Runnable,
    token: &str,
) -> anyhow::Result<[anyhow::Result<Prospect>; 2]> {
    let mut asking = live.clone();
    let annotations = asking.metadata.annotations.get_or_insert_default();
    annotations.insert(PROFILE_REFRESH_ANNOTATION.to_owned(), token.to_owned());
    let mut found = Vec::new();
    for runnable in [live.clone(), asking] {
        let state = Box::pin(state(cluster, (live.clone(), runnable), None, &[])).await?;
        let state = State {
            of_next: true,
            ..state
        };
        found.push(state.prospect(&cluster.namespace));
    }
    match <[_; 2]>::try_from(found) {
        Ok(both) => Ok(both),
        Err(_) => bail!("neither was rendered"),
    }
}

/// Renders a live Runnable with the template of some files, if they hold it.
pub(crate) async fn with_template_of(
    cluster: &Cluster,
    files: &Objects,
    name: &str,
) -> anyhow::Result<Prospect> {
    let live = cluster.runnable(name).await?;
    let template = template_of(files, &live)?;
    of_live(cluster, (live.clone(), live), template, &files.others).await
}

async fn of_live(
    cluster: &Cluster,
    both: (Runnable, Runnable),
    edited: Option<ClusterRunTemplate>,
    files: &[Document],
) -> anyhow::Result<Prospect> {
    let state = Box::pin(state(cluster, both, edited, files)).await?;
    state.prospect(&cluster.namespace)
}

async fn state(
    cluster: &Cluster,
    (live, runnable): (Runnable, Runnable),
    edited: Option<ClusterRunTemplate>,
    files: &[Document],
) -> anyhow::Result<State> {
    let selected = match &runnable.spec.selector {
        Some(selector) => Some(serde_json::to_value(cluster.selected(selector).await?)?),
        None => None,
    };
    Ok(State {
        live: Some(live),
        template: template(cluster, &runnable, edited).await?,
        sources: Box::pin(sources::read(cluster, &runnable, files)).await?,
        profiles: Box::pin(profiles::read(cluster)).await?,
        of_next: false,
        runnable,
        selected,
    })
}

/// Renders a Runnable of some files: with their template, if they hold it. Whatever is on the cluster gives its
/// ledger, and the object that is selected.
pub(crate) async fn of_files(
    cluster: &Cluster,
    files: &Objects,
    document: &Document,
) -> anyhow::Result<Prospect> {
    let name = document.name();
    let mut document = document.clone();
    document.value = render::prepared(&document.value, &cluster.namespace);
    let live = cluster.runnable_if_any(name).await?;
    let new: Runnable = typed(&document, "Runnable")?;
    let runnable = match &live {
        Some(live) => applied(live, new),
        None => new,
    };
    let state = State {
        template: template(cluster, &runnable, template_of(files, &runnable)?).await?,
        selected: selected(cluster, files, &document, &runnable).await?,
        sources: Box::pin(sources::read(cluster, &runnable, &files.others)).await?,
        profiles: Box::pin(profiles::read(cluster)).await?,
        of_next: false,
        live,
        runnable,
    };
    state.prospect(&cluster.namespace)
}

fn template_of(files: &Objects, runnable: &Runnable) -> anyhow::Result<Option<ClusterRunTemplate>> {
    let name = &runnable.spec.run_template_ref.name;
    let mut templates = files.templates.iter();
    let found = templates.find(|template| template.name() == name);
    found
        .map(|template| typed(template, "template"))
        .transpose()
}

/// The template that is edited, or that of the cluster.
async fn template(
    cluster: &Cluster,
    runnable: &Runnable,
    edited: Option<ClusterRunTemplate>,
) -> anyhow::Result<ClusterRunTemplate> {
    let name = &runnable.spec.run_template_ref.name;
    let found = match edited {
        None => cluster.template(name).await?,
        edited => edited,
    };
    found.ok_or_else(|| anyhow!("there is no ClusterRunTemplate {name}"))
}

/// What the Runnable selects: on the cluster, where it has a status, or else among the files.
async fn selected(
    cluster: &Cluster,
    files: &Objects,
    document: &Document,
    runnable: &Runnable,
) -> anyhow::Result<Option<Value>> {
    let Some(selector) = &runnable.spec.selector else {
        return Ok(None);
    };
    match (
        cluster.selected(selector).await,
        files.selected_by(document),
    ) {
        (Ok(live), _) => Ok(Some(serde_json::to_value(live)?)),
        (Err(_), Selected::One(one)) => Ok(Some(one.value.clone())),
        (Err(error), _) => Err(error),
    }
}

/// All that a run is made of.
struct State {
    live: Option<Runnable>,
    runnable: Runnable,
    template: ClusterRunTemplate,
    selected: Option<Value>,
    sources: Sources,
    /// Nothing if the user may not list them.
    profiles: Option<Profiles>,
    /// The next run is meant, whether or not it is due.
    of_next: bool,
}

fn marked(error: anyhow::Error, has_secrets: bool) -> anyhow::Error {
    if has_secrets {
        error.context(OfSecrets)
    } else {
        error
    }
}

impl State {
    fn prospect(self, namespace: &str) -> anyhow::Result<Prospect> {
        let has_secrets = self.has_secrets();
        let rendered = self.rendered(namespace);
        let rendered = rendered.map_err(|error| marked(error, has_secrets));
        rendered.map(|prospect| Prospect {
            has_secrets: has_secrets || kinds::holds_secrets(prospect.run.rendered.kind()),
            ..prospect
        })
    }

    /// Whether a Secret was made, is made, or is selected, as far as that is known before it is rendered.
    fn has_secrets(&self) -> bool {
        let runnables = || self.live.iter().chain([&self.runnable]);
        let selected =
            runnables().filter_map(|it| it.spec.selector.as_ref()?.resource.kind.as_deref());
        let made =
            runnables().filter_map(|it| Some(&*it.status.as_ref()?.current_run.as_ref()?.kind));
        let to_be_made = self.template.spec.template.get("kind");
        let to_be_made = to_be_made.and_then(Value::as_str).unwrap_or_default();
        // A tag may decide for a Secret.
        syntax::may_hold_tags(to_be_made)
            || selected
                .chain(made)
                .chain([to_be_made])
                .any(kinds::holds_secrets)
    }

    fn rendered(self, namespace: &str) -> anyhow::Result<Prospect> {
        let name = &self.runnable.spec.run_template_ref.name;
        let template = Template::compile(&self.template.spec)
            .map_err(|found| unrendered(name, Fault::all(&found)))?;
        let mut value = as_json(&self.runnable)?;
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("namespace".to_owned(), namespace.into());
        }
        let subject = Subject {
            template: &template,
            template_name: name,
            runnable: &value,
            selected: self.selected.as_ref(),
            sourced: &self.sources.values,
            with: None,
        };
        let status = self.live.as_ref().and_then(|live| live.status.as_ref());
        let ledger = status.map(Ledger::of).unwrap_or_default();
        let inputs = self.runnable.spec.inputs_from.as_deref();
        let faults = |found: &[_]| Fault::all_with(found, inputs.unwrap_or_default());
        let hash = render::input_hash(&subject);
        let hash = hash.map_err(|found| unrendered(name, faults(&found)))?;
        let facts = RunnableFacts::of(&self.runnable);
        let unread = self.sources.unread_by(&template);
        let hash = Some(hash.as_str()).filter(|_| unread.is_empty());
        let due = due(&ledger, hash, facts.rerun_token.as_deref());
        let fields = known_fields(&self.runnable.spec, &Compiled::new(&self.template));
        let newer = leaves_alone(status).or(fields.err());
        let making = if self.of_next {
            Making::next(&ledger, &facts)
        } else {
            Making::of(&ledger, due, &facts)
        };
        let needs_profile = self.template.spec.profile == Some(ProfileRequirement::Required);
        let with = making.with(&facts, self.profiles.as_ref(), needs_profile)?;
        let (with, mut run) = with.made_or_without(subject, &making)?;
        if !unread.is_empty() {
            without_hash(&mut run.object);
        }
        let provisional = [
            (self.live.is_none())
                .then(|| placeholders::read(&subject, Some(&self.template.spec)))
                .flatten(),
            self.sources.unborn_by(&template),
        ];
        let provisional: Vec<String> = provisional.into_iter().flatten().collect();
        Ok(Prospect {
            provisional,
            unread,
            revisions: self.sources.revisions,
            live: self.live,
            runnable: self.runnable,
            sequence: run.sequence,
            profile: with.version(),
            unknown_profile: with.unknown(),
            not_refreshed: with.not_refreshed(),
            newer,
            run,
            due,
            template: self.template,
            selected: self.selected,
            has_secrets: false,
        })
    }
}

/// Whether a run is due. Where the hash is not known, that is told only if it is the same whatever it is.
fn due(ledger: &Ledger, hash: Option<&str>, asked: Option<&str>) -> Option<Due> {
    let another = format!("{HASH_VERSION}unknown");
    let of_another = ledger.due(hash.unwrap_or(&another), asked);
    let current = ledger.current.as_ref().filter(|_| hash.is_none());
    let of_same = current.map(|current| ledger.due(&current.input_hash, asked));
    Some(of_another).filter(|due| of_same.is_none_or(|same| same == *due))
}

/// A hash that is not of what the cluster has is shown to nobody.
fn without_hash(run: &mut Value) {
    let annotations = run.pointer_mut("/metadata/annotations");
    if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
        annotations.remove(INPUT_HASH_ANNOTATION);
    }
}

fn unrendered(template: &str, faults: Vec<Fault>) -> anyhow::Error {
    diagnosed(&Diagnosis::Unrendered(template.to_owned(), faults))
}

#[cfg(test)]
mod tests;
