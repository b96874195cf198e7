//! Approvals, against a server that plays an API server whose objects change meanwhile.

mod reject;

use crate::support::{
    cartouche,
    played::{Played, Request},
};
use serde_json::{Value, json};

const FORBIDDEN: &str = "clusterruntemplates.carto.run \"greet\" is forbidden: User \"bob\" cannot get resource \"clusterruntemplates\"";

/// State and behaviour of the server.
#[derive(Clone)]
struct Server {
    /// Approval that the status of the Runnable asks for.
    asked: Option<String>,
    /// Approval in the annotation of the Runnable.
    given: Option<String>,
    /// Rejected approval in the annotation of the Runnable.
    rejected: Option<String>,
    approval: &'static str,
    /// The code and message of the refusal of each patch.
    refused: Option<(u16, &'static str)>,
    template_is_readable: bool,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            asked: None,
            given: None,
            rejected: None,
            approval: "Manual",
            refused: None,
            template_is_readable: true,
        }
    }
}

fn status(code: u16, message: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "message": message, "reason": "R" })
}

impl Server {
    fn runnable(&self, name: &str) -> Value {
        let mut runnable = json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
            "metadata": {
                "name": name, "namespace": "demo", "uid": "1", "generation": 1, "resourceVersion": "7",
                "annotations": {},
            },
            "spec": { "runTemplateRef": { "name": "greet" }, "inputs": { "name": "world" } },
            "status": { "observedGeneration": 1, "conditions": [] },
        });
        if let Some(asked) = &self.asked {
            let (_, hash) = asked.split_once(':').unwrap();
            runnable["status"]["pending"] = json!({
                "sequence": 1, "inputHash": hash, "reason": "ApprovalRequired", "approval": asked,
                "since": "2026-01-01T00:00:00Z", "dryRun": "refused: jobs \"hello\" is forbidden: quota",
            });
        }
        if let Some(given) = &self.given {
            runnable["metadata"]["annotations"]["carto.run/approved"] = json!(given);
        }
        if let Some(rejected) = &self.rejected {
            let no = json!({ "approval": rejected, "reason": "no" }).to_string();
            runnable["metadata"]["annotations"]["carto.run/rejected"] = json!(no);
        }
        runnable
    }

    fn template(&self) -> Value {
        if !self.template_is_readable {
            return status(403, FORBIDDEN);
        }
        json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunTemplate", "metadata": { "name": "greet" },
            "spec": { "approval": self.approval, "template": {
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "hello-" },
                "data": { "greeting": "Hello, $(runnable.spec.inputs.name)$!" },
            } },
        })
    }

    fn serve(self) -> Played {
        Played::serve(move |request: &Request| {
            let path = request.path.split('?').next().unwrap_or_default();
            let name = path.rsplit('/').next().unwrap_or_default();
            let list = json!({
                "apiVersion": "carto.run/v1alpha1", "kind": "RunnableList", "metadata": {},
                "items": [self.runnable("hello")],
            });
            match (request.method.as_str(), name) {
                ("PATCH", _) if self.refused.is_some() => {
                    self.refused.map(|(code, message)| status(code, message))
                }
                (_, "hello" | "world") => Some(self.runnable(name)),
                ("GET", "runnables") => Some(list),
                ("GET", "greet") => Some(self.template()),
                _ => None,
            }
        })
    }

    /// Sets the requested approval to that of the rendered run, as the controller has it.
    fn asking(mut self) -> Self {
        self.asked = Some(of_what_is_rendered());
        self
    }
}

/// Returns number and hash of the run that `cartouche diff` would show.
fn of_what_is_rendered() -> String {
    let diff = Server::default().serve().cartouche(&["diff", "hello"]);
    let hash = diff.out.rsplit_once('(').unwrap().1;
    format!("1:{}", hash.trim_end().trim_end_matches(')'))
}

#[test]
fn what_is_approved_is_what_was_shown_of_the_runnable_as_it_was_read() {
    let played = Server::default().asking().serve();
    let done = played.cartouche(&["approve", "hello", "--yes"]);
    let approval = of_what_is_rendered();
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(
        done.out,
        format!("run 1 of hello is approved: {approval}\n")
    );
    for part in [
        "Runnable demo/hello:\n",
        "+   greeting: Hello, world!\n",
        "this would be run 1 (v1:",
        "the API server would refuse it (dry run ",
        "is forbidden: quota (`cartouche diff hello --server-dry-run` checks it again)",
    ] {
        assert!(done.err.contains(part), "{part}: {}", done.err);
    }
    let patches = played.asked("PATCH");
    let patch: Value = serde_json::from_str(&patches[0].body).unwrap();
    let written = json!({ "metadata": {
        "resourceVersion": "7", "annotations": { "carto.run/approved": approval },
    } });
    assert_eq!((patches.len(), patch), (1, written));
}

