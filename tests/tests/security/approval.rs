//! The users who may approve a run, where `config/approval` is applied.

pub(crate) mod place;

use anyhow::{Context as _, Result, ensure};
use cartouche_tests::{
    cluster::{Rights, Seen},
    kind::RUNNABLE,
};
use serde_json::{Value, json};

use crate::ground::{self, DEMO, condition, text};
use place::Place;

const APPROVED: &str = "carto.run/approved";
/// The API server's message to others.
const REFUSED: &str = "you may not approve runs";

/// The rights of users who edit Runnables.
const EDIT: Rights<'_> = RUNNABLE.rights(&["get", "list", "create", "update", "patch", "delete"]);

/// Returns the ways to write an annotation of the Runnable `r`, with the standard input of kubectl.
fn ways(manifest: &Value, approval: &str) -> Vec<(Vec<String>, String)> {
    let merge = json!({ "metadata": { "annotations": { APPROVED: approval } } }).to_string();
    let pointer = "/metadata/annotations";
    let steps = json!([
        { "op": "add", "path": pointer, "value": { "other": approval } },
        { "op": "move", "from": format!("{pointer}/other"), "path": format!("{pointer}/carto.run~1approved") },
    ]);
    let annotation = format!("{APPROVED}={approval}");
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    let whole = manifest.to_string();
    vec![
        (
            words(&["annotate", "--overwrite", "runnable", "r", &annotation]),
            String::new(),
        ),
        (
            words(&["patch", "runnable", "r", "--type=merge", "-p", &merge]),
            String::new(),
        ),
        (
            words(&[
                "patch",
                "runnable",
                "r",
                "--type=json",
                "-p",
                &steps.to_string(),
            ]),
            String::new(),
        ),
        (words(&["apply", "-f", "-"]), whole.clone()),
        (
            words(&["apply", "--server-side", "--force-conflicts", "-f", "-"]),
            whole.clone(),
        ),
        (words(&["replace", "-f", "-"]), whole),
    ]
}

#[tokio::test]
async fn only_whoever_may_update_approvals_sets_the_annotation() -> Result<()> {
    let cluster = ground::cluster().await?;
    let place = Place::new(&cluster).await?;
    the_policy_is_sound(&place).await?;
    nobody_else_approves(&place).await?;
    no_write_of_the_status_approves(&place).await?;
    all_else_is_free(&place).await?;
    the_right_may_be_for_one_runnable(&place).await
}

/// Checks that the API server, which checks the expressions against the schema of Runnables, has no warning.
async fn the_policy_is_sound(place: &Place) -> Result<()> {
    let get = [
        "get",
        "validatingadmissionpolicy",
        "cartouche-approvals",
        "-o",
        "json",
    ];
    let checked = || async {
        let policy: Value = serde_json::from_str(&place.served.cluster.kubectl(&get).await?)?;
        let status = &policy["status"];
        let is_checked = status["observedGeneration"] == policy["metadata"]["generation"];
        Ok(if is_checked {
            Seen::Done(status["typeChecking"].clone())
        } else {
            Seen::NotYet(status.to_string())
        })
    };
    let what = "the policy to be checked";
    let checked = place.served.eventually(what, checked).await?;
    ensure!(checked["expressionWarnings"].is_null(), "{checked:#}");
    Ok(())
}

async fn nobody_else_approves(place: &Place) -> Result<()> {
    place.create("r").await?;
    nobody_else_refuses(place).await?;
    let value = "1:v1:5ec3e7";
    for (arguments, input) in ways(&place.manifest("r", Some(value)), value) {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let said = place.refused(&place.editor, &arguments, &input).await?;
        ensure!(said.contains(REFUSED), "{arguments:?}: {said}");
        ensure!(said.contains("cartouche-approver"), "{said}");
        // kubectl shows its request, and then the answer.
        let (_, answer) = said.rsplit_once("denied request: ").context("no answer")?;
        ensure!(!answer.contains("5ec3e7"), "{answer}");
        ensure!(place.annotation("r").await?.is_null(), "{arguments:?}");
    }
    // Nor with a new Runnable, under any name.
    let mut unnamed = place.manifest("x", Some(value));
    unnamed["metadata"]["generateName"] = "x-".into();
    unnamed["metadata"]
        .as_object_mut()
        .map(|it| it.remove("name"));
    let named = place.manifest("new", Some(value));
    for (verb, manifest) in [
        (&["create", "-f", "-"][..], &named),
        (&["create", "-f", "-"], &unnamed),
        (&["apply", "-f", "-"], &named),
        (&["apply", "--server-side", "-f", "-"], &named),
        (&["create", "-f", "-"], &place.manifest("empty", Some(""))),
    ] {
        let input = manifest.to_string();
        let said = place.refused(&place.editor, verb, &input).await?;
        ensure!(said.contains(REFUSED), "{verb:?} {manifest}: {said}");
    }
    Ok(())
}

