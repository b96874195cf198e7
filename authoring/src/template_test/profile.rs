//! The profile that the run of a case is made with.

use std::{path::Path, sync::Arc};

use anyhow::bail;
use cartouche_protocol::{
    facts::{Unknown, choose_profile},
    ledger::Ledger,
    profiles::{KnownProfile, Profiles},
};
use serde_json::Value;

use crate::{
    manifests,
    objects::Objects,
    profile_file,
    render::profiles::{facts, read_profiles},
    template_test::Case,
};

/// Returns the profile of its file, or the one that the rules of several choose, or the reason why none can be chosen,
/// which a case may expect.
pub(super) fn choose(
    case: &Case,
    (runnable, namespace): (&Value, &str),
    is_required: bool,
) -> anyhow::Result<Result<Option<Arc<KnownProfile>>, String>> {
    let profiles = match (&case.profile, &case.profiles) {
        (Some(path), None) => return Ok(Ok(Some(Arc::new(one(path, case)?)))),
        (Some(_), Some(_)) => bail!(
            "{} has profile and profiles\nhint: use profile for a fixed one, or profiles for those that rules choose from",
            case.folder.display()
        ),
        (None, None) => Profiles::default(),
        (None, Some(path)) => {
            let objects = Objects::load_all(std::slice::from_ref(path))?;
            if objects.profiles.is_empty() {
                bail!("{} holds no ClusterRunProfile", path.display());
            }
            read_profiles(&objects, namespace, case.namespace_labels.as_ref())
        }
    };
    match choose_profile(&facts(runnable), &profiles, is_required, &Ledger::default()) {
        Ok(chosen) => {
            let pinned = chosen.pinned;
            let found = pinned.and_then(|pinned| profiles.get(&pinned.name).cloned());
            Ok(Ok(found))
        }
        Err(Unknown::Held(held)) => Ok(Err(format!("{held}\n"))),
        Err(Unknown::Namespace) => bail!(
            "a rule of a profile selects namespaces\nhint: give the labels in case.yaml: namespaceLabels: {{env: production}}"
        ),
    }
}

/// Loads the only profile of a file.
fn one(path: &Path, case: &Case) -> anyhow::Result<KnownProfile> {
    let document =
        manifests::load_one(path, &case.boundary)?.map_err(|finding| finding.as_error())?;
    if !document.is_ours(crate::objects::PROFILE) {
        bail!("{} holds no ClusterRunProfile", path.display());
    }
    Ok(profile_file::compile(&document))
}
