//! Checks of a profile's rules.

use cartouche_crds::{ClusterRunProfileSpec, ProfileRule, is_dns_subdomain};
use cartouche_language::{Diagnostic, DiagnosticKind, Root, Segment, is_label_key, is_label_value};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

/// Returns all problems of the rules, by path. A selector with a problem selects nothing.
pub(super) fn check(spec: &ClusterRunProfileSpec) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (index, rule) in spec.rules.iter().flatten().enumerate() {
        let at = vec!["rules".into(), Segment::Index(index)];
        of_rule(rule, &at, &mut |at, what| {
            let kind = DiagnosticKind::plain(what);
            found.push(Diagnostic::new(Root::Profile, at, kind));
        });
    }
    found
}

/// Receives the path and the text of each problem.
type Tell<'a> = &'a mut dyn FnMut(Vec<Segment>, String);

fn below(at: &[Segment], steps: impl IntoIterator<Item = Segment>) -> Vec<Segment> {
    at.iter().cloned().chain(steps).collect()
}

fn of_rule(rule: &ProfileRule, at: &[Segment], tell: Tell<'_>) {
    let templates = rule.templates.as_deref();
    if templates.is_some_and(<[String]>::is_empty) {
        let what = "it names no template: leave the field out for all templates";
        tell(below(at, ["templates".into()]), what.to_owned());
    }
    for (index, name) in templates.into_iter().flatten().enumerate() {
        if !is_dns_subdomain(name) {
            let steps = ["templates".into(), Segment::Index(index)];
            tell(
                below(at, steps),
                format!("{name:?} is not the name of a template"),
            );
        }
    }
    for (field, selector) in [
        ("namespaceSelector", &rule.namespace_selector),
        ("runnableSelector", &rule.runnable_selector),
    ] {
        if let Some(selector) = selector {
            of_selector(selector, &below(at, [field.into()]), tell);
        }
    }
}

fn of_selector(selector: &LabelSelector, at: &[Segment], tell: Tell<'_>) {
    for (key, value) in selector.match_labels.iter().flatten() {
        let at = below(at, ["matchLabels".into(), key.as_str().into()]);
        if let Some(what) = wrong_key(key).or_else(|| wrong_value(value)) {
            tell(at, what);
        }
    }
    for (index, requirement) in selector.match_expressions.iter().flatten().enumerate() {
        let at = below(at, ["matchExpressions".into(), Segment::Index(index)]);
        of_requirement(requirement, &at, tell);
    }
}

fn of_requirement(requirement: &LabelSelectorRequirement, at: &[Segment], tell: Tell<'_>) {
    let LabelSelectorRequirement {
        key,
        operator,
        values,
    } = requirement;
    if let Some(what) = wrong_key(key) {
        tell(below(at, ["key".into()]), what);
    }
    let values = values.as_deref().unwrap_or_default();
    let wrong = match operator.as_str() {
        "In" | "NotIn" if values.is_empty() => Some(("values", format!("{operator} needs values"))),
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            Some(("values", format!("{operator} takes no values")))
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => None,
        _ => {
            let what = format!("{operator:?} is none of In, NotIn, Exists and DoesNotExist");
            Some(("operator", what))
        }
    };
    if let Some((field, what)) = wrong {
        tell(below(at, [field.into()]), what);
    }
    for (index, value) in values.iter().enumerate() {
        if let Some(what) = wrong_value(value) {
            tell(below(at, ["values".into(), Segment::Index(index)]), what);
        }
    }
}

fn wrong_key(key: &str) -> Option<String> {
    (!is_label_key(key)).then(|| format!("{key:?} is not a valid label key"))
}

fn wrong_value(value: &str) -> Option<String> {
    (!is_label_value(value)).then(|| format!("{value:?} is not a valid label value"))
}
