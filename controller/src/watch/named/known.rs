//! The Secrets that were found, the Runnables that use them, and the states of their watches. No I/O.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use tokio::{task::AbortHandle, time::Instant};

use super::{SecretWatchState, WatchedSecret, shares::Shares};
use crate::{metrics::ObjectWatch, runnable_key::RunnableKey};

/// Everything that is known of Secrets and their users.
#[derive(Default)]
pub(super) struct KnownSecrets {
    pub(super) watches: HashMap<Arc<WatchedSecret>, SecretWatch>,
    /// Secrets that each Runnable wants to follow; a Runnable that wants none has no entry.
    wanted: HashMap<Arc<RunnableKey>, WantedSecrets>,
    pub(super) shares: Shares,
}

/// Secrets that a Runnable wants to follow.
#[derive(Default)]
struct WantedSecrets {
    account: String,
    /// Number of names that it gives, found or not.
    count: usize,
    /// Those that were found.
    joined: BTreeSet<Arc<WatchedSecret>>,
}

/// One Secret.
pub(super) struct SecretWatch {
    users: HashSet<Arc<RunnableKey>>,
    pub(super) state: Arc<SecretWatchState>,
    /// Task of the watch, which holds a place.
    task: Option<AbortHandle>,
    pub(super) refusal: Option<WatchRefusal>,
}

/// A refusal: the account may not watch the Secret.
pub(super) struct WatchRefusal {
    /// Number of refusals before, in a row.
    pub(super) refusals: u32,
    /// Earliest time of the next try, however often permissions change.
    pub(super) not_before: Instant,
    /// Time of the next try if no change of permissions is seen.
    pub(super) again: Instant,
    /// True if permissions have changed since.
    pub(super) is_granted: bool,
}

impl WatchRefusal {
    /// Returns true if the watch may be tried again.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        let from = if self.is_granted {
            self.not_before
        } else {
            self.again
        };
        now >= from
    }
}

impl Drop for SecretWatch {
    fn drop(&mut self) {
        self.end();
    }
}

impl SecretWatch {
    /// Ends its task. Returns true if there was one.
    fn end(&mut self) -> bool {
        let task = self.task.take();
        task.inspect(AbortHandle::abort).is_some()
    }

