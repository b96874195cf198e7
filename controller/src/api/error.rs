//! Errors of requests, by their meaning for the protocol.

use cartouche_protocol::messages::reconcile_error::Requeue;

use super::refused_values;

/// Failure of a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// The API server answered with an error.
    #[error("{message}")]
    Answered {
        /// HTTP status code.
        code: u16,
        /// Reason in its Status.
        reason: String,
        /// Message in its Status.
        message: String,
        /// True if it has causes with reason `NamespaceTerminating`.
        namespace_terminating: bool,
    },
    /// No answer came, or no readable one: a write may have taken effect.
    #[error("{0}")]
    Unanswered(String),
    /// The request was never sent.
    #[error("{0}")]
    Unsent(String),
    /// A status was written without these fields, which the installed definition does not know.
    #[error("the API server drops {}", .0.join(", "))]
    Dropped(Vec<String>),
}

/// Returns a text for an error answer, without names of objects.
pub(crate) fn answers(code: u16, reason: &str) -> String {
    let text = format!("the API server answers {code} {reason}");
    text.trim_end().to_owned()
}

impl ApiError {
    /// Returns a short text that names no object and is the same each time.
    #[must_use]
    pub fn brief(&self) -> String {
        match self {
            Self::Answered { code, reason, .. } => answers(*code, reason),
            Self::Unanswered(_) => "the API server does not answer".to_owned(),
            Self::Unsent(why) => why.clone(),
            Self::Dropped(_) => "the API server drops fields of a status".to_owned(),
        }
    }

    fn code(&self) -> Option<u16> {
        match self {
            Self::Answered { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// Returns true if a permission is missing.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        self.code() == Some(403)
    }

    /// Returns true if a watch asked for a version that is too old.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.code() == Some(410)
    }

    /// Returns what ends the error, if a missing object or kind is no answer: a granted permission, or only a retry.
    #[must_use]
    pub fn requeue(&self) -> Requeue {
        if self.is_forbidden() {
            Requeue::OnRbac
        } else {
            Requeue::Backoff
        }
    }

    /// Returns true if the kind does not support such requests.
    #[must_use]
    pub fn is_unsupported(&self) -> bool {
        self.code() == Some(405)
    }

    /// Returns true if there is no such object, or no such kind.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.code() == Some(404)
    }

    /// Returns true if the API server itself says that there is no such object. A proxy may answer with 404, too.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        let is_missing =
            matches!(self, Self::Answered { code: 404, reason, .. } if reason == "NotFound");
        is_missing && !self.is_unserved()
    }

    /// Returns true if the requested version is no longer served, which says nothing about the object.
    #[must_use]
    pub fn is_unserved(&self) -> bool {
        // Texts of the API server for a version of a custom kind, and for a path that is not served.
        let texts = [
            "could not find the requested resource",
            "404 page not found",
        ];
        matches!(self, Self::Answered { code: 404, message, .. } if texts.iter().any(|text| message.contains(text)))
    }

    /// Returns true if the server refused the request, and not because it is overloaded or broken.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Answered { code: 400..500, .. }) && !self.is_passing()
    }

    /// Returns true if the sent object is not valid for its kind.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        matches!(self.code(), Some(400 | 413 | 422))
    }

    /// Returns true if a policy or a webhook rejected the object. These choose the status themselves, even one that
    /// says that the object is invalid.
    #[must_use]
    pub fn is_not_admitted(&self) -> bool {
        let Self::Answered { code, message, .. } = self else {
            return false;
        };
        // Later text may come from the object.
        let own = message.split("Invalid value: ").next().unwrap_or_default();
        let of_policy =
            own.contains("ValidatingAdmissionPolicy '") && own.contains("denied request");
        let of_webhook = own.contains("admission webhook \"") && own.contains("denied the request");
        matches!(code, 400 | 403 | 413 | 422) && (of_policy || of_webhook)
    }

    /// Returns true if a required webhook does not answer. The server may recover by itself, but a user should look
    /// into it.
    #[must_use]
    pub fn is_silent_webhook(&self) -> bool {
        matches!(self, Self::Answered { code: 500, message, .. }
            if message.starts_with("Internal error occurred: failed calling webhook \""))
    }

    /// Returns true if a resourceVersion or uid was not the present one.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Answered { code: 409, reason, .. } if reason != "AlreadyExists")
    }

    /// Returns true if the name is taken.
    #[must_use]
    pub fn is_already_exists(&self) -> bool {
        matches!(self, Self::Answered { code: 409, reason, .. } if reason == "AlreadyExists")
    }

    /// Returns true if the namespace is being deleted, so that nothing can be created in it.
    #[must_use]
    pub fn is_namespace_terminating(&self) -> bool {
        matches!(
            self,
            Self::Answered {
                namespace_terminating: true,
                ..
            }
        )
    }

    /// Returns true if the server refused for good: nothing was created, and nothing will be. After everything else
    /// (408, 409, 429, 5xx, no answer) the outcome of a create is unknown.
    #[must_use]
    pub fn is_definite_refusal(&self) -> bool {
        match self {
            Self::Answered { code, .. } => {
                (400..500).contains(code) && !matches!(code, 408 | 409 | 429)
            }
            Self::Unsent(_) => true,
            Self::Unanswered(_) | Self::Dropped(_) => false,
        }
    }

    /// Returns true if a dry run was refused as such, not for its object. Either an admission webhook does not support
    /// dry runs, or the fixed name of the object is taken.
    #[must_use]
    pub fn is_about_the_dry_run(&self) -> bool {
        let unsupported = matches!(
            self,
            Self::Answered { code: 400, message, .. } if message.contains("does not support dry run")
        );
        unsupported || self.is_already_exists()
    }

    /// Returns the error as a text without values and without anything in quotes: they may be a part of a Secret, even
    /// a short one.
    #[must_use]
    pub fn without_values(&self) -> String {
        refused_values::all_withheld(&self.to_string())
    }

    /// Returns true if the error may pass by itself within moments.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Answered { code, .. } => matches!(code, 408 | 429 | 500 | 502 | 503 | 504),
            Self::Unanswered(_) => true,
            Self::Unsent(_) | Self::Dropped(_) => false,
        }
    }
}

