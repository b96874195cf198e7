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
        atomic::{AtomicBool, Ordering},
    },
};

use serde_json::{Value, json};

/// A cluster with a Runnable whose run prints a line, goes on, and prints another one when it is told to end.
#[derive(Clone, Default)]
struct Played {
    ending: Arc<AtomicBool>,
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
            _ if path.contains("/pods?") => ("200 OK", pods()),
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

fn pods() -> Value {
    let state = json!({
        "name": "greet", "image": "", "imageID": "", "ready": true, "restartCount": 0, "state": { "running": {} },
    });
    json!({ "apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": [{
        "metadata": { "name": "hello-x-abc" },
        "spec": { "containers": [{ "name": "greet" }] },
        "status": { "containerStatuses": [state] },
    }] })
}

fn kubeconfig(port: u16) -> tempfile::NamedTempFile {
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "played",
        "clusters": [{ "name": "played", "cluster": { "server": format!("http://127.0.0.1:{port}") } }],
        "contexts": [{ "name": "played", "context": { "cluster": "played", "user": "played", "namespace": "demo" } }],
        "users": [{ "name": "played", "user": {} }],
    });
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(config.to_string().as_bytes()).unwrap();
    file
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
