//! Facts of the cluster that say more than the status, as far as the user may see them: similar names, profiles, and
//! role bindings.

mod bindings;

use cartouche_authoring::objects::{GENERATED, find_generated};
use cartouche_crds::Runnable;
use cartouche_language::suggestion;
use cartouche_protocol::{
    category::Category,
    references::{SourceKind, SourceObject},
};
use k8s_openapi::api::core::v1::{ConfigMap, Secret, ServiceAccount};
use kube::{Api, ResourceExt, api::ListParams};
use serde::de::DeserializeOwned;

use crate::{
    cluster::{Cluster, within},
    commands::profile,
};

/// Facts that were found, and what follows from them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct LookResult {
    /// Sentences, a line each.
    pub(super) said: Vec<String>,
    /// Cure that replaces the one of the status.
    pub(super) to_do: Option<String>,
    /// Remark added to the cure.
    pub(super) hint: Option<String>,
}

impl LookResult {
    pub(super) fn hint(meant: Option<&str>) -> Self {
        Self {
            hint: meant.map(|meant| format!("did you mean '{meant}'?")),
            ..Self::default()
        }
    }
}

/// Most profiles that are named.
const MOST: usize = 3;

/// Looks for the cause of what blocks a Runnable with this reason and message.
pub(super) async fn look(
    (reason, message): (&str, &str),
    runnable: &Runnable,
    cluster: &Cluster,
) -> LookResult {
    let account = runnable.spec.service_account();
    match Category::parse(reason) {
        Some(Category::RunTemplateNotFound) => {
            let wanted = &runnable.spec.run_template_ref.name;
            let all = cluster.templates().await.unwrap_or_default();
            let names: Vec<String> = all.iter().map(ResourceExt::name_any).collect();
            LookResult::hint(nearest(wanted, &names))
        }
        Some(Category::ServiceAccountError) => {
            let names = names::<ServiceAccount>(cluster).await;
            LookResult::hint(nearest(account, &names.unwrap_or_default()))
        }
        Some(Category::ProfileNotFound) => {
            let missed = profile::unmatched(runnable, cluster).await;
            let missed = missed.iter().take(MOST);
            LookResult {
                said: missed.map(|it| format!("not the profile {it}")).collect(),
                ..LookResult::default()
            }
        }
        Some(Category::DependencyNotReady) => sources(runnable, message, cluster).await,
        Some(_) if bindings::is_refused(message, &cluster.namespace, account) => {
            bindings::look(runnable, cluster).await
        }
        _ => LookResult::default(),
    }
}

fn nearest<'a>(wanted: &str, names: &'a [String]) -> Option<&'a str> {
    suggestion::nearest(wanted, names.iter().map(String::as_str))
}

/// Returns the names of a kind's objects in the namespace, or `None` if the user may not list them.
pub(super) async fn names<K>(cluster: &Cluster) -> Option<Vec<String>>
where
    K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>
        + Clone
        + std::fmt::Debug
        + DeserializeOwned,
{
    let api: Api<K> = cluster.api();
    let all = ListParams::default();
    let listed = within("listing the names", api.list_metadata(&all)).await;
    let listed = listed.ok()?.items;
    Some(listed.iter().map(ResourceExt::name_any).collect())
}

/// Returns the source objects that a message names and that are not optional.
fn wanted(runnable: &Runnable, message: &str, namespace: &str) -> Vec<SourceObject> {
    let sources = runnable.spec.inputs_from.iter().flatten();
    let needed = sources.filter(|source| source.optional != Some(true));
    let objects = needed.filter_map(|source| SourceObject::read_in(namespace, source));
    let is_about = |object: &SourceObject| {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
        let named = object.to_string();
        let mut found = message.match_indices(&named);
        found.any(|(at, _)| {
            let after = message.get(at + named.len()..).unwrap_or_default();
            !after.starts_with(is_of_name)
        })
    };
    objects
        .filter(|it| it.namespace.is_none() && !it.name.is_empty() && is_about(it))
        .collect()
}

