//! The account that makes, reads and deletes runs, and the consequences of missing rights.

use std::time::{Duration, Instant};

use anyhow::Result;
use cartouche_tests::{
    cluster::{Account, AuditEvent, Cluster, Seen},
    control_plane::Options,
    controller::{Controller, Settings},
    fixture::Fixture,
    repository,
};
use serde_json::{Value, json};

use crate::world::{
    CONFIG_MAP, DEMO, GUARDED_OBJ, RUNNABLE, SECONDS, SECRET, SERVICE_ACCOUNT, SOON, Subject,
    World, answered, answers, condition, document, specless, text,
};

/// Rights that the original needed.
const ENOUGH: [&str; 3] = ["list", "create", "delete"];

async fn guarded(world: &World, account: &str) -> Result<Subject> {
    let mut spec = answers();
    spec["template"] = document(
        GUARDED_OBJ,
        json!({ "foo": "$(runnable.spec.inputs.foo)$" }),
    );
    world.template(spec).await?;
    let spec = json!({ "serviceAccountName": account, "inputs": { "foo": 1 } });
    world.runnable("r", spec).await
}

fn forbidden(world: &World, verb: &str) -> String {
    format!(
        "guardedobjs.test.run is forbidden: User \"system:serviceaccount:{0}:runner\" cannot {verb} resource \"guardedobjs\" in API group \
         \"test.run\" in the namespace \"{0}\"",
        world.namespace
    )
}

#[tokio::test]
async fn an_account_without_rights_is_told_so_and_runs_seconds_after_it_has_them() -> Result<()> {
    let world = World::new("powerless").await?;
    world.allow("runner", &[]).await?;
    let subject = guarded(&world, "runner").await?;
    let said = subject
        .fails_in_full(
            "StampedObjectRejectedByAPIServer",
            "may not list/create/delete guardedobjs.test.run; to do: ",
        )
        .await?;
    let wanted = format!(
        "unable to apply object [{}/run-] for run template [{}]: unable to list from api server: {}",
        world.namespace,
        world.template_name(),
        forbidden(&world, "list")
    );
    assert_eq!(said, wanted);
    subject
        .event("Warning", "StampedObjectRejectedByAPIServer", &wanted)
        .await?;
    assert_eq!(
        subject.status().await?["currentRun"],
        Value::Null,
        "nothing is intended"
    );
    // Long enough for the pauses between retries to have grown.
    tokio::time::sleep(Duration::from_secs(6)).await;
    world
        .allow("runner", &[GUARDED_OBJ.rights(&ENOUGH)])
        .await?;
    let begin = Instant::now();
    subject.runs_of(GUARDED_OBJ, 1).await?;
    assert!(begin.elapsed() < SECONDS, "{:?}", begin.elapsed());
    subject
        .says("RunTemplateReady", "True", "Ready", "")
        .await?;
    Ok(())
}

#[tokio::test]
async fn listing_creating_and_deleting_is_all_that_an_account_needs() -> Result<()> {
    let world = World::new("enough").await?;
    let account = world
        .allow("runner", &[GUARDED_OBJ.rights(&ENOUGH)])
        .await?;
    let audit = world.cluster.audit()?;
    let subject = guarded(&world, "runner").await?;
    for (count, answer) in [(1, "first"), (2, "second")] {
        let run = subject
            .runs_of(GUARDED_OBJ, count)
            .await?
            .pop()
            .unwrap_or_default();
        world.play(&run, answered(answer)).await?;
        subject.outputs(json!({ "answer": answer })).await?;
        subject.ready("True").await?;
        if count == 1 {
            subject.input("foo", 2).await?;
        }
    }
    let own = Controller::account().user();
    for event in audit.in_namespace(&world.namespace)? {
        if event.resource() != "guardedobjs.test.run" || event.user() != own {
            continue;
        }
        assert_eq!(
            event.acting_as(),
            account.user(),
            "{} {}",
            event.verb,
            event.request_uri
        );
    }
    assert_eq!(audit.creates(&world.namespace, "guardedobjs.test.run")?, 2);
    Ok(())
}

