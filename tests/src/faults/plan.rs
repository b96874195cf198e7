//! One plan: its enumeration from a recording, and its execution.

use std::{fmt, time::Duration};

use anyhow::{Context, Result, bail};
use cartouche_oracle::Sight;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};

use super::{
    record::{End, Run},
    scenario::{Scenario, sinks::RESOURCES},
    stage::{APP, PATIENCE, Stage},
};
use crate::{
    cluster::Cluster,
    error_text::in_full,
    fault_proxy::{Call, Counted, Fault},
};

/// Time without requests after which a scenario counts as over, or as prepared.
const QUIET: Duration = Duration::from_millis(700);
/// Interval between two looks.
const INTERVAL: Duration = Duration::from_millis(100);

/// Resources that every controller asks for at its start, whatever it serves. Broken in one scenario only.
const AT_START: [&str; 9] = [
    "serviceaccounts",
    "roles.rbac.authorization.k8s.io",
    "rolebindings.rbac.authorization.k8s.io",
    "clusterroles.rbac.authorization.k8s.io",
    "clusterrolebindings.rbac.authorization.k8s.io",
    "customresourcedefinitions.apiextensions.k8s.io",
    "clusterruntemplates.carto.run",
    "clusterrunprofiles.carto.run",
    "runnables.carto.run",
];

/// One request of one scenario, broken in one way.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Plan {
    /// The scenario.
    pub scenario: Scenario,
    /// The request.
    pub at: Counted,
    /// The fault.
    pub fault: Fault,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scenario, at, fault) = (self.scenario.name(), &self.at, self.fault.name());
        write!(f, "{scenario}: {at}: {fault}")
    }
}

/// A scenario without faults: its requests and its end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Recording {
    /// The scenario.
    pub scenario: Scenario,
    /// The requests of the controller and the events sent to it.
    pub calls: Vec<Counted>,
    /// Its end.
    pub end: End,
}

/// Outcome of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The end is the same as without the fault.
    Held,
    /// The end is one that the protocol declares undecidable, with its name.
    Undecidable(String),
    /// The end is the same as without the fault, but the request did not occur this time.
    NotReached,
    /// The end differs; in words.
    Failed(String),
}

/// Returns every plan of a recording.
#[must_use]
pub fn plans(recording: &Recording) -> Vec<Plan> {
    let scenario = recording.scenario;
    let calls = recording
        .calls
        .iter()
        .filter(|counted| matters(scenario, &counted.call));
    calls
        .flat_map(|at| {
            faults(&at.call).into_iter().map(|fault| Plan {
                scenario,
                at: at.clone(),
                fault,
            })
        })
        .collect()
}

fn matters(scenario: Scenario, call: &Call) -> bool {
    // Several controllers share the cluster here, and each writes the same words to each template.
    if call.resource.starts_with("clusterruntemplates") && call.writes() {
        return false;
    }
    // The others play reads and watches of a single Runnable; this one is about the order of writes.
    if scenario == Scenario::ChangedTogether && (!call.writes() || call.resource == "events") {
        return false;
    }
    // This one is about reads between Runnables.
    let is_read = call.verb == "get" || call.verb == "event";
    let of_others = call.writes() && call.resource != "events"
        || is_read && call.resource == "runnables.carto.run";
    if scenario == Scenario::Diamond && !of_others {
        return false;
    }
    // This one is about the objects that outputs go to, and about the reads and writes of the Runnable for
    // that.
    let resource = call.resource.trim_end_matches("/status");
    if scenario == Scenario::Sinks && !RESOURCES.contains(&resource) {
        return false;
    }
    let starting = ["list", "watch", "discover"].contains(&call.verb.as_str())
        && (call.verb == "discover" || AT_START.contains(&call.resource.as_str()));
    !starting || scenario == Scenario::ChangedWhileDown
}

fn faults(call: &Call) -> Vec<Fault> {
    let shown = ["runnables.carto.run", "clusterruntemplates.carto.run"];
    match call.verb.as_str() {
        "event" => Fault::OF_EVENTS.into(),
        "watch" => Fault::OF_WATCHES.into(),
        // Nothing depends on events.
        "create" if call.resource == "events" => vec![
            Fault::CrashBefore,
            Fault::CrashAnswered,
            Fault::LostReply,
            Fault::TooMany,
        ],
        "list" if shown.contains(&call.resource.as_str()) => {
            let mut faults: Vec<Fault> = Fault::OF_READS.into();
            faults.push(Fault::StaleList);
            faults
        }
        _ if call.writes() => Fault::OF_WRITES.into(),
        _ => Fault::OF_READS.into(),
    }
}

/// Plays a scenario without faults.
pub async fn record(demo: &str, cluster: &Cluster, scenario: Scenario) -> Result<Recording> {
    for _ in 0..2 {
        let recording = record_once(demo, cluster, scenario).await?;
        // A busy API server may log a create as given up that took effect. That recording is no measure for
        // anything. The original's runs were made before the record begins.
        if is_whole(&recording.end.made) || scenario == Scenario::Takeover {
            return Ok(recording);
        }
    }
    record_once(demo, cluster, scenario).await
}

