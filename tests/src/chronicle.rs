//! What happened in a namespace, by the API server's own record, as the judge of everybody is told it.
//!
//! A create that was answered made its run. One whose sender died or gave it up is written down as given
//! up, or not at all if its API server was killed, and may have been carried out all the same: its run
//! is known by its object, which a watch shows, or by the ledger that confirmed it
//! (`cartouche-oracle` says what follows). Objects are told apart by their uid: two under one name are two runs.
//! What somebody else is known to have made is no run, whatever it claims to be.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufRead, BufReader, Seek, SeekFrom},
    path::PathBuf,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::{Context, Result};
use cartouche_oracle::{Actor, Event, Object, Past, Run, Runnable, Sight, Time, Verb};
use futures::StreamExt;
use kube::{
    Api,
    api::{ApiResource, DynamicObject, ListParams, WatchEvent, WatchParams},
};
use serde_json::Value;
use tokio::{task::AbortHandle, time::sleep};

use crate::{
    cluster::{Account, AuditEvent, Cluster},
    controller::Controller,
};

/// Where the statuses of Runnables are written.
const STATUSES: &str = "runnables.carto.run/status";

/// Reads on in the audit log, and keeps what is about one namespace.
#[derive(Debug)]
pub struct Chronicle {
    file: PathBuf,
    account: Account,
    /// Up to where the log is read, and the requests of accounts until there.
    read: Mutex<(u64, Vec<AuditEvent>)>,
    told: Arc<Mutex<Told>>,
    watches: Vec<AbortHandle>,
}

/// What the judge is told.
#[derive(Debug, Default)]
struct Told {
    /// What runs are, as the audit log names it.
    resources: Vec<String>,
    /// Who makes runs: the account of the Runnables.
    maker: String,
    events: Vec<Event>,
    /// The objects, by uid, and by name what creates asked for that were given up.
    objects: BTreeMap<String, Value>,
    given_up: BTreeMap<String, Value>,
    /// The ends of runs that were seen, by uid.
    seen: BTreeMap<String, Option<bool>>,
    /// The newest resourceVersion in the log.
    latest: Time,
}

impl Drop for Chronicle {
    fn drop(&mut self) {
        self.watches.iter().for_each(AbortHandle::abort);
    }
}

impl Chronicle {
    /// From now on. Runs are of these kinds, and are made as this account.
    pub fn begin(cluster: &Cluster, account: &Account, kinds: &[ApiResource]) -> Result<Self> {
        let file = cluster.control_plane()?.audit_log();
        let file = file.context("there is an audit log")?;
        let audited = |kind: &ApiResource| format!("{}.{}", kind.plural, kind.group);
        let told = Arc::new(Mutex::new(Told {
            resources: kinds.iter().map(audited).collect(),
            maker: account.user(),
            ..Told::default()
        }));
        let watches = kinds.iter().map(|kind| {
            let objects = Api::namespaced_with(cluster.client(), &account.namespace, kind);
            let watch = watch(objects, kind.kind.clone(), Arc::clone(&told));
            tokio::spawn(watch).abort_handle()
        });
        Ok(Self {
            watches: watches.collect(),
            read: Mutex::new((std::fs::metadata(&file)?.len(), Vec::new())),
            file,
            account: account.clone(),
            told,
        })
    }

    /// The requests that were answered until now, other than those of the tests themselves, as far
    /// as `wanted`.
    pub fn events<T>(&self, wanted: impl Fn(&AuditEvent) -> Option<T>) -> Result<Vec<T>> {
        let mut read = lock(&self.read);
        let (offset, events) = &mut *read;
        let mut told = lock(&self.told);
        for event in self.after(offset)? {
            told.read(&event);
            events.extend(Some(event).filter(AuditEvent::is_of_an_account));
        }
        Ok(events.iter().filter_map(wanted).collect())
    }

    /// Those since the last call, which nobody is told: for a record that goes on for hours.
    pub fn news(&self) -> Result<Vec<AuditEvent>> {
        self.watches.iter().for_each(AbortHandle::abort);
        let mut read = lock(&self.read);
        let mut news = self.after(&mut read.0)?;
        news.retain(AuditEvent::is_of_an_account);
        Ok(news)
    }

    fn after(&self, offset: &mut u64) -> Result<Vec<AuditEvent>> {
        let mut file = BufReader::new(File::open(&self.file)?);
        file.seek(SeekFrom::Start(*offset))?;
        let namespace = &self.account.namespace;
        let marker = format!("\"namespace\":\"{namespace}\"");
        let (mut bytes, mut events) = (Vec::new(), Vec::new());
        loop {
            bytes.clear();
            let length = file.read_until(b'\n', &mut bytes)?;
            // A line that is being written is read the next time.
            if !bytes.ends_with(b"\n") {
                return Ok(events);
            }
            *offset += u64::try_from(length)?;
            let line = String::from_utf8_lossy(&bytes);
            if line.contains(&marker)
                && let Ok(event) = serde_json::from_str::<AuditEvent>(&line)
                && event.namespace() == namespace
            {
                events.push(event);
            }
        }
    }