#[tokio::test]
async fn a_right_that_is_taken_is_missed_and_a_right_given_back_is_used() -> Result<()> {
    let world = World::new("taken").await?;
    world
        .allow("runner", &[GUARDED_OBJ.rights(&ENOUGH)])
        .await?;
    let subject = guarded(&world, "runner").await?;
    let run = subject.runs_of(GUARDED_OBJ, 1).await?.remove(0);
    world.play(&run, answered("kept")).await?;
    subject.outputs(json!({ "answer": "kept" })).await?;
    world
        .allow("runner", &[GUARDED_OBJ.rights(&["list", "delete"])])
        .await?;
    let user = Account::new(&world.namespace, "runner").user();
    world
        .eventually("the right to be gone", || async {
            let kind = GUARDED_OBJ.resource();
            let may = world.cluster.may(&user, "create", &kind, &world.namespace);
            Ok(if may.await? {
                Seen::NotYet("it may still create".into())
            } else {
                Seen::Done(())
            })
        })
        .await?;
    subject.input("foo", 2).await?;
    let said = subject
        .fails("StampedObjectRejectedByAPIServer", "create: ")
        .await?;
    assert!(said.ends_with(&forbidden(&world, "create")), "{said}");
    subject
        .event(
            "Warning",
            "StampedObjectRejectedByAPIServer",
            "cannot create",
        )
        .await?;
    subject.outputs(json!({ "answer": "kept" })).await?;
    subject.runs_of(GUARDED_OBJ, 1).await?;
    world
        .allow("runner", &[GUARDED_OBJ.rights(&ENOUGH)])
        .await?;
    let begin = Instant::now();
    subject.runs_of(GUARDED_OBJ, 2).await?;
    assert!(begin.elapsed() < SECONDS, "{:?}", begin.elapsed());
    Ok(())
}

#[tokio::test]
async fn outputs_are_never_read_with_more_rights_than_the_account_has() -> Result<()> {
    let world = World::new("blind").await?;
    world
        .allow("runner", &[GUARDED_OBJ.rights(&ENOUGH)])
        .await?;
    let subject = guarded(&world, "runner").await?;
    let run = subject.runs_of(GUARDED_OBJ, 1).await?.remove(0);
    subject.ready("Unknown").await?;
    world
        .allow("runner", &[GUARDED_OBJ.rights(&["create"])])
        .await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    world.play(&run, answered("secret")).await?;
    let said = subject
        .fails_in_full(
            "FailedToListCreatedObjects",
            "unable to list from api server: ",
        )
        .await?;
    let wanted = format!(
        "unable to list objects in namespace [{}] with labels [map[carto.run/run-template-name:{} carto.run/runnable-name:r]]: ",
        world.namespace,
        world.template_name()
    );
    assert!(said.starts_with(&wanted), "{said}");
    assert_eq!(subject.status().await?["outputs"], Value::Null);
    world
        .allow("runner", &[GUARDED_OBJ.rights(&ENOUGH)])
        .await?;
    subject.outputs(json!({ "answer": "secret" })).await
}

#[tokio::test]
async fn what_a_secret_holds_is_no_output() -> Result<()> {
    let world = World::new("secret").await?;
    let secret = specless(SECRET, "stringData", json!({ "token": "hidden" }));
    world
        .template(json!({ "template": secret, "outputs": { "token": ".data.token" } }))
        .await?;
    let subject = world.runnable("r", json!({})).await?;
    subject
        .fails(
            "OutputPathNotSatisfied",
            "outputs cannot be read from a Secret",
        )
        .await?;
    assert_eq!(subject.status().await?["outputs"], Value::Null);
    Ok(())
}

#[tokio::test]
async fn an_account_that_is_missing_is_named_and_waited_for() -> Result<()> {
    let world = World::new("missing").await?;
    world.template(answers()).await?;
    let spec = json!({ "serviceAccountName": "late", "inputs": { "foo": 1 } });
    let subject = world.runnable("r", spec).await?;
    let at = format!("{}/late", world.namespace);
    let wanted = format!(
        "failed to get service account object from api server [{at}]: failed to get object [{at}] from api server: ServiceAccount \"late\" not found"
    );
    assert_eq!(
        subject.fails_in_full("ServiceAccountError", "").await?,
        wanted
    );
    subject
        .event("Warning", "ServiceAccountError", &wanted)
        .await?;
    let account =
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "late" } });
    world.put(account).await?;
    let begin = Instant::now();
    subject.run(1).await?;
    assert!(begin.elapsed() < SECONDS, "{:?}", begin.elapsed());
    Ok(())
}

#[tokio::test]
async fn an_account_that_goes_is_missed_and_a_new_one_of_that_name_serves() -> Result<()> {
    let world = World::new("recreated").await?;
    world.template(answers()).await?;
    world.allow("runner", &[]).await?;
    let spec = json!({ "serviceAccountName": "runner", "inputs": { "foo": 1 } });
    let subject = world.runnable("r", spec).await?;
    subject.answer(1, json!("kept")).await?;
    world.delete(SERVICE_ACCOUNT, "runner").await?;
    subject
        .fails("ServiceAccountError", "\"runner\" not found")
        .await?;
    subject.outputs(json!({ "answer": "kept" })).await?;
    subject.input("foo", 2).await?;
    subject
        .fails("ServiceAccountError", "\"runner\" not found")
        .await?;
    subject.runs(1).await?;
    let account =
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "runner" } });
    world.put(account).await?;
    subject.answer(2, json!("new")).await
}