/// Returns true if the numbers of each Runnable's runs follow each other from 1 on.
fn is_whole(made: &[Run]) -> bool {
    let of_one = made.chunk_by(|one, next| one.runnable == next.runnable);
    of_one
        .map(|runs| runs.iter().map(|run| run.sequence))
        .all(|numbers| {
            numbers
                .zip(1..)
                .all(|(number, expected)| number == expected)
        })
}

async fn record_once(demo: &str, cluster: &Cluster, scenario: Scenario) -> Result<Recording> {
    let stage = scenario.set(demo, cluster, "record").await?;
    let recorded = recorded(&stage, scenario).await;
    let Err(error) = recorded else {
        stage.clear().await?;
        return recorded;
    };
    let (name, log) = (scenario.name(), stage.log().await);
    Err(error.context(format!(
        "{name} without faults; the controller said:\n{log}"
    )))
}

async fn recorded(stage: &Stage, scenario: Scenario) -> Result<Recording> {
    prepare(stage, scenario).await?;
    stage.proxy.begin(Box::new(|_, _| None));
    scenario.act(stage).await?;
    stage
        .until(APP, "the scenario to be over", |r| scenario.is_over(r))
        .await?;
    quiet(stage).await?;
    let recording = Recording {
        scenario,
        calls: stage.proxy.calls(),
        end: stage.end(APP).await?,
    };
    let breaches = stage.record.breaches()?;
    if !breaches.is_empty() {
        bail!("{}", breaches.join("; "));
    }
    Ok(recording)
}

async fn prepare(stage: &Stage, scenario: Scenario) -> Result<()> {
    // The proxy remembers lists until `begin`, so this counts nothing.
    scenario
        .prepare(stage)
        .await
        .with_context(|| format!("preparing {}", scenario.name()))?;
    sleep(QUIET).await;
    Ok(())
}

/// Waits until the controller has sent no request for a while and none is on its way.
pub async fn quiet(stage: &Stage) -> Result<()> {
    let begin = Instant::now();
    let mut seen = (stage.proxy.calls().len(), Instant::now());
    loop {
        sleep(INTERVAL).await;
        let now = stage.proxy.calls().len();
        if now != seen.0 || stage.proxy.is_busy() {
            seen = (now, Instant::now());
        }
        if seen.1.elapsed() >= QUIET {
            return Ok(());
        }
        if begin.elapsed() > PATIENCE {
            bail!("the controller does not come to rest");
        }
    }
}

/// Carries a plan out. An error means that the harness failed; a failure of the controller is an
/// [`Outcome::Failed`].
pub async fn perform(
    demo: &str,
    cluster: &Cluster,
    plan: &Plan,
    expected: &Recording,
) -> Result<Outcome> {
    let stage = plan.scenario.set(demo, cluster, "plan").await?;
    prepare(&stage, plan.scenario).await?;
    let (at, fault) = (plan.at.clone(), plan.fault);
    stage.proxy.begin(Box::new(move |call, number| {
        (*call == at.call && number == at.number).then_some(fault)
    }));
    let outcome = match play(&stage, plan.scenario, &expected.end).await {
        Ok(outcome) => outcome,
        Err(error) => Outcome::Failed(format!(
            "{}\nits log:\n{}",
            in_full(&error),
            stage.log().await
        )),
    };
    stage.clear().await?;
    Ok(outcome)
}

async fn play(stage: &Stage, scenario: Scenario, expected: &End) -> Result<Outcome> {
    scenario.act(stage).await?;
    let begin = Instant::now();
    let mut found = End::default();
    loop {
        if begin.elapsed() > PATIENCE {
            bail!("{}", difference(expected, &found));
        }
        sleep(INTERVAL).await;
        let Ok(end) = stage.end(APP).await else {
            continue;
        };
        found = end;
        let undecidable = scenario.undecidable(&found);
        if (found != *expected && undecidable.is_none()) || stage.proxy.is_busy() {
            continue;
        }
        // The end has to stay the same.
        quiet(stage).await?;
        let twice = undecidable.and_then(|undecided| undecided.twice);
        let breaches = stage.record.breaches_of(Sight::Record, twice)?;
        if !breaches.is_empty() {
            bail!("{}", breaches.join("; "));
        }
        let later = stage.end(APP).await?;
        if later != found {
            // Surplus does not pass with time; anything else may.
            continue;
        }
        return Ok(match undecidable {
            Some(undecided) => Outcome::Undecidable(undecided.name.to_owned()),
            None if stage.proxy.broken() == 0 => Outcome::NotReached,
            None => Outcome::Held,
        });
    }
}

/// Returns the lines that differ from the expected end.
fn difference(expected: &End, found: &End) -> String {
    let text = |end: &End| serde_json::to_string_pretty(end).unwrap_or_default();
    let (expected, found) = (text(expected), text(found));
    let (mut only_expected, mut only_found) = (Vec::new(), Vec::new());
    for line in expected.lines().filter(|line| !found.contains(line)) {
        only_expected.push(line);
    }
    for line in found.lines().filter(|line| !expected.contains(line)) {
        only_found.push(line);
    }
    format!(
        "without the fault:\n{}\nwith it:\n{}\nall of it:\n{found}",
        only_expected.join("\n"),
        only_found.join("\n")
    )
}
