//! All shipped policies, in force together, and all writers.

mod pages;
mod writers;

use anyhow::{Result, ensure};
use cartouche_tests::{
    cluster::{Cluster, Seen},
    kind::{CONFIG_MAP, PROFILE, RUNNABLE, TEMPLATE},
    repository,
};
use serde_json::{Value, json};

use crate::{
    approval::place::Place,
    ground::{self, DEMO, condition, says, text},
};
use writers::{Writer, all_others};

const POLICIES: [&str; 3] = [
    "cartouche-approvals",
    "cartouche-ledger",
    "cartouche-keep-definitions",
];
const DEFINITIONS: [&str; 3] = [
    "runnables.carto.run",
    "clusterruntemplates.carto.run",
    "clusterrunprofiles.carto.run",
];
/// The message for writers that are not in the list.
const NO_WRITER: &str = "is not listed as a writer";
/// The message for the deletion of a definition without confirmation.
const KEPT: &str = "all objects of this kind would be deleted";
/// The message for a definition that is replaced by an older one.
const NO_WAY_BACK: &str = "definitions never go back";

#[tokio::test]
async fn all_policies_together_let_each_writer_do_its_part_and_no_more() -> Result<()> {
    let cluster = ground::cluster().await?;
    let config = repository().join("config");
    cluster.apply_kustomization(&config.join("default")).await?;
    let place = Place::new(&cluster).await?;
    in_force(&place).await?;
    the_policies_are_sound(&place).await?;
    let controller = place.served.start_controller_with(DEMO, &[]).await?;
    the_controller_serves(&place).await?;
    no_other_writes_a_status(&place).await?;
    a_listed_writer_does(&place).await?;
    specs_and_annotations_are_free(&place).await?;
    collectors_are_free(&place).await?;
    definitions_stay(&cluster).await?;
    let log = controller.log()?;
    ensure!(!log.contains(NO_WRITER), "{log}");
    controller.stop().await?;
    uninstalled(&place).await
}

/// Waits until the API server enforces the policies: it does so within a second, one after the other.
async fn in_force(place: &Place) -> Result<()> {
    place.create("probe").await?;
    let served = &place.served;
    served
        .eventually("the policies to be in force", || async {
            let status = json!({ "status": { "observedGeneration": 1 } }).to_string();
            let patch = ["patch", "runnable", "probe", "--type=merge", "-p", &status];
            let patch = [&patch[..], &["--subresource=status", "--dry-run=server"]].concat();
            let status = Writer::Admin.kubectl(place, &patch, "").await;
            let delete = ["delete", "crd", DEFINITIONS[0], "--dry-run=server"];
            let deleted = Writer::Admin.kubectl(place, &delete, "").await;
            let has = |said: &Result<String>, word: &str| format!("{said:?}").contains(word);
            Ok(if has(&status, NO_WRITER) && has(&deleted, KEPT) {
                Seen::Done(())
            } else {
                Seen::NotYet(format!("{status:?}, {deleted:?}"))
            })
        })
        .await?;
    served.delete(RUNNABLE, "probe").await?;
    served.gone(RUNNABLE, "probe").await
}

/// Checks that the API server, which checks the expressions against the schemas, has no warning.
async fn the_policies_are_sound(place: &Place) -> Result<()> {
    for name in POLICIES {
        let get = ["get", "validatingadmissionpolicy", name, "-o", "json"];
        let checked = || async {
            let policy: Value = serde_json::from_str(&place.served.cluster.kubectl(&get).await?)?;
            let status = &policy["status"];
            Ok(
                if status["observedGeneration"] == policy["metadata"]["generation"] {
                    Seen::Done(status["typeChecking"].clone())
                } else {
                    Seen::NotYet(status.to_string())
                },
            )
        };
        let what = format!("{name} to be checked");
        let checked = place.served.eventually(&what, checked).await?;
        ensure!(
            checked["expressionWarnings"].is_null(),
            "{name}: {checked:#}"
        );
    }
    Ok(())
}

