//! The requests and observed objects that the oracle judges.

use std::{collections::BTreeMap, sync::Arc};

use cartouche_crds::{APPROVED_ANNOTATION, PROFILE_REFRESH_ANNOTATION};
use cartouche_oracle::{Actor, Event, Object, Past, Run, Runnable, Sight, Time, Verb};
use serde_json::Value;

use super::STATUSES;
use crate::{cluster::AuditEvent, controller::Controller};

/// Input of the oracle.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// Resources of the runs, as the audit log names them.
    resources: Vec<String>,
    /// User that makes runs: the account of the Runnables.
    maker: String,
    events: Vec<Event>,
    /// Objects by uid, and by name the bodies of creates that were given up.
    pub(super) objects: BTreeMap<String, Value>,
    pub(super) given_up: BTreeMap<String, Value>,
    /// Results and hashes of the runs seen, by uid.
    seen: BTreeMap<String, (Option<bool>, String)>,
    /// The newest resourceVersion in the log.
    latest: Time,
}

impl Evidence {
    /// Returns an empty value for runs of these resources that this user makes.
    pub(super) fn new(resources: Vec<String>, maker: String) -> Self {
        Self {
            resources,
            maker,
            ..Self::default()
        }
    }

    /// Takes a request of any user into account.
    pub(super) fn read(&mut self, event: &AuditEvent) {
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
                let object = Object::Runnable(Runnable {
                    uid,
                    ..Runnable::default()
                });
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
                // Before anything else, because the time of its arrival is unknown.
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
            // A request whose sender died may be logged as given up and still take effect. Its precondition
            // is older than what it wrote.
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
        // A user with the rights to write anything may have written something that is no status.
        let status = serde_json::from_value(object["status"].clone()).unwrap_or_default();
        let annotation = |key: &str| {
            let text = object["metadata"]["annotations"][key].as_str();
            text.map(str::to_owned)
        };
        let runnable = Runnable {
            uid: text(object, "/metadata/uid").to_owned(),
            approved: annotation(APPROVED_ANNOTATION),
            refresh: annotation(PROFILE_REFRESH_ANNOTATION),
            status: Arc::new(status),
        };
        self.tell(at, actor, verb, Object::Runnable(runnable));
    }

    /// Takes an object into account that exists or has existed.
    pub(super) fn see(&mut self, verb: Verb, object: &Value) {
        let run = Run::of(object);
        let at = version(object).unwrap_or(self.latest);
        let said = (run.result, run.hash.clone());
        let news = self.seen.insert(run.uid.clone(), said.clone()) != Some(said);
        let first = self.objects.entry(run.uid.clone());
        first.or_insert_with(|| object.clone());
        if news {
            // Counts as ours unless another account is known to have made it.
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

    pub(super) fn past(&self, sight: Sight) -> Past {
        // A created object is seen in the same version.
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

pub(super) fn version(object: &Value) -> Option<Time> {
    text(object, "/metadata/resourceVersion").parse().ok()
}

/// Returns the uid of the deleted object from the answer to a delete, which is the object or a Status.
fn deleted_uid(answer: &Value) -> Option<&str> {
    let uid = answer.pointer("/metadata/uid");
    uid.or_else(|| answer.pointer("/details/uid"))?.as_str()
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    let text = object.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_default()
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

    /// Returns a create by an account, with the code of its answer, and with its object if there is a uid.
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
        let mut evidence = Evidence::new(vec!["trials.lab.test".to_owned()], RUNNER.to_owned());
        for event in events {
            evidence.read(event);
        }
        for object in seen {
            evidence.see(Verb::Changed, object);
        }
        let past = evidence.past(Sight::Record);
        past.made().map(|run| run.uid.clone()).collect()
    }

    /// Returns a write of the status of a Runnable whose current run this is.
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
        // Both creates were given up, and both took effect.
        let events = [
            create(RUNNER, 504, "app-1", None),
            create(RUNNER, 504, "app-1", None),
        ];
        let seen = [run("app-1", "one", "1"), run("app-1", "two", "1")];
        assert_eq!(uids(&events, &seen), ["one", "two"]);
        // No watch saw the first, but a ledger confirmed it.
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
