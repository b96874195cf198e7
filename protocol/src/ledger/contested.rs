//! Digests of the record of runs, which two releases may write differently.

use std::{
    fmt::{self, Write},
    hash::{DefaultHasher, Hasher},
};

use super::Ledger;

impl Ledger {
    /// Returns a digest of what is recorded of runs. It leaves out times, since each controller finds its own, and
    /// the sources of runs, which are written at a pace of their own. The digest never leaves the process.
    #[must_use]
    pub fn digest_runs(&self) -> u64 {
        let current = self.current.as_ref().map(|run| {
            let stop = run.stop.as_ref().map(|stop| &stop.reason);
            let (phase, attempted, rules) = (&run.phase, run.attempted, &run.rules_hash);
            let name = (&run.name, &run.uid, run.sequence, run.attempt);
            (name, phase, attempted, run.result, rules, stop)
        });
        let history = self.history.iter().map(|run| {
            let stop = run.stop.as_ref().map(|stop| &stop.reason);
            let name = (&run.name, &run.uid, run.sequence);
            (name, run.result, &run.message, stop, &run.taken_by)
        });
        let history: Vec<_> = history.collect();
        let outputs_from = self.outputs_from.as_ref();
        let outputs_from = outputs_from.map(|from| (from.sequence, &from.uid, &from.rules_hash));
        digest_of((current, history, &self.outputs, outputs_from, &self.failure))
    }
}

/// Returns a digest of values that two releases may see differently. It never leaves the process.
pub(crate) fn digest_of(all: impl fmt::Debug) -> u64 {
    let mut digest = Digest(DefaultHasher::new());
    // The write cannot fail: the digest accepts everything.
    let _ = write!(digest, "{all:?}");
    digest.0.finish()
}

/// Text that is hashed while it is written.
struct Digest(DefaultHasher);

impl Write for Digest {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}