    /// Sets the state. Returns the users that relied on the watch until now, if they cannot any more.
    fn turn(
        &self,
        namespace: &str,
        shares: &mut Shares,
        now: ObjectWatch,
    ) -> Vec<Arc<RunnableKey>> {
        let before = self.state.turn(now);
        let users = self.users.len();
        match (before == ObjectWatch::Watched, now == ObjectWatch::Watched) {
            (true, false) => {
                shares.change(namespace, |share| share.watched -= users);
                self.users.iter().cloned().collect()
            }
            (false, true) => {
                shares.change(namespace, |share| share.watched += users);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the change of `watched` when one user joins or leaves: 1 if the Secret is watched, else 0.
    fn count_watched(&self) -> usize {
        usize::from(self.state.now() == ObjectWatch::Watched)
    }
}

impl KnownSecrets {
    /// See [`super::SecretWatches::want`].
    pub(super) fn want(
        &mut self,
        key: &RunnableKey,
        now: BTreeSet<WatchedSecret>,
    ) -> Vec<WatchedSecret> {
        let before = self.wanted.remove_entry(key);
        if before.is_none() && now.is_empty() {
            return Vec::new();
        }
        let (key, before) =
            before.unwrap_or_else(|| (Arc::new(key.clone()), WantedSecrets::default()));
        self.shares.change(&key.namespace, |share| {
            share.wanted = share.wanted + now.len() - before.count;
        });
        for gone in before.joined.iter().filter(|it| !now.contains(&***it)) {
            self.leave(gone, &key);
        }
        let Some(account) = now.first().map(|it| it.account.clone()) else {
            return Vec::new();
        };
        let mut wanted = WantedSecrets {
            account,
            count: now.len(),
            joined: BTreeSet::new(),
        };
        // A read as another account does not show what this one may read.
        let is_other = before.account != wanted.account;
        let mut doubted = Vec::new();
        for secret in now {
            if let Some(joined) = before.joined.get(&secret) {
                wanted.joined.insert(joined.clone());
                continue;
            }
            let joined = self.add_user(&key, &secret);
            if is_other || joined.is_some() {
                doubted.push(secret);
            }
            wanted.joined.extend(joined);
        }
        self.wanted.insert(key, wanted);
        doubted
    }

    /// Returns true if nothing is left.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.watches.is_empty() && self.wanted.is_empty() && self.shares == Shares::default()
    }

    /// Returns the Secrets that a Runnable wants and that were found.
    #[cfg(test)]
    pub(super) fn list_joined(&self, key: &RunnableKey) -> BTreeSet<WatchedSecret> {
        let wanted = self.wanted.get(key);
        let joined = wanted.into_iter().flat_map(|wanted| &wanted.joined);
        joined.map(|it| WatchedSecret::clone(it)).collect()
    }

    /// Makes a Runnable that wants it a user of a Secret, if that is known. Returns true if it joined a watch that
    /// already reported changes, and `None` if it does not want the Secret.
    pub(super) fn join(&mut self, key: &RunnableKey, secret: &WatchedSecret) -> Option<bool> {
        let (key, wanted) = self.wanted.get_key_value(key)?;
        if wanted.account != secret.account {
            return None;
        }
        if wanted.joined.contains(secret) {
            return Some(false);
        }
        let key = key.clone();
        let Some(joined) = self.add_user(&key, secret) else {
            return Some(false);
        };
        if let Some(wanted) = self.wanted.get_mut(&key) {
            wanted.joined.insert(joined);
        }
        let watch = self.watches.get(secret);
        Some(watch.is_some_and(|watch| watch.count_watched() > 0))
    }

    /// Keeps a Secret for a Runnable that wants it, unless it is kept already or there is no room. Returns true if it
    /// is kept.
    pub(super) fn keep(
        &mut self,
        key: &RunnableKey,
        secret: &WatchedSecret,
        room: usize,
        state: impl FnOnce() -> SecretWatchState,
    ) -> bool {
        if self.watches.contains_key(secret) {
            return true;
        }
        if self.shares.sum().known >= room && !self.make_room(&secret.namespace) {
            return false;
        }
        let Some((key, _)) = self.wanted.get_key_value(key) else {
            return false;
        };
        let (key, secret) = (key.clone(), Arc::new(secret.clone()));
        let watch = SecretWatch {
            users: HashSet::from([key.clone()]),
            state: Arc::new(state()),
            task: None,
            refusal: None,
        };
        self.shares
            .change(&secret.namespace, |share| share.known += 1);
        if let Some(wanted) = self.wanted.get_mut(&key) {
            wanted.joined.insert(secret.clone());
        }
        self.watches.insert(secret, watch);
        true
    }

    /// Returns true if a Secret is watched, or about to be.
    pub(super) fn has_task(&self, secret: &WatchedSecret) -> bool {
        let watch = self.watches.get(secret);
        watch.is_some_and(|watch| watch.task.is_some())
    }

    /// Stores the task of the watch of a Secret, which takes a place.
    pub(super) fn store_task(&mut self, secret: &WatchedSecret, task: AbortHandle) {
        if let Some(watch) = self.watches.get_mut(secret) {
            watch.task = Some(task);
            self.shares
                .change(&secret.namespace, |share| share.places += 1);
        }
    }

    /// Sets the state of a watch, if it is the one that is known. Returns the users that relied on it until now.
    pub(super) fn turn(
        &mut self,
        secret: &WatchedSecret,
        state: &Arc<SecretWatchState>,
        now: ObjectWatch,
    ) -> Vec<Arc<RunnableKey>> {
        let watch = self.watches.get(secret);
        let watch = watch.filter(|watch| Arc::ptr_eq(&watch.state, state));
        watch.map_or_else(Vec::new, |watch| {
            watch.turn(&secret.namespace, &mut self.shares, now)
        })
    }

    /// Ends a watch that was refused and frees its place. Returns the users that relied on it until now.
    pub(super) fn end_refused(
        &mut self,
        secret: &WatchedSecret,
        state: &Arc<SecretWatchState>,
        refusal: impl FnOnce(Option<&WatchRefusal>) -> WatchRefusal,
    ) -> Vec<Arc<RunnableKey>> {
        let watch = self.watches.get_mut(secret);
        let Some(watch) = watch.filter(|watch| Arc::ptr_eq(&watch.state, state)) else {
            return Vec::new();
        };
        watch.refusal = Some(refusal(watch.refusal.as_ref()));
        if watch.end() {
            self.shares
                .change(&secret.namespace, |share| share.places -= 1);
        }
        watch.turn(&secret.namespace, &mut self.shares, ObjectWatch::Refused)
    }

    /// Records that permissions have changed. Returns the Secrets whose refused watches may be tried again.
    pub(super) fn grant(&mut self, namespace: Option<&str>) -> Vec<Arc<WatchedSecret>> {
        let now = Instant::now();
        let mut again = Vec::new();
        for (secret, watch) in &mut self.watches {
            let concerns = namespace.is_none_or(|namespace| namespace == secret.namespace);
            if concerns
                && watch.task.is_none()
                && let Some(refusal) = &mut watch.refusal
            {
                refusal.is_granted = true;
                if refusal.is_over(now) {
                    again.push(secret.clone());
                }
            }
        }
        again
    }

    /// Takes a place from the namespace with most of them, if that has no fewer than this one even afterwards. Returns
    /// the users that relied on that watch, or `None` if no place was taken.
    pub(super) fn make_place(&mut self, namespace: &str) -> Option<Vec<Arc<RunnableKey>>> {
        let richer = self.shares.richer_than(namespace, |share| share.places)?;
        let mut watches = self.watches.iter_mut();
        let (secret, watch) =
            watches.find(|(secret, watch)| watch.task.is_some() && secret.namespace == richer)?;
        watch.end();
        self.shares
            .change(&secret.namespace, |share| share.places -= 1);
        Some(watch.turn(&secret.namespace, &mut self.shares, ObjectWatch::Full))
    }

    /// Forgets an unwatched Secret of the namespace with most Secrets, if that has no fewer than this one even
    /// afterwards. Returns true if there was one.
    fn make_room(&mut self, namespace: &str) -> bool {
        let Some(richer) = self.shares.richer_than(namespace, |share| share.known) else {
            return false;
        };
        let mut watches = self.watches.iter();
        let found =
            watches.find(|(secret, watch)| watch.task.is_none() && secret.namespace == richer);
        let Some(secret) = found.map(|(secret, _)| secret.clone()) else {
            return false;
        };
        for key in self.users(&secret) {
            self.leave(&secret, &key);
            if let Some(wanted) = self.wanted.get_mut(&key) {
                wanted.joined.remove(&secret);
            }
        }
        true
    }

    /// Returns the users of a Secret.
    pub(super) fn users(&self, secret: &WatchedSecret) -> Vec<Arc<RunnableKey>> {
        let users = self.watches.get(secret).map(|watch| &watch.users);
        users.into_iter().flatten().cloned().collect()
    }

    /// Adds a user to a Secret, if that is known.
    fn add_user(
        &mut self,
        key: &Arc<RunnableKey>,
        secret: &WatchedSecret,
    ) -> Option<Arc<WatchedSecret>> {
        let (known, _) = self.watches.get_key_value(secret)?;
        let known = known.clone();
        let watch = self.watches.get_mut(secret)?;
        if watch.users.insert(key.clone()) {
            let watched = watch.count_watched();
            self.shares
                .change(&secret.namespace, |share| share.watched += watched);
        }
        Some(known)
    }

    /// Removes a user from a Secret; with the last one its watch ends.
    fn leave(&mut self, secret: &WatchedSecret, key: &Arc<RunnableKey>) {
        let Some(watch) = self.watches.get_mut(secret) else {
            return;
        };
        if watch.users.remove(key) {
            let watched = watch.count_watched();
            self.shares
                .change(&secret.namespace, |share| share.watched -= watched);
        }
        if watch.users.is_empty() {
            let places = usize::from(watch.end());
            self.watches.remove(secret);
            self.shares.change(&secret.namespace, |share| {
                share.known -= 1;
                share.places -= places;
            });
        }
    }
}
