//! `cartouche logs --follow` against a server that plays an API server with a kubelet: the control plane of the
//! tests has none that would print anything.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use crate::support::{
    self,
    played::{self, kubeconfig},
};
use serde_json::{Value, json};

/// A cluster with a Runnable whose run prints a line, continues, and prints another one when it has to end. It may have
/// stages before that, in which it prints nothing.
#[derive(Clone, Default)]
struct Played {
    ending: Arc<AtomicBool>,
    /// The pods of each stage; after the last one the pod runs.
    before: Arc<Vec<Value>>,
    stage: Arc<AtomicUsize>,
}

impl Played {
    /// Serves on a port of its own, until the test ends.
    fn serve(&self) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let played = self.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let played = played.clone();
                std::thread::spawn(move || played.answer(stream));
            }
        });
        port
    }

    fn answer(&self, mut stream: TcpStream) {
        let mut request = String::new();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        reader.read_line(&mut request).unwrap();
        let mut header = String::from("x");
        while !header.trim().is_empty() {
            header.clear();
            reader.read_line(&mut header).unwrap();
        }
        let path = request.split(' ').nth(1).unwrap_or_default();
        if path.contains("/pods/hello-x-abc/log?") {
            assert!(path.contains("follow=true"), "{path}");
            self.print(&mut stream);
            return;
        }
        let (status, body) = match path {
            _ if path.ends_with("/runnables/hello") => ("200 OK", self.runnable()),
            _ if path.contains("/pods?") => ("200 OK", self.pods()),
            _ => (
                "404 Not Found",
                json!({ "kind": "Status", "status": "Failure", "code": 404, "message": path }),
            ),
        };
        let body = body.to_string();
        let _ = write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
    }

    fn print(&self, stream: &mut TcpStream) {
        let _ = write!(
            stream,
            "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nfirst line\n"
        );
        let _ = stream.flush();
        while !self.ending.load(Ordering::SeqCst) {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let _ = stream.write_all(b"last line\n");
    }

    fn pods(&self) -> Value {
        let stage = self.stage.load(Ordering::SeqCst);
        let items = self.before.get(stage).cloned().unwrap_or_else(running);
        json!({ "apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": items })
    }

    fn runnable(&self) -> Value {
        let mut run = json!({
            "sequence": 1, "inputHash": "v1:0", "phase": "Created", "attempted": true,
            "apiVersion": "batch/v1", "kind": "Job", "name": "hello-x", "uid": "1",
        });
        if self.ending.load(Ordering::SeqCst) {
            run["result"] = "Succeeded".into();
        }
        json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
            "metadata": { "name": "hello", "namespace": "demo", "uid": "u" },
            "spec": { "runTemplateRef": { "name": "greet" } },
            "status": { "currentRun": run },
        })
    }
}

fn running() -> Value {
    pod(&json!({ "containerStatuses": [container(&json!({ "running": {} }))] }))
}

fn owner(kind: &str, uid: &str) -> Value {
    let group = if kind == "Job" {
        "batch/v1"
    } else {
        "tekton.dev/v1"
    };
    json!({ "apiVersion": group, "kind": kind, "name": format!("hello-{uid}"), "uid": uid, "controller": true })
}

fn container(state: &Value) -> Value {
    json!({ "name": "greet", "image": "", "imageID": "", "ready": true, "restartCount": 0, "state": state })
}

fn pod(status: &Value) -> Value {
    json!([{
        "metadata": { "name": "hello-x-abc", "labels": { "controller-uid": "1" }, "ownerReferences": [owner("Job", "1")] },
        "spec": { "containers": [{ "name": "greet" }] },
        "status": status,
    }])
}

fn waiting(reason: &str, message: &str) -> Value {
    let state = json!({ "waiting": { "reason": reason, "message": message } });
    pod(&json!({ "phase": "Pending", "containerStatuses": [container(&state)] }))
}

