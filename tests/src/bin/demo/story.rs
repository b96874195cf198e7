//! What the demo does, from an empty machine to outputs.

use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use cartouche_crds::{ClusterRunTemplate, Runnable};
use cartouche_tests::{
    cluster::Cluster,
    control_plane::{self, Part, Parts, Size},
    controller::{Controller, Settings},
    progress::{Progress, elapsed},
};
use kube::api::ListParams;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    command_line::Options,
    examples::{self, Action, Change, Script},
    observation::{self, Row},
    screen::Screen,
};

/// How often the cluster is looked at.
const INTERVAL: Duration = Duration::from_millis(250);

/// Tells the story, until it ends or a person ends it.
pub(crate) fn run(options: Options) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            outcome = tell(options) => outcome,
            _ = tokio::signal::ctrl_c() => Ok(ExitCode::from(130)),
            _ = terminate.recv() => Ok(ExitCode::from(143)),
        }
    });
    // A build that was interrupted is killed with this process, and not waited for.
    runtime.shutdown_background();
    outcome
}

async fn tell(options: Options) -> Result<ExitCode> {
    let progress = Progress::for_stderr();
    let demo = env::current_exe().context("finding the program of this process")?;
    let stage = Stage::set(&demo, &options, progress).await?;
    let patience = Duration::from_secs(options.timeout);
    let mut play = Play {
        screen: Screen::new(),
        script: stage.script.clone(),
        cluster: stage.cluster.clone(),
        patience,
    };
    play.first_runs().await?;
    for change in stage.script.changes.clone() {
        play.change(&change).await?;
    }
    play.screen.keep_table();
    if options.once {
        play.screen.say("Every output arrived.")?;
        return Ok(ExitCode::SUCCESS);
    }
    play.screen.say(&stage.invitation()?)?;
    play.stay().await
}

/// A cluster with Cartouche and the examples.
struct Stage {
    script: Script,
    cluster: Cluster,
    /// Runs until the story is over.
    _controller: Controller,
    kubectl: PathBuf,
    /// A cluster that was there before stays, with what was installed.
    ours: bool,
}

impl Stage {
    async fn set(demo: &Path, options: &Options, progress: Progress) -> Result<Self> {
        let script = examples::script()?;
        let ours = options.kubeconfig.is_none() && options.context.is_none();
        let (cluster, kubectl) = if ours {
            new_cluster(demo, progress).await?
        } else {
            existing_cluster(demo, options, progress).await?
        };
        let step = progress.step("installing Cartouche's kinds and roles");
        cluster.install_cartouche().await?;
        step.done();
        if ours {
            let step = progress.step("letting KWOK play Tekton and Argo Workflows");
            cluster.install_engines().await?;
            step.done();
        }
        let step = progress.step("starting the controller as its own ServiceAccount");
        let controller = Controller::start(demo, &cluster, &Settings::default()).await?;
        step.done();
        let stage = Self {
            script,
            cluster,
            _controller: controller,
            kubectl,
            ours,
        };
        stage.apply_examples(progress).await?;
        Ok(stage)
    }

    async fn apply_examples(&self, progress: Progress) -> Result<()> {
        for example in examples::all()? {
            if !self.ours && self.script.played_only.contains(&example.name) {
                progress.note(&format!("examples/{}: left out, no engine", example.name));
                continue;
            }
            let step = progress.step(format!("applying examples/{}", example.name));
            self.cluster.apply_kustomization(&example.folder).await?;
            step.done();
        }
        Ok(())
    }

    /// How to go on by hand.
    fn invitation(&self) -> Result<String> {
        let folder = self.kubectl.parent().context("kubectl is in no folder")?;
        let ending = if self.ours {
            "Ctrl-C ends it all."
        } else {
            "Ctrl-C stops the controller; what was installed stays."
        };
        Ok(format!(
            "\nThe cluster is yours now. In another terminal:\n\n  \
             export KUBECONFIG={}\n  export PATH={}:$PATH\n  \
             kubectl get runnables --namespace {}\n\n{ending}\n",
            self.cluster.kubeconfig().display(),
            folder.display(),
            self.script.namespace,
        ))
    }
}

