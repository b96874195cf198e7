//! A real node: kubelet, containerd and runc, as root.
//!
//! All of it, the containers as well, is in namespaces of its own for processes and mounts, whose first
//! process is the hidden command `node`. When that one ends, in any way, the kernel ends the others and
//! removes the mounts. A folder and empty control groups are left, which [`super::supervisor::tidy_up`]
//! removes.

mod config;
mod groups;
mod image;
pub(crate) mod inside;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, bail};
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::json;

pub(super) use groups::remove_groups;
pub use image::RUNNER_IMAGE;

use super::{
    ControlPlane, Part, Parts, PartsError, START, Settings, client, log_tail, stages::ready,
    supervise::Program,
};
use crate::{engines::EngineError, progress::elapsed};

/// The name of the real node.
const NODE: &str = "node";

/// Makes the namespaces, and ends with what is in them.
const UNSHARE: [&str; 5] = [
    "--mount",
    "--pid",
    "--fork",
    "--kill-child=KILL",
    "--mount-proc",
];

/// Returns the reason why a real node cannot run here, or `None` if it can. Builds its programs if necessary.
pub async fn lacking(demo: impl AsRef<Path>) -> Result<Option<String>> {
    if let Some(why) = unfit() {
        return Ok(Some(why));
    }
    let Err(error) = Parts::prepared(demo.as_ref(), Part::NODE.to_vec()).await else {
        return Ok(None);
    };
    match error.downcast::<PartsError>().map(EngineError::from) {
        Ok(EngineError::Absent(why)) => Ok(Some(why)),
        Ok(EngineError::Other(error)) | Err(error) => Err(error),
    }
}

/// Returns the reason why this machine cannot be a node, or `None`.
fn unfit() -> Option<String> {
    if !cfg!(target_os = "linux") {
        return Some("containers need Linux".to_owned());
    }
    if !rustix::process::geteuid().is_root() {
        return Some("containers need root".to_owned());
    }
    let mut unshare = Command::new("unshare");
    let tried = unshare
        .args(UNSHARE)
        .arg("true")
        .stdin(Stdio::null())
        .output();
    match tried {
        Err(error) => Some(format!("unshare: {error}")),
        Ok(output) if output.status.success() => groups::unfit(),
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

impl Settings {
    /// Returns the folder of the node's files.
    fn node(&self) -> PathBuf {
        self.folder.join("node")
    }

    /// Returns the program of the node, from its first process on. Its output has the output of all of them.
    pub(super) fn kubelet(&self, parts: &Parts, supervisor: &Path) -> Result<Program, PartsError> {
        Ok(Program::new("unshare", self.log("kubelet"))
            .args(UNSHARE)
            .arg(supervisor)
            .args(["node", "--folder"])
            .arg(self.node())
            .arg("--containerd")
            .arg(parts.path(Part::Containerd)?)
            .arg("--ctr")
            .arg(parts.path(Part::Ctr)?)
            .arg("--kubelet")
            .arg(parts.path(Part::Kubelet)?)
            .arg("--")
            .arg(format!("--hostname-override={NODE}"))
            .arg("--kubeconfig")
            .arg(self.identity.kubeconfig(super::identity::KUBELET))
            .arg("--root-dir")
            .arg(self.node().join("kubelet"))
            // Otherwise it looks for an address that others can reach, and accepts none that is local to this
            // machine.
            .arg("--cloud-provider=external"))
    }
}

impl ControlPlane {
    /// Starts the real node and waits until pods can be scheduled to it.
    pub(super) async fn start_real_node(&self, demo: &Path) -> Result<()> {
        let folder = self.settings.node();
        fs::create_dir_all(&folder)?;
        image::write(demo, &folder)?;
        config::write(&self.settings, &self.parts, &self.supervisor)?;
        let nodes: Api<Node> = Api::all(client(&self.admin_kubeconfig(), None).await?);
        let node = serde_json::from_value(json!({
            "metadata": { "name": NODE, "labels": { "kubernetes.io/hostname": NODE } }
        }))?;
        nodes.create(&PostParams::default(), &node).await?;
        let address = json!({ "status": { "addresses": [{ "type": "InternalIP", "address": "127.0.0.1" }] } });
        nodes
            .patch_status(NODE, &PatchParams::default(), &Patch::Merge(address))
            .await?;
        self.launch(Part::Kubelet)?;
        let begin = Instant::now();
        loop {
            let node = nodes.get(NODE).await?;
            if ready(&node) {
                return Ok(());
            }
            self.nothing_ended().with_context(|| self.node_logs())?;
            if begin.elapsed() > START {
                let conditions = node.status.and_then(|status| status.conditions);
                bail!(
                    "the node is not ready after {}: {conditions:?}\n{}",
                    elapsed(START),
                    self.node_logs()
                );
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    }

    /// Builds a program from source and gives a real node an image that has and starts only this program.
    pub async fn add_image(&self, demo: &Path, image: &str, part: Part) -> Result<()> {
        let folder = self.settings.node();
        let parts = Parts::prepared(demo, vec![part]).await?;
        let archive = folder.join(format!("{}.tar", part.binary()));
        let path = format!("/bin/{}", part.binary());
        let started = [(image, json!([path]))];
        image::write_archive(&archive, parts.path(part)?, &path, &started)?;
        inside::import(self.parts.path(Part::Ctr)?, &folder, &archive)
    }

    fn node_logs(&self) -> String {
        let logs = ["kubelet", "containerd"].map(|name| self.settings.log(name));
        logs.map(|log| log_tail(&log, 30)).join("\n")
    }
}
