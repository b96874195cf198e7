//! Permissions of accounts, by the API server's reviews as these accounts. Equal requests within some seconds share one
//! answer. I/O.

mod rules;
mod shared;

use cartouche_crds::RequiredPermission;
use serde::Deserialize;
use serde_json::{json, value::RawValue};

use crate::api::{ApiError, CreateMode, Requests, ResourcePath};
pub use rules::Rules;
use shared::Shared;

const AUTHORIZATION: &str = "authorization.k8s.io/v1";
/// Maximum bytes of an answer that are read: the authors of Roles decide how many rules there are.
const MOST_RULES_BYTES: usize = 256 * 1024;

/// Answers that are shared.
#[derive(Default)]
pub struct Reviews {
    rules: Shared<InNamespace, Rules>,
    access: Shared<(InNamespace, AccessQuestion), bool>,
}

/// An account, and the namespace in which it may do something.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct InNamespace {
    namespace: String,
    of: String,
    account: String,
}

/// An action in that namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct AccessQuestion {
    group: String,
    resource: String,
    name: Option<String>,
    verb: String,
}

/// The account whose permissions are reviewed.
#[derive(Clone, Copy)]
pub struct Asking<'a> {
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Requests as this account.
    pub requests: &'a Requests,
}

impl Asking<'_> {
    fn within(&self, namespace: &str) -> InNamespace {
        InNamespace {
            namespace: namespace.to_owned(),
            of: self.namespace.to_owned(),
            account: self.name.to_owned(),
        }
    }
}

/// Answer to a `SelfSubjectRulesReview`, as far as it is read.
#[derive(Default, Deserialize)]
struct RulesReview {
    #[serde(default)]
    status: Rules,
}

/// Answer to a `SelfSubjectAccessReview`, as far as it is read.
#[derive(Deserialize)]
struct AccessReview {
    status: Access,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Access {
    allowed: bool,
    #[serde(default)]
    evaluation_error: String,
}

impl Reviews {
    /// Returns the permissions of an account in a namespace, as far as the API server lists them. Without an answer no
    /// rule is listed, and the list is not complete.
    pub async fn rules(&self, asking: Asking<'_>, namespace: &str) -> std::sync::Arc<Rules> {
        let ask = async {
            let path = ResourcePath::new(AUTHORIZATION, "selfsubjectrulesreviews", None);
            let body = json!({
                "apiVersion": AUTHORIZATION, "kind": "SelfSubjectRulesReview",
                "spec": { "namespace": namespace },
            });
            // Other reconciliations wait for this answer, so it must not wait for the place of the heavy one.
            let requests = asking.requests.without_budget();
            let create = requests.create::<Box<RawValue>>(&path, &body, CreateMode::Real);
            let answer = Box::pin(create).await.ok();
            answer.map_or_else(Rules::unknown, |answer| rules_in(&answer))
        };
        let key = asking.within(namespace);
        self.rules.get(key, Rules::are_few, ask).await
    }

    /// Returns true if an account may do this with what a template names. The rules settle most of it; the API server
    /// is asked for the rest.
    pub async fn may(
        &self,
        asking: Asking<'_>,
        permission: &RequiredPermission,
        verb: &str,
    ) -> Result<bool, ApiError> {
        let namespace = permission.namespace.as_deref().unwrap_or(asking.namespace);
        let rules = self.rules(asking, namespace).await;
        let (group, resource) = (&permission.api_group, &permission.resource);
        let name = permission.name.as_deref().filter(|name| !name.is_empty());
        if let Some(settled) = rules.settle(verb, group, resource, name) {
            return Ok(settled);
        }
        let question = AccessQuestion {
            group: group.clone(),
            resource: resource.clone(),
            name: name.map(str::to_owned),
            verb: verb.to_owned(),
        };
        let ask = ask_access(asking.requests, namespace, question.clone());
        let key = (asking.within(namespace), question);
        let answer = self.access.try_get(key, ask).await?;
        Ok(*answer)
    }

    /// Forgets the answers for a namespace, or all, since permissions have changed there.
    pub fn forget(&self, namespace: Option<&str>) {
        let is_old = |it: &InNamespace| namespace.is_none_or(|namespace| it.namespace == namespace);
        self.rules.forget(is_old);
        self.access.forget(|(it, _)| is_old(it));
    }
}

/// Parses the rules of an answer. A long one is not read, and its rules are unknown.
fn rules_in(answer: &RawValue) -> Rules {
    if answer.get().len() > MOST_RULES_BYTES {
        return Rules::unknown();
    }
    let review: Option<RulesReview> = serde_json::from_str(answer.get()).ok();
    review.map_or_else(Rules::unknown, |review| review.status)
}

async fn ask_access(
    account: &Requests,
    namespace: &str,
    question: AccessQuestion,
) -> Result<bool, ApiError> {
    let (resource, subresource) = match question.resource.split_once('/') {
        Some((resource, subresource)) => (resource, subresource),
        None => (question.resource.as_str(), ""),
    };
    let body = json!({
        "apiVersion": AUTHORIZATION, "kind": "SelfSubjectAccessReview",
        "spec": { "resourceAttributes": {
            "group": question.group, "resource": resource, "subresource": subresource, "verb": question.verb,
            "namespace": namespace, "name": question.name.unwrap_or_default(),
        } },
    });
    let path = ResourcePath::new(AUTHORIZATION, "selfsubjectaccessreviews", None);
    let account = account.without_budget();
    let create = account.create::<AccessReview>(&path, &body, CreateMode::Real);
    let review = Box::pin(create).await?;
    let Access {
        allowed,
        evaluation_error,
    } = review.status;
    // An authorizer that failed has not refused.
    if !allowed && !evaluation_error.is_empty() {
        return Err(ApiError::Unanswered(evaluation_error));
    }
    Ok(allowed)
}
