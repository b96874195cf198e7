//! What two releases may record otherwise of the same runs.

use std::{
    fmt::{self, Write},
    hash::{DefaultHasher, Hasher},
};

use super::Ledger;

impl Ledger {
    /// A digest of what is recorded of runs. It leaves out when a run was found to have ended, and what it was made from: each
    /// controller finds its own time, and writes sources at a pace of their own. It never leaves the process.
    #[must_use]
    pub fn recorded(&self) -> u64 {
        let current = self.current.clone().map(|mut current| {
            (current.finished_at, current.sources) = (None, None);
            current
        });
        let outputs_from = self.outputs_from.clone().map(|mut from| {
            from.sources = None;
            from
        });
        let mut digest = Digest(DefaultHasher::new());
        let all = (
            current,
            &self.history,
            &self.outputs,
            outputs_from,
            &self.failure,
        );
        // It cannot fail: the digest takes everything.
        let _ = write!(digest, "{all:?}");
        digest.0.finish()
    }
}

/// Text that is hashed while it is written.
struct Digest(DefaultHasher);

impl Write for Digest {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}
