//! Requests of the load generator: they read as little JSON as possible, so that it costs little itself.

use std::time::Duration;

use anyhow::{Context, Result};
use futures::{StreamExt, pin_mut};
use http::Request;
use kube::{Client, core::WatchEvent};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

/// Objects in one page of a list.
const PAGE: usize = 500;

/// Metadata of any object, as far as it is read.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Meta {
    #[serde(default)]
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) namespace: String,
    #[serde(default)]
    pub(crate) uid: String,
    #[serde(default)]
    pub(crate) generation: i64,
    #[serde(default)]
    pub(crate) resource_version: String,
    #[serde(default)]
    pub(crate) labels: std::collections::BTreeMap<String, String>,
}

/// An item of a watch or a list.
pub(crate) trait Item: Clone + DeserializeOwned + Send + 'static {
    fn meta(&self) -> &Meta;
}

/// The sort of an event of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happening {
    There,
    Gone,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page<T> {
    metadata: PageMeta,
    items: Vec<T>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageMeta {
    #[serde(default)]
    resource_version: String,
    #[serde(default, rename = "continue")]
    next: String,
}

/// Sends a request with a JSON body and reads the answer.
pub(crate) async fn send<T: DeserializeOwned>(
    client: &Client,
    method: &str,
    path: &str,
    body: &Value,
) -> kube::Result<T> {
    send_as(client, method, path, body, None).await
}

/// Does the same as [`send`], with a body of another type.
pub(crate) async fn send_typed<T: DeserializeOwned>(
    client: &Client,
    method: &str,
    path: &str,
    body: &Value,
    content: &str,
) -> kube::Result<T> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(http::header::CONTENT_TYPE, content);
    let body = serde_json::to_vec(body).map_err(kube::Error::SerdeError)?;
    let request = request.body(body).map_err(kube::Error::HttpError)?;
    client.request(request).await
}

/// Does the same as [`send`], impersonating a user.
pub(crate) async fn send_as<T: DeserializeOwned>(
    client: &Client,
    method: &str,
    path: &str,
    body: &Value,
    user: Option<&str>,
) -> kube::Result<T> {
    let content = match method {
        "PATCH" => "application/merge-patch+json",
        _ => "application/json",
    };
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header(http::header::CONTENT_TYPE, content);
    if let Some(user) = user {
        request = request.header("Impersonate-User", user);
    }
    let body = match body {
        Value::Null => Vec::new(),
        body => serde_json::to_vec(body).map_err(kube::Error::SerdeError)?,
    };
    let request = request.body(body).map_err(kube::Error::HttpError)?;
    client.request(request).await
}

/// Creates an object unless it exists.
pub(crate) async fn ensure(client: &Client, path: &str, object: &Value) -> Result<()> {
    match send::<serde::de::IgnoredAny>(client, "POST", path, object).await {
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
        outcome => outcome
            .map(drop)
            .with_context(|| format!("creating {} at {path}", object["metadata"]["name"])),
    }
}

/// Returns all objects at a path, and the version of the list.
pub(crate) async fn list<T: DeserializeOwned>(
    client: &Client,
    path: &str,
) -> Result<(Vec<T>, String)> {
    let mut items = Vec::new();
    let mut next = String::new();
    loop {
        let uri = format!("{path}?limit={PAGE}{next}");
        let page: Page<T> = send(client, "GET", &uri, &Value::Null)
            .await
            .with_context(|| format!("listing {path}"))?;
        items.extend(page.items);
        if page.metadata.next.is_empty() {
            return Ok((items, page.metadata.resource_version));
        }
        next = format!("&continue={}", page.metadata.next);
    }
}

/// Returns the present version of a list, without reading the list.
pub(crate) async fn version(client: &Client, path: &str) -> Result<String> {
    let page: Page<serde::de::IgnoredAny> =
        send(client, "GET", &format!("{path}?limit=1"), &Value::Null)
            .await
            .with_context(|| format!("listing {path}"))?;
    Ok(page.metadata.resource_version)
}

/// Watches from a version on, for ever; passes each event on in order.
pub(crate) async fn watch<T: Item>(
    client: Client,
    path: String,
    selector: &str,
    mut version: String,
    mut each: impl FnMut(Happening, T),
) -> Result<()> {
    let mut begun = false;
    loop {
        let uri =
            format!("{path}?watch=true&timeoutSeconds=3000&resourceVersion={version}{selector}");
        let request = Request::get(&uri).body(Vec::new())?;
        let events = match client.request_events::<T>(request).await {
            // A kind that was installed a moment ago is not ready to be watched.
            Err(kube::Error::Api(status)) if status.code == 429 => {
                tokio::time::sleep(Duration::from_millis(200)).await;
                continue;
            }
            events => events.with_context(|| format!("watching {path}"))?,
        };
        pin_mut!(events);
        while let Some(event) = events.next().await {
            let (happening, object) = match event {
                Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)) => {
                    (Happening::There, object)
                }
                Ok(WatchEvent::Deleted(object)) => (Happening::Gone, object),
                Ok(WatchEvent::Bookmark(_)) => continue,
                // The store of a kind that was installed a moment ago began after the version that was read:
                // the watch shows all existing objects instead.
                Ok(WatchEvent::Error(error)) if error.code == 410 && !begun => {
                    version.clear();
                    break;
                }
                Ok(WatchEvent::Error(error)) => anyhow::bail!("watching {path}: {error}"),
                Err(error) => {
                    eprintln!("warning: the watch of {path} was cut: {error}");
                    break;
                }
            };
            begun = true;
            version.clone_from(&object.meta().resource_version);
            each(happening, object);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
