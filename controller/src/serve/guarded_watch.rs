//! Watches of the controller's own kinds that no single malformed object stops.

use futures::{Stream, StreamExt};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Api, runtime::watcher};

use super::{
    guarded::{Guarded, Unreadable},
    unreadable::{ReportUnreadable, UnreadableReporter},
};
use crate::{
    metrics::Metrics,
    watch::{self, config, own::OwnWatches},
};

/// Message for an API server that does not know the controller's own kinds.
const NOT_INSTALLED: &str = "the API server does not serve it, because the definitions of Cartouche are not installed: kubectl apply -k config/crd";

/// Watches a kind. No single malformed object stops the watch, and it reports why it is not ready.
pub(super) fn watch<K>(
    api: Api<Guarded<K>>,
    own: &OwnWatches,
    what: &'static str,
    reporter: UnreadableReporter,
) -> impl Stream<Item = watcher::Result<watcher::Event<K>>> + Send + use<K>
where
    K: ReportUnreadable + Clone + std::fmt::Debug + Send + 'static,
{
    let metrics = own.metrics.clone();
    let events = watcher(api, config()).inspect(move |event| {
        if let Err(error) = event
            && is_not_installed(error)
        {
            tracing::error!(what, "{NOT_INSTALLED}");
        }
    });
    own.follow(what, events, why).filter_map(move |event| {
        let event = opened(event, &metrics, &reporter);
        std::future::ready(event.map(Ok))
    })
}

/// Returns why a watch failed, briefly and without secrets, since the log has the rest. A missing definition is the
/// usual reason on a new cluster.
fn why(error: &watcher::Error) -> String {
    if is_not_installed(error) {
        NOT_INSTALLED.to_owned()
    } else {
        watch::reason(error)
    }
}

fn is_not_installed(error: &watcher::Error) -> bool {
    use kube::Error::Api;
    matches!(error, watcher::Error::InitialListFailed(Api(status)) if status.code == 404)
}

/// Opens an event. An unreadable object counts as deleted in the cache: its former content is no longer used, and once
/// it is readable it is found as after a restart.
fn opened<K: ReportUnreadable>(
    event: watcher::Event<Guarded<K>>,
    metrics: &Metrics,
    reporter: &UnreadableReporter,
) -> Option<watcher::Event<K>> {
    let gone = |metadata: ObjectMeta| K::from_parts(metadata, K::blank(), None);
    let report = |metadata: &ObjectMeta, unreadable: &Unreadable| {
        tracing::warn!(kind = %K::kind(&()), namespace = metadata.namespace, name = metadata.name, error = unreadable.why, "an object cannot be read and is ignored");
        metrics.undecodable();
        reporter.report::<K>(metadata, unreadable);
    };
    Some(match event {
        watcher::Event::Apply(Guarded { object, metadata }) => match object {
            Ok(object) => watcher::Event::Apply(object),
            Err(unreadable) => {
                report(&metadata, &unreadable);
                watcher::Event::Delete(gone(metadata))
            }
        },
        watcher::Event::InitApply(Guarded { object, metadata }) => match object {
            Ok(object) => watcher::Event::InitApply(object),
            Err(unreadable) => {
                report(&metadata, &unreadable);
                return None;
            }
        },
        watcher::Event::Delete(Guarded { object, metadata }) => {
            watcher::Event::Delete(object.unwrap_or_else(|_| gone(metadata)))
        }
        watcher::Event::Init => watcher::Event::Init,
        watcher::Event::InitDone => watcher::Event::InitDone,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_a_watch_fails_names_neither_accounts_nor_what_the_api_server_says() {
        let message =
            "runnables.carto.run is forbidden: User \"system:serviceaccount:a:b\" cannot list";
        let mut status = kube::core::Status::failure(message, "Forbidden");
        status.code = 403;
        let error = watcher::Error::InitialListFailed(kube::Error::Api(Box::new(status)));
        assert_eq!(why(&error), "the API server answers 403 Forbidden");
    }
}
