//! Counts requests and events, and selects the faults that they meet.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::request;
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, Semaphore, mpsc, oneshot};

use super::{
    Crash,
    call::{Asked, Call},
    door::Door,
    fault::Fault,
};

/// Selects the fault that a request meets, by its sort and by its number in that sort.
pub type Chooser = Box<dyn FnMut(&Call, usize) -> Option<Fault> + Send>;

/// The `number`-th request of a sort.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Counted {
    /// The sort.
    pub call: Call,
    /// Number of the request in its sort, from 1.
    pub number: usize,
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} #{}", self.call, self.number)
    }
}

pub(super) struct Desk {
    namespace: String,
    book: Mutex<Book>,
    crashes: mpsc::UnboundedSender<Crash>,
    /// Number of requests that are held back or late, and of crashes under way.
    busy: AtomicUsize,
    /// Notified when the network splits.
    pub(super) split: Notify,
    /// Has a permit for each event that may pass.
    gate: Semaphore,
    /// Holds requests back on behalf of the scenario.
    pub(super) door: Door,
}

struct Book {
    chooser: Chooser,
    /// False before the scenario begins: then nothing is counted, and lists are remembered, to be stale
    /// later.
    begun: bool,
    counts: HashMap<Call, usize>,
    calls: Vec<Counted>,
    broken: usize,
    lists: HashMap<String, Bytes>,
    /// True while the controller is about to be killed and must not get any further.
    frozen: bool,
    split_until: Option<Instant>,
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk")
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

/// Guard that marks something as under way as long as it lives.
pub(super) struct Busy<'a>(&'a AtomicUsize);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Desk {
    pub(super) fn new(namespace: &str, crashes: mpsc::UnboundedSender<Crash>) -> Self {
        Self {
            namespace: namespace.to_owned(),
            book: Mutex::new(Book {
                chooser: Box::new(|_, _| None),
                begun: false,
                counts: HashMap::new(),
                calls: Vec::new(),
                broken: 0,
                lists: HashMap::new(),
                frozen: false,
                split_until: None,
            }),
            crashes,
            busy: AtomicUsize::new(0),
            split: Notify::new(),
            gate: Semaphore::new(0),
            door: Door::new(),
        }
    }

    pub(super) fn begin(&self, chooser: Chooser) {
        let mut book = self.book();
        book.chooser = chooser;
        book.begun = true;
        book.counts.clear();
        book.calls.clear();
        book.broken = 0;
    }

    pub(super) fn choose(&self, chooser: Chooser) {
        self.book().chooser = chooser;
    }

    pub(super) fn calls(&self) -> Vec<Counted> {
        self.book().calls.clone()
    }

    pub(super) fn broken(&self) -> usize {
        self.book().broken
    }

    pub(super) fn is_busy(&self) -> bool {
        self.busy.load(Ordering::SeqCst) > 0 || self.is_split()
    }

    pub(super) fn busy(&self) -> Busy<'_> {
        self.busy.fetch_add(1, Ordering::SeqCst);
        Busy(&self.busy)
    }

    /// Reads a request as it is counted. The name of a kind that exists only for this namespace contains the
    /// namespace. Without it, the kind has the same name in every namespace.
    pub(super) fn read(&self, head: &request::Parts) -> Asked {
        let query = head.uri.query().unwrap_or_default();
        let mut asked = Asked::read(&head.method, head.uri.path(), query);
        let suffix = format!("-{}", self.namespace);
        asked.call.resource = asked.call.resource.replace(&suffix, "");
        asked
    }

    /// Counts a request and returns the fault that it meets, if any.
    pub(super) fn meet(&self, asked: &Asked) -> Option<Fault> {
        let foreign = asked.place.as_ref().is_some_and(|p| *p != self.namespace);
        (!foreign).then(|| self.count(&asked.call)).flatten()
    }

    /// Counts an event of a watch and returns the fault that it meets, if any.
    pub(super) fn meet_event(&self, watch: &Asked, line: &[u8]) -> Option<Fault> {
        let quoted = format!("\"{}\"", self.namespace);
        let own = line.windows(quoted.len()).any(|w| w == quoted.as_bytes());
        if !own || line.starts_with(b"{\"type\":\"BOOKMARK\"") {
            return None;
        }
        self.count(&watch.call.event())
    }

    fn count(&self, call: &Call) -> Option<Fault> {
        let mut book = self.book();
        if !book.begun {
            return None;
        }
        let count = book.counts.entry(call.clone()).or_default();
        *count += 1;
        let number = *count;
        book.calls.push(Counted {
            call: call.clone(),
            number,
        });
        let fault = (book.chooser)(call, number)?;
        book.broken += 1;
        Some(fault)
    }

    /// Remembers the answer to a list, until the scenario begins.
    pub(super) fn remember(&self, uri: &str, list: &Bytes) {
        let mut book = self.book();
        if !book.begun {
            book.lists.insert(uri.to_owned(), list.clone());
        }
    }

    pub(super) fn remembered(&self, uri: &str) -> Option<Bytes> {
        self.book().lists.get(uri).cloned()
    }

    /// Answers no further requests of the controller.
    pub(super) fn freeze(&self) {
        self.book().frozen = true;
    }

    pub(super) fn is_frozen(&self) -> bool {
        self.book().frozen
    }

    /// Has the controller killed and returns when it is gone.
    pub(super) async fn crash(&self) {
        let _busy = self.busy();
        self.freeze();
        let (killed, waiting) = oneshot::channel();
        if self.crashes.send(killed).is_ok() {
            // If the owner is gone too, there is no controller left to kill.
            let _ = waiting.await;
        }
        self.book().frozen = false;
    }

    pub(super) async fn pass_gate(&self) {
        let _busy = self.busy();
        // The gate is never closed for good.
        if let Ok(permit) = self.gate.acquire().await {
            permit.forget();
        }
    }

    pub(super) fn let_pass(&self) {
        self.gate.add_permits(1);
    }

    pub(super) fn split_for(&self, time: Duration) {
        self.book().split_until = Some(Instant::now() + time);
        self.split.notify_waiters();
    }

    pub(super) fn is_split(&self) -> bool {
        let until = self.book().split_until;
        until.is_some_and(|until| Instant::now() < until)
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