    /// Remembers objects that exist: whoever takes runs away shows them before, since one whose create was
    /// given up is known by its object only.
    pub fn see(&self, objects: &[DynamicObject]) -> Result<()> {
        let mut told = lock(&self.told);
        for object in objects {
            told.see(Verb::Changed, &serde_json::to_value(object)?);
        }
        Ok(())
    }

    /// What has happened until now, judged.
    pub fn past(&self, sight: Sight) -> Result<Past> {
        self.events(|_| None::<()>)?;
        Ok(lock(&self.told).past(sight))
    }

    /// The objects of the runs that were made until now, by whatever create took effect, oldest first.
    pub fn made(&self) -> Result<Vec<Value>> {
        let past = self.past(Sight::Record)?;
        let told = lock(&self.told);
        let object = |run: &Run| {
            let asked = || told.given_up.get(&run.name);
            told.objects.get(&run.uid).or_else(asked).cloned()
        };
        Ok(past.made().filter_map(object).collect())
    }

    /// The statuses that controllers wrote for a Runnable, in the order in which they took effect.
    pub fn statuses(&self, runnable: &str) -> Result<Vec<Value>> {
        let controller = Controller::account().user();
        let mut written = self.events(|event| {
            let ours = event.resource() == STATUSES
                && event.user() == controller
                && event.name() == runnable
                && event.took_effect();
            let object = event.response_object.as_ref().filter(|_| ours)?;
            Some((version(object)?, object.get("status")?.clone()))
        })?;
        written.sort_by_key(|(version, _)| *version);
        Ok(written.into_iter().map(|(_, status)| status).collect())
    }

    /// What requests of a sort for runs, as the Runnables' account, that took effect sent.
    pub fn effects(&self, verb: &str, resource: &str) -> Result<Vec<Value>> {
        let account = self.account.user();
        self.events(|event| {
            let effect = event.verb == verb
                && event.resource() == resource
                && event.acting_as() == account
                && event.took_effect();
            effect.then(|| event.request_object.clone().unwrap_or_default())
        })
    }
}

impl Told {
    /// Takes a request into account, whoever sent it.
    fn read(&mut self, event: &AuditEvent) {
        let answered = event.response_object.as_ref();
        let version = answered.and_then(version);
        self.latest = self.latest.max(version.unwrap_or_default());
        let is_run = self.resources.contains(&event.resource());
        match event.verb.as_str() {
            "create" if is_run => self.read_create(event),
            "delete" if is_run && event.took_effect() => self.read_delete(event),
            "update" | "patch" if event.resource() == STATUSES => self.read_write(event),
            "delete" if event.resource() == "runnables.carto.run" && event.took_effect() => {
                let uid = answered
                    .and_then(deleted_uid)
                    .unwrap_or_default()
                    .to_owned();
                let status = Arc::default();
                let object = Object::Runnable(Runnable { uid, status });
                self.tell(self.latest, Actor::Person, Verb::Deleted, object);
            }
            _ => {}
        }
    }

    fn read_create(&mut self, event: &AuditEvent) {
        let ours = event.acting_as() == self.maker;
        if !event.took_effect() {
            if let Some(asked) = event.request_object.as_ref()
                && (ours && event.was_given_up())
            {
                let run = Run::of(asked);
                self.given_up.insert(run.name.clone(), asked.clone());
                // Before anything else: when it arrived is not known.
                self.tell(0, Actor::Controller, Verb::GivenUp, Object::Run(run));
            }
            return;
        }
        let Some(object) = event.response_object.as_ref() else {
            return;
        };
        let run = Run::of(object);
        let actor = match run.number {
            _ if ours => Actor::Controller,
            None => Actor::Original,
            Some(_) => Actor::Stranger,
        };
        self.objects.insert(run.uid.clone(), object.clone());
        let at = version(object).unwrap_or(self.latest);
        self.tell(at, actor, Verb::Created, Object::Run(run));
    }

    fn read_delete(&mut self, event: &AuditEvent) {
        let asked = event.request_object.as_ref();
        let asked = asked.and_then(|it| it.pointer("/preconditions/uid")?.as_str());
        let answered = event.response_object.as_ref().and_then(deleted_uid);
        let actor = if event.acting_as() == self.maker {
            Actor::Controller
        } else {
            Actor::Person
        };
        let run = Run {
            uid: asked.or(answered).unwrap_or_default().to_owned(),
            ..Run::default()
        };
        self.tell(self.latest, actor, Verb::Deleted, Object::Run(run));
    }