/// Checks that the controller writes intent, result and outputs after an approval.
async fn the_controller_serves(place: &Place) -> Result<()> {
    place.create("r").await?;
    let served = &place.served;
    let is_asked = |it: &Value| condition(it, "Ready")["reason"] == "ApprovalRequired";
    let what = "to wait for a person";
    let object = served.observed(RUNNABLE, "r", what, is_asked).await?;
    let approval = text(&object["status"]["pending"]["approval"]);
    let annotation = format!("carto.run/approved={approval}");
    let approves = ["annotate", "runnable", "r", &annotation];
    place
        .refused(&place.editor, &approves, "")
        .await
        .map(drop)?;
    place.kubectl(&place.approver, &approves, "").await?;
    let said = |it: &Value| it["status"]["outputs"]["said"] == "hello";
    served
        .observed(RUNNABLE, "r", "to say hello", said)
        .await
        .map(drop)?;
    // Of the template as well.
    let accepted = |it: &Value| condition(it, "Accepted")["status"] == "True";
    served
        .observed(TEMPLATE, &served.namespace, "to be accepted", accepted)
        .await
        .map(drop)
}

/// Checks that no other account writes a status: neither with the right to the status, nor with all rights,
/// nor with the name of a part of Kubernetes.
async fn no_other_writes_a_status(place: &Place) -> Result<()> {
    let served = &place.served;
    let before = served.get(RUNNABLE, "r").await?;
    for writer in all_others(place) {
        for (way, arguments, input) in writers::ways("runnable", &before) {
            let said = writer.refused(place, &arguments, &input).await?;
            ensure!(said.contains(NO_WRITER), "{writer:?} by {way}: {said}");
            ensure!(said.contains(&writer.user(place)), "{writer:?}: {said}");
        }
    }
    let after = served.get(RUNNABLE, "r").await?;
    assert_eq!(after["status"], before["status"]);
    let template = served.get(TEMPLATE, &served.namespace).await?;
    let profile = json!({
        "apiVersion": PROFILE.api_version(), "kind": PROFILE.name,
        "metadata": { "name": served.namespace }, "spec": {},
    });
    served.put(profile).await?;
    let accepted = |it: &Value| condition(it, "Accepted")["status"] == "True";
    let name = &served.namespace;
    let profile = served
        .observed(PROFILE, name, "to be accepted", accepted)
        .await?;
    for (kind, object) in [
        ("clusterruntemplate", template),
        ("clusterrunprofile", profile),
    ] {
        for (way, arguments, input) in writers::ways(kind, &object) {
            let said = Writer::Admin.refused(place, &arguments, &input).await?;
            ensure!(said.contains(NO_WRITER), "{kind} by {way}: {said}");
        }
    }
    // A status in a manifest is no write of the status: the API server leaves it out.
    let mut manifest = place.manifest("r", None);
    manifest["status"] = json!({ "outputs": { "said": "forged" } });
    for apply in [
        &["apply", "-f", "-"][..],
        &["apply", "--server-side", "--force-conflicts", "-f", "-"],
    ] {
        let input = manifest.to_string();
        Writer::Admin.kubectl(place, apply, &input).await?;
    }
    let after = served.get(RUNNABLE, "r").await?;
    assert_eq!(after["status"]["outputs"], before["status"]["outputs"]);
    Ok(())
}

