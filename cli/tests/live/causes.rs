//! The causes of runs: those that `why` and `diff` name, distinguish and leave out. And the objects that outputs are
//! written to.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use cartouche_crds::Runnable;
use cartouche_tests::fixture::current;

use crate::story::{Story, contains};

/// A template that reads all that only a run has. Its output is sensitive.
const TEMPLATE: &str = r#"
apiVersion: carto.run/v1alpha1
kind: ClusterRunTemplate
metadata: {name: told}
spec:
  runner:
    context: true
    args:
      seed: $(runnable.spec.inputs.seed)$
      run: $(run.name)$
      number: $(run.sequence)$
      odd: $(runnable.spec.inputs.odd)$
    files:
      - path: /cfg/main.tf
        text: |
          # made by $(run.name)$
          seed = $(runnable.spec.inputs.seed)$
  template:
    apiVersion: batch/v1
    kind: Job
    metadata: {generateName: told-, labels: {token: s3cr3t-value}}
    spec:
      backoffLimit: 0
      template:
        spec:
          restartPolicy: Never
          containers:
            - name: told
              image: docker.io/library/busybox:1.37
              env:
                - {name: RUN, value: $(run.name)$}
                - {name: NUMBER, value: "number $(run.sequence)$"}
                - {name: TOKEN, valueFrom: {secretKeyRef: $(runnable.spec.inputs.token)$}}
  outputs: {token: .metadata.labels.token}
  sensitiveOutputs: [token]
"#;

fn profile(team: &str) -> String {
    format!(
        "
apiVersion: carto.run/v1alpha1
kind: ClusterRunProfile
metadata: {{name: told}}
spec:
  rules: [{{templates: [told]}}]
  podTemplate:
    metadata: {{labels: {{team: {team}}}}}
    spec: {{containers: [{{name: told, env: [{{name: TEAM, value: {team} of $(run.name)$}}]}}]}}
"
    )
}

fn runnable(seed: u32) -> String {
    format!(
        "
apiVersion: carto.run/v1alpha1
kind: Runnable
metadata: {{name: told, namespace: cartouche-examples}}
spec:
  runTemplateRef: {{name: told}}
  serviceAccountName: teller
  inputs:
    seed: {seed}
    odd: [1_000.5, 0_820, 18446744073709551615, !!timestamp 2024-01-02]
  inputsFrom: [{{name: token, secretKeyRef: {{name: told-by, key: token}}}}]
  writeOutputsTo: [{{kind: Secret, name: told-to}}]
"
    )
}

fn secret(token: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Secret, metadata: {{name: told-by}}, stringData: {{token: {token}}}}}"
    )
}

/// Waits until the run of this number has succeeded.
async fn succeeds(story: &Story, sequence: i64) -> Result<()> {
    let is_there =
        |it: &_| current(it).is_some_and(|run| run.sequence == sequence && run.result.is_some());
    story.until("told", "the run", is_there).await?;
    story.well(&["wait", "told", "--timeout", "2m"]).map(drop)
}

/// Fails if one of these stands in a text.
fn lacks(text: &str, parts: &[&str]) -> Result<()> {
    for part in parts {
        ensure!(!text.contains(part), "'{part}' is in:\n{text}");
    }
    Ok(())
}

/// Parts that only a run has, or that a profile merges.
const NO_CAUSES: [&str; 6] = [
    "env[",
    "runner-context",
    "context.yaml",
    "number",
    "labels",
    "told-",
];

pub(super) async fn are_those_that_make_runs(story: &Story) -> Result<()> {
    let (cluster, namespace) = (&story.cluster, &story.namespace);
    for text in [TEMPLATE, &profile("blue"), &secret("first"), &runnable(1)] {
        cluster.apply_yaml(namespace, text).await?;
    }
    // All that is needed is printed: the account, too.
    let rbac = story.well(&["rbac", "-r", "told"])?;
    contains(
        &rbac,
        &["kind: ServiceAccount", "name: teller", "kind: Role\n"],
    )?;
    cluster.apply_yaml(namespace, &rbac).await?;
    succeeds(story, 1).await?;
    lacks(
        &story.well(&["rbac", "-r", "told"])?,
        &["kind: ServiceAccount\nmetadata"],
    )?;
    sensitive_outputs(story)?;
    of_an_input(story).await?;
    of_a_profile(story).await?;
    of_a_secret(story).await?;
    of_what_waits_for_a_person(story).await
}

