//! The tutorials, played as they are written: their files, their commands, and what these print.

mod picture;

use std::{collections::BTreeSet, env, fs, os::unix::fs::symlink, process::Command};

use anyhow::{Context as _, Result, ensure};
use cartouche_tests::{cluster::Seen, repository};
use regex::Regex;

use crate::{story::Story, support::write_files};

/// Commands of the pages that are not played: the reader's own start, and logs, which the simulated node does not
/// keep.
const NOT_PLAYED: [&str; 4] = [
    "cargo install",
    "cargo demo",
    "kubectl delete runnable hello",
    "cartouche logs",
];

/// Commands that can be repeated until they print what the page shows.
const READING: [&str; 6] = [
    "kubectl get",
    "cartouche graph",
    "cartouche outputs",
    "cartouche validate",
    "cartouche wait",
    "cartouche why",
];

/// Plays all tutorials.
pub(super) async fn work(story: &Story) -> Result<()> {
    story.cluster.install_engines().await?;
    let place = Place::new(story)?;
    let printed = place.play("first-run").await?;
    if env::var_os("UPDATE_PICTURE").is_some() {
        let file = repository().join("docs/pictures/first-run.svg");
        fs::write(file, picture::of(&printed))?;
    }
    for example in ["supply-chain", "two-steps"] {
        let example = repository().join("examples").join(example);
        story.cluster.apply_kustomization(&example).await?;
    }
    for name in ["cart-deploy", "shop-release"] {
        story.well(&["wait", name, "--timeout", "1m"])?;
    }
    place.play("a-chain").await?;
    place.play("when-a-run-fails").await?;
    Ok(())
}

/// A folder as the reader has it, with the commands of the pages.
struct Place<'a> {
    story: &'a Story,
    folder: tempfile::TempDir,
}

impl<'a> Place<'a> {
    fn new(story: &'a Story) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        symlink(
            repository().join("examples"),
            folder.path().join("examples"),
        )?;
        let programs = folder.path().join("bin");
        fs::create_dir(&programs)?;
        symlink(env!("CARGO_BIN_EXE_cartouche"), programs.join("cartouche"))?;
        symlink(
            story.cluster.control_plane()?.kubectl()?,
            programs.join("kubectl"),
        )?;
        Ok(Self { story, folder })
    }

    /// Plays a page. Returns its commands, each with what it has printed.
    async fn play(&self, page: &str) -> Result<Vec<Step>> {
        let page = format!("tutorials/{page}.md");
        write_files(&page, self.folder.path());
        let text = fs::read_to_string(repository().join("docs").join(&page))?;
        let consoles = text.split("```console\n").skip(1);
        let consoles = consoles.filter_map(|rest| rest.split("```").next());
        let roles_before = self.roles().await?;
        let mut played = Vec::new();
        for step in consoles.flat_map(steps) {
            let result = self.step(&step).await;
            let printed = result.with_context(|| format!("{page}: $ {}", step.command))?;
            played.push(Step { printed, ..step });
        }
        ensure!(played.len() > 8, "{page} has {} commands", played.len());
        let roles = self.roles().await?;
        let left: Vec<_> = roles.difference(&roles_before).collect();
        ensure!(left.is_empty(), "{page} leaves {left:?}");
        Ok(played)
    }

    /// Returns the generated Roles and `RoleBindings` of the namespace, which a page has to remove itself.
    async fn roles(&self) -> Result<BTreeSet<String>> {
        let namespace = &self.story.namespace;
        let list = "get roles,rolebindings --output name --namespace";
        let arguments: Vec<&str> = list.split(' ').chain([namespace.as_str()]).collect();
        let names = self.story.cluster.kubectl(&arguments).await?;
        let generated = names.lines().filter(|name| name.contains("/cartouche:"));
        Ok(generated.map(str::to_owned).collect())
    }

    /// Carries out a step. Returns what its command prints.
    async fn step(&self, step: &Step) -> Result<String> {
        let starts_with = |these: &[&str]| these.iter().any(|it| step.command.starts_with(it));
        if starts_with(&NOT_PLAYED) {
            return Ok(String::new());
        }
        if !starts_with(&READING) || step.printed.is_empty() {
            let (printed, code) = self.run(&step.command)?;
            // 1 is what `diff` says of a difference.
            let wanted = i32::from(step.command.starts_with("cartouche diff"));
            ensure!(code == Some(wanted), "{code:?}: {printed}");
            let is_shown = step.printed.is_empty() || agrees(&printed, &step.printed);
            ensure!(is_shown, "it prints:\n{printed}");
            return Ok(printed);
        }
        let shown = || async {
            let (printed, _) = self.run(&step.command)?;
            Ok(if agrees(&printed, &step.printed) {
                Seen::Done(printed)
            } else {
                Seen::NotYet(format!("it prints:\n{printed}"))
            })
        };
        self.story.eventually(&step.command, shown).await
    }

    /// Runs a command as a shell does. Returns what it prints, and its exit code.
    fn run(&self, command: &str) -> Result<(String, Option<i32>)> {
        let folder = self.folder.path();
        let mut path = vec![folder.join("bin")];
        path.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
        let output = Command::new("sh")
            .args(["-c", &format!("{{ {command}\n}} 2>&1")])
            .current_dir(folder)
            .env("PATH", env::join_paths(path)?)
            .env("KUBECONFIG", self.story.cluster.kubeconfig())
            .output()?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok((printed, output.status.code()))
    }
}

/// A command, and what the page shows of what it prints.
struct Step {
    command: String,
    printed: String,
}

fn steps(console: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut continues = false;
    for line in console.lines() {
        let command = line.strip_prefix("$ ");
        match (command, steps.last_mut()) {
            (Some(command), _) => steps.push(Step {
                command: command.to_owned(),
                printed: String::new(),
            }),
            (None, Some(step)) if continues => {
                step.command.push('\n');
                step.command.push_str(line);
            }
            (None, Some(step)) => {
                step.printed.push_str(line);
                step.printed.push('\n');
            }
            (None, None) => {}
        }
        let last = steps.last();
        let is_command = command.is_some() || continues;
        continues = is_command && last.is_some_and(|it| it.command.ends_with('\\'));
    }
    steps
}

/// Returns true if a command prints what a page shows, where `...` is any number of lines. Ages, names and times
/// may differ.
fn agrees(printed: &str, shown: &str) -> bool {
    let shown = regex::escape(&comparable(shown)).replace(r"\.\.\.", "(?s:.*)");
    let shown = Regex::new(&format!("^{shown}$")).unwrap();
    shown.is_match(&comparable(printed))
}

fn comparable(text: &str) -> String {
    let replaced = [
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME"),
        (r"-[a-z0-9]{10}-[a-z0-9]{5}\b", "-RUN-POD"),
        (r"-[a-z0-9]{10}\b", "-RUN"),
        (r"\b(\d+[smh])+\b", "AGE"),
        (r" +", " "),
        (r" +\n", "\n"),
    ];
    let replace = |text: String, (pattern, by): (&str, &str)| {
        Regex::new(pattern)
            .unwrap()
            .replace_all(&text, by)
            .into_owned()
    };
    let text = replaced.into_iter().fold(text.to_owned(), replace);
    format!("{}\n", text.trim_end())
}