#[test]
fn lines_are_printed_as_they_come_and_the_end_of_the_run_is_the_end() {
    let played = Played::default();
    let config = kubeconfig(played.serve());
    let folder = support::repository();
    let mut command = support::command(&folder, &["logs", "hello", "--follow"]);
    let mut child = command
        .env("KUBECONFIG", config.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(
        lines.next().unwrap().unwrap(),
        "[hello-x-abc/greet] first line"
    );
    // It is printed although the run continues: only now does it end.
    assert!(child.try_wait().unwrap().is_none());
    played.ending.store(true, Ordering::SeqCst);
    assert_eq!(
        lines.next().unwrap().unwrap(),
        "[hello-x-abc/greet] last line"
    );
    assert!(lines.next().is_none());
    let status = child.wait().unwrap();
    let err = support::errors_of(&mut child);
    assert!(status.success(), "{err}");
    assert_eq!(err, "");
}

#[test]
fn it_is_told_what_a_pod_waits_for_once_for_each_reason() {
    let unscheduled = pod(&json!({ "phase": "Pending", "conditions": [{
        "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no node has room",
    }] }));
    let played = Played {
        before: Arc::new(vec![
            json!([]),
            unscheduled,
            waiting("ImagePullBackOff", "10 s"),
            // The same in other words.
            waiting("ImagePullBackOff", "20 s"),
        ]),
        ..Played::default()
    };
    let config = kubeconfig(played.serve());
    let mut command = support::command(&support::repository(), &["logs", "hello", "--follow"]);
    let mut child = command
        .env("KUBECONFIG", config.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines();
    for line in [
        "there is no pod of Job hello-x yet",
        "pod hello-x-abc waits: not scheduled: Unschedulable: no node has room",
        "pod hello-x-abc waits: container greet: ImagePullBackOff: 10 s",
    ] {
        assert_eq!(told.next().unwrap().unwrap(), line);
        played.stage.fetch_add(1, Ordering::SeqCst);
    }
    // It is polled once a second: there is time to print it again.
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    played.stage.fetch_add(1, Ordering::SeqCst);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert_eq!(first, "[hello-x-abc/greet] first line");
    played.ending.store(true, Ordering::SeqCst);
    assert!(child.wait().unwrap().success());
    let more: Vec<String> = told.map(Result::unwrap).collect();
    assert!(more.is_empty(), "{more:?}");
}

#[test]
fn without_following_it_is_told_why_there_is_nothing_to_print() {
    let played = |pods: Value| {
        let before = Arc::new(vec![pods]);
        let played = Played {
            before,
            ..Played::default()
        };
        let config = kubeconfig(played.serve());
        let mut command = support::command(&support::repository(), &["logs", "hello"]);
        support::finish(command.env("KUBECONFIG", config.path()))
    };
    let pulling = played(waiting("ErrImagePull", "no such image"));
    assert_eq!((pulling.code, pulling.out.as_str()), (1, ""));
    // The container is not asked for a log that it cannot have.
    let told = "pod hello-x-abc waits: container greet: ErrImagePull: no such image\n";
    assert_eq!(pulling.err, told);
    let none = played(json!([]));
    assert_eq!(none.code, 2);
    assert!(
        none.err.contains("there is no pod of Job hello-x yet"),
        "{}",
        none.err
    );
}

/// A pod with the label of a run, and with an owner.
fn owned(name: &str, owner: &Value) -> Value {
    json!({
        "metadata": { "name": name, "labels": { "controller-uid": owner["uid"] }, "ownerReferences": [owner] },
        "spec": { "containers": [{ "name": "greet" }] },
        "status": { "phase": "Running", "containerStatuses": [container(&json!({ "running": {} }))] },
    })
}

/// A cluster whose Runnable has a run of a kind, with pods, and with `TaskRuns` if they may be listed.
fn with_pods(
    api_version: &str,
    kind: &str,
    pods: Value,
    task_runs: Option<Value>,
) -> played::Played {
    let run = json!({
        "sequence": 1, "inputHash": "v1:0", "phase": "Created", "attempted": true,
        "apiVersion": api_version, "kind": kind, "name": "hello-x", "uid": "1",
    });
    let runnable = json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
        "metadata": { "name": "hello", "namespace": "demo", "uid": "u" },
        "spec": { "runTemplateRef": { "name": "greet" } },
        "status": { "currentRun": run },
    });
    played::Played::serve(move |request| {
        let path = request.path.split('?').next().unwrap_or_default();
        if path.ends_with("/log") {
            return Some(json!("a line"));
        }
        match path.rsplit('/').next().unwrap_or_default() {
            "hello" => Some(runnable.clone()),
            "pods" => {
                Some(json!({ "apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": pods }))
            }
            "v1" => Some(json!({
                "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "tekton.dev/v1",
                "resources": [{
                    "name": "taskruns", "singularName": "taskrun", "namespaced": true, "kind": "TaskRun",
                    "verbs": ["list"],
                }],
            })),
            "taskruns" => task_runs.as_ref().map(|items| json!({
                "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "metadata": {}, "items": items,
            })),
            _ => None,
        }
    })
}

