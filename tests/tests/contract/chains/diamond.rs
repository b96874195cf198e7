//! `b` and `c` read `a`, and `d` reads both: one run of `d` for one change of `a`.

use anyhow::Result;

use super::*;
use crate::world::{CONFIG_MAP, RUNNABLE, condition, specless, succeeded, text};

struct Diamond {
    world: World,
    a: Subject,
    b: Subject,
    c: Subject,
    d: Subject,
}

/// Makes a diamond in which all have run once.
async fn diamond(prefix: &str) -> Result<Diamond> {
    let world = world(prefix).await?;
    let a = head(&world, "a").await?;
    let b = reader(&world, "b", &["a"]).await?;
    let c = reader(&world, "c", &["a"]).await?;
    let d = reader(&world, "d", &["b", "c"]).await?;
    a.answer(1, json!("a1")).await?;
    b.answer(1, json!("b1")).await?;
    c.answer(1, json!("c1")).await?;
    d.answer(1, json!("d1")).await?;
    Ok(Diamond { world, a, b, c, d })
}

impl Diamond {
    async fn change_a(&self, number: usize) -> Result<()> {
        self.a.input("own", number).await?;
        self.a.answer(number, json!(format!("a{number}"))).await
    }

    /// Waits for the second run of `d`, of these inputs, and checks that there is no third.
    async fn has_run_once(&self, of_b: &str, of_c: &str) -> Result<()> {
        let run = self.d.run(2).await?;
        assert_eq!(
            (given(&run, "b"), given(&run, "c")),
            (&json!(of_b), &json!(of_c))
        );
        self.d.stays_at(2).await
    }
}

#[tokio::test]
async fn whichever_branch_is_first_there_is_one_run() -> Result<()> {
    let it = diamond("b-first").await?;
    it.change_a(2).await?;
    it.c.run(2).await?;
    it.b.answer(2, json!("b2")).await?;
    it.d.says(
        "Ready",
        "Unknown",
        "DependencyNotReady",
        "a run of Runnable",
    )
    .await?;
    it.c.answer(2, json!("c2")).await?;
    it.has_run_once("b2", "c2").await?;
    let it = diamond("c-first").await?;
    it.change_a(2).await?;
    it.c.answer(2, json!("c2")).await?;
    it.b.answer(2, json!("b2")).await?;
    it.has_run_once("b2", "c2").await
}

#[tokio::test]
async fn a_branch_that_gives_the_same_again_holds_nobody_back() -> Result<()> {
    let it = diamond("unaffected").await?;
    it.change_a(2).await?;
    it.b.answer(2, json!("b2")).await?;
    it.c.answer(2, json!("c1")).await?;
    it.has_run_once("b2", "c1").await
}

#[tokio::test]
async fn a_branch_that_fails_holds_the_join_until_it_is_mended() -> Result<()> {
    let it = diamond("failed").await?;
    it.change_a(2).await?;
    it.b.answer(2, json!("b2")).await?;
    it.world
        .play(&it.c.run(2).await?, succeeded("False", "no"))
        .await?;
    let said =
        it.d.fails(
            "DependencyFailed",
            "derive from different revisions of Runnable",
        )
        .await?;
    assert!(
        said.contains(&format!("Runnable {}/c has seen it", it.world.namespace)),
        "{said}"
    );
    assert_eq!(it.d.status().await?["outputs"], json!({ "answer": "d1" }));
    it.c.input("own", 2).await?;
    it.c.answer(3, json!("c3")).await?;
    it.has_run_once("b2", "c3").await
}

#[tokio::test]
async fn a_branch_that_is_suspended_is_waited_for_by_name() -> Result<()> {
    let it = diamond("suspended").await?;
    it.c.edit(|object| object["spec"]["suspend"] = json!(true))
        .await?;
    it.c.observed().await?;
    it.change_a(2).await?;
    it.b.answer(2, json!("b2")).await?;
    it.d.says("Ready", "Unknown", "DependencyNotReady", "c is suspended")
        .await?;
    it.c.edit(|object| object["spec"]["suspend"] = json!(false))
        .await?;
    it.c.answer(2, json!("c2")).await?;
    it.has_run_once("b2", "c2").await
}