async fn new_cluster(demo: &Path, progress: Progress) -> Result<(Cluster, PathBuf)> {
    let options = control_plane::Options {
        size: Size::Full,
        audit: false,
        progress,
    };
    let demo = demo.to_str().context("the path of the demo is no text")?;
    let cluster = Cluster::start(demo, &options).await?;
    let kubectl = cluster.control_plane()?.kubectl()?.to_owned();
    Ok((cluster, kubectl))
}

async fn existing_cluster(
    demo: &Path,
    options: &Options,
    progress: Progress,
) -> Result<(Cluster, PathBuf)> {
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
    let folder = env::temp_dir().join("cartouche-demo");
    std::fs::create_dir_all(&folder)?;
    let context = options.context.clone();
    let cluster = Cluster::connect(kubeconfig, context, kubectl.clone(), folder).await?;
    Ok((cluster, kubectl))
}

/// The first file of `KUBECONFIG`, else `~/.kube/config`.
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

/// The story on its stage.
struct Play {
    screen: Screen,
    script: Script,
    cluster: Cluster,
    patience: Duration,
}

impl Play {
    async fn first_runs(&mut self) -> Result<()> {
        self.watch_until(|_| true).await.map(drop)
    }

    /// Makes a change and watches until the Runnable that it concerns has run again.
    async fn change(&mut self, change: &Change) -> Result<()> {
        let before = self.row(&change.new_run_of).await?;
        self.screen.keep_table();
        self.screen.say(&format!("\n{}:", change.say))?;
        let (object, patch) = match &change.action {
            Action::Patch { object, merge } => (object.clone(), merge.clone()),
            Action::CopyOutput {
                from,
                output,
                to,
                input,
            } => {
                let row = self.row(from).await?;
                let value = row.outputs.get(output).cloned().unwrap_or_default();
                let patch = json!({ "spec": { "inputs": { input: value } } });
                (format!("runnable/{to}"), patch)
            }
        };
        let patch = patch.to_string();
        let namespace = self.script.namespace.clone();
        self.screen.say(&format!(
            "  kubectl --namespace {namespace} patch {object} --type merge --patch '{patch}'\n"
        ))?;
        self.cluster
            .kubectl(&[
                "--namespace",
                &namespace,
                "patch",
                &object,
                "--type",
                "merge",
                "--patch",
                &patch,
            ])
            .await?;
        let ran_again = |row: &Row| row.name != before.name || row.sequence() > before.sequence();
        self.watch_until(ran_again).await.map(drop)
    }

    /// Shows the Runnables until nothing is lacking and `wanted` holds for each.
    async fn watch_until(&mut self, wanted: impl Fn(&Row) -> bool) -> Result<Vec<Row>> {
        let begin = Instant::now();
        loop {
            let rows = self.rows().await?;
            self.screen.show(&rows)?;
            let mut lacking = observation::lacking(&rows);
            let waiting = rows.iter().filter(|row| !wanted(row));
            lacking.extend(waiting.map(|row| format!("{}: no new run", row.name)));
            if lacking.is_empty() {
                return Ok(rows);
            }
            if begin.elapsed() > self.patience {
                bail!(
                    "not everything came within {}:\n  {}\nhint: --timeout gives it more time; with \
                     CARTOUCHE_KEEP=1 in the environment the logs are kept",
                    elapsed(self.patience),
                    lacking.join("\n  ")
                );
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    /// Shows the Runnables until a person has seen enough. Losing sight of them for a while, as when
    /// somebody restarts the API server, is no reason to stop.
    async fn stay(&mut self) -> Result<ExitCode> {
        loop {
            if let Ok(rows) = self.rows().await {
                self.screen.show(&rows)?;
            }
            tokio::time::sleep(INTERVAL * 4).await;
        }
    }

    async fn rows(&self) -> Result<Vec<Row>> {
        let everything = ListParams::default();
        let runnables = self.cluster.api::<Runnable>(&self.script.namespace);
        let templates = self.cluster.all::<ClusterRunTemplate>();
        Ok(observation::rows(
            &runnables.list(&everything).await?.items,
            &templates.list(&everything).await?.items,
        ))
    }

    async fn row(&self, name: &str) -> Result<Row> {
        let rows = self.rows().await?;
        rows.into_iter()
            .find(|row| row.name == name)
            .with_context(|| format!("there is no Runnable {name}"))
    }
}
