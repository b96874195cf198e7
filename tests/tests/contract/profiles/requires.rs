use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::Profiles;
use crate::world::{JOB, World, document};

/// Returns a Job whose pods, with the account `pods`, have to read Secrets in the namespace that the profile
/// names.
fn requiring(permissions: Value) -> Value {
    let mut job = document(
        JOB,
        json!({ "template": { "spec": {
        "restartPolicy": "Never", "serviceAccountName": "pods",
        "containers": [{ "name": "main", "image": "app", "args": ["for $(runnable.spec.inputs.foo)$"] }],
    } } }),
    );
    job["metadata"] = json!({ "generateName": "run-" });
    json!({ "template": job, "requires": permissions })
}

fn role(namespace: &str, of: &str) -> Value {
    let group = "rbac.authorization.k8s.io";
    json!({ "apiVersion": "v1", "kind": "List", "items": [
        {
            "apiVersion": format!("{group}/v1"), "kind": "Role", "metadata": { "name": "pods", "namespace": namespace },
            "rules": [{ "apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "update"] }],
        },
        {
            "apiVersion": format!("{group}/v1"), "kind": "RoleBinding", "metadata": { "name": "pods", "namespace": namespace },
            "roleRef": { "apiGroup": group, "kind": "Role", "name": "pods" },
            "subjects": [{ "kind": "ServiceAccount", "name": "pods", "namespace": of }],
        },
    ]})
}

#[tokio::test]
async fn what_the_pods_may_not_do_is_named_before_a_run_is_made_and_it_goes_on_when_granted()
-> Result<()> {
    let permissions = json!([{
        "resource": "secrets", "verbs": ["get", "update"], "namespace": "$(profile.values.state)$",
    }]);
    let profiles = Profiles::new("requires", requiring(permissions)).await?;
    let state = profiles.world.cluster.namespace("requires-state").await?;
    let values = json!({ "values": { "state": state } });
    profiles
        .put("p", json!([profiles.of_template()]), values)
        .await?;
    let subject = profiles.runnable(json!({})).await?;
    let said = subject
        .fails("PermissionMissing", "get/update secrets")
        .await?;
    ensure!(said.contains(&state) && said.contains("\"pods\""), "{said}");
    subject.stays_at_of(JOB, 0).await?;
    let list = role(&state, &profiles.world.namespace);
    let apply = ["apply", "-f", "-"];
    profiles
        .world
        .cluster
        .kubectl_with_input(&apply, &list.to_string())
        .await?;
    subject.runs_of(JOB, 1).await?;
    Ok(())
}

#[tokio::test]
async fn the_account_of_the_runnable_is_not_the_one_that_is_asked_about() -> Result<()> {
    let world = World::new("requires-own").await?;
    // A right that every account has, and one that none has.
    let may = json!([{ "apiGroup": "test.run", "resource": "testobjs", "verbs": ["create"] }]);
    world.template(requiring(may)).await?;
    let subject = world
        .runnable("r", json!({ "inputs": { "foo": "a" } }))
        .await?;
    subject.runs_of(JOB, 1).await?;
    let mut may_not = requiring(json!([{ "resource": "nodes", "verbs": ["delete"], "name": "a" }]));
    may_not["template"]["spec"]["backoffLimit"] = 1.into();
    world.template(may_not).await?;
    subject.fails("PermissionMissing", "delete nodes").await?;
    subject.stays_at_of(JOB, 1).await
}

#[tokio::test]
async fn more_permissions_than_sixteen_are_refused_with_the_template() -> Result<()> {
    let world = World::new("requires-many").await?;
    let one = json!({ "resource": "secrets", "verbs": ["get"] });
    let spec = requiring(json!(vec![one; 17]));
    let template = json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunTemplate",
        "metadata": { "name": world.template_name() }, "spec": spec,
    });
    let said = world.refused(&template).await?;
    ensure!(
        said.contains("spec.requires") && said.contains("16"),
        "{said}"
    );
    Ok(())
}
