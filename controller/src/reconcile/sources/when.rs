//! Schedule of reads of sources, and the watches that report their changes. I/O.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use cartouche_protocol::{
    facts::WatchState,
    references::{SourceKind, SourceObject},
};

use crate::{
    backoff::{FIFTH, TENTH},
    clock::boot_time,
    lock::lock,
    reconcile::reconciliation::{LOOKED_UP_AFTER, Reconciliation},
    watched_kind::{Purpose, Watched},
};

impl Reconciliation<'_> {
    /// Returns true if every change of the source causes an event.
    pub(super) fn is_watched(&self, object: &SourceObject) -> bool {
        let served = self.ctx.namespace.as_ref();
        let is_served = served.is_none_or(|it| it == object.namespace_in(&self.key.namespace));
        let is_seen = match object.kind {
            SourceKind::Runnable => true,
            SourceKind::Secret => self
                .ctx
                .secrets
                .is_watched(&self.watch_key(object.name.clone())),
            _ => self
                .watch_of(object)
                .is_some_and(|watched| self.ctx.watches.state(&watched) == WatchState::Synced),
        };
        is_served && is_seen
    }

    /// Returns the watch that reports changes of such an object, beside that of Runnables. There is none for Secrets,
    /// nor for an unknown kind.
    pub(super) fn watch_of(&self, object: &SourceObject) -> Option<Watched> {
        match object.kind {
            SourceKind::ConfigMap => Some(Watched::config_maps()),
            SourceKind::Secret | SourceKind::Runnable => None,
            // Reading it is refused, and no message shall suggest letting the controller watch Secrets.
            SourceKind::Any if object.is_secret() => None,
            SourceKind::Any => {
                let (api_version, kind) = object.type_meta();
                let kind = self.ctx.kinds.find_known(api_version, kind)?;
                Some(Watched {
                    purpose: Purpose::Selected,
                    kind,
                })
            }
        }
    }

    /// Tells the watches which objects concern this Runnable.
    pub(super) fn name_sources(&self, objects: &BTreeSet<SourceObject>) {
        let before = lock(&self.memory).watched.clone();
        let before = before
            .into_iter()
            .filter(|it| it.purpose == Purpose::Selected);
        let mut by_watch: BTreeMap<Watched, BTreeSet<SourceObject>> =
            before.map(|watched| (watched, BTreeSet::new())).collect();
        for object in objects {
            if let Some(watched) = self.watch_of(object) {
                by_watch.entry(watched).or_default().insert(object.clone());
            }
        }
        for (watched, objects) in by_watch {
            self.ctx.selections.name(&watched, &self.key, objects);
        }
    }

    /// Returns the kinds to watch for inputs from other objects.
    pub(in crate::reconcile) fn watched_sources(&self) -> BTreeSet<Watched> {
        let sources = self
            .runnable
            .spec
            .inputs_from
            .as_deref()
            .unwrap_or_default();
        if self.check_sources(sources).is_err() {
            return BTreeSet::new();
        }
        let objects = self.objects_of(sources);
        objects
            .filter_map(|object| self.watch_of(&object))
            .collect()
    }

    /// Returns the maximum age of the read of a watched source, or `None` if the inputs are complete.
    pub(in crate::reconcile) fn pause_of_watched_sources(&self) -> Option<Duration> {
        let are_wanting = lock(&self.memory).sources.are_wanting;
        are_wanting.then_some(LOOKED_UP_AFTER / 2)
    }

    /// Returns the maximum age of what is not watched.
    pub(in crate::reconcile) fn polled_after(&self) -> Duration {
        polled_after(self.ctx.poll)
    }

    /// Returns the time until sources are read again: those that are not watched, and those that gave no value.
    pub(in crate::reconcile) fn sources_again(&self) -> Option<Duration> {
        if self.facts.runnable.deleting {
            return None;
        }
        let memory = lock(&self.memory);
        let now = boot_time();
        let kinds = [SourceKind::Secret, SourceKind::Runnable, SourceKind::Any];
        let polled = kinds.into_iter().filter_map(|kind| {
            let is_one = |object: &SourceObject| object.kind == kind && !self.is_watched(object);
            let (at, poll) = (memory.sources.oldest(is_one)?, self.poll_of(kind));
            // An older one could not be read, or an earlier error kept it from being read: that error has its own
            // retry.
            let is_read = at + polled_after(poll) > now;
            Some(TENTH.over(if is_read {
                (at + poll).saturating_sub(now)
            } else {
                poll
            }))
        });
        let wanting = memory.sources.are_wanting;
        let wanting = wanting.then(|| FIFTH.over(LOOKED_UP_AFTER));
        let unkept = memory.sources.has_unkept;
        let unkept = unkept.then(|| TENTH.over(self.poll_of(SourceKind::Secret)));
        polled.chain(wanting).chain(unkept).min()
    }
}

/// Returns the maximum age of what is polled at this interval. A read after a poll, or a little earlier, is a new one.
pub(super) fn polled_after(poll: Duration) -> Duration {
    poll * 8 / 10
}
