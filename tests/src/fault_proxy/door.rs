//! A door at which chosen requests wait until the scenario opens it.
//!
//! A scenario closes it to act while a request is on its way. It is no fault: the request is counted, and
//! broken or not, as any other.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::watch;

use super::call::Call;

/// Selects the requests that wait, by their sort and body.
pub type Waits = Box<dyn FnMut(&Call, &[u8]) -> bool + Send>;

pub(super) struct Door {
    /// `None` while the door is open.
    waits: Mutex<Option<Waits>>,
    /// Number of requests that came to the door since it was closed.
    came: AtomicUsize,
    open: watch::Sender<bool>,
}

impl Door {
    pub(super) fn new() -> Self {
        Self {
            waits: Mutex::default(),
            came: AtomicUsize::new(0),
            open: watch::Sender::new(true),
        }
    }

    pub(super) fn close(&self, waits: Waits) {
        self.came.store(0, Ordering::SeqCst);
        self.open.send_replace(false);
        *self.waits.lock().unwrap_or_else(PoisonError::into_inner) = Some(waits);
    }

    pub(super) fn open(&self) {
        *self.waits.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.open.send_replace(true);
    }

    pub(super) fn came(&self) -> usize {
        self.came.load(Ordering::SeqCst)
    }

    /// Returns true if this request has to wait.
    pub(super) fn stops(&self, call: &Call, body: &[u8]) -> bool {
        let mut waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        waits.as_mut().is_some_and(|waits| waits(call, body))
    }

    /// Returns once the door is open.
    pub(super) async fn pass(&self) {
        let mut open = self.open.subscribe();
        self.came.fetch_add(1, Ordering::SeqCst);
        // The door lives as long as the proxy.
        let _ = open.wait_for(|open| *open).await;
    }
}
