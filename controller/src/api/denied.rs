//! Extracts the missing permission from an answer of the API server.

use super::ApiError;

/// A denial, as an authorizer of the API server reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeniedRequest {
    /// User that was denied, by the API server's name.
    pub user: String,
    /// Verb of the request.
    pub verb: String,
    /// `resource[.group]`, with a subresource as `resource/subresource[.group]`.
    pub resource: String,
}

impl ApiError {
    /// Returns the missing permission, or `None` for any other answer. A quota, a webhook and a policy answer with the
    /// same code as an authorizer, and only the text differs
    /// (`k8s.io/apiserver/pkg/endpoints/handlers/responsewriters`, `forbiddenMessage`).
    #[must_use]
    pub fn missing_permission(&self) -> Option<DeniedRequest> {
        let Self::Answered {
            code: 403, message, ..
        } = self
        else {
            return None;
        };
        let (_, rest) = message.split_once(" is forbidden: User \"")?;
        let (user, rest) = rest.split_once("\" cannot ")?;
        let (verb, rest) = rest.split_once(" resource \"")?;
        let (resource, rest) = rest.split_once('"')?;
        let (group, _) = rest.strip_prefix(" in API group \"")?.split_once('"')?;
        let is_plain = |text: &str| !text.contains(['"', ' ']);
        if ![user, verb, resource, group].into_iter().all(is_plain) {
            return None;
        }
        let resource = if group.is_empty() {
            resource.to_owned()
        } else {
            format!("{resource}.{group}")
        };
        Some(DeniedRequest {
            user: user.to_owned(),
            verb: verb.to_owned(),
            resource,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(message: &str) -> ApiError {
        ApiError::Answered {
            code: 403,
            reason: "Forbidden".to_owned(),
            message: message.to_owned(),
            namespace_terminating: false,
        }
    }

    #[test]
    fn a_missing_permission_is_read_out_of_the_answer() {
        let said = "jobs.batch is forbidden: User \"system:serviceaccount:shop:builder\" cannot create resource \"jobs\" in API group \"batch\" in the namespace \"shop\"";
        let denied = answered(said).missing_permission().unwrap();
        assert_eq!(denied.user, "system:serviceaccount:shop:builder");
        assert_eq!((&*denied.verb, &*denied.resource), ("create", "jobs.batch"));
        let said = "serviceaccounts \"a\" is forbidden: User \"c\" cannot impersonate resource \"serviceaccounts\" in API group \"\" in the namespace \"n\": RBAC: role not found";
        let denied = answered(said).missing_permission().unwrap();
        assert_eq!(
            (&*denied.verb, &*denied.resource),
            ("impersonate", "serviceaccounts")
        );
    }

    #[test]
    fn a_quota_a_webhook_and_a_policy_are_no_missing_permission() {
        for said in [
            "pods \"a\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0",
            "admission webhook \"a.example\" denied the request: User \"x\" cannot create it",
            "jobs.batch \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
            "",
        ] {
            assert_eq!(answered(said).missing_permission(), None, "{said}");
        }
    }
}
