//! All that a run is made of, and the run rendered from it.

use cartouche_authoring::render::{self, RenderSubject, placeholders};
use cartouche_crds::{ClusterRunTemplate, INPUT_HASH_ANNOTATION, ProfileRequirement, Runnable};
use cartouche_engines::kinds;
use cartouche_language::{HASH_VERSION, syntax};
use cartouche_protocol::{
    compiled::Compiled,
    facts::RunnableFacts,
    ledger::{Due, Ledger},
    messages::diagnosis::Fault,
    newer_release::{known_fields, leaves_alone},
    profiles::Profiles,
};
use cartouche_templating::Template;
use serde_json::Value;

use super::{
    Prospect,
    making::{Making, unrendered},
    marked,
    sources::InputSources,
};
use crate::cluster::as_json;

/// All that a run is made of.
#[derive(Clone)]
pub(super) struct ProspectState {
    pub(super) live: Option<Runnable>,
    pub(super) runnable: Runnable,
    pub(super) template: ClusterRunTemplate,
    pub(super) selected: Option<Value>,
    pub(super) sources: InputSources,
    /// Profiles; `None` if the user may not list them.
    pub(super) profiles: Option<Profiles>,
    /// True for the next run, whether or not a change is pending.
    pub(super) of_next: bool,
}

impl ProspectState {
    pub(super) fn prospect(self, namespace: &str) -> anyhow::Result<Prospect> {
        let has_secrets = self.has_secrets();
        let rendered = self.rendered(namespace);
        let rendered = rendered.map_err(|error| marked(error, has_secrets));
        rendered.map(|prospect| Prospect {
            has_secrets: has_secrets || kinds::holds_secrets(prospect.run.rendered.kind()),
            ..prospect
        })
    }

    /// Returns true if the last run, the next one or the selected object is a Secret, as far as that is known before
    /// rendering.
    fn has_secrets(&self) -> bool {
        let runnables = || self.live.iter().chain([&self.runnable]);
        let selected =
            runnables().filter_map(|it| it.spec.selector.as_ref()?.resource.kind.as_deref());
        let made =
            runnables().filter_map(|it| Some(&*it.status.as_ref()?.current_run.as_ref()?.kind));
        let to_be_made = self.template.spec.template.get("kind");
        let to_be_made = to_be_made.and_then(Value::as_str).unwrap_or_default();
        // A tag may make it a Secret.
        syntax::may_hold_tags(to_be_made)
            || selected
                .chain(made)
                .chain([to_be_made])
                .any(kinds::holds_secrets)
    }

    fn rendered(self, namespace: &str) -> anyhow::Result<Prospect> {
        let name = &self.runnable.spec.run_template_ref.name;
        let template = Template::compile(&self.template.spec)
            .map_err(|found| unrendered(name, Fault::all(&found)))?;
        let mut value = as_json(&self.runnable)?;
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("namespace".to_owned(), namespace.into());
        }
        let subject = RenderSubject {
            template: &template,
            template_name: name,
            runnable: &value,
            selected: self.selected.as_ref(),
            sourced: &self.sources.values,
            with: None,
        };
        let status = self.live.as_ref().and_then(|live| live.status.as_ref());
        let ledger = status.map(Ledger::from_status).unwrap_or_default();
        let inputs = self.runnable.spec.inputs_from.as_deref();
        let faults = |found: &[_]| Fault::all_with(found, inputs.unwrap_or_default());
        let hash = render::input_hash(&subject);
        let hash = hash.map_err(|found| unrendered(name, faults(&found)))?;
        let facts = RunnableFacts::from_runnable(&self.runnable);
        let unread = self.sources.unread_by(&template);
        let hash = Some(hash.as_str()).filter(|_| unread.is_empty());
        let due = due(&ledger, hash, facts.rerun_token.as_deref());
        let fields = known_fields(&self.runnable.spec, &Compiled::new(&self.template));
        let newer = leaves_alone(status).or(fields.err());
        let making = if self.of_next {
            Making::next(&ledger, &facts)
        } else {
            Making::new(&ledger, due, &facts)
        };
        let needs_profile = self.template.spec.profile == Some(ProfileRequirement::Required);
        let with = making.with(&facts, self.profiles.as_ref(), needs_profile)?;
        let (with, mut run) = with.made_or_without(subject, &making)?;
        if !unread.is_empty() {
            without_hash(&mut run.object);
        }
        let provisional = [
            (self.live.is_none())
                .then(|| placeholders::read(&subject, Some(&self.template.spec)))
                .flatten(),
            self.sources.unborn_by(&template),
        ];
        let provisional: Vec<String> = provisional.into_iter().flatten().collect();
        Ok(Prospect {
            provisional,
            unread,
            revisions: self.sources.revisions,
            live: self.live,
            runnable: self.runnable,
            sequence: run.sequence,
            profile: with.version(),
            unknown_profile: with.unknown_reason(),
            not_refreshed: with.not_refreshed(),
            newer,
            run,
            due,
            template: self.template,
            selected: self.selected,
            has_secrets: false,
        })
    }
}

/// Decides if a run is due. If the hash is unknown, returns the decision only if it does not depend on the hash.
fn due(ledger: &Ledger, hash: Option<&str>, asked: Option<&str>) -> Option<Due> {
    let another = format!("{HASH_VERSION}unknown");
    let of_another = ledger.due(hash.unwrap_or(&another), asked);
    let current = ledger.current.as_ref().filter(|_| hash.is_none());
    let of_same = current.map(|current| ledger.due(&current.input_hash, asked));
    Some(of_another).filter(|due| of_same.is_none_or(|same| same == *due))
}

/// Removes the hash, which is not that of the cluster's objects.
fn without_hash(run: &mut Value) {
    let annotations = run.pointer_mut("/metadata/annotations");
    if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
        annotations.remove(INPUT_HASH_ANNOTATION);
    }
}

#[cfg(test)]
mod tests;
