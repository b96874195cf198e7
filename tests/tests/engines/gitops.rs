//! The view of GitOps tools: kstatus (Flux, kpt, Helm), Argo CD's health, and `kubectl wait`, at every moment
//! that matters, including those before the controller's first look.

mod drift;
mod kustomize;
mod tools;

use std::time::Duration;

use anyhow::Result;
use cartouche_tests::{
    cluster::Seen,
    kind::{JOB, RUNNABLE},
    repository,
};
use serde_json::{Value, json};

use tools::Tools;

const PATIENCE: Duration = Duration::from_mins(1);

#[tokio::test]
async fn gitops_tools_see_the_truth_at_every_moment() -> Result<()> {
    let Some((tools, controller)) = Tools::alone().await? else {
        return Ok(());
    };
    let controller = controller.lock().await;
    controller.pause()?;
    tools.apply("hang").await?;
    // Just made and not seen yet.
    tools
        .now(&tools.runnable().await?, "InProgress", "Progressing")
        .await?;
    tools
        .now(&tools.template().await?, "InProgress", "Progressing")
        .await?;
    assert!(tools.wait("1s").await.is_err());

    controller.resume()?;
    tools.at_work().await?;
    tools.let_succeed().await?;
    tools.soon("Current", "Healthy").await?;
    tools
        .now(&tools.template().await?, "Current", "Healthy")
        .await?;
    tools.wait("1s").await?;

    // Changed and not seen yet: the old success does not count.
    controller.pause()?;
    tools
        .change(json!({ "inputs": { "outcome": "fail" } }))
        .await?;
    tools
        .now(&tools.runnable().await?, "InProgress", "Progressing")
        .await?;
    assert!(tools.wait("1s").await.is_err());
    controller.resume()?;
    let message = tools.soon("Failed", "Degraded").await?;
    assert!(message.contains("backoff limit"), "{message}");

    // Another input, another run: at work, then a success.
    tools
        .change(json!({ "inputs": { "outcome": "hang" } }))
        .await?;
    tools.at_work().await?;
    assert!(tools.wait("1s").await.is_err());
    tools.let_succeed().await?;
    tools.soon("Current", "Healthy").await.map(drop)
}

#[tokio::test]
async fn gitops_tools_see_what_only_a_change_can_cure_as_failed() -> Result<()> {
    let Some((tools, controller)) = Tools::alone().await? else {
        return Ok(());
    };
    let controller = controller.lock().await;
    tools.apply("succeed").await?;
    tools.soon("Current", "Healthy").await?;
    // An input that the template needs is gone.
    tools.change(json!({ "inputs": null })).await?;
    let message = tools.soon("Failed", "Degraded").await?;
    assert!(message.contains("cannot be rendered"), "{message}");
    tools
        .change(json!({ "inputs": { "outcome": "succeed" } }))
        .await?;
    tools.soon("Current", "Healthy").await?;

    // A broken template: changed, not seen yet, refused.
    controller.pause()?;
    let broken = json!({ "spec": { "outputs": { "broken": "..[" } } });
    let template = tools.template().await?;
    tools.patch_object(&template, broken).await?;
    tools
        .now(&tools.template().await?, "InProgress", "Progressing")
        .await?;
    controller.resume()?;
    let look = || async {
        let (flux, argo) = tools.say(&tools.template().await?).await?;
        Ok(if flux.status == "Failed" && argo.status == "Degraded" {
            Seen::Done(())
        } else {
            Seen::NotYet(format!("{flux:?} {argo:?}"))
        })
    };
    let refused = "both to see that the template is refused";
    tools.eventually(refused, look).await
}

#[tokio::test]
async fn gitops_tools_see_a_run_that_is_held_back_as_neither_done_nor_failed() -> Result<()> {
    let Some((tools, controller)) = Tools::alone().await? else {
        return Ok(());
    };
    let _controller = controller.lock().await;
    tools.apply("succeed").await?;
    tools.soon("Current", "Healthy").await?;
    // Suspended without a pending change: the success stands.
    tools.change(json!({ "suspend": true })).await?;
    tools.soon("Current", "Healthy").await?;
    tools
        .change(json!({ "inputs": { "outcome": "fail" } }))
        .await?;
    let message = tools.soon("InProgress", "Suspended").await?;
    assert!(message.contains("suspended"), "{message}");
    assert!(tools.wait("1s").await.is_err());
    tools.change(json!({ "suspend": null })).await?;
    tools.soon("Failed", "Degraded").await.map(drop)
}

