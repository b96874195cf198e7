//! A compiled template, as decisions need it.

use std::sync::Arc;

use cartouche_crds::{ClusterRunTemplate, ProfileRequirement};
use cartouche_language::Diagnostics;
use cartouche_templating::Template;

use crate::policy::Asks;

/// A template at one generation: writes of its status do not count.
#[derive(Debug)]
pub struct Compiled {
    /// Name of the template.
    pub name: String,
    /// Uid of the template.
    pub uid: String,
    /// Generation of the template.
    pub generation: i64,
    /// Hash of its outputs and its `healthRule`.
    pub rules_hash: Arc<str>,
    /// True if it makes no run without a profile.
    pub needs_profile: bool,
    /// True if it names sensitive outputs.
    pub has_sensitive_outputs: bool,
    /// Fields that this release does not know.
    pub unknown_fields: Vec<String>,
    /// Policies that it sets for its runs.
    pub asks: Asks,
    /// The compiled template, or its faults.
    pub template: Result<Template, Diagnostics>,
}

impl Compiled {
    /// Compiles a template.
    #[must_use]
    pub fn new(object: &ClusterRunTemplate) -> Self {
        let template = Template::compile(&object.spec);
        Self {
            name: object.metadata.name.clone().unwrap_or_default(),
            uid: object.metadata.uid.clone().unwrap_or_default(),
            generation: object.metadata.generation.unwrap_or_default(),
            rules_hash: template
                .as_ref()
                .map_or_else(|_| "".into(), |template| template.rules_hash().into()),
            needs_profile: object.spec.profile == Some(ProfileRequirement::Required),
            has_sensitive_outputs: object
                .spec
                .sensitive_outputs
                .iter()
                .flatten()
                .next()
                .is_some(),
            unknown_fields: object.spec.unknown_fields.clone(),
            asks: Asks::of_template(&object.spec),
            template,
        }
    }

    /// Returns true if this is the template with this uid at this generation.
    #[must_use]
    pub fn is_of(&self, uid: Option<&str>, generation: Option<i64>) -> bool {
        uid == Some(&self.uid) && generation == Some(self.generation)
    }
}
