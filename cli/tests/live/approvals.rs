//! Runs wait for approval, and a user reviews and approves them.

use anyhow::{Context as _, Result, ensure};
use cartouche_tests::{
    cluster::{Account, Seen},
    fixture::current,
    repository,
};
use serde_json::json;

use crate::{
    story::{Story, contains, example_job},
    support,
};

/// Returns a template of the example, and a Runnable of it whose runs need approval.
fn guarded(name: &str) -> Result<String> {
    let example = example_job("guarded", "      template:\n")?;
    // The last spec is that of the Runnable.
    let (before, spec) = example.rsplit_once("\nspec:\n").context(example.clone())?;
    let spec = spec.replace("world", name);
    Ok(format!("{before}\nspec:\n  approval: Manual\n{spec}"))
}

/// Changes the input, and returns the approval that then waits, from the status.
pub(super) async fn greet(story: &Story, name: &str, sequence: i64) -> Result<String> {
    let (cluster, namespace) = (&story.cluster, &story.namespace);
    cluster.apply_yaml(namespace, &guarded(name)?).await?;
    asked(story, "guarded", sequence).await
}

/// Returns the approval of the run with this number that waits, once the controller has seen the last change.
async fn asked(story: &Story, runnable: &str, sequence: i64) -> Result<String> {
    let waits = |runnable: &cartouche_crds::Runnable| {
        let status = runnable.status.as_ref();
        let is_seen =
            status.is_some_and(|it| it.observed_generation == runnable.metadata.generation);
        let pending = status.and_then(|status| status.pending.as_ref());
        is_seen && pending.is_some_and(|it| it.sequence == sequence && it.approval.is_some())
    };
    let runnable = story.until(runnable, "a run that waits", waits).await?;
    let pending = runnable.status.and_then(|status| status.pending);
    let approval = pending.and_then(|pending| pending.approval);
    approval.context("what approves it")
}

pub async fn are_given_to_what_was_shown(story: &Story) -> Result<()> {
    let first = greet(story, "world", 1).await?;
    let parts = [
        "Ready is Unknown (ApprovalRequired)",
        "run 1 needs approval",
        "the API server would accept it (dry run ",
        "to do: `cartouche approve guarded -n cartouche-examples`",
        "no run yet",
    ];
    story.why_says("guarded", &parts).await?;
    let why = story.json(&["why", "guarded", "-o", "json"])?;
    ensure!(why["pending"]["approval"] == first, "{why}");
    story.says(&["get", "guarded"], &["ApprovalRequired"])?;
    let alone = story.cartouche(&["approve", "guarded"]);
    ensure!(alone.code == 2, "{}{}", alone.out, alone.err);
    let exactly = format!("`cartouche approve guarded --approval {first} -n cartouche-examples`");
    let parts = [
        "+ kind: Job\n",
        "without a terminal the command cannot ask you",
        &exactly,
    ];
    contains(&alone.err, &parts)?;
    let wait = ["wait", "guarded", "--timeout", "3s"];
    let told =
        "guarded: run 1 needs approval (`cartouche approve guarded -n cartouche-examples`)\n";
    story.warns(&wait, 1, told)?;

    let approved = story.json(&["approve", "--all", "--yes", "-o", "json"])?;
    ensure!(
        approved[0]["approval"] == first && approved[0]["approved"] == true,
        "{approved}"
    );
    story.says(&["wait", "guarded", "--timeout", "2m"], &["ready"])?;
    let nothing = "nothing to approve: run 1 of guarded matches the rendered object";
    story.says(&["approve", "guarded"], &[nothing])?;
    let none = "runs of hello need no approval";
    story.says(&["approve", "hello"], &[none])?;
    changes_are_looked_at_anew(story).await
}

