//! The columns of `kubectl get`.

use anyhow::Result;
use serde_json::{Value, json};

use crate::world::{PROFILE, World, answers, condition, name_of};

/// Returns the non-empty cells of each line of `kubectl get`.
async fn rows(world: &World, arguments: &[&str]) -> Result<Vec<Vec<String>>> {
    let all = [&["-n", &world.namespace, "get"], arguments].concat();
    let said = world.cluster.kubectl(&all).await?;
    let rows = said.lines().map(|line| {
        let cells = line.split("  ").map(str::trim);
        let cells = cells.filter(|cell| !cell.is_empty()).map(str::to_owned);
        cells.collect()
    });
    Ok(rows.collect())
}

#[tokio::test]
async fn kubectl_get_shows_what_matters() -> Result<()> {
    let (world, subject) = World::with("columns", answers()).await?;
    let run = subject.run(1).await?;
    let at_work = rows(&world, &["run"]).await?;
    assert_eq!(
        at_work[0],
        ["NAME", "READY", "REASON", "RUN", "RESULT", "AGE"]
    );
    assert_eq!(at_work[1][3], "1");
    assert_eq!(at_work[1].len(), 5, "no result yet: {at_work:?}");
    subject.answer(1, json!(42)).await?;
    subject.ready("True").await?;
    let short = rows(&world, &["run"]).await?;
    assert_eq!(short[1][..5], ["r", "True", "Ready", "1", "Succeeded"]);
    let wide = rows(&world, &["runnables.carto.run", "-o", "wide"]).await?;
    let more = [
        "RUN NAME",
        "ATTEMPT",
        "WAITING",
        "SUSPEND",
        "TEMPLATE",
        "PROFILE",
        "OUTPUTS FROM",
    ];
    assert_eq!(wide[0][6..], more);
    let (template, name) = (world.template_name(), name_of(&run));
    assert_eq!(wide[1][6..], [name, &template, name]);
    world.accepted(&template).await?;
    let templates = rows(&world, &["crt", &template]).await?;
    assert_eq!(templates[0], ["NAME", "ACCEPTED", "REASON", "AGE"]);
    assert_eq!(templates[1][..3], [template.as_str(), "True", "Accepted"]);
    Ok(())
}

#[tokio::test]
async fn kubectl_get_shows_of_a_profile_for_which_runs_it_is_and_which_runnables_have_it()
-> Result<()> {
    let world = World::new("columns-profile").await?;
    world.template(answers()).await?;
    let (template, name) = (world.template_name(), format!("{}-own", world.namespace));
    let mut profile = json!({
        "apiVersion": "carto.run/v1alpha1", "kind": PROFILE.name, "metadata": { "name": name },
        "spec": { "rules": [{ "templates": [template] }], "description": "of a test" },
    });
    world.put(profile.clone()).await?;
    let accepted = |it: &Value| condition(it, "Accepted")["status"] == "True";
    world
        .observed(PROFILE, &name, "to be accepted", accepted)
        .await?;
    let plain = rows(&world, &["crp", &name]).await?;
    assert_eq!(plain[0], ["NAME", "ACCEPTED", "REASON", "AGE", "RULES"]);
    let rules = json!([{ "templates": [template] }]).to_string();
    assert_eq!(plain[1][..3], [name.as_str(), "True", "Accepted"]);
    assert_eq!(plain[1][4..], [rules.as_str()]);
    let wide = rows(&world, &["crp", &name, "-o", "wide"]).await?;
    assert_eq!(wide[0][4..], ["RULES", "DESCRIPTION"]);
    assert_eq!(wide[1][4..], [rules.as_str(), "of a test"]);

    let spec = json!({ "inputs": { "foo": 1 } });
    let subject = world.runnable("r", spec).await?;
    let is_pinned = |it: &Value| it["status"]["profile"]["name"] == *name;
    subject.until("to be pinned", is_pinned).await?;
    let run = subject.run(1).await?;
    let wide = rows(&world, &["runnables.carto.run", "-o", "wide"]).await?;
    let cells = [name_of(&run), &template, &name];
    assert_eq!(wide[1][5..], cells, "{wide:?}");

    profile["spec"]["description"] = json!("x".repeat(1024));
    world.put(profile.clone()).await?;
    profile["metadata"]["name"] = json!(format!("{name}-long"));
    profile["spec"]["description"] = json!("x".repeat(1025));
    let said = world.refused(&profile).await?;
    assert!(said.contains("spec.description: Too long"), "{said}");
    Ok(())
}

#[tokio::test]
async fn the_category_lists_both_kinds() -> Result<()> {
    let (world, subject) = World::with("category", answers()).await?;
    subject.run(1).await?;
    let listed = rows(&world, &["cartouche", "--no-headers"]).await?;
    for name in [
        "runnable.carto.run/r".to_owned(),
        format!("clusterruntemplate.carto.run/{}", world.template_name()),
    ] {
        assert!(
            listed.iter().any(|row| row.first() == Some(&name)),
            "{name}: {listed:?}"
        );
    }
    Ok(())
}
