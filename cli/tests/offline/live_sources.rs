//! Inputs from `ConfigMaps` and Secrets as the user reads them, against a server that plays an API server.

mod chain;

use std::io::Write as _;

use crate::support::{
    Output,
    played::{Played, Request},
};
use serde_json::{Value, json};

/// The password of the Secret, and its base64.
const PASSWORD: [&str; 2] = ["hunter2", "aHVudGVyMg=="];

/// Objects of the server.
#[derive(Clone)]
struct Server {
    /// The Secret in base64; none where it may not be read, and empty where it is not there.
    password: Option<&'static str>,
    size: Option<&'static str>,
    reads_password: bool,
    /// True if there is a run with another hash.
    has_run: bool,
    /// Approval that the status asks for.
    asked: Option<String>,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            password: Some(PASSWORD[1]),
            size: Some("small"),
            reads_password: true,
            has_run: true,
            asked: None,
        }
    }
}

fn forbidden(resource: &str) -> Value {
    let message =
        format!("{resource} \"x\" is forbidden: User \"bob\" cannot get resource \"{resource}\"");
    json!({ "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 403, "message": message, "reason": "R" })
}

impl Server {
    fn runnable(&self) -> Value {
        let mut status = json!({ "observedGeneration": 1, "conditions": [] });
        if self.has_run {
            status["currentRun"] = json!({
                "sequence": 1, "inputHash": "v1:0", "phase": "Created",
                "apiVersion": "v1", "kind": "ConfigMap", "name": "hello-1",
            });
        }
        if let Some(asked) = &self.asked {
            status["pending"] = json!({
                "sequence": 2, "inputHash": asked, "reason": "ApprovalRequired", "approval": asked,
                "since": "2026-01-01T00:00:00Z",
            });
        }
        json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
            "metadata": {
                "name": "hello", "namespace": "demo", "uid": "1", "generation": 1, "resourceVersion": "7",
            },
            "spec": {
                "runTemplateRef": { "name": "greet" },
                "inputsFrom": [
                    { "name": "size", "configMapKeyRef": { "name": "sizes", "key": "a" } },
                    { "name": "password", "secretKeyRef": { "name": "db", "key": "password" } },
                ],
            },
            "status": status,
        })
    }

    fn template(&self) -> Value {
        let password = if self.reads_password {
            "$(runnable.spec.inputs.password.name)$"
        } else {
            "none"
        };
        json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunTemplate", "metadata": { "name": "greet" },
            "spec": { "approval": "Manual", "template": {
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "hello-" },
                "data": { "size": "$(runnable.spec.inputs.size)$", "password": password },
            } },
        })
    }

    fn serve(self) -> Played {
        Played::serve(move |request: &Request| {
            let path = request.path.split('?').next().unwrap_or_default();
            match path.rsplit('/').next().unwrap_or_default() {
                "hello" => Some(self.runnable()),
                "greet" => Some(self.template()),
                "db" if self.password == Some("") => None,
                "db" => Some(match self.password {
                    None => forbidden("secrets"),
                    Some(password) => json!({
                        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "db", "uid": "u" },
                        "data": { "password": password, "other": PASSWORD[1] },
                    }),
                }),
                "sizes" => match self.size {
                    None => Some(forbidden("configmaps")),
                    Some("") => None,
                    Some(size) => Some(json!({
                        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "sizes" },
                        "data": { "a": size },
                    })),
                },
                _ => None,
            }
        })
    }

    /// Runs a command, and asserts that its output never holds the value of the Secret.
    fn run(&self, arguments: &[&str]) -> Output {
        let output = self.clone().serve().cartouche(arguments);
        let all = format!("{}{}", output.out, output.err);
        assert!(!PASSWORD.iter().any(|it| all.contains(it)), "{all}");
        output
    }

    /// Returns the hash that a diff shows.
    fn hash(&self) -> String {
        let out = self.run(&["diff", "hello"]).out;
        let (_, hash) = out.rsplit_once('(').unwrap();
        hash.trim_end().trim_end_matches(')').to_owned()
    }

    fn without_right(&self) -> Self {
        Self {
            password: None,
            ..self.clone()
        }
    }
}

