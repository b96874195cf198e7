//! Answers for each path.

use std::{sync::Mutex, time::Duration};

use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Bytes;
use tokio::time::Instant;

use super::ProcessReadiness;
use crate::{lock::lock, metrics::Metrics};

const TEXT: &str = "text/plain";
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const CLASSIC: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Time for which metrics are answered from memory: each new text counts all Runnables.
const KEPT: Duration = Duration::from_secs(1);

/// Metrics in both formats.
#[derive(Clone)]
struct Text {
    open: Bytes,
    classic: Bytes,
}

/// Answers of all paths.
pub(super) struct Answers {
    readiness: ProcessReadiness,
    metrics: Metrics,
    /// The last text of metrics, and when it was made.
    text: Mutex<Option<(Instant, Text)>>,
}

impl Answers {
    pub(super) fn new(readiness: ProcessReadiness, metrics: Metrics) -> Self {
        Self {
            readiness,
            metrics,
            text: Mutex::default(),
        }
    }

    /// Answers a request for this path with this `Accept` header.
    pub(super) fn to(&self, path: &str, accepts: Option<&HeaderValue>) -> Response<Full<Bytes>> {
        let (status, kind, body) = match path {
            "/healthz" => (StatusCode::OK, TEXT, Bytes::from_static(b"ok\n")),
            "/readyz" => match self.readiness.missing() {
                missing if missing.is_empty() => {
                    (StatusCode::OK, TEXT, self.readiness.well().into())
                }
                missing => {
                    let lines = missing.join("\n") + "\n";
                    (StatusCode::SERVICE_UNAVAILABLE, TEXT, lines.into())
                }
            },
            "/metrics" if wants_classic(accepts) => {
                (StatusCode::OK, CLASSIC, self.metrics().classic)
            }
            "/metrics" => (StatusCode::OK, METRICS, self.metrics().open),
            _ => {
                let hint = Bytes::from_static(b"try /healthz, /readyz or /metrics\n");
                (StatusCode::NOT_FOUND, TEXT, hint)
            }
        };
        let mut response = Response::new(Full::new(body));
        *response.status_mut() = status;
        let kind = HeaderValue::from_static(kind);
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        response
    }

    fn metrics(&self) -> Text {
        let mut kept = lock(&self.text);
        match &*kept {
            Some((made, text)) if made.elapsed() < KEPT => text.clone(),
            _ => {
                let open = self.metrics.text();
                let text = Text {
                    classic: Metrics::classic(&open).into(),
                    open: open.into(),
                };
                *kept = Some((Instant::now(), text.clone()));
                text
            }
        }
    }
}

/// Returns true if the client prefers `text/plain` to OpenMetrics, by the weights in its `Accept` header.
fn wants_classic(accepts: Option<&HeaderValue>) -> bool {
    let accepts = accepts.and_then(|accepts| accepts.to_str().ok());
    let weight = |wanted: &[&str]| {
        let ranges = accepts.unwrap_or_default().split(',');
        let weights = ranges.filter_map(|range| {
            let mut parts = range.split(';').map(str::trim);
            let kind = parts.next()?.to_ascii_lowercase();
            let weight = parts.find_map(|part| part.strip_prefix("q="));
            let weight = weight.map_or(Ok(1.0), str::parse::<f64>).unwrap_or(0.0);
            wanted.contains(&kind.as_str()).then_some(weight)
        });
        weights.fold(0.0, f64::max)
    };
    weight(&["text/plain"]) > weight(&["application/openmetrics-text", "application/*", "*/*"])
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    async fn answered(answers: &Answers, path: &str, accepts: Option<&str>) -> (String, String) {
        let accepts = accepts.map(|accepts| HeaderValue::from_str(accepts).unwrap());
        let answer = answers.to(path, accepts.as_ref());
        let kind = answer.headers()[header::CONTENT_TYPE].to_str().unwrap();
        let kind = kind.to_owned();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (kind, String::from_utf8(body.to_vec()).unwrap())
    }

    async fn body(answers: &Answers, path: &str) -> String {
        answered(answers, path, None).await.1
    }

    #[tokio::test]
    async fn who_would_rather_have_text_gets_the_older_format() {
        let answers = Answers::new(ProcessReadiness::default(), Metrics::default());
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,\
            application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        let old_first = "text/plain;version=0.0.4;q=0.5,application/openmetrics-text;version=1.0.0;q=0.4,*/*;q=0.2";
        for (accepts, classic) in [
            (None, false),
            (Some("*/*"), false),
            (Some(prometheus), false),
            (
                Some("text/html, application/xhtml+xml;q=0.9, */*;q=0.8"),
                false,
            ),
            (Some("text/plain"), true),
            (Some("Text/Plain; version=0.0.4, */*;q=0.1"), true),
            (Some(old_first), true),
        ] {
            let (kind, text) = answered(&answers, "/metrics", accepts).await;
            assert_eq!(kind, if classic { CLASSIC } else { METRICS }, "{accepts:?}");
            assert_eq!(text.ends_with("# EOF\n"), !classic, "{accepts:?}");
            let declared = "# TYPE cartouche_panics_total counter\ncartouche_panics_total 0\n";
            assert_eq!(text.contains(declared), classic, "{accepts:?}");
        }
    }

    /// Otherwise all replicas would restart whenever the API server is away.
    #[tokio::test]
    async fn a_process_is_alive_whatever_it_waits_for() {
        let readiness = ProcessReadiness::waiting_for(&["things"]);
        readiness.lacks("others", "the API server does not answer".to_owned(), false);
        let answers = Answers::new(readiness, Metrics::default());
        let status = |path| answers.to(path, None).status();
        assert_eq!(status("/readyz"), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(status("/healthz"), StatusCode::OK);
    }

    #[tokio::test(start_paused = true)]
    async fn metrics_are_counted_once_a_second_however_many_ask() {
        let metrics = Metrics::default();
        let answers = Answers::new(ProcessReadiness::default(), metrics.clone());
        let first = body(&answers, "/metrics").await;
        for _ in 0..9 {
            metrics.count_panic();
            tokio::time::sleep(KEPT / 10).await;
            assert_eq!(body(&answers, "/metrics").await, first);
        }
        tokio::time::sleep(KEPT / 10).await;
        let counted = body(&answers, "/metrics").await;
        assert!(counted.contains("cartouche_panics_total 9\n"), "{counted}");
    }
}
