//! Everything that a rendering is made of, to tell whether it would be the same again.

use std::{collections::BTreeMap, sync::Arc};

use cartouche_protocol::compiled::Compiled;
use cartouche_templating::Sourced;
use serde_json::Value;

/// Sources of a rendering beside the Runnable, of which a reconciliation has only one state.
pub(super) struct RenderSources {
    pub(super) compiled: Arc<Compiled>,
    pub(super) selected: Option<Arc<Value>>,
    pub(super) inputs: BTreeMap<String, Sourced>,
}

impl RenderSources {
    /// Returns true if both are the same: compiled template, selected object and inputs.
    pub(super) fn are(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.compiled, &other.compiled)
            && self.selected == other.selected
            && self.inputs == other.inputs
    }
}

#[cfg(test)]
mod tests {
    use cartouche_crds::ClusterRunTemplate;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_rendered_is_kept_only_while_all_that_it_was_made_of_is_the_same() {
        let template = json!({
            "metadata": { "name": "t" },
            "spec": { "template": { "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "r-" } } },
        });
        let template: ClusterRunTemplate = serde_json::from_value(template).unwrap();
        let compiled = Arc::new(Compiled::new(&template));
        let made_of = |selected: &str, input: &str| RenderSources {
            compiled: compiled.clone(),
            selected: Some(Arc::new(json!(selected))),
            inputs: BTreeMap::from([("size".to_owned(), Sourced::plain(json!(input)))]),
        };
        assert!(made_of("a", "s").are(&made_of("a", "s")));
        assert!(!made_of("a", "s").are(&made_of("b", "s")));
        assert!(!made_of("a", "s").are(&made_of("a", "m")));
        let again = RenderSources {
            compiled: Arc::new(Compiled::new(&template)),
            ..made_of("a", "s")
        };
        assert!(!made_of("a", "s").are(&again));
    }
}