#[tokio::test]
async fn what_is_no_name_of_an_account_is_never_impersonated() -> Result<()> {
    let world = World::new("names").await?;
    world.template(answers()).await?;
    let audit = world.cluster.audit()?;
    let long = "a".repeat(300);
    let names = [
        " ",
        "a:b",
        "system:masters",
        "../x",
        "a\r\nImpersonate-Group: system:masters",
        "é",
        "A",
        "a-",
        "a\u{0}b",
        &long,
    ];
    let mut subjects = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let spec = json!({ "serviceAccountName": name, "inputs": { "foo": 1 } });
        subjects.push(world.runnable(&format!("r{index}"), spec).await?);
    }
    for (subject, name) in subjects.iter().zip(names) {
        let said = subject
            .fails("ServiceAccountError", "is not the name of a ServiceAccount")
            .await?;
        let shown = format!("spec.serviceAccountName {name:?}");
        assert!(said.starts_with(&shown), "{said}");
        subject.event("Warning", "ServiceAccountError", "").await?;
    }
    assert_eq!(audit.creates(&world.namespace, "testobjs.test.run")?, 0);
    Ok(())
}

#[tokio::test]
async fn without_a_name_the_account_is_called_default() -> Result<()> {
    let world = World::new("default").await?;
    world.template(answers()).await?;
    let audit = world.cluster.audit()?;
    let spec = json!({ "serviceAccountName": "", "inputs": { "foo": 1 } });
    world.runnable("r", spec).await?.run(1).await?;
    let events = audit.in_namespace(&world.namespace)?;
    let create = events
        .iter()
        .find(|event| event.verb == "create" && event.resource() == "testobjs.test.run");
    let user = format!("system:serviceaccount:{}:default", world.namespace);
    assert_eq!(create.map(AuditEvent::acting_as), Some(user.as_str()));
    Ok(())
}

#[tokio::test]
async fn the_shipped_role_is_enough_for_the_controller() -> Result<()> {
    let world = World::new("role").await?;
    world.template(answers()).await?;
    let spec = json!({ "inputs": { "foo": 1 } });
    world
        .runnable("r", spec)
        .await?
        .answer(1, json!(42))
        .await?;
    let log = world.controller.log()?;
    let refused = format!("User \"{}\" cannot", Controller::account().user());
    // Other tests request these on purpose, and the controller must not be able to watch them.
    let beyond = "unwatchedobjs secrets nodes namespaces bindings localsubjectaccessreviews"
        .split(' ')
        .map(|kind| format!("resource \"{kind}\""))
        .collect::<Vec<_>>();
    let lines = log.lines().filter(|line| {
        let words = line.replace('\\', "");
        words.contains(&refused) && !beyond.iter().any(|kind| words.contains(kind))
    });
    assert_eq!(lines.collect::<Vec<_>>(), Vec::<&str>::new());
    Ok(())
}

#[tokio::test]
async fn tokens_do_what_impersonation_does_and_their_lack_is_named() -> Result<()> {
    let cluster = Cluster::start(DEMO, &Options::controllers()).await?;
    cluster.install_cartouche().await?;
    let overlay = repository().join("config/overlays/tokens");
    cluster.apply_kustomization(&overlay).await?;
    for kind in ["clusterrolebinding", "clusterrole"] {
        let impersonation = ["delete", kind, "cartouche-controller-impersonation"];
        cluster.kubectl(&impersonation).await?;
    }
    let settings = Settings::with_arguments(&["--identity", "token"]);
    let controller = Controller::start(DEMO, &cluster, &settings).await?;
    let audit = cluster.audit()?;
    let world = Fixture::of(&cluster, cluster.namespace("tokens").await?, SOON);
    let take_the_right = [
        "delete",
        "clusterrolebinding",
        "cartouche-controller-tokens",
    ];
    let mut spec = json!({ "template": specless(CONFIG_MAP, "data", json!({ "said": "hello" })) });
    spec["outputs"] = json!({ "said": ".data.said" });
    world.template(spec).await?;
    for account in ["first", "second"] {
        let user = world
            .allow(account, &[CONFIG_MAP.rights(&ENOUGH)])
            .await?
            .user();
        let spec = json!({ "serviceAccountName": account });
        world.runnable(account, spec).await?;
        if account == "second" {
            let lack = "the controller itself may not create serviceaccounts/token; to do: ";
            let named = |it: &Value| {
                let said = condition(it, "RunTemplateReady");
                said["reason"] == "ServiceAccountTokenError"
                    && text(&said["message"]).starts_with(lack)
            };
            world.observed(RUNNABLE, account, lack, named).await?;
            cluster.apply_kustomization(&overlay).await?;
        }
        let said = |it: &Value| it["status"]["outputs"]["said"] == "hello";
        world
            .observed(RUNNABLE, account, "to say hello", said)
            .await?;
        assert_eq!(audit.requests(&user, "create", "configmaps")?, 1);
        cluster.kubectl(&take_the_right).await?;
    }
    assert!(controller.runs()?);
    Ok(())
}