fn sensitive_outputs(story: &Story) -> Result<()> {
    let told = "the output token is sensitive: it is in the key token of Secret told-to";
    story.warns(&["outputs", "told", "token"], 1, told)?;
    story.warns(&["wait", "told", "--for", "output=token"], 0, told)?;
    story.says(&["get", "told"], &["token in Secret told-to"])?;
    story.says(
        &["tree", "told"],
        &["└── Secret told-to (outputs of run 1)"],
    )
}

/// Shown before and after the input changes.
async fn of_an_input(story: &Story) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("runnable.yaml");
    let edited = path.to_str().context("a path of text")?;
    fs::write(edited, runnable(1))?;
    // It has numbers that kubectl reads in its own way.
    story.says(
        &["diff", "-f", edited],
        &["nothing to run: run 1 is the same"],
    )?;
    fs::write(edited, runnable(2))?;
    let causes = [
        "- /runner/args.yaml: seed: 1",
        "+ /runner/args.yaml: seed: 2",
        "- /cfg/main.tf:2: seed = 1",
        "+ /cfg/main.tf:2: seed = 2",
    ];
    for arguments in [
        &["diff", "told", "-r", edited][..],
        &["diff", "told", "-r", edited, "--server-dry-run"],
        &["diff", edited],
    ] {
        let diff = story.cartouche(arguments);
        ensure!(diff.code == 1, "{arguments:?}: {}{}", diff.out, diff.err);
        contains(&diff.out, &causes)?;
        lacks(&diff.out, &NO_CAUSES)?;
    }
    story
        .cluster
        .apply_yaml(&story.namespace, &runnable(2))
        .await?;
    succeeds(story, 2).await?;
    let why = story.json(&["why", "told", "-o", "json"])?;
    let changes = why["run"]["because"]["changes"].as_array();
    ensure!(changes.context("changes")?.len() == 3, "{why}");
    let why = story.well(&["why", "told"])?;
    contains(&why, &causes)?;
    contains(
        &why,
        &["nothing to run: run 2 matches the rendered object\n"],
    )
}

async fn of_a_profile(story: &Story) -> Result<()> {
    let (cluster, namespace) = (&story.cluster, &story.namespace);
    cluster.apply_yaml(namespace, &profile("red")).await?;
    let diff = story.well(&["diff", "told"])?;
    contains(
        &diff,
        &[
            "only the profile changed: no run",
            "metadata.labels.team: \"red\"",
        ],
    )?;
    cluster.apply_yaml(namespace, &runnable(3)).await?;
    succeeds(story, 3).await?;
    let why = story.well(&["why", "told"])?;
    let apart = "  also differs by the profile (told@1 became told@2), which makes no run: ";
    contains(
        &why,
        &[
            "+ /runner/args.yaml: seed: 3",
            apart,
            "metadata.labels.team, ",
        ],
    )?;
    let causes = why.split(apart).next().unwrap_or_default();
    lacks(causes, &["team", "TEAM", "env["])
}

async fn of_a_secret(story: &Story) -> Result<()> {
    story
        .cluster
        .apply_yaml(&story.namespace, &secret("second"))
        .await?;
    succeeds(story, 4).await?;
    let why = story.well(&["why", "told"])?;
    let named = "made because something that no field shows has changed since run 3:\n    Secret ";
    contains(&why, &[named, "which gives the input token: "])
}

/// The run that a user approves is shown by the lines of its files, as `diff` and `why` show it.
async fn of_what_waits_for_a_person(story: &Story) -> Result<()> {
    let careful = format!("{}  approval: Manual\n", runnable(4));
    story.cluster.apply_yaml(&story.namespace, &careful).await?;
    let waits = |it: &Runnable| {
        let pending = it
            .status
            .as_ref()
            .and_then(|status| status.pending.as_ref());
        pending.is_some_and(|pending| pending.approval.is_some())
    };
    story.until("told", "a run to wait", waits).await?;
    let shown = story.cartouche(&["approve", "told", "--dry-run"]);
    ensure!(shown.code == 0, "{}{}", shown.out, shown.err);
    contains(
        &shown.err,
        &[
            "- /runner/args.yaml: seed: 3",
            "+ /runner/args.yaml: seed: 4",
            "- /cfg/main.tf:2: seed = 3",
            "+ /cfg/main.tf:2: seed = 4",
        ],
    )?;
    let changes = shown.err.split("all of the run:").next();
    lacks(changes.unwrap_or_default(), &NO_CAUSES)?;
    story.well(&["approve", "told", "--yes"])?;
    succeeds(story, 5).await
}
