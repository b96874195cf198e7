//! Writes with preconditions.

use std::sync::Arc;

use cartouche_oracle::Run;
use serde_json::{Map, Value, json};

use super::{Happened, Key, Refusal, Store};

/// A request that stops a run, and was carried out.
#[derive(Clone, Debug)]
pub struct Told {
    /// The newest version before it.
    pub version: u64,
    /// The uid of the run.
    pub uid: String,
    /// True if it deletes the run.
    pub is_delete: bool,
    /// True if the run had ended.
    pub had_ended: bool,
    /// Its time by the server's clock, in seconds.
    pub clock: i64,
}

/// The finalizer of an object that goes after all its dependents.
const FOREGROUND: &str = "foregroundDeletion";

impl Store {
    /// Returns every request that stops a run, oldest first, including those that changed nothing.
    #[must_use]
    pub fn told(&self) -> &[Told] {
        &self.told
    }

    /// Replaces the status, if the given resourceVersion and uid are the present ones.
    pub fn replace_status(
        &mut self,
        key: &Key,
        sent: &Value,
        actor: &str,
    ) -> Result<Arc<Value>, Refusal> {
        self.meeting(key, &sent["metadata"])?;
        let status = sent.get("status").cloned().unwrap_or_default();
        self.change(key, actor, |object| object["status"] = status)
    }

    /// Replaces an object without a status, if the given resourceVersion and uid are the present ones. The
    /// API server's own fields stay.
    pub fn replace(&mut self, key: &Key, sent: &Value, actor: &str) -> Result<Arc<Value>, Refusal> {
        let present = self.meeting(key, &sent["metadata"])?;
        let mut next = sent.clone();
        for field in ["uid", "creationTimestamp", "generation", "resourceVersion"] {
            next["metadata"][field] = present["metadata"][field].clone();
        }
        self.change(key, actor, |object| *object = next)
    }

    /// Changes an object by a JSON merge patch (RFC 7386), if its resourceVersion and uid are the present
    /// ones. A status that is a subresource stays as it is.
    pub fn patch(&mut self, key: &Key, patch: &Value, actor: &str) -> Result<Arc<Value>, Refusal> {
        let present = self.meeting(key, &patch["metadata"])?;
        let Value::Object(fields) = patch else {
            return Err(Refusal::Invalid("a merge patch is an object"));
        };
        let mut fields = fields.clone();
        if key.resource.has_status() {
            fields.remove("status");
        }
        if key.resource.is_run() {
            self.note_stop(&present, false);
        }
        let version = present["metadata"]["resourceVersion"].clone();
        self.change(key, actor, |object| {
            merge(object, fields);
            object["metadata"]["resourceVersion"] = version;
        })
    }

    /// Deletes an object without any condition.
    pub fn delete(&mut self, key: &Key, actor: &str) -> Result<Arc<Value>, Refusal> {
        let present = self.get(key).ok_or(Refusal::NotFound)?;
        let last = self.put(Happened::Deleted, key.clone(), (*present).clone(), actor);
        self.objects.remove(key);
        Ok(last)
    }

    /// Deletes an object with these options, if it meets their preconditions. In the foreground it is marked,
    /// and goes when the garbage collector has handled its dependents.
    pub fn delete_as_asked(
        &mut self,
        key: &Key,
        options: &Value,
        actor: &str,
    ) -> Result<Arc<Value>, Refusal> {
        let present = self.meeting(key, &options["preconditions"])?;
        let waits = options["propagationPolicy"] == "Foreground";
        // Retention deletes finished runs in the background.
        if key.resource.is_run() && (waits || Run::of(&present).result.is_none()) {
            self.note_stop(&present, true);
        }
        if !waits {
            return self.delete(key, actor);
        }
        let now = self.now().to_string();
        self.change(key, actor, |object| {
            let metadata = &mut object["metadata"];
            if metadata["deletionTimestamp"].is_null() {
                metadata["deletionTimestamp"] = json!(now);
                metadata["finalizers"] = json!([FOREGROUND]);
            }
        })
    }

    /// Returns the object, if it has the given uid and resourceVersion.
    fn meeting(&self, key: &Key, asked: &Value) -> Result<Arc<Value>, Refusal> {
        let present = self.get(key).ok_or(Refusal::NotFound)?;
        let differs = |field: &str| {
            let asked = asked[field].as_str().filter(|asked| !asked.is_empty());
            asked.is_some_and(|asked| present["metadata"][field] != asked)
        };
        if differs("resourceVersion") || differs("uid") {
            return Err(Refusal::Conflict);
        }
        Ok(present)
    }

