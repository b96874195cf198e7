//! Asks the API server what it makes of the rendered document, to compare that with a run. I/O.

use cartouche_protocol::{facts::RunName, object::Object};
use cartouche_templating::contains_document;
use serde_json::Value;

use super::reconciliation::{End, Reconciliation};
use crate::{api::CreateMode, memory::Operation};

impl Reconciliation<'_> {
    /// Asks what the server makes of the rendered document, and whether the run has all of it.
    pub(super) async fn ask_server(&mut self, name: RunName) -> Result<(), End> {
        let fail = |error| self.fail(Operation::Read(name.name.clone()), error);
        let live = self.read_object(&name, None).await;
        let live = live.map_err(|error| fail(self.unreadable(&error)))?;
        let (path, object) = self
            .stamped(self.facts.ledger.next_sequence(), None)
            .map_err(fail)?;
        let made = match &self.account {
            Some(account) => account.create(&path, &object, CreateMode::DryRun).await,
            None => return Err(End::Conflict),
        };
        let agrees = match (live, made, &self.facts.rendering) {
            // Nobody said what the server makes of it: to take it for a change would be a run.
            (_, Err(error), _) if error.is_passing() || error.is_forbidden() => {
                return Err(fail(self.refusal(&name.name, &error)));
            }
            // Nobody can say: as with a run that is gone, a takeover must not run a cluster again.
            (_, Err(error), _) if error.is_about_the_dry_run() => true,
            (Some(live), Ok(Object(made)), Ok(rendering)) => {
                let rendered = rendering.document.document();
                contains_document(&live, &projected(rendered, &made))
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
