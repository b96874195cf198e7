//! Cartouche is removed from a cluster in the order of the docs: Runnables, controller, definitions.

use anyhow::Result;
use cartouche_tests::cluster::Seen;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams};

use crate::{
    engine::{TRIAL, fails, hangs, succeeds},
    scene::{AFTER_QUIET, Scene},
    sight::{confirmed, failed},
};

const DEFINITIONS: [&str; 3] = ["runnables", "clusterruntemplates", "clusterrunprofiles"];

#[tokio::test]
async fn nothing_is_left_where_runnables_go_first_then_the_controller_and_then_the_definitions()
-> Result<()> {
    let scene = Scene::with_servers_of_its_own("uninstall").await?;
    let controller = scene.controller(&[]).await?;
    scene.runnable("done", succeeds(1)).await?;
    scene.runnable("broken", fails(1)).await?;
    scene.runnable("busy", hangs(1)).await?;
    scene.gives("done", 1).await?;
    scene.until("broken", "failed", failed).await?;
    scene.until("busy", "its run", confirmed).await?;
    let made = scene.made_of(TRIAL)?.len();

    let (background, all) = (DeleteParams::background(), ListParams::default());
    scene
        .runnables()
        .delete_collection(&background, &all)
        .await?;
    let gone = || async {
        let runnables = scene.runnables().list(&all).await?.items.len();
        let runs = scene.trials().list(&all).await?.items.len();
        Ok(match (runnables, runs) {
            (0, 0) => Seen::Done(()),
            left => Seen::NotYet(format!("{left:?} Runnables and runs are left")),
        })
    };
    let what = "Runnables and their runs to go";
    scene.cluster.eventually(what, AFTER_QUIET, gone).await?;
    assert!(controller.runs()?, "{}", controller.log()?);
    assert!(controller.stop().await?.success());
    assert_eq!(
        scene.made_of(TRIAL)?.len(),
        made,
        "a run was made of what goes"
    );
    let log = controller.log()?;
    assert!(
        !log.contains(" ERROR ") && !log.contains("panicked"),
        "{log}"
    );

    let definitions = scene.cluster.all::<CustomResourceDefinition>();
    for definition in DEFINITIONS {
        let name = format!("{definition}.carto.run");
        definitions.delete(&name, &background).await?;
    }
    let gone = || async {
        let left = definitions.list(&all).await?.items;
        let left = left.iter().filter(|it| it.spec.group == "carto.run");
        Ok(match left.count() {
            0 => Seen::Done(()),
            left => Seen::NotYet(format!("{left} definitions are left")),
        })
    };
    let what = "the definitions to go";
    scene.cluster.eventually(what, AFTER_QUIET, gone).await
}
