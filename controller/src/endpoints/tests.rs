//! Tests of arbitrary clients, over real connections.

use std::{
    io::{ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    sync::mpsc,
    thread,
    time::Duration,
};

use tokio::{net::TcpListener, runtime};

use super::{
    ProcessReadiness,
    connections::{HEAD, HEAD_TIME, MOST},
    serve,
};
use crate::metrics::Metrics;

/// Timeout of an immediate answer, on a busy machine.
const SOON: Duration = Duration::from_secs(2);

/// Serves in a thread of its own, until the test process ends.
fn begin() -> SocketAddr {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            tell.send(listener.local_addr().unwrap()).unwrap();
            serve(listener, ProcessReadiness::default(), Metrics::default()).await;
        });
    });
    told.recv().unwrap()
}

/// Returns a connection that has sent this text, as far as the server has read it.
fn sent(address: SocketAddr, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_write_timeout(Some(SOON)).unwrap();
    let _ = stream.write_all(text.as_bytes());
    stream
}

/// Returns the answer before the connection closes, or `None` if it stays open for this time.
fn answered(mut stream: TcpStream, time: Duration) -> Option<String> {
    let mut answer = Vec::new();
    stream.set_read_timeout(Some(time)).unwrap();
    match stream.read_to_end(&mut answer) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => None,
        // A reset is an end as well.
        _ => Some(String::from_utf8(answer).unwrap()),
    }
}

/// Returns the connections that the server keeps open, once there are at most `most`. A busy machine has [`SOON`] for
/// each try, less than the server gives a head.
fn left_open(mut streams: Vec<TcpStream>, most: usize) -> Vec<TcpStream> {
    for _ in 0..10 {
        streams = still_open(streams);
        if streams.len() <= most {
            break;
        }
    }
    streams
}

fn still_open(mut streams: Vec<TcpStream>) -> Vec<TcpStream> {
    thread::sleep(Duration::from_millis(200));
    streams.retain_mut(|stream| {
        stream.set_nonblocking(true).unwrap();
        loop {
            match stream.read(&mut [0; 1024]) {
                Ok(0) => return false,
                Ok(_) => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
    });
    streams
}

#[test]
fn heads_without_an_end_are_answered_and_kept_by_nobody() {
    let address = begin();
    let head = format!("GET /metrics HTTP/1.1\r\nX: {}", "a".repeat(400_000));
    let mut open = Vec::new();
    for number in 1..=1_500 {
        open.push(sent(address, &head));
        if number % 100 == 0 {
            open = left_open(open, MOST);
            assert!(open.len() <= MOST, "{} after {number}", open.len());
        }
    }
    // An answer may be lost with a connection whose input was not read completely.
    let just_too_long = &head[..=HEAD];
    let answers = (0..20).filter_map(|_| answered(sent(address, just_too_long), SOON));
    let answer = answers.into_iter().find(|answer| !answer.is_empty());
    assert!(answer.unwrap().starts_with("HTTP/1.1 431 "));
}

#[test]
fn connections_that_stay_silent_keep_no_probe_out_and_end() {
    let address = begin();
    let head = "GET / HTTP/1.1\r\nX: a";
    let silent = (0..3 * MOST).map(|_| sent(address, head)).collect();
    let probe = sent(address, "GET /healthz HTTP/1.1\r\n\r\n");
    let answer = answered(probe, SOON).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\nok\n"));
    let left = left_open(silent, MOST);
    assert!(left.len() <= MOST, "{}", left.len());
    thread::sleep(HEAD_TIME + SOON);
    assert_eq!(left_open(left, 0).len(), 0);
}

#[test]
fn a_connection_gets_one_answer_however_many_requests_it_sends() {
    let address = begin();
    let requests = "GET /healthz HTTP/1.1\r\nConnection: keep-alive\r\n\r\n".repeat(100);
    let answer = answered(sent(address, &requests), SOON).unwrap();
    assert_eq!(answer.matches("HTTP/1.1 200 ").count(), 1);
}
