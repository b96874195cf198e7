//! Notes on Runnables that a newer release serves: controllers of this release leave them alone.

use cartouche_authoring::foreign::in_one_line;
use cartouche_crds::Runnable;
use cartouche_protocol::{
    messages::{format::MessageParts, reconcile_error::ReconcileError},
    newer_release::leaves_alone,
};
use kube::ResourceExt as _;

/// Returns the reason why controllers of this release leave the Runnable alone, or `None`.
pub(crate) fn left_alone(runnable: &Runnable) -> Option<ReconcileError> {
    leaves_alone(runnable.status.as_ref())
}

/// Returns a note for a command that has changed the Runnable; empty if this release serves it.
pub(crate) fn beside(runnable: &Runnable) -> String {
    let Some(newer) = left_alone(runnable) else {
        return String::new();
    };
    let (name, what) = (
        runnable.name_any(),
        in_one_line(MessageParts::parse(&newer.message).what),
    );
    format!("{name}: {what}; that newer release decides what this command does\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::beside;

    #[test]
    fn what_a_newer_release_does_with_it_this_command_does_not_claim_to_know() {
        let said = |needs| {
            let runnable = json!({
                "apiVersion": "carto.run/v1alpha1", "kind": "Runnable", "metadata": { "name": "hello" },
                "spec": { "runTemplateRef": { "name": "greet" } }, "status": { "needs": needs },
            });
            beside(&serde_json::from_value(runnable).unwrap())
        };
        assert_eq!(said(json!([])), "");
        let newer = said(json!(["ticks"]));
        assert!(
            newer.starts_with("hello: a newer release") && newer.contains("\"ticks\""),
            "{newer}"
        );
    }
}
