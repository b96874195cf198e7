//! Engines that are not there: their kinds are defined, and KWOK plays what they would do.

use anyhow::Result;

use crate::{cluster::Cluster, repository};

/// What KWOK plays for custom resources, below `tests/stages`.
const STAGES: [&str; 3] = ["taskrun.yaml", "workflow.yaml", "backup.yaml"];

impl Cluster {
    /// Defines Tekton's `TaskRun`, Argo's `Workflow` and the `Backup` of the examples, and lets KWOK
    /// play them. Annotations of a run say how it ends: see the comments in `tests/stages`.
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
