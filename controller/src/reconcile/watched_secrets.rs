//! Which Secrets are watched for a Runnable, as its account.

use std::{collections::BTreeSet, time::Duration};

use cartouche_crds::is_dns_subdomain;
use cartouche_protocol::{
    references::{SourceKind, SourceObject},
    sourced_inputs::SourceRead,
};

use super::reconciliation::Reconciliation;
use crate::{lock::lock, watch::named::WatchedSecret};

impl Reconciliation<'_> {
    /// Has the Runnable told of exactly the Secrets that inputs come from, as far as they were found, before any of them is read.
    pub(super) fn watch_secrets(&self) {
        let doubted = self.ctx.secrets.want(&self.key, self.secrets());
        if doubted.is_empty() {
            return;
        }
        let mut memory = lock(&self.memory);
        for secret in doubted {
            // Nothing has told what happened to it before, nor as whom it was read.
            memory.secret_changed(&secret.name);
        }
    }

    /// Has a Secret watched once a read has found it. A name alone costs no watch.
    pub(super) fn watch_found(&self, object: &SourceObject, read: &SourceRead) {
        if object.kind != SourceKind::Secret || matches!(read, SourceRead::Absent) {
            return;
        }
        let secret = self.watched(object.name.clone());
        if self.ctx.secrets.found(&self.key, &secret) {
            // It was watched for others when it was read here: that it changed meanwhile, only they were told.
            lock(&self.memory).secret_changed(&secret.name);
            self.ctx.enqueuer.enqueue(&self.key);
        }
    }

    /// How often a source is read that is not watched.
    pub(super) fn poll_of(&self, kind: SourceKind) -> Duration {
        match kind {
            SourceKind::Secret => self.ctx.secrets.poll(&self.key.namespace, self.ctx.poll),
            _ => self.ctx.poll,
        }
    }

    /// Those that inputs come from; none as an account that is not there.
    fn secrets(&self) -> BTreeSet<WatchedSecret> {
        let spec = &self.runnable.spec;
        let account = spec.service_account();
        if self.facts.runnable.deleting || !self.ctx.accounts.exists(&self.key.namespace, account) {
            return BTreeSet::new();
        }
        let sources = spec.inputs_from.as_deref().unwrap_or_default();
        sources
            .iter()
            .filter_map(SourceObject::of)
            .filter(|object| object.kind == SourceKind::Secret && is_dns_subdomain(&object.name))
            .map(|object| self.watched(object.name))
            .collect()
    }

    pub(super) fn watched(&self, name: String) -> WatchedSecret {
        WatchedSecret {
            namespace: self.key.namespace.clone(),
            account: self.runnable.spec.service_account().to_owned(),
            name,
        }
    }
}