#[test]
fn a_pod_that_only_has_the_label_of_a_run_is_none_of_its_pods() {
    for (api_version, kind) in [
        ("batch/v1", "Job"),
        ("tekton.dev/v1", "TaskRun"),
        ("argoproj.io/v1alpha1", "Workflow"),
    ] {
        let maker = |uid: &str, controller: bool| json!({ "apiVersion": api_version, "kind": kind, "name": "hello-x", "uid": uid, "controller": controller });
        let (own, other, named) = (maker("1", true), maker("2", true), maker("1", false));
        let nobodys = json!({ "metadata": { "name": "nobodys" }, "spec": { "containers": [{ "name": "greet" }] } });
        let pods = json!([
            owned("own", &own),
            owned("other", &other),
            owned("named", &named),
            nobodys
        ]);
        let done = with_pods(api_version, kind, pods, None).cartouche(&["logs", "hello"]);
        assert_eq!(done.out, "[own/greet] \"a line\"\n", "{kind}: {}", done.err);
    }
}

#[test]
fn the_pods_of_a_pipeline_are_those_of_its_own_task_runs() {
    let pods = || {
        json!([
            owned("own", &owner("TaskRun", "7")),
            owned("other", &owner("TaskRun", "8")),
            owned("nobodys", &owner("Job", "9")),
        ])
    };
    let task_run = |uid: &str, owner_uid: &str| {
        json!({
            "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata",
            "metadata": { "name": uid, "uid": uid, "ownerReferences": [owner("PipelineRun", owner_uid)] },
        })
    };
    let listed = json!([task_run("7", "1"), task_run("8", "2")]);
    let printed = |task_runs| {
        let played = with_pods("tekton.dev/v1", "PipelineRun", pods(), task_runs);
        played.cartouche(&["logs", "hello"]).out
    };
    assert_eq!(printed(Some(listed)), "[own/greet] \"a line\"\n");
    // A user who may not list TaskRuns sees what can be shown without them.
    let both = "[own/greet] \"a line\"\n[other/greet] \"a line\"\n";
    assert_eq!(printed(None), both);
}

#[test]
fn a_container_that_there_is_not_is_an_error_and_no_empty_log() {
    let pods = json!([owned("own", &owner("Job", "1"))]);
    let played = with_pods("batch/v1", "Job", pods, None);
    let logs = |name| played.cartouche(&["logs", "hello", "--container", name]);
    assert_eq!(logs("greet").out, "[own/greet] \"a line\"\n");
    let none = logs("gret");
    assert_eq!((none.code, none.out.as_str()), (2, ""));
    let told = "the pods of Job hello-x have no container gret\nhint: did you mean 'greet'?\n";
    assert!(none.err.ends_with(told), "{}", none.err);
}

/// A cluster whose run has ended, with a pod whose log cannot be read.
fn without_logs() -> played::Played {
    let run = json!({
        "sequence": 1, "inputHash": "v1:0", "phase": "Created", "result": "Failed",
        "apiVersion": "batch/v1", "kind": "Job", "name": "hello-x", "uid": "1",
    });
    played::Played::serve(move |request| {
        let path = request.path.split('?').next().unwrap_or_default();
        match path.rsplit('/').next().unwrap_or_default() {
            "hello" => Some(json!({
                "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
                "metadata": { "name": "hello", "namespace": "demo", "uid": "u" },
                "spec": { "runTemplateRef": { "name": "greet" } }, "status": { "currentRun": run },
            })),
            "pods" => {
                let pods = json!([owned("own", &owner("Job", "1"))]);
                Some(
                    json!({ "apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": pods }),
                )
            }
            _ => None,
        }
    })
}

#[test]
fn a_log_that_cannot_be_followed_is_told_in_the_words_of_the_api_server() {
    let played = without_logs();
    let done = played.cartouche(&["logs", "hello", "--follow"]);
    // Those are its path here.
    let told = "reading the log of own/greet: /api/v1/namespaces/demo/pods/own/log?";
    assert!(done.err.starts_with(told), "{}", done.err);
    assert!(!done.err.contains("Status"), "{}", done.err);
    assert_eq!(done.code, 1);
    let none = played.cartouche(&["logs", "hello", "--follow", "--container", "other"]);
    assert!(
        none.err.contains("hint: they have: greet\n"),
        "{}",
        none.err
    );
    assert_eq!(none.code, 2);
}

#[test]
fn a_pod_that_waits_beside_one_that_prints_is_no_failure() {
    let mut waits = waiting("ContainerCreating", "")[0].clone();
    waits["metadata"]["name"] = "second".into();
    let pods = json!([owned("first", &owner("Job", "1")), waits]);
    let done = with_pods("batch/v1", "Job", pods, None).cartouche(&["logs", "hello"]);
    assert_eq!(
        (done.code, done.out.as_str()),
        (0, "[first/greet] \"a line\"\n")
    );
    assert!(done.err.contains("pod second waits"), "{}", done.err);
}
