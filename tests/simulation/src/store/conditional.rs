//! Writes that carry what the object must be.

use std::sync::Arc;

use serde_json::Value;

use super::{Happened, Key, Refusal, Store};

impl Store {
    /// Replaces the status, if resourceVersion and uid are the present ones; what is not given is
    /// not asked for.
    pub fn replace_status(
        &mut self,
        key: &Key,
        sent: &Value,
        actor: &str,
    ) -> Result<Arc<Value>, Refusal> {
        let present = self.objects.get(key).ok_or(Refusal::NotFound)?;
        let differs = |field: &str| {
            let pointer = format!("/metadata/{field}");
            let asked = sent.pointer(&pointer).and_then(Value::as_str);
            asked.is_some_and(|asked| {
                !asked.is_empty()
                    && present.pointer(&pointer).and_then(Value::as_str) != Some(asked)
            })
        };
        if differs("resourceVersion") || differs("uid") {
            return Err(Refusal::Conflict);
        }
        let status = sent.get("status").cloned().unwrap_or_default();
        self.change(key, actor, |object| object["status"] = status)
    }

    /// Deletes an object, if the uid is the present one.
    pub fn delete(
        &mut self,
        key: &Key,
        uid: Option<&str>,
        actor: &str,
    ) -> Result<Arc<Value>, Refusal> {
        let present = self.objects.get(key).ok_or(Refusal::NotFound)?;
        let present_uid = present.pointer("/metadata/uid").and_then(Value::as_str);
        if uid.is_some_and(|uid| present_uid != Some(uid)) {
            return Err(Refusal::Conflict);
        }
        let last = (**present).clone();
        let last = self.put(Happened::Deleted, key.clone(), last, actor);
        self.objects.remove(key);
        Ok(last)
    }
}
