//! Attacks by an account that may only create the kind of the runs, and knows everything public: the uid of a
//! Runnable, its numbers and hashes, and the rule for their names.

use std::time::Instant;

use anyhow::{Context, Result};
use cartouche_crds::Runnable;
use cartouche_language::name_suffix;
use cartouche_tests::cluster::Rights;
use kube::{
    Api, ResourceExt,
    api::{DynamicObject, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use crate::{
    engine::{OMEN, ended, succeeds, template},
    scene::Scene,
    sight::{current, output, refused},
};

/// Output value of the forgeries.
const FORGED: i64 = 666;

struct Attack {
    scene: Scene,
    /// API with the rights of the forger.
    omens: Api<DynamicObject>,
}

impl Attack {
    /// Makes a Runnable `app` whose first run has given 1, and a forger.
    async fn begin(name: &str) -> Result<(Self, cartouche_tests::controller::Controller)> {
        let scene = Scene::begin(name).await?;
        scene.template(template(OMEN)).await?;
        let only_create = [Rights {
            group: "lab.test",
            resource: "omens",
            verbs: &["create"],
        }];
        let cluster = &scene.cluster;
        let forger = cluster.service_account(&scene.namespace, "forger", &only_create);
        let forger = cluster.client_of(&forger.await?).await?;
        let kind = OMEN.resource();
        let omens = Api::namespaced_with(forger, &scene.namespace, &kind);
        let controller = scene.controller(&[]).await?;
        let attack = Self { scene, omens };
        attack.scene.runnable("app", succeeds(1)).await?;
        attack.gives(1).await?;
        Ok((attack, controller))
    }

    /// Ends the current run as the engine does, and waits for its output.
    async fn gives(&self, value: i64) -> Result<Runnable> {
        let scene = &self.scene;
        let made = |r: &Runnable| {
            let run = current(r).ok();
            run.is_some_and(|run| run.uid.is_some() && run.result.is_none())
        };
        let run = current(&scene.until("app", "a run at work", made).await?)?;
        let status = Patch::Merge(json!({ "status": ended(true, &json!(value)) }));
        let omens = scene.api(OMEN);
        omens
            .patch(&run.name, &PatchParams::default(), &status)
            .await?;
        scene.gives("app", value).await
    }

    /// Creates an exact copy of a finished run of this number.
    async fn forge(&self, sequence: i64) -> Result<()> {
        let owner = self.scene.now("app").await?;
        let uid = owner.uid().context("a uid")?;
        let hash = current(&owner)?.input_hash;
        let object: DynamicObject = serde_json::from_value(json!({
            "apiVersion": "lab.test/v1", "kind": "Omen",
            "metadata": {
                "name": format!("app-{}", name_suffix(&uid, sequence)),
                "labels": {
                    "carto.run/runnable-name": "app",
                    "carto.run/run-template-name": self.scene.namespace,
                    "carto.run/runnable-uid": uid,
                    "carto.run/run-sequence": sequence.to_string(),
                },
                "annotations": { "carto.run/input-hash": hash },
                "ownerReferences": [{
                    "apiVersion": "carto.run/v1alpha1", "kind": "Runnable", "controller": true,
                    "name": "app", "uid": uid,
                }],
            },
            "spec": { "value": FORGED, "play": "succeed" },
            "status": ended(true, &json!(FORGED)),
        }))?;
        self.omens.create(&PostParams::default(), &object).await?;
        Ok(())
    }

    /// Checks that no status ever had the forged output.
    fn nothing_was_forged(&self) -> Result<()> {
        for status in self.scene.statuses("app")? {
            let value = status.pointer("/outputs/value");
            assert_ne!(value, Some(&json!(FORGED)));
        }
        assert_eq!(self.scene.retired(OMEN)?, Vec::<Value>::new());
        Ok(())
    }
}

#[tokio::test]
async fn a_forged_run_ahead_of_the_ledger_gives_nothing_and_changes_nothing() -> Result<()> {
    let (attack, mut controller) = Attack::begin("forged-ahead").await?;
    let scene = &attack.scene;
    for sequence in [2, 7, 1 << 20, 1 << 53] {
        attack.forge(sequence).await?;
    }
    for _ in 0..2 {
        scene.is_served().await?;
        let app = scene.now("app").await?;
        assert_eq!((current(&app)?.sequence, output(&app)), (1, Some(1)));
        controller.restart().await?;
    }
    let uid = scene.now("app").await?.uid().context("a uid")?;
    scene
        .warns("app", "UnknownRun", &name_suffix(&uid, 7))
        .await?;
    // The name of the second run is taken: its number is given up, and the run is made.
    scene.change("app", succeeds(2)).await?;
    let next = attack.gives(2).await?;
    // The distance to the next one is random.
    assert!((9..17).contains(&current(&next)?.sequence));
    attack.nothing_was_forged()
}

#[tokio::test]
async fn three_hundred_names_that_are_taken_in_advance_cost_four_numbers() -> Result<()> {
    let (attack, _controller) = Attack::begin("names-in-advance").await?;
    let scene = &attack.scene;
    for sequence in 2..=301 {
        attack.forge(sequence).await?;
    }
    // The same document again, so that number, hash, owner and name of the waiting object are right.
    let began = Instant::now();
    let again = json!({ "metadata": { "annotations": { "carto.run/rerun-token": "again" } } });
    scene.patch("app", again).await?;
    let made = |r: &Runnable| current(r).is_ok_and(|run| run.sequence > 301 && run.uid.is_some());
    let app = scene
        .until("app", "a run above the names that are taken", made)
        .await?;
    println!("300 names taken in advance: {:?}", began.elapsed());
    // The fourth number: eight to sixteen times as far away each time.
    let sequence = current(&app)?.sequence;
    assert!((513..=4097).contains(&sequence), "{sequence}");
    assert_eq!(output(&app), Some(1));
    attack.gives(3).await?;
    let status = crate::sight::status(&scene.now("app").await?);
    // The given-up numbers stay there for a while, and no foreign object does.
    let given_up = status.history.iter().filter(|entry| entry.sequence > 1);
    let given_up: Vec<_> = given_up
        .map(|entry| (entry.uid.is_some(), entry.taken_by.is_some()))
        .collect();
    assert_eq!(given_up, [(false, true); 3]);
    scene.change("app", succeeds(4)).await?;
    assert_eq!(current(&attack.gives(4).await?)?.sequence, sequence + 1);
    attack.nothing_was_forged()
}

#[tokio::test]
async fn an_object_that_is_quicker_than_the_create_is_not_taken_for_the_run() -> Result<()> {
    let (attack, mut controller) = Attack::begin("quicker").await?;
    let scene = &attack.scene;
    // The forger wins the race for certain while the account may not create.
    scene.leave(OMEN, &["list"]).await?;
    let again = json!({ "metadata": { "annotations": { "carto.run/rerun-token": "again" } } });
    scene.patch("app", again).await?;
    scene.until("app", "refused", refused).await?;
    attack.forge(2).await?;
    controller.restart().await?;
    scene.is_served().await?;
    assert_eq!(output(&scene.now("app").await?), Some(1));
    scene.restore_rights().await?;
    let is_made = |r: &Runnable| {
        current(r).is_ok_and(|run| (9..17).contains(&run.sequence) && run.uid.is_some())
    };
    let next = scene.until("app", "its run", is_made).await?;
    assert_eq!(output(&next), Some(1));
    attack.gives(2).await?;
    attack.nothing_was_forged()
}