    fn read_write(&mut self, event: &AuditEvent) {
        let (verb, object) = if event.took_effect() {
            (Verb::Changed, event.response_object.as_ref())
        } else if (400..500).contains(&event.code()) {
            return;
        } else {
            // Whose sender died may be written down as given up and yet be carried out. Its precondition is
            // older than what it wrote.
            (Verb::GivenUp, event.request_object.as_ref())
        };
        let is_controller = event.user() == Controller::account().user();
        let actor = if is_controller {
            Actor::Controller
        } else {
            Actor::Person
        };
        let Some((at, object)) = object.and_then(|object| Some((version(object)?, object))) else {
            return;
        };
        // What somebody wrote who may write anything may be no status.
        let status = serde_json::from_value(object["status"].clone()).unwrap_or_default();
        let runnable = Runnable {
            uid: text(object, "/metadata/uid").to_owned(),
            status: Arc::new(status),
        };
        self.tell(at, actor, verb, Object::Runnable(runnable));
    }

    /// An object that exists, or has existed.
    fn see(&mut self, verb: Verb, object: &Value) {
        let run = Run::of(object);
        let at = version(object).unwrap_or(self.latest);
        let news = self.seen.insert(run.uid.clone(), run.result) != Some(run.result);
        let first = self.objects.entry(run.uid.clone());
        first.or_insert_with(|| object.clone());
        if news {
            // Ours made it, if nobody else is known to have.
            self.tell(
                at,
                Actor::Controller,
                Verb::Changed,
                Object::Run(run.clone()),
            );
        }
        if verb == Verb::Deleted {
            self.tell(at, Actor::Person, verb, Object::Run(run));
        }
    }

    fn tell(&mut self, at: Time, actor: Actor, verb: Verb, object: Object) {
        self.events.push(Event {
            at,
            second: None,
            actor,
            verb,
            object,
        });
    }

    fn past(&self, sight: Sight) -> Past {
        // What is created is seen in the same version.
        let order = |event: &&Event| (event.at, event.verb != Verb::Created);
        let mut events: Vec<&Event> = self.events.iter().collect();
        events.sort_by_key(order);
        let mut past = Past::new(sight);
        for event in events {
            past.tell(event.clone());
        }
        past
    }
}

fn version(object: &Value) -> Option<Time> {
    text(object, "/metadata/resourceVersion").parse().ok()
}

/// The uid of what a delete was answered to have deleted: the object, or word of it.
fn deleted_uid(answer: &Value) -> Option<&str> {
    let uid = answer.pointer("/metadata/uid");
    uid.or_else(|| answer.pointer("/details/uid"))?.as_str()
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    let text = object.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_default()
}

/// Sees all objects of a kind, for as long as it runs; begun anew where a server was killed.
async fn watch(objects: Api<DynamicObject>, kind: String, told: Arc<Mutex<Told>>) {
    loop {
        // What goes wrong is tried again.
        let _ = watch_once(&objects, &kind, &told).await;
        sleep(Duration::from_millis(200)).await;
    }
}

