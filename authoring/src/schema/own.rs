//! The schemas of the kinds of Cartouche.

use std::rc::Rc;

use serde_json::{Value, json};

use super::{definitions, kind_schema::KindSchema};

/// Returns the schema of the Runnable.
pub(crate) fn runnable() -> Rc<KindSchema> {
    of_definition(&json!(cartouche_crds::runnable()))
}

/// Returns the schema of the `ClusterRunTemplate`.
pub(crate) fn cluster_run_template() -> Rc<KindSchema> {
    of_definition(&json!(cartouche_crds::cluster_run_template()))
}

/// Returns the schema of the `ClusterRunProfile`.
pub(crate) fn cluster_run_profile() -> Rc<KindSchema> {
    of_definition(&json!(cartouche_crds::cluster_run_profile()))
}

fn of_definition(definition: &Value) -> Rc<KindSchema> {
    let found = definitions::of_custom_resource(definition)
        .into_iter()
        .next()
        .map(|(_, schema)| schema);
    found.unwrap_or_else(|| {
        Rc::new(KindSchema {
            document: Rc::new(Value::Null),
            pointer: String::new(),
            namespaced: None,
            plural: None,
            built_in: false,
        })
    })
}