#[tokio::test]
async fn where_nobody_cares_each_branch_makes_a_run() -> Result<()> {
    let it = diamond("ignored").await?;
    it.d.edit(|object| object["spec"]["coherence"] = json!("Ignored"))
        .await?;
    it.d.stays_at(1).await?;
    it.change_a(2).await?;
    it.c.run(2).await?;
    // The branches are at work: `d` still waits for them.
    it.b.answer(2, json!("b2")).await?;
    it.world
        .play(&it.c.run(2).await?, succeeded("False", "no"))
        .await?;
    it.has_run_once("b2", "c1").await?;
    // A source that is read directly is named, even if the branches derive from it too.
    it.d.edit(|object| {
        if let Some(from_all) = object["spec"]["inputsFrom"].as_array_mut() {
            from_all.push(from("a"));
        }
    })
    .await?;
    it.d.answer(3, json!("d3")).await?;
    let (b, d) = (it.b.object().await?, it.d.object().await?);
    let newest = revision(&b, "currentRun", "a");
    assert!(newest.is_string(), "{b}");
    for of in ["currentRun", "outputsFrom"] {
        assert_eq!(revision(&d, of, "a"), newest, "{d}");
    }
    let run = it.d.run(3).await?;
    assert_eq!(given(&run, "a"), "a2");
    let told = text(&run["metadata"]["annotations"]["carto.run/sources"]);
    let told: Value = serde_json::from_str(told)?;
    assert_eq!(told, d["status"]["currentRun"]["sources"]);
    it.d.stays_at(3).await
}

#[tokio::test]
async fn a_root_that_is_run_again_and_gives_the_same_makes_no_run() -> Result<()> {
    let it = diamond("again").await?;
    it.a.edit(|object| object["metadata"]["annotations"] = json!({ "carto.run/rerun-token": "1" }))
        .await?;
    it.a.answer(2, json!("a1")).await?;
    for branch in [&it.b, &it.c, &it.d] {
        branch.stays_at(1).await?;
    }
    Ok(())
}

#[tokio::test]
async fn back_and_forth_ends_at_what_is_there() -> Result<()> {
    let it = diamond("back").await?;
    it.change_a(2).await?;
    it.b.answer(2, json!("b2")).await?;
    let at_work = it.c.run(2).await?;
    it.a.input("own", 1).await?;
    it.a.answer(3, json!("a1")).await?;
    it.b.answer(3, json!("b1")).await?;
    it.world
        .play(&at_work, crate::world::answered("c2"))
        .await?;
    it.c.answer(3, json!("c1")).await?;
    it.d.until("to be at rest", |object| {
        condition(object, "Ready")["status"] == "True"
    })
    .await?;
    it.d.stays_at(1).await
}

#[tokio::test]
async fn a_branch_that_lost_its_status_costs_no_run() -> Result<()> {
    let it = diamond("wiped").await?;
    it.world
        .edit_status("b", |status| *status = json!({}))
        .await?;
    it.b.outputs(json!({ "answer": "b1" })).await?;
    it.b.until("its sources", |object| {
        revision(object, "currentRun", "a").is_string()
    })
    .await?;
    it.d.stays_at(1).await?;
    it.change_a(2).await?;
    it.b.answer(2, json!("b2")).await?;
    it.c.answer(2, json!("c2")).await?;
    it.has_run_once("b2", "c2").await
}

#[tokio::test]
async fn a_branch_that_cannot_look_is_named_as_what_has_to_be_corrected() -> Result<()> {
    let it = diamond("stalled").await?;
    // The name of an input from a source is given twice.
    it.c.input("a", "twice").await?;
    it.c.fails("SourceError", "").await?;
    it.change_a(2).await?;
    it.b.answer(2, json!("b2")).await?;
    it.d.fails("DependencyFailed", "is Stalled, and follows when")
        .await?;
    assert_eq!(
        condition(&it.d.object().await?, "Stalled")["status"],
        "True"
    );
    it.c.edit(|object| object["spec"]["inputs"] = json!({ "own": 1 }))
        .await?;
    it.c.answer(2, json!("c2")).await?;
    it.has_run_once("b2", "c2").await
}

