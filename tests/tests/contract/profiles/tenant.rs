use anyhow::{Result, ensure};
use cartouche_tests::cluster::Seen;
use serde_json::{Value, json};

use super::{Profiles, profile_of};
use crate::world::{PROFILE, RUNNABLE, TEST_OBJ, condition, document, text};

/// Content of another tenant's profile.
const PLANTED: &str = "planted-in-a-profile";

/// Returns a template whose runs show an input, all inputs, and a value of their profile.
fn shows_all() -> Value {
    json!({ "template": document(TEST_OBJ, json!({
        "input": "$(runnable.spec.inputs.foo)$", "all": "$(runnable.spec.inputs)$",
        "value": "$(profile.values.token)$",
    })) })
}

/// Returns metadata and spec of Runnables that try to get the settings of a profile for another namespace.
fn attempts(theirs: &str, others: &str) -> Vec<(&'static str, Value, Value)> {
    let inputs = |text: &str| json!({ "inputs": { "foo": text } });
    let asks = |name: &str| json!({ "inputs": { "foo": "a" }, "profileName": name });
    let labels = |key: &str, value: &str| json!({ "labels": { key: value } });
    let annotations = |key: &str, value: String| json!({ "annotations": { key: value } });
    vec![
        ("its name", json!({}), asks(theirs)),
        (
            "its name with its generation",
            json!({}),
            asks(&format!("{theirs}@1")),
        ),
        (
            "its name with a path",
            json!({}),
            asks(&format!("../{theirs}")),
        ),
        ("every name", json!({}), asks("*")),
        (
            "the label of its namespace",
            labels("kubernetes.io/metadata.name", others),
            inputs("a"),
        ),
        (
            "the annotation that runs have",
            annotations("carto.run/profile", format!("{theirs}@1")),
            inputs("a"),
        ),
        (
            "a request that names it",
            annotations("carto.run/profile-refresh", theirs.to_owned()),
            inputs("a"),
        ),
        (
            "a request and its name",
            annotations("carto.run/profile-refresh", "1".to_owned()),
            asks(theirs),
        ),
        (
            "a tag in an input",
            json!({}),
            inputs("$(profile.values.token)$"),
        ),
        (
            "a tag that is quoted",
            json!({}),
            inputs("$('$(profile.values.token)$')$"),
        ),
        (
            "a tag in the name of an input",
            json!({}),
            json!({ "inputs": { "foo": "a", "$(profile.values.token)$": "b" } }),
        ),
        (
            "a status of its own",
            json!({}),
            json!({ "inputs": { "foo": "a" }, "status": { "profile": { "name": theirs } } }),
        ),
    ]
}

#[tokio::test]
async fn a_tenant_gets_the_settings_of_no_profile_that_is_for_another_namespace() -> Result<()> {
    let profiles = Profiles::new("profile-tenant", shows_all()).await?;
    let world = &profiles.world;
    let others = world.cluster.namespace("profile-others").await?;
    let of =
        |namespace: &str| json!({ "matchLabels": { "kubernetes.io/metadata.name": namespace } });
    let rules = |namespace: &str| json!([{ "templates": [world.template_name()], "namespaceSelector": of(namespace) }]);
    profiles
        .put(
            "theirs",
            rules(&others),
            json!({ "values": { "token": PLANTED } }),
        )
        .await?;
    profiles
        .put(
            "own",
            rules(&world.namespace),
            json!({ "values": { "token": "own" } }),
        )
        .await?;
    profiles.accepted("own", "True").await?;
    profiles.accepted("theirs", "True").await?;
    let theirs = profiles.name("theirs");
    for (index, (what, mut metadata, spec)) in attempts(&theirs, &others).into_iter().enumerate() {
        let name = format!("t{index}");
        metadata["name"] = name.clone().into();
        let subject = world.runnable_with(metadata, spec).await?;
        let is_decided = |it: &Value| {
            let said = condition(it, "RunTemplateReady");
            !it["status"]["currentRun"]["uid"].is_null() || said["status"] == "False"
        };
        let object = subject.until("a run or a reason", is_decided).await?;
        ensure!(
            !object["status"].to_string().contains(PLANTED),
            "{what}: {object:#}"
        );
        ensure!(
            object["status"]["profile"]["name"] != theirs,
            "{what}: {object:#}"
        );
        let uid = text(&object["metadata"]["uid"]);
        let runs = world
            .list(TEST_OBJ, &format!("carto.run/runnable-uid={uid}"))
            .await?;
        for run in runs {
            ensure!(profile_of(&run) == profiles.name("own"), "{what}: {run:#}");
            ensure!(run["spec"]["value"] == "own", "{what}: {run:#}");
            ensure!(!run.to_string().contains(PLANTED), "{what}: {run:#}");
        }
        world.delete(RUNNABLE, &name).await?;
    }
    Ok(())
}

#[tokio::test]
async fn who_may_edit_a_namespace_may_see_profiles_and_write_none() -> Result<()> {
    let profiles = Profiles::new(
        "profile-rights",
        json!({ "template": document(TEST_OBJ, json!({})) }),
    )
    .await?;
    let world = &profiles.world;
    let person = world
        .cluster
        .service_account(&world.namespace, "person", &[])
        .await?;
    let binding = [
        "create",
        "rolebinding",
        "edits",
        "-n",
        &world.namespace,
        "--clusterrole=edit",
    ];
    let subject = format!("--serviceaccount={}:person", world.namespace);
    world
        .cluster
        .kubectl(&[&binding[..], &[&subject]].concat())
        .await?;
    let may = async |verb: &str| {
        let user = person.user();
        world
            .cluster
            .may(&user, verb, &PROFILE.resource(), &world.namespace)
            .await
    };
    // The role must be in force, or a missing right would prove nothing.
    world
        .eventually("the role to count", || async {
            let may = may("list").await?;
            Ok(if may {
                Seen::Done(())
            } else {
                Seen::NotYet("it may not list profiles".to_owned())
            })
        })
        .await?;
    for verb in ["create", "update", "patch", "delete"] {
        ensure!(!may(verb).await?, "{verb}");
    }
    Ok(())
}
