//! Watches of one object that only report that something has happened.

use std::{borrow::Cow, fmt};

use futures::{Stream, StreamExt, stream};
use http::{Method, Request, header};
use http_body_util::BodyExt;
use hyper::body::Bytes;
use kube::client::Body;
use serde::{
    Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor},
};

use super::{ApiError, Requests, ResourcePath, bounded, field_query, path::percent_encoded};

/// Requests only the metadata of the objects.
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/// Number of bytes kept of a line: type and version precede labels, annotations and managed fields.
const HEAD_BYTES: usize = 16 * 1024;

/// Event that a watch reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchEvent {
    /// True if the object came, changed or went. False for a bookmark, which only advances the version.
    pub has_changed: bool,
    /// Version from which the watch can continue.
    pub version: Option<String>,
}

/// The needed fields of a line: annotations may hold the content of a Secret.
#[derive(Default)]
struct EventLine {
    what: String,
    has_object: bool,
    version: Option<String>,
    code: u16,
    reason: String,
}

/// Level of an event that fields belong to.
#[derive(Clone, Copy)]
enum FieldLevel {
    Line,
    Object,
    Metadata,
}

/// Reads the fields of an event in order, so that those before the end of a cut line are known.
struct EventFields<'a>(FieldLevel, &'a mut EventLine);

