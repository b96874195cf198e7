//! Permissions that a ServiceAccount needs, so that the controller can act as it for Runnables.
//! docs/concepts/security.md lists the requests that the controller makes as the account.

pub mod manifest;
pub mod resource;
pub mod role_name;

use anyhow::bail;
use cartouche_protocol::permissions::{Need, Target};

use resource::Resource;

/// The account that the permissions are for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Namespace of the account, and of its Runnables.
    pub namespace: String,
    /// Name of the account.
    pub name: String,
}

/// A rule of a role, and its purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleRule {
    /// Resource that the verbs are for.
    pub resource: Resource,
    /// The namespace in which it is needed, if that is another than the Runnable's.
    pub namespace: Option<String>,
    /// The names of the only objects that it is for; none where it is for all.
    pub names: Vec<String>,
    /// Verbs with their reasons.
    pub grants: Vec<Grant>,
}

/// Verbs that are granted for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Verbs of RBAC.
    pub verbs: Vec<&'static str>,
    /// Reason, for the comment above the rule.
    pub why: String,
    /// True if runs are made without it as well.
    pub optional: bool,
}

impl RoleRule {
    /// Returns true if both rules are for named objects of one place, and grant the same on them.
    fn is_like(&self, other: &Self) -> bool {
        let are_named = !self.names.is_empty() && !other.names.is_empty();
        let place = |rule: &Self| (rule.resource.clone(), rule.namespace.clone());
        are_named && place(self) == place(other) && self.verbs() == other.verbs()
    }

    /// Returns the granted verbs, each once, in the order in which they are first needed.
    #[must_use]
    pub fn verbs(&self) -> Vec<&'static str> {
        let mut verbs = Vec::new();
        for verb in self.grants.iter().flat_map(|grant| &grant.verbs) {
            if !verbs.contains(verb) {
                verbs.push(verb);
            }
        }
        verbs
    }
}

/// Returns `apiVersion` and kind of everything that is needed.
pub fn kinds_of(needs: &[Need]) -> impl Iterator<Item = (&str, &str)> {
    needs.iter().filter_map(|need| match &need.target {
        Target::Kind(api_version, kind) => Some((&**api_version, &**kind)),
        Target::Tagged => None,
    })
}

/// Returns the rules for these needs: one for each resource, and another one for named objects of it. `find` knows the
/// resource of a kind; those `given` stand for what it does not know, and for kinds that a tag decides.
pub fn rules(
    needs: &[Need],
    given: &[Resource],
    find: impl Fn(&str, &str) -> Option<Resource>,
) -> anyhow::Result<Vec<RoleRule>> {
    let mut rules: Vec<RoleRule> = Vec::new();
    for need in needs {
        let resources = match &need.target {
            Target::Kind(api_version, kind) => {
                vec![resource::known_or_given(api_version, kind, given, &find)?]
            }
            Target::Tagged if given.is_empty() => bail!(
                "a tag decides the kind of these runs ({}), so the command cannot name a resource\n\
                 hint: name each possible one: --resource PLURAL.GROUP, for example --resource jobs.batch",
                need.why
            ),
            Target::Tagged => given.to_vec(),
        };
        for resource in resources {
            add(&mut rules, resource, need);
        }
    }
    Ok(joined(rules))
}

/// Joins the rules for named objects on which the same is granted. No verb is granted on an object that does not need
/// it.
fn joined(rules: Vec<RoleRule>) -> Vec<RoleRule> {
    let mut joined: Vec<RoleRule> = Vec::new();
    for rule in rules {
        match joined.iter_mut().find(|it| it.is_like(&rule)) {
            Some(like) => {
                like.names.extend(rule.names);
                like.names.sort();
                like.names.dedup();
                for grant in rule.grants {
                    if !like.grants.contains(&grant) {
                        like.grants.push(grant);
                    }
                }
            }
            None => joined.push(rule),
        }
    }
    joined
}

fn add(rules: &mut Vec<RoleRule>, resource: Resource, need: &Need) {
    let grant = Grant {
        verbs: need.verbs.to_vec(),
        why: need.why.clone(),
        optional: need.optional,
    };
    let is_for = |rule: &&mut RoleRule| {
        rule.resource == resource && rule.namespace == need.namespace && rule.names == need.names
    };
    match rules.iter_mut().find(is_for) {
        Some(rule) if rule.grants.contains(&grant) => {}
        Some(rule) => rule.grants.push(grant),
        None => rules.push(RoleRule {
            resource,
            namespace: need.namespace.clone(),
            names: need.names.clone(),
            grants: vec![grant],
        }),
    }
}

#[cfg(test)]
mod tests;
