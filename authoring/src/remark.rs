//! Remarks on a walk through folders, for example that a link is passed over. The program decides where they go.

use std::{io, sync::OnceLock};

/// Receiver of remarks, one line each.
pub type Listener = fn(&str) -> io::Result<()>;

static LISTENER: OnceLock<Listener> = OnceLock::new();

/// Sets the receiver for the whole process. The first one stays. Without one, remarks are dropped.
pub fn listen(listener: Listener) {
    // A second program in the process has the same receiver.
    let _ = LISTENER.set(listener);
}

/// Sends a remark.
pub(crate) fn send(text: &str) -> io::Result<()> {
    LISTENER.get().map_or(Ok(()), |listener| listener(text))
}