impl<'de> DeserializeSeed<'de> for EventFields<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for EventFields<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event of a watch")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let Self(place, event) = self;
        while let Some(field) = fields.next_key::<Cow<'_, str>>()? {
            match (place, &*field) {
                (FieldLevel::Line, "type") => event.what = fields.next_value()?,
                (FieldLevel::Line, "object") => {
                    event.has_object = true;
                    fields.next_value_seed(EventFields(FieldLevel::Object, event))?;
                }
                (FieldLevel::Object, "metadata") => {
                    fields.next_value_seed(EventFields(FieldLevel::Metadata, event))?;
                }
                (FieldLevel::Object, "code") => event.code = fields.next_value()?,
                (FieldLevel::Object, "reason") => event.reason = fields.next_value()?,
                (FieldLevel::Metadata, "resourceVersion") => event.version = fields.next_value()?,
                _ => {
                    fields.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

impl Requests {
    /// Watches the object of this name, existing or not, until the API server ends that after `seconds`. It needs the
    /// permission to watch it, but not to list. Without `since` it begins with the present object.
    pub async fn watch_one(
        &self,
        path: &ResourcePath,
        name: &str,
        since: Option<&str>,
        seconds: u64,
    ) -> Result<impl Stream<Item = Result<WatchEvent, ApiError>> + Send + Unpin + use<>, ApiError>
    {
        let named = field_query([("metadata.name", name)]);
        let mut uri = format!(
            "{}?watch=true&allowWatchBookmarks=true&{named}&timeoutSeconds={seconds}",
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
        Ok(lines(body).map(|line| parse_line(&line?)).boxed())
    }
}

/// Returns the lines of an answer as they come, each with its line end unless it was cut.
fn lines(
    body: impl Stream<Item = kube::Result<Bytes>> + Send + Unpin,
) -> impl Stream<Item = Result<Vec<u8>, ApiError>> + Send {
    let begin = (body, Bytes::new(), Vec::new());
    stream::unfold(begin, |(mut body, mut chunk, mut held)| async move {
        loop {
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let piece = chunk.split_to(end.map_or(chunk.len(), |end| end + 1));
            held.extend(piece.iter().take(HEAD_BYTES - held.len()));
            if end.is_some() {
                return Some((Ok(held), (body, chunk, Vec::new())));
            }
            match body.next().await? {
                Ok(next) => chunk = next,
                Err(error) => return Some((Err(error.into()), (body, chunk, Vec::new()))),
            }
        }
    })
}

fn parse_line(line: &[u8]) -> Result<WatchEvent, ApiError> {
    let mut event = EventLine::default();
    let mut text = serde_json::Deserializer::from_slice(line);
    let read = EventFields(FieldLevel::Line, &mut event).deserialize(&mut text);
    let is_error = event.what == "ERROR";
    let is_known = match read.and_then(|()| text.end()) {
        Ok(()) => event.has_object,
        // The content of an error is at its end.
        Err(error) => {
            let is_cut = error.is_eof() && !line.ends_with(b"\n");
            is_cut && !is_error && event.version.is_some()
        }
    };
    if event.what.is_empty() || !is_known {
        // The reason would show a part of the line.
        return Err(ApiError::Unanswered(
            "an event of a watch cannot be read".into(),
        ));
    }
    if is_error {
        return Err(ApiError::Answered {
            code: event.code,
            reason: event.reason,
            message: String::new(),
            namespace_terminating: false,
        });
    }
    Ok(WatchEvent {
        has_changed: event.what != "BOOKMARK",
        version: event.version,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn held(chunks: &[&str]) -> Vec<Vec<u8>> {
        let chunk = |chunk: &&str| Ok(Bytes::from((*chunk).to_owned()));
        let lines = lines(stream::iter(chunks.iter().map(chunk).collect::<Vec<_>>()));
        lines.map(Result::unwrap).collect().await
    }

    async fn all(chunks: &[&str]) -> Vec<Result<WatchEvent, ApiError>> {
        let lines = held(chunks).await;
        lines.iter().map(|line| parse_line(line)).collect()
    }

    /// Returns the version of an event whose line is cut within `long`, which stands for a long text, or `None` if the
    /// event cannot be read.
    async fn version_of_cut(line: &str) -> Option<String> {
        let line = line.replace("long", &"0".repeat(2_000_000)) + "\n";
        let mut told = all(&[&line]).await;
        told.remove(0).ok()?.version
    }

    fn event(has_changed: bool, version: &str) -> WatchEvent {
        WatchEvent {
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

    #[tokio::test]
    async fn of_a_long_line_only_the_beginning_is_kept_and_what_follows_it_is_told() {
        let label = format!("\"a\":\"{}\",", "0".repeat(1000));
        let begin = r#"{"type":"MODIFIED","object":{"metadata":{"name":"s","resourceVersion":"7","labels":{"#;
        let next = "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"resourceVersion\":\"8\"}}}\n";
        let mut chunks = vec![begin];
        chunks.extend(std::iter::repeat_n(label.as_str(), 2000));
        chunks.extend(["\"b\":\"\"}}}}\n", next]);
        let sizes: Vec<usize> = held(&chunks).await.iter().map(Vec::len).collect();
        assert_eq!(sizes, [HEAD_BYTES, next.len()]);
        let wanted = [event(true, "7"), event(true, "8")];
        assert_eq!(all(&chunks).await, wanted.map(Ok));
        assert_eq!(all(&[&chunks.concat()]).await, all(&chunks).await);
    }

    #[tokio::test]
    async fn no_other_text_is_taken_for_the_version_and_a_line_cut_before_it_cannot_be_read() {
        let forged = r#""annotations":{"resourceVersion":"1","a":"\",\"resourceVersion\":\"1\",\"","metadata":{"resourceVersion":"1"}}"#;
        let line = |metadata: &str| {
            format!(r#"{{"type":"MODIFIED","object":{{"metadata":{{{metadata}}}}}}}"#)
        };
        let behind = line(&format!(r#""resourceVersion":"7",{forged},"b":"long""#));
        assert_eq!(version_of_cut(&behind).await.as_deref(), Some("7"));
        for before in [
            format!(r#"{forged},"b":"long","resourceVersion":"7""#),
            r#""resourceVersion":"1long""#.to_owned(),
        ] {
            assert_eq!(version_of_cut(&line(&before)).await, None, "{before}");
        }
        let whole = line(&format!(r#"{forged},"resourceVersion":"7""#)) + "\n";
        assert_eq!(all(&[&whole]).await, [Ok(event(true, "7"))]);
    }

    #[tokio::test]
    async fn what_is_broken_off_and_an_error_that_is_cut_cannot_be_read() {
        let broken = "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\"\n";
        assert!(all(&[broken]).await[0].is_err());
        let error = r#"{"type":"ERROR","object":{"metadata":{"resourceVersion":"7"},"code":410,"message":"long"}}"#;
        let line = error.replace("long", &"0".repeat(HEAD_BYTES)) + "\n";
        let told = all(&[&line]).await.remove(0);
        assert!(told.is_err_and(|error| !error.is_gone()));
    }
}
