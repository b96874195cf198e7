//! Clients over one pool of connections, each with its caller's identity.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use clap::ValueEnum;
use futures::future::BoxFuture;
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use k8s_openapi::jiff::Timestamp;
use kube::{Client, Config, client::Body};

use super::{
    bounded::{self, Large, PageLimits, PageRequest, Unread},
    server_clock::{self, ServerClock},
};
use crate::{budget::HeavyPlace, clock::boot_time, metrics::Metrics};

/// Maximum silence of the API server on a connection with an open request: longer than a watch is open.
const SILENCE: Duration = Duration::from_mins(1);

/// Method by which the controller acts as a ServiceAccount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum IdentityMode {
    /// Sends `Impersonate-User`, and needs the permission to impersonate ServiceAccounts.
    Impersonate,
    /// Uses a token of the account, and needs the permission to create `serviceaccounts/token`.
    Token,
}

/// Identity that a request carries.
#[derive(Clone, Debug)]
pub enum Caller {
    /// The controller's own identity.
    Controller,
    /// Identity of a ServiceAccount, by impersonation. Never empty: an empty user would be the controller itself.
    Impersonated(HeaderValue),
    /// Identity of a ServiceAccount, by its own token.
    Token(Bearer),
}

/// A token, and whether the API server has refused it. Clones are of the same token.
#[derive(Clone, Debug)]
pub struct Bearer {
    header: HeaderValue,
    refused: Arc<AtomicBool>,
}

impl Bearer {
    /// Wraps a new token, given as the header that carries it.
    #[must_use]
    pub fn new(mut header: HeaderValue) -> Self {
        header.set_sensitive(true);
        Self {
            header,
            refused: Arc::default(),
        }
    }

    /// Returns true if a request with it was answered with 401: no other will succeed.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }
}

/// Connection to the API server, shared by all callers.
#[derive(Clone)]
pub struct Connection {
    own: Client,
    anonymous: Option<Client>,
    clock: ServerClock,
    metrics: Metrics,
    deadline: Duration,
    fitting: Arc<PageLimits>,
    pub(super) large: Arc<Large>,
    heavy: HeavyPlace,
}

impl Connection {
    /// Creates a connection from a configuration. Sends nothing yet.
    pub fn new(mut config: Config, mode: IdentityMode, metrics: Metrics) -> kube::Result<Self> {
        configure(&mut config);
        // It has no credentials of its own, so that a request carries only a token.
        let anonymous = (mode == IdentityMode::Token).then(|| {
            let mut anonymous = config.clone();
            anonymous.auth_info = kube::config::AuthInfo::default();
            anonymous
        });
        Ok(Self {
            anonymous: anonymous.map(Client::try_from).transpose()?,
            ..Self::over(Client::try_from(config)?, metrics)
        })
    }

    /// Creates a connection over an existing client, which must not retry by itself. Accounts can only be impersonated.
    #[must_use]
    pub fn over(own: Client, metrics: Metrics) -> Self {
        Self {
            own,
            anonymous: None,
            clock: ServerClock::default(),
            deadline: super::DEADLINE,
            fitting: Arc::default(),
            large: Arc::default(),
            heavy: HeavyPlace::default(),
            metrics,
        }
    }

    /// Allows accounts with tokens too, over the same client.
    #[cfg(test)]
    pub(crate) fn with_tokens(mut self) -> Self {
        self.anonymous = Some(self.own.clone());
        self
    }

    /// Sets the timeout of every request.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Returns the place for the reconciliation that may hold heavy objects.
    #[must_use]
    pub fn heavy(&self) -> &HeavyPlace {
        &self.heavy
    }

    /// Returns the timeout of a request.
    #[must_use]
    pub fn deadline(&self) -> Duration {
        self.deadline
    }

    /// Returns the API server's clock.
    #[must_use]
    pub fn clock(&self) -> &ServerClock {
        &self.clock
    }

    /// Returns the time by that clock.
    #[must_use]
    pub fn now(&self) -> Option<Timestamp> {
        self.clock.now()
    }

