//! The stage of the story: a cluster with Cartouche, its controller and the examples.

use std::{
    collections::BTreeSet,
    env,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result, anyhow, bail};
use cartouche_crds::ClusterRunTemplate;
use cartouche_tests::{
    cluster::Cluster,
    control_plane::{self, Part, Parts, Size, node},
    controller::{Controller, Settings},
    error_text::in_full,
    progress::Progress,
};
use kube::{ResourceExt, api::ListParams};
use serde_json::Value;
use tempfile::TempDir;

use crate::{
    command_line::Options,
    examples::{self, Script},
};

/// Time that an existing cluster has for its first answer.
const ANSWER: Duration = Duration::from_secs(15);

/// A cluster with Cartouche and the examples.
pub(crate) struct Stage {
    pub(crate) script: Script,
    pub(crate) cluster: Cluster,
    /// Runs until the story is over.
    controller: Controller,
    kubectl: PathBuf,
    /// Folder for files if the cluster existed before. The cluster then keeps everything that was installed.
    visited: Option<TempDir>,
    /// True if containers do real work.
    pub(crate) real_node: bool,
}

impl Stage {
    /// Sets the stage up.
    pub(crate) async fn set(demo: &Path, options: &Options, progress: Progress) -> Result<Self> {
        let script = examples::script()?;
        let ours = options.kubeconfig.is_none() && options.context.is_none();
        let real_node = options.containers && can_be_node(demo, progress).await?;
        let (cluster, kubectl, visited) = if ours {
            let size = if real_node {
                Size::Containers
            } else {
                Size::Full
            };
            new_cluster(demo, size, progress).await?
        } else {
            existing_cluster(demo, options, progress).await?
        };
        let step = progress.step("installing Cartouche's kinds and roles");
        cluster.install_cartouche().await?;
        step.done();
        if ours && !real_node {
            let step = progress.step("letting KWOK simulate Tekton and Argo Workflows");
            cluster.install_engines().await?;
            step.done();
        }
        let step = progress.step("starting the controller as its own ServiceAccount");
        let controller = Controller::start(demo, &cluster, &Settings::default()).await?;
        step.done();
        let stage = Self {
            script,
            cluster,
            controller,
            kubectl,
            visited,
            real_node,
        };
        stage.apply_examples(progress).await?;
        Ok(stage)
    }

    async fn apply_examples(&self, progress: Progress) -> Result<()> {
        let mut examples = examples::all()?;
        if self.real_node {
            let there = &self.script.containers.examples;
            examples.retain(|example| there.contains(&example.name));
            let names = there.join(", ");
            progress.note(&format!(
                "only the examples {names}: there are no images for the others"
            ));
        }
        for example in examples {
            if let Some(why) = self.left_out(&example.name) {
                progress.note(&format!("examples/{}: left out, {why}", example.name));
                continue;
            }
            let step = progress.step(format!("applying examples/{}", example.name));
            self.cluster.apply_kustomization(&example.folder).await?;
            step.done();
        }
        Ok(())
    }

