//! Roles and bindings, as manifests to apply.

use std::{collections::BTreeSet, fmt::Write as _};

use serde_json::{Value, json};

use super::{Account, RoleRule, role_name};
use crate::yaml;

const GROUP: &str = "rbac.authorization.k8s.io";

/// Scope of a role.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach<'a> {
    Namespace(&'a str),
    /// For kinds that are in no namespace.
    Cluster,
}

/// A role with the rules that belong into it.
struct Role<'a> {
    name: String,
    reach: Reach<'a>,
    account: &'a Account,
    rules: Vec<&'a RoleRule>,
}

/// Returns the roles that are needed: one in the namespace, one for kinds without namespaces if there are some, and one
/// in each other namespace. Outside of its own, the name of a role has the account's namespace in it, since others may
/// have such an account.
fn roles<'a>(name: &str, account: &'a Account, rules: &'a [RoleRule]) -> Vec<Role<'a>> {
    let reach = |rule: &'a RoleRule| match rule.namespace.as_deref() {
        _ if !rule.resource.namespaced => Reach::Cluster,
        namespace => Reach::Namespace(namespace.unwrap_or(&account.namespace)),
    };
    let of = |wanted, name: String| Role {
        name,
        reach: wanted,
        account,
        rules: rules.iter().filter(|rule| reach(rule) == wanted).collect(),
    };
    let outside = || role_name::of_cluster(&account.namespace, name);
    let named = rules.iter().filter_map(|rule| rule.namespace.as_deref());
    let elsewhere: BTreeSet<&str> = named.filter(|it| *it != account.namespace).collect();
    let here = [
        of(Reach::Namespace(&account.namespace), name.to_owned()),
        of(Reach::Cluster, outside()),
    ];
    let there = elsewhere.into_iter();
    here.into_iter()
        .chain(there.map(|namespace| of(Reach::Namespace(namespace), outside())))
        .filter(|role| !role.rules.is_empty())
        .collect()
}

impl Role<'_> {
    fn kind(&self) -> &'static str {
        match self.reach {
            Reach::Namespace(_) => "Role",
            Reach::Cluster => "ClusterRole",
        }
    }

    fn object(&self, kind: &str, rest: Value) -> Value {
        let mut object = rest;
        object["apiVersion"] = json!(format!("{GROUP}/v1"));
        object["kind"] = json!(kind);
        object["metadata"] = json!({ "name": self.name });
        if let Reach::Namespace(namespace) = self.reach {
            object["metadata"]["namespace"] = json!(namespace);
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

    /// Returns the role as YAML, with the purpose of each rule above it.
    fn commented(&self) -> anyhow::Result<String> {
        let mut text = yaml::text(&self.object(self.kind(), json!({})))?;
        text.push_str("rules:\n");
        for rule in &self.rules {
            for grant in &rule.grants {
                let optional = if grant.optional { " (optional)" } else { "" };
                let comment = format!("{}: {}{optional}", grant.verbs.join(", "), grant.why);
                write!(text, "  {}", yaml::comment(&comment))?;
            }
            for line in yaml::text(&json!([as_json(rule)]))?.lines() {
                writeln!(text, "  {line}")?;
            }
        }
        Ok(text)
    }
}

fn as_json(rule: &RoleRule) -> Value {
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

/// Returns everything as YAML for kubectl apply.
pub fn yaml(name: &str, account: &Account, rules: &[RoleRule]) -> anyhow::Result<String> {
    let mut documents = Vec::new();
    for role in roles(name, account, rules) {
        documents.push(role.commented()?);
        documents.push(yaml::text(&role.binding())?);
    }
    Ok(documents.join("---\n"))
}

/// Returns the same as objects.
#[must_use]
pub fn json(name: &str, account: &Account, rules: &[RoleRule]) -> Vec<Value> {
    let all = roles(name, account, rules);
    all.iter()
        .flat_map(|role| [role.role(), role.binding()])
        .collect()
}

/// Returns the account itself.
#[must_use]
pub fn account(account: &Account) -> Value {
    let Account { namespace, name } = account;
    json!({
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": { "name": name, "namespace": namespace },
    })
}

/// Returns the account as YAML.
pub fn account_yaml(account: &Account) -> anyhow::Result<String> {
    let comment = "leave this out if the account exists with fields of its own: kubectl apply may remove them";
    Ok(yaml::comment(comment) + &yaml::text(&self::account(account))?)
}
