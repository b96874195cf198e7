//! `cartouche get`, against a server that plays an API server.

use std::{
    process::Stdio,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use crate::support::{
    self, cartouche,
    played::{Played, Request},
};
use serde_json::json;

#[test]
fn names_are_of_one_namespace() {
    let refused = cartouche(&["get", "hello", "-A"]);
    assert_eq!(refused.code, 2);
    let told = "'[NAMES]...' cannot be used with '--all-namespaces'";
    assert!(refused.err.contains(told), "{}", refused.err);
}

#[test]
fn an_interruption_is_told_once_however_often_it_is_tried_again() {
    let lists = AtomicUsize::new(0);
    let played = Played::serve(move |_: &Request| {
        let is_first = lists.fetch_add(1, Ordering::SeqCst) == 0;
        is_first.then(|| {
            json!({ "apiVersion": "carto.run/v1alpha1", "kind": "RunnableList", "metadata": {}, "items": [] })
        })
    });
    let mut command = played.command(&["get", "--watch"]);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    while played.asked("GET").len() < 4 {
        std::thread::sleep(Duration::from_millis(50));
    }
    std::thread::sleep(Duration::from_millis(200));
    child.kill().unwrap();
    child.wait().unwrap();
    let err = support::errors_of(&mut child);
    assert_eq!(err.matches("the command tries again").count(), 1, "{err}");
}

#[test]
fn a_context_that_there_is_not_is_named() {
    let kubeconfig = support::played::kubeconfig(1);
    let path = kubeconfig.path().to_str().unwrap();
    let refused = cartouche(&["get", "--kubeconfig", path, "--context", "prod"]);
    assert_eq!(refused.code, 2);
    let told = "error: there is no context \"prod\" in the kubeconfig\n";
    assert!(refused.err.starts_with(told), "{}", refused.err);
    assert!(refused.err.contains("kubectl config get-contexts"));
}

#[test]
fn a_namespace_that_there_is_not_is_told_if_that_may_be_known() {
    let list = json!({ "apiVersion": "carto.run/v1alpha1", "kind": "RunnableList", "metadata": {}, "items": [] });
    let answered = |namespace: Option<serde_json::Value>| {
        let list = list.clone();
        Played::serve(move |request: &Request| {
            if request.path.starts_with("/api/v1/namespaces/nosuch") {
                return namespace.clone();
            }
            Some(list.clone())
        })
    };
    let absent = answered(None).cartouche(&["get", "-n", "nosuch"]);
    assert_eq!((absent.code, absent.out.as_str()), (2, ""));
    let told = "error: there is no namespace nosuch\n";
    assert!(absent.err.starts_with(told), "{}", absent.err);
    let forbidden =
        json!({ "kind": "Status", "code": 403, "message": "no", "reason": "Forbidden" });
    let there =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "nosuch" } });
    for namespace in [forbidden, there] {
        let empty = answered(Some(namespace)).cartouche(&["get", "-n", "nosuch"]);
        assert_eq!(empty.code, 0, "{}", empty.err);
        assert_eq!(
            empty.err,
            "there are no Runnables in the namespace nosuch\n"
        );
    }
}
