//! Errors of requests that take a right which the user lacks. What was asked for may be there all the same, and most commands do without it.

use thiserror::Error;

/// Lets everyone read templates and profiles, where it is bound in the whole cluster.
pub(crate) const TEMPLATES_VIEW: &str = "cartouche-templates-view";

/// An error of a request that takes a right which the user lacks.
#[derive(Debug, Error)]
#[error("{text}")]
pub(crate) struct Denied {
    /// In one line, and then what to do.
    text: String,
    /// True if templates or profiles were to be read.
    is_of_templates: bool,
}

impl Denied {
    /// The refusal of an API server, with which roles there are.
    pub(super) fn new(what: &str, said: &str, where_roles_are: &str) -> Self {
        if is_of_templates(said) {
            return Self::templates(what, said);
        }
        Self {
            text: format!("{what}: {said}\nhint: ask for that permission; {where_roles_are}"),
            is_of_templates: false,
        }
    }

    /// The same of templates or profiles: which role has the right, since one that is bound in a namespace gives none to what is
    /// in no namespace.
    fn templates(what: &str, said: &str) -> Self {
        let text = format!(
            "{}\n\
             hint: ask for a ClusterRoleBinding of it, as config/templates-view is; a RoleBinding gives no right to what is in no namespace\n\
             hint: the API server says: {said}",
            lacks_templates_view(what)
        );
        Self {
            text,
            is_of_templates: true,
        }
    }

    /// An error of this kind, whatever was added to it.
    pub(crate) fn of(error: &anyhow::Error) -> Option<&Self> {
        error.downcast_ref()
    }

    /// True for an error of reading templates or profiles.
    pub(crate) fn hides_templates(error: &anyhow::Error) -> bool {
        Self::of(error).is_some_and(|denied| denied.is_of_templates)
    }
}

/// That this takes the right to read templates and profiles, which the user lacks.
pub(crate) fn lacks_templates_view(what: &str) -> String {
    format!("{what} takes a right that you lack: the ClusterRole {TEMPLATES_VIEW} has it")
}

/// True for a refusal to read templates or profiles.
fn is_of_templates(said: &str) -> bool {
    let reads = ["get", "list", "watch"];
    let kinds = ["clusterruntemplates", "clusterrunprofiles"];
    let refused = |verb: &str, kind: &str| format!(" cannot {verb} resource \"{kind}\"");
    reads
        .iter()
        .any(|verb| kinds.iter().any(|kind| said.contains(&refused(verb, kind))))
}

/// The first line of an error, without what to do.
pub(crate) fn first_line(error: &anyhow::Error) -> String {
    let text = format!("{error:#}");
    text.lines().next().unwrap_or_default().to_owned()
}

/// The answer, or the first line of why there is none, which names the permission that is missing.
pub(crate) fn seen<T>(answer: anyhow::Result<Option<T>>) -> (Option<T>, Option<String>) {
    match answer {
        Ok(found) => (found, None),
        Err(error) => (None, Some(first_line(&error))),
    }
}
