//! `RoleBinding`s that seem meant to give an account its rights, and do not.

use cartouche_crds::{DEFAULT_SERVICE_ACCOUNT, Runnable};
use cartouche_language::suggestion;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::{Api, ResourceExt, api::ListParams};

use super::{LookResult, names};
use crate::cluster::{Cluster, within};

/// Most bindings that are named.
const MOST: usize = 3;

/// Returns true if a message says that this account may not do something.
pub(super) fn is_refused(message: &str, namespace: &str, account: &str) -> bool {
    let who = format!("ServiceAccount {account:?} in namespace {namespace:?} may not ");
    message.contains(&who)
}

/// Looks for such bindings of its account in the namespace, if the user may list them.
pub(super) async fn look(runnable: &Runnable, cluster: &Cluster) -> LookResult {
    let account = runnable.spec.service_account();
    let api: Api<RoleBinding> = cluster.api();
    let all = ListParams::default();
    let listed = within("listing RoleBindings", api.list(&all)).await;
    let bindings = listed.map(|listed| listed.items).unwrap_or_default();
    let roles = names::<Role>(cluster).await;
    let said = wrong(account, &cluster.namespace, &bindings, roles.as_deref());
    LookResult {
        said,
        ..LookResult::default()
    }
}

/// Describes the bindings for an account of this name that give it nothing. It is unknown if one of them should, so
/// the advice stays that of the status. Every namespace has a `default` account, and a binding usually means another
/// one.
fn wrong(
    account: &str,
    namespace: &str,
    bindings: &[RoleBinding],
    roles: Option<&[String]>,
) -> Vec<String> {
    let own = |binding: &RoleBinding| -> Vec<String> {
        let subjects = binding.subjects.iter().flatten();
        let own = subjects.filter(|it| it.kind == "ServiceAccount" && it.name == account);
        own.map(|it| it.namespace.clone().unwrap_or_default())
            .collect()
    };
    let is_here = |namespaces: &[String]| namespaces.iter().any(|it| it == namespace);
    let has_any = bindings.iter().any(|binding| is_here(&own(binding)));
    let said = bindings.iter().filter_map(|binding| {
        let (name, namespaces) = (binding.name_any(), own(binding));
        let role = &binding.role_ref;
        if is_here(&namespaces) {
            let roles = roles.filter(|roles| role.kind == "Role" && !roles.contains(&role.name))?;
            let meant = suggestion::nearest(&role.name, roles.iter().map(String::as_str));
            let meant = meant.map_or_else(String::new, |it| format!("; there is a Role {it}"));
            let role = &role.name;
            return Some(format!(
                "RoleBinding {name} names Role {role}, which does not exist{meant}"
            ));
        }
        let other = namespaces.first()?;
        (!has_any && account != DEFAULT_SERVICE_ACCOUNT).then(|| {
            format!(
                "RoleBinding {name} is for ServiceAccount {account} of the namespace {other}, not of {namespace}"
            )
        })
    });
    said.take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn binding(namespace: &str, role: &str) -> RoleBinding {
        serde_json::from_value(json!({
            "metadata": { "name": "b" },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role },
            "subjects": [{ "kind": "ServiceAccount", "name": "builder", "namespace": namespace }],
        }))
        .unwrap()
    }

    fn said(bindings: &[RoleBinding]) -> Vec<String> {
        wrong("builder", "shop", bindings, Some(&["builder".to_owned()]))
    }

    #[test]
    fn a_binding_of_another_namespace_or_of_no_role_is_named() {
        let elsewhere =
            "RoleBinding b is for ServiceAccount builder of the namespace default, not of shop";
        assert_eq!(said(&[binding("default", "builder")]), [elsewhere]);
        assert_eq!(
            said(&[binding("shop", "bulider")]),
            ["RoleBinding b names Role bulider, which does not exist; there is a Role builder"]
        );
        assert!(said(&[binding("shop", "builder")]).is_empty());
        // Roles that the user may not list may exist.
        let unseen = wrong("builder", "shop", &[binding("shop", "bulider")], None);
        assert!(unseen.is_empty());
    }

    #[test]
    fn bindings_of_others_are_left_out_where_they_are_probably_meant() {
        // A binding of its own gives it something; what is missing is in that role.
        let own_and_other = [binding("default", "admin"), binding("shop", "builder")];
        assert!(said(&own_and_other).is_empty());
        let mut of_default = binding("other", "admin");
        of_default.subjects.iter_mut().flatten().for_each(|it| {
            DEFAULT_SERVICE_ACCOUNT.clone_into(&mut it.name);
        });
        assert!(wrong(DEFAULT_SERVICE_ACCOUNT, "shop", &[of_default], None).is_empty());
        let many = vec![binding("default", "builder"); 10];
        assert_eq!(said(&many).len(), MOST);
    }

    #[test]
    fn only_the_refusal_of_that_account_is_looked_at() {
        let message =
            "ServiceAccount \"builder\" in namespace \"shop\" may not list pods; to do: x";
        assert!(is_refused(message, "shop", "builder"));
        assert!(!is_refused(message, "shop", "default"));
    }
}
