//! Resources and verbs that a template requires permission for, and that do not exist.

use std::collections::BTreeSet;

use cartouche_language::suggestion;

use super::knowledge::Knowledge;
use crate::{
    finding::{Finding, Rule},
    permissions::resource::group_of,
    schema::catalog::Catalog,
    source::{Document, Node, Segment, SourceSpan},
};

const VERBS: [&str; 14] = [
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "delete",
    "deletecollection",
    "use",
    "bind",
    "escalate",
    "impersonate",
    "approve",
    "sign",
];
const ANY: &str = "*";
/// Short names, which RBAC does not know.
const SHORT: [(&str, &str); 8] = [
    ("cm", "configmaps"),
    ("deploy", "deployments"),
    ("po", "pods"),
    ("pvc", "persistentvolumeclaims"),
    ("sa", "serviceaccounts"),
    ("secret", "secrets"),
    ("sts", "statefulsets"),
    ("svc", "services"),
];

/// A resource of Kubernetes.
struct KnownResource {
    group: String,
    plural: String,
    kind: String,
}

pub(super) fn check(document: &Document, knowledge: &Knowledge) -> Vec<Finding> {
    let required = document.root.at(&["spec", "requires"]).map(Node::items);
    let required = required.unwrap_or_default();
    if required.is_empty() {
        return Vec::new();
    }
    let known = known(&knowledge.catalog);
    let mut findings = Vec::new();
    for (index, permission) in required.iter().enumerate() {
        let at = |fields: &[&str]| {
            let mut at = Segment::keys(["spec", "requires"]);
            at.push(Segment::Index(index));
            at.extend(Segment::keys(fields.iter().copied()));
            at
        };
        findings.extend(resource(
            permission,
            &known,
            document.place_at(&at(&["resource"])),
        ));
        let verbs = permission.get("verbs").map(Node::items).unwrap_or_default();
        // Servers of other groups may have verbs of their own.
        let group = permission.get("apiGroup").and_then(Node::text);
        if is_known(&known, group.unwrap_or_default()) {
            findings.extend(verbs.iter().filter_map(|verb| unknown_verb(document, verb)));
        }
    }
    findings
}

fn known(catalog: &Catalog) -> Vec<KnownResource> {
    let names: BTreeSet<(&str, &str)> = catalog.names();
    let known = names.into_iter().filter_map(|(api_version, kind)| {
        Some(KnownResource {
            group: group_of(api_version).to_owned(),
            plural: catalog.get(api_version, kind)?.plural.clone()?,
            kind: kind.to_owned(),
        })
    });
    known.collect()
}

fn is_known(known: &[KnownResource], group: &str) -> bool {
    known.iter().any(|it| it.group == group)
}

fn resource(permission: &Node, known: &[KnownResource], place: SourceSpan) -> Option<Finding> {
    let literal = |field: &str| match permission.get(field) {
        None => Some(""),
        Some(node) => node.text().filter(|text| !text.contains("$(")),
    };
    let (group, whole) = (literal("apiGroup")?, literal("resource")?);
    let resource = whole.split('/').next().unwrap_or_default();
    let is_there = |it: &&KnownResource| it.group == group && it.plural == resource;
    // An unknown group may have any resource.
    let is_known = is_known(known, group);
    if [ANY, ""].contains(&resource)
        || group == ANY
        || !is_known
        || known.iter().any(|it| is_there(&it))
    {
        return None;
    }
    let shown = if group.is_empty() {
        "the core group"
    } else {
        group
    };
    // Some resources have no kind, such as those that are impersonated.
    let cure = cure(resource, group, known)?;
    let message = format!("there is no resource '{resource}' in {shown}: no role can give it");
    let finding = Finding::warning(Rule::Template, message)
        .at(place)
        .label("no such resource");
    Some(finding.help(cure))
}

fn cure(resource: &str, group: &str, known: &[KnownResource]) -> Option<String> {
    let short = SHORT.iter().find(|(short, _)| *short == resource);
    let lower = short.map_or_else(
        || resource.to_lowercase(),
        |(_, plural)| (*plural).to_owned(),
    );
    let is_meant = |it: &&KnownResource| it.plural == lower || it.kind.to_lowercase() == lower;
    let mut meant = known.iter().filter(is_meant);
    let Some(found) = meant
        .clone()
        .find(|it| it.group == group)
        .or_else(|| meant.next())
    else {
        let here = known.iter().filter(|it| it.group == group);
        let here = here.map(|it| it.plural.as_str());
        return Some(format!(
            "did you mean '{}'?",
            suggestion::slip(resource, here)?
        ));
    };
    let plural = &found.plural;
    Some(if found.group == group {
        format!("write the plural: {plural}")
    } else if found.group.is_empty() {
        format!("{plural} are in the core group: write apiGroup: \"\", resource: {plural}")
    } else {
        format!(
            "{plural} are in the group {0}: write apiGroup: {0}, resource: {plural}",
            found.group
        )
    })
}

/// Finds a verb that is close to a known one.
fn unknown_verb(document: &Document, verb: &Node) -> Option<Finding> {
    let text = verb.text()?;
    let lower = text.to_lowercase();
    let meant = match lower.as_str() {
        "read" | "view" => "get",
        "write" | "edit" => "update",
        "remove" => "delete",
        "apply" => "patch",
        _ => suggestion::slip(text, VERBS)?,
    };
    if VERBS.contains(&text) || text == ANY {
        return None;
    }
    let message = format!("there is no verb '{text}' of Kubernetes: no role gives it");
    let finding = Finding::warning(Rule::Template, message)
        .at(document.place(&verb.span))
        .label("no such verb");
    Some(finding.help(format!("did you mean '{meant}'?")))
}
