//! The Runnables that write the inputs of one: the writer that is not ready, or a circle.

use cartouche_crds::{
    Runnable,
    conditions::{READY, TRUE},
};
use cartouche_protocol::{
    messages::diagnosis::{Diagnosis, format_name},
    references::SourceObject,
    sinks,
    sources::graph,
    trace::SourceKey,
};
use kube::ResourceExt as _;

use crate::{cluster::Cluster, live::runs};

/// Returns the Runnable that writes a `ConfigMap` or Secret of the inputs and is not ready, or the circle that they
/// form. Looks in the namespace only.
pub(super) async fn writers(runnable: &Runnable, cluster: &Cluster) -> Option<WritersNote> {
    // A Runnable without such inputs needs no list.
    runnable.spec.inputs_from.iter().flatten().next()?;
    let all = cluster.runnables(false).await.ok()?;
    found(runnable, &all)
}

/// Sentence about the writers, and the cure.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WritersNote {
    pub(super) said: String,
    pub(super) to_do: String,
}

fn found(runnable: &Runnable, all: &[Runnable]) -> Option<WritersNote> {
    let edges = |key: &SourceKey| match all.iter().find(|it| key_of(it) == *key) {
        Some(reader) => reads(reader),
        None => all
            .iter()
            .filter(|it| writes(it, key))
            .map(key_of)
            .collect(),
    };
    if let Some(way) = graph::way_round(&key_of(runnable), edges) {
        let circle = Diagnosis::DependencyCycle(way);
        return Some(WritersNote {
            said: circle.to_string(),
            to_do: circle.cure(),
        });
    }
    let (object, writer) = reads(runnable).into_iter().find_map(|object| {
        let writer = all.iter().find(|it| writes(it, &object))?;
        let is_ready = runs::condition(writer, READY).is_some_and(|it| it.status == TRUE);
        (!is_ready).then_some((object, writer))
    })?;
    let reason = runs::condition(writer, READY).map_or("no status yet", |it| it.reason.as_str());
    let name = writer.name_any();
    Some(WritersNote {
        said: format!(
            "{} is written by Runnable {name} (writeOutputsTo), which is not ready ({reason})",
            format_name(&object)
        ),
        to_do: format!(
            "fix Runnable {name}, which writes it: `cartouche why` of it says what is wrong"
        ),
    })
}

fn key_of(runnable: &Runnable) -> SourceKey {
    SourceKey::runnable(
        &runnable.namespace().unwrap_or_default(),
        &runnable.name_any(),
    )
}

/// Returns the Runnables that a Runnable reads, and the objects that may hold outputs of others.
fn reads(runnable: &Runnable) -> Vec<SourceKey> {
    let own = runnable.namespace().unwrap_or_default();
    let sources = runnable.spec.inputs_from.iter().flatten();
    let objects = sources.filter_map(|source| SourceObject::read_in(&own, source));
    let key = |object: SourceObject| {
        let runnable = || SourceKey::runnable(object.namespace_in(&own), &object.name);
        object
            .as_sink(&own)
            .or_else(|| object.is_runnable().then(runnable))
    };
    objects.filter_map(key).collect()
}

fn writes(runnable: &Runnable, key: &SourceKey) -> bool {
    let own = runnable.namespace().unwrap_or_default();
    let wanted = runnable.spec.write_outputs_to.as_deref();
    sinks::written_by(&own, wanted.unwrap_or_default()).contains(key)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns a Runnable that reads one `ConfigMap` and writes another.
    fn runnable(name: &str, reads: &str, writes: &str) -> Runnable {
        serde_json::from_value(json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
            "metadata": { "name": name, "namespace": "shop" },
            "spec": {
                "runTemplateRef": { "name": "t" },
                "inputsFrom": [{ "name": "a", "configMapKeyRef": { "name": reads, "key": "k" } }],
                "writeOutputsTo": [{ "kind": "ConfigMap", "name": writes }],
            },
        }))
        .unwrap()
    }

    #[test]
    fn a_way_round_through_config_maps_is_named() {
        let (one, two) = (runnable("one", "b", "a"), runnable("two", "a", "b"));
        let said = found(&one, &[one.clone(), two]).unwrap();
        assert_eq!(
            said.said,
            "no run is created: its inputs come from itself: Runnable shop/one, which reads ConfigMap shop/b, which has outputs of \
             Runnable shop/two, which reads ConfigMap shop/a, which has outputs of Runnable shop/one"
        );
    }

    #[test]
    fn who_writes_what_is_not_there_is_named() {
        let (one, two) = (runnable("one", "b", "a"), runnable("two", "c", "b"));
        let said = found(&one, &[one.clone(), two.clone()]).unwrap();
        assert!(
            said.said
                .starts_with("ConfigMap shop/b is written by Runnable two"),
            "{said:?}"
        );
        assert_eq!(found(&two, &[one, two.clone()]), None);
    }
}
