//! A tenant's and an approver's day, with only the roles that are shipped, each bound in one namespace: first without
//! the component that lets everyone read templates, and then with it.

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use cartouche_tests::{
    cluster::{Account, Seen},
    fixture::current,
    repository,
};
use serde_json::{Value, json};

use crate::{
    approvals::greet,
    interventions::endless,
    story::{Story, contains},
    support::{self, Output},
};

/// The right that every command without access to the template names.
const RIGHT: &str = "a permission that you lack: the ClusterRole cartouche-templates-view has it";

/// A Runnable whose account may make no Jobs.
const POOR: &str = r"
apiVersion: carto.run/v1alpha1
kind: Runnable
metadata: { name: poor }
spec:
  runTemplateRef: { name: greet }
  inputs: { name: world }
";

/// An account with one role in the namespace, and the commands that it calls.
struct Person<'a> {
    story: &'a Story,
    user: String,
    kubeconfig: PathBuf,
}

impl<'a> Person<'a> {
    async fn with_role(story: &'a Story, name: &str, role: &str) -> Result<Self> {
        let namespace = &story.namespace;
        let account = story.cluster.service_account(namespace, name, &[]).await?;
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": { "name": format!("{name}-of-the-test") },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role },
            "subjects": [{ "kind": "ServiceAccount", "name": name, "namespace": namespace }],
        });
        story.apply(&binding.to_string()).await?;
        let person = Self {
            story,
            user: Account::user(&account),
            kubeconfig: story.cluster.kubeconfig_of(&account).await?,
        };
        person.until(&["get"], 0).await?;
        Ok(person)
    }

    /// Calls a command and returns its output.
    fn calls(&self, arguments: &[&str]) -> Output {
        let mut command = self.story.command(arguments);
        support::finish(command.env("KUBECONFIG", &self.kubeconfig))
    }

    /// Waits until a command ends with this code: a binding takes effect a moment later.
    async fn until(&self, arguments: &[&str], code: i32) -> Result<()> {
        let what = format!("{arguments:?} to end with {code} for {}", self.user);
        let called = || async {
            let Output { out, err, code: is } = self.calls(arguments);
            Ok(if is == code {
                Seen::Done(())
            } else {
                Seen::NotYet(format!("{is}: {out}{err}"))
            })
        };
        self.story.eventually(&what, called).await
    }

    /// Fails unless the command ends so, and has printed all of this. Returns its output.
    fn gets(&self, arguments: &[&str], code: i32, parts: &[&str]) -> Result<String> {
        let Output { out, err, code: is } = self.calls(arguments);
        let all = format!("{arguments:?}: {is}\n{out}{err}");
        ensure!(is == code, "{all}");
        contains(&all, parts)?;
        Ok(all)
    }

    /// Waits until a command prints all of this.
    async fn comes_to(&self, arguments: &[&str], parts: &[&str]) -> Result<()> {
        let called = || async {
            Ok(match contains(&self.calls(arguments).out, parts) {
                Ok(()) => Seen::Done(()),
                Err(error) => Seen::NotYet(format!("{error:#}")),
            })
        };
        let what = format!("{arguments:?}");
        self.story.eventually(&what, called).await
    }

    /// Fails unless the command succeeds, and mentions no missing right to read templates.
    fn gets_all(&self, arguments: &[&str], parts: &[&str]) -> Result<()> {
        let all = self.gets(arguments, 0, parts)?;
        ensure!(!all.contains("cartouche-templates-view"), "{all}");
        Ok(())
    }

    /// Applies a manifest with its own rights.
    async fn applies(&self, manifest: &str) -> Result<()> {
        let namespace = self.story.namespace.as_str();
        let apply = ["-n", namespace, "--as", &self.user, "apply", "-f", "-"];
        let cluster = &self.story.cluster;
        cluster.kubectl_with_input(&apply, manifest).await.map(drop)
    }
}

