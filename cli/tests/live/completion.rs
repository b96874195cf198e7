//! Names of the cluster are completed, for a shell and for kubectl.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Command};

use anyhow::{Context as _, Result, ensure};
use cartouche_tests::{cluster::Seen, repository};

use crate::{
    story::Story,
    support::{self, Output},
};

/// Names are completed as kubectl asks its plugin, and then through kubectl itself.
pub async fn knows_names(story: &Story) -> Result<()> {
    let namespace = &story.namespace;
    for (words, found, not) in [
        (vec!["why", "-n", namespace, ""], "first", "hello"),
        (
            vec!["suspend", "speaker", "-n", namespace, "fi"],
            "first",
            "speaker",
        ),
        (vec!["rbac", "spe"], "speak", "first"),
        (vec!["explain", "fi"], "first", "speak"),
        (
            vec!["rbac", "first", "-n", namespace, "--account", "no-l"],
            "no-list-jobs",
            "first",
        ),
        (
            vec!["get", "-n", "cartouche-ex"],
            "cartouche-examples",
            "kube-system",
        ),
    ] {
        let ask = || {
            let mut command = support::command(&repository(), &["--", "kubectl-cartouche"]);
            command.args(&words).env("CARTOUCHE_COMPLETE", "kubectl");
            support::finish(command.env("KUBECONFIG", story.cluster.kubeconfig()))
        };
        let asked = in_time(story, ask, found).await?;
        let is_alone = !asked.out.lines().any(|name| name == not);
        ensure!(
            is_alone && asked.err.is_empty(),
            "{words:?}: {}{}",
            asked.out,
            asked.err
        );
    }
    by_kubectl(story).await
}

/// Returns the answer that has this name. On a busy machine a cluster may take longer than completion waits: then there
/// are no names, and the user presses the key again.
async fn in_time(story: &Story, ask: impl Fn() -> Output, found: &str) -> Result<Output> {
    let ask = &ask;
    story
        .eventually(&format!("{found} to be completed"), || async move {
            let asked = ask();
            let is_there = asked.out.lines().any(|name| name == found);
            Ok(if is_there {
                Seen::Done(asked)
            } else {
                Seen::NotYet(asked.out + &asked.err)
            })
        })
        .await
}

/// With the printed script in the path, `kubectl cartouche why <TAB>` gives names.
async fn by_kubectl(story: &Story) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let cartouche = Path::new(env!("CARGO_BIN_EXE_cartouche"));
    std::os::unix::fs::symlink(cartouche, folder.path().join("kubectl-cartouche"))?;
    let script = folder.path().join("kubectl_complete-cartouche");
    fs::write(&script, printed_script()?)?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    let path = std::env::var_os("PATH").context("a PATH")?;
    let path = [folder.path().to_owned()]
        .into_iter()
        .chain(std::env::split_paths(&path));
    let path = std::env::join_paths(path)?;
    let program = story.cluster.control_plane()?.kubectl()?;
    let ask = || {
        let mut kubectl = Command::new(program);
        kubectl
            .args([
                "__complete",
                "cartouche",
                "why",
                "-n",
                &story.namespace,
                "f",
            ])
            .env("PATH", &path)
            .env("KUBECONFIG", story.cluster.kubeconfig());
        support::finish(&mut kubectl)
    };
    let Output { out, err, .. } = in_time(story, ask, "first").await?;
    let names: Vec<&str> = out.lines().collect();
    ensure!(names == ["far", "first", ":4"], "{out}{err}");
    Ok(())
}

fn printed_script() -> Result<String> {
    let printed = support::cartouche(&["completions", "kubectl"]);
    ensure!(printed.code == 0, "{}", printed.err);
    Ok(printed.out)
}
