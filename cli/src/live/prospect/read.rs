//! Reads all that a run is made of.

use anyhow::anyhow;
use cartouche_authoring::{
    objects::{Objects, Selected},
    render,
    source::Document,
};
use cartouche_crds::{ClusterRunTemplate, PROFILE_REFRESH_ANNOTATION, Runnable};
use serde_json::Value;

use super::{
    Prospect,
    edited::{Edited, apply_manifest, parse_document},
    sources,
    state::ProspectState,
};
use crate::{cluster::Cluster, live::profiles};

/// Renders the live Runnable of a name, or an edited one in its place.
pub(crate) async fn of_named(
    cluster: &Cluster,
    name: &str,
    edited: &Edited,
) -> anyhow::Result<Prospect> {
    let live = cluster.runnable(name).await?;
    let runnable = edited.runnable(&live)?;
    of_live(cluster, (live, runnable), edited.template()?, &[]).await
}

/// The next run of a Runnable, without and with a refresh of its profile.
pub(crate) struct RefreshProspects {
    pub(crate) before: anyhow::Result<Prospect>,
    pub(crate) after: anyhow::Result<Prospect>,
    /// True if the user may not list the profiles.
    pub(crate) are_profiles_unread: bool,
}

/// Renders the next run of a live Runnable, whether or not a change is pending.
pub(crate) async fn render_refresh(
    cluster: &Cluster,
    live: &Runnable,
    token: &str,
) -> anyhow::Result<RefreshProspects> {
    let both = (live.clone(), live.clone());
    let mut before = Box::pin(state(cluster, both, None, &[])).await?;
    before.of_next = true;
    // A refresh changes nothing that was read.
    let mut after = before.clone();
    let annotations = after.runnable.metadata.annotations.get_or_insert_default();
    annotations.insert(PROFILE_REFRESH_ANNOTATION.to_owned(), token.to_owned());
    Ok(RefreshProspects {
        are_profiles_unread: before.profiles.is_none(),
        before: before.prospect(&cluster.namespace),
        after: after.prospect(&cluster.namespace),
    })
}

/// Renders a live Runnable with its template from the files, if they hold it.
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
) -> anyhow::Result<ProspectState> {
    let selected = match &runnable.spec.selector {
        Some(selector) => Some(serde_json::to_value(cluster.select(selector).await?)?),
        None => None,
    };
    Ok(ProspectState {
        live: Some(live),
        template: template(cluster, &runnable, edited).await?,
        sources: Box::pin(sources::read(cluster, &runnable, files)).await?,
        profiles: Box::pin(profiles::read(cluster)).await?,
        of_next: false,
        runnable,
        selected,
    })
}

/// Renders a Runnable from files, with their template if they hold it. The ledger and the selected object come from
/// the cluster.
pub(crate) async fn of_files(
    cluster: &Cluster,
    files: &Objects,
    document: &Document,
) -> anyhow::Result<Prospect> {
    let name = document.name();
    let mut document = document.clone();
    document.value = render::prepare(&document.value, &cluster.namespace);
    let live = cluster.runnable_if_any(name).await?;
    let new: Runnable = parse_document(&document, "Runnable")?;
    let runnable = match &live {
        Some(live) => apply_manifest(live, new),
        None => new,
    };
    let state = ProspectState {
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
        .map(|template| parse_document(template, "template"))
        .transpose()
}

/// Returns the edited template, or else that of the cluster.
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

/// Returns the selected object: that of the cluster, which has a status, or else that of the files.
async fn selected(
    cluster: &Cluster,
    files: &Objects,
    document: &Document,
    runnable: &Runnable,
) -> anyhow::Result<Option<Value>> {
    let Some(selector) = &runnable.spec.selector else {
        return Ok(None);
    };
    match (cluster.select(selector).await, files.selected_by(document)) {
        (Ok(live), _) => Ok(Some(serde_json::to_value(live)?)),
        (Err(_), Selected::One(one)) => Ok(Some(one.value.clone())),
        (Err(error), _) => Err(error),
    }
}