const UNTOLD: &str = "you may not read the Secret db, so it is unknown if it has changed";

#[test]
fn what_the_secret_holds_is_part_of_the_hash_of_what_reads_it() {
    let server = Server::default();
    let diff = server.run(&["diff", "hello"]);
    assert_eq!(diff.code, 1, "{}", diff.err);
    assert!(
        diff.out.contains("this would be run 2 (v1:"),
        "{}",
        diff.out
    );
    let with = |password, reads_password| Server {
        password,
        reads_password,
        ..Server::default()
    };
    assert_ne!(server.hash(), with(Some("eA=="), true).hash());
    let unread = with(Some("eA=="), false).hash();
    assert_eq!(unread, with(Some(PASSWORD[1]), false).hash());
    // An unused source needs no right.
    assert_eq!(unread, with(None, false).hash());
}

#[test]
fn who_may_not_read_the_secret_sees_the_document_and_no_hash() {
    let server = Server::default().without_right();
    let diff = server.run(&["diff", "hello"]);
    assert_eq!(diff.code, 2, "{}{}", diff.out, diff.err);
    let verdict =
        format!("{UNTOLD}: if so, or if the rendered object differs, this would be run 2\n");
    assert!(diff.out.ends_with(&verdict), "{}", diff.out);
    assert!(!diff.out.contains("v1:"), "{}", diff.out);
    let json = server.run(&["diff", "hello", "-o", "json"]);
    assert_eq!(json.code, 2);
    let all: Value = serde_json::from_str(&json.out).unwrap();
    let told = (
        &all[0]["wouldRun"],
        &all[0]["inputHash"],
        &all[0]["sequence"],
    );
    assert_eq!(told, (&Value::Null, &Value::Null, &json!(2)));
    let markdown = server.run(&["diff", "hello", "-o", "markdown"]);
    assert!(
        markdown.out.starts_with("**0 of 1 Runnable would run**\n"),
        "{}",
        markdown.out
    );
    assert!(
        markdown.out.contains(&format!("`: `{UNTOLD}")),
        "{}",
        markdown.out
    );
    let rendered = server.run(&["render", "--cluster", "-r", "hello"]);
    assert!(
        rendered.out.contains(&format!("# {UNTOLD}\n")),
        "{}",
        rendered.out
    );
    assert!(
        rendered.out.contains("size: small") && !rendered.out.contains("v1:"),
        "{}",
        rendered.out
    );
    let why = server.run(&["why", "hello"]);
    assert!(why.out.contains(UNTOLD), "{}{}", why.out, why.err);
}

#[test]
fn a_first_run_is_due_whatever_the_secret_holds() {
    let server = Server {
        has_run: false,
        ..Server::default().without_right()
    };
    let diff = server.run(&["diff", "hello"]);
    assert_eq!(diff.code, 1, "{}", diff.err);
    let told = format!("there was no run yet\n{UNTOLD}\nthis would be run 1\n");
    assert!(diff.out.ends_with(&told), "{}", diff.out);
    assert!(diff.out.contains("+   size: small\n"), "{}", diff.out);
}

#[test]
fn what_inputs_come_from_has_to_be_there_and_readable() {
    for (size, told) in [
        (None, "reading ConfigMap sizes: "),
        (
            Some(""),
            "input size comes from ConfigMap sizes, which is not there",
        ),
    ] {
        let server = Server {
            size,
            ..Server::default()
        };
        let diff = server.run(&["diff", "hello"]);
        assert_eq!((diff.code, diff.out.as_str()), (2, ""));
        assert!(
            diff.err.contains(told) && diff.err.contains("hint: "),
            "{}",
            diff.err
        );
    }
}

