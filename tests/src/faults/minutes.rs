//! Delays and partitions of minutes: longer than every deadline. When a request arrives, its sender has given
//! it up or is dead, and others have gone on.
//!
//! They are few, and each takes these minutes; `cargo faults run` plays them beside the plans.

use std::time::Duration;

use anyhow::{Result, bail, ensure};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::{Instant, sleep, sleep_until};

use super::{
    held::{confirmations, creates, first},
    plan::{Outcome, quiet},
    record::{End, Run},
    scenario::{gives, made},
    stage::{APP, PATIENCE, Stage},
};
use crate::{
    cluster::Cluster,
    error_text::in_full,
    fault_proxy::{Fault, MINUTES},
    lab::{hangs, succeeds},
};

/// Time that an input stays while nothing else happens.
const PACE: Duration = Duration::from_secs(50);

/// A fault that lasts minutes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum Minutes {
    /// A create arrives after the controller was restarted and the input has changed.
    CreateBehindChange,
    /// A create arrives after the restarted controller has sent it again.
    CreateBehindItself,
    /// The confirmation of a run arrives after the controller was restarted and the input has changed.
    ConfirmationBehindChange,
    /// The watches of runs are silent, and the input changes.
    SilentWatch,
    /// Nothing goes through, a run ends and the input changes.
    Partition,
    /// No write is answered, and the input changes.
    UnansweredWrites,
}

/// Outcome of one of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Waited {
    /// The fault.
    pub what: Minutes,
    /// Its outcome.
    pub outcome: Outcome,
    /// Its duration, in seconds.
    pub seconds: u64,
}

impl Minutes {
    /// Returns its name on the command line and in tables.
    #[must_use]
    pub fn name(self) -> String {
        self.to_possible_value()
            .map(|value| value.get_name().to_owned())
            .unwrap_or_default()
    }

    /// Returns a description for tables.
    #[must_use]
    pub fn told(self) -> &'static str {
        match self {
            Self::CreateBehindChange => {
                "a create arrives 3 minutes late, after a restart and a change of the input"
            }
            Self::CreateBehindItself => {
                "a create arrives 3 minutes late, after a restart that sent it again"
            }
            Self::ConfirmationBehindChange => {
                "a confirmation arrives 3 minutes late, after a restart and a change of the input"
            }
            Self::SilentWatch => {
                "every watch of runs is silent for 3 minutes, while the input changes three times"
            }
            Self::Partition => {
                "nothing goes through for 3 minutes, while a run ends and the input changes three times"
            }
            Self::UnansweredWrites => {
                "no write is answered for 3 minutes, while the input changes three times"
            }
        }
    }

    async fn play(self, stage: &Stage) -> Result<()> {
        let late = Instant::now() + MINUTES;
        match self {
            Self::CreateBehindChange => {
                stage.proxy.hold(first(creates()));
                overtaken(stage, late).await?;
                // The create arrives now, behind the run of its successor.
                ends(stage, &[(1, 1), (2, 2)]).await
            }
            Self::ConfirmationBehindChange => {
                stage.proxy.hold(first(confirmations()));
                overtaken(stage, late).await?;
                ends(stage, &[(1, 1), (2, 2)]).await
            }
            Self::CreateBehindItself => {
                stage.proxy.hold(first(creates()));
                begin(stage).await?;
                stage.holds().await?;
                stage.kill_controller().await?;
                stage.start_controller().await?;
                stage.until(APP, "its output", |r| gives(r, 1, 1)).await?;
                sleep_until(late).await;
                stage.proxy.release();
                ends(stage, &[(1, 1)]).await?;
                stage.change(APP, succeeds(2)).await?;
                ends(stage, &[(1, 1), (2, 2)]).await
            }
            Self::SilentWatch => {
                settled(stage).await?;
                let until = Instant::now() + MINUTES;
                stage.proxy.begin(Box::new(move |call, _| {
                    let shown = call.to_string() == "event trials.lab.test";
                    (shown && Instant::now() < until).then_some(Fault::Silence)
                }));
                changes(stage, until, true).await?;
                ends(stage, &[(1, 1), (2, 2), (3, 3), (4, 4)]).await
            }
            Self::UnansweredWrites => {
                settled(stage).await?;
                let until = Instant::now() + MINUTES;
                stage.proxy.begin(Box::new(move |call, _| {
                    (call.writes() && Instant::now() < until).then_some(Fault::LostReply)
                }));
                changes(stage, until, true).await?;
                ends(stage, &[(1, 1), (2, 2), (3, 3), (4, 4)]).await
            }
            Self::Partition => {
                let spec = json!({ "inputs": hangs(1) });
                stage.runnable(APP, spec).await?;
                stage.until(APP, "a run", |r| made(r, 1)).await?;
                quiet(stage).await?;
                let until = Instant::now() + MINUTES;
                stage.proxy.split(MINUTES);
                stage.finish(&stage.sees(1).await?, true).await?;
                changes(stage, until, false).await?;
                // The controller did not see the inputs between.
                ends(stage, &[(1, 1), (2, 4)]).await
            }
        }
    }
}

