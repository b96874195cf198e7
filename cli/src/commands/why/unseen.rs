//! Advice for users who may not read the template, without commands that need it.

use crate::{cluster::TEMPLATES_VIEW, live::place::Place};

/// Rewrites the advice so that it can be followed without the template.
pub(super) fn advice(advice: &str, name: &str, place: &Place) -> String {
    let needs = |command: &str| advice.contains(&format!("`cartouche {command} "));
    if needs("approve") {
        let approve = place.command(&format!("approve {name} --unverified"));
        return format!(
            "`{approve}` approves the run in the status; to see what it changes, you need the ClusterRole {TEMPLATES_VIEW}"
        );
    }
    if ["rbac", "diff", "explain", "profile which"]
        .into_iter()
        .any(needs)
    {
        return format!("with the ClusterRole {TEMPLATES_VIEW}, which you lack: {advice}");
    }
    advice.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advised(text: &str) -> String {
        advice(text, "hello", &Place::new("shop", "demo"))
    }

    #[test]
    fn a_command_that_needs_the_template_is_advised_with_the_right_that_it_takes() {
        let rbac = "`cartouche rbac --runnable hello --namespace shop` prints the Role to apply";
        assert_eq!(
            advised(rbac),
            format!("with the ClusterRole cartouche-templates-view, which you lack: {rbac}")
        );
    }

    #[test]
    fn an_approval_is_advised_as_it_can_be_given() {
        let approve = "`cartouche approve hello -n shop` shows what it changes, and approves it";
        let said = advised(approve);
        let begin = "`cartouche approve hello --unverified -n shop` approves the run in the status";
        assert!(said.starts_with(begin), "{said}");
    }

    #[test]
    fn other_advice_is_as_it_was() {
        let rerun = "run again: `cartouche rerun hello -n shop`";
        assert_eq!(advised(rerun), rerun);
    }
}