#[test]
fn a_config_map_that_is_to_be_applied_counts_as_it_will_be() {
    let mut file = tempfile::Builder::new().suffix(".yaml").tempfile().unwrap();
    let secret =
        "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData: {password: hunter2}\n";
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: sizes}\ndata: {a: large}\n";
    write!(file, "{map}---\n{secret}").unwrap();
    let path = file.path().display().to_string();
    let server = Server::default();
    let with_files = server.run(&["diff", "hello", "-f", &path]);
    let large = Server {
        size: Some("large"),
        ..server
    };
    // The Secret of the file holds what the live one does, and has its uid.
    assert_eq!(with_files.out, large.run(&["diff", "hello"]).out);
    let unborn = Server {
        password: Some(""),
        ..large
    };
    let missing = unborn.run(&["diff", "hello"]);
    assert_eq!(missing.code, 2);
    assert!(
        missing.err.contains("Secret db, which is not there"),
        "{}",
        missing.err
    );
    let created = unborn.run(&["diff", "hello", "-f", &path]);
    assert_eq!(created.code, 1, "{}", created.err);
    assert!(
        created.out.contains("so the hash on the cluster differs"),
        "{}",
        created.out
    );
}

#[test]
fn a_run_whose_hash_cannot_be_known_is_not_approved() {
    let asked = format!("2:{}", Server::default().hash());
    let asking = Server {
        asked: Some(asked.clone()),
        ..Server::default()
    };
    let approved = asking.run(&["approve", "hello", "--yes"]);
    assert_eq!(
        approved.out,
        format!("run 2 of hello is approved: {asked}\n"),
        "{}",
        approved.err
    );
    let played = asking.without_right().serve();
    let refused = played.cartouche(&["approve", "hello", "--yes"]);
    assert_eq!((refused.code, refused.out.as_str()), (2, ""));
    for part in [
        UNTOLD,
        "nothing is approved",
        "`cartouche diff hello` shows it",
        "--approval NUMBER:HASH",
    ] {
        assert!(refused.err.contains(part), "{part}: {}", refused.err);
    }
    assert!(played.asked("PATCH").is_empty());
    let without_right = asking.without_right();
    let unverified = without_right.run(&["approve", "hello", "--unverified", "--yes"]);
    assert_eq!(
        unverified.out,
        format!("run 2 of hello is approved: {asked} (not verified)\n"),
        "{}",
        unverified.err
    );
    for part in [
        "+   size: small\n",
        UNTOLD,
        &format!("not verified: by the status, {asked} waits for approval"),
    ] {
        assert!(unverified.err.contains(part), "{part}: {}", unverified.err);
    }
    let json = without_right.run(&[
        "approve",
        "hello",
        "--unverified",
        "--dry-run",
        "-o",
        "json",
    ]);
    let all: Value = serde_json::from_str(&json.out).unwrap();
    let told = (
        &all[0]["approval"],
        &all[0]["approved"],
        &all[0]["unverified"],
    );
    assert_eq!(told, (&json!(asked), &json!(false), &json!(["db"])));
    // Without a terminal there is no prompt: the error names the exact approval.
    let alone = without_right.run(&["approve", "hello", "--unverified"]);
    assert_eq!((alone.code, alone.out.as_str()), (2, ""));
    let exactly = format!("approve hello --approval {asked}");
    assert!(alone.err.contains(&exactly), "{}", alone.err);
    // The command verifies what it can, despite the flag.
    let other = Server {
        asked: Some("2:v1:0".to_owned()),
        ..Server::default()
    };
    let other = other.run(&["approve", "hello", "--unverified", "--yes"]);
    assert_eq!(other.code, 2, "{}{}", other.out, other.err);
    // A user who may read it has reviewed it.
    let given = played.cartouche(&["approve", "hello", "--approval", &asked]);
    assert_eq!(given.code, 0, "{}", given.err);
}
