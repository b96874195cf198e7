//! Engines that run objects of custom kinds.
//!
//! [`Cluster::install_engines`] is for the demo: it installs only the kinds, and KWOK plays their engines.
//! [`Tekton`], [`ArgoWorkflows`] and [`Kueue`] are the real controllers with their real definitions and
//! roles, where KWOK plays no more than the kubelet. So is [`Flux`], which applies what is in Git. [`Helm`]
//! installs charts.

mod argo;
mod argo_executor;
mod flux;
mod gitops;
mod helm;
mod kueue;
mod module;
mod others;
mod tekton;

use anyhow::Result;

pub use argo::ArgoWorkflows;
pub(crate) use argo_executor::sha256;
pub use flux::Flux;
pub use gitops::{ArgoSync, FluxSync, GitOps, Verdict};
pub use helm::Helm;
pub use kueue::Kueue;
pub use module::EngineError;
pub use tekton::Tekton;

use crate::{cluster::Cluster, repository};

/// Stages of KWOK for custom resources, below `tests/stages`.
const STAGES: [&str; 4] = [
    "taskrun.yaml",
    "pipelinerun.yaml",
    "workflow.yaml",
    "backup.yaml",
];

impl Cluster {
    /// Defines Tekton's `TaskRun` and `PipelineRun`, Argo's `Workflow` and the `Backup` of the examples, and
    /// lets KWOK play them. Annotations of a run set how it ends: see the comments in `tests/stages`.
    pub async fn install_engines(&self) -> Result<()> {
        let root = repository();
        self.apply_files(&root.join("tests/engines")).await?;
        self.apply_files(&root.join("examples/health-rule/crd.yaml"))
            .await?;
        self.definitions_served().await?;
        let files = STAGES.map(|file| root.join("tests/stages").join(file));
        self.control_plane()?.play(files).await
    }
}
