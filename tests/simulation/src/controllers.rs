//! The real controller, connected to the simulated API server.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use cartouche_controller::{
    api::Connection,
    flags::Flags,
    metrics::Metrics,
    serve::{serve_over, unready},
};
use cartouche_language::{HashVersion, Hashing};
use clap::Parser;
use http::Uri;
use hyper::rt::ReadBufCursor;
use hyper_timeout::TimeoutConnector;
use hyper_util::{
    client::legacy::{
        Client as HttpClient,
        connect::{Connected, Connection as Connected_},
    },
    rt::{TokioExecutor, TokioIo, TokioTimer},
};
use kube::{
    Client, Config,
    client::{Body, ConfigExt},
};
use tower::{BoxError, ServiceBuilder};
use turmoil::net::TcpStream;

use crate::{flood::RATE, server::PORT};

/// The name of the API server's host.
pub const SERVER: &str = "server";

/// Runs a controller on the host that this is called on, until the host is stopped.
pub async fn serve(
    concurrency: Option<u16>,
    is_next_release: bool,
    is_flooded: bool,
) -> turmoil::Result {
    let metrics = Metrics::default();
    let client = client()?;
    let concurrency = concurrency.map(|count| format!("--concurrency={count}"));
    let words = ["cartouche-controller".to_owned()].into_iter();
    let rate = is_flooded.then(|| format!("--events-per-second={RATE}"));
    let mut flags = Flags::try_parse_from(words.chain(concurrency).chain(rate))?;
    if is_next_release {
        flags.hashing = Hashing {
            own: HashVersion::Next,
            former: Some(HashVersion::V1),
        };
    }
    let connection = Connection::over(client, metrics.clone());
    serve_over(
        connection,
        &flags,
        metrics,
        unready(),
        std::future::pending(),
    )
    .await;
    Ok(())
}

/// Returns a client as the library makes one itself, over simulated TCP.
fn client() -> turmoil::Result<Client> {
    let mut config = Config::new(format!("http://{SERVER}:{PORT}").parse::<Uri>()?);
    cartouche_controller::api::configure(&mut config);
    let connector = tower::service_fn(|_: Uri| async {
        let stream = TcpStream::connect((SERVER, PORT)).await?;
        Ok::<_, io::Error>(Socket(TokioIo::new(stream)))
    });
    let mut connector = TimeoutConnector::new(connector);
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_read_timeout(config.read_timeout);
    connector.set_write_timeout(config.write_timeout);
    connector.set_reset_reader_on_write(config.reset_reader_on_write);
    let http: HttpClient<_, Body> = HttpClient::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(Duration::from_secs(90))
        .build(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .map_err(BoxError::from)
        .service(http);
    Ok(Client::new(service, "default"))
}

/// A simulated connection, in the form that the HTTP client needs.
struct Socket(TokioIo<TcpStream>);

impl Connected_ for Socket {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl hyper::rt::Read for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_read(context, buffer)
    }
}

impl hyper::rt::Write for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().0).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_shutdown(context)
    }
}
