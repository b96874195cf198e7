//! A `ClusterRunProfile` as it is applied to a run.

mod rules;

use cartouche_crds::{ClusterRunProfileSpec, ProfilePatch};
use serde_json::{Value, json};

use crate::{
    bounds::{self, MAX_PROFILE_BYTES},
    diagnostic::{Diagnostic, DiagnosticKind, Diagnostics, Root},
    document::StampError,
    merge,
    rendered::Rendered,
    runner,
};

/// What a profile says of how runs are made, checked and ready to be applied.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    pod_template: Option<Value>,
    patches: Vec<ProfilePatch>,
    values: Value,
}

impl Profile {
    /// Finds everything that is wrong with what it says, whatever the run.
    pub fn compile(spec: &ClusterRunProfileSpec) -> Result<Self, Diagnostics> {
        let pod_template = spec.pod_template.clone();
        let patches = spec.patches.clone().unwrap_or_default();
        let values = json!(spec.values.clone().unwrap_or_default());
        Diagnostics::check(oversize(pod_template.as_ref(), &patches, &values))?;
        let of_pods = pod_template.as_ref().map(merge::check).unwrap_or_default();
        let of_kinds = merge::check_patches(&patches);
        Diagnostics::check([rules::check(spec), of_pods, of_kinds].concat())?;
        Ok(Self {
            pod_template,
            patches,
            values,
        })
    }

    /// What templates read as `profile.values`.
    #[must_use]
    pub fn values(&self) -> &Value {
        &self.values
    }

    /// The run that a document becomes with this profile. Its hash stays. Fails with everything that does not fit, or with what
    /// the run may not be, or where open tags of the document are not [filled in](Rendered::filled).
    pub fn applied(&self, rendered: &Rendered) -> Result<Rendered, Diagnostics> {
        if !rendered.open().is_empty() {
            return Err(StampError::Open.diagnostic().into());
        }
        let mut document = rendered.document().clone();
        if let Some(pod_template) = &self.pod_template {
            merge::merge(&mut document, pod_template)?;
        }
        for patch in &self.patches {
            if (rendered.api_version(), rendered.kind()) == (&patch.api_version, &patch.kind) {
                json_patch::merge(&mut document, &patch.patch);
            }
        }
        runner::tell_account(rendered.document(), &mut document);
        rendered.made_into(document)
    }
}

fn oversize(
    pod_template: Option<&Value>,
    patches: &[ProfilePatch],
    values: &Value,
) -> Vec<Diagnostic> {
    let patches = patches.iter().map(|it| ("patches", &it.patch));
    let parts = pod_template.map(|it| ("podTemplate", it)).into_iter();
    let mut room = MAX_PROFILE_BYTES;
    for (field, value) in parts.chain(patches).chain([("values", values)]) {
        let bytes = bounds::is_shallow(value).then(|| bounds::json_bytes_within(value, room));
        let kind = match bytes {
            None => DiagnosticKind::too_deep(),
            Some(None) => DiagnosticKind::Limit(format!(
                "podTemplate, patches and values are together larger than {MAX_PROFILE_BYTES} bytes"
            )),
            Some(Some(bytes)) => {
                room -= bytes;
                continue;
            }
        };
        return vec![Diagnostic::new(Root::Profile, vec![field.into()], kind)];
    }
    Vec::new()
}

#[cfg(test)]
mod tests;