#[test]
fn without_a_terminal_nobody_is_asked_and_nothing_is_approved() {
    let played = Server::default().asking().serve();
    let refused = played.cartouche(&["approve", "hello"]);
    assert_eq!((refused.code, refused.out.as_str()), (2, ""));
    let exactly = format!(
        "`cartouche approve hello --approval {}`",
        of_what_is_rendered()
    );
    assert!(refused.err.contains(&exactly), "{}", refused.err);
    assert!(refused.err.contains("--yes"), "{}", refused.err);
    assert!(played.asked("PATCH").is_empty());
}

#[test]
fn another_run_than_the_controller_asks_about_is_not_approved() {
    for asked in [Some("1:v1:0".to_owned()), None] {
        let server = Server {
            asked,
            ..Server::default()
        };
        let played = server.serve();
        let refused = played.cartouche(&["approve", "hello", "--yes"]);
        assert_eq!(refused.code, 2, "{}{}", refused.out, refused.err);
        assert!(
            refused.err.contains("nothing is approved"),
            "{}",
            refused.err
        );
        assert!(refused.err.contains("wait a moment"), "{}", refused.err);
        assert!(played.asked("PATCH").is_empty());
    }
}

#[test]
fn without_the_template_a_status_says_that_no_run_waits() {
    let server = Server {
        template_is_readable: false,
        ..Server::default()
    };
    let said = server.serve().cartouche(&["approve", "hello", "--yes"]);
    assert_eq!(said.code, 0, "{}", said.err);
    let none = "nothing to approve: by its status, hello does not wait for approval";
    assert!(said.out.starts_with(none), "{}", said.out);
}

#[test]
fn what_cannot_be_shown_is_approved_only_by_its_value_or_by_the_word_of_the_status() {
    let server = Server {
        template_is_readable: false,
        ..Server::default().asking()
    };
    let played = server.serve();
    let refused = played.cartouche(&["approve", "hello", "--yes"]);
    assert_eq!(refused.code, 2);
    for part in [
        FORBIDDEN,
        "a run that cannot be shown is not approved",
        "--approval NUMBER:HASH",
    ] {
        assert!(refused.err.contains(part), "{part}: {}", refused.err);
    }
    let other = ["approve", "hello", "--approval", "2:v1:0"];
    let other = played.cartouche(&other);
    assert_eq!(other.code, 2);
    assert!(
        other
            .err
            .contains("2:v1:0 is not the run of hello that waits"),
        "{}",
        other.err
    );
    assert!(played.asked("PATCH").is_empty());
    let approval = of_what_is_rendered();
    let given = played.cartouche(&["approve", "hello", "--approval", &approval]);
    assert_eq!(
        given.out,
        format!("run 1 of hello is approved: {approval}\n"),
        "{}",
        given.err
    );
    assert_eq!(played.asked("PATCH").len(), 1);
    let by_its_word = played.cartouche(&["approve", "hello", "--unverified", "--yes"]);
    assert_eq!(
        by_its_word.out,
        format!("run 1 of hello is approved: {approval} (not verified)\n"),
        "{}",
        by_its_word.err
    );
    let shown = format!(
        "not verified: by the status, {approval} waits for approval; the run is not shown: reading \
         ClusterRunTemplate greet needs a permission that you lack: the ClusterRole cartouche-templates-view has it\n"
    );
    for part in ["+ inputs:\n", "+   name: world\n", &shown] {
        assert!(
            by_its_word.err.contains(part),
            "{part}: {}",
            by_its_word.err
        );
    }
    assert_eq!(played.asked("PATCH").len(), 2);
    let part = played.cartouche(&["approve", "hello", "--approval", "4"]);
    assert_eq!(part.code, 2);
    assert!(part.err.contains("<number>:<hash>"), "{}", part.err);
}

