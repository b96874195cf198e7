//! Which Secrets are watched for a Runnable, as its account.

use std::collections::BTreeSet;

use cartouche_crds::is_dns_subdomain;
use cartouche_protocol::sourced_inputs::{SourceKind, SourceObject};

use super::reconciliation::Reconciliation;
use crate::{lock::lock, watch::named::WatchedSecret};

impl Reconciliation<'_> {
    /// Has exactly the Secrets watched that inputs come from, before any of them is read.
    pub(super) fn watch_secrets(&self) {
        let added = self.ctx.secrets.want(&self.key, self.secrets());
        if added.is_empty() {
            return;
        }
        let mut memory = lock(&self.memory);
        for secret in added {
            // What happened to it before, and as whom it was read, nobody has told.
            memory.secret_changed(&secret.name);
        }
    }

    /// Those that inputs come from; none as an account that is not there.
    fn secrets(&self) -> BTreeSet<WatchedSecret> {
        let spec = &self.runnable.spec;
        let sources = spec.inputs_from.as_deref().unwrap_or_default();
        let mut secrets: BTreeSet<WatchedSecret> = sources
            .iter()
            .filter_map(SourceObject::of)
            .filter(|object| object.kind == SourceKind::Secret && is_dns_subdomain(&object.name))
            .map(|object| self.watched(object.name))
            .collect();
        let account = spec.service_account();
        if self.facts.runnable.deleting || !self.ctx.accounts.exists(&self.key.namespace, account) {
            secrets.clear();
        }
        secrets
    }

    pub(super) fn watched(&self, name: String) -> WatchedSecret {
        WatchedSecret {
            namespace: self.key.namespace.clone(),
            account: self.runnable.spec.service_account().to_owned(),
            name,
        }
    }
}
