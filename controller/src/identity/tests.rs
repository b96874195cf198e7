use std::sync::{Arc, Mutex};

use cartouche_crds::is_dns_subdomain;
use http::{Request, Response, StatusCode, header};
use kube::{Client, client::Body};
use serde_json::{Value, json};

use super::Identity;
use crate::{
    api::{ApiError, Connection, IdentityMode},
    metrics::Metrics,
};

/// Returns identities with the tokens of a server that numbers them and accepts only `taken`.
fn with_tokens(taken: &Arc<Mutex<&'static str>>) -> Identity {
    let (taken, given) = (taken.clone(), Mutex::new(0));
    let service = tower::service_fn(move |request: Request<Body>| {
        let (status, body) = if request.uri().path().ends_with("/token") {
            let mut given = given.lock().unwrap();
            *given += 1;
            let body = json!({ "status": { "token": format!("token-{given}") } });
            (StatusCode::CREATED, body)
        } else if request.headers()[header::AUTHORIZATION] == *taken.lock().unwrap() {
            (StatusCode::OK, json!({}))
        } else {
            (StatusCode::UNAUTHORIZED, json!({}))
        };
        let mut response = Response::new(Body::from(body.to_string().into_bytes()));
        *response.status_mut() = status;
        async move { Ok::<_, std::convert::Infallible>(response) }
    });
    let connection = Connection::over(Client::new(service, "default"), Metrics::default());
    Identity::new(connection.with_tokens(), IdentityMode::Token)
}

/// Makes one request as an account. Returns the code of the answer, if that is an error.
async fn ask(identity: &Identity) -> Option<u16> {
    let requests = identity.requests_as("ns", "default").await.unwrap();
    match requests.read::<Value>("/api/v1").await {
        Ok(_) => None,
        Err(ApiError::Answered { code, .. }) => Some(code),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn a_token_that_was_refused_is_not_used_again() {
    let taken = Arc::new(Mutex::new("Bearer token-1"));
    let identity = with_tokens(&taken);
    assert_eq!(ask(&identity).await, None);
    assert_eq!(ask(&identity).await, None, "a token that is taken is kept");
    *taken.lock().unwrap() = "Bearer token-2";
    assert_eq!(ask(&identity).await, Some(401), "nothing is sent twice");
    assert_eq!(ask(&identity).await, None);
    assert_eq!(ask(&identity).await, None);
}

#[tokio::test]
async fn a_late_word_on_an_old_token_is_none_on_the_new_one() {
    let taken = Arc::new(Mutex::new("Bearer token-2"));
    let identity = with_tokens(&taken);
    let old = identity.requests_as("ns", "default").await.unwrap();
    assert_eq!(ask(&identity).await, Some(401));
    assert_eq!(ask(&identity).await, None);
    assert!(old.read::<Value>("/api/v1").await.is_err());
    assert_eq!(ask(&identity).await, None);
}

#[test]
fn only_dns_names_are_impersonated() {
    for good in ["default", "a", "ci.runner-1"] {
        assert!(is_dns_subdomain(good), "{good}");
    }
    for bad in [
        "",
        " ",
        "a:b",
        "system:masters",
        "../x",
        "A",
        "a\r\nb",
        "é",
        "-a",
        "a-",
        "a..b",
        "a.-b",
        &"a".repeat(254),
    ] {
        assert!(!is_dns_subdomain(bad), "{bad:?}");
    }
}
