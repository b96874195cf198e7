//! The content of etcd and the API server: objects, one resourceVersion for all of them, and every change.

mod conditional;
mod managed_fields;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use crate::{discovery::Resource, events::Events};
pub use conditional::Told;
use managed_fields::note_writer;

/// The key of an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Its resource.
    pub resource: Resource,
    /// Its namespace; empty where it has none.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// The sort of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Happened {
    /// It was created.
    Created,
    /// It was changed.
    Changed,
    /// It was deleted.
    Deleted,
}

/// A change that took effect.
#[derive(Clone, Debug)]
pub struct Change {
    /// The resourceVersion that it made.
    pub version: u64,
    /// Its sort.
    pub happened: Happened,
    /// The key of the object.
    pub key: Key,
    /// The object after it; of a deletion its last state, with the version of the deletion.
    pub object: Arc<Value>,
    /// The actor.
    pub actor: String,
    /// Its time, since the simulation began.
    pub at: Duration,
    /// Its time by the server's clock, in seconds.
    pub clock: i64,
}

/// The reason why a request had no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such object.
    NotFound,
    /// The name is taken.
    AlreadyExists,
    /// A resourceVersion or uid is not the present one.
    Conflict,
    /// It is no valid object.
    Invalid(&'static str),
    /// The rights do not suffice.
    Forbidden,
    /// The requested history is no longer kept.
    Expired,
}

/// The objects, and all that ever happened to them.
pub struct Store {
    objects: BTreeMap<Key, Arc<Value>>,
    log: Vec<Change>,
    told: Vec<Told>,
    events: Events,
    version: u64,
    compacted: u64,
    random: fastrand::Rng,
    /// Time since the simulation began.
    pub elapsed: Duration,
    /// Error of the server's clock, in seconds.
    pub clock_error: i64,
}

/// Time of the server's clock when a simulation begins.
pub(crate) const BEGINNING: i64 = 1_800_000_000;

impl Store {
    /// Returns an empty store. `random` makes uids and the ends of names.
    #[must_use]
    pub fn new(random: fastrand::Rng) -> Self {
        Self {
            objects: BTreeMap::new(),
            log: Vec::new(),
            told: Vec::new(),
            events: Events::default(),
            version: 1,
            compacted: 0,
            random,
            elapsed: Duration::ZERO,
            clock_error: 0,
        }
    }

