//! Creates the run of the pending entry, as the Runnable's account. I/O.

use std::{sync::Arc, time::Duration};

use cartouche_crds::{RERUN_REQUEST_ANNOTATION, RerunRequest};
use cartouche_protocol::{
    evaluate::reading,
    facts::{CachedRun, CreateOutcome},
    object::Object,
    problem::{Category, ReconcileError, Requeue},
};
use cartouche_templating::{Owner, Stamp, stamp};
use kube::ResourceExt;
use serde_json::Value;

use super::{
    observe::unapplied_name,
    reconciliation::{End, Reconciliation},
    write::Written,
};
use crate::{
    api::{ApiError, CreateMode, ResourcePath},
    clock::boot_time,
    discovery::{DiscoveryError, Kind},
    events::Occasion,
    memory::{Operation, lock},
    metrics::RunEvent,
    mutants,
};

/// A create is sent at most this long after its ledger was read; see
/// [`cartouche_protocol::retention::MINIMUM_AGE`].
const LEDGER_FRESH_FOR: Duration = Duration::from_secs(20);

const SECRET: &str = "Secret";

impl Reconciliation<'_> {
    /// The object to create, and where.
    pub(super) fn stamped(
        &self,
        sequence: i64,
        name: Option<&str>,
    ) -> Result<(ResourcePath, Value), ReconcileError> {
        let rendering = self.facts.rendering.as_ref().map_err(Clone::clone)?;
        let document = &rendering.document;
        let kind = self
            .ctx
            .kinds
            .known(document.api_version(), document.kind());
        let unknown = DiscoveryError::Unknown {
            api_version: document.api_version().to_owned(),
            kind: document.kind().to_owned(),
        };
        let kind: Arc<Kind> =
            kind.ok_or_else(|| self.unlisted(&unapplied_name(rendering), &unknown))?;
        let runnable = &self.facts.runnable;
        let fresh = document.run_name(&runnable.uid, sequence);
        let token = self
            .facts
            .ledger
            .current
            .as_ref()
            .and_then(|current| current.rerun_token.clone());
        let request = token.as_deref().and_then(|token| self.rerun_request(token));
        let object = stamp(
            document,
            &Stamp {
                owner: Owner {
                    name: &runnable.name,
                    namespace: &runnable.namespace,
                    uid: &runnable.uid,
                },
                template_name: &runnable.template,
                name: name.unwrap_or(&fresh),
                sequence,
                input_hash: document.input_hash(),
                rerun_token: token.as_deref(),
                rerun_request: request.as_deref(),
            },
        )
        .map_err(|error| {
            let text = format!(
                "unable to stamp object for run template [{}]: {error}",
                runnable.template
            );
            ReconcileError::new(Category::TemplateStampFailure, Requeue::OnChange, text)
        })?;
        Ok((kind.path(&runnable.namespace), object))
    }

    /// Who asked for the re-run with this token, and why, if that is said.
    fn rerun_request(&self, token: &str) -> Option<String> {
        let said = self.runnable.annotations().get(RERUN_REQUEST_ANNOTATION)?;
        Some(RerunRequest::of(said, token)?.annotation())
    }

    /// Creates the run of the pending entry.
    pub(super) async fn create(&mut self) -> Result<(), End> {
        let (Some(account), Some(current)) =
            (self.account.clone(), self.facts.ledger.current.clone())
        else {
            return Err(End::Conflict);
        };
        let (path, object) = match self.stamped(current.sequence, Some(&current.name)) {
            Ok(stamped) => stamped,
            Err(problem) => return Err(self.fail(Operation::Create(current.sequence), problem)),
        };
        if !self.has_written {
            self.confirm_ledger().await?;
        }
        if boot_time().saturating_sub(self.read_at) > LEDGER_FRESH_FOR {
            return Err(End::Conflict);
        }
        let object = mutants::object(object);
        let send = || account.create(&path, &object, CreateMode::Real);
        let answer = mutants::answer(send, ApiError::is_passing).await;
        self.facts.now = self.ctx.identity.connection().now();
        let resource = self.facts.rendering.as_ref().ok().and_then(|rendering| {
            self.ctx
                .kinds
                .known(rendering.document.api_version(), rendering.document.kind())
        });
        let outcome = match answer {
            Ok(Object(created)) => match self
                .compiled
                .as_ref()
                .and_then(|compiled| reading(compiled, &[], &created))
            {
                Some(reading) => {
                    let name = format!(
                        "{}/{}",
                        resource.map(|kind| kind.resource()).unwrap_or_default(),
                        reading.run.name
                    );
                    self.ctx.events.publish(
                        &self.runnable,
                        &Occasion::Applied(name),
                        self.facts.now,
                    );
                    self.ctx.metrics.run(RunEvent::Created);
                    let mut memory = lock(&self.memory);
                    memory.state.made = Some(CachedRun::of(&reading));
                    memory.succeeded(&Operation::Create(current.sequence));
                    if (self.others_wait)() {
                        memory.state.unconfirmed = Some(Box::new(reading));
                        return Err(End::PutOff);
                    }
                    drop(memory);
                    CreateOutcome::Created(Box::new(reading))
                }
                None => CreateOutcome::Unknown(self.refusal(
                    &current.name,
                    &ApiError::Unanswered("the answer is no object".to_owned()),
                )),
            },
            Err(error) if error.is_already_exists() => CreateOutcome::AlreadyExists,
            Err(error) => {
                if error.is_not_found() {
                    self.ctx.kinds.forget(&current.api_version);
                }
                let problem = self.refusal(&current.name, &error);
                lock(&self.memory).failed(
                    Operation::Create(current.sequence),
                    &problem,
                    boot_time(),
                );
                if error.is_definite_refusal() {
                    CreateOutcome::Refused(problem)
                } else {
                    CreateOutcome::Unknown(problem)
                }
            }
        };
        self.facts.created = Some(outcome);
        Ok(())
    }

    /// A cache may be of any age, and a create must not be sent for a ledger that has long moved on:
    /// a pending entry that this reconciliation did not write is read once more.
    async fn confirm_ledger(&mut self) -> Result<(), End> {
        let read_at = boot_time();
        self.read_again(|found: &Written| found.metadata.resource_version.as_str())
            .await?;
        self.read_at = read_at;
        Ok(())
    }

    pub(super) fn refusal(&self, name: &str, error: &ApiError) -> ReconcileError {
        let requeue = if error.is_namespace_terminating() {
            Requeue::OnChange
        } else if error.is_not_found() {
            Requeue::OnKind
        } else {
            error.requeue()
        };
        let (namespace, template) = (&self.key.namespace, &self.facts.runnable.template);
        let error = if self.has_secrets() {
            error.without_values()
        } else {
            error.to_string()
        };
        ReconcileError::new(
            Category::StampedObjectRejectedByAPIServer,
            requeue,
            format!(
                "unable to apply object [{namespace}/{name}] for run template [{template}]: create: {error}"
            ),
        )
    }

    /// Whether what was rendered may hold parts of a Secret: it is one, or one is selected.
    fn has_secrets(&self) -> bool {
        let selector = self.runnable.spec.selector.as_ref();
        let selected = selector.and_then(|selector| selector.resource.kind.as_deref());
        let rendered = self.facts.rendering.as_ref().ok();
        selected == Some(SECRET)
            || rendered.is_some_and(|rendering| rendering.document.kind() == SECRET)
    }
}
