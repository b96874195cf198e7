//! The owner of an object that has the name of a run.

use std::fmt;

use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

use crate::messages::format::truncate_to;

/// Longest name of a controller in a message, in bytes.
const MOST: usize = 200;

/// The owner, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Holder {
    /// The object was not read.
    #[default]
    Unknown,
    /// An earlier run of the Runnable.
    EarlierRun,
    /// The object has a controller, by its owner reference.
    Controlled {
        /// Kind and name of the controller.
        by: String,
        /// Creation time of the object.
        created: Option<Timestamp>,
    },
    /// Nothing controls it.
    Uncontrolled {
        /// Creation time of the object.
        created: Option<Timestamp>,
    },
}

/// Returns kind and name of an object's controller.
#[must_use]
pub fn controller(object: &Value) -> Option<String> {
    let mut owners = object
        .pointer("/metadata/ownerReferences")?
        .as_array()?
        .iter();
    let owner = owners.find(|owner| owner.get("controller") == Some(&Value::Bool(true)))?;
    let text = |key: &str| owner.get(key).and_then(Value::as_str).unwrap_or_default();
    Some(truncate_to(
        format!("{} {}", text("kind"), text("name")),
        MOST,
    ))
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let created = match self {
            Self::Unknown => return Ok(()),
            Self::EarlierRun => return f.write_str(", from an earlier run"),
            Self::Controlled { by, created } => {
                write!(f, ", controlled by {by}")?;
                created
            }
            Self::Uncontrolled { created } => {
                f.write_str(", created by another client")?;
                created
            }
        };
        match created {
            Some(created) => write!(f, " (created at {created})"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ledger::tests::sample::{RUNNABLE, run, running};

    fn held_by(controller: Option<&str>, owner: Option<&str>, is_fixed: bool) -> String {
        let mut found = running(run(1, "A"));
        found.controller = controller.map(str::to_owned);
        found.run.owner_uid = owner.map(str::to_owned);
        found.run.created = "2026-01-01T00:00:00Z".parse().ok();
        Holder::from_found(&found, RUNNABLE, is_fixed).to_string()
    }

    #[test]
    fn an_object_is_somebodys_else_an_earlier_run_or_what_its_controller_made() {
        let own = held_by(Some("Runnable r"), Some(RUNNABLE), true);
        assert_eq!(own, ", from an earlier run");
        let forged = held_by(Some("Runnable r"), Some(RUNNABLE), false);
        assert_eq!(
            forged,
            ", controlled by Runnable r (created at 2026-01-01T00:00:00Z)"
        );
        let strange = held_by(None, None, true);
        assert_eq!(
            strange,
            ", created by another client (created at 2026-01-01T00:00:00Z)"
        );
        assert_eq!(Holder::default().to_string(), "");
    }

    #[test]
    fn of_several_owners_it_is_the_controller_that_is_told() {
        let owner = |name: &str, controls: bool| json!({ "kind": "CronJob", "name": name, "controller": controls });
        let object =
            json!({ "metadata": { "ownerReferences": [owner("a", false), owner("b", true)] } });
        assert_eq!(controller(&object).as_deref(), Some("CronJob b"));
        let none = json!({ "metadata": { "ownerReferences": [owner("a", false)] } });
        assert_eq!(controller(&none), None);
        assert_eq!(controller(&json!({})), None);
        let long = json!({ "metadata": { "ownerReferences": [owner(&"x".repeat(9_000), true)] } });
        assert!(controller(&long).is_some_and(|told| told.len() <= MOST));
    }
}
