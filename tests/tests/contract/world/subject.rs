//! The Runnable of a scenario.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use cartouche_language::name_suffix;
use cartouche_protocol::messages::format::{MessageParts, without_tries};
use cartouche_tests::cluster::Seen;
use serde_json::{Value, json};

use super::{Kind, RUNNABLE, TEST_OBJ, World, condition, text};

/// Long enough for the controller to do what it must not do.
const A_WHILE: Duration = Duration::from_millis(900);

#[derive(Clone)]
pub struct Subject {
    pub world: World,
    pub name: String,
}

impl Subject {
    pub async fn object(&self) -> Result<Value> {
        self.world.get(RUNNABLE, &self.name).await
    }

    pub async fn status(&self) -> Result<Value> {
        Ok(self.object().await?["status"].take())
    }

    /// Changes the Runnable.
    pub async fn edit(&self, change: impl Fn(&mut Value)) -> Result<()> {
        self.world.edit(RUNNABLE, &self.name, change).await
    }

    /// Sets one input.
    pub async fn input(&self, name: &str, value: impl Into<Value>) -> Result<()> {
        let value = value.into();
        self.edit(|object| object["spec"]["inputs"][name] = value.clone())
            .await
    }

    /// Waits until there are `count` runs, and returns them, the oldest first. More of them fail.
    pub async fn runs(&self, count: usize) -> Result<Vec<Value>> {
        self.runs_of(TEST_OBJ, count).await
    }

    pub async fn runs_of(&self, kind: Kind, count: usize) -> Result<Vec<Value>> {
        let what = format!("{count} runs of {}", self.name);
        let runs = self
            .world
            .eventually(&what, || async {
                let runs = self.all_runs(kind).await?;
                Ok(if runs.len() >= count {
                    Seen::Done(runs)
                } else {
                    Seen::NotYet(format!("{} runs; {}", runs.len(), self.status().await?))
                })
            })
            .await?;
        ensure!(runs.len() == count, "{} runs: {runs:?}", runs.len());
        Ok(runs)
    }

    async fn all_runs(&self, kind: Kind) -> Result<Vec<Value>> {
        let uid = self.object().await?["metadata"]["uid"].take();
        let label = format!("carto.run/runnable-uid={}", text(&uid));
        let mut runs = self.world.list(kind, &label).await?;
        runs.sort_by_key(sequence);
        Ok(runs)
    }

    /// Returns the newest run, once there are `count`.
    pub async fn run(&self, count: usize) -> Result<Value> {
        let mut runs = self.runs(count).await?;
        Ok(runs.pop().unwrap_or_default())
    }

    /// Checks that nothing runs, though the controller has seen everything and had a while for it.
    pub async fn stays_at(&self, count: usize) -> Result<()> {
        self.stays_at_of(TEST_OBJ, count).await
    }

    pub async fn stays_at_of(&self, kind: Kind, count: usize) -> Result<()> {
        self.observed().await?;
        tokio::time::sleep(A_WHILE).await;
        let (status, runs) = (self.status().await?, self.all_runs(kind).await?);
        ensure!(runs.len() == count, "{} runs: {status}", runs.len());
        let sequence = status["currentRun"]["sequence"].as_u64().unwrap_or(0);
        ensure!(usize::try_from(sequence)? == count, "{status}");
        Ok(())
    }

    /// Waits until the status is of the present generation.
    pub async fn observed(&self) -> Result<Value> {
        self.until("its generation to be observed", |_| true).await
    }

    /// Waits until the status is of the present generation and as wanted.
    pub async fn until(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        self.world
            .observed(RUNNABLE, &self.name, what, wanted)
            .await
    }

    /// Waits until a condition has this status and reason, with a message that contains `part`. Returns the
    /// whole message without the number of retries.
    pub async fn says(&self, kind: &str, status: &str, reason: &str, part: &str) -> Result<String> {
        let what = format!("to say {kind} {status} {reason}: {part}");
        let object = self
            .until(&what, |object| {
                let said = condition(object, kind);
                said["status"] == status
                    && said["reason"] == reason
                    && text(&said["message"]).contains(part)
            })
            .await?;
        Ok(without_tries(text(&condition(&object, kind)["message"])))
    }

