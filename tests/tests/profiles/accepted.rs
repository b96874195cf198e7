//! The API server accepts the definition of profiles, keeps their content, and accepts the runs that are made
//! with them.

use std::time::Duration;

use anyhow::Result;
use cartouche_crds::cluster_run_profile;
use cartouche_language::{Owner, RunFacts};
use cartouche_templating::{Context, Profile, Stamp, Template, stamp};
use cartouche_tests::{
    cluster::{Cluster, Seen, eventually},
    control_plane::Options,
};
use serde_json::{Value, json};

use crate::DEMO;

const SOON: Duration = Duration::from_mins(1);

async fn cluster_with_profiles() -> Result<Cluster> {
    let cluster = Cluster::start(DEMO, &Options::bare()).await?;
    let definition = serde_json::to_string(&cluster_run_profile())?;
    cluster
        .kubectl_with_input(&["create", "-f", "-"], &definition)
        .await?;
    eventually("profiles are served", SOON, || async {
        Ok(match cluster.kubectl(&["get", "crp"]).await {
            Ok(_) => Seen::Done(()),
            Err(error) => Seen::NotYet(error.to_string()),
        })
    })
    .await?;
    Ok(cluster)
}

fn profile(spec: &Value) -> Value {
    json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunProfile", "metadata": { "name": "production" }, "spec": spec,
    })
}

/// Returns a profile that uses every field.
fn production() -> Value {
    json!({
        "rules": [
            {},
            {
                "templates": ["tofu", "build"], "namespaceSelector": { "matchLabels": { "env": "production" } },
                "runnableSelector": { "matchExpressions": [{ "key": "team", "operator": "In", "values": ["a", "b"] }] },
            },
        ],
        "podTemplate": {
            "metadata": { "labels": { "pool": "infra" } },
            "spec": {
                "nodeSelector": { "pool": "infra" }, "imagePullSecrets": [{ "name": "regcred" }], "serviceAccountName": "deployer",
                "containers": [{ "name": "tofu", "image": "registry.example/tofu:1", "tty": null }], "hostname": null,
            },
        },
        "patches": [{ "apiVersion": "tekton.dev/v1", "kind": "TaskRun", "patch": { "spec": { "timeout": "1h", "params": null } } }],
        "values": { "state": { "namespace": "tofu-state" }, "nothing": null, "list": [1, null] },
    })
}

#[tokio::test]
async fn the_definition_of_profiles_is_served_and_keeps_what_they_say() -> Result<()> {
    let cluster = cluster_with_profiles().await?;
    let create = ["create", "-f", "-", "-o", "json"];
    let made = cluster
        .kubectl_with_input(&create, &profile(&production()).to_string())
        .await?;
    let made: Value = serde_json::from_str(&made)?;
    assert_eq!(made["spec"], production());
    assert_eq!(made["status"], json!({ "observedGeneration": -1 }));
    let read = serde_json::from_value(made["spec"].clone())?;
    Profile::compile(&read)?;
    let long: Vec<String> = (0..65).map(|number| format!("t{number}")).collect();
    let operator =
        json!({ "matchExpressions": [{ "key": "a", "operator": "Gt", "values": ["1"] }] });
    for (spec, expected) in [
        (
            json!({ "rules": vec![json!({}); 65] }),
            "must have at most 64 items",
        ),
        (
            json!({ "rules": [{ "templates": long }] }),
            "must have at most 64 items",
        ),
        (
            json!({ "rules": [{ "templates": [] }] }),
            "should have at least 1 items",
        ),
        (
            json!({ "rules": [{ "runnableSelector": operator }] }),
            "Unsupported value: \"Gt\"",
        ),
        (
            json!({ "patches": [{ "apiVersion": "v1", "patch": {} }] }),
            "spec.patches[0].kind: Required value",
        ),
        (
            json!({ "podTemplate": [] }),
            "spec.podTemplate in body must be of type object",
        ),
    ] {
        let mut refused = profile(&spec);
        refused["metadata"]["name"] = "refused".into();
        let error = cluster
            .kubectl_with_input(&create, &refused.to_string())
            .await
            .unwrap_err();
        let said = format!("{error:#}");
        assert!(said.contains(expected), "{said}");
    }
    Ok(())
}

