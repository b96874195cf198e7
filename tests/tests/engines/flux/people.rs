//! Users between Git and a run: approvals, suspended Runnables, tenants, and scripts with variables.

use anyhow::{Context, Result, ensure};
use cartouche_tests::{
    fixture::objects::text,
    kind::{JOB, Kind, RUNNABLE, TEMPLATE},
};
use serde_json::{Value, json};

use super::{
    page,
    stage::{Stage, for_version},
};

const ROLE: Kind = Kind::new("rbac.authorization.k8s.io", "v1", "Role", "roles");
const APPROVED: &str = "carto.run/approved";

/// Returns the spec of a Runnable that runs for a version after an approval.
fn careful(version: &str) -> Value {
    let mut spec = for_version(version);
    spec["approval"] = json!("Manual");
    spec
}

/// Waits until the run of a Runnable for this version asks for an approval, and returns that approval.
async fn asked(stage: &Stage, name: &str, version: &str) -> Result<String> {
    let asks = |it: &Value| {
        it["spec"]["inputs"]["version"] == version
            && it["status"]["observedGeneration"] == it["metadata"]["generation"]
            && it["status"]["pending"]["reason"] == "ApprovalRequired"
    };
    let it = stage.observed(RUNNABLE, name, "to ask", asks).await?;
    Ok(text(&it["status"]["pending"]["approval"]).to_owned())
}

/// Returns the file of a careful Runnable with an approval in it.
fn approved_file(stage: &Stage, version: &str, approval: &str) -> (String, String) {
    let mut manifest = stage.manifest("careful", careful(version));
    manifest["metadata"]["annotations"] = json!({ APPROVED: approval });
    ("careful/careful.yaml".to_owned(), manifest.to_string())
}

#[tokio::test]
#[ignore = "builds Flux: just nightly"]
async fn an_approval_in_git_waits_for_the_timeout_and_one_by_hand_does_not() -> Result<()> {
    let Some(stage) = Stage::set("approval").await? else {
        return Ok(());
    };
    let kustomizations = [("careful", json!({ "timeout": "30s" }))];
    let (record, namespace) = (&stage.record, &stage.namespace);

    // By hand, while Flux waits for the run.
    let files = [stage.file("careful", "careful", careful("v00"))];
    let revision = stage.sync(&files, &kustomizations).await?;
    let approval = asked(&stage, "careful", "v00").await?;
    let annotation = json!({ "metadata": { "annotations": { APPROVED: approval } } });
    stage.patch("careful", annotation.clone()).await?;
    let ready = record.ready(namespace, "careful", &revision).await?;
    let ended = record.ended(namespace, "careful", "v00").await?;
    ensure!(ended < ready, "by hand: ready {ready}, run {ended}");
    for number in 0..3 {
        stage.reconciled("careful", &number.to_string()).await?;
    }
    let it = stage.get(RUNNABLE, "careful").await?;
    ensure!(
        it["metadata"]["annotations"][APPROVED] == annotation["metadata"]["annotations"][APPROVED],
        "Flux has taken the approval away: {it:#}"
    );

    // In Git, pushed while Flux waits for the very run.
    let files = [stage.file("careful", "careful", careful("v01"))];
    let revision = stage.push(&files).await?;
    let approval = asked(&stage, "careful", "v01").await?;
    let files = [approved_file(&stage, "v01", &approval)];
    let approving = stage.push(&files).await?;
    let failed = record.failed(namespace, "careful", &revision, "HealthCheckFailed");
    let failed = failed.await?;
    let applied = record.first("the approval to be applied", |it| {
        it.is(RUNNABLE, namespace, "careful")
            && it.object["metadata"]["annotations"][APPROVED] == approval.as_str()
    });
    let applied = applied.await?;
    ensure!(failed < applied, "applied {applied}, timeout {failed}");
    let ready = record.ready(namespace, "careful", &approving).await?;
    let ended = record.ended(namespace, "careful", "v01").await?;
    ensure!(ended < ready, "in Git: ready {ready}, run {ended}");
    stage.has_run_once_each(&["careful"], &["v00".to_owned(), "v01".to_owned()])?;
    println!("an approval by hand: no timeout; in Git: applied after the timeout; one run each");
    Ok(())
}

