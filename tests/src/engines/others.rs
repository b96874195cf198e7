//! Kinds of other projects: their real definitions, played by KWOK.

use serde_json::Value;

use super::module::{self, EngineError};
use crate::{cluster::Cluster, repository};

/// Modules, each with the path of the definition in it.
const DEFINITIONS: [(&str, &str); 2] = [
    (
        "github.com/cert-manager/cert-manager",
        "deploy/crds/crd-certificates.yaml",
    ),
    (
        "github.com/kubernetes-csi/external-snapshotter/client/v8",
        "config/crd/snapshot.storage.k8s.io_volumesnapshots.yaml",
    ),
];

impl Cluster {
    /// Defines cert-manager's `Certificate` and the `VolumeSnapshot` of the CSI snapshotter, and lets KWOK
    /// play them (`tests/stages/certificate.yaml`, `volume-snapshot.yaml`).
    pub async fn install_kinds_of_others(&self) -> Result<(), EngineError> {
        let mut objects = Vec::new();
        for (name, file) in DEFINITIONS {
            let folder = module::folder("kinds", name).await?;
            objects.extend(module::objects(&folder.join(file), |_| true)?);
        }
        for object in &mut objects {
            // cert-manager ships a Helm template; its placeholders stand in labels.
            let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
            metadata.and_then(|metadata| metadata.remove("labels"));
        }
        module::apply(self, &module::without_conversion(objects)).await?;
        self.definitions_served().await?;
        let stages = repository().join("tests/stages");
        let files = ["certificate.yaml", "volume-snapshot.yaml"].map(|file| stages.join(file));
        Ok(self.control_plane()?.play(files).await?)
    }
}
