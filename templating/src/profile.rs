//! Application of a `ClusterRunProfile` to a run.

mod rules;

use cartouche_crds::{ClusterRunProfileSpec, ProfilePatch};
use cartouche_engines::merge;
use cartouche_language::{
    Diagnostic, DiagnosticKind, Diagnostics, Root, RunFacts, Segment, Warning,
    bounds::{self, MAX_PROFILE_BYTES, MAX_RENDERED_WEIGHT, takes},
    open::{self, TagHolder},
};
use serde_json::{Value, json};

use crate::{
    body::Body, context::Context, document::StampError, rendered::Rendered, runner, suspect,
};

/// A profile, checked and ready to be applied to runs.
#[derive(Clone, Debug)]
pub struct Profile {
    pod_template: Option<ProfilePart>,
    patches: Vec<Patch>,
    values: Value,
    warnings: Vec<Warning>,
}

/// A part of a profile, with tags in its strings.
#[derive(Clone, Debug)]
struct ProfilePart {
    at: Vec<Segment>,
    body: Body,
}

#[derive(Clone, Debug)]
struct Patch {
    api_version: String,
    kind: String,
    part: ProfilePart,
}

impl ProfilePart {
    fn compile(value: &Value, at: Vec<Segment>, problems: &mut Vec<Diagnostic>) -> Self {
        let body = Body::compile(value, TagHolder::Profile, &at, problems);
        Self { at, body }
    }

    /// Renders the part, with its tags replaced.
    fn render(
        &self,
        context: &Context,
        run: &RunFacts<'_>,
        values: &Value,
    ) -> Result<Value, Vec<Diagnostic>> {
        let made = self.body.render(context);
        let made = made.and_then(|(part, open)| open::fill(part, &open, run, Some(values)));
        made.map_err(|problems| problems.below(Root::Profile, &self.at))
    }
}

impl Profile {
    /// Compiles a profile. Fails with all of its errors, whatever the run.
    pub fn compile(spec: &ClusterRunProfileSpec) -> Result<Self, Diagnostics> {
        let patches = spec.patches.as_deref().unwrap_or_default();
        let values = json!(spec.values.clone().unwrap_or_default());
        Diagnostics::check(oversize(spec.pod_template.as_ref(), patches, &values))?;
        let mut problems = rules::check(spec);
        let warnings = suspect(spec.pod_template.as_ref(), patches);
        let pod_template = spec.pod_template.as_ref().map(|pod_template| {
            problems.extend(merge::check(pod_template));
            ProfilePart::compile(pod_template, vec!["podTemplate".into()], &mut problems)
        });
        problems.extend(merge::check_kinds(patches));
        let patches = patches.iter().enumerate().map(|(index, patch)| {
            problems.extend(merge::check_patch(index, &patch.patch));
            let at = to_patch(index);
            Patch {
                api_version: patch.api_version.clone(),
                kind: patch.kind.clone(),
                part: ProfilePart::compile(&patch.patch, at, &mut problems),
            }
        });
        let patches = patches.collect();
        Diagnostics::check(problems)?;
        Ok(Self {
            pod_template,
            patches,
            values,
            warnings,
        })
    }

    /// Returns warnings for parts that work, but hardly as their author expects.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Returns the values that templates read as `profile.values`.
    #[must_use]
    pub fn values(&self) -> &Value {
        &self.values
    }

    /// Applies the profile to a document, with tags that read the Runnable and the run. The hash stays the same.
    /// Fails with every part that does not fit, with a run that is not permitted, or if open tags of the document
    /// are not [filled in](Rendered::fill).
    pub fn apply(
        &self,
        rendered: &Rendered,
        context: &Context,
        run: &RunFacts<'_>,
    ) -> Result<Rendered, Diagnostics> {
        if !rendered.open().is_empty() {
            return Err(StampError::Open.diagnostic().into());
        }
        let (mut document, mut problems) = (rendered.document().clone(), Vec::new());
        // The values of tags are checked like written ones.
        let mut made = |part: &ProfilePart, check: &dyn Fn(&Value) -> Vec<Diagnostic>| {
            let made = part.render(context, run, &self.values);
            let wrong = made.as_ref().map_or_else(Vec::clone, check);
            let is_right = wrong.is_empty();
            problems.extend(wrong);
            made.ok().filter(|_| is_right)
        };
        let pod_template = self.pod_template.as_ref();
        let pod_template = pod_template.and_then(|part| made(part, &merge::check));
        let of_run = |patch: &Patch| {
            (patch.api_version.as_str(), patch.kind.as_str())
                == (rendered.api_version(), rendered.kind())
        };
        let patch = self.patches.iter().position(of_run);
        let patch = patch.and_then(|index| {
            made(&self.patches[index].part, &|patch| {
                merge::check_patch(index, patch)
            })
        });
        Diagnostics::check(problems)?;
        if let Some(pod_template) = &pod_template {
            merge::merge(&mut document, pod_template)?;
        }
        if let Some(patch) = &patch {
            json_patch::merge(&mut document, patch);
        }
        runner::tell_account(rendered.document(), &mut document);
        rendered.made_into(document)
    }
}

/// Returns warnings for texts that look like tags, but are none.
fn suspect(pod_template: Option<&Value>, patches: &[ProfilePatch]) -> Vec<Warning> {
    let pod_template = pod_template.map(|it| (vec!["podTemplate".into()], it));
    let patches = patches.iter().enumerate();
    let patches = patches.map(|(index, it)| (to_patch(index), &it.patch));
    let parts = pod_template.into_iter().chain(patches);
    parts
        .flat_map(|(at, part)| suspect::warnings(part, Root::Profile, &at))
        .collect()
}

/// Returns the steps to a patch.
fn to_patch(index: usize) -> Vec<Segment> {
    vec!["patches".into(), Segment::Index(index), "patch".into()]
}

fn oversize(
    pod_template: Option<&Value>,
    patches: &[ProfilePatch],
    values: &Value,
) -> Vec<Diagnostic> {
    let patches = patches.iter().map(|it| ("patches", &it.patch));
    let parts = pod_template.map(|it| ("podTemplate", it)).into_iter();
    let (mut room, mut weight) = (MAX_PROFILE_BYTES, 0);
    for (field, value) in parts.chain(patches).chain([("values", values)]) {
        let bytes = bounds::is_shallow(value).then(|| bounds::json_bytes_within(value, room));
        let kind = match bytes {
            None => DiagnosticKind::too_deep(),
            Some(None) => DiagnosticKind::Limit(format!(
                "podTemplate, patches and values are together larger than {MAX_PROFILE_BYTES} bytes"
            )),
            Some(Some(bytes)) => {
                room -= bytes;
                weight += cartouche_language::weight::weight(value);
                if weight <= MAX_RENDERED_WEIGHT {
                    continue;
                }
                let takes = takes(weight, MAX_RENDERED_WEIGHT);
                DiagnosticKind::Limit(format!("together with the fields before it, it {takes}"))
            }
        };
        return vec![Diagnostic::new(Root::Profile, vec![field.into()], kind)];
    }
    Vec::new()
}

#[cfg(test)]
mod tests;