/// Returns the page's expressions, with which Flux considers a Runnable done that waits for a user for one of
/// these reasons.
fn expressions(reasons: &[&str]) -> Value {
    let ready = "status.conditions.exists(e, e.type == 'Ready'";
    let reasons = reasons.iter().map(|it| format!(" || e.reason == '{it}'"));
    let reconciling = "status.conditions.exists(e, e.type == 'Reconciling' && e.status == 'True')";
    json!({ "timeout": "5m", "healthCheckExprs": [{
        "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
        "inProgress": format!("{ready} && e.status == 'True') && {reconciling}"),
        "failed": "status.conditions.exists(e, e.type == 'Stalled' && e.status == 'True')",
        "current": format!("{ready} && (e.status == 'True'{}))", reasons.collect::<String>()),
    }] })
}

#[tokio::test]
#[ignore = "builds Flux: just nightly"]
async fn with_expressions_a_kustomization_is_ready_before_the_approval_and_applies_it_at_once()
-> Result<()> {
    let Some(stage) = Stage::set("expressions").await? else {
        return Ok(());
    };
    let more = expressions(&["Suspended", "ApprovalRequired"]);
    let kustomizations = [("careful", more)];
    let (record, namespace) = (&stage.record, &stage.namespace);
    let files = [stage.file("careful", "careful", careful("v00"))];
    let revision = stage.sync(&files, &kustomizations).await?;
    record.ready(namespace, "careful", &revision).await?;
    let made = stage.audit.creates(namespace, &JOB.audited())?;
    ensure!(made == 0, "{made} runs before the approval");
    let approval = asked(&stage, "careful", "v00").await?;
    let files = [approved_file(&stage, "v00", &approval)];
    let revision = stage.push(&files).await?;
    record.ready(namespace, "careful", &revision).await?;
    record.ended(namespace, "careful", "v00").await?;

    // Suspended, changed, resumed.
    let mut spec = for_version("v01");
    spec["suspend"] = json!(true);
    let revision = stage
        .push(&[stage.file("careful", "careful", spec)])
        .await?;
    record.ready(namespace, "careful", &revision).await?;
    ensure!(record.runs(namespace, "careful", "v01") == 0, "suspended");
    let files = [stage.file("careful", "careful", for_version("v01"))];
    let revision = stage.push(&files).await?;
    record.ready(namespace, "careful", &revision).await?;
    record.ended(namespace, "careful", "v01").await?;
    stage.has_run_once_each(&["careful"], &["v00".to_owned(), "v01".to_owned()])?;
    println!("expressions: ready while it waits for a person, one run each afterwards");
    Ok(())
}

/// Returns the page's account with its Role and `RoleBinding`, and a Runnable that acts as it.
fn of_a_tenant(stage: &Stage, version: &str) -> Result<[(String, String); 2]> {
    let files = page::files()?;
    let account = files
        .into_iter()
        .find(|(name, _)| name.ends_with("account.yaml"));
    let (_, account) = account.context("the page has no account.yaml")?;
    // Kustomize does this where the page's kustomization.yaml names the namespace.
    let subject = "- kind: ServiceAccount\n    name: migrator";
    ensure!(account.contains(subject), "{account}");
    let namespaced = format!("{subject}\n    namespace: {}", stage.namespace);
    let mut spec = for_version(version);
    spec["serviceAccountName"] = json!("migrator");
    Ok([
        (
            "tenant/account.yaml".to_owned(),
            account.replace(subject, &namespaced),
        ),
        stage.file("tenant", "mine", spec),
    ])
}

/// Lets the account `tenant` of the namespace act under a role.
async fn bind(stage: &Stage, kind: &str, role: &str) -> Result<()> {
    let subject = json!({
        "kind": "ServiceAccount", "name": "tenant", "namespace": stage.namespace,
    });
    let group = "rbac.authorization.k8s.io";
    stage
        .put(json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": { "name": format!("tenant-{role}") }, "subjects": [subject],
            "roleRef": { "apiGroup": group, "kind": kind, "name": role },
        }))
        .await
        .map(drop)
}

