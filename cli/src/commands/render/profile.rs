//! The profile that runs from files are rendered with.

use std::sync::Arc;

use anyhow::bail;
use cartouche_authoring::{
    finding::Finding, objects::Objects, render::profiles, source::Document, template_file,
};
use cartouche_language::suggestion;
use cartouche_protocol::profiles::{KnownProfile, Labels};

use super::RenderArgs;

/// Returns an error if the named profile is not among the files.
pub(super) fn check_name(name: Option<&str>, objects: &Objects) -> anyhow::Result<()> {
    let Some(name) = name else {
        return Ok(());
    };
    if objects.profile(name).is_some() {
        return Ok(());
    }
    let names = objects.profiles.iter().map(Document::name);
    let hint = suggestion::hint(name, "the profiles are", names);
    let hint = hint.unwrap_or_else(|| "name the file that holds it as well".to_owned());
    bail!("there is no ClusterRunProfile '{name}' among these files\nhint: {hint}")
}

/// Parses labels of a command line.
pub(super) fn labels(text: &str) -> Result<Labels, String> {
    let pairs = text.split(',').filter(|pair| !pair.is_empty());
    let labels = pairs.map(|pair| match pair.split_once('=') {
        Some((key, value)) => Ok((key.trim().to_owned(), value.trim().to_owned())),
        None => Err(format!("'{pair}' is not a label: write KEY=VALUE")),
    });
    labels.collect()
}

/// Returns the named profile, or the one that the rules choose.
pub(super) fn choose(
    args: &RenderArgs,
    objects: &Objects,
    (runnable, namespace): (&Document, &str),
    template: &Document,
) -> Result<Option<Arc<KnownProfile>>, Vec<Finding>> {
    let profiles = profiles::read_profiles(objects, namespace, args.namespace_labels.as_ref());
    if let Some(name) = &args.profile {
        return Ok(profiles.get(name).cloned());
    }
    let is_required = template_file::needs_profile(template);
    let found = profiles::by_rules(objects, &profiles, (runnable, namespace), is_required);
    found.map_err(|finding| vec![*finding])
}
