//! Asks the API server for a dry run of the rendered document. The result is compared with a run, or reported to a user
//! who is to approve one. I/O.

use cartouche_protocol::{
    facts::DryRun,
    ledger::{RunIdentity, RunName},
    messages::format::truncate,
    object::Object,
};
use cartouche_templating::{Rendered, contains_document};
use serde::de::IgnoredAny;
use serde_json::Value;

use super::reconciliation::{End, Reconciliation};
use crate::{
    api::{ApiError, CreateMode},
    clock::boot_time,
    lock::lock,
    memory::{MOST_DRY_RUNS, Operation, digest},
};

impl Reconciliation<'_> {
    /// Compares a run with a dry run of the rendered document: the server agrees if the run contains all of it.
    pub(super) async fn ask_server(&mut self, name: RunName) -> Result<(), End> {
        let fail = |error| self.fail(Operation::Read(name.name.clone()), error);
        let live = self.read_object(&name, None).await;
        let live = live.map_err(|error| fail(self.read_error(&error)))?;
        let next = self.facts.ledger.next_sequence();
        let name_asked = self.name_to_ask_with();
        let rendering = self.facts.rendering.as_ref().map_err(Clone::clone);
        let rendering = rendering.map_err(fail)?;
        let run = live
            .as_ref()
            .and_then(RunIdentity::from_object)
            .unwrap_or_default();
        let sent = match self.facts.made_as(rendering, &run) {
            Ok(sent) => sent,
            // The profile that the run was made with is not available, so the comparison is impossible.
            Err(error) if error.category.is_of_profiles() => return Err(fail(error)),
            // A document that cannot be made is not the one that the run was made of.
            Err(_) => {
                self.facts.server_agrees = Some(false);
                return Ok(());
            }
        };
        let stamped = self.stamped_like(&sent, next, name_asked.as_deref());
        let (path, object) = stamped.map_err(fail)?;
        let made = match &self.account {
            Some(account) => account.create(&path, &object, CreateMode::DryRun).await,
            None => return Err(End::Conflict),
        };
        let has_secrets = rendering.document.has_secrets();
        let agrees = match (live, made) {
            // The values of the Secrets when the run was made are unknown.
            _ if has_secrets => false,
            // The answer says nothing about the document: to take it for a change would make a run.
            (_, Err(error)) if says_nothing(&error, name_asked.is_some()) => {
                return Err(fail(self.refusal(&name.name, &error)));
            }
            // There is no dry run to compare with. As with a run that is gone, a takeover must not rerun a whole
            // cluster.
            (_, Err(error)) if error.is_about_the_dry_run() => true,
            (Some(live), Ok(Object(made))) => {
                let asked = projected(sent.document(), &made);
                contains_document(&self.facts.before_its_stop(&live, &asked), &asked)
            }
            _ => false,
        };
        self.facts.server_agrees = Some(agrees);
        Ok(())
    }

    /// Returns an unpredictable run name, so that it cannot be taken. The name of a real run can be derived from public
    /// data.
    pub(super) fn unheld_name(&self, document: &Rendered) -> String {
        document.name_beside(&self.facts.runnable.uid, self.facts.chance.cast_signed())
    }

    /// Returns the name for a dry run, or `None` to use the run's own: a fixed name is most often held by the run
    /// itself.
    fn name_to_ask_with(&self) -> Option<String> {
        let rendering = self.facts.rendering.as_ref().ok()?;
        let document = &rendering.document;
        let is_fixed = document.fixed_name().is_some();
        (!is_fixed).then(|| self.unheld_name(document))
    }

    /// Asks the server whether it would make the run of this number, for the user who is to approve it.
    pub(super) async fn dry_run(&mut self, sequence: i64) -> Result<(), End> {
        let Some(account) = self.account.clone() else {
            return Err(End::Conflict);
        };
        let token = self.facts.runnable.rerun_token.as_deref();
        let name = self.name_to_ask_with();
        let (path, object) = self
            .in_place(|| self.stamped_next(sequence, name.as_deref(), token))
            .await
            .map_err(|error| self.fail(Operation::Create(sequence), error))?;
        let about = digest_without_name(&object);
        let known = lock(&self.memory).dry_runs.answer(about);
        if known.is_some() {
            self.facts.dry_run = known;
            return Ok(());
        }
        if !lock(&self.memory).dry_runs.try_ask(boot_time()) {
            let why = format!("it was asked {MOST_DRY_RUNS} times within a minute");
            self.facts.dry_run = Some(DryRun::Unknown(why));
            return Ok(());
        }
        let made = account
            .create::<IgnoredAny>(&path, &object, CreateMode::DryRun)
            .await;
        self.look_at_the_clock();
        let answer = made.map_or_else(|error| answered(&error), |_| DryRun::Accepted);
        lock(&self.memory).dry_runs.keep_answer(about, &answer);
        self.facts.dry_run = Some(answer);
        Ok(())
    }
}

/// Returns a digest of an object whose name differs each time.
fn digest_without_name(object: &Value) -> u64 {
    let mut object = object.clone();
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.remove("name");
    }
    digest(object.to_string())
}

/// Returns true if a refusal says nothing about the document. It may be accepted another time, for another account, or
/// under another name than the unheld one.
fn says_nothing(error: &ApiError, is_unheld: bool) -> bool {
    let is_of_now = error.is_passing() || error.is_forbidden() || error.is_not_admitted();
    is_of_now || is_unheld && error.is_already_exists()
}

/// Maps an error to the answer for the status. That may be read by users who may not read Secrets, so values are left
/// out.
fn answered(error: &ApiError) -> DryRun {
    let text = truncate(error.without_values());
    let is_refused = error.is_definite_refusal() && !error.is_about_the_dry_run();
    if is_refused || error.is_already_exists() {
        DryRun::Refused(text)
    } else {
        DryRun::Unknown(text)
    }
}

/// Projects the server's version of an object onto the rendered fields. Quantities are normalised, and empty lists and
/// unknown fields are gone. Fields that the server adds are left out.
fn projected(rendered: &Value, made: &Value) -> Value {
    match (rendered, made) {
        (Value::Object(rendered), Value::Object(made)) => rendered
            .iter()
            .filter_map(|(key, value)| {
                made.get(key)
                    .map(|made| (key.clone(), projected(value, made)))
            })
            .collect(),
        (Value::Array(rendered), Value::Array(made)) if rendered.len() == made.len() => rendered
            .iter()
            .zip(made)
            .map(|(rendered, made)| projected(rendered, made))
            .collect(),
        (_, made) => made.clone(),
    }
}