/// Returns a Job with files and everything of a profile, as it is sent.
fn job() -> Result<Value> {
    let template = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": { "generateName": "tofu-" },
        "spec": { "backoffLimit": 0, "template": { "spec": {
            "restartPolicy": "Never", "containers": [{ "name": "tofu", "image": "tofu:1", "args": ["$(run.name)$"] }],
        } } },
    });
    let runner = json!({
        "context": true, "timeout": "10m",
        "files": [{ "path": "/config/vars.json", "json": { "state": "$(profile.values.state.namespace)$" } }],
    });
    let spec = serde_json::from_value(json!({ "template": template, "runner": runner }))?;
    let template = Template::compile(&spec)?;
    let runnable = json!({
        "metadata": { "name": "orders", "namespace": "default", "uid": "11111111-2222-3333-4444-555555555555" },
        "spec": { "runTemplateRef": { "name": "tofu" }, "inputs": { "bucket": "orders" } },
    });
    let context = Context::new(&runnable, None)?;
    let rendered = template.render(&context)?;
    let owner = Owner {
        name: "orders",
        namespace: "default",
        uid: "11111111-2222-3333-4444-555555555555",
    };
    let name = rendered.run_name(owner.uid, 1);
    let facts = RunFacts {
        name: &name,
        sequence: 1,
        input_hash: rendered.input_hash(),
        rerun_token: None,
    };
    let profile = Profile::compile(&serde_json::from_value(production())?)?;
    let made = profile.apply(
        &rendered.fill(&facts, Some(profile.values()))?,
        &context,
        &facts,
    )?;
    Ok(stamp(
        &made,
        &Stamp {
            owner,
            template_name: "tofu",
            name: &name,
            sequence: 1,
            input_hash: rendered.input_hash(),
            rerun_token: None,
            rerun_request: None,
            sources: None,
            profile: None,
            profile_refresh: None,
        },
    )?)
}

#[tokio::test]
async fn the_api_server_takes_a_job_with_files_and_a_profile() -> Result<()> {
    let cluster = Cluster::start(DEMO, &Options::bare()).await?;
    let create = ["create", "--validate=strict", "-f", "-", "-o", "json"];
    let made = cluster
        .kubectl_with_input(&create, &job()?.to_string())
        .await?;
    let made: Value = serde_json::from_str(&made)?;
    let pod = &made["spec"]["template"];
    assert_eq!(pod["spec"]["serviceAccountName"], "deployer");
    assert_eq!(
        pod["spec"]["containers"][0]["image"],
        "registry.example/tofu:1"
    );
    assert_eq!(
        pod["spec"]["containers"][0]["args"],
        json!([made["metadata"]["name"]])
    );
    assert_eq!(
        pod["spec"]["volumes"][0]["downwardAPI"]["items"]
            .as_array()
            .map(Vec::len),
        Some(3)
    );
    let annotations = &pod["metadata"]["annotations"];
    assert_eq!(
        annotations["carto.run/runner-args"],
        r#"{"bucket":"orders"}"#
    );
    assert_eq!(
        annotations["carto.run/runner-file-0"],
        r#"{"state":"tofu-state"}"#
    );
    let context: Value = serde_json::from_str(
        annotations["carto.run/runner-context"]
            .as_str()
            .unwrap_or_default(),
    )?;
    assert_eq!(context["name"], made["metadata"]["name"]);
    assert_eq!(context["platform"]["serviceAccountName"], "deployer");
    assert_eq!(
        context["platform"]["ownerRef"],
        made["metadata"]["ownerReferences"][0]
    );
    Ok(())
}
