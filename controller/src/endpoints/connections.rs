//! Connections of arbitrary clients: few at a time, short heads, one answer each, and a time limit.

use std::{convert::Infallible, net::IpAddr, sync::Arc, time::Duration};

use http::{Request, header};
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    task::AbortHandle,
    time::{sleep, timeout},
};

use super::answers::Answers;

/// Maximum number of open connections.
pub(super) const MOST: usize = 64;
/// Longest head of a request, in bytes: the lowest limit that hyper supports.
pub(super) const HEAD: usize = 8 * 1024;
/// Timeout of a head.
pub(super) const HEAD_TIME: Duration = Duration::from_secs(3);
/// Timeout of a connection, including its answer.
const TIME: Duration = Duration::from_secs(10);
/// Pause after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves until the process ends.
pub(super) async fn accept(listener: TcpListener, answers: Answers) {
    let answers = Arc::new(answers);
    let mut open = OpenConnections::default();
    loop {
        let Ok((stream, from)) = listener.accept().await else {
            sleep(PAUSE).await;
            continue;
        };
        open.make_room();
        let task = tokio::spawn(timeout(TIME, serve_one(stream, answers.clone())));
        open.connections.push((from.ip(), task.abort_handle()));
    }
}

/// Answers one request.
async fn serve_one(stream: TcpStream, answers: Arc<Answers>) {
    let service = hyper::service::service_fn(|request: Request<Incoming>| {
        let accepts = request.headers().get(header::ACCEPT);
        std::future::ready(Ok::<_, Infallible>(
            answers.to(request.uri().path(), accepts),
        ))
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .max_buf_size(HEAD)
        .header_read_timeout(HEAD_TIME)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    // The client may hang up, or never finish its request.
    let _ = connection.await;
}

/// Open connections, the oldest first.
#[derive(Default)]
struct OpenConnections {
    connections: Vec<(IpAddr, AbortHandle)>,
}

impl OpenConnections {
    /// Drops a connection if there are too many: the oldest of the address that has most. So no address shuts out
    /// another, and silent connections do not shut out a probe.
    fn make_room(&mut self) {
        self.connections.retain(|(_, task)| !task.is_finished());
        if self.connections.len() < MOST {
            return;
        }
        let count = |of: &IpAddr| self.connections.iter().filter(|(it, _)| it == of).count();
        let counts: Vec<usize> = self.connections.iter().map(|(it, _)| count(it)).collect();
        let most = counts.iter().max();
        if let Some(oldest) = counts.iter().position(|count| Some(count) == most) {
            self.connections.remove(oldest).1.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(from: &[[u8; 4]]) -> OpenConnections {
        let task = || tokio::spawn(std::future::pending::<()>()).abort_handle();
        let connections = from.iter().map(|it| (IpAddr::from(*it), task()));
        OpenConnections {
            connections: connections.collect(),
        }
    }

    #[tokio::test]
    async fn the_address_with_most_connections_makes_room_and_its_oldest_goes_first() {
        let (node, stranger) = ([10, 0, 0, 1], [10, 0, 0, 2]);
        let mut from = vec![stranger; MOST];
        from[0] = node;
        let mut open = open(&from);
        let first = open.connections[1].1.clone();
        open.make_room();
        tokio::task::yield_now().await;
        assert!(first.is_finished());
        assert_eq!(open.connections.len(), MOST - 1);
        assert_eq!(open.connections[0].0, IpAddr::from(node));
    }
}