/// Checks that a listed writer may write, by user name and by group, as the page says, and no longer once the
/// shipped list is back.
async fn a_listed_writer_does(place: &Place) -> Result<()> {
    let patch = pages::patch_of_the_list()?;
    let change = ["validatingadmissionpolicy", "cartouche-ledger"];
    let change = [&["patch"], &change[..], &["--type=json", "-p", &patch]].concat();
    Writer::Admin.kubectl(place, &change, "").await?;
    let (user, group) = (pages::LISTED_USER, pages::LISTED_GROUP);
    let listed = [
        Writer::As(user.to_owned(), vec!["system:masters"]),
        Writer::As("someone".to_owned(), vec!["system:masters", group]),
    ];
    let probe = ["patch", "runnable", "r", "--subresource=status"];
    let probe = [&probe[..], &["--type=merge", "--dry-run=server"]].concat();
    let probe = [
        &probe[..],
        &["-p", r#"{"status":{"observedGeneration":1}}"#],
    ]
    .concat();
    let probe: Vec<String> = probe.into_iter().map(str::to_owned).collect();
    for writer in &listed {
        place
            .served
            .eventually("a listed writer to write", || async {
                writer.kubectl(place, &writers::words(&probe), "").await?;
                Ok(Seen::Done(()))
            })
            .await?;
    }
    // The list takes no right from the controller.
    place.create("with-the-list").await?;
    let is_asked = |it: &Value| condition(it, "Ready")["reason"] == "ApprovalRequired";
    let served = &place.served;
    served
        .observed(RUNNABLE, "with-the-list", "to wait for a person", is_asked)
        .await?;
    served.delete(RUNNABLE, "with-the-list").await?;
    let policies = repository().join("config/policies");
    served.cluster.apply_kustomization(&policies).await?;
    for writer in &listed {
        served
            .eventually("the shipped list to be back", || async {
                let said = writer.refused(place, &probe, "").await?;
                ensure!(said.contains(NO_WRITER), "{said}");
                Ok(Seen::Done(()))
            })
            .await?;
    }
    Ok(())
}

/// Checks that tenants write specs, labels and annotations, by hand and with the command, and administrators
/// the rest.
async fn specs_and_annotations_are_free(place: &Place) -> Result<()> {
    let served = &place.served;
    let tenant = served.allow("tenant", &[]).await?;
    place.bind(("ClusterRole", "edit"), "tenant").await?;
    let edits = |patch: Value| {
        let tenant = &tenant;
        async move {
            let patch = patch.to_string();
            let merge = ["patch", "runnable", "r", "--type=merge", "-p", &patch];
            place.kubectl(tenant, &merge, "").await
        }
    };
    served
        .eventually("the role to hold", || async {
            edits(json!({ "metadata": { "labels": { "a": "b" } } })).await?;
            Ok(Seen::Done(()))
        })
        .await?;
    // The patches of the command for `suspend`, `rerun`, `cancel` and `profile refresh`.
    let annotated = |name: &str| json!({ "metadata": { "annotations": { name: "1" } } });
    edits(json!({ "spec": { "suspend": true } })).await?;
    edits(json!({ "spec": { "suspend": null, "inputs": { "say": "again" } } })).await?;
    for name in ["rerun-token", "rerun-request", "cancel-request"] {
        edits(annotated(&format!("carto.run/{name}"))).await?;
    }
    edits(annotated("carto.run/profile-refresh")).await?;
    // Neither the role nor the policy permits them a status.
    let object = served.get(RUNNABLE, "r").await?;
    for (way, arguments, input) in writers::ways("runnable", &object) {
        let said = place
            .refused(&tenant, &writers::words(&arguments), &input)
            .await?;
        ensure!(said.contains("forbidden"), "{way}: {said}");
    }
    let template = ["clusterruntemplate", served.namespace.as_str()];
    for words in [["label"], ["annotate"]] {
        let words = [&words[..], &template, &["some=thing"]].concat();
        Writer::Admin.kubectl(place, &words, "").await?;
    }
    Ok(())
}

/// Checks that the dependents of a Runnable are collected when it goes, and that a namespace goes with its
/// Runnables.
async fn collectors_are_free(place: &Place) -> Result<()> {
    let served = &place.served;
    let run = served.runs(CONFIG_MAP, "r").await?.pop();
    let run = run.and_then(|run| run.metadata.name).unwrap_or_default();
    ensure!(!run.is_empty(), "r has no run");
    let deletes = ["delete", "runnable", "r"];
    place.kubectl(&place.editor, &deletes, "").await?;
    served.gone(CONFIG_MAP, &run).await?;
    let other = ground::echoing(&served.cluster, "going").await?;
    other.runnable("r", says("hello")).await?;
    let deletes = ["delete", "namespace", &other.namespace, "--timeout=90s"];
    Writer::Admin.kubectl(place, &deletes, "").await.map(drop)
}

async fn definitions_stay(cluster: &Cluster) -> Result<()> {
    let refused = |words: Vec<String>, why: &'static str| async move {
        let said = match cluster.kubectl(&writers::words(&words)).await {
            Ok(done) => anyhow::bail!("{words:?} was done: {done}"),
            Err(error) => format!("{error:#}"),
        };
        ensure!(said.contains(why), "{words:?}: {said}");
        Ok(())
    };
    let words = |text: &str| text.split(' ').map(str::to_owned).collect();
    let done = |words: Vec<String>| async move { cluster.kubectl(&writers::words(&words)).await };
    for name in DEFINITIONS {
        refused(words(&format!("delete crd {name}")), KEPT).await?;
        refused(words(&format!("delete crd {name} --cascade=orphan")), KEPT).await?;
        let annotate =
            |word: &str| words(&format!("annotate --overwrite crd {name} carto.run/{word}"));
        done(annotate("schema=1000")).await?;
        for lower in ["=999", "=", "=older", "=-1001", "=99999999999", "-"] {
            refused(annotate(&format!("schema{lower}")), NO_WAY_BACK).await?;
        }
        // An older file over it.
        let file = repository().join(format!("config/crd/carto.run_{}", file_of(name)));
        let replace = format!("replace -f {}", file.display());
        refused(words(&replace), NO_WAY_BACK).await?;
        for free in [
            "schema=1000",
            "schema=1001",
            "other=thing",
            "delete-definition=no",
        ] {
            done(annotate(free)).await?;
        }
        refused(words(&format!("delete crd {name}")), KEPT).await?;
    }
    let all = "delete --raw /apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    refused(words(all), KEPT).await?;
    // Other definitions come and go freely.
    let other = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "things.example.com", "annotations": { "carto.run/schema": "2" } },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "plural": "things", "kind": "Thing" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object" } },
            }],
        },
    });
    let creates = ["create", "-f", "-"];
    cluster
        .kubectl_with_input(&creates, &other.to_string())
        .await?;
    let lower = "annotate --overwrite crd things.example.com carto.run/schema=1";
    for words in [lower, "delete crd things.example.com"] {
        let words: Vec<&str> = words.split(' ').collect();
        cluster.kubectl(&words).await?;
    }
    Ok(())
}