/// A user has reviewed a run, and then its input changes.
async fn changes_are_looked_at_anew(story: &Story) -> Result<()> {
    let seen = greet(story, "moon", 2).await?;
    let now = greet(story, "mars", 2).await?;
    ensure!(seen != now, "{seen}");
    let late = ["approve", "guarded", "--approval", &seen];
    let refused =
        format!("{seen} is not the run of guarded that waits by its status, which is {now}");
    story.warns(&late, 2, &refused)?;
    let approved = story.cartouche(&["approve", "guarded", "--yes"]);
    let shown = "\
Runnable cartouche-examples/guarded:
- spec.template.spec.containers[0].command[1]: \"Hello, world!\"
+ spec.template.spec.containers[0].command[1]: \"Hello, mars!\"
this would be run 2 (";
    ensure!(
        approved.code == 0 && approved.err.starts_with(shown),
        "{}",
        approved.err
    );
    ensure!(
        approved.out == format!("run 2 of guarded is approved: {now}\n"),
        "{}",
        approved.out
    );
    let second = |it: &_| current(it).is_some_and(|run| run.sequence == 2);
    story.until("guarded", "a second run", second).await?;
    story.says(&["wait", "guarded", "--timeout", "2m"], &["ready"])?;

    // An approval does not hold for a run that is requested later.
    story.well(&["rerun", "guarded", "--token", "again"])?;
    let waits = ["run 3 needs approval", "is for run 2"];
    story.why_says("guarded", &waits).await?;
    story.well(&["suspend", "guarded"])?;
    let held = ["Ready is Unknown (Suspended)"];
    story.why_says("guarded", &held).await?;
    story.says(
        &["approve", "guarded", "--yes"],
        &["waits for approval once you resume it"],
    )?;
    story.well(&["resume", "guarded"])?;
    may_be_a_right_of_its_own(story).await
}

/// A user who edits Runnables, and sees what they are rendered from.
const EDITOR: &str = r"
apiVersion: v1
kind: ServiceAccount
metadata: { name: editor }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: approvals-editor }
rules:
  - { apiGroups: [carto.run], resources: [runnables, clusterruntemplates], verbs: [get, list, patch] }
  - { apiGroups: [batch], resources: [jobs], verbs: [get, list] }
  - { apiGroups: [''], resources: [configmaps], verbs: [get] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: approvals-editor }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: approvals-editor }
subjects: [{ kind: ServiceAccount, name: editor, namespace: cartouche-examples }]
";

/// With `config/approval`, a user who may edit gets the name of the right that is missing to approve, and can approve
/// with it.
async fn may_be_a_right_of_its_own(story: &Story) -> Result<()> {
    let (cluster, namespace) = (&story.cluster, &story.namespace);
    story.apply(EDITOR).await?;
    cluster
        .apply_kustomization(&repository().join("config/approval"))
        .await?;
    let editor = Account::new(namespace, "editor");
    let user = editor.user();
    let annotate = [
        "annotate",
        "runnable",
        "guarded",
        "carto.run/approved=probe",
        "--overwrite",
        "--dry-run=server",
        "--namespace",
        namespace,
        "--as",
        &user,
    ];
    story
        .eventually("the policy to be in force", || async {
            Ok(match cluster.kubectl(&annotate).await {
                Err(error) if format!("{error:#}").contains("you may not approve") => {
                    Seen::Done(())
                }
                said => Seen::NotYet(format!("{said:?}")),
            })
        })
        .await?;
    let kubeconfig = cluster.kubeconfig_of(&editor).await?;
    let as_editor = |arguments: &[&str]| {
        let mut command = story.command(arguments);
        support::finish(command.env("KUBECONFIG", &kubeconfig))
    };
    let approve = || as_editor(&["approve", "guarded", "--yes"]);
    let denied = approve();
    let parts = [
        "approving run 3 of guarded: ",
        "you may not approve runs: ",
        "hint: ask for the permission `update` on `runnables/approval` in this namespace",
    ];
    ensure!(
        denied.code == 2,
        "{}: {}{}",
        denied.code,
        denied.out,
        denied.err
    );
    contains(&denied.err, &parts)?;
    story.says(&["history", "guarded"], &["2"])?;
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": { "name": "approver" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cartouche-approver" },
        "subjects": [{ "kind": "ServiceAccount", "name": "editor", "namespace": namespace }],
    });
    story.apply(&binding.to_string()).await?;
    story
        .eventually("the right to approve", || async {
            let said = approve();
            Ok(match said.code {
                0 => Seen::Done(()),
                _ => Seen::NotYet(said.err),
            })
        })
        .await?;
    let third = |it: &_| current(it).is_some_and(|run| run.sequence == 3);
    story.until("guarded", "a third run", third).await?;
    need_no_right_to_secrets(story, as_editor).await
}