impl From<kube::Error> for ApiError {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::Answered {
                code: status.code,
                namespace_terminating: status.details.as_ref().is_some_and(|details| {
                    details
                        .causes
                        .iter()
                        .any(|cause| cause.reason == "NamespaceTerminating")
                }),
                reason: status.reason.clone(),
                message: refused_values::long_withheld(&status.message),
            },
            kube::Error::BuildRequest(error) => Self::Unsent(error.to_string()),
            other => Self::Unanswered(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ApiError;

    fn answered(code: u16, reason: &str) -> ApiError {
        ApiError::Answered {
            code,
            reason: reason.into(),
            message: String::new(),
            namespace_terminating: false,
        }
    }

    #[test]
    fn only_a_plain_refusal_proves_that_nothing_was_made() {
        for code in [400, 401, 403, 404, 405, 413, 422] {
            assert!(answered(code, "").is_definite_refusal(), "{code}");
        }
        for code in [408, 409, 429, 500, 502, 503, 504] {
            assert!(!answered(code, "").is_definite_refusal(), "{code}");
        }
        assert!(!ApiError::Unanswered(String::new()).is_definite_refusal());
    }

    #[test]
    fn a_refusal_of_the_dry_run_itself_says_nothing_of_the_object() {
        let refused = |code: u16, message: &str| ApiError::Answered {
            code,
            reason: "BadRequest".into(),
            message: message.into(),
            namespace_terminating: false,
        };
        let webhook = "admission webhook \"a.example\" does not support dry run";
        assert!(refused(400, webhook).is_about_the_dry_run());
        assert!(answered(409, "AlreadyExists").is_about_the_dry_run());
        assert!(!refused(400, "json: cannot unmarshal string").is_about_the_dry_run());
        assert!(!refused(422, webhook).is_about_the_dry_run());
    }

    #[test]
    fn what_a_policy_or_a_webhook_denies_was_not_admitted_whichever_status_it_chose() {
        let answered = |code: u16, message: &str| ApiError::Answered {
            code,
            reason: "Invalid".into(),
            message: message.into(),
            namespace_terminating: false,
        };
        let policy = "jobs.batch \"a\" is invalid: : ValidatingAdmissionPolicy 'x' with binding 'y' denied request: every Job needs the label team";
        let webhook = "admission webhook \"a.example\" denied the request: no";
        for code in [400, 403, 422] {
            assert!(answered(code, policy).is_not_admitted(), "{code}");
            assert!(answered(code, webhook).is_not_admitted(), "{code}");
        }
        let invalid = "Job.batch \"a\" is invalid: spec.a: Invalid value: \"admission webhook \\\"a\\\" denied the request\": no";
        assert!(!answered(422, invalid).is_not_admitted());
        assert!(!answered(500, webhook).is_not_admitted());
    }

    #[test]
    fn a_webhook_that_does_not_answer_is_told_from_other_errors_of_the_server() {
        let answered = |code, message: &str| ApiError::Answered {
            code,
            reason: "InternalError".into(),
            message: message.into(),
            namespace_terminating: false,
        };
        let silent = "Internal error occurred: failed calling webhook \"a.example\": failed to call webhook: service \"policy\" not found";
        assert!(answered(500, silent).is_silent_webhook());
        assert!(!answered(400, silent).is_silent_webhook());
        assert!(!answered(500, "etcdserver: request timed out").is_silent_webhook());
    }

    #[test]
    fn a_conflict_is_not_a_taken_name() {
        assert!(answered(409, "AlreadyExists").is_already_exists());
        assert!(!answered(409, "AlreadyExists").is_conflict());
        assert!(answered(409, "Conflict").is_conflict());
    }

    #[test]
    fn of_what_may_be_secret_not_even_short_values_are_told() {
        let error = ApiError::Answered {
            code: 422,
            reason: "Invalid".into(),
            message: "Secret \"a\" is invalid: metadata.labels: Invalid value: \"s3\\\"cret\": no"
                .into(),
            namespace_terminating: false,
        };
        assert_eq!(
            error.without_values(),
            "Secret (withheld) is invalid: metadata.labels: Invalid value: (withheld): no"
        );
        let open = ApiError::Unsent("an open \"quote".into());
        assert_eq!(open.without_values(), "an open (withheld)");
    }

    #[test]
    fn what_a_parser_repeats_is_withheld_too() {
        let message = "Secret \"db\" is invalid: data[x]: Invalid value: \"<secret contents redacted>\": invalid character 's' looking for beginning of value";
        let error = ApiError::Answered {
            code: 422,
            reason: "Invalid".to_owned(),
            message: message.to_owned(),
            namespace_terminating: false,
        };
        let told = error.without_values();
        assert!(told.ends_with("(withheld): invalid character"), "{told}");
    }
}
