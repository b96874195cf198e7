//! Shares of each namespace in common resources: places, known Secrets, and reads of what is not watched. Pure.

use std::{collections::BTreeMap, time::Duration};

/// Interval between reads of unwatched Secrets in all namespaces together; it may be a fifth shorter. Namespaces share
/// these reads.
const A_READ: Duration = Duration::from_micros(12_500);

/// The shares of all namespaces.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Shares {
    of: BTreeMap<String, NamespaceShare>,
    /// Sum of all shares.
    sum: NamespaceShare,
    /// Number of namespaces in which anything is polled.
    polling: usize,
}

/// Share of the Runnables of a namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NamespaceShare {
    /// Watches that are open, or about to be.
    pub(super) places: usize,
    /// Secrets that were found.
    pub(super) known: usize,
    /// Secrets that are named, once for each Runnable.
    pub(super) wanted: usize,
    /// Those of them whose changes a watch reports.
    pub(super) watched: usize,
}

impl NamespaceShare {
    fn polled(&self) -> usize {
        self.wanted.saturating_sub(self.watched)
    }
}

impl Shares {
    /// Changes the share of a namespace, and the sum.
    pub(super) fn change(&mut self, namespace: &str, change: impl Fn(&mut NamespaceShare)) {
        let before = self.share(namespace);
        let mut now = before;
        change(&mut now);
        change(&mut self.sum);
        if now == NamespaceShare::default() {
            self.of.remove(namespace);
        } else if now != before {
            self.of.insert(namespace.to_owned(), now);
        }
        self.polling += usize::from(now.polled() > 0);
        self.polling -= usize::from(before.polled() > 0);
    }

    /// Returns the sum of all shares.
    pub(super) fn sum(&self) -> NamespaceShare {
        self.sum
    }

    /// Returns the namespace with the largest share, if it is at least two ahead of this one, so that the two are more
    /// even when one unit moves.
    pub(super) fn richer_than(
        &self,
        namespace: &str,
        takes: impl Fn(&NamespaceShare) -> usize,
    ) -> Option<&str> {
        let own = takes(&self.share(namespace));
        let most = self.of.iter().max_by_key(|(_, share)| takes(share));
        let richer = most.filter(|(_, share)| takes(share) > own + 1);
        richer.map(|(name, _)| name.as_str())
    }

    /// Returns the interval at which a Runnable of a namespace reads what is not watched: `usual`, unless all reads
    /// together are too many.
    pub(super) fn poll(&self, namespace: &str, usual: Duration) -> Duration {
        let reads = self.share(namespace).polled().saturating_mul(self.polling);
        let reads = u32::try_from(reads).unwrap_or(u32::MAX);
        A_READ.saturating_mul(reads).max(usual)
    }

    fn share(&self, namespace: &str) -> NamespaceShare {
        self.of.get(namespace).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: Duration = Duration::from_secs(30);

    #[test]
    fn few_are_read_as_often_as_ever_and_all_together_a_hundred_a_second() {
        let mut shares = Shares::default();
        shares.change("many", |share| share.wanted += 48_000);
        shares.change("few", |share| share.wanted += 32);
        let poll = shares.poll("many", USUAL);
        assert_eq!(poll, Duration::from_mins(20));
        assert_eq!(shares.poll("few", USUAL), USUAL);
        let rate = 48_000.0 / poll.as_secs_f64() + 32.0 / USUAL.as_secs_f64();
        assert!(rate < 100.0, "{rate}");
        // Watched Secrets are not read.
        shares.change("many", |share| share.watched += 47_000);
        assert_eq!(shares.poll("many", USUAL), USUAL);
        shares.change("few", |share| share.wanted -= 32);
        shares.change("many", |share| {
            share.wanted -= 48_000;
            share.watched -= 47_000;
        });
        assert!(shares.of.is_empty() && shares.polling == 0);
    }

    #[test]
    fn a_place_goes_to_who_has_fewer_until_both_have_as_many() {
        let mut shares = Shares::default();
        shares.change("a", |share| share.places += 10);
        let mut moved = 0;
        while let Some(richer) = shares.richer_than("b", |share| share.places) {
            assert_eq!(richer, "a");
            shares.change("a", |share| share.places -= 1);
            shares.change("b", |share| share.places += 1);
            moved += 1;
        }
        assert_eq!(moved, 5);
        assert_eq!(shares.richer_than("a", |share| share.places), None);
        assert_eq!(shares.sum().places, 10);
    }
}