/// A run that depends on a Secret, and waits for approval.
const SEALED: &str = r"
apiVersion: v1
kind: Secret
metadata: { name: db }
stringData: { pin: '1234' }
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: sealed }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: sealed }
rules:
  - { apiGroups: [''], resources: [secrets], resourceNames: [db], verbs: [get, watch] }
  - { apiGroups: [''], resources: [configmaps], verbs: [get, list, create, delete] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: sealed }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: sealed }
subjects: [{ kind: ServiceAccount, name: sealed, namespace: cartouche-examples }]
---
apiVersion: carto.run/v1alpha1
kind: ClusterRunTemplate
metadata: { name: sealed }
spec:
  approval: Manual
  healthRule: { alwaysHealthy: {} }
  template:
    apiVersion: v1
    kind: ConfigMap
    metadata: { generateName: sealed- }
    data: { from: $(runnable.spec.inputs.pin.name)$ }
---
apiVersion: carto.run/v1alpha1
kind: Runnable
metadata: { name: sealed }
spec:
  runTemplateRef: { name: sealed }
  serviceAccountName: sealed
  inputsFrom: [{ name: pin, secretKeyRef: { name: db, key: pin } }]
";

/// A user who may approve, and may not read what the hash depends on, relies on the status, and the command says so.
async fn need_no_right_to_secrets(
    story: &Story,
    as_editor: impl Fn(&[&str]) -> support::Output,
) -> Result<()> {
    story.apply(SEALED).await?;
    let first = asked(story, "sealed", 1).await?;
    let refused = as_editor(&["approve", "sealed", "--yes"]);
    let parts = [
        "you may not read the Secret db, so it is unknown if it has changed",
        "nothing is approved",
        "`cartouche approve sealed --unverified -n cartouche-examples`",
    ];
    ensure!(refused.code == 2, "{}{}", refused.out, refused.err);
    contains(&refused.err, &parts)?;
    let approved = as_editor(&["approve", "sealed", "--unverified", "--yes"]);
    let told = format!("run 1 of sealed is approved: {first} (not verified)\n");
    ensure!(approved.out == told, "{}{}", approved.out, approved.err);
    let not = format!("not verified: by the status, {first} waits for approval");
    contains(&approved.err, &["+   from: db\n", &not])?;
    story.says(&["wait", "sealed", "--timeout", "2m"], &["ready"])?;

    // Only the Secret changes, so that nothing of the next run is to be seen.
    let patch = r#"{"stringData":{"pin":"4321"}}"#;
    let namespace = story.namespace.as_str();
    let change = ["patch", "secret", "db", "-p", patch, "-n", namespace];
    story.cluster.kubectl(&change).await?;
    let second = asked(story, "sealed", 2).await?;
    let all = ["approve", "--all", "--unverified", "--yes", "-o", "json"];
    let all = as_editor(&all);
    let answers: serde_json::Value = serde_json::from_str(&all.out).context(all.err.clone())?;
    ensure!(
        answers[0]["approval"] == second && answers[0]["unverified"] == json!(["db"]),
        "{answers}"
    );
    let is_second = |it: &_| current(it).is_some_and(|run| run.sequence == 2);
    story.until("sealed", "a second run", is_second).await?;
    Ok(())
}
