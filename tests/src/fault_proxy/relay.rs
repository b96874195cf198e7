//! Passes the events of a watch on, one by one.

use std::{io, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::{SinkExt, channel::mpsc};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{
    answer::{Body, GONE, cut},
    call::Asked,
    desk::Desk,
    fault::{Fault, HELD, MINUTES, SPLIT},
};

/// Number of bookmarks during [`HELD`].
const BOOKMARKS: u32 = 6;

/// The stream of a watch continues.
struct Goes;

/// Returns the body of a watch that passes its events on.
pub(super) fn relay(from: kube::client::Body, watch: Asked, desk: Arc<Desk>) -> Body {
    let (to, body) = mpsc::channel(16);
    tokio::spawn(async move {
        let mut stream = Stream {
            to,
            watch,
            last: None,
        };
        // The stream ends when the controller hangs up, too.
        let _ = stream.pass_on(from, &desk).await;
    });
    StreamBody::new(body).boxed_unsync()
}

struct Stream {
    to: mpsc::Sender<io::Result<Frame<Bytes>>>,
    watch: Asked,
    /// The last event that was passed on.
    last: Option<Bytes>,
}

impl Stream {
    async fn pass_on(&mut self, mut from: kube::client::Body, desk: &Desk) -> Option<()> {
        let mut waiting: Vec<u8> = Vec::new();
        loop {
            let frame = tokio::select! {
                frame = from.frame() => frame?.ok()?,
                () = desk.split.notified() => {
                    return self.to.send(Err(cut())).await.ok();
                }
            };
            let Ok(data) = frame.into_data() else {
                continue;
            };
            waiting.extend_from_slice(&data);
            while let Some(end) = waiting.iter().position(|byte| *byte == b'\n') {
                let line = Bytes::from(waiting.drain(..=end).collect::<Vec<u8>>());
                let Goes = self.event(line, desk).await?;
            }
        }
    }

    /// Passes an event on, or breaks it. Returns `None` when the stream is over.
    async fn event(&mut self, line: Bytes, desk: &Desk) -> Option<Goes> {
        if self.to.is_closed() {
            // An event after the controller hung up does not count.
            return None;
        }
        match desk.meet_event(&self.watch, &line) {
            None => {}
            Some(Fault::Twice) => self.send(line.clone()).await?,
            Some(Fault::Delay) => {
                let _busy = desk.busy();
                sleep(HELD).await;
            }
            Some(Fault::Gate) => desk.pass_gate().await,
            Some(Fault::Silence) => {
                sleep(MINUTES).await;
                return None;
            }
            Some(Fault::Gone) => {
                self.send(Bytes::from_static(GONE.as_bytes())).await?;
                return None;
            }
            Some(Fault::Bookmarks) => {
                let _busy = desk.busy();
                self.bookmarks().await?;
                return None;
            }
            Some(Fault::Partition) => {
                desk.split_for(SPLIT);
                self.to.send(Err(cut())).await.ok()?;
                return None;
            }
            Some(Fault::CrashBefore) => {
                desk.crash().await;
                return None;
            }
            Some(_) => return None,
        }
        self.send(line).await?;
        Some(Goes)
    }

    async fn send(&mut self, line: Bytes) -> Option<()> {
        self.last = Some(line.clone());
        self.to.send(Ok(Frame::data(line))).await.ok()
    }

    /// Sends bookmarks for what the controller knows already.
    async fn bookmarks(&mut self) -> Option<()> {
        let bookmark = self.last.as_ref().and_then(bookmark);
        for _ in 0..BOOKMARKS {
            sleep(HELD / BOOKMARKS.max(1)).await;
            if let Some(bookmark) = &bookmark {
                let frame = Frame::data(bookmark.clone());
                self.to.send(Ok(frame)).await.ok()?;
            }
        }
        sleep(Duration::from_millis(10)).await;
        Some(())
    }
}

/// Returns a bookmark with the version of an event.
fn bookmark(event: &Bytes) -> Option<Bytes> {
    let event: Value = serde_json::from_slice(event).ok()?;
    let object = event.get("object")?;
    let bookmark = json!({
        "apiVersion": object.get("apiVersion")?, "kind": object.get("kind")?,
        "metadata": { "resourceVersion": object.pointer("/metadata/resourceVersion")? },
    });
    // In the format of the API server.
    let event = format!("{{\"type\":\"BOOKMARK\",\"object\":{bookmark}}}\n");
    Some(Bytes::from(event))
}
