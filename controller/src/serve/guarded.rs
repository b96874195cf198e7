//! Watches of our own kinds that no single malformed object stops.

use futures::{Stream, StreamExt};
use kube::{
    Api,
    core::DeserializeGuard,
    runtime::{WatchStreamExt, watcher},
};

use crate::{health::Readiness, metrics::Metrics};

/// The server ends every watch after this time, and a silent connection is noticed.
const WATCH_SECONDS: u32 = 50;

/// A watch that no single malformed object stops, and that says what it waits for.
pub(super) fn guarded<K>(
    api: Api<DeserializeGuard<K>>,
    readiness: Readiness,
    what: &'static str,
    metrics: Metrics,
) -> impl Stream<Item = watcher::Result<watcher::Event<K>>> + Send + 'static
where
    K: kube::Resource<DynamicType = ()>
        + Clone
        + std::fmt::Debug
        + Send
        + serde::de::DeserializeOwned
        + 'static,
{
    watcher(
        api,
        watcher::Config::default()
            .timeout(WATCH_SECONDS)
            .page_size(100),
    )
    .default_backoff()
    .filter_map(move |event| {
        let event = match event {
            Ok(event) => opened(event, &metrics).map(Ok),
            Err(error) => {
                tracing::warn!(what, %error, "a watch failed");
                readiness.because(what, why(&error));
                Some(Err(error))
            }
        };
        std::future::ready(event)
    })
}

/// Why a watch failed, in few words; a missing definition is the usual reason on a new cluster.
fn why(error: &watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status)) if status.code == 404 => {
            "the API server does not serve it: install the CustomResourceDefinitions (kubectl apply -f config/crd)".to_owned()
        }
        other => other.to_string(),
    }
}

fn opened<K: kube::Resource<DynamicType = ()>>(
    event: watcher::Event<DeserializeGuard<K>>,
    metrics: &Metrics,
) -> Option<watcher::Event<K>> {
    let open = |guard: DeserializeGuard<K>| match guard.0 {
        Ok(object) => Some(object),
        Err(error) => {
            tracing::warn!(kind = %K::kind(&()), error = %error.error, "an object cannot be read and is left alone");
            metrics.undecodable();
            None
        }
    };
    Some(match event {
        watcher::Event::Apply(object) => watcher::Event::Apply(open(object)?),
        watcher::Event::Delete(object) => watcher::Event::Delete(open(object)?),
        watcher::Event::InitApply(object) => watcher::Event::InitApply(open(object)?),
        watcher::Event::Init => watcher::Event::Init,
        watcher::Event::InitDone => watcher::Event::InitDone,
    })
}