/// Looks for the first missing source object that has a similar name.
async fn sources(runnable: &Runnable, message: &str, cluster: &Cluster) -> LookResult {
    for object in wanted(runnable, message, &cluster.namespace) {
        let names = match object.kind {
            SourceKind::Runnable => {
                let all = cluster.runnables(false).await.ok();
                all.map(|all| all.iter().map(ResourceExt::name_any).collect())
            }
            SourceKind::ConfigMap => names::<ConfigMap>(cluster).await,
            SourceKind::Secret => names::<Secret>(cluster).await,
            SourceKind::Any => None,
        };
        let own = object.is_runnable().then(|| runnable.name_any());
        let seen = names.map(|names| of_source(&object, &names, own.as_deref()));
        if let Some(seen) = seen.filter(|seen| *seen != LookResult::default()) {
            return seen;
        }
    }
    LookResult::default()
}

/// Looks for an object among these names. A Runnable does not read itself (`own`).
fn of_source(object: &SourceObject, names: &[String], own: Option<&str>) -> LookResult {
    if names.contains(&object.name) {
        return LookResult::default();
    }
    let mut all = names.iter().map(String::as_str);
    if let Some(found) = find_generated(&object.name, &mut all) {
        let (_, kind) = object.type_meta();
        return LookResult {
            said: vec![format!(
                "{kind} {found} is there: a generator of Kustomize adds a hash to the name, but nothing adds it to the name in the input"
            )],
            to_do: Some(GENERATED.to_owned()),
            hint: None,
        };
    }
    let others = names.iter().map(String::as_str);
    let others = others.filter(|name| Some(*name) != own);
    LookResult::hint(suggestion::nearest(&object.name, others))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(kind: SourceKind, name: &str, there: &[&str]) -> LookResult {
        let there: Vec<String> = there.iter().map(|it| (*it).to_owned()).collect();
        of_source(
            &SourceObject::in_own_namespace(kind, name),
            &there,
            Some("build-it"),
        )
    }

    #[test]
    fn a_runnable_that_is_nearly_called_so_is_meant() {
        let found = seen(SourceKind::Runnable, "biuld", &["deploy", "build"]);
        assert_eq!(found, LookResult::hint(Some("build")));
        let there = seen(SourceKind::Runnable, "build", &["build", "biuld"]);
        assert_eq!(there, LookResult::default());
        let own = seen(SourceKind::Runnable, "biuld-it", &["build-it"]);
        assert_eq!(own, LookResult::default());
    }

    #[test]
    fn only_what_the_message_names_and_a_run_needs_is_looked_for() {
        let from = |name: &str, optional: bool| {
            serde_json::json!({
                "name": name, "optional": optional, "runnableRef": { "name": name, "output": "o" },
            })
        };
        let runnable: Runnable = serde_json::from_value(serde_json::json!({
            "metadata": { "name": "it" }, "spec": {
                "runTemplateRef": { "name": "t" },
                "inputsFrom": [from("other", false), from("biuld", false), from("lint", true), from("biuld-2", false), from("tset", false)],
            },
        }))
        .unwrap();
        let message = "input a comes from Runnable biuld-2, which is not there; input b comes from Runnable tset; input c comes from Runnable lint";
        let found = wanted(&runnable, message, "demo");
        let names: Vec<&str> = found.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["biuld-2", "tset"]);
        // A longer name is another one.
        assert!(
            wanted(
                &runnable,
                "from Runnable tset-2 and Runnable others",
                "demo"
            )
            .is_empty()
        );
    }

    #[test]
    fn the_hash_of_a_generator_is_named() {
        let found = seen(
            SourceKind::ConfigMap,
            "versions",
            &["versions-mt788g56h7", "kube-root-ca.crt"],
        );
        assert!(
            found.said[0].starts_with("ConfigMap versions-mt788g56h7 is there: "),
            "{found:?}"
        );
        assert!(found.to_do.unwrap().contains("name-references.yaml"));
        for other in [
            "versions-production",
            "versions-mt788g56h",
            "versions2-mt788g56h7",
        ] {
            let found = seen(SourceKind::ConfigMap, "versions", &[other]);
            assert_eq!(found.to_do, None, "{other}");
        }
    }
}
