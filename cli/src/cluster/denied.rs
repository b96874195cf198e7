//! Errors of requests that need a right which the user lacks. The object may exist all the same, and most commands do
//! without it.

use thiserror::Error;

/// `ClusterRole` that lets its subjects read templates and profiles, if it is bound in the whole cluster.
pub(crate) const TEMPLATES_VIEW: &str = "cartouche-templates-view";

/// Error of a request that needs a right which the user lacks.
#[derive(Debug, Error)]
#[error("{text}")]
pub(crate) struct AccessDenied {
    /// Message in one line, followed by hints.
    text: String,
    /// True if the request was to read templates or profiles.
    is_of_templates: bool,
}

impl AccessDenied {
    /// Returns the error for a refusal of the API server, with a hint at the roles that there are.
    pub(super) fn new(what: &str, said: &str, where_roles_are: &str) -> Self {
        if is_of_templates(said) {
            return Self::templates(what, said);
        }
        Self {
            text: format!("{what}: {said}\nhint: ask for that permission; {where_roles_are}"),
            is_of_templates: false,
        }
    }

    /// Returns the error for templates or profiles. It names the role that has the right and asks for a
    /// `ClusterRoleBinding`: a `RoleBinding` gives no right to cluster-scoped objects.
    fn templates(what: &str, said: &str) -> Self {
        let text = format!(
            "{}\n\
             hint: ask for a ClusterRoleBinding of it, as in config/templates-view; a RoleBinding gives no permission for cluster-scoped objects\n\
             hint: the API server says: {said}",
            lacks_templates_view(what)
        );
        Self {
            text,
            is_of_templates: true,
        }
    }

    /// Returns the error as an `AccessDenied`, with or without added context, or `None`.
    pub(crate) fn find(error: &anyhow::Error) -> Option<&Self> {
        error.downcast_ref()
    }

    /// Returns true for an error of reading templates or profiles.
    pub(crate) fn hides_templates(error: &anyhow::Error) -> bool {
        Self::find(error).is_some_and(|denied| denied.is_of_templates)
    }
}

/// Says that this needs the right to read templates and profiles, which the user lacks.
pub(crate) fn lacks_templates_view(what: &str) -> String {
    format!("{what} needs a permission that you lack: the ClusterRole {TEMPLATES_VIEW} has it")
}

/// Returns true for a refusal to read templates or profiles.
fn is_of_templates(said: &str) -> bool {
    let reads = ["get", "list", "watch"];
    let kinds = ["clusterruntemplates", "clusterrunprofiles"];
    let refused = |verb: &str, kind: &str| format!(" cannot {verb} resource \"{kind}\"");
    reads
        .iter()
        .any(|verb| kinds.iter().any(|kind| said.contains(&refused(verb, kind))))
}

/// Returns the first line of an error, without hints.
pub(crate) fn first_line(error: &anyhow::Error) -> String {
    let text = format!("{error:#}");
    text.lines().next().unwrap_or_default().to_owned()
}

/// Splits an answer into the value and the first line of the error, which names a missing permission.
pub(crate) fn split<T>(answer: anyhow::Result<Option<T>>) -> (Option<T>, Option<String>) {
    match answer {
        Ok(found) => (found, None),
        Err(error) => (None, Some(first_line(&error))),
    }
}
