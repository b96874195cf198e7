//! Asks the API server what it makes of the rendered document, to compare that with a run. I/O.

use cartouche_protocol::{facts::RunName, object::Object};
use cartouche_templating::contains_document;
use serde_json::Value;

use super::reconciliation::{End, Reconciliation};
use crate::{api::CreateMode, memory::Operation};

impl Reconciliation<'_> {
    /// Asks what the server makes of the rendered document, and whether the run has all of it.
    pub(super) async fn ask_server(&mut self, name: RunName) -> Result<(), End> {
        let live = match self.read_object(&name, None).await {
            Ok(live) => live,
            Err(error) => {
                let error = self.unreadable(&error);
                return Err(self.fail(Operation::Read(name.name), error));
            }
        };
        let sequence = self.facts.ledger.next_sequence();
        let asked = match self.stamped(sequence, None) {
            Ok((path, object)) => match &self.account {
                Some(account) => match account.create(&path, &object, CreateMode::DryRun).await {
                    Ok(Object(made)) => Some(made),
                    // Nobody said what the server makes of it: to take it for a change would be a run.
                    Err(error) if error.is_passing() || error.is_forbidden() => {
                        let error = self.refusal(&name.name, &error);
                        return Err(self.fail(Operation::Read(name.name), error));
                    }
                    // Nobody can say: as with a run that is gone, a takeover must not run a cluster again.
                    Err(error) if error.is_about_the_dry_run() => {
                        self.facts.server_agrees = Some(true);
                        return Ok(());
                    }
                    Err(_) => None,
                },
                None => None,
            },
            Err(error) => return Err(self.fail(Operation::Read(name.name), error)),
        };
        let rendered = self
            .facts
            .rendering
            .as_ref()
            .map(|rendering| rendering.document.document().clone());
        let agrees = match (live, asked, rendered) {
            (Some(live), Some(asked), Ok(rendered)) => {
                contains_document(&live, &projected(&rendered, &asked))
            }
            _ => false,
        };
        self.facts.server_agrees = Some(agrees);
        Ok(())
    }
}

/// What the server made of each value in a document: quantities in their usual form, empty lists
/// gone, unknown fields gone; none of the fields that it adds.
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
