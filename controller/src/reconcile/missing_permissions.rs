//! Finds all permissions that a Runnable's account lacks, once one request was refused. I/O.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::Arc,
};

use cartouche_protocol::{
    messages::{
        diagnosis::{Denied, Diagnosis, Who},
        format::{self, MessageParts},
        reconcile_error::ReconcileError,
    },
    permissions::{Need, Target, of_selector, of_sinks, of_sources, of_stop, of_template},
};

use super::reconciliation::Reconciliation;
use crate::{
    clock::boot_time,
    discovery::Kind,
    lock::lock,
    memory::{About, MissingPermissions},
    reviews::{Asking, Rules},
};

impl Reconciliation<'_> {
    /// Extends an error about one missing permission to all that are missing.
    pub(super) async fn with_all_missing(&self, error: ReconcileError) -> ReconcileError {
        let (unread, cause) = match error.diagnosis.as_deref() {
            Some(Diagnosis::OutputsUnread(run, cause)) => (Some(run.clone()), Some(&**cause)),
            cause => (None, cause),
        };
        let Some(Diagnosis::Forbidden(who @ Who::Account(..), denied)) = cause else {
            return error;
        };
        let missing = self.missing_permissions().await;
        if missing.is_empty() {
            return error;
        }
        let mut all = missing;
        for one in denied {
            one.clone().add_to(&mut all);
        }
        let diagnosis = Diagnosis::Forbidden(who.clone(), all);
        let diagnosis = match unread {
            Some(run) => Diagnosis::OutputsUnread(run, Box::new(diagnosis)),
            None => diagnosis,
        };
        let in_full = MessageParts::parse(&error.message)
            .in_full
            .map(str::to_owned);
        let reworded =
            ReconcileError::from_diagnosis(error.category, error.requeue, diagnosis, in_full);
        match format::tries(&error.message) {
            Some(tries) => ReconcileError {
                message: format::put_tries(&reworded.message, tries),
                ..reworded
            },
            None => reworded,
        }
    }

    /// Returns the needed permissions that are missing. Without an answer, the last known ones are returned.
    async fn missing_permissions(&self) -> Vec<Denied> {
        let about = self.asked_about();
        let kept = lock(&self.memory).missing_permissions.clone();
        let kept = kept.filter(|kept| kept.is_about(&about));
        let mut kept = kept.unwrap_or_else(|| MissingPermissions::new(about));
        if kept.is_due(boot_time()) {
            let answer = self.review().await;
            // Time is taken after the answer, so that a slow API server is not asked more often.
            kept.record_answer(answer, boot_time());
            lock(&self.memory).missing_permissions = Some(kept.clone());
        }
        kept.fresh_answer(boot_time())
    }

    /// Returns the key of an answer: the generation of the Runnable, and the uid and generation of its template.
    fn asked_about(&self) -> About {
        let compiled = self.compiled.as_ref();
        let template = compiled.map(|it| (it.uid.clone(), it.generation));
        let (uid, generation) = template.unwrap_or_default();
        (self.facts.runnable.generation, uid, generation)
    }

    /// Returns the rules of the account in a namespace, or `None` if an authorizer does not list all that it allows.
    async fn allowed(&self, namespace: &str) -> Option<Arc<Rules>> {
        let asking = Asking {
            namespace: &self.key.namespace,
            name: self.runnable.spec.service_account(),
            requests: self.account.as_ref()?,
        };
        let rules = self.ctx.reviews.rules(asking, namespace).await;
        rules.are_complete().then_some(rules)
    }

    async fn review(&self) -> Option<Vec<Denied>> {
        let own = self.key.namespace.as_str();
        let needs = self.needs().await;
        // There is at most one namespace for each input that comes from another namespace.
        let mut allowed = BTreeMap::from([(own, self.allowed(own).await?)]);
        for namespace in needs
            .iter()
            .filter_map(|(need, _)| need.namespace.as_deref())
        {
            if let Entry::Vacant(unknown) = allowed.entry(namespace) {
                unknown.insert(self.allowed(namespace).await?);
            }
        }
        let mut missing = Vec::new();
        for (need, kind) in &needs {
            let elsewhere = need.namespace.as_deref();
            let rules = allowed.get(elsewhere.unwrap_or(own))?;
            let all = need.names.is_empty().then_some(None);
            let named = need.names.iter().map(|name| Some(name.as_str()));
            for name in all.into_iter().chain(named) {
                let denied = need
                    .verbs
                    .iter()
                    .filter(|verb| !rules.list(verb, kind.group(), &kind.plural, name));
                for verb in denied {
                    let denied = Denied::one(verb, &kind.resource());
                    let denied = denied.with_name(name.unwrap_or_default());
                    denied.in_namespace(elsewhere).add_to(&mut missing);
                }
            }
        }
        Some(missing)
    }

    /// Returns the needs of the Runnable that are not optional, with their kinds.
    async fn needs(&self) -> Vec<(Need, Arc<Kind>)> {
        let rendered = self.facts.rendering.as_ref().ok().map(|rendering| {
            let document = &rendering.document;
            (
                document.api_version().to_owned(),
                document.kind().to_owned(),
            )
        });
        let template = self
            .compiled
            .as_ref()
            .and_then(|it| it.template.as_ref().ok());
        let of_runs = template.map(|it| of_template(&self.facts.runnable.template, it));
        let of_stop =
            template.and_then(|it| of_stop(&self.facts.runnable.template, it, &self.facts.policy));
        let selector = self.runnable.spec.selector.as_ref();
        let of_selected = selector.map(|it| of_selector(&self.key.name, it));
        let sources = self.runnable.spec.inputs_from.as_deref();
        let of_sources = of_sources(
            &self.key.namespace,
            &self.key.name,
            sources.unwrap_or_default(),
        );
        let sinks = self.runnable.spec.write_outputs_to.as_deref();
        let of_sinks = of_sinks(&self.key.name, sinks.unwrap_or_default());
        let mut needs = Vec::new();
        let all = of_runs.into_iter().flatten().chain(of_stop);
        for need in all.chain(of_selected).chain(of_sources).chain(of_sinks) {
            let named = match &need.target {
                Target::Kind(api_version, kind) => Some((api_version.clone(), kind.clone())),
                Target::Tagged => rendered.clone(),
            };
            if need.optional {
                continue;
            }
            if let Some((api_version, kind)) = named
                && let Ok(kind) = self.ctx.kinds.find(&api_version, &kind).await
            {
                needs.push((need, kind));
            }
        }
        needs
    }
}