    /// Waits until it is not ready for this reason. Both conditions must have the same message, which is
    /// returned.
    pub async fn fails(&self, reason: &str, part: &str) -> Result<String> {
        let ready = self.says("Ready", "False", reason, part).await?;
        let template = self.says("RunTemplateReady", "False", reason, part).await?;
        ensure!(
            ready == template,
            "Ready: {ready}\nRunTemplateReady: {template}"
        );
        Ok(template)
    }

    /// Does the same, and returns only Cartographer's part of the message. A sentence for users and the cure
    /// stand before it.
    pub async fn fails_in_full(&self, reason: &str, part: &str) -> Result<String> {
        let said = self.fails(reason, part).await?;
        let told = MessageParts::parse(&said);
        ensure!(told.to_do.is_some(), "it does not say what to do: {said}");
        let in_full = told.in_full.with_context(|| said.clone())?;
        Ok(in_full.to_owned())
    }

    /// Removes the parts of a text that differ in each test run: the namespace, and the ends of the names of
    /// runs.
    pub fn anonymous(&self, object: &Value, text: &str) -> String {
        let uid = super::text(&object["metadata"]["uid"]);
        let mut text = text.replace(&self.world.namespace, "[namespace]");
        for sequence in 1..=9 {
            let suffix = name_suffix(uid, sequence);
            text = text.replace(&suffix, &format!("[suffix {sequence}]"));
        }
        without_creation(&without_names_of_runs(&text))
    }

    pub async fn ready(&self, status: &str) -> Result<Value> {
        let what = format!("to be Ready={status}");
        self.until(&what, |object| {
            condition(object, "Ready")["status"] == status
        })
        .await
    }

    /// Waits until the outputs are these.
    pub async fn outputs(&self, wanted: Value) -> Result<()> {
        let what = format!("the outputs {wanted}");
        self.until(&what, |object| object["status"]["outputs"] == wanted)
            .await?;
        Ok(())
    }

    /// Returns the events about it.
    pub async fn events(&self) -> Result<Vec<Value>> {
        self.world.events_of(&self.name).await
    }

    /// Waits for an event with this reason whose message contains `part`.
    pub async fn event(&self, kind: &str, reason: &str, part: &str) -> Result<Value> {
        self.world.event(&self.name, kind, reason, part).await
    }

    /// Waits for `count` runs, has the newest succeed with an answer, and waits for the output.
    pub async fn answer(&self, count: usize, answer: Value) -> Result<()> {
        let run = self.run(count).await?;
        self.world
            .play(&run, super::answered(answer.clone()))
            .await?;
        self.outputs(json!({ "answer": answer })).await
    }
}

/// Removes the names of other Runnables' runs, which differ each time.
fn without_names_of_runs(text: &str) -> String {
    let mut parts = text.split("run-");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let name = part.len()
            - part
                .trim_start_matches(|c: char| c.is_ascii_alphanumeric())
                .len();
        let rest = if name == 10 {
            "[of another]"
        } else {
            &part[..name]
        };
        out.push_str("run-");
        out.push_str(rest);
        out.push_str(&part[name..]);
    }
    // The order of names in a list varies.
    if out.starts_with("more than one") {
        out = out.replace("run-[suffix 1]", "run-[of another]");
    }
    out
}

fn sequence(run: &Value) -> u64 {
    let label = text(&run["metadata"]["labels"]["carto.run/run-sequence"]);
    label.parse().unwrap_or(0)
}

/// Removes the creation times of objects that are in the way, which are made anew each time.
fn without_creation(text: &str) -> String {
    const MADE: &str = "(created at ";
    match text
        .split_once(MADE)
        .and_then(|(before, rest)| Some((before, rest.split_once(')')?)))
    {
        Some((before, (_, rest))) => format!("{before}{MADE}[time]){rest}"),
        None => text.to_owned(),
    }
}