#[tokio::test]
#[ignore = "builds Flux: just nightly"]
async fn a_tenant_needs_edit_for_runnables_and_bind_for_roles() -> Result<()> {
    let Some(stage) = Stage::set("tenant").await? else {
        return Ok(());
    };
    let (record, namespace) = (&stage.record, &stage.namespace);
    stage.allow("tenant", &[]).await?;
    bind(&stage, "ClusterRole", "edit").await?;
    let as_tenant = json!({ "serviceAccountName": "tenant", "retryInterval": "5s" });
    let kustomizations = [("plain", as_tenant.clone()), ("tenant", as_tenant)];
    let plain = stage.file("plain", "plain", for_version("v00"));
    let [account, mine] = of_a_tenant(&stage, "v00")?;

    // The right of `edit` is enough for a Runnable, not for a Role.
    let revision = stage.sync(&[plain, account, mine], &kustomizations).await?;
    record.ready(namespace, "plain", &revision).await?;
    let failed = |reason| record.failed(namespace, "tenant", &revision, reason);
    failed("ReconciliationFailed").await?;

    // `admin` may write Roles, but Flux looks for one that does not exist yet.
    bind(&stage, "ClusterRole", "admin").await?;
    for number in 0..3 {
        stage.reconciled("tenant", &number.to_string()).await?;
    }
    let says = record.says(namespace, "tenant");
    ensure!(says.contains("\"migrator\" not found"), "{says}");
    ensure!(stage.find(ROLE, "migrator").await?.is_none(), "a Role");

    let rules = [json!({
        "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["bind"],
    })];
    stage
        .put(json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
            "metadata": { "name": "binder" }, "rules": rules,
        }))
        .await?;
    bind(&stage, "Role", "binder").await?;
    let ready = record.ready(namespace, "tenant", &revision).await?;
    let ended = record.ended(namespace, "mine", "v00").await?;
    ensure!(ended < ready, "ready {ready}, run {ended}");
    stage.has_run_once_each(&["plain", "mine"], &["v00".to_owned()])?;
    println!("a tenant: edit for Runnables, admin alone fails, with bind it is applied");
    Ok(())
}

#[tokio::test]
#[ignore = "builds Flux: just nightly"]
async fn a_script_with_a_variable_fails_its_kustomization_unless_substitution_is_off() -> Result<()>
{
    let Some(stage) = Stage::set("script").await? else {
        return Ok(());
    };
    let (record, namespace) = (&stage.record, &stage.namespace);
    let name = format!("{namespace}-script");
    let script = "echo ${HOME} for $(runnable.spec.inputs.version)$";
    let container = json!({
        "name": "work", "image": "registry.example.com/work", "command": ["sh", "-c", script],
    });
    let template = |annotations: Value| {
        let template = json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunTemplate",
            "metadata": { "name": name, "annotations": annotations },
            "spec": { "template": {
                "apiVersion": "batch/v1", "kind": "Job",
                "metadata": { "generateName": "$(runnable.metadata.name)$-" },
                "spec": { "backoffLimit": 0, "template": {
                    "spec": { "restartPolicy": "Never", "containers": [container] },
                } },
            } },
        });
        [("script/template.yaml".to_owned(), template.to_string())]
    };
    let more = json!({ "postBuild": { "substitute": { "OTHER": "x" } } });
    let revision = stage
        .sync(&template(json!({})), &[("script", more)])
        .await?;
    record
        .failed(namespace, "script", &revision, "BuildFailed")
        .await?;
    let says = record.says(namespace, "script");
    ensure!(says.contains("HOME"), "{says}");

    let off = json!({ "kustomize.toolkit.fluxcd.io/substitute": "disabled" });
    let revision = stage.push(&template(off)).await?;
    record.ready(namespace, "script", &revision).await?;
    let applied = stage.get(TEMPLATE, &name).await?;
    let job = &applied["spec"]["template"]["spec"]["template"]["spec"];
    let said = text(&job["containers"][0]["command"][2]);
    ensure!(said == script, "{said}");
    println!("a script with a variable: BuildFailed, and with the annotation applied as it is");
    Ok(())
}
