//! Watches of one object, which tell nothing of it but that something has happened.

use futures::{Stream, StreamExt, stream};
use http::{Method, Request, header};
use http_body_util::BodyExt;
use hyper::body::Bytes;
use kube::client::Body;
use serde::Deserialize;

use super::{ApiError, Requests, ResourcePath, bounded, literal, path::percent_encoded};

/// Of the objects only metadata are sent.
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/// What a watch told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The object came, changed or went; otherwise it is only told how far the watch has come.
    pub has_changed: bool,
    /// From where it can be gone on.
    pub version: Option<String>,
}

/// A line of the answer. Nothing else is read of it: annotations may hold what a Secret holds.
#[derive(Deserialize)]
struct Line {
    #[serde(rename = "type")]
    what: String,
    object: Object,
}

#[derive(Deserialize)]
struct Object {
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    code: u16,
    #[serde(default)]
    reason: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    resource_version: Option<String>,
}

impl Requests {
    /// Watches the object of this name, whether it is there or not, until the API server ends that after so many seconds.
    /// It needs the permission to watch it, and none to list. Without a `since` it begins with the object as it is.
    pub async fn watch_one(
        &self,
        path: &ResourcePath,
        name: &str,
        since: Option<&str>,
        seconds: u64,
    ) -> Result<impl Stream<Item = Result<Told, ApiError>> + Send + Unpin + use<>, ApiError> {
        let name = percent_encoded(&literal(name));
        let mut uri = format!(
            "{}?watch=true&allowWatchBookmarks=true&fieldSelector=metadata.name%3D{name}&timeoutSeconds={seconds}",
            path.all()
        );
        if let Some(since) = since {
            uri.push_str("&resourceVersion=");
            uri.push_str(&percent_encoded(since));
        }
        let request = Request::builder()
            .method(Method::GET)
            .uri(uri)
            .header(header::ACCEPT, METADATA)
            .body(Body::empty())
            .map_err(|error| ApiError::Unsent(error.to_string()))?;
        let response = self.connection.send(&self.caller, request).await?;
        if !response.status().is_success() {
            let refused =
                tokio::time::timeout(self.connection.deadline(), self.read_answer(response));
            return match refused.await {
                Ok(Err(error)) => Err(error),
                Ok(Ok(_)) | Err(_) => Err(ApiError::Unanswered("no answer to a watch".into())),
            };
        }
        let body = bounded::lines(response.into_body()).into_data_stream();
        Ok(lines(body).map(|line| told(&line?)).boxed())
    }
}

/// The lines of an answer as they come.
fn lines(
    body: impl Stream<Item = kube::Result<Bytes>> + Send + Unpin,
) -> impl Stream<Item = Result<Vec<u8>, ApiError>> + Send {
    stream::unfold((body, Vec::new()), |(mut body, mut held)| async move {
        loop {
            if let Some(end) = held.iter().position(|byte| *byte == b'\n') {
                let rest = held.split_off(end + 1);
                return Some((Ok(held), (body, rest)));
            }
            match body.next().await? {
                Ok(chunk) => held.extend_from_slice(&chunk),
                Err(error) => return Some((Err(error.into()), (body, Vec::new()))),
            }
        }
    })
}

fn told(line: &[u8]) -> Result<Told, ApiError> {
    // The error would show a part of what was sent.
    let Ok(Line { what, object }) = serde_json::from_slice(line) else {
        return Err(ApiError::Unanswered(
            "an event of a watch cannot be read".into(),
        ));
    };
    if what == "ERROR" {
        return Err(ApiError::Answered {
            code: object.code,
            reason: object.reason,
            message: String::new(),
            namespace_terminating: false,
        });
    }
    Ok(Told {
        has_changed: what != "BOOKMARK",
        version: object.metadata.resource_version,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(chunks: &[&'static str]) -> Vec<Result<Told, ApiError>> {
        let chunks = chunks.iter().map(|chunk| Ok(Bytes::from(*chunk)));
        let lines = lines(stream::iter(chunks.collect::<Vec<_>>()));
        lines.map(|line| told(&line?)).collect().await
    }

    fn event(has_changed: bool, version: &str) -> Told {
        Told {
            has_changed,
            version: Some(version.to_owned()),
        }
    }

    #[tokio::test]
    async fn events_are_told_however_they_are_cut_and_nothing_of_them_is_kept() {
        let chunks = [
            r#"{"type":"ADDED","object":{"metadata":{"resourceVersion":"7","annotations":{"a":"planted"}}}}"#,
            "\n",
            r#"{"type":"BOOKMARK","object":{"metadata":{"resource"#,
            "Version\":\"9\"}}}\n{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"resourceVersion\":\"10\"}}}\n",
        ];
        let told = all(&chunks).await;
        let wanted = [event(true, "7"), event(false, "9"), event(true, "10")];
        assert_eq!(told, wanted.map(Ok));
    }

    #[tokio::test]
    async fn an_error_is_told_by_its_code_and_what_cannot_be_read_is_not_shown() {
        let chunks = [
            "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\",\"message\":\"m\"}}\n",
            "{\"type\":\"planted\"}\n",
        ];
        let told = all(&chunks).await;
        assert!(told[0].as_ref().is_err_and(ApiError::is_gone), "{told:?}");
        assert!(!format!("{:?}", told[1]).contains("planted"), "{told:?}");
    }
}