#[tokio::test]
async fn gitops_tools_see_a_run_that_waits_for_a_person_as_neither_done_nor_failed() -> Result<()> {
    let Some(tools) = Tools::beside_others().await? else {
        return Ok(());
    };
    tools.apply("succeed").await?;
    tools.soon("Current", "Healthy").await?;
    // Approval is required later: the success stands.
    tools.change(json!({ "approval": "Manual" })).await?;
    tools.soon("Current", "Healthy").await?;
    for outcome in ["fail", "succeed-again"] {
        // The second one waits after a failure.
        let inputs = json!({ "inputs": { "outcome": outcome } });
        tools.change(inputs).await?;
        let message = tools.soon("InProgress", "Suspended").await?;
        assert!(message.contains("needs approval"), "{message}");
        assert!(tools.wait("1s").await.is_err());
        let runnable = tools.runnable().await?;
        let approval = &runnable["status"]["pending"]["approval"];
        let annotations = json!({ "carto.run/approved": approval });
        let approved = json!({ "metadata": { "annotations": annotations } });
        tools.patch("it", approved).await?;
        let ends = match outcome {
            "fail" => ("Failed", "Degraded"),
            _ => ("Current", "Healthy"),
        };
        tools.soon(ends.0, ends.1).await?;
    }
    tools.runs(3).await
}

#[tokio::test]
async fn gitops_tools_see_a_failure_with_an_attempt_ahead_as_work_and_the_last_one_as_failed()
-> Result<()> {
    let Some(tools) = Tools::beside_others().await? else {
        return Ok(());
    };
    tools.apply("succeed").await?;
    tools.soon("Current", "Healthy").await?;
    let retry = |pause: &str| json!({ "limit": 1, "backoff": { "initial": pause, "max": pause } });
    tools
        .change(json!({ "inputs": { "outcome": "fail" }, "retry": retry("1h") }))
        .await?;
    let ahead = || async {
        let object = tools.runnable().await?;
        let (flux, argo) = tools.say(&object).await?;
        let is_told = flux.message.contains("attempt 2 of 2 begins at");
        Ok(if is_told {
            Seen::Done((flux.status, argo.status))
        } else {
            Seen::NotYet(format!("{flux:?} {argo:?} {object:#}"))
        })
    };
    let said = tools.eventually("an attempt to be ahead", ahead).await?;
    assert_eq!(said, ("InProgress".to_owned(), "Progressing".to_owned()));
    // The next failure is retried soon, and then no more.
    let again = json!({ "annotations": { "carto.run/rerun-token": "again" } });
    let patch = json!({ "metadata": again, "spec": { "retry": retry("1s") } });
    tools.patch("it", patch).await?;
    tools.soon("Failed", "Degraded").await?;
    tools.runs(4).await
}

#[tokio::test]
async fn gitops_tools_see_the_second_link_of_a_chain_as_work_while_the_first_one_works()
-> Result<()> {
    let Some(tools) = Tools::beside_others().await? else {
        return Ok(());
    };
    let rights = [JOB.rights_of_a_runnable(), RUNNABLE.rights(&["get"])];
    tools.allow("default", &rights).await?;
    tools.apply("succeed").await?;
    let outputs = json!({ "spec": { "outputs": { "run": ".metadata.name" } } });
    tools
        .patch_object(&tools.template().await?, outputs)
        .await?;
    let next = json!({
        "apiVersion": "carto.run/v1alpha1",
        "kind": "Runnable",
        "metadata": { "name": "next" },
        "spec": {
            "runTemplateRef": { "name": tools.application() },
            "inputs": { "outcome": "succeed" },
            "inputsFrom": [{ "name": "of", "runnableRef": { "name": "it", "output": "run" } }],
        },
    });
    tools
        .cluster
        .apply_yaml(&tools.namespace, &next.to_string())
        .await?;
    let both_say = |expected: (&'static str, &'static str)| {
        let tools = &tools;
        tools.eventually("the second link", move || async move {
            let object = tools.get(RUNNABLE, "next").await?;
            let (flux, argo) = tools.say(&object).await?;
            let said = (&*flux.status, &*argo.status);
            Ok(if said == expected {
                Seen::Done(argo.message)
            } else {
                Seen::NotYet(format!("{flux:?} {argo:?} {object:#}"))
            })
        })
    };
    both_say(("Current", "Healthy")).await?;
    tools
        .change(json!({ "inputs": { "outcome": "hang" } }))
        .await?;
    tools.at_work().await?;
    let message = both_say(("InProgress", "Progressing")).await?;
    assert!(
        message.contains("a Runnable upstream is about to change"),
        "{message}"
    );
    tools.let_succeed().await?;
    both_say(("Current", "Healthy")).await.map(drop)
}