    /// Returns the reason why this stage leaves the example out, or `None`.
    fn left_out(&self, example: &str) -> Option<&'static str> {
        let among = |names: &[String]| names.iter().any(|name| name == example);
        if self.visited.is_some() {
            return among(&self.script.played_only).then_some("no engine");
        }
        let is_not_played = !self.real_node && among(&self.script.not_played);
        is_not_played.then_some("its containers would have to run")
    }

    /// Returns the templates whose kind a visited cluster does not serve, because their engine is not
    /// installed there. Their Runnables take no part.
    pub(crate) async fn without_engine(&self, progress: Progress) -> Result<BTreeSet<String>> {
        let mut without = BTreeSet::new();
        if self.visited.is_none() {
            return Ok(without);
        }
        let templates = self.cluster.all::<ClusterRunTemplate>();
        for template in templates.list(&ListParams::default()).await? {
            let field = |name| template.spec.template.get(name).and_then(Value::as_str);
            let (Some(api_version), Some(kind)) = (field("apiVersion"), field("kind")) else {
                continue;
            };
            if !self.serves(api_version, kind).await? {
                let name = template.name_any();
                progress.note(&format!("template {name}: left out, no {kind} here"));
                without.insert(name);
            }
        }
        Ok(without)
    }

    async fn serves(&self, api_version: &str, kind: &str) -> Result<bool> {
        let client = self.cluster.client();
        let answer = if api_version.contains('/') {
            client.list_api_group_resources(api_version).await
        } else {
            client.list_core_api_resources(api_version).await
        };
        match answer {
            Ok(list) => Ok(list.resources.iter().any(|resource| resource.kind == kind)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the text that shows how to continue by hand.
    pub(crate) fn invitation(&self) -> Result<String> {
        let folder = self
            .kubectl
            .parent()
            .context("the path of kubectl has no folder")?;
        let ending = if self.visited.is_some() {
            "Ctrl-C stops the controller; everything installed stays."
        } else {
            "Ctrl-C ends the demo and removes the cluster."
        };
        Ok(format!(
            "\nThe cluster is yours now. In another terminal:\n\n  \
             export KUBECONFIG={}\n  export PATH={}:$PATH\n  \
             kubectl get runnables --namespace {}\n\n\
             The controller writes to {}.\n{ending}\n",
            self.cluster.kubeconfig().display(),
            folder.display(),
            self.script.namespace,
            self.controller.log_file().display(),
        ))
    }
}

/// A cluster, its kubectl, and the folder for files if the cluster has none of its own.
type Found = (Cluster, PathBuf, Option<TempDir>);

/// Returns true if a real node can run here. Otherwise it prints the reason.
async fn can_be_node(demo: &Path, progress: Progress) -> Result<bool> {
    let lacking = node::lacking(demo).await?;
    if let Some(why) = &lacking {
        progress.note(&format!("no real node, KWOK simulates one: {}", why.trim()));
    }
    Ok(lacking.is_none())
}

async fn new_cluster(demo: &Path, size: Size, progress: Progress) -> Result<Found> {
    let options = control_plane::Options {
        size,
        audit: false,
        progress,
    };
    let demo = demo.to_str().context("the path of the demo is not UTF-8")?;
    let cluster = Cluster::start(demo, &options).await?;
    let kubectl = cluster.control_plane()?.kubectl()?.to_owned();
    Ok((cluster, kubectl, None))
}

async fn existing_cluster(demo: &Path, options: &Options, progress: Progress) -> Result<Found> {
    let kubeconfig = match &options.kubeconfig {
        Some(file) => file.clone(),
        None => usual_kubeconfig()?,
    };
    let kubectl = if let Some(kubectl) = on_path("kubectl") {
        kubectl
    } else {
        let parts = Parts::prepare(demo, &[Part::Kubectl], progress)?;
        parts.path(Part::Kubectl)?.to_owned()
    };
    let folder = tempfile::Builder::new().prefix("cartouche-").tempdir()?;
    let files = folder.path().to_owned();
    let context = options.context.clone();
    let cluster = answering(kubeconfig, context, kubectl.clone(), files)
        .await
        .map_err(|error| {
            anyhow!(
                "the given cluster cannot be used: {}\nhint: `kubectl cluster-info` with the same \
                 kubeconfig and context should work; without both, the demo starts its own",
                in_full(&error)
            )
        })?;
    Ok((cluster, kubectl, Some(folder)))
}

async fn answering(
    kubeconfig: PathBuf,
    context: Option<String>,
    kubectl: PathBuf,
    files: PathBuf,
) -> Result<Cluster> {
    let cluster = Cluster::connect(kubeconfig, context, kubectl, files).await?;
    let client = cluster.client();
    tokio::time::timeout(ANSWER, client.apiserver_version())
        .await
        .context("it does not answer")??;
    Ok(cluster)
}

/// Returns the first file of `KUBECONFIG`, or else `~/.kube/config`.
fn usual_kubeconfig() -> Result<PathBuf> {
    let named = env::var_os("KUBECONFIG");
    let first = named
        .as_deref()
        .and_then(|list| env::split_paths(list).next());
    match (first, env::home_dir()) {
        (Some(file), _) => Ok(file),
        (None, Some(home)) => Ok(home.join(".kube/config")),
        (None, None) => bail!("no kubeconfig found\nhint: name one with --kubeconfig"),
    }
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}