pub async fn live_a_day(story: &Story) -> Result<()> {
    let approval = repository().join("config/approval");
    story.cluster.apply_kustomization(&approval).await?;
    story.says(&["wait", "hello", "--timeout", "2m"], &["ready"])?;
    story.apply(&endless()?).await?;
    let first = greet(story, "world", 1).await?;
    let tenant = Person::with_role(story, "tenant", "edit").await?;
    let approver = Person::with_role(story, "approver", "cartouche-approver").await?;
    a_tenant_without_templates(&tenant).await?;
    an_approver_without_templates(&approver, &first)?;

    story.apply(&component(story).await?.to_string()).await?;
    tenant.until(&["explain", "greet"], 0).await?;
    a_tenant_with_templates(&tenant)?;
    an_approver_with_templates(&approver).await
}

/// The part of `config/default` that lets everyone read templates.
async fn component(story: &Story) -> Result<Value> {
    let folder = repository().join("config/default");
    let folder = folder.to_str().context("a path of text")?;
    let all = story.cluster.kubectl(&["kustomize", folder]).await?;
    let all: Vec<Value> = serde_saphyr::from_multiple(&all)?;
    let wanted = |it: &Value| {
        it["kind"] == "ClusterRoleBinding" && it["metadata"]["name"] == "cartouche-templates-view"
    };
    all.into_iter().find(wanted).context("the component")
}

async fn a_tenant_without_templates(tenant: &Person<'_>) -> Result<()> {
    tenant.gets(&["get", "hello"], 0, &["True"])?;
    tenant.gets(&["history", "hello"], 0, &["Succeeded"])?;
    tenant.gets(&["outputs", "hello", "pods"], 0, &["1"])?;
    tenant.gets(&["graph"], 0, &[])?;
    let seen = format!("(not seen: reading ClusterRunTemplate greet needs {RIGHT})");
    tenant.gets(&["tree", "hello"], 0, &[&seen, "runs: 1"])?;
    let next = format!("the next run is unknown: reading ClusterRunTemplate greet needs {RIGHT}");
    tenant.gets(&["why", "hello"], 0, &["run 1: Job hello", &next])?;
    tenant.gets(&["why", "hello", "-o", "json"], 0, &["\"notSeen\"", RIGHT])?;

    let with_file = "`cartouche explain -f FILE`";
    tenant.gets(&["explain", "greet"], 2, &[RIGHT, with_file])?;
    tenant.gets(&["explain", "-f", "examples/job"], 0, &["name"])?;
    let by_status = "by its status, no run is pending, and run 1 is Succeeded";
    let with_file = "`cartouche diff hello --template FILE -n cartouche-examples`";
    tenant.gets(&["diff", "hello"], 2, &[RIGHT, by_status, with_file])?;
    let with_file = ["diff", "hello", "--template", "examples/job/template.yaml"];
    tenant.gets(&with_file, 0, &["nothing to run: run 1 is the same"])?;
    let pinned = "hello: pinned to no profile";
    tenant.gets(&["profile", "which", "hello"], 2, &[pinned, RIGHT])?;
    let role = [
        "kind: Role\n",
        "- jobs\n",
        "# reading ClusterRunTemplate greet needs ",
        "name: cartouche:greeter:all:",
    ];
    tenant.gets(&["rbac", "-r", "hello"], 2, &role)?;
    may_not_ask_about_others(tenant)?;
    tenant.gets(&["migrate", "check"], 0, &["unknown", RIGHT])?;
    tenant.comes_to(&["why", "endless"], &["Running"]).await?;
    let stopped = ["run 1 of endless then counts as failed", RIGHT];
    tenant.gets(&["cancel", "endless"], 0, &stopped)?;
    tenant.gets(&["suspend", "hello"], 0, &[])?;
    tenant.gets(&["resume", "hello"], 0, &[])?;

    // It names the obstacle to the run, and the right that is needed to look further.
    tenant.applies(POOR).await?;
    let parts = [
        "to do: with the ClusterRole cartouche-templates-view, which you lack: ",
        "`cartouche rbac --runnable poor --namespace cartouche-examples` prints the Role",
    ];
    tenant.comes_to(&["why", "poor"], &parts).await?;
    // Without a run the ledger knows nothing of its kind.
    let with_file = "`cartouche rbac -f FILE`";
    tenant.gets(&["rbac", "-r", "poor"], 2, &[RIGHT, with_file])?;
    // A user who edits Runnables cannot approve if that is a right of its own.
    let approve = ["approve", "guarded", "--unverified", "--yes"];
    tenant.gets(&approve, 2, &["`update` on `runnables/approval`"])?;
    Ok(())
}

