//! A diamond that is made a cycle, and repaired.

use serde_json::{Value, json};

use super::{Chain, Role};
use crate::store::Store;

/// The input of A by which it reads D.
const BACK: &str = "back";

/// Returns true if this version of A reads D.
#[must_use]
pub fn is_tied(object: &Value) -> bool {
    let from = object.pointer("/spec/inputsFrom").and_then(Value::as_array);
    from.is_some_and(|from| from.iter().any(|input| input["name"] == BACK))
}

impl Chain {
    /// Makes A read D, or not any more. No run shows the value that it reads there.
    pub fn tie(&self, store: &mut Store, actor: &str, tied: bool) {
        // A deleted object stays deleted.
        let _ = store.change(&self.key(Role::A), actor, |object| {
            let Some(Value::Array(from)) = object.pointer_mut("/spec/inputsFrom") else {
                return;
            };
            from.retain(|input| input["name"] != BACK);
            if tied {
                let last = format!("r{}", self.number(Role::D));
                let reference = json!({ "name": last, "output": "answer" });
                from.push(json!({ "name": BACK, "runnableRef": reference }));
            }
        });
    }
}
