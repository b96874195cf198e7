//! Names of the cluster are completed, for a shell and for kubectl.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Command};

use anyhow::{Context as _, Result, ensure};
use cartouche_tests::repository;

use crate::{
    story::Story,
    support::{self, Output},
};

/// As kubectl asks its plugin; then by way of kubectl itself.
pub fn knows_names(story: &Story) -> Result<()> {
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
        let mut command = support::command(&repository(), &["--", "kubectl-cartouche"]);
        command.args(&words).env("CARTOUCHE_COMPLETE", "kubectl");
        let asked = support::finish(command.env("KUBECONFIG", story.cluster.kubeconfig()));
        let names: Vec<&str> = asked.out.lines().collect();
        let are_right = names.contains(&found) && !names.contains(&not);
        ensure!(
            are_right && asked.err.is_empty(),
            "{words:?}: {}{}",
            asked.out,
            asked.err
        );
    }
    by_kubectl(story)
}

/// With the printed script in the path, `kubectl cartouche why <TAB>` gives names.
fn by_kubectl(story: &Story) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let cartouche = Path::new(env!("CARGO_BIN_EXE_cartouche"));
    std::os::unix::fs::symlink(cartouche, folder.path().join("kubectl-cartouche"))?;
    let script = folder.path().join("kubectl_complete-cartouche");
    fs::write(&script, story_script()?)?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    let path = std::env::var_os("PATH").context("a PATH")?;
    let path = [folder.path().to_owned()]
        .into_iter()
        .chain(std::env::split_paths(&path));
    let mut kubectl = Command::new(story.cluster.control_plane()?.kubectl()?);
    kubectl
        .args([
            "__complete",
            "cartouche",
            "why",
            "-n",
            &story.namespace,
            "f",
        ])
        .env("PATH", std::env::join_paths(path)?)
        .env("KUBECONFIG", story.cluster.kubeconfig());
    let Output { out, err, .. } = support::finish(&mut kubectl);
    ensure!(out.lines().eq(["first", ":4"]), "{out}{err}");
    Ok(())
}

fn story_script() -> Result<String> {
    let printed = support::cartouche(&["completions", "kubectl"]);
    ensure!(printed.code == 0, "{}", printed.err);
    Ok(printed.out)
}