async fn begin(stage: &Stage) -> Result<()> {
    let spec = json!({ "inputs": succeeds(1) });
    stage.runnable(APP, spec).await.map(drop)
}

async fn settled(stage: &Stage) -> Result<()> {
    begin(stage).await?;
    stage.until(APP, "its output", |r| gives(r, 1, 1)).await?;
    quiet(stage).await
}

/// Holds a request back, kills its controller, changes the input, and lets another controller serve until
/// `late`, when the request goes on.
async fn overtaken(stage: &Stage, late: Instant) -> Result<()> {
    begin(stage).await?;
    stage.holds().await?;
    stage.kill_controller().await?;
    stage.change(APP, succeeds(2)).await?;
    stage.start_controller().await?;
    stage.until(APP, "its output", |r| gives(r, 2, 2)).await?;
    sleep_until(late).await;
    stage.proxy.release();
    Ok(())
}

/// Makes three changes until then. Each must have its run before the next, if runs are possible.
async fn changes(stage: &Stage, until: Instant, each_runs: bool) -> Result<()> {
    for value in 2..=4 {
        stage.change(APP, succeeds(value)).await?;
        if each_runs {
            stage.sees(value).await?;
        }
        sleep(PACE).await;
    }
    sleep_until(until).await;
    Ok(())
}

/// Waits until exactly these runs (number and value) were made and exist, all of them succeeded, the last
/// gives the outputs, and nothing was ever wrong.
async fn ends(stage: &Stage, runs: &[(i64, i64)]) -> Result<()> {
    let begin = Instant::now();
    loop {
        let end = stage.end(APP).await?;
        let right = is_right(&end, runs);
        if right && !stage.proxy.is_busy() {
            quiet(stage).await?;
            if stage.end(APP).await? == end {
                break;
            }
        }
        if begin.elapsed() > PATIENCE {
            bail!("expected {runs:?}, all succeeded, and found {end:#?}");
        }
        sleep(Duration::from_millis(200)).await;
    }
    let breaches = stage.record.breaches()?;
    ensure!(breaches.is_empty(), "{}", breaches.join("; "));
    Ok(())
}

fn is_right(end: &End, runs: &[(i64, i64)]) -> bool {
    let numbered = |found: &[Run]| -> Vec<_> {
        let pairs = found.iter().map(|run| Some((run.sequence, run.value?)));
        pairs.collect::<Option<_>>().unwrap_or_default()
    };
    let succeeded = |entry: &serde_json::Value| entry.get("result") == Some(&json!("Succeeded"));
    let Some((sequence, value)) = runs.last() else {
        return false;
    };
    numbered(&end.made) == runs
        && numbered(&end.exist) == runs
        && end.deleted == 0
        && end.history.len() + 1 == runs.len()
        && end.history.iter().all(succeeded)
        && succeeded(&end.current)
        && end.current.get("sequence") == Some(&json!(sequence))
        && end.outputs == json!([{ "value": value }, sequence])
}

/// Plays one fault. An error means that the harness failed; a failure of the controller is an
/// [`Outcome::Failed`].
pub async fn wait(demo: &str, cluster: &Cluster, what: Minutes) -> Result<Waited> {
    let begin = Instant::now();
    let stage = Stage::set(demo, cluster, "minutes").await?;
    stage.start_controller().await?;
    let outcome = match what.play(&stage).await {
        Ok(()) => Outcome::Held,
        Err(error) => Outcome::Failed(format!(
            "{}\nits log:\n{}",
            in_full(&error),
            stage.log().await
        )),
    };
    stage.clear().await?;
    Ok(Waited {
        what,
        outcome,
        seconds: begin.elapsed().as_secs(),
    })
}
