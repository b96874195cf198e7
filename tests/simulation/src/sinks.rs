//! Objects that outputs are written to, and the deeds of users to them.

use std::collections::BTreeMap;

use cartouche_crds::SINK_SEQUENCE_ANNOTATION;
use serde_json::{Value, json};

use crate::{
    discovery::Resource,
    engine::COLLECTOR,
    people::{self, NAMESPACE, SOMEBODY, runnable},
    plan::Deed,
    store::{Key, Store},
};

/// An object that outputs of a Runnable are written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sink {
    /// The number of the Runnable.
    pub runnable: usize,
    /// Its index among the sinks of the Runnable.
    pub at: usize,
}

impl Sink {
    /// Returns its key. No Runnable reads it.
    #[must_use]
    pub fn key(self) -> Key {
        Key {
            resource: Resource::ConfigMaps,
            namespace: NAMESPACE.to_owned(),
            name: format!("r{}-out{}", self.runnable, self.at),
        }
    }

    /// Returns its entry in the spec. The first has all outputs under their names, the second one under
    /// another name.
    fn entry(self) -> Value {
        let mut entry = json!({ "kind": "ConfigMap", "name": self.key().name });
        if self.at > 0 {
            entry["keys"] = json!({ "answer": "ANSWER" });
        }
        entry
    }

    /// Returns the content that it must have with these outputs.
    #[must_use]
    pub fn content(self, outputs: &BTreeMap<String, Value>) -> BTreeMap<String, String> {
        let text = |value: &Value| value.as_str().map_or(value.to_string(), str::to_owned);
        let all = outputs.iter();
        if self.at > 0 {
            let one = all.filter(|(name, _)| *name == "answer");
            return one.map(|(_, it)| ("ANSWER".to_owned(), text(it))).collect();
        }
        all.map(|(name, it)| (name.clone(), text(it))).collect()
    }

    /// Returns true if this version of a Runnable names it.
    #[must_use]
    pub fn is_wanted(self, object: &Value) -> bool {
        let wanted = object
            .pointer("/spec/writeOutputsTo")
            .and_then(Value::as_array);
        let mut wanted = wanted.into_iter().flatten();
        wanted.any(|it| it["name"] == self.key().name)
    }
}

/// Writes the sinks into the spec of the Runnable with this number.
pub(crate) fn ask(sinks: &[Sink], object: &mut Value, number: usize) {
    let own = sinks.iter().filter(|sink| sink.runnable == number);
    let entries: Vec<Value> = own.map(|sink| sink.entry()).collect();
    if !entries.is_empty() {
        object["spec"]["writeOutputsTo"] = json!(entries);
    }
}

/// Performs a deed to a sink, or to the spec that names it. `now` distinguishes one change from others.
pub(crate) fn change(store: &mut Store, deed: Deed, now: u64) {
    // A missing object stays away.
    match deed {
        Deed::SinkData(sink) => {
            let _ = store.change(&sink.key(), SOMEBODY, |object| {
                let data = &mut object["data"];
                match now % 3 {
                    0 => data["added"] = json!("by hand"),
                    1 => *data = json!({}),
                    _ => data["answer"] = json!(format!("by hand {now}")),
                }
            });
        }
        Deed::SinkGone(sink) => {
            let _ = store.delete(&sink.key(), SOMEBODY);
        }
        Deed::SinkKept(sink) => {
            let _ = store.change(&sink.key(), SOMEBODY, |object| {
                object["metadata"]["ownerReferences"] = json!([]);
            });
        }
        Deed::SinkNumber(sink) => {
            let _ = store.change(&sink.key(), SOMEBODY, |object| {
                let annotations = &mut object["metadata"]["annotations"];
                let number = annotations[SINK_SEQUENCE_ANNOTATION].as_str();
                if let Some(number) = number.and_then(|it| it.parse::<i64>().ok()) {
                    // Soon there is a run of that number, or never.
                    let ahead = if now.is_multiple_of(2) { 1 } else { 50 };
                    annotations[SINK_SEQUENCE_ANNOTATION] = json!((number + ahead).to_string());
                }
            });
        }
        Deed::SinkTaken(sink) => take(store, sink),
        Deed::SinkOut(sink) => edit(store, sink, |entries| {
            entries.retain(|it| it["name"] != sink.key().name);
        }),
        Deed::SinkBack(sink) => edit(store, sink, |entries| {
            if !entries.iter().any(|it| it["name"] == sink.key().name) {
                entries.push(sink.entry());
            }
        }),
        _ => {}
    }
}

/// Makes a foreign object of this name, unless there is one.
fn take(store: &mut Store, sink: Sink) {
    let key = sink.key();
    if store.get(&key).is_none() {
        let object = json!({
            "metadata": { "name": key.name, "namespace": NAMESPACE }, "data": { "whose": "somebody's" },
        });
        people::make_as(store, Resource::ConfigMaps, &object, SOMEBODY);
    }
}

fn edit(store: &mut Store, sink: Sink, edit: impl FnOnce(&mut Vec<Value>)) {
    let _ = store.change(&runnable(sink.runnable), SOMEBODY, |object| {
        if let Some(Value::Array(entries)) = object.pointer_mut("/spec/writeOutputsTo") {
            edit(entries);
        }
    });
}

/// Removes the objects that belong to a Runnable that is gone, as the garbage collector does.
pub(crate) fn collect(store: &mut Store) {
    let owner = |object: &Value| {
        let owner = object.pointer("/metadata/ownerReferences/0/uid");
        owner.and_then(Value::as_str).map(str::to_owned)
    };
    let is_there = |uid: &str| {
        let mut all = store.all(Resource::Runnables, NAMESPACE);
        all.any(|(_, it)| it["metadata"]["uid"] == uid)
    };
    let all = store.all(Resource::ConfigMaps, NAMESPACE);
    let orphans = all.filter(|(_, object)| owner(object).is_some_and(|uid| !is_there(&uid)));
    let orphans: Vec<Key> = orphans.map(|(key, _)| key.clone()).collect();
    for key in orphans {
        // It exists: it was just found.
        let _ = store.delete(&key, COLLECTOR);
    }
}
