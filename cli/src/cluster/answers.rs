//! Requests with a deadline, and errors with hints.

use std::{fmt::Debug, path::Path, time::Duration};

use anyhow::{Context as _, anyhow};
use kube::{
    Api,
    config::{InferConfigError, KubeconfigError},
};
use serde::de::DeserializeOwned;

use super::denied::AccessDenied;

/// Longest wait for one answer.
pub(super) const DEADLINE: Duration = Duration::from_secs(30);

pub(super) fn late(what: &str) -> String {
    format!("{what}: no answer within {} s", DEADLINE.as_secs())
}

/// Runs a request with the deadline; an error says what to do.
pub(crate) async fn within<T: Debug>(
    what: &str,
    request: impl Future<Output = Result<T, kube::Error>>,
) -> anyhow::Result<T> {
    let answer = tokio::time::timeout(DEADLINE, request).await;
    answer
        .with_context(|| {
            format!(
                "{}\nhint: is the cluster there, and is this the right context?",
                late(what)
            )
        })?
        .map_err(|error| explain_error(what, error))
}

/// Hint where no configuration leads to a cluster.
const NAME_ONE: &str = "set KUBECONFIG, or use --kubeconfig and --context";

/// Explains why a kubeconfig leads to no cluster.
pub(super) fn no_cluster(error: &KubeconfigError) -> anyhow::Error {
    match error {
        KubeconfigError::LoadContext(context) => anyhow!(
            "there is no context {context:?} in the kubeconfig\nhint: `kubectl config get-contexts` lists them"
        ),
        KubeconfigError::ReadConfig(cause, path) => anyhow!(
            "no cluster is configured: the kubeconfig {} cannot be read: {cause}\nhint: {NAME_ONE}",
            path.display()
        ),
        KubeconfigError::CurrentContextNotSet => anyhow!(
            "the kubeconfig has no current context\nhint: `kubectl config use-context` sets one, or use --context"
        ),
        error => anyhow!("the kubeconfig cannot be used: {error}\nhint: {NAME_ONE}"),
    }
}

/// Explains the same for a file that the user named.
pub(super) fn no_kubeconfig(path: &Path, error: &KubeconfigError) -> anyhow::Error {
    match error {
        KubeconfigError::Parse(cause) => anyhow!("{} is not a kubeconfig: {cause}", path.display()),
        error => no_cluster(error),
    }
}

/// Explains the same where the configuration was inferred. A missing pod environment is not mentioned if the
/// kubeconfig is at fault.
pub(super) fn nothing_inferred(error: InferConfigError) -> anyhow::Error {
    let source = std::error::Error::source(&error);
    match source.and_then(|source| source.downcast_ref()) {
        Some(kubeconfig) => no_cluster(kubeconfig),
        None => anyhow!(error).context(format!("no cluster is configured\nhint: {NAME_ONE}")),
    }
}

/// Explains an error of the API server or of the connection, with what to do.
pub(crate) fn explain_error(what: &str, error: kube::Error) -> anyhow::Error {
    match &error {
        kube::Error::Api(status) if status.code == 404 && is_no_kind(status) => anyhow!(
            "{what}: Cartouche is not installed in this cluster, which does not have the kind\nhint: is this the right context? If so, a cluster administrator has to install Cartouche first, with the chart or dist/install.yaml of its repository"
        ),
        kube::Error::Api(status) if status.code == 403 && lacks_a_right(&status.message) => {
            AccessDenied::new(what, &status.message, where_roles_are(&status.message)).into()
        }
        kube::Error::Api(status) if status.code == 401 => anyhow!(
            "{what}: the API server does not accept your credentials: {}\nhint: log in again: the token or the certificate of this context may have expired",
            status.message
        ),
        kube::Error::Api(status) => anyhow!("{what}: {}", status.message),
        kube::Error::HyperError(_) | kube::Error::Service(_) => {
            let cause = deepest(&error);
            anyhow!(
                "{what}: the cluster cannot be reached: {cause}\nhint: is it running, and is this the right context?"
            )
        }
        _ => anyhow!(error).context(what.to_owned()),
    }
}

/// Returns an object of a Cartouche kind, or `None` if there is none of that name. A missing kind is an error.
pub(super) async fn own<K>(what: &str, api: &Api<K>, name: &str) -> anyhow::Result<Option<K>>
where
    K: Clone + DeserializeOwned + Debug,
{
    let found = async {
        match api.get(name).await {
            Ok(found) => Ok(Some(found)),
            Err(kube::Error::Api(status)) if status.is_not_found() && !is_no_kind(&status) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    };
    within(what, found).await
}

/// Returns true if the kind is missing, rather than the object, which the message would name.
fn is_no_kind(status: &kube::core::Status) -> bool {
    [
        "could not find the requested resource",
        "404 page not found",
    ]
    .iter()
    .any(|words| status.message.contains(words))
}

/// Returns true if the user lacks a permission. Quotas and policies forbid as well, and no permission helps against
/// them.
fn lacks_a_right(message: &str) -> bool {
    let refused = message.split_once(" is forbidden: User ");
    refused.is_some_and(|(_, rest)| rest.contains(" cannot "))
}

/// Names the roles that give a missing permission. The one who lacks it may be the ServiceAccount that makes the
/// runs.
fn where_roles_are(message: &str) -> &'static str {
    // Only users need these rights: no account that makes runs has them.
    let is_of_looking = message.contains(" cannot impersonate ") || message.contains("carto.run\"");
    if message.contains(" is forbidden: User \"system:serviceaccount:") && !is_of_looking {
        "`cartouche rbac` prints the Role that a ServiceAccount needs to make runs"
    } else {
        "the roles of Cartouche for users are in config/rbac"
    }
}

fn deepest(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Explains an answer of the API server with this code, reason and message.
    fn explained(code: u16, reason: &str, message: &str) -> String {
        let status = serde_json::json!({
            "kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message,
        });
        let error = kube::Error::Api(Box::new(serde_json::from_value(status).unwrap()));
        explain_error("listing Runnables", error).to_string()
    }

    #[test]
    fn who_is_not_let_in_is_told_to_log_in_again() {
        let text = explained(401, "Unauthorized", "Unauthorized");
        assert!(text.contains("\nhint: log in again"), "{text}");
    }

    #[test]
    fn without_the_kind_the_hint_names_no_kustomization() {
        let text = explained(404, "NotFound", "404 page not found");
        let (_, hint) = text.split_once("\nhint: ").unwrap();
        assert!(hint.contains("dist/install.yaml"), "{text}");
        assert!(!hint.contains("config/"), "{text}");
    }
}
