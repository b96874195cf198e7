//! The stages of KWOK: a node, its pods, and engines behind custom resources.

use std::{
    net::{Ipv4Addr, TcpStream},
    path::PathBuf,
    sync::PoisonError,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use k8s_openapi::api::core::v1::Node;
use kube::{Api, api::PostParams};
use serde_json::json;

use super::{ControlPlane, Part, START, client, log_tail};
use crate::progress::elapsed;

/// The name of the node that KWOK plays.
const NODE: &str = "kwok";

impl ControlPlane {
    /// Lets KWOK play further stages (files with objects of kind `Stage`) beside the present ones. The API
    /// server must serve their kinds by now. Needs a full control plane.
    pub async fn play(&self, stages: impl IntoIterator<Item = PathBuf>) -> Result<()> {
        self.add_stages(stages);
        self.kill(Part::Kwok)?;
        self.start_kwok().await
    }

    pub(super) fn stage_files(&self) -> Vec<PathBuf> {
        self.stages
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn add_stages(&self, files: impl IntoIterator<Item = PathBuf>) {
        let mut stages = self.stages.lock().unwrap_or_else(PoisonError::into_inner);
        for file in files {
            if !stages.contains(&file) {
                stages.push(file);
            }
        }
    }

    /// Starts KWOK with a node and waits until pods can be scheduled to it.
    pub(super) async fn start_node(&self) -> Result<()> {
        let folder = crate::repository().join("tests/stages");
        self.add_stages([folder.join("node.yaml"), folder.join("pod.yaml")]);
        let nodes: Api<Node> = Api::all(client(&self.admin_kubeconfig(), None).await?);
        let node = serde_json::from_value(json!({
            "metadata": { "name": NODE, "labels": { "kubernetes.io/hostname": NODE } }
        }))?;
        nodes.create(&PostParams::default(), &node).await?;
        self.start_kwok().await?;
        let begin = Instant::now();
        loop {
            let node = nodes.get(NODE).await?;
            if ready(&node) {
                return Ok(());
            }
            self.nothing_ended()?;
            if begin.elapsed() > START {
                let taints = node.spec.and_then(|spec| spec.taints);
                bail!(
                    "the node is not ready after {}: taints {taints:?}",
                    elapsed(START)
                );
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Starts KWOK and waits until it plays: only then does it open its port. KWOK ends at once while the
    /// schema of a kind is not published, which comes some time after the API server is ready. Then it starts
    /// again.
    async fn start_kwok(&self) -> Result<()> {
        self.launch(Part::Kwok)?;
        let begin = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.settings.kwok_port)).is_err() {
            if begin.elapsed() < START && self.has_ended(Part::Kwok)? {
                tokio::time::sleep(Duration::from_millis(200)).await;
                self.launch(Part::Kwok)?;
            }
            self.nothing_ended_but(Some(Part::Kwok))?;
            if begin.elapsed() > START {
                bail!(
                    "KWOK does not play after {}\n{}",
                    elapsed(START),
                    log_tail(&self.settings.log("kwok"), 30)
                );
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }
}

/// Returns true if pods can be scheduled to the node.
pub(super) fn ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|s| s.conditions.as_ref());
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    let is_ready = conditions
        .into_iter()
        .flatten()
        .any(|condition| condition.type_ == "Ready" && condition.status == "True");
    is_ready && taints.is_none_or(Vec::is_empty)
}
