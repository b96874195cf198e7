//! The Runnables that write what the inputs of one come from: who of them is waited for, and whether it is itself.

use std::collections::{BTreeMap, VecDeque};

use cartouche_crds::Runnable;
use cartouche_protocol::{
    diagnosis::named,
    sinks,
    sourced_inputs::SourceObject,
    sources::SourceKey,
    status::{READY, TRUE},
};
use kube::ResourceExt as _;

use crate::{cluster::Cluster, live::runs};

/// Runnables on the way from one to another, at most.
const LONGEST: usize = 16;

/// Who writes the `ConfigMap`s and Secrets that inputs of a Runnable come from, as far as its namespace says.
pub(super) async fn writers(runnable: &Runnable, cluster: &Cluster) -> Option<Writers> {
    // Of one without such inputs no list is asked for.
    runnable.spec.inputs_from.iter().flatten().next()?;
    let all = cluster.runnables(false).await.ok()?;
    told(runnable, &all)
}

/// What is said of them, and what to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Writers {
    pub(super) said: String,
    pub(super) to_do: String,
}

fn told(runnable: &Runnable, all: &[Runnable]) -> Option<Writers> {
    let way = way_round(runnable, all);
    if let Some(way) = way {
        return Some(Writers {
            said: format!(
                "its inputs come from itself: {}",
                way.join(", which reads ")
            ),
            to_do: "take one of these references away".to_owned(),
        });
    }
    let mut steps = steps(runnable, all).into_iter();
    let (object, writer) = steps.find_map(|(object, writer)| {
        let is_ready = runs::condition(writer, READY).is_some_and(|it| it.status == TRUE);
        (!is_ready).then_some((object?, writer))
    })?;
    let reason = runs::condition(writer, READY).map_or("no status yet", |it| it.reason.as_str());
    let name = writer.name_any();
    Some(Writers {
        said: format!(
            "{} is written by Runnable {name} (writeOutputsTo), which is not ready ({reason})",
            named(&object)
        ),
        to_do: format!(
            "mend Runnable {name}, which writes it: `cartouche why` of it says what is wrong"
        ),
    })
}

/// What a Runnable reads that others of its namespace give: by which object, if by one, and the other.
fn steps<'a>(runnable: &Runnable, all: &'a [Runnable]) -> Vec<(Option<SourceKey>, &'a Runnable)> {
    let own = runnable.namespace().unwrap_or_default();
    let sources = runnable.spec.inputs_from.iter().flatten();
    let objects = sources.filter_map(|source| SourceObject::read_in(&own, source));
    let step = |object: SourceObject| {
        let sink = object.as_sink(&own);
        let gives = |it: &&Runnable| match &sink {
            Some(key) => writes(it, key),
            None => object.is_runnable() && object.name == it.name_any() && is_own(&object, &own),
        };
        Some((sink.clone(), all.iter().find(gives)?))
    };
    objects.filter_map(step).collect()
}

fn is_own(object: &SourceObject, own: &str) -> bool {
    object.namespace.as_deref().is_none_or(|it| it == own)
}

fn writes(runnable: &Runnable, key: &SourceKey) -> bool {
    let own = runnable.namespace().unwrap_or_default();
    let wanted = runnable.spec.write_outputs_to.as_deref();
    sinks::written_by(&own, wanted.unwrap_or_default()).contains(key)
}

/// The way from a Runnable back to itself, if there is one: each with the object through which it is read.
fn way_round(runnable: &Runnable, all: &[Runnable]) -> Option<Vec<String>> {
    let start = runnable.name_any();
    let mut ways: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut open = VecDeque::from([(runnable, vec![format!("Runnable {start}")])]);
    while let Some((at, way)) = open.pop_front() {
        for (object, next) in steps(at, all).into_iter().filter(|_| way.len() < LONGEST) {
            let name = next.name_any();
            let shown = match object {
                Some(object) => format!("{} of Runnable {name}", named(&object)),
                None => format!("Runnable {name}"),
            };
            let further: Vec<String> = way.iter().cloned().chain([shown]).collect();
            if name == start {
                return Some(further);
            }
            if ways.insert(name, further.clone()).is_none() {
                open.push_back((next, further));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A Runnable that reads one `ConfigMap` and writes another.
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
        let said = told(&one, &[one.clone(), two]).unwrap();
        assert_eq!(
            said.said,
            "its inputs come from itself: Runnable one, which reads ConfigMap shop/b of Runnable two, which reads ConfigMap shop/a of Runnable one"
        );
    }

    #[test]
    fn who_writes_what_is_not_there_is_named() {
        let (one, two) = (runnable("one", "b", "a"), runnable("two", "c", "b"));
        let said = told(&one, &[one.clone(), two.clone()]).unwrap();
        assert!(
            said.said
                .starts_with("ConfigMap shop/b is written by Runnable two"),
            "{said:?}"
        );
        assert_eq!(told(&two, &[one, two.clone()]), None);
    }
}