/// Checks that the annotation that rejects a run is guarded as the one that approves it; its mere removal is
/// free.
async fn nobody_else_refuses(place: &Place) -> Result<()> {
    let rejected = "carto.run/rejected";
    let no = json!({ "approval": "1:v1:00ff", "reason": "no" }).to_string();
    let merge = |annotation: Value| {
        json!({ "metadata": { "annotations": { rejected: annotation } } }).to_string()
    };
    let (set, other, away) = (
        merge(no.clone().into()),
        merge("other".into()),
        merge(Value::Null),
    );
    let patch = ["patch", "runnable", "r", "--type=merge", "-p"];
    let refused = |merge: String| async move {
        let words = [&patch[..], &[merge.as_str()]].concat();
        let said = place.refused(&place.editor, &words, "").await?;
        ensure!(said.contains(REFUSED), "{said}");
        Ok(())
    };
    refused(set.clone()).await?;
    let mut new = place.manifest("refused", None);
    new["metadata"]["annotations"] = json!({ rejected: no.clone() });
    let creates = ["create", "-f", "-"];
    let said = place
        .refused(&place.editor, &creates, &new.to_string())
        .await?;
    ensure!(said.contains(REFUSED), "{said}");
    let words = [&patch[..], &[&set]].concat();
    place.kubectl(&place.approver, &words, "").await?;
    refused(other).await?;
    let words = [&patch[..], &[&away]].concat();
    place.kubectl(&place.editor, &words, "").await?;
    // With an approval it would let the run begin.
    let annotated = |yes: Value, no: Value| {
        let annotations = json!({ APPROVED: yes, rejected: no });
        json!({ "metadata": { "annotations": annotations } }).to_string()
    };
    let both = annotated("1:v1:00ff".into(), no.into());
    let words = [&patch[..], &[&both]].concat();
    place.kubectl(&place.approver, &words, "").await?;
    refused(away).await?;
    let neither = annotated(Value::Null, Value::Null);
    let words = [&patch[..], &[&neither]].concat();
    place.kubectl(&place.editor, &words, "").await?;
    Ok(())
}

/// Checks that no write of the status approves, so that the policy need not check these. A user who may write
/// statuses may do worse things.
async fn no_write_of_the_status_approves(place: &Place) -> Result<()> {
    let written = |outputs: &str| {
        let mut manifest = place.manifest("r", Some("1:v1:00ff"));
        manifest["status"] = json!({ "observedGeneration": 0, "outputs": { "by": outputs } });
        manifest
    };
    let merge = written("patch").to_string();
    let mut replaced = written("replace");
    let version = place.served.get(RUNNABLE, "r").await?["metadata"]["resourceVersion"].take();
    replaced["metadata"]["resourceVersion"] = version;
    let status = "--subresource=status";
    for (by, arguments, input) in [
        (
            "replace",
            &["replace", status, "-f", "-"][..],
            replaced.to_string(),
        ),
        (
            "patch",
            &[
                "patch",
                "runnable",
                "r",
                status,
                "--type=merge",
                "-p",
                &merge,
            ],
            String::new(),
        ),
        (
            "apply",
            &[
                "apply",
                "--server-side",
                "--force-conflicts",
                status,
                "-f",
                "-",
            ],
            written("apply").to_string(),
        ),
    ] {
        place.kubectl(&place.editor, arguments, &input).await?;
        let object = place.served.get(RUNNABLE, "r").await?;
        assert_eq!(object["status"]["outputs"]["by"], by, "it was written");
        let annotations = &object["metadata"]["annotations"];
        ensure!(annotations[APPROVED].is_null(), "{by}: {annotations}");
    }
    place.served.delete(RUNNABLE, "r").await?;
    place.served.gone(RUNNABLE, "r").await
}

/// Checks that edits that approve nothing new are free for editors.
async fn all_else_is_free(place: &Place) -> Result<()> {
    place.create("r").await?;
    let edits = |patch: Value| async move {
        let patch = patch.to_string();
        let merge = ["patch", "runnable", "r", "--type=merge", "-p", &patch];
        place.kubectl(&place.editor, &merge, "").await
    };
    let annotated = |annotations: Value| json!({ "metadata": { "annotations": annotations } });
    edits(json!({ "spec": { "inputs": { "say": "before" } } })).await?;
    edits(annotated(json!({ "carto.run/rerun-token": "1" }))).await?;
    for (arguments, input) in ways(&place.manifest("r", Some("1:v1:00ff")), "1:v1:00ff") {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        if arguments[0] == "replace" {
            // That needs the right to update, which an approver need not have.
            continue;
        }
        place.kubectl(&place.approver, &arguments, &input).await?;
        assert_eq!(place.annotation("r").await?, "1:v1:00ff");
        // With the approval in place the rest is edited, and metadata too.
        edits(json!({ "spec": { "suspend": true } })).await?;
        edits(json!({ "metadata": { "labels": { "a": "b" }, "finalizers": [] } })).await?;
        edits(annotated(json!({ "team": "shop", APPROVED: "1:v1:00ff" }))).await?;
        let another = annotated(json!({ APPROVED: "1:v1:00fe" }));
        let said = edits(another).await.err().context("it was changed")?;
        ensure!(format!("{said:#}").contains(REFUSED), "{said:#}");
        edits(annotated(json!({ APPROVED: null }))).await?;
        ensure!(place.annotation("r").await?.is_null());
        edits(json!({ "spec": { "suspend": null } })).await?;
    }
    place
        .kubectl(&place.editor, &["delete", "runnable", "r"], "")
        .await?;
    Ok(())
}