async fn watch_once(objects: &Api<DynamicObject>, kind: &str, told: &Mutex<Told>) -> Result<()> {
    let list = objects.list(&ListParams::default()).await?;
    let see = |verb: Verb, object: &DynamicObject| -> Result<()> {
        let mut object = serde_json::to_value(object)?;
        // Lists of built-in kinds do not say it.
        object["kind"] = kind.into();
        lock(told).see(verb, &object);
        Ok(())
    };
    for object in &list.items {
        see(Verb::Changed, object)?;
    }
    let version = list.metadata.resource_version.unwrap_or_default();
    let events = objects.watch(&WatchParams::default(), &version).await?;
    let mut events = pin!(events);
    while let Some(event) = events.next().await {
        match event? {
            WatchEvent::Added(it) | WatchEvent::Modified(it) => see(Verb::Changed, &it)?,
            WatchEvent::Deleted(it) => see(Verb::Deleted, &it)?,
            WatchEvent::Bookmark(_) => {}
            WatchEvent::Error(_) => break,
        }
    }
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const RUNNER: &str = "system:serviceaccount:a:runner";

    fn run(name: &str, uid: &str, number: &str) -> Value {
        json!({ "metadata": {
            "name": name, "uid": uid, "labels": { "carto.run/run-sequence": number },
        } })
    }

    /// A create by an account, with the code of its answer; its object, if it was answered with one.
    fn create(account: &str, code: u16, name: &str, uid: Option<&str>) -> AuditEvent {
        let mut asked = run(name, "", "1");
        asked["metadata"]["uid"].take();
        let event = json!({
            "auditID": "1", "stage": "ResponseComplete", "verb": "create",
            "requestURI": "/apis/lab.test/v1/namespaces/a/trials?timeout=10s",
            "user": { "username": "controller" }, "impersonatedUser": { "username": account },
            "objectRef": { "resource": "trials", "apiGroup": "lab.test", "namespace": "a" },
            "responseStatus": { "code": code },
            "requestObject": asked, "responseObject": uid.map(|uid| run(name, uid, "1")),
        });
        serde_json::from_value(event).unwrap()
    }

    fn status(entry: &Value) -> AuditEvent {
        let event = json!({
            "auditID": "1", "stage": "ResponseComplete", "verb": "update",
            "requestURI": "/apis/carto.run/v1alpha1/namespaces/a/runnables/app/status",
            "user": { "username": Controller::account().user() },
            "objectRef": {
                "resource": "runnables", "subresource": "status", "apiGroup": "carto.run",
                "namespace": "a", "name": "app",
            },
            "responseStatus": { "code": 200 },
            "responseObject": {
                "metadata": { "uid": "app", "resourceVersion": "5" }, "status": { "currentRun": entry },
            },
        });
        serde_json::from_value(event).unwrap()
    }

    fn uids(events: &[AuditEvent], seen: &[Value]) -> Vec<String> {
        let mut told = Told {
            resources: vec!["trials.lab.test".to_owned()],
            maker: RUNNER.to_owned(),
            ..Told::default()
        };
        for event in events {
            told.read(event);
        }
        for object in seen {
            told.see(Verb::Changed, object);
        }
        let past = told.past(Sight::Record);
        past.made().map(|run| run.uid.clone()).collect()
    }

    /// The status of a Runnable whose current run this is.
    fn confirmed(name: &str, uid: &str) -> AuditEvent {
        status(&json!({
            "sequence": 1, "inputHash": "v1:0", "phase": "Created", "apiVersion": "lab.test/v1",
            "kind": "Trial", "name": name, "uid": uid,
        }))
    }

    #[test]
    fn an_answered_create_is_one_run_however_often_its_object_is_seen() {
        let seen = [run("app-1", "one", "1"), run("app-1", "one", "1")];
        let confirmed = confirmed("app-1", "one");
        let events = [create(RUNNER, 201, "app-1", Some("one")), confirmed];
        assert_eq!(uids(&events, &seen), ["one"]);
    }

    #[test]
    fn a_second_object_under_the_name_of_a_run_is_a_second_run() {
        // The first was deleted; then a create that had been given up made another.
        let events = [
            create(RUNNER, 201, "app-1", Some("one")),
            create(RUNNER, 504, "app-1", None),
        ];
        assert_eq!(uids(&events, &[run("app-1", "two", "1")]), ["one", "two"]);
        // Both creates were given up, and both were carried out.
        let events = [
            create(RUNNER, 504, "app-1", None),
            create(RUNNER, 504, "app-1", None),
        ];
        let seen = [run("app-1", "one", "1"), run("app-1", "two", "1")];
        assert_eq!(uids(&events, &seen), ["one", "two"]);
        // Nobody saw the first, but a ledger confirmed it.
        let confirmed = confirmed("app-1", "one");
        let events = [create(RUNNER, 504, "app-1", None), confirmed];
        assert_eq!(uids(&events, &seen[1..]).len(), 2);
    }

    #[test]
    fn a_create_that_was_given_up_and_whose_object_nobody_saw_is_no_run() {
        let events = [create(RUNNER, 504, "app-1", None)];
        assert_eq!(uids(&events, &[]), [""; 0]);
        assert_eq!(uids(&events, &[run("app-1", "one", "1")]), ["one"]);
    }

    #[test]
    fn a_run_of_which_a_killed_api_server_wrote_nothing_down_is_known_by_its_object() {
        assert_eq!(uids(&[], &[run("app-1", "one", "1")]), ["one"]);
    }

    #[test]
    fn what_others_made_is_no_run() {
        let events = [
            create(
                "system:serviceaccount:a:stranger",
                201,
                "app-1",
                Some("one"),
            ),
            create(RUNNER, 409, "app-1", None),
        ];
        let confirmed = confirmed("app-1", "one");
        let events = [events.as_slice(), &[confirmed]].concat();
        assert_eq!(uids(&events, &[run("app-1", "one", "1")]), [""; 0]);
        for number in ["", "0", "-1", "x"] {
            assert_eq!(uids(&[], &[run("app-2", "two", number)]), [""; 0]);
        }
    }
}
