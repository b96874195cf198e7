//! What is answered on each path.

use std::{sync::Mutex, time::Duration};

use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Bytes;
use tokio::time::Instant;

use super::Readiness;
use crate::{lock::lock, metrics::Metrics};

const TEXT: &str = "text/plain";
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// How long a text of metrics is answered from memory: each new one counts all Runnables.
const KEPT: Duration = Duration::from_secs(1);

/// Everything that is answered, from one truth.
pub(super) struct Answers {
    readiness: Readiness,
    metrics: Metrics,
    /// The last text of metrics, and when it was made.
    text: Mutex<Option<(Instant, Bytes)>>,
}

impl Answers {
    pub(super) fn new(readiness: Readiness, metrics: Metrics) -> Self {
        Self {
            readiness,
            metrics,
            text: Mutex::default(),
        }
    }

    /// The answer to a request for this path.
    pub(super) fn to(&self, path: &str) -> Response<Full<Bytes>> {
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
            "/metrics" => (StatusCode::OK, METRICS, self.metrics()),
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

    fn metrics(&self) -> Bytes {
        let mut kept = lock(&self.text);
        match &*kept {
            Some((made, text)) if made.elapsed() < KEPT => text.clone(),
            _ => {
                let text = Bytes::from(self.metrics.text());
                *kept = Some((Instant::now(), text.clone()));
                text
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    async fn body(answers: &Answers, path: &str) -> String {
        let body = answers.to(path).into_body();
        String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn metrics_are_counted_once_a_second_however_many_ask() {
        let metrics = Metrics::default();
        let answers = Answers::new(Readiness::default(), metrics.clone());
        let first = body(&answers, "/metrics").await;
        for _ in 0..9 {
            metrics.panicked();
            tokio::time::sleep(KEPT / 10).await;
            assert_eq!(body(&answers, "/metrics").await, first);
        }
        tokio::time::sleep(KEPT / 10).await;
        let counted = body(&answers, "/metrics").await;
        assert!(counted.contains("cartouche_panics_total 9\n"), "{counted}");
    }
}
