//! `dist/install.yaml`: the objects of `config/default` in one file.

use std::{fmt::Write as _, io, path::Path};

use serde_json::Value;

use crate::{
    kustomization::{Files, fault},
    text,
};

const FOLDER: &str = "config/default";

/// Kinds in the order in which they are applied: a kind after those that it needs.
const ORDER: [&str; 12] = [
    "Namespace",
    "CustomResourceDefinition",
    "ServiceAccount",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "Service",
    "NetworkPolicy",
    "PodDisruptionBudget",
];

/// The last kind: its pods need all others.
const LAST: &str = "Deployment";

/// Returns the whole file.
pub fn yaml(files: &Files<'_>) -> io::Result<String> {
    let mut objects = Vec::new();
    for object in files.build(Path::new(FOLDER))? {
        objects.push((rank(&object)?, object));
    }
    objects.sort_by_key(|(rank, _)| *rank);
    let mut file = head(&image(&objects)?);
    for (_, object) in &objects {
        let body = serde_saphyr::to_string(object).map_err(io::Error::other)?;
        // Writing into a String cannot fail.
        let _ = write!(file, "---\n{}\n", body.trim_end());
    }
    Ok(file)
}

fn rank(object: &Value) -> io::Result<usize> {
    let kind = text(object, "/kind");
    if kind == LAST {
        return Ok(ORDER.len());
    }
    let rank = ORDER.iter().position(|it| *it == kind);
    rank.ok_or_else(|| fault(Path::new(FOLDER), &format!("{kind} has no place in ORDER")))
}

/// Returns the image of the controller.
fn image(objects: &[(usize, Value)]) -> io::Result<String> {
    let images: Vec<&str> = objects
        .iter()
        .map(|(_, object)| text(object, "/spec/template/spec/containers/0/image"))
        .filter(|image| !image.is_empty())
        .collect();
    match images[..] {
        [image] => Ok(image.to_owned()),
        _ => Err(fault(
            Path::new(FOLDER),
            &format!("one image is expected, not {images:?}"),
        )),
    }
}

fn head(image: &str) -> String {
    format!(
        "\
# Written by `cargo generate` from {FOLDER}. Edit that.
#
# Cartouche {version}, for Kubernetes 1.30 or newer. No registry has the image yet: build it, push it to yours, and
# set it while you apply this file:
#
#   sed 's|image: {image}|image: registry.example.com/{image}|' install.yaml |
#     kubectl apply --server-side -f -
",
        version = env!("CARGO_PKG_VERSION"),
    )
}