async fn size(world: &World, value: &str) -> Result<()> {
    let mut map = specless(CONFIG_MAP, "data", json!({ "small": value }));
    map["metadata"] = json!({ "name": "sizes" });
    world.put(map).await.map(drop)
}

/// `b` and `d` read the same key of a `ConfigMap`, and `d` reads `b`.
#[tokio::test]
async fn a_branch_that_has_not_looked_at_what_is_read_here_as_well_has_not_failed() -> Result<()> {
    let world = world("own-read").await?;
    let rights = [CONFIG_MAP.rights(&["get"]), RUNNABLE.rights(&["get"])];
    world.allow("default", &rights).await?;
    size(&world, "1").await?;
    let own_read =
        json!({ "name": "size", "configMapKeyRef": { "name": "sizes", "key": "small" } });
    let b = world
        .runnable("b", json!({ "inputsFrom": [own_read.clone()] }))
        .await?;
    let d = world
        .runnable("d", json!({ "inputsFrom": [own_read, from("b")] }))
        .await?;
    b.answer(1, json!("b1")).await?;
    d.answer(1, json!("d1")).await?;
    b.edit(|object| object["spec"]["suspend"] = json!(true))
        .await?;
    b.observed().await?;
    size(&world, "2").await?;
    d.says("Ready", "Unknown", "DependencyNotReady", "b is suspended")
        .await?;
    b.edit(|object| object["spec"]["suspend"] = json!(false))
        .await?;
    b.answer(2, json!("b2")).await?;
    let run = d.run(2).await?;
    assert_eq!(
        (given(&run, "size"), given(&run, "b")),
        (&json!("2"), &json!("b2"))
    );
    d.stays_at(2).await
}

#[tokio::test]
async fn a_root_whose_outputs_are_read_anew_moves_all_below_it_once() -> Result<()> {
    let it = diamond("other-outputs").await?;
    let root = |path: &str| {
        let mut template = shows_inputs();
        template["outputs"]["answer"] = json!(path);
        template
    };
    let own = it.world.another_template("root", root(".status.answer"));
    let own = json!({ "name": own.await? });
    it.a.edit(|object| object["spec"]["runTemplateRef"] = own.clone())
        .await?;
    // Its run gives more than was asked for. The hash is unchanged: no run of it follows, now or later.
    let mut status = crate::world::answered("a1");
    status["other"] = json!("a2");
    it.world.play(&it.a.run(1).await?, status).await?;
    it.d.stays_at(1).await?;
    it.world
        .another_template("root", root(".status.other"))
        .await?;
    it.a.outputs(json!({ "answer": "a2" })).await?;
    for (branch, answer) in [(&it.b, "b2"), (&it.c, "c2")] {
        assert_eq!(given(&branch.run(2).await?, "a"), "a2");
        branch.answer(2, json!(answer)).await?;
    }
    it.has_run_once("b2", "c2").await?;
    for other in [&it.b, &it.c] {
        other.stays_at(2).await?;
    }
    it.a.stays_at(1).await
}

#[tokio::test]
async fn a_root_that_is_deleted_and_made_anew_makes_one_run_of_each_for_what_it_gives() -> Result<()>
{
    let it = diamond("anew").await?;
    it.world.delete(RUNNABLE, "a").await?;
    it.b.says("Ready", "Unknown", "DependencyNotReady", "not there")
        .await?;
    it.d.stays_at(1).await?;
    let a = head(&it.world, "a").await?;
    a.answer(1, json!("a2")).await?;
    for (branch, answer) in [(&it.c, "c2"), (&it.b, "b2")] {
        assert_eq!(given(&branch.run(2).await?, "a"), "a2");
        branch.answer(2, json!(answer)).await?;
    }
    it.has_run_once("b2", "c2").await?;
    for branch in [&it.b, &it.c] {
        branch.stays_at(2).await?;
    }
    Ok(())
}