    /// Returns a client that acts as the caller.
    #[must_use]
    pub fn client(&self, caller: &Caller) -> Client {
        let connection = self.clone();
        let caller = caller.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let connection = connection.clone();
            let caller = caller.clone();
            async move {
                let response = connection.send(&caller, request).await?;
                Ok::<_, kube::Error>(response.map(bounded::lines))
            }
        });
        Client::new(service, self.own.default_namespace())
    }

    /// Puts the caller's identity into a request.
    fn identify(caller: &Caller, request: &mut Request<Body>) -> kube::Result<()> {
        let (name, identity) = match caller {
            Caller::Controller => return Ok(()),
            Caller::Impersonated(user) => (HeaderName::from_static("impersonate-user"), user),
            Caller::Token(bearer) => (header::AUTHORIZATION, &bearer.header),
        };
        assert_named(identity)?;
        request.headers_mut().insert(name, identity.clone());
        Ok(())
    }

    /// Sends one request as the caller, whatever identity it carried before. A page of a list is returned complete: one
    /// that is too large is requested in parts.
    pub(super) async fn send(
        &self,
        caller: &Caller,
        mut request: Request<Body>,
    ) -> kube::Result<Response<Body>> {
        Self::identify(caller, &mut request)?;
        match PageRequest::by(&request) {
            Some(asked) => self.page(caller, request, &asked).await,
            None => self.within(self.one(caller, request)).await,
        }
    }

    /// Requests a page, and again fewer objects until the answer is within its bound.
    async fn page(
        &self,
        caller: &Caller,
        request: Request<Body>,
        asked: &PageRequest,
    ) -> kube::Result<Response<Body>> {
        let (mut parts, _) = request.into_parts();
        let mut limit = self.fitting.take_limit(asked);
        loop {
            parts.uri = asked.with(limit);
            let request = Request::from_parts(parts.clone(), Body::empty());
            let exchange = async {
                let response = self.one(caller, request).await?;
                let (head, body) = response.into_parts();
                Ok((head, self.large.read(body, bounded::bound(limit)).await))
            };
            let (head, read) = self.within(exchange).await?;
            match (read, bounded::smaller(limit)) {
                (Ok(text), _) => {
                    self.fitting.note(asked, limit, &text);
                    return Ok(Response::from_parts(head, Body::from(text)));
                }
                (Err(Unread::TooLarge), Some(fewer)) => limit = fewer,
                (Err(Unread::TooLarge), None) => return Err(bounded::too_large("an object")),
                (Err(Unread::Broken(error)), _) => return Err(error),
            }
        }
    }

    /// Applies the timeout. The list at the start of a watch has none of its own: if its answer were lost, nothing
    /// would be watched for minutes.
    async fn within<T>(&self, exchange: impl Future<Output = kube::Result<T>>) -> kube::Result<T> {
        match tokio::time::timeout(self.deadline, exchange).await {
            Ok(outcome) => outcome,
            Err(_) => Err(kube::Error::Service(
                format!("no answer within {} seconds", self.deadline.as_secs()).into(),
            )),
        }
    }

    async fn one(&self, caller: &Caller, request: Request<Body>) -> kube::Result<Response<Body>> {
        let client = match (caller, &self.anonymous) {
            (Caller::Token(_), Some(anonymous)) => anonymous,
            (Caller::Token(_), None) => {
                return Err(kube::Error::Service("tokens are not in use".into()));
            }
            (Caller::Controller | Caller::Impersonated(_), _) => &self.own,
        };
        let mut counted = Counted {
            metrics: &self.metrics,
            method: request.method().clone(),
            controller: matches!(caller, Caller::Controller),
            status: None,
            sent: boot_time(),
        };
        let sent = counted.sent;
        let tells_time = server_clock::is_of_main(request.uri().path());
        let outcome = client.send(request).await;
        if let Ok(response) = &outcome {
            counted.status = Some(response.status());
            if tells_time && self.clock.read(response.headers(), sent) {
                tokio::spawn(self.clone().ask_the_time());
            }
            if let (Caller::Token(bearer), StatusCode::UNAUTHORIZED) = (caller, response.status()) {
                bearer.refused.store(true, Ordering::Relaxed);
            }
        }
        outcome
    }
}

impl Connection {
    /// Asks the API server for the time once more, since an answer differs from what was known.
    fn ask_the_time(self) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let mut request = Request::new(Body::empty());
            *request.uri_mut() = Uri::from_static(server_clock::CONFIRMED_AT);
            // If it fails, the next answer will do.
            let _ = self.within(self.one(&Caller::Controller, request)).await;
        })
    }
}

/// Counts a request when it ends, even by a timeout.
struct Counted<'a> {
    metrics: &'a Metrics,
    method: Method,
    controller: bool,
    status: Option<StatusCode>,
    sent: Duration,
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        let took = boot_time().saturating_sub(self.sent);
        self.metrics
            .request(&self.method, self.controller, self.status, took);
    }
}

/// Sets what every connection to the API server needs.
pub fn configure(config: &mut Config) {
    // The default policy repeats a POST after 429, 503 and 504: one create could make several objects.
    config.default_retry = false;
    // The watches' own lists have no other timeout: one whose answer is lost would never end.
    config.read_timeout = Some(SILENCE);
    // The time of an idle connection does not count against its next answer.
    config.reset_reader_on_write = true;
}

/// Rejects an empty identity, which would fall back to the controller's own permissions.
fn assert_named(identity: &HeaderValue) -> kube::Result<()> {
    if identity.is_empty() {
        return Err(kube::Error::Service(
            "a request on behalf of a ServiceAccount without a name was stopped".into(),
        ));
    }
    Ok(())
}
