//! Requests as a Runnable's ServiceAccount: by impersonation, or with tokens of its own.

use std::{collections::HashMap, sync::Mutex, time::Duration};

use cartouche_crds::is_dns_subdomain;
use cartouche_protocol::{
    category::Category,
    messages::{
        diagnosis::{Denied, Diagnosis, Who},
        reconcile_error::{ReconcileError, Requeue},
    },
};
use http::HeaderValue;
use serde::Deserialize;
use serde_json::json;

use crate::{
    api::{ApiError, Bearer, Caller, Connection, CreateMode, IdentityMode, Requests, ResourcePath},
    clock::boot_time,
    lock::lock,
};

/// Requested lifetime of a token.
const TOKEN_LIFETIME: Duration = Duration::from_hours(2);

/// Source of requests that carry a ServiceAccount's identity.
pub struct Identity {
    connection: Connection,
    mode: IdentityMode,
    own: Requests,
    tokens: Mutex<HashMap<(String, String), AccountToken>>,
}

#[derive(Clone)]
struct AccountToken {
    bearer: Bearer,
    /// Time of creation, by the clock that counts sleep.
    born: Duration,
}

impl AccountToken {
    fn age(&self) -> Duration {
        boot_time().saturating_sub(self.born)
    }
}

#[derive(Deserialize)]
struct TokenRequest {
    status: TokenStatus,
}

#[derive(Deserialize)]
struct TokenStatus {
    token: String,
}

impl Identity {
    /// Creates identities over a connection.
    #[must_use]
    pub fn new(connection: Connection, mode: IdentityMode) -> Self {
        let own = Requests::new(connection.clone(), Caller::Controller);
        Self {
            connection,
            mode,
            own,
            tokens: Mutex::default(),
        }
    }

    /// Returns the controller's own requests.
    #[must_use]
    pub fn own(&self) -> &Requests {
        &self.own
    }

    /// Returns the connection below.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Returns requests as a ServiceAccount.
    pub async fn requests_as(
        &self,
        namespace: &str,
        account: &str,
    ) -> Result<Requests, ReconcileError> {
        // A name with a colon would be another user when impersonated.
        if !is_dns_subdomain(account) || namespace.is_empty() {
            return Err(ReconcileError::from_diagnosis(
                Category::ServiceAccountError,
                Requeue::OnChange,
                Diagnosis::AccountName(account.to_owned()),
                None,
            ));
        }
        let caller = match self.mode {
            IdentityMode::Impersonate => Caller::Impersonated(header(&format!(
                "system:serviceaccount:{namespace}:{account}"
            ))?),
            IdentityMode::Token => Caller::Token(self.token(namespace, account).await?),
        };
        Ok(Requests::new(self.connection.clone(), caller))
    }

    /// Forgets the token of an account, which may have been deleted and created again.
    pub fn forget(&self, namespace: &str, account: &str) {
        lock(&self.tokens).remove(&(namespace.to_owned(), account.to_owned()));
    }

    /// Returns a token that is younger than half its life. An older one that is still valid serves if no new one can be
    /// fetched. A refused one never does: the caller that got the refusal retries later, as after any other error, and
    /// with a new one.
    async fn token(&self, namespace: &str, account: &str) -> Result<Bearer, ReconcileError> {
        let key = (namespace.to_owned(), account.to_owned());
        // A token that was refused, because its account was created again unseen or the keys have changed, would be
        // refused again.
        let kept = lock(&self.tokens).get(&key).cloned();
        let kept = kept.filter(|token| !token.bearer.is_refused());
        if let Some(token) = kept
            .as_ref()
            .filter(|token| token.age() < TOKEN_LIFETIME / 2)
        {
            return Ok(token.bearer.clone());
        }
        match self.request_token(namespace, account).await {
            Ok(token) => {
                let bearer = Bearer::new(header(&format!("Bearer {token}"))?);
                let mut tokens = lock(&self.tokens);
                tokens.retain(|_, token| token.age() < TOKEN_LIFETIME);
                tokens.insert(
                    key,
                    AccountToken {
                        bearer: bearer.clone(),
                        born: boot_time(),
                    },
                );
                Ok(bearer)
            }
            Err(error) => match kept.filter(|token| token.age() < TOKEN_LIFETIME) {
                Some(token) => Ok(token.bearer),
                None => Err(ReconcileError::from_diagnosis(
                    Category::ServiceAccountTokenError,
                    error.requeue(),
                    without_token(namespace, account, &error),
                    Some(format!("fetch token: {error}")),
                )),
            },
        }
    }

    async fn request_token(&self, namespace: &str, account: &str) -> Result<String, ApiError> {
        let path = ResourcePath::new(
            "v1",
            &format!("serviceaccounts/{account}/token"),
            Some(namespace),
        );
        let body = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": { "expirationSeconds": TOKEN_LIFETIME.as_secs() },
        });
        let request: TokenRequest = self.own.create(&path, &body, CreateMode::Real).await?;
        Ok(request.status.token)
    }
}

/// Returns the diagnosis of a token that could not be fetched.
fn without_token(namespace: &str, account: &str, error: &ApiError) -> Diagnosis {
    let (namespace, account) = (namespace.to_owned(), account.to_owned());
    match error.missing_permission() {
        Some(denied) => {
            let what = Denied::one(&denied.verb, &denied.resource);
            Diagnosis::Forbidden(Who::Controller(denied.user), vec![what])
        }
        None if error.is_not_found() => Diagnosis::AccountMissing(namespace, account),
        None => Diagnosis::NoToken(namespace, account),
    }
}

fn header(text: &str) -> Result<HeaderValue, ReconcileError> {
    HeaderValue::from_str(text).map_err(|_| {
        ReconcileError::new(
            Category::ClientBuilderError,
            Requeue::OnChange,
            "creating client: the account's name or token is not a valid header",
        )
    })
}

#[cfg(test)]
mod tests;
