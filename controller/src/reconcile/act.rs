//! Carries out the steps of a reconciliation. I/O.

use std::collections::{BTreeSet, HashSet};

use cartouche_crds::{HistoryEntry, RUN_TEMPLATE_NAME_LABEL, RUNNABLE_NAME_LABEL, RunPhase};
use cartouche_language::bounds::{LIGHT, MAX_WEIGHT};
use cartouche_protocol::{
    category::Category,
    evaluate::fetched_run,
    facts::NameRead,
    ledger::{FetchedRun, RunName},
    messages::reconcile_error::ReconcileError,
    object::Object,
};
use serde_json::Value;

use super::{
    observe::unapplied_name,
    reconciliation::{End, Reconciliation},
    watched::own_runs,
};
use crate::{
    api::{ApiError, Requests},
    budget::HeldFor,
    clock::boot_time,
    discovery::{DiscoveryError, Kind},
    lock::lock,
    memory::Operation,
    mutants,
};

impl Reconciliation<'_> {
    /// Lists the runs that the Runnable controls.
    pub(super) async fn list_runs(&mut self, every_kind: bool) -> Result<(), End> {
        let (Ok(rendering), Some(account)) = (&self.facts.rendering, &self.account) else {
            return Ok(());
        };
        let document = &rendering.document;
        let rendered = (
            document.api_version().to_owned(),
            document.kind().to_owned(),
        );
        let name = unapplied_name(rendering);
        let kinds = if every_kind {
            self.every_kind(rendered.clone())
        } else {
            BTreeSet::from([rendered.clone()])
        };
        let mut found = Vec::new();
        self.budget.renew(HeldFor::Runs);
        for kind in kinds {
            match self.list_kind(account, &kind).await {
                Ok(runs) => found.extend(runs),
                Err(error) if kind != rendered && is_left_out(&error) => {
                    tracing::info!(namespace = self.key.namespace, runnable = self.key.name, kind = kind.1, %error, "runs of another kind cannot be listed");
                    self.ctx.metrics.unlistable_kind();
                }
                Err(error) => {
                    if matches!(&error, DiscoveryError::Api(error) if error.is_not_found()) {
                        // The cached discovery is stale: the next try asks anew.
                        self.ctx.kinds.forget(&kind.0);
                    }
                    let error = self.lookup_error(&name, &error);
                    return Err(self.fail(Operation::List, error));
                }
            }
        }
        // Two versions of a kind list the same objects.
        let mut seen = HashSet::new();
        found.retain(|found| seen.insert(found.run.uid.clone()));
        self.facts.listed = Some(found);
        self.facts.listed_every_kind = every_kind;
        lock(&self.memory).clear_failure(&Operation::List);
        Ok(())
    }

    /// Returns the kinds that runs may have: the rendered kind, and those that the ledger or any template names.
    fn every_kind(&self, rendered: (String, String)) -> BTreeSet<(String, String)> {
        let ledger = &self.facts.ledger;
        let history = ledger.history.iter();
        let history = history.map(|run| (run.api_version.clone(), run.kind.clone()));
        let current = ledger.current.iter();
        let current = current.map(|run| (run.api_version.clone(), run.kind.clone()));
        let known = history.chain(current).chain([rendered]);
        known.chain(self.ctx.templates.literal_kinds()).collect()
    }

    /// Lists the runs of one kind.
    async fn list_kind(
        &self,
        account: &Requests,
        of: &(String, String),
    ) -> Result<Vec<FetchedRun>, DiscoveryError> {
        let (api_version, kind) = of;
        let kind = self.ctx.kinds.find_objects(api_version, kind).await?;
        if !kind.namespaced {
            return Ok(Vec::new());
        }
        let path = kind.path(&self.key.namespace);
        let earlier = self.facts.earlier_runs();
        let (mut found, mut weight) = (Vec::new(), 0);
        // Holds no more than there is room for.
        let most = if self.budget.has_place() {
            MAX_WEIGHT
        } else {
            LIGHT
        };
        account
            .each(&path, &own_runs(&self.key), |object| {
                let run = self.fetched(&earlier, &object);
                let owner = &self.facts.runnable.uid;
                let own = run.filter(|found| found.run.is_owned_by(owner));
                let is_own = own.is_some();
                weight += own.as_ref().map_or(0, FetchedRun::weight);
                // Lists on to report the total weight, but holds no more objects.
                found.extend(own.filter(|_| weight <= most));
                is_own
            })
            .await?;
        if weight > most && most < MAX_WEIGHT {
            drop(found);
            self.budget.pass(weight).await;
            return Box::pin(self.list_kind(account, of)).await;
        }
        let held = self.budget.hold(HeldFor::Runs, weight).await;
        held.map_err(|error| {
            let (kind, runs) = (kind.resource(), "delete runs that are no longer needed");
            let error = format!("what the {kind} of this Runnable give {error}: {runs}");
            DiscoveryError::Api(ApiError::Unsent(error))
        })?;
        Ok(found)
    }

    pub(super) fn fetched(&self, earlier: &[HistoryEntry], object: &Value) -> Option<FetchedRun> {
        let mut fetched = fetched_run(self.compiled.as_ref()?, earlier, object)?;
        if self.may_hold_secrets(&fetched.run) {
            fetched.health = fetched.health.silence();
        }
        let matches = self.facts.contains_rendered(&fetched.run, object);
        Some(FetchedRun { matches, ..fetched })
    }

    /// Reads the object of one name.
    pub(super) async fn read_run(&mut self, name: RunName) -> Result<(), End> {
        let seen = self.facts.seen_version(&name);
        let since = self.facts.now;
        let object = match self.read_object(&name, seen).await {
            Ok(object) => object,
            Err(error) if is_denied(&error) && !self.is_current(&name) => {
                let uids = self.earlier(&name);
                lock(&self.memory).looked_for.add(uids, boot_time());
                self.facts.reads.insert(name, NameRead::Denied);
                return Ok(());
            }
            Err(error) => {
                let error = self.read_error(&error);
                return Err(self.fail(Operation::Read(name.name), error));
            }
        };
        let found = object
            .as_ref()
            .and_then(|object| self.fetched(&self.facts.earlier_runs(), object));
        let mut found = mutants::change_read(found, &self.facts);
        if let (Some(found), Some(object)) = (&mut found, object)
            && let Err(error) = self.ask_pods(found, object).await
        {
            return Err(self.fail(Operation::Read(name.name), error));
        }
        if let Some(fetched) = &found {
            let all = self.facts.reads_weigh() + fetched.weight();
            self.budget.pass(all).await;
            let before = self.facts.cached_run(&fetched.run.uid);
            let owner = &self.facts.runnable.uid;
            self.ctx.runs.refresh(owner, before, fetched);
            if before.is_none() && !self.is_current(&name) && fetched.result().is_none() {
                let uid = fetched.run.uid.clone();
                lock(&self.memory).looked_for.add([uid], boot_time());
            }
        }
        let read = found.map_or(NameRead::Absent, |found| NameRead::Found(Box::new(found)));
        lock(&self.memory).clear_failure(&Operation::Read(name.name.clone()));
        self.look_at_the_clock();
        if let Some(since) = since {
            self.facts.read_since.insert(name.clone(), since);
        }
        self.facts.reads.insert(name, read);
        self.take_in_work();
        Ok(())
    }

    /// Returns true if this is the name of the current run, and that run is known to have been made.
    fn is_current(&self, name: &RunName) -> bool {
        let current = self.facts.ledger.current.as_ref();
        current.is_some_and(|current| {
            current.phase == RunPhase::Created && RunName::from_current(current) == *name
        })
    }

    /// Returns the uids of the earlier runs of this name.
    fn earlier(&self, name: &RunName) -> Vec<String> {
        let history = self.facts.ledger.history.iter();
        let named = history.filter(|entry| RunName::from_history(entry) == *name);
        named.filter_map(|entry| entry.uid.clone()).collect()
    }

    /// Reads the object of one name. Needs no more permissions than Cartographer: where `get` is forbidden, `list`
    /// finds it. If `seen` is given, an object of that version is new enough.
    pub(super) async fn read_object(
        &self,
        name: &RunName,
        seen: Option<u64>,
    ) -> Result<Option<Value>, ApiError> {
        let Some(account) = &self.account else {
            return Ok(None);
        };
        if is_impossible(&name.name) {
            return Ok(None);
        }
        let kinds = &self.ctx.kinds;
        let mut forgotten = false;
        loop {
            let kind = match kinds.find_objects(&name.api_version, &name.kind).await {
                Ok(kind) => kind,
                Err(DiscoveryError::Unknown { .. }) => return Ok(None),
                Err(DiscoveryError::Api(error)) => return Err(error),
            };
            match self.read_from(account, &kind, &name.name, seen).await {
                // Another version may serve the object. Until discovery is refreshed, this error proves nothing.
                Err(error) if error.is_unserved() && !forgotten => {
                    kinds.forget(&kind.api_version);
                    forgotten = true;
                }
                Err(error) if error.is_unserved() => return Err(error),
                Err(error) if error.is_not_found() => return Ok(None),
                read => return read,
            }
        }
    }

    /// Returns true if discovery knows where objects of this kind are. If it fails for a moment, their absence is
    /// unknown.
    pub(super) async fn is_kind_known(&self, name: &RunName) -> bool {
        let found = self.ctx.kinds.find_objects(&name.api_version, &name.kind);
        found.await.is_ok()
    }

    async fn read_from(
        &self,
        account: &Requests,
        kind: &Kind,
        name: &str,
        seen: Option<u64>,
    ) -> Result<Option<Value>, ApiError> {
        let path = kind.path(&self.key.namespace);
        let only_list = lock(&self.memory).only_list;
        if only_list {
            return account.find(&path, name).await;
        }
        let read = match seen {
            Some(version) => account.get_since::<Object>(&path, name, version).await,
            None => account.get(&path, name).await,
        };
        match read {
            Ok(Object(object)) => Ok(Some(object)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) if error.is_forbidden() => {
                let found = account.find(&path, name).await.map_err(|_| error)?;
                lock(&self.memory).only_list = true;
                Ok(found)
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn read_error(&self, error: &ApiError) -> ReconcileError {
        let (namespace, name, template) = (
            &self.key.namespace,
            &self.key.name,
            &self.facts.runnable.template,
        );
        ReconcileError::from_diagnosis(
            Category::FailedToListCreatedObjects,
            error.requeue(),
            self.cause_of(error, "show the runs"),
            Some(format!(
                "unable to list objects in namespace [{namespace}] with labels [map[{RUN_TEMPLATE_NAME_LABEL}:{template} {RUNNABLE_NAME_LABEL}:{name}]]: \
                 unable to list from api server: {error}"
            )),
        )
    }
}

/// Returns true if a list that fails is final. Either the account may not list the kind, so that it cannot have made
/// runs of it, or the kind is not served. Other failures are retried.
fn is_left_out(error: &DiscoveryError) -> bool {
    match error {
        DiscoveryError::Unknown { .. } => true,
        DiscoveryError::Api(error) => is_denied(error),
    }
}

/// Returns true if the account may not read this, so that a retry would not help. Other refusals, such as of an expired
/// token or of a request that could not be sent, may pass.
fn is_denied(error: &ApiError) -> bool {
    error.is_forbidden() || error.is_unsupported()
}

/// Returns true if no object can have this name. It is never requested, since it would be read as another path.
fn is_impossible(name: &str) -> bool {
    matches!(name, "" | "." | "..") || name.contains(['/', '%'])
}

#[cfg(test)]
mod tests {
    use super::{is_denied, is_impossible};
    use crate::api::ApiError;

    fn answered(code: u16) -> ApiError {
        ApiError::Answered {
            code,
            reason: String::new(),
            message: String::new(),
            namespace_terminating: false,
        }
    }

    #[test]
    fn only_a_missing_right_is_an_answer_to_whether_a_run_is_there() {
        assert!(is_denied(&answered(403)) && is_denied(&answered(405)));
        for code in [400, 401, 404, 409, 410, 422, 429, 500, 503] {
            assert!(!is_denied(&answered(code)), "{code}");
        }
        assert!(!is_denied(&ApiError::Unsent(String::new())));
        assert!(!is_denied(&ApiError::Unanswered(String::new())));
    }

    #[test]
    fn a_name_that_no_object_can_have_is_not_asked_for() {
        for name in ["", ".", "..", "a/b", "a%2fb"] {
            assert!(is_impossible(name), "{name}");
        }
        for name in ["a", "a.b", "...", "taken;x", "taken\n"] {
            assert!(!is_impossible(name), "{name}");
        }
    }
}
