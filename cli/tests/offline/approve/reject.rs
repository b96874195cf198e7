//! `approve --reject`: runs that a user refuses.

use serde_json::{Value, json};

use super::{Server, of_what_is_rendered};
use crate::support::played::Played;

/// Returns the patches of a call.
fn written(played: &Played) -> Vec<Value> {
    let patches = played.asked("PATCH");
    let bodies = patches.iter();
    let bodies = bodies.map(|patch| serde_json::from_str(&patch.body).unwrap());
    bodies.collect()
}

#[test]
fn what_waits_is_refused_with_the_words_of_a_person() {
    let approval = of_what_is_rendered();
    let told = format!("run 1 of hello is rejected: {approval}\n");
    let reject = [
        "approve",
        "hello",
        "--reject",
        "--reason",
        " not before \"Monday\" ",
    ];
    let exactly = [&reject[..], &["--approval", &approval]].concat();
    for arguments in [&reject[..], &exactly] {
        // An approval that the controller has not read yet is removed with it.
        let server = Server {
            given: Some(approval.clone()),
            ..Server::default().asking()
        };
        let played = server.serve();
        let done = played.cartouche(arguments);
        assert_eq!((done.code, &done.out), (0, &told), "{}", done.err);
        let [patch] = written(&played).try_into().unwrap();
        let annotations = &patch["metadata"]["annotations"];
        assert_eq!(annotations["carto.run/approved"], Value::Null);
        assert_eq!(annotations.as_object().unwrap().len(), 2);
        let no = annotations["carto.run/rejected"].as_str().unwrap();
        let no: Value = serde_json::from_str(no).unwrap();
        assert_eq!(no["approval"], approval);
        assert_eq!(no["reason"], "not before \"Monday\"");
        assert_eq!(patch["metadata"]["resourceVersion"], "7");
    }
}

#[test]
fn nothing_is_refused_but_what_waits_and_not_without_words() {
    let words = ["--reason", "no"];
    let long = "x".repeat(1_025);
    for (server, arguments, code) in [
        (Server::default(), &words[..], 2),
        (
            Server::default().asking(),
            &["--reason", "no", "--approval", "1:v1:0"],
            2,
        ),
        (Server::default().asking(), &["--reason", " "], 2),
        (Server::default().asking(), &["--reason", &long], 2),
        (Server::default().asking(), &[], 2),
        (
            Server::default().asking(),
            &["--reason", "no", "--dry-run"],
            0,
        ),
    ] {
        let played = server.serve();
        let said = played.cartouche(&[&["approve", "hello", "--reject"], arguments].concat());
        assert_eq!(said.code, code, "{arguments:?}: {}{}", said.out, said.err);
        assert!(played.asked("PATCH").is_empty(), "{arguments:?}");
    }
}

#[test]
fn what_was_refused_is_approved_after_all_by_whoever_names_it() {
    let approval = of_what_is_rendered();
    let refused = || Server {
        rejected: Some(approval.clone()),
        // By hand, beside it.
        given: Some(approval.clone()),
        ..Server::default().asking()
    };
    for arguments in [&["--yes"][..], &["--approval", &approval]] {
        let played = refused().serve();
        let done = played.cartouche(&[&["approve", "hello"], arguments].concat());
        assert_eq!(done.code, 0, "{}", done.err);
        let [patch] = written(&played).try_into().unwrap();
        let written = json!({ "carto.run/approved": approval, "carto.run/rejected": null });
        assert_eq!(patch["metadata"]["annotations"], written);
    }
}