/// Questions about other accounts, which take a right of their own and no template.
fn may_not_ask_about_others(tenant: &Person<'_>) -> Result<()> {
    let parts = [
        "you may not create subjectaccessreviews.authorization.k8s.io",
        "hint: the ClusterRole system:auth-delegator allows it",
    ];
    let said = tenant.gets(&["rbac", "-r", "hello", "--check"], 2, &parts)?;
    ensure!(!said.contains("cartouche-templates-view"), "{said}");
    Ok(())
}

fn a_tenant_with_templates(tenant: &Person<'_>) -> Result<()> {
    tenant.gets_all(&["explain", "greet", "name"], &["name"])?;
    tenant.gets_all(&["rbac", "-r", "hello"], &["kind: Role\n", "- pods\n"])?;
    may_not_ask_about_others(tenant)?;
    tenant.gets_all(&["diff", "hello"], &["nothing to run: run 1 is the same"])?;
    let none = "hello: no profile: none matches, and none is needed";
    tenant.gets_all(&["profile", "which", "hello"], &[none])?;
    tenant.gets_all(&["tree", "hello"], &["ClusterRunTemplate greet (accepted)"])?;
    tenant.gets_all(
        &["why", "hello"],
        &["nothing to run: run 1 matches the rendered object"],
    )?;
    let rbac =
        "`cartouche rbac --runnable poor --namespace cartouche-examples` prints the Role to apply";
    tenant.gets_all(&["why", "poor"], &[rbac])?;
    tenant.gets_all(&["migrate", "check"], &[])?;
    tenant.gets_all(&["cancel", "hello"], &["has already ended"])
}

fn an_approver_without_templates(approver: &Person<'_>, first: &str) -> Result<()> {
    let to_do = "to do: `cartouche approve guarded --unverified -n cartouche-examples` approves the run in the status";
    let waits = "run 1 needs approval";
    approver.gets(&["why", "guarded"], 0, &[waits, to_do])?;
    let by_status = "by its status, run 1 is pending: ApprovalRequired";
    approver.gets(&["diff", "guarded"], 2, &[RIGHT, by_status])?;
    let none = "nothing to approve: by its status, hello does not wait for approval";
    approver.gets(&["approve", "hello"], 0, &[none])?;
    let unverified = "`cartouche approve guarded --unverified -n cartouche-examples`";
    approver.gets(&["approve", "guarded", "--yes"], 2, &[RIGHT, unverified])?;
    let said = format!("not verified: by the status, {first} waits for approval");
    let shown = ["+ approval: Manual\n", &said, "would be approved"];
    let dry_run = ["approve", "guarded", "--unverified", "--dry-run"];
    approver.gets(&dry_run, 0, &shown)?;
    let done = format!("run 1 of guarded is approved: {first} (not verified)");
    let approve = ["approve", "--all", "--unverified", "--yes"];
    approver.gets(&approve, 0, &[&done])?;
    approver.gets(&["wait", "guarded", "--timeout", "2m"], 0, &["ready"])?;
    Ok(())
}

async fn an_approver_with_templates(approver: &Person<'_>) -> Result<()> {
    let second = greet(approver.story, "mars", 2).await?;
    // The last run is a Job, which this role does not read.
    let unread = "reading Job guarded-";
    let parts = [
        "Hello, mars!",
        unread,
        ": all of the run is shown",
        "this would be run 2",
    ];
    approver.gets(&["diff", "guarded"], 1, &parts)?;
    let alone = "without a terminal the command cannot ask you";
    approver.gets(&["approve", "guarded"], 2, &["Hello, mars!", alone])?;
    let done = format!("run 2 of guarded is approved: {second}\n");
    approver.gets_all(&["approve", "guarded", "--yes"], &["Hello, mars!", &done])?;
    let begun = |it: &_| current(it).is_some_and(|run| run.sequence == 2);
    approver
        .story
        .until("guarded", "a second run", begun)
        .await?;
    approver.gets_all(&["wait", "guarded", "--timeout", "2m"], &["ready"])?;
    let because = "the rendered object differs from run 1 (reading Job guarded-";
    approver.gets_all(&["why", "guarded"], &[because, "so the fields are unknown"])
}