fn file_of(definition: &str) -> String {
    definition.replace(".carto.run", ".yaml")
}

/// Removes Runnables, controller, definitions and policies with the commands of the page, in its order.
async fn uninstalled(place: &Place) -> Result<()> {
    let cluster = &place.served.cluster;
    let stays = place.served.runnable("stays", says("bye")).await?;
    let commands = pages::uninstall()?;
    let crd = commands
        .iter()
        .position(|words| words.ends_with(&["config/crd".to_owned()]));
    let crd = &commands[crd.unwrap_or_default()];
    let too_early = cluster.kubectl(&writers::words(&pages::at_home(crd))).await;
    let said = format!("{too_early:?}");
    ensure!(too_early.is_err() && said.contains(KEPT), "{said}");
    let kept = place.served.get(RUNNABLE, "stays").await?;
    ensure!(kept["metadata"]["uid"].as_str() == stays.metadata.uid.as_deref());
    for words in &commands {
        cluster
            .kubectl(&writers::words(&pages::at_home(words)))
            .await?;
    }
    let left = [
        "get",
        "crd,validatingadmissionpolicy,clusterrole,clusterrolebinding",
        "-o",
        "name",
    ];
    let left = cluster.kubectl(&left).await?;
    let ours = |line: &&str| line.contains("carto.run") || line.contains("cartouche");
    let left: Vec<&str> = left
        .lines()
        .filter(ours)
        // Of config/approval, which is not in config/default.
        .filter(|line| !line.contains("cartouche-appro"))
        .collect();
    ensure!(left.is_empty(), "{left:?}");
    Ok(())
}
