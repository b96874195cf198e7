//! Reports objects of the controller's own kinds that cannot be read, in their status. I/O.

mod kinds;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use cartouche_crds::{API_VERSION, ClusterRunProfile, ClusterRunTemplate, FIELD_MANAGER, Runnable};
use cartouche_protocol::{
    category::Category,
    newer_release,
    pace::{StatusChange, WriteTime},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use kube::Resource;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::{RawValue, to_raw_value};
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    time::{Instant, sleep, sleep_until},
};

use super::guarded::{Guarded, Unreadable};
use crate::{
    api::{ApiError, Connection, Requests, ResourcePath},
    backoff::STEPS,
    cached_runnable::CachedRunnable,
    clock::boot_time,
    definitions::Definitions,
    events::Events,
    lock::lock,
    metrics::Metrics,
    reconcile::ControllerContext,
    status_writes::Paces,
};
pub(super) use kinds::ReportUnreadable;
use kinds::message;

/// Minimum time between two events of one object that a newer release serves it.
const REPORTED_AGAIN_AFTER: Duration = Duration::from_hours(1);

/// Minimum time between two reads of one object that changes.
const LOOKED_AT_AFTER: Duration = Duration::from_secs(10);

/// Kind, namespace and name of an object.
type ObjectKey = (&'static str, Option<String>, String);

/// Queues objects whose status is to report that they cannot be read.
#[derive(Clone)]
pub(super) struct UnreadableReporter {
    keys: UnboundedSender<ObjectKey>,
    /// Objects in the channel: each is in it once, however often it changes.
    waiting: Arc<Mutex<HashSet<ObjectKey>>>,
    connection: Connection,
}

const RUNNABLES: &str = "runnables";
const TEMPLATES: &str = "clusterruntemplates";
const PROFILES: &str = "clusterrunprofiles";

impl UnreadableReporter {
    /// Starts the task that writes the statuses.
    pub(super) fn start(ctx: &ControllerContext) -> Self {
        let (keys, received) = unbounded_channel();
        let waiting = Arc::<Mutex<HashSet<ObjectKey>>>::default();
        let connection = ctx.identity.connection().clone();
        let task = ReportTask {
            requests: ctx.identity.own().clone(),
            connection: connection.clone(),
            definitions: ctx.definitions.clone(),
            events: ctx.events.clone(),
            metrics: ctx.metrics.clone(),
            paces: Paces::default(),
            waiting: waiting.clone(),
            reported_newer: Mutex::default(),
        };
        tokio::spawn(task.run(received));
        Self {
            keys,
            waiting,
            connection,
        }
    }

    /// Queues an object whose status does not report the problem yet.
    pub(super) fn report<K: ReportUnreadable>(
        &self,
        metadata: &ObjectMeta,
        unreadable: &Unreadable,
    ) {
        let now = self
            .connection
            .clock()
            .now_for(metadata)
            .unwrap_or_default();
        if K::conditions(unreadable, metadata.generation, now) == unreadable.stored {
            return;
        }
        let resource = if K::kind(&()) == Runnable::kind(&()) {
            RUNNABLES
        } else if K::kind(&()) == ClusterRunProfile::kind(&()) {
            PROFILES
        } else {
            TEMPLATES
        };
        if let Some(name) = metadata.name.clone() {
            let key = (resource, metadata.namespace.clone(), name);
            if lock(&self.waiting).insert(key.clone()) {
                // The receiver is gone only while the process stops.
                let _ = self.keys.send(key);
            }
        }
    }
}

struct ReportTask {
    requests: Requests,
    connection: Connection,
    definitions: Arc<Definitions>,
    events: Events,
    metrics: Metrics,
    paces: Paces<ObjectKey>,
    waiting: Arc<Mutex<HashSet<ObjectKey>>>,
    /// Time of the last event of each object that a newer release serves.
    reported_newer: Mutex<HashMap<ObjectKey, Duration>>,
}

/// Fields of a status as raw text, so that those not replaced stay the same to the letter.
#[derive(Deserialize)]
struct OnlyStatus {
    status: Option<BTreeMap<String, Box<RawValue>>>,
}

impl ReportTask {
    async fn run(self, mut received: UnboundedReceiver<ObjectKey>) {
        // Definitions tell objects of a newer release from wrong ones.
        while self.definitions.are_awaited() {
            sleep(Duration::from_millis(20)).await;
        }
        // Time of the next try of each, and its number of failures.
        let mut due: HashMap<ObjectKey, (Instant, u32)> = HashMap::new();
        loop {
            let first = due.iter().min_by_key(|(_, (at, _))| *at);
            let first = first.map(|(key, (at, _))| (key.clone(), *at));
            tokio::select! {
                key = received.recv() => match key {
                    // A postponed or failed one waits a moment at least: each try reads the whole object.
                    Some(key) => {
                        lock(&self.waiting).remove(&key);
                        let soon = Instant::now() + LOOKED_AT_AFTER;
                        let due = due.entry(key).or_insert_with(|| (Instant::now(), 0));
                        due.0 = due.0.min(soon);
                    }
                    None => return,
                },
                Some(key) = async {
                    let (key, at) = first?;
                    sleep_until(at).await;
                    Some(key)
                } => match self.report_one(&key).await {
                    Ok(None) => {
                        due.remove(&key);
                    }
                    Ok(Some(left)) => {
                        due.insert(key, (Instant::now() + left, 0));
                    }
                    Err(error) => {
                        tracing::debug!(name = key.2, %error, "the status of an object that cannot be read was not written");
                        if let Some((at, failures)) = due.get_mut(&key) {
                            *at = Instant::now() + STEPS.delay(*failures);
                            *failures = failures.saturating_add(1);
                        }
                    }
                },
            }
        }
    }

    /// Reports one object. Returns the time for which that is postponed, or `None` if it is done.
    async fn report_one(&self, key: &ObjectKey) -> Result<Option<Duration>, ApiError> {
        let outcome = match key.0 {
            RUNNABLES => self.report::<CachedRunnable>(key).await,
            PROFILES => self.report::<ClusterRunProfile>(key).await,
            _ => self.report::<ClusterRunTemplate>(key).await,
        };
        match outcome {
            Err(error) if error.is_not_found() => Ok(None),
            Err(ApiError::Dropped(fields)) => {
                Ok(Some(self.definitions.drop_fields(&fields, boot_time())))
            }
            other => other,
        }
    }

    /// Replaces conditions and observedGeneration, on condition that no client has written since. If another client
    /// wrote the ledger, only an event is published: a write would hide that from the managed fields.
    async fn report<K: ReportUnreadable>(
        &self,
        key: &ObjectKey,
    ) -> Result<Option<Duration>, ApiError> {
        let (resource, namespace, name) = key;
        let path = ResourcePath::new(API_VERSION, resource, namespace.as_deref());
        let text: Box<RawValue> = self.requests.get(&path, name).await?;
        let object: Guarded<K> =
            serde_json::from_str(text.get()).map_err(|error| no_object(&error))?;
        let metadata = object.meta().clone();
        // It was fixed meanwhile: the watch brings it.
        let Err(unreadable) = object.object else {
            return Ok(None);
        };
        let now = self
            .connection
            .clock()
            .now_for(&metadata)
            .unwrap_or_default();
        let newer = newer_release::known_needs(&unreadable.needs).err();
        // A release that can read the object may serve it, so its status stays.
        let newer = newer
            .map(|newer| (newer.category, newer.message))
            .or_else(|| {
                let why = || (Category::NewerRelease, message(&unreadable.why));
                (unreadable.may_be_newer && self.definitions.are_newer()).then(why)
            });
        if let Some(why) = newer {
            if self.tells_of_newer(key) {
                let object = K::from_parts(metadata, K::blank(), None);
                object.announce(why, &self.events, &self.metrics, now);
            }
            // Definitions may be downgraded, without any event of this object.
            return Ok(Some(REPORTED_AGAIN_AFTER));
        }
        let conditions = K::conditions(&unreadable, metadata.generation, now);
        let change = StatusChange::of_conditions(&unreadable.stored, &conditions);
        match self.paces.due(key, &change, boot_time()) {
            WriteTime::Never => return Ok(None),
            WriteTime::After(left) => return Ok(Some(left)),
            WriteTime::Now => {}
        }
        let status = status_with(&text, &conditions, metadata.generation)
            .map_err(|error| no_object(&error))?;
        let version = metadata.resource_version.clone().unwrap_or_default();
        let is_noted = has_foreign_ledger(&metadata, &status);
        let object = K::from_parts(metadata, K::blank(), None);
        if !is_noted {
            let (written, in_doubt) = ((K::placeholder(), &status), self.definitions.are_doubted());
            self.requests
                .replace_status::<IgnoredAny, _>(&object, &version, written, in_doubt)
                .await?;
        }
        self.paces.record_write(key.clone(), &change, boot_time());
        let why = (Category::InvalidRunnable, message(&unreadable.why));
        object.announce(why, &self.events, &self.metrics, now);
        Ok(None)
    }

    /// Returns true if it is time for an event of an object that a newer release serves.
    fn tells_of_newer(&self, key: &ObjectKey) -> bool {
        let (mut reported, now) = (lock(&self.reported_newer), boot_time());
        reported.retain(|_, at| now < *at + REPORTED_AGAIN_AFTER);
        let is_known = reported.contains_key(key);
        reported.entry(key.clone()).or_insert(now);
        !is_known
    }
}

/// Returns true if the status has a ledger and, by the managed fields, another client wrote a status.
fn has_foreign_ledger(metadata: &ObjectMeta, status: &BTreeMap<String, Box<RawValue>>) -> bool {
    let entries = metadata.managed_fields.iter().flatten();
    let mut writers = entries.map(|entry| entry.manager.as_deref());
    status.contains_key("currentRun") && writers.any(|writer| writer != Some(FIELD_MANAGER))
}

fn no_object(error: &serde_json::Error) -> ApiError {
    ApiError::Unanswered(format!("it is no object: {error}"))
}

/// Returns the status of an object with other conditions.
fn status_with(
    text: &RawValue,
    conditions: &[Condition],
    generation: Option<i64>,
) -> serde_json::Result<BTreeMap<String, Box<RawValue>>> {
    let stored: OnlyStatus = serde_json::from_str(text.get())?;
    let mut status = stored.status.unwrap_or_default();
    status.insert("conditions".to_owned(), to_raw_value(conditions)?);
    // The pending change is no longer known.
    status.remove("pending");
    if let Some(generation) = generation {
        status.insert("observedGeneration".to_owned(), to_raw_value(&generation)?);
    }
    Ok(status)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_ledger_that_somebody_else_wrote_keeps_the_note_of_that() {
        let is_noted = |managers: &[&str], status: serde_json::Value| {
            let entries = managers.iter().map(|manager| ManagedFieldsEntry {
                manager: Some((*manager).to_owned()),
                ..ManagedFieldsEntry::default()
            });
            let metadata = ObjectMeta {
                managed_fields: Some(entries.collect()),
                ..ObjectMeta::default()
            };
            has_foreign_ledger(&metadata, &serde_json::from_value(status).unwrap())
        };
        let ledger = || json!({ "currentRun": {} });
        assert!(is_noted(&["kubectl-edit"], ledger()));
        assert!(is_noted(&[FIELD_MANAGER, "velero"], ledger()));
        assert!(!is_noted(&[FIELD_MANAGER], ledger()));
        assert!(!is_noted(&["kubectl-edit"], json!({ "conditions": [] })));
    }

    #[test]
    fn one_that_a_newer_release_serves_is_known_though_it_cannot_be_read() {
        let text = json!({
            "metadata": { "name": "a" }, "spec": { "inputs": 5, "runTemplateRef": { "name": "t" } },
            "status": { "currentRun": { "phase": "Elsewhere" }, "needs": ["ticks"] },
        });
        let read = |text: String| {
            let guarded: Guarded<CachedRunnable> = serde_json::from_str(&text).unwrap();
            newer_release::known_needs(&guarded.object.unwrap_err().needs)
        };
        assert!(read(text.to_string()).is_err());
        assert!(read(text.to_string().replace("ticks", "")).is_err());
        assert_eq!(read(text.to_string().replace("needs", "other")), Ok(()));
    }
}
