//! Commands that run until the user ends them.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Stdio},
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::story::Story;

/// A running command, and the lines that it prints.
struct AtWork {
    child: Child,
    lines: Receiver<String>,
}

impl AtWork {
    fn begin(story: &Story, arguments: &[&str]) -> Result<Self> {
        let mut command = story.command(arguments);
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let out = child.stdout.take().context("its standard output")?;
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self { child, lines })
    }

    /// Reads until a line is as wanted.
    fn until(&self, wanted: impl Fn(&str) -> bool) -> Result<String> {
        let mut before = Vec::new();
        loop {
            let line = self.lines.recv_timeout(Duration::from_mins(1));
            let line = line.with_context(|| format!("after {before:#?}"))?;
            if wanted(&line) {
                return Ok(line);
            }
            before.push(line);
        }
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A row and an object appear when a run ends.
pub async fn lists(story: &Story) -> Result<()> {
    let rows = AtWork::begin(story, &["get", "--watch"])?;
    let objects = AtWork::begin(story, &["get", "hello", "-w", "-o", "json"])?;
    let failed = AtWork::begin(story, &["get", "-w", "--failed", "-o", "name"])?;
    rows.until(|line| line.starts_with("NAME") && line.contains("RESULT"))?;
    rows.until(|line| line.starts_with("endless"))?;
    rows.until(|line| line.starts_with("hello"))?;
    story.says(
        &["rerun", "hello", "--token", "watched"],
        &["will run again"],
    )?;
    story.run_ends(6).await?;
    rows.until(|line| line.contains(" 6 hello-") && line.contains("Succeeded"))?;
    let is_sixth = |line: &str| {
        let object: Value = serde_json::from_str(line).unwrap_or_default();
        let run = &object["status"]["currentRun"];
        object["kind"] == "Runnable" && run["sequence"] == 6 && run["result"] == "Succeeded"
    };
    objects.until(is_sixth)?;
    failed.until(|line| line == "runnable.carto.run/endless")?;
    let more: Vec<String> = failed.lines.try_iter().collect();
    ensure!(
        !more.iter().any(|line| line.contains("hello")),
        "hello has not failed: {more:?}"
    );
    story
        .cluster
        .kubectl(&["-n", &story.namespace, "delete", "runnable", "endless"])
        .await?;
    rows.until(|line| line.starts_with("endless") && line.contains("Deleted"))?;
    let labelled = ["get", "-l", "no=such"];
    story.warns(&labelled, 0, "there are no such Runnables")?;
    let yaml = story.well(&["get", "hello", "-o", "yaml"])?;
    ensure!(
        yaml.contains("kind: List") && yaml.contains("name: hello"),
        "{yaml}"
    );
    Ok(())
}
