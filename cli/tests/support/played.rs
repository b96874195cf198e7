//! A server that plays an API server, for cases that a real one cannot be brought into in time.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    process::Command,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};

/// A request: method, path with query, and body.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub body: String,
}

/// Answer of the server: `None` is a 404, and a Status with a code has that code.
type Answer = dyn Fn(&Request) -> Option<Value> + Send + Sync;

/// The server, and the requests that it got.
pub struct Played {
    config: tempfile::NamedTempFile,
    asked: Arc<Mutex<Vec<Request>>>,
}

impl Played {
    /// Serves until the test ends.
    pub fn serve(answer: impl Fn(&Request) -> Option<Value> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let config = kubeconfig(listener.local_addr().unwrap().port());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (noted, answer): (_, Arc<Answer>) = (asked.clone(), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (noted, answer) = (noted.clone(), answer.clone());
                std::thread::spawn(move || {
                    let request = read(&stream);
                    noted.lock().unwrap().push(request.clone());
                    write(stream, answer(&request), &request.path);
                });
            }
        });
        Self { config, asked }
    }

    /// Leads to this server.
    pub fn kubeconfig(&self) -> &Path {
        self.config.path()
    }

    /// Returns the command, with this server for its cluster.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = super::command(&super::repository(), arguments);
        command.env("KUBECONFIG", self.config.path());
        command
    }

    /// Runs such a command and returns its output.
    pub fn cartouche(&self, arguments: &[&str]) -> super::Output {
        super::finish(&mut self.command(arguments))
    }

    /// Returns the requests of a method.
    pub fn asked(&self, method: &str) -> Vec<Request> {
        let asked = self.asked.lock().unwrap();
        asked
            .iter()
            .filter(|it| it.method == method)
            .cloned()
            .collect()
    }
}

fn read(stream: &TcpStream) -> Request {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let mut words = line.split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap(), words.next().unwrap_or_default());
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).unwrap();
        let Some((name, value)) = header.split_once(':') else {
            break;
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let body = String::from_utf8(body).unwrap();
    Request { method, path, body }
}

fn write(mut stream: TcpStream, answer: Option<Value>, path: &str) {
    let missing = json!({ "kind": "Status", "status": "Failure", "code": 404, "message": path, "reason": "NotFound" });
    let refused = answer.as_ref().filter(|answer| answer["kind"] == "Status");
    let status = match (&answer, refused) {
        (None, _) => "404 Not Found".to_owned(),
        (_, Some(refused)) => format!("{} Refused", refused["code"]),
        _ => "200 OK".to_owned(),
    };
    let body = answer.unwrap_or(missing).to_string();
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
}

/// Creates a kubeconfig for a server on a port of this machine.
pub fn kubeconfig(port: u16) -> tempfile::NamedTempFile {
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
