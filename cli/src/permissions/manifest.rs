//! Roles and bindings, as one applies them.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Account, Rule, role_name};
use crate::yaml;

const GROUP: &str = "rbac.authorization.k8s.io";

/// Where a role holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    Namespace,
    /// For kinds that are in no namespace.
    Cluster,
}

/// A role with the rules that belong into it.
struct Role<'a> {
    name: String,
    reach: Reach,
    account: &'a Account,
    rules: Vec<&'a Rule>,
}

/// The roles that are needed: one in the namespace, and one for kinds without namespaces if there are some.
fn roles<'a>(name: &str, account: &'a Account, rules: &'a [Rule]) -> Vec<Role<'a>> {
    let of = |reach, name: String| Role {
        name,
        reach,
        account,
        rules: rules
            .iter()
            .filter(|rule| rule.resource.namespaced == (reach == Reach::Namespace))
            .collect(),
    };
    let cluster = role_name::of_cluster(&account.namespace, name);
    let both = [
        of(Reach::Namespace, name.to_owned()),
        of(Reach::Cluster, cluster),
    ];
    both.into_iter()
        .filter(|role| !role.rules.is_empty())
        .collect()
}

impl Role<'_> {
    fn kind(&self) -> &'static str {
        match self.reach {
            Reach::Namespace => "Role",
            Reach::Cluster => "ClusterRole",
        }
    }

    fn object(&self, kind: &str, rest: Value) -> Value {
        let mut object = rest;
        object["apiVersion"] = json!(format!("{GROUP}/v1"));
        object["kind"] = json!(kind);
        object["metadata"] = json!({ "name": self.name });
        if self.reach == Reach::Namespace {
            object["metadata"]["namespace"] = json!(self.account.namespace);
        }
        object
    }

    fn role(&self) -> Value {
        let rules: Vec<Value> = self.rules.iter().map(|rule| as_json(rule)).collect();
        self.object(self.kind(), json!({ "rules": rules }))
    }

    fn binding(&self) -> Value {
        let Account { namespace, name } = self.account;
        self.object(
            &format!("{}Binding", self.kind()),
            json!({
                "roleRef": { "apiGroup": GROUP, "kind": self.kind(), "name": self.name },
                "subjects": [{ "kind": "ServiceAccount", "name": name, "namespace": namespace }],
            }),
        )
    }

    /// The role as YAML, and above each rule what it is for.
    fn commented(&self) -> anyhow::Result<String> {
        let mut text = yaml::text(&self.object(self.kind(), json!({})))?;
        text.push_str("rules:\n");
        for rule in &self.rules {
            for grant in &rule.grants {
                let optional = if grant.optional { " (optional)" } else { "" };
                let why: String = grant.why.chars().map(in_a_comment).collect();
                writeln!(text, "  # {}: {why}{optional}", grant.verbs.join(", "))?;
            }
            for line in yaml::text(&json!([as_json(rule)]))?.lines() {
                writeln!(text, "  {line}")?;
            }
        }
        Ok(text)
    }
}

/// A line break would end the comment, and YAML has more of them than a line feed: of others nothing is in a
/// comment but what ASCII can show.
fn in_a_comment(character: char) -> char {
    match character {
        ' '..='~' => character,
        _ => ' ',
    }
}

fn as_json(rule: &Rule) -> Value {
    let mut json = json!({
        "apiGroups": [rule.resource.group],
        "resources": [rule.resource.plural],
        "verbs": rule.verbs(),
    });
    // Without names it is for all objects: an empty list would say so in another way.
    if !rule.names.is_empty() {
        json["resourceNames"] = json!(rule.names);
    }
    json
}

/// Everything as YAML for kubectl apply.
pub(crate) fn yaml(name: &str, account: &Account, rules: &[Rule]) -> anyhow::Result<String> {
    let mut documents = Vec::new();
    for role in roles(name, account, rules) {
        documents.push(role.commented()?);
        documents.push(yaml::text(&role.binding())?);
    }
    Ok(documents.join("---\n"))
}

/// The same as a List.
pub(crate) fn json(name: &str, account: &Account, rules: &[Rule]) -> Value {
    let items: Vec<Value> = roles(name, account, rules)
        .iter()
        .flat_map(|role| [role.role(), role.binding()])
        .collect();
    json!({ "apiVersion": "v1", "kind": "List", "items": items })
}