    fn note_stop(&mut self, run: &Value, is_delete: bool) {
        let run = Run::of(run);
        self.told.push(Told {
            version: self.version,
            uid: run.uid,
            is_delete,
            had_ended: run.result.is_some(),
            clock: self.now().as_second(),
        });
    }
}

fn merge(value: &mut Value, patch: Map<String, Value>) {
    if !value.is_object() {
        *value = json!({});
    }
    for (field, wanted) in patch {
        match wanted {
            Value::Null => {
                if let Value::Object(fields) = value {
                    fields.remove(&field);
                }
            }
            Value::Object(wanted) => merge(&mut value[field], wanted),
            wanted => value[field] = wanted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery::Resource;

    /// Returns a run at work.
    fn working() -> (Store, Key, Value) {
        let mut store = Store::new(fastrand::Rng::with_seed(1));
        let object =
            json!({ "metadata": { "name": "one" }, "spec": { "deep": { "a": 1, "b": 2 } } });
        let made = store.create(Resource::Tasks, "space", object, "somebody", false);
        let made = (*made.unwrap()).clone();
        let key = Key {
            resource: Resource::Tasks,
            namespace: "space".to_owned(),
            name: "one".to_owned(),
        };
        (store, key, made)
    }

    #[test]
    fn a_merge_patch_changes_what_it_names_and_nothing_else() {
        let (mut store, key, made) = working();
        let patch = json!({
            "metadata": { "uid": made["metadata"]["uid"] },
            "spec": { "stopped": true, "deep": { "a": null, "c": {} } }, "status": { "x": 1 },
        });
        let after = store.patch(&key, &patch, "c as a").unwrap();
        let spec = json!({ "stopped": true, "deep": { "b": 2, "c": {} } });
        assert_eq!((&after["spec"], &after["status"]), (&spec, &Value::Null));
        assert_eq!(after["metadata"]["generation"], 2);
        // The same request again makes no version, but was carried out.
        let version = store.version();
        store.patch(&key, &patch, "c as a").unwrap();
        assert_eq!((store.version(), store.told().len()), (version, 2));
    }

    #[test]
    fn what_is_another_object_now_or_has_changed_is_left_alone() {
        let (mut store, key, made) = working();
        let (uid, old) = (
            &made["metadata"]["uid"],
            &made["metadata"]["resourceVersion"],
        );
        let end = |run: &mut Value| run["status"] = json!({ "conditions": [] });
        store.change(&key, "engine", end).unwrap();
        for metadata in [
            json!({ "uid": "another" }),
            json!({ "uid": uid, "resourceVersion": old }),
        ] {
            let patch = json!({ "metadata": metadata, "spec": { "stopped": true } });
            let options = json!({ "preconditions": metadata, "propagationPolicy": "Foreground" });
            let refused = Err(Refusal::Conflict);
            assert_eq!(store.patch(&key, &patch, "c as a"), refused);
            assert_eq!(store.delete_as_asked(&key, &options, "c as a"), refused);
        }
        assert!(store.told().is_empty());
    }

    #[test]
    fn what_is_deleted_in_the_foreground_is_marked_first() {
        let (mut store, key, made) = working();
        let preconditions = json!({ "uid": made["metadata"]["uid"], "resourceVersion": null });
        let options = json!({ "preconditions": preconditions, "propagationPolicy": "Foreground" });
        let marked = store.delete_as_asked(&key, &options, "c as a").unwrap();
        assert!(marked["metadata"]["deletionTimestamp"].is_string());
        assert!(store.get(&key).is_some());
        let options = json!({ "propagationPolicy": "Background" });
        store.delete_as_asked(&key, &options, "c as a").unwrap();
        assert!(store.get(&key).is_none());
    }

    #[test]
    fn what_is_replaced_stays_the_same_object_and_no_old_version_of_it_is_taken() {
        let (mut store, ..) = working();
        let object = json!({ "metadata": { "name": "map" }, "data": { "a": "1" } });
        let made = store.create(Resource::ConfigMaps, "space", object, "somebody", false);
        let (first, key) = (
            made.unwrap(),
            Key {
                resource: Resource::ConfigMaps,
                namespace: "space".to_owned(),
                name: "map".to_owned(),
            },
        );
        let version = &first["metadata"]["resourceVersion"];
        let sent = json!({ "metadata": { "name": "map", "resourceVersion": version }, "data": { "b": "2" } });
        let second = store.replace(&key, &sent, "c as a").unwrap();
        assert_eq!(second["data"], sent["data"]);
        assert_eq!(second["metadata"]["uid"], first["metadata"]["uid"]);
        let again = store.replace(&key, &sent, "c as a");
        assert_eq!(again, Err(Refusal::Conflict));
    }
}