#[test]
fn what_was_approved_and_waits_no_more_is_not_approved_again() {
    let earlier = "1:v1:0";
    for asked in [Some(of_what_is_rendered()), None] {
        let server = Server {
            asked,
            given: Some(earlier.to_owned()),
            ..Server::default()
        };
        let played = server.serve();
        let said = played.cartouche(&["approve", "hello", "--approval", earlier]);
        assert_eq!((said.code, said.out.as_str()), (2, ""), "{}", said.err);
        assert!(said.err.contains("nothing is approved"), "{}", said.err);
        assert!(played.asked("PATCH").is_empty());
    }
}

#[test]
fn a_refused_write_says_what_to_do() {
    let right = "ask for the permission `update` on `runnables/approval`";
    let policy = "runnables.carto.run \"hello\" is forbidden: ValidatingAdmissionPolicy 'a' with binding 'a' denied request: needs update on runnables/approval";
    for (refused, part) in [
        ((409, "modified"), "repeat `cartouche approve hello`"),
        ((422, policy), right),
    ] {
        let server = Server {
            refused: Some(refused),
            ..Server::default().asking()
        };
        let done = server.serve().cartouche(&["approve", "hello", "--yes"]);
        assert_eq!((done.code, done.out.as_str()), (2, ""));
        assert!(done.err.contains(part), "{}", done.err);
    }
}

#[test]
fn programs_are_told_what_is_approved() {
    let approval = of_what_is_rendered();
    let (_, hash) = approval.split_once(':').unwrap();
    let answer = |server: Server, arguments: &[&str], code: i32| -> Value {
        let done = server
            .serve()
            .cartouche(&[arguments, &["-o", "json"]].concat());
        assert_eq!(done.code, code, "{}{}", done.out, done.err);
        serde_json::from_str(&done.out).unwrap()
    };
    let waits = || Server::default().asking();
    let approved = json!([{
        "namespace": "demo", "name": "hello", "sequence": 1, "inputHash": hash, "approval": approval,
        "approved": true, "unverified": [], "message": format!("run 1 of hello is approved: {approval}"),
    }]);
    assert_eq!(answer(waits(), &["approve", "hello", "--yes"], 0), approved);
    assert_eq!(answer(waits(), &["approve", "--all", "--yes"], 0), approved);
    let tried = answer(waits(), &["approve", "hello", "--dry-run"], 0);
    assert_eq!(
        (&tried[0]["approved"], &tried[0]["approval"]),
        (&json!(false), &json!(approval))
    );
    let nothing = answer(
        Server {
            approval: "Automatic",
            ..Server::default()
        },
        &["approve", "hello"],
        0,
    );
    assert_eq!(
        (&nothing[0]["approved"], &nothing[0]["approval"]),
        (&json!(false), &Value::Null)
    );
    let given = Server {
        given: Some(approval.clone()),
        ..waits()
    };
    let given = answer(given, &["approve", "hello"], 0);
    assert_eq!(given[0]["approved"], true);
    let none = answer(Server::default(), &["approve", "--all"], 0);
    assert_eq!(none, json!([]));
    let some = answer(waits(), &["approve", "hello", "lost", "--yes"], 2);
    assert_eq!(
        (&some[0]["approved"], &some[1]["approved"]),
        (&json!(true), &json!(false))
    );
}

#[test]
fn each_of_several_is_shown_and_told_by_itself() {
    let played = Server::default().asking().serve();
    let both = played.cartouche(&[
        "approve",
        "hello",
        "runnable/world",
        "hello",
        "lost",
        "--yes",
    ]);
    assert_eq!(both.code, 2);
    assert!(
        both.out.contains("run 1 of hello is approved"),
        "{}{}",
        both.out,
        both.err
    );
    assert!(
        both.err.contains("lost: there is no Runnable lost"),
        "{}",
        both.err
    );
    assert!(
        both.out.contains("run 1 of world is approved"),
        "{}",
        both.err
    );
    assert!(both.err.ends_with("1 of 3 failed\n"), "{}", both.err);
    let one_value = ["approve", "hello", "world", "--approval", "1:v1:0"];
    let one_value = played.cartouche(&one_value);
    assert_eq!(one_value.code, 2);
    assert!(
        one_value.err.contains("name only the Runnable of that run"),
        "{}",
        one_value.err
    );
}

#[test]
fn somebody_has_to_be_named() {
    let none = cartouche(&["approve"]);
    assert_eq!(none.code, 2);
}
