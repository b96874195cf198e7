//! `cartouche logs --follow` against a server that plays an API server with a kubelet: the control plane of the
//! tests has none that would print anything.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

mod support;

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use serde_json::{Value, json};
use support::played::kubeconfig;

/// A cluster with a Runnable whose run prints a line, goes on, and prints another one when it is told to end. It may
/// have stages before that, in which it prints nothing.
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

fn container(state: &Value) -> Value {
    json!({ "name": "greet", "image": "", "imageID": "", "ready": true, "restartCount": 0, "state": state })
}

fn pod(status: &Value) -> Value {
    json!([{
        "metadata": { "name": "hello-x-abc" },
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
    // It is printed although the run goes on: only now does it end.
    assert!(child.try_wait().unwrap().is_none());
    played.ending.store(true, Ordering::SeqCst);
    assert_eq!(
        lines.next().unwrap().unwrap(),
        "[hello-x-abc/greet] last line"
    );
    assert!(lines.next().is_none());
    let status = child.wait().unwrap();
    let mut err = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut err)
        .unwrap();
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
    // It is looked at once a second: there is time to say it again.
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
