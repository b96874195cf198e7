//! The Events that reached the API server.

use std::time::Duration;

use serde_json::Value;

/// Maximum number that is kept.
const MOST: usize = 20_000;

/// An Event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// Time of its arrival, since the simulation began.
    pub at: Duration,
    /// The host that sent it.
    pub host: String,
    /// The namespace of the object that it is about.
    pub namespace: String,
    /// The uid of that object.
    pub uid: String,
    /// Its reason.
    pub reason: String,
}

/// All of them, the oldest first.
#[derive(Default)]
pub struct Events {
    arrived: Vec<Arrived>,
}

impl Events {
    /// Records an Event, if there is room.
    pub fn arrive(&mut self, event: &Value, host: &str, at: Duration) {
        if self.are_too_many() {
            return;
        }
        let text = |pointer: &str| {
            let text = event.pointer(pointer).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        self.arrived.push(Arrived {
            at,
            host: host.to_owned(),
            namespace: text("/involvedObject/namespace"),
            uid: text("/involvedObject/uid"),
            reason: text("/reason"),
        });
    }

    /// Returns the recorded Events.
    #[must_use]
    pub fn arrived(&self) -> &[Arrived] {
        &self.arrived
    }

    /// Returns true if no more are recorded.
    #[must_use]
    pub fn are_too_many(&self) -> bool {
        self.arrived.len() >= MOST
    }
}
