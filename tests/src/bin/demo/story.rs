//! The course of the demo, from an empty machine to outputs.

use std::{
    collections::BTreeSet,
    env,
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use cartouche_crds::{APPROVED_ANNOTATION, ClusterRunTemplate, Runnable};
use cartouche_tests::{
    cluster::Cluster,
    error_text::in_full,
    progress::{Progress, elapsed},
};
use kube::api::ListParams;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    command_line::Options,
    examples::{Action, Change, Script},
    observation::{self, Row},
    screen::Screen,
    stage::Stage,
};

/// Interval between two reads of the cluster.
const INTERVAL: Duration = Duration::from_millis(250);

/// Time for the user to read a table before the next change.
const READING: Duration = Duration::from_secs(4);

/// Plays the story until it ends or the user ends it.
pub(crate) fn run(options: Options) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            // First, so that the story handles Ctrl-C itself.
            biased;
            outcome = tell(options) => outcome,
            _ = tokio::signal::ctrl_c() => Ok(ExitCode::from(130)),
            _ = terminate.recv() => Ok(ExitCode::from(143)),
        }
    });
    // Does not wait for an interrupted build, which is killed with this process.
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
        left_out: stage.without_engine(progress).await?,
        to_approve: stage.script.approved().map(str::to_owned).collect(),
        patience,
        real_node: stage.real_node,
    };
    play.first_runs().await?;
    let changes = if stage.real_node {
        &stage.script.containers.changes
    } else {
        &stage.script.changes
    };
    for change in changes {
        if !options.once {
            play.pause().await?;
        }
        play.change(change).await?;
    }
    play.screen.keep_table();
    if options.once {
        play.screen.say("Every output arrived.")?;
        return Ok(ExitCode::SUCCESS);
    }
    play.screen.say(&stage.invitation()?)?;
    tokio::select! {
        outcome = play.stay() => outcome,
        _ = tokio::signal::ctrl_c() => Ok(ExitCode::SUCCESS),
    }
}

/// The story on its stage.
struct Play {
    screen: Screen,
    script: Script,
    cluster: Cluster,
    /// Templates whose Runnables take no part.
    left_out: BTreeSet<String>,
    /// Runnables whose approval is still to come in the story. Until then, waiting is fine for them.
    to_approve: BTreeSet<String>,
    patience: Duration,
    /// True if containers do real work and print something.
    real_node: bool,
}

impl Play {
    async fn first_runs(&mut self) -> Result<()> {
        let rows = self.watch_until(|_| true).await?;
        if self.real_node {
            self.screen.keep_table();
            for row in &rows {
                self.printed(row).await?;
            }
        }
        Ok(())
    }

    /// Shows the output of the Job that is the present run of a Runnable.
    async fn printed(&mut self, row: &Row) -> Result<()> {
        let Some((run, _)) = &row.run else {
            return Ok(());
        };
        let job = format!("job/{run}");
        let logs = ["logs", "--namespace", &self.script.namespace, &job];
        let printed = self.cluster.kubectl(&logs).await?;
        self.screen
            .say(&format!("\nThe container of {run} has printed:"))?;
        for line in printed.lines() {
            self.screen.say(&format!("  {line}"))?;
        }
        Ok(())
    }

    /// Gives the user time to read the screen.
    async fn pause(&mut self) -> Result<()> {
        let begin = Instant::now();
        while begin.elapsed() < READING {
            self.screen.show(&self.rows().await?)?;
            tokio::time::sleep(INTERVAL).await;
        }
        Ok(())
    }

    /// Makes a change and watches until its Runnable has run again.
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
            Action::Approve(runnable) => {
                self.to_approve.remove(runnable);
                let approval = self.row(runnable).await?.approval;
                let approval =
                    approval.with_context(|| format!("{runnable} does not wait for approval"))?;
                let patch =
                    json!({ "metadata": { "annotations": { APPROVED_ANNOTATION: approval } } });
                (format!("runnable/{runnable}"), patch)
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
        let rows = self.watch_until(ran_again).await?;
        let again = rows.into_iter().find(|row| row.name == before.name);
        let Some(row) = again else {
            return Ok(());
        };
        if let Some((run, _)) = &row.run {
            self.screen.keep_table();
            self.screen
                .say(&format!("\n{} has run, as {run}.", before.name))?;
        }
        if self.real_node {
            self.printed(&row).await?;
        }
        Ok(())
    }

    /// Shows the Runnables until nothing is missing and `wanted` holds for each.
    async fn watch_until(&mut self, wanted: impl Fn(&Row) -> bool) -> Result<Vec<Row>> {
        let begin = Instant::now();
        loop {
            let lacking = match self.rows().await {
                Ok(rows) => {
                    self.screen.show(&rows)?;
                    let lacking = lacking(&rows, &self.to_approve, &wanted);
                    if lacking.is_empty() {
                        return Ok(rows);
                    }
                    lacking
                }
                Err(error) => vec![in_full(&error)],
            };
            if begin.elapsed() > self.patience {
                bail!(
                    "some results did not arrive within {}:\n  {}\nhint: use --timeout to wait longer; with \
                     CARTOUCHE_KEEP=1 in the environment the logs are kept",
                    elapsed(self.patience),
                    lacking.join("\n  ")
                );
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    /// Shows the Runnables until the user ends the demo. A temporary failure, such as a restart of the API
    /// server, does not stop it.
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
        let mut runnables = runnables.list(&everything).await?.items;
        runnables.retain(|runnable| {
            let template = &runnable.spec.run_template_ref.name;
            !self.left_out.contains(template)
        });
        let templates = templates.list(&everything).await?.items;
        Ok(observation::rows(&runnables, &templates))
    }

    async fn row(&self, name: &str) -> Result<Row> {
        let rows = self.rows().await?;
        rows.into_iter()
            .find(|row| row.name == name)
            .with_context(|| format!("there is no Runnable {name}"))
    }
}

/// Returns everything that is missing, without the Runnables that wait for a later approval.
fn lacking(
    rows: &[Row],
    to_approve: &BTreeSet<String>,
    wanted: impl Fn(&Row) -> bool,
) -> Vec<String> {
    let waits = |row: &&Row| row.approval.is_some() && to_approve.contains(&row.name);
    let rows: Vec<Row> = rows.iter().filter(|row| !waits(row)).cloned().collect();
    let waiting = rows.iter().filter(|row| !wanted(row));
    let mut lacking = observation::lacking(&rows);
    lacking.extend(waiting.map(|row| format!("{}: no new run", row.name)));
    lacking
}
