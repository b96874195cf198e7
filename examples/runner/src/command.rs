//! The runner of this example: it runs a command.

use std::{
    collections::BTreeMap,
    env, fs, io,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{self, ExitStatus},
};

use anyhow::{Context as _, Result, bail, ensure};
use cartouche_runner::{Context, Input, Outputs, Runner};
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use serde_json::json;
use tokio::{
    process::{Child, Command},
    sync::watch,
};

/// Environment variable with the path of the file that the command may write its outputs to, as a JSON object.
pub(crate) const OUTPUTS_PATH: &str = "OUTPUTS_PATH";

/// The arguments: the command to run, and its environment.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Args {
    command: Vec<String>,
    #[serde(default)]
    environment: BTreeMap<String, String>,
}

/// Runs a command. Its outputs are those that the command wrote to `OUTPUTS_PATH`.
#[derive(Debug, Default)]
pub(crate) struct CommandRunner {
    work: Option<Work>,
}

#[derive(Debug)]
enum Work {
    /// Dry run: these are all outputs.
    Told(Outputs),
    Runs {
        child: Box<Child>,
        outputs: PathBuf,
        stop: watch::Receiver<bool>,
    },
}

impl Runner for CommandRunner {
    fn name(&self) -> &'static str {
        "command"
    }

    async fn start(&mut self, input: Input) -> Result<()> {
        let args: Args = serde_json::from_value(input.args).context("the arguments")?;
        let Some((program, arguments)) = args.command.split_first() else {
            bail!("the arguments: the command is empty");
        };
        if input.context.dry_run {
            println!("dry run: nothing is changed; would run {:?}", args.command);
            let told = told(&input.context, &args.command);
            self.work = Some(Work::Told(told));
            return Ok(());
        }
        let outputs = env::temp_dir().join(format!("outputs-{}.json", process::id()));
        let child = Command::new(program)
            .args(arguments)
            .envs(&args.environment)
            .env(OUTPUTS_PATH, &outputs)
            .spawn()
            .with_context(|| format!("starting {program}"))?;
        self.work = Some(Work::Runs {
            child: Box::new(child),
            outputs,
            stop: input.stop,
        });
        Ok(())
    }

    async fn wait(&mut self) -> Result<Outputs> {
        match &mut self.work {
            None => bail!("nothing was started"),
            Some(Work::Told(outputs)) => Ok(outputs.clone()),
            Some(Work::Runs {
                child,
                outputs,
                stop,
            }) => {
                let status = ended(child, stop).await?;
                ensure!(status.success(), "the command {}", how(status));
                read_outputs(outputs)
            }
        }
    }
}

/// Returns the outputs of a dry run: the command, and the run that it would work for.
fn told(context: &Context, command: &[String]) -> Outputs {
    let platform = &context.platform;
    let owner = &platform.owner_ref;
    let told = [
        ("dryRun", json!(true)),
        ("wouldRun", json!(command)),
        ("run", json!(context.name)),
        ("namespace", json!(platform.namespace)),
        ("account", json!(platform.service_account_name)),
        ("owner", json!(format!("{} {}", owner.kind, owner.name))),
    ];
    Outputs::from_iter(told.map(|(name, value)| (name.to_owned(), value)))
}

/// Waits until the command has ended, and passes on a request to stop.
async fn ended(child: &mut Child, stop: &mut watch::Receiver<bool>) -> Result<ExitStatus> {
    let status = tokio::select! {
        status = child.wait() => status?,
        Ok(_) = stop.wait_for(|stop| *stop) => {
            terminate(child)?;
            child.wait().await?
        }
    };
    Ok(status)
}

/// Sends SIGTERM to the command, as this process received it.
fn terminate(child: &Child) -> Result<()> {
    let id = child.id().and_then(|id| i32::try_from(id).ok());
    match id.and_then(Pid::from_raw) {
        // The command has ended meanwhile.
        None => Ok(()),
        Some(id) => kill_process(id, Signal::TERM).context("asking the command to end"),
    }
}

fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

/// Reads the outputs of the command; there are none without a file.
fn read_outputs(path: &Path) -> Result<Outputs> {
    let reading = || format!("reading {}", path.display());
    match fs::read_to_string(path) {
        Ok(text) => {
            serde_json::from_str(&text).context("the outputs of the command are no JSON object")
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Outputs::new()),
        Err(error) => Err(error).with_context(reading),
    }
}
