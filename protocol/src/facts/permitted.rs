//! Permissions of the account of a run's pods.

use cartouche_crds::RequiredPermission;
use cartouche_templating::Needed;

use crate::messages::diagnosis::Denied;

/// Answer of the API server about the permissions that a template requires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permitted {
    /// Permissions that were checked.
    pub needed: Needed,
    /// Permissions among these that are missing.
    pub missing: Vec<Denied>,
}

impl Permitted {
    /// Builds the answer from the permissions that were checked and the denied verbs, each with the index of its
    /// permission.
    #[must_use]
    pub fn new(needed: Needed, denied: &[(usize, String)]) -> Self {
        let mut missing = Vec::new();
        for (index, verb) in denied {
            if let Some(permission) = needed.permissions.get(*index) {
                denied_of(permission, verb).add_to(&mut missing);
            }
        }
        Self { needed, missing }
    }
}

fn denied_of(permission: &RequiredPermission, verb: &str) -> Denied {
    let mut resource = permission.resource.clone();
    if !permission.api_group.is_empty() {
        resource = format!("{resource}.{}", permission.api_group);
    }
    if let Some(name) = &permission.name {
        resource = format!("{resource} {name:?}");
    }
    Denied::one(verb, &resource).in_namespace(permission.namespace.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_once_for_each_resource_and_namespace() {
        let permission = |namespace: Option<&str>| RequiredPermission {
            resource: "secrets".to_owned(),
            verbs: vec!["get".to_owned(), "update".to_owned()],
            namespace: namespace.map(str::to_owned),
            ..RequiredPermission::default()
        };
        let needed = Needed {
            account: "builder".to_owned(),
            permissions: vec![permission(None), permission(Some("state"))],
        };
        let denied = [(0, "get"), (0, "update"), (1, "update")];
        let denied = denied.map(|(index, verb)| (index, verb.to_owned()));
        let missing = Permitted::new(needed, &denied).missing;
        let said: Vec<String> = missing.iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "get/update secrets",
                "update secrets in the namespace state"
            ]
        );
    }
}
