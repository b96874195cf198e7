//! Leftovers of a node whose owner is gone.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use cartouche_tests::{
    cluster::{Seen, eventually},
    control_plane::{client, node},
};
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, api::PostParams};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

use crate::scene::{DEMO, lacks_a_node};

const SOON: Duration = Duration::from_secs(20);

#[tokio::test]
async fn nothing_is_left_of_a_node_whose_owner_is_killed() -> Result<()> {
    if lacks_a_node().await? {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let mut owner = owner(folder.path()).await?;
    let plane = only_entry(folder.path())?;
    let group = plane.file_name().context("no name")?.to_string_lossy();
    a_container_at_work(&plane).await?;
    let left = || left_of(&group, folder.path());
    let before = left()?;
    for kind in ["process", "control group", "file"] {
        assert!(before.iter().any(|it| it.starts_with(kind)), "{before:#?}");
    }
    owner.kill().await?;
    eventually("all to be gone", SOON, || async {
        Ok(match left()? {
            left if left.is_empty() => Seen::Done(()),
            left => Seen::NotYet(format!("{left:#?}")),
        })
    })
    .await
}

/// Starts the demo on a real node, up to its controller.
async fn owner(folder: &Path) -> Result<Child> {
    let mut owner = Command::new(DEMO)
        .arg("--containers")
        .env("TMPDIR", folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let stderr = owner.stderr.take().context("no standard error")?;
    let mut lines = BufReader::new(stderr).lines();
    while let Some(line) = lines.next_line().await? {
        if line.starts_with("starting the controller") && line.contains("done") {
            return Ok(owner);
        }
    }
    bail!("the demo has ended")
}

fn only_entry(folder: &Path) -> Result<PathBuf> {
    let mut entries = fs::read_dir(folder)?;
    Ok(entries.next().context("no control plane")??.path())
}

/// Starts a container with a file system of its own, so that there is something to unmount.
async fn a_container_at_work(plane: &Path) -> Result<()> {
    let client = client(&plane.join("identity/admin.kubeconfig"), None).await?;
    let pods: Api<Pod> = Api::namespaced(client, "kube-system");
    let pod = serde_json::from_value(json!({
        "metadata": { "name": "sleeper" },
        "spec": {
            "containers": [{
                "name": "work", "image": node::RUNNER_IMAGE, "args": ["sleep"],
                "volumeMounts": [{ "name": "memory", "mountPath": "/memory" }],
            }],
            "volumes": [{ "name": "memory", "emptyDir": { "medium": "Memory" } }],
        },
    }))?;
    eventually("the pod to be made", SOON, || async {
        pods.create(&PostParams::default(), &pod).await?;
        Ok(Seen::Done(()))
    })
    .await?;
    eventually("the pod to be at work", SOON, || async {
        let status = pods.get("sleeper").await?.status.unwrap_or_default();
        Ok(match status.phase.as_deref() {
            Some("Running") => Seen::Done(()),
            phase => Seen::NotYet(format!("{phase:?}")),
        })
    })
    .await
}

/// Lists everything of a control plane on this machine: processes that work in its folder or in its control
/// groups, these groups, its mounts, and its files.
fn left_of(group: &str, folder: &Path) -> Result<Vec<String>> {
    let mut left = Vec::new();
    for process in fs::read_dir("/proc")?.flatten() {
        let read = |file: &str| fs::read_to_string(process.path().join(file)).unwrap_or_default();
        let line = read("cmdline").replace('\0', " ");
        // The process that removes the files stays until they are gone.
        let tidies_up = line.contains(" tidy-up ");
        let concerns = line.contains(group) || read("cgroup").contains(group);
        if concerns && !tidies_up {
            left.push(format!("process {line}"));
        }
    }
    for hierarchy in fs::read_dir("/sys/fs/cgroup")?.flatten() {
        let path = hierarchy.path();
        if path.ends_with(group) || path.join(group).exists() {
            left.push(format!("control group in {}", path.display()));
        }
    }
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let mounts = mounts.lines().filter(|mount| mount.contains(group));
    left.extend(mounts.map(|mount| format!("mount {mount}")));
    let files = fs::read_dir(folder)?.flatten();
    left.extend(files.map(|file| format!("file {}", file.path().display())));
    Ok(left)
}
