//! Objects that cannot be made: their kinds and names.

use anyhow::Result;
use serde_json::{Value, json};

use super::case::{REJECTED, STAMP, all, foreign, template};
use crate::world::{TEST_OBJ, World, document};

#[tokio::test]
async fn kinds_that_cannot_be_runs() -> Result<()> {
    let kind = |what, version: &str, kind: &str, reason, part: &str| {
        template(
            what,
            json!({ "apiVersion": version, "kind": kind }),
            reason,
            part,
        )
    };
    all(
        "bad-kind",
        vec![
            kind(
                "an unknown kind",
                "test.run/v1",
                "Nope",
                REJECTED,
                "no matches for kind \"Nope\" in version \"test.run/v1\"",
            ),
            kind(
                "an unknown version",
                "test.run/v9",
                "TestObj",
                REJECTED,
                "no matches for kind \"TestObj\" in version \"test.run/v9\"",
            ),
            kind(
                "a path as version",
                "../../v1",
                "Pod",
                REJECTED,
                "no matches for kind \"Pod\"",
            ),
            kind(
                "a Runnable",
                "carto.run/v1alpha1",
                "Runnable",
                STAMP,
                "a run cannot be a Runnable of carto.run",
            ),
            kind(
                "a template",
                "carto.run/v1alpha1",
                "ClusterRunTemplate",
                STAMP,
                "a run cannot be a ClusterRunTemplate of carto.run",
            ),
            kind(
                "a cluster-scoped kind",
                "test.run/v1",
                "ClusterObj",
                STAMP,
                "is a cluster-scoped kind",
            ),
            kind(
                "a Namespace",
                "v1",
                "Namespace",
                STAMP,
                "is a cluster-scoped kind",
            ),
            kind(
                "a kind that the account may not make",
                "test.run/v1",
                "GuardedObj",
                REJECTED,
                "cannot create resource \"guardedobjs\"",
            ),
            {
                let kind = "$(runnable.spec.inputs.kind)$";
                let mut case = template(
                    "a Runnable by way of an input",
                    json!({ "apiVersion": "carto.run/v1alpha1", "kind": kind }),
                    STAMP,
                    "Runnable",
                );
                case.runnable = json!({ "inputs": { "kind": "Runnable" } });
                case
            },
        ],
    )
    .await
}

#[tokio::test]
async fn names_that_cannot_be_given() -> Result<()> {
    let metadata = |what, metadata: Value, reason, part: &str| {
        template(what, json!({ "metadata": metadata }), reason, part)
    };
    let labels = json!({ "labels": { "app": "not a label!" } });
    let fixed = json!({ "name": "taken", "generateName": null });
    all(
        "bad-name",
        vec![
            metadata(
                "no name",
                json!({ "generateName": null }),
                STAMP,
                "neither generateName nor name is set",
            ),
            metadata(
                "an empty name",
                json!({ "generateName": "" }),
                STAMP,
                "neither generateName nor name is set",
            ),
            metadata(
                "a number",
                json!({ "generateName": 7 }),
                STAMP,
                "metadata.generateName: it is not a string",
            ),
            metadata(
                "capitals",
                json!({ "generateName": "Bad_Name-" }),
                REJECTED,
                "metadata.generateName: Invalid value: \"Bad_Name-\"",
            ),
            metadata(
                "the name of a stranger's object",
                fixed,
                "NameConflict",
                "use metadata.generateName in the template",
            ),
            metadata(
                "a fixed name that is none",
                json!({ "name": "Bad Name", "generateName": null }),
                REJECTED,
                "metadata.name: Invalid value: \"Bad Name\"",
            ),
            metadata(
                "a path as fixed name",
                json!({ "name": "../testobjs/taken", "generateName": null }),
                REJECTED,
                "metadata.name: Invalid value: \"../testobjs/taken\"",
            ),
            metadata(
                "a query as fixed name",
                json!({ "name": "taken?x=y", "generateName": null }),
                REJECTED,
                "metadata.name: Invalid value: \"taken?x=y\"",
            ),
            metadata(
                "a label that is none",
                labels,
                REJECTED,
                "metadata.labels: Invalid value: \"not a label!\"",
            ),
        ],
    )
    .await
}

#[tokio::test]
async fn a_stranger_whose_name_is_wanted_is_left_alone() -> Result<()> {
    let world = World::new("stranger").await?;
    let there = world.put(foreign("taken")).await?;
    let mut template = document(TEST_OBJ, json!({}));
    template["metadata"] = json!({ "name": "taken" });
    world.template(json!({ "template": template })).await?;
    let subject = world.runnable("r", json!({})).await?;
    let said = subject.fails("NameConflict", "").await?;
    let wanted = format!(
        "TestObj {}/taken exists already, created by another client (created at {}), and the template gives every run this name; \
         to do: use metadata.generateName in the template instead of metadata.name, or delete that object",
        world.namespace,
        there["metadata"]["creationTimestamp"]
            .as_str()
            .unwrap_or_default()
    );
    assert_eq!(said, wanted);
    assert_eq!(world.get(TEST_OBJ, "taken").await?, there);
    world.delete(TEST_OBJ, "taken").await?;
    subject.runs(1).await?;
    Ok(())
}
