//! Watches Secrets for a Runnable, as its account.

use std::{collections::BTreeSet, time::Duration};

use cartouche_crds::is_dns_subdomain;
use cartouche_protocol::{
    references::{SourceKind, SourceObject},
    sourced_inputs::SourceRead,
};

use super::reconciliation::Reconciliation;
use crate::{lock::lock, watch::named::WatchedSecret};

impl Reconciliation<'_> {
    /// Registers the Runnable for exactly the Secrets that its inputs come from, as far as they were found, before any
    /// of them is read.
    pub(super) fn watch_secrets(&self) {
        let doubted = self.ctx.secrets.want(&self.key, self.secrets());
        if doubted.is_empty() {
            return;
        }
        let mut memory = lock(&self.memory);
        for secret in doubted {
            // Earlier changes of it went unnoticed, and it may have been read as another account.
            memory.secret_changed(&secret.name);
        }
    }

    /// Watches a Secret once a read has found it. A name alone costs no watch.
    pub(super) fn watch_found(&self, object: &SourceObject, read: &SourceRead) {
        if object.kind != SourceKind::Secret || matches!(read, SourceRead::Absent) {
            return;
        }
        let secret = self.watch_key(object.name.clone());
        if self.ctx.secrets.record_found(&self.key, &secret) {
            // It was already watched for others during this read, and only they were notified of changes.
            lock(&self.memory).secret_changed(&secret.name);
            self.ctx.enqueuer.enqueue(&self.key);
        }
    }

    /// Returns the interval of reads of an unwatched source.
    pub(super) fn poll_of(&self, kind: SourceKind) -> Duration {
        match kind {
            SourceKind::Secret => self.ctx.secrets.poll(&self.key.namespace, self.ctx.poll),
            _ => self.ctx.poll,
        }
    }

    /// Returns the Secrets that inputs come from; none for an account that does not exist.
    fn secrets(&self) -> BTreeSet<WatchedSecret> {
        let spec = &self.runnable.spec;
        let account = spec.service_account();
        if self.facts.runnable.deleting || !self.ctx.accounts.exists(&self.key.namespace, account) {
            return BTreeSet::new();
        }
        let sources = spec.inputs_from.as_deref().unwrap_or_default();
        sources
            .iter()
            .filter_map(SourceObject::from_source)
            .filter(|object| object.kind == SourceKind::Secret && is_dns_subdomain(&object.name))
            .map(|object| self.watch_key(object.name))
            .collect()
    }

    pub(super) fn watch_key(&self, name: String) -> WatchedSecret {
        WatchedSecret {
            namespace: self.key.namespace.clone(),
            account: self.runnable.spec.service_account().to_owned(),
            name,
        }
    }
}