async fn the_right_may_be_for_one_runnable(place: &Place) -> Result<()> {
    let one = place.served.allow("one", &[EDIT]).await?;
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": { "name": "of-one" },
        "rules": [{
            "apiGroups": ["carto.run"], "resources": ["runnables/approval"],
            "resourceNames": ["mine"], "verbs": ["update"],
        }],
    });
    place.served.put(role).await?;
    place.bind(("Role", "of-one"), "one").await?;
    let creates = ["create", "-f", "-"];
    place
        .served
        .eventually("the right for one Runnable", || async {
            let mine = place.manifest("mine", Some("1:v1:00ff")).to_string();
            Ok(match place.kubectl(&one, &creates, &mine).await {
                Ok(_) => Seen::Done(()),
                Err(error) => Seen::NotYet(format!("{error:#}")),
            })
        })
        .await?;
    let other = place.manifest("other", Some("1:v1:00ff")).to_string();
    let said = place.refused(&one, &creates, &other).await?;
    ensure!(said.contains(REFUSED), "{said}");
    Ok(())
}

/// The controller continues to serve, and the policies do not hold up what it needs for that.
#[tokio::test]
async fn runs_begin_with_the_yes_of_those_who_may_give_it() -> Result<()> {
    let cluster = ground::cluster().await?;
    let place = Place::new(&cluster).await?;
    let served = &place.served;
    let controller = served.start_controller_with(DEMO, &[]).await?;
    place.create("r").await?;
    for (sequence, word) in [(1, "hello"), (2, "again")] {
        let is_asked = |it: &Value| {
            let is_due = it["status"]["pending"]["sequence"] == sequence;
            is_due && condition(it, "Ready")["reason"] == "ApprovalRequired"
        };
        let what = "to wait for a person";
        let object = served.observed(RUNNABLE, "r", what, is_asked).await?;
        let approval = text(&object["status"]["pending"]["approval"]);
        let annotation = format!("{APPROVED}={approval}");
        let annotate = ["annotate", "--overwrite", "runnable", "r", &annotation];
        let said = place.refused(&place.editor, &annotate, "").await?;
        ensure!(said.contains(REFUSED), "{said}");
        place.kubectl(&place.approver, &annotate, "").await?;
        let said = |it: &Value| it["status"]["outputs"]["said"] == word;
        served.observed(RUNNABLE, "r", word, said).await?;
        // The next one, with the old approval in place.
        let patch = json!({ "spec": { "inputs": { "say": "again" } } }).to_string();
        let merge = ["patch", "runnable", "r", "--type=merge", "-p", &patch];
        place.kubectl(&place.editor, &merge, "").await?;
    }
    ensure!(controller.runs()?);
    let log = controller.log()?;
    ensure!(!log.contains(REFUSED), "{log}");
    let deletes = ["delete", "runnable", "r"];
    place.kubectl(&place.editor, &deletes, "").await?;
    served.gone(RUNNABLE, "r").await
}

/// Administrators of a namespace cannot make themselves approvers.
#[tokio::test]
async fn the_right_is_in_no_role_of_the_cluster() -> Result<()> {
    let cluster = ground::cluster().await?;
    let place = Place::new(&cluster).await?;
    for role in ["edit", "admin"] {
        let account = place.served.allow(role, &[]).await?;
        place.bind(("ClusterRole", role), role).await?;
        let plain = place.manifest(role, None).to_string();
        let creates = ["create", "-f", "-"];
        place
            .served
            .eventually("the role to hold", || async {
                Ok(match place.kubectl(&account, &creates, &plain).await {
                    Ok(_) => Seen::Done(()),
                    Err(error) => Seen::NotYet(format!("{error:#}")),
                })
            })
            .await?;
        let annotation = format!("{APPROVED}=1:v1:00ff");
        let annotate = ["annotate", "runnable", role, &annotation];
        let said = place.refused(&account, &annotate, "").await?;
        ensure!(said.contains(REFUSED), "{said}");
        let own = format!("--serviceaccount={}:{role}", place.served.namespace);
        let binds = [
            "create",
            "rolebinding",
            "mine",
            "--clusterrole=cartouche-approver",
            &own,
        ];
        let said = place.refused(&account, &binds, "").await?;
        ensure!(said.contains("forbidden"), "{said}");
    }
    Ok(())
}
