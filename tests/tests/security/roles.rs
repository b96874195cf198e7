//! The rights that `config/` grants, read from the files and from kustomize's output.

use std::{fs, path::Path};

use anyhow::{Result, ensure};
use cartouche_tests::repository;
use serde_json::Value;

/// Returns all objects of the YAML files in a folder.
fn objects(folder: &Path) -> Result<Vec<Value>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(objects(&path)?);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "yaml")
        {
            let text = fs::read_to_string(&path)?;
            found.extend(serde_saphyr::from_multiple::<Value>(&text)?);
        }
    }
    Ok(found)
}

fn texts(rule: &Value, field: &str) -> Vec<String> {
    let list = rule[field].as_array().into_iter().flatten();
    list.filter_map(|it| it.as_str().map(str::to_owned))
        .collect()
}

/// Returns the rules of all roles in a folder of `config/`, with the name of the role.
fn rules(folder: &str) -> Result<Vec<(String, Value)>> {
    let mut rules = Vec::new();
    for object in objects(&repository().join("config").join(folder))? {
        if !["ClusterRole", "Role"].contains(&object["kind"].as_str().unwrap_or_default()) {
            continue;
        }
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let list = object["rules"].as_array().cloned().unwrap_or_default();
        rules.extend(list.into_iter().map(|rule| (name.to_owned(), rule)));
    }
    ensure!(!rules.is_empty(), "no rules in config/{folder}");
    Ok(rules)
}

#[test]
fn no_shipped_role_has_a_wildcard_or_reaches_secrets_or_raises_itself() -> Result<()> {
    for (role, rule) in [rules("rbac")?, rules("overlays")?, rules("approval")?].concat() {
        for field in ["apiGroups", "resources", "verbs"] {
            ensure!(!texts(&rule, field).is_empty(), "{role}: {rule}");
            ensure!(
                !texts(&rule, field).contains(&"*".to_owned()),
                "{role}: {rule}"
            );
        }
        let resources = texts(&rule, "resources");
        ensure!(
            !resources.iter().any(|it| it.starts_with("secrets")),
            "{role}: {rule}"
        );
        for verb in ["escalate", "bind", "approve", "sign", "deletecollection"] {
            let people = is_of_people(&role);
            ensure!(
                people || !texts(&rule, "verbs").contains(&verb.to_owned()),
                "{role}: {rule}"
            );
        }
    }
    Ok(())
}

#[test]
fn the_controller_writes_nothing_but_status_events_and_what_accounts_may() -> Result<()> {
    for (role, rule) in [rules("rbac")?, rules("overlays")?].concat() {
        if is_of_people(&role) {
            continue;
        }
        let writes: Vec<String> = texts(&rule, "verbs")
            .into_iter()
            .filter(|verb| !["get", "list", "watch"].contains(&verb.as_str()))
            .collect();
        for resource in texts(&rule, "resources") {
            let allowed: &[&str] = match resource.as_str() {
                "runnables/status" | "clusterruntemplates/status" | "clusterrunprofiles/status" => {
                    &["update"]
                }
                "events" | "serviceaccounts/token" => &["create"],
                "serviceaccounts" => &["impersonate"],
                _ => &[],
            };
            ensure!(
                writes.iter().all(|verb| allowed.contains(&verb.as_str())),
                "{role}: {writes:?} on {resource}"
            );
        }
    }
    Ok(())
}

#[test]
fn people_get_neither_the_ledger_nor_templates_to_write() -> Result<()> {
    for (role, rule) in rules("rbac")? {
        if !is_of_people(&role) {
            continue;
        }
        let writes = texts(&rule, "verbs")
            .iter()
            .any(|verb| !["get", "list", "watch"].contains(&verb.as_str()));
        for resource in texts(&rule, "resources") {
            ensure!(!resource.contains("/status"), "{role}: {resource}");
            ensure!(
                !writes || resource == "runnables",
                "{role} writes {resource}"
            );
        }
    }
    Ok(())
}

/// Returns true if a role of `config/` is one for users.
fn is_of_people(role: &str) -> bool {
    role.starts_with("cartouche-runnables") || role == "cartouche-templates-view"
}

/// Returns true if an object gives a role to every authenticated user.
fn is_for_everyone(object: &Value) -> bool {
    let subjects = object["subjects"].as_array().into_iter().flatten();
    let groups = ["system:authenticated", "system:unauthenticated"];
    subjects
        .filter_map(|subject| subject["name"].as_str())
        .any(|name| groups.contains(&name))
}

#[test]
fn everyone_reads_templates_by_one_line_of_the_default_and_by_nothing_else() -> Result<()> {
    let config = repository().join("config");
    let default = fs::read_to_string(config.join("default/kustomization.yaml"))?;
    let default: Value = serde_saphyr::from_str(&default)?;
    ensure!(
        texts(&default, "components") == ["../templates-view"],
        "{default}"
    );
    for folder in ["rbac", "controller", "policies", "approval", "overlays"] {
        let found = objects(&config.join(folder))?;
        ensure!(!found.iter().any(is_for_everyone), "config/{folder}");
    }
    let component = objects(&config.join("templates-view"))?;
    let given = component.iter().filter(|it| is_for_everyone(it));
    let given: Vec<_> = given.map(|it| &it["roleRef"]["name"]).collect();
    ensure!(given == ["cartouche-templates-view"], "{given:?}");
    let granted: Vec<_> = rules("rbac")?
        .into_iter()
        .filter(|(role, _)| role == "cartouche-templates-view")
        .map(|(_, rule)| rule)
        .collect();
    ensure!(granted.len() == 1, "{granted:?}");
    ensure!(texts(&granted[0], "apiGroups") == ["carto.run"]);
    let resources = ["clusterruntemplates", "clusterrunprofiles"];
    ensure!(texts(&granted[0], "resources") == resources);
    ensure!(texts(&granted[0], "verbs") == ["get", "list", "watch"]);
    Ok(())
}

#[test]
fn the_pod_is_restricted() -> Result<()> {
    let found = objects(&repository().join("config/controller"))?;
    let deployment = found.iter().find(|it| it["kind"] == "Deployment");
    let pod = &deployment.unwrap_or(&Value::Null)["spec"]["template"]["spec"];
    ensure!(pod["securityContext"]["runAsNonRoot"] == true, "{pod}");
    ensure!(
        pod["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault",
        "{pod}"
    );
    let containers = pod["containers"].as_array().cloned().unwrap_or_default();
    ensure!(!containers.is_empty());
    for container in containers {
        let context = &container["securityContext"];
        ensure!(context["allowPrivilegeEscalation"] == false, "{context}");
        ensure!(context["readOnlyRootFilesystem"] == true, "{context}");
        ensure!(
            texts(&context["capabilities"], "drop") == ["ALL"],
            "{context}"
        );
        ensure!(
            container["resources"]["limits"]["memory"].is_string(),
            "{container}"
        );
    }
    let kinds: Vec<_> = found.iter().filter_map(|it| it["kind"].as_str()).collect();
    for kind in ["NetworkPolicy", "PodDisruptionBudget"] {
        ensure!(kinds.contains(&kind), "there is no {kind}: {kinds:?}");
    }
    let namespace = objects(&repository().join("config/rbac"))?;
    let namespace = namespace.iter().find(|it| it["kind"] == "Namespace");
    let labels = &namespace.unwrap_or(&Value::Null)["metadata"]["labels"];
    ensure!(
        labels["pod-security.kubernetes.io/enforce"] == "restricted",
        "{labels}"
    );
    Ok(())
}
