//! Which runs were made: by the API server's record, and by the objects that were seen.
//!
//! A create that was answered made its run. One whose sender died or gave it up is written down as given
//! up, or not at all if its API server was killed, and may have been carried out all the same: its run
//! is known by its object, which exists, or was seen by a list or a watch, or was confirmed by a ledger.
//! Objects are told apart by their uid: two under one name are two runs. What somebody else is known to
//! have made is no run, whatever it claims to be.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::cluster::AuditEvent;

/// What is known of the runs of one resource in one namespace.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// As the audit log names it: `trials.lab.test`.
    resource: String,
    /// Who makes runs: the account of the Runnables.
    maker: String,
    /// What creates were answered with, in the order of the answers.
    answered: Vec<(String, Value)>,
    /// What was asked for by creates that were given up, by name.
    given_up: BTreeMap<String, Value>,
    /// The uids of what others made.
    strangers: BTreeSet<String>,
    /// Objects that somebody saw, by uid.
    seen: BTreeMap<String, Value>,
    /// The names of runs that a ledger confirmed, by uid.
    confirmed: BTreeMap<String, String>,
}

impl Evidence {
    /// None yet, of runs of this resource that this account makes.
    #[must_use]
    pub fn of(resource: impl Into<String>, maker: impl Into<String>) -> Self {
        Self {
            resource: resource.into(),
            maker: maker.into(),
            answered: Vec::new(),
            given_up: BTreeMap::new(),
            strangers: BTreeSet::new(),
            seen: BTreeMap::new(),
            confirmed: BTreeMap::new(),
        }
    }

    /// Takes a request into account, whoever sent it.
    pub fn read(&mut self, event: &AuditEvent) {
        let resource = event.resource();
        if event.verb == "create" && resource == self.resource {
            self.read_create(event);
        } else if resource == "runnables.carto.run/status" && event.took_effect() {
            let status = event.response_object.as_ref().map(|it| &it["status"]);
            let current = status.map(|status| &status["currentRun"]);
            let history = status.and_then(|status| status["history"].as_array());
            for entry in current.into_iter().chain(history.into_iter().flatten()) {
                if let (Some(uid), Some(name)) = (entry["uid"].as_str(), entry["name"].as_str()) {
                    self.confirmed.insert(uid.to_owned(), name.to_owned());
                }
            }
        }
    }

    fn read_create(&mut self, event: &AuditEvent) {
        let ours = event.acting_as() == self.maker;
        let answered = event.response_object.as_ref();
        let uid = answered.and_then(|it| it["metadata"]["uid"].as_str());
        if event.took_effect() {
            match (uid, answered) {
                (Some(uid), Some(object)) if ours => {
                    self.answered.push((uid.to_owned(), object.clone()));
                }
                (Some(uid), _) => drop(self.strangers.insert(uid.to_owned())),
                (None, _) => {}
            }
        } else if ours && event.was_given_up() {
            let asked = event.request_object.clone().unwrap_or_default();
            if let Some(name) = asked["metadata"]["name"].as_str() {
                self.given_up.insert(name.to_owned(), asked);
            }
        }
    }

    /// Remembers an object that exists, or has existed.
    pub fn see(&mut self, object: &Value) {
        if let Some(uid) = object["metadata"]["uid"].as_str() {
            self.seen.insert(uid.to_owned(), object.clone());
        }
    }

    /// The runs that were made, each once, by what is known of their objects: first those whose create
    /// was answered, in that order.
    #[must_use]
    pub fn runs(&self) -> Vec<&Value> {
        let mut known: BTreeSet<&str> = self.strangers.iter().map(String::as_str).collect();
        let answered = self.answered.iter().map(|(uid, object)| (uid, object));
        let seen = self.seen.iter().filter(|(_, object)| has_number(object));
        let confirmed = self
            .confirmed
            .iter()
            .filter_map(|(uid, name)| Some((uid, self.given_up.get(name)?)));
        answered
            .chain(seen)
            .chain(confirmed)
            .filter(|(uid, _)| known.insert(uid))
            .map(|(_, object)| object)
            .collect()
    }
}

/// What has no number is the original's, or no run.
fn has_number(object: &Value) -> bool {
    let number = object["metadata"]["labels"]["carto.run/run-sequence"].as_str();
    number
        .and_then(|number| number.parse().ok())
        .is_some_and(|number: i64| number > 0)
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
            "user": { "username": "controller" },
            "objectRef": {
                "resource": "runnables", "subresource": "status", "apiGroup": "carto.run",
                "namespace": "a", "name": "app",
            },
            "responseStatus": { "code": 200 },
            "responseObject": { "status": { "currentRun": entry } },
        });
        serde_json::from_value(event).unwrap()
    }

    fn uids(events: &[AuditEvent], seen: &[Value]) -> Vec<String> {
        let mut evidence = Evidence::of("trials.lab.test", RUNNER);
        for event in events {
            evidence.read(event);
        }
        for object in seen {
            evidence.see(object);
        }
        let uid = |run: &&Value| run["metadata"]["uid"].as_str().unwrap_or("?").to_owned();
        evidence.runs().iter().map(uid).collect()
    }

    #[test]
    fn an_answered_create_is_one_run_however_often_its_object_is_seen() {
        let seen = [run("app-1", "one", "1"), run("app-1", "one", "1")];
        let confirmed = status(&json!({ "name": "app-1", "uid": "one" }));
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
        let confirmed = status(&json!({ "name": "app-1", "uid": "one" }));
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
        let confirmed = status(&json!({ "name": "app-1", "uid": "one" }));
        let events = [events.as_slice(), &[confirmed]].concat();
        assert_eq!(uids(&events, &[run("app-1", "one", "1")]), [""; 0]);
        for number in ["", "0", "-1", "x"] {
            assert_eq!(uids(&[], &[run("app-2", "two", number)]), [""; 0]);
        }
    }
}