#[tokio::test]
async fn what_may_heal_by_itself_is_in_progress_with_its_message() -> Result<()> {
    let Some(tools) = Tools::beside_others().await? else {
        return Ok(());
    };
    tools.allow("default", &[]).await?;
    tools.apply("succeed").await?;
    let look = || async {
        let (flux, argo) = tools.say(&tools.runnable().await?).await?;
        let told = flux.message.contains("may not") && argo.message.starts_with(&flux.message);
        Ok(if told {
            Seen::Done((flux.status, argo.status))
        } else {
            Seen::NotYet(format!("{flux:?} {argo:?}"))
        })
    };
    let forbidden = "both to tell that it is forbidden";
    let said = tools.eventually(forbidden, look).await?;
    assert_eq!(said, ("InProgress".to_owned(), "Progressing".to_owned()));
    let jobs = [JOB.rights_of_a_runnable()];
    tools.allow("default", &jobs).await?;
    tools.soon("Current", "Healthy").await.map(drop)
}

#[tokio::test]
async fn kubectl_wait_returns_with_the_success_of_the_present_inputs_only() -> Result<()> {
    let Some(tools) = Tools::beside_others().await? else {
        return Ok(());
    };
    tools.apply("succeed").await?;
    tools.wait("90s").await?;
    for round in 1..=5 {
        let outcome = json!({ "inputs": { "outcome": format!("succeed-{round}") } });
        tools.change(outcome).await?;
        tools.wait("90s").await?;
        let runnable = tools.runnable().await?;
        let run = &runnable["status"]["currentRun"];
        assert_eq!(run["sequence"], round + 1, "{runnable:#}");
        assert_eq!(run["result"], "Succeeded", "{runnable:#}");
    }
    Ok(())
}

#[tokio::test]
async fn the_component_puts_the_scripts_beside_what_argo_cd_is_told_already() -> Result<()> {
    let cluster = crate::scene::cluster().await?;
    let folder = tempfile::tempdir()?;
    // A component is named by a path relative to the kustomization that uses it.
    let component = folder.path().join("component");
    std::fs::create_dir(&component)?;
    for file in std::fs::read_dir(repository().join("config/argocd"))? {
        let file = file?;
        std::fs::copy(file.path(), component.join(file.file_name()))?;
    }
    let kustomization = "
namespace: argocd
resources: [argocd-cm.yaml]
components: [component]
";
    let present = "
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm}
data: {url: https://argocd.example.com}
";
    std::fs::write(folder.path().join("kustomization.yaml"), kustomization)?;
    std::fs::write(folder.path().join("argocd-cm.yaml"), present)?;
    let path = folder.path().display().to_string();
    let built = cluster.kubectl(&["kustomize", &path]).await?;
    let built: Value = serde_saphyr::from_str(&built)?;
    let data = &built["data"];
    assert_eq!(data["url"], "https://argocd.example.com");
    for (kind, file) in [
        ("Runnable", "runnable.lua"),
        ("ClusterRunTemplate", "cluster-run-template.lua"),
    ] {
        let script = std::fs::read_to_string(repository().join("config/argocd").join(file))?;
        let key = format!("resource.customizations.health.carto.run_{kind}");
        assert_eq!(data[key], script);
    }
    Ok(())
}