    /// Returns the time of the server's clock, in whole seconds.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        let seconds = i64::try_from(self.elapsed.as_secs()).unwrap_or_default();
        Timestamp::from_second(BEGINNING + seconds + self.clock_error).unwrap_or_default()
    }

    /// Returns the newest resourceVersion.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns the oldest version that watches and lists may still ask for.
    #[must_use]
    pub fn oldest(&self) -> u64 {
        self.compacted
    }

    /// Returns all changes, oldest first.
    #[must_use]
    pub fn log(&self) -> &[Change] {
        &self.log
    }

    /// Returns the Events that arrived, which make no version.
    #[must_use]
    pub fn events(&self) -> &Events {
        &self.events
    }

    /// Records an Event that arrives.
    pub fn hear(&mut self, event: &Value, host: &str) {
        self.events.arrive(event, host, self.elapsed);
    }

    /// Returns the changes after a version. `Expired` when that was compacted away.
    pub fn since(&self, version: u64) -> Result<&[Change], Refusal> {
        if version < self.compacted {
            return Err(Refusal::Expired);
        }
        let from = self.log.partition_point(|change| change.version <= version);
        Ok(&self.log[from..])
    }

    /// Forgets all earlier changes, for watches and lists.
    pub fn compact(&mut self) {
        self.compacted = self.version;
    }

    /// Returns the present state of an object.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<Arc<Value>> {
        self.objects.get(key).cloned()
    }

    /// Returns all objects of a resource; those of one namespace, if it is given.
    pub fn all<'a>(
        &'a self,
        resource: Resource,
        namespace: &'a str,
    ) -> impl Iterator<Item = (&'a Key, &'a Arc<Value>)> {
        self.objects.iter().filter(move |(key, _)| {
            key.resource == resource && (namespace.is_empty() || key.namespace == namespace)
        })
    }

    /// Returns all objects of a resource as they were at a version that is not compacted.
    pub fn all_at(
        &self,
        resource: Resource,
        namespace: &str,
        version: u64,
    ) -> Result<Vec<Arc<Value>>, Refusal> {
        if version < self.compacted {
            return Err(Refusal::Expired);
        }
        let mut found: BTreeMap<&Key, &Arc<Value>> = BTreeMap::new();
        for change in self
            .log
            .iter()
            .take_while(|change| change.version <= version)
        {
            if change.key.resource != resource
                || !(namespace.is_empty() || change.key.namespace == namespace)
            {
                continue;
            }
            match change.happened {
                Happened::Deleted => found.remove(&change.key),
                Happened::Created | Happened::Changed => found.insert(&change.key, &change.object),
            };
        }
        Ok(found.into_values().cloned().collect())
    }

    /// Creates an object: the name out of `generateName` if it has none, a uid, a time.
    pub fn create(
        &mut self,
        resource: Resource,
        namespace: &str,
        mut object: Value,
        actor: &str,
        dry_run: bool,
    ) -> Result<Arc<Value>, Refusal> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        let name = match (text("/metadata/name"), text("/metadata/generateName")) {
            (Some(name), _) if !name.is_empty() => name.to_owned(),
            (_, Some(prefix)) => {
                let prefix = prefix.to_owned();
                format!("{prefix}{}", self.letters(5))
            }
            _ => return Err(Refusal::Invalid("name or generateName is required")),
        };
        let key = Key {
            resource,
            namespace: namespace.to_owned(),
            name,
        };
        if self.objects.contains_key(&key) {
            return Err(Refusal::AlreadyExists);
        }
        let uid = self.uid();
        let now = self.now().to_string();
        let Some(Value::Object(metadata)) = object.get_mut("metadata") else {
            return Err(Refusal::Invalid("metadata is required"));
        };
        metadata.insert("name".to_owned(), json!(key.name));
        if !namespace.is_empty() {
            metadata.insert("namespace".to_owned(), json!(namespace));
        }
        metadata.insert("uid".to_owned(), json!(uid));
        metadata.insert("creationTimestamp".to_owned(), json!(now));
        metadata.insert("generation".to_owned(), json!(1));
        if resource.has_status()
            && let Value::Object(fields) = &mut object
        {
            // As the schemas of our kinds and a status subresource require.
            fields.remove("status");
            if resource.is_ours() {
                fields.insert("status".to_owned(), json!({ "observedGeneration": -1 }));
            }
        }
        if let Some(spec) = object.get_mut("spec").filter(|_| resource.is_run()) {
            reword(spec);
        }
        if dry_run {
            return Ok(Arc::new(object));
        }
        Ok(self.put(Happened::Created, key, object, actor))
    }

    /// Changes an object in place. An edit without a difference makes no version. `generation` counts changes
    /// of everything but metadata and status.
    pub fn change(
        &mut self,
        key: &Key,
        actor: &str,
        change: impl FnOnce(&mut Value),
    ) -> Result<Arc<Value>, Refusal> {
        let before = self.objects.get(key).ok_or(Refusal::NotFound)?.clone();
        let mut after = (*before).clone();
        change(&mut after);
        if after == *before {
            return Ok(before);
        }
        if key.resource == Resource::Runnables && after.get("status") != before.get("status") {
            note_writer(&before, &mut after, actor, self.now());
        }
        if after.get("spec") != before.get("spec") {
            let generation = after
                .pointer("/metadata/generation")
                .and_then(Value::as_i64);
            after["metadata"]["generation"] = json!(generation.unwrap_or_default() + 1);
        }
        Ok(self.put(Happened::Changed, key.clone(), after, actor))
    }

    fn put(&mut self, happened: Happened, key: Key, mut object: Value, actor: &str) -> Arc<Value> {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let object = Arc::new(object);
        self.objects.insert(key.clone(), object.clone());
        self.log.push(Change {
            version: self.version,
            happened,
            key,
            object: object.clone(),
            actor: actor.to_owned(),
            at: self.elapsed,
            clock: self.now().as_second(),
        });
        object
    }

    fn letters(&mut self, count: usize) -> String {
        (0..count).map(|_| self.random.lowercase()).collect()
    }

    fn uid(&mut self) -> String {
        let all = format!("{:032x}", self.random.u128(..));
        format!(
            "{}-{}-{}-{}-{}",
            &all[..8],
            &all[8..12],
            &all[12..16],
            &all[16..20],
            &all[20..]
        )
    }
}

/// Rewords a spec, as the API server does: a quantity, and an empty list.
pub fn reword(spec: &mut Value) {
    let Value::Object(fields) = spec else { return };
    if let Some(amount) = fields
        .get_mut("amount")
        .filter(|amount| **amount == "1000m")
    {
        *amount = json!("1");
    }
    fields.retain(|_, value| *value != json!([]));
}
