//! The rules that `rbac` prints are those that an account needs: with them a Runnable gives its outputs, and nothing is
//! refused; without a part of them, it does not.

use std::{collections::BTreeSet, fs};

use anyhow::{Context as _, Result, ensure};
use cartouche_tests::{
    cluster::{Account, Seen},
    repository,
};
use serde_json::{Value, json};

use crate::{
    story::{Story, contains},
    support,
};

/// Jobs whose termination messages are the outputs, and an object to select.
const TEMPLATE: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: { name: topic, labels: { example.com/topic: "yes" } }
data: { word: hello }
---
apiVersion: carto.run/v1alpha1
kind: ClusterRunTemplate
metadata: { name: speak }
spec:
  template:
    apiVersion: batch/v1
    kind: Job
    metadata: { generateName: $(runnable.metadata.name)$- }
    spec:
      template:
        metadata: { annotations: { play.carto.run/message: '{"said": "$(selected.data.word)$"}' } }
        spec:
          restartPolicy: Never
          containers: [{ name: work, image: busybox }]
  outputs: { said: .terminationMessage.said }
"#;

fn runnable(account: &str) -> String {
    json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
        "metadata": { "name": account },
        "spec": {
            "serviceAccountName": account, "runTemplateRef": { "name": "speak" },
            "selector": {
                "resource": { "apiVersion": "v1", "kind": "ConfigMap" },
                "matchingLabels": { "example.com/topic": "yes" },
            },
        },
    })
    .to_string()
}

/// Returns verb and resource of everything that a printed list grants.
fn granted(list: &Value) -> BTreeSet<(String, String)> {
    let rules = list["items"][0]["rules"].as_array();
    let mut granted = BTreeSet::new();
    for rule in rules.into_iter().flatten() {
        let (group, plural) = (&rule["apiGroups"][0], &rule["resources"][0]);
        let name = [plural, group]
            .map(|it| it.as_str().unwrap_or_default())
            .join(".");
        let verbs = rule["verbs"].as_array().into_iter().flatten();
        let verbs = verbs.filter_map(Value::as_str);
        granted.extend(verbs.map(|verb| (verb.to_owned(), name.trim_end_matches('.').to_owned())));
    }
    granted
}

/// Returns the same list without one verb of one resource.
fn without(list: &Value, verb: &str, plural: &str) -> Value {
    let mut list = list.clone();
    for rule in list["items"][0]["rules"]
        .as_array_mut()
        .into_iter()
        .flatten()
    {
        if rule["resources"][0] == plural
            && let Some(verbs) = rule["verbs"].as_array_mut()
        {
            verbs.retain(|it| it != verb);
        }
    }
    if let Some(rules) = list["items"][0]["rules"].as_array_mut() {
        rules.retain(|rule| rule["verbs"] != json!([]));
    }
    list
}

impl Story {
    pub async fn apply(&self, manifests: &str) -> Result<()> {
        self.cluster.apply_yaml(&self.namespace, manifests).await?;
        Ok(())
    }

    /// Creates an account without rights, and returns what `rbac` prints for it.
    async fn account(&self, name: &str) -> Result<Value> {
        let account = json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": name },
        });
        self.apply(&account.to_string()).await?;
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("runnable.yaml");
        fs::write(&file, runnable(name))?;
        let file = file.to_str().context("a path of text")?;
        self.json(&["rbac", "-r", file, "-o", "json"])
    }
}

/// With the printed role a Runnable succeeds, and uses each granted permission.
pub async fn are_enough_and_no_more(story: &Story) -> Result<()> {
    story.apply(TEMPLATE).await?;
    let list = story.account("speaker").await?;
    let check = ["rbac", "speak", "--account", "speaker", "--check"];
    let missing = story.cartouche(&check);
    ensure!(missing.code == 1, "{}{}", missing.out, missing.err);
    for part in [
        "list jobs.batch",
        "create jobs.batch",
        "delete jobs.batch",
        "list pods",
    ] {
        ensure!(missing.out.contains(part), "{part}: {}", missing.out);
    }
    let asked = story.cartouche(&[&check[..], &["-o", "json"]].concat());
    let asked: Value = serde_json::from_str(&asked.out)?;
    let allowed = asked["rights"].as_array().into_iter().flatten();
    ensure!(allowed.clone().count() == 5, "{asked}");
    ensure!(allowed.clone().all(|it| it["allowed"] == false), "{asked}");
    story.apply(&list.to_string()).await?;
    story
        .eventually("the role to hold", || async {
            let now = story.cartouche(&check);
            Ok(match now.code {
                0 => Seen::Done(()),
                _ => Seen::NotYet(now.out + &now.err),
            })
        })
        .await?;
    let audit = story.cluster.audit()?;
    story.apply(&runnable("speaker")).await?;
    story.says(&["wait", "speaker", "--timeout", "2m"], &["ready"])?;
    ensure!(story.well(&["outputs", "speaker", "said"])? == "hello\n");
    let account = Account::new(&story.namespace, "speaker").user();
    let mut used = BTreeSet::new();
    for event in audit.in_namespace(&story.namespace)? {
        if event.acting_as() == account {
            ensure!(event.code() != 403, "{} {}", event.verb, event.request_uri);
            used.insert((event.verb.clone(), event.resource()));
        }
    }
    let mut granted = granted(&list);
    // Nothing is old enough to be removed.
    ensure!(granted.remove(&("delete".to_owned(), "jobs.batch".to_owned())));
    ensure!(used == granted, "used: {used:?}, granted: {granted:?}");
    Ok(())
}

/// A missing part is reported.
pub async fn are_needed_in_every_part(story: &Story) -> Result<()> {
    let parts = [
        ("list", "jobs"),
        ("create", "jobs"),
        ("list", "configmaps"),
        ("list", "pods"),
    ];
    let name = |(verb, plural): (&str, &str)| format!("no-{verb}-{plural}");
    for part in parts.into_iter().chain([("get", "jobs")]) {
        let name = name(part);
        let list = without(&story.account(&name).await?, part.0, part.1);
        story.apply(&list.to_string()).await?;
        story.apply(&runnable(&name)).await?;
    }
    for part in parts {
        let name = name(part);
        let why = ["why", &name];
        story
            .eventually(&format!("{name} to be reported"), || async {
                let said = story.well(&why)?;
                let refused = ["cannot", "may not"].iter().any(|not| {
                    let (verb, plural) = part;
                    said.contains(&format!("{not} {verb} {plural}"))
                        || said.contains(&format!("{not} {verb} resource \"{plural}\""))
                });
                Ok(if refused {
                    Seen::Done(())
                } else {
                    Seen::NotYet(said)
                })
            })
            .await?;
        let outputs = story.cartouche(&["outputs", &name, "said"]);
        ensure!(outputs.code != 0, "{name}: {}", outputs.out);
    }
    // The run succeeds all the same, and the command says so.
    let job = "has succeeded, but its outputs cannot be read yet: ServiceAccount";
    let told = |said: &str| contains(said, &["OutputsUnread", job]);
    story.soon(&["history", "no-list-pods"], told).await?;
    story.says(&["why", "no-list-pods"], &["OutputsUnread", job])?;
    story.says(&["cancel", "no-list-pods"], &["nothing to stop"])?;
    // A run is found by a list where it may not be read alone: that verb only saves work.
    story.says(&["wait", "no-get-jobs", "--timeout", "2m"], &["ready"])
}

/// A template that makes a `ConfigMap`, for a selected object in no namespace.
const OF_THE_CLUSTER: &str = r"
apiVersion: carto.run/v1alpha1
kind: ClusterRunTemplate
metadata: { name: note }
spec:
  template:
    apiVersion: v1
    kind: ConfigMap
    metadata: { generateName: $(runnable.metadata.name)$- }
    data: { seen: $(selected.metadata.name)$ }
  outputs: { seen: .data.seen }
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: far }
---
apiVersion: carto.run/v1alpha1
kind: Runnable
metadata: { name: far }
spec:
  serviceAccountName: far
  runTemplateRef: { name: note }
  selector:
    resource: { apiVersion: v1, kind: Namespace }
    matchingLabels: { kubernetes.io/metadata.name: kube-system }
";

/// A selected object may be in no namespace: then a role of the cluster is needed.
pub async fn reach_beyond_the_namespace(story: &Story) -> Result<()> {
    story.apply(OF_THE_CLUSTER).await?;
    let printed = story.well(&["rbac", "-r", "far"])?;
    ensure!(printed.contains("kind: ClusterRoleBinding"), "{printed}");
    story.apply(&printed).await?;
    story.says(&["wait", "far", "--timeout", "2m"], &["ready"])?;
    ensure!(story.well(&["outputs", "far", "seen"])? == "kube-system\n");
    story.says(
        &["rbac", "-r", "far", "--check"],
        &["may do all that it needs"],
    )
}

/// A user who may not ask about other accounts gets that answer.
pub async fn may_not_be_asked_for_by_everybody(story: &Story) -> Result<()> {
    let mut check = support::command(
        &repository(),
        &[
            "rbac",
            "-f",
            "examples/job",
            "--check",
            "--namespace",
            &story.namespace,
        ],
    );
    let account = Account::new(&story.namespace, "speaker");
    let kubeconfig = story.cluster.kubeconfig_of(&account).await?;
    let asked = support::finish(check.env("KUBECONFIG", kubeconfig));
    ensure!(asked.code == 2, "{}{}", asked.out, asked.err);
    for part in ["subjectaccessreviews", "hint: "] {
        ensure!(asked.err.contains(part), "{}", asked.err);
    }
    Ok(())
}

/// A user who may read Runnables and nothing else.
const VIEWER: &str = r"
apiVersion: v1
kind: ServiceAccount
metadata: { name: viewer }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: viewer }
rules: [{ apiGroups: [carto.run], resources: [runnables], verbs: [get, list] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: viewer }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: viewer }
subjects: [{ kind: ServiceAccount, name: viewer }]
";

/// A user who may not read everything that a Runnable is made from sees the rest, and the name of the missing
/// permission.
pub async fn hide_no_more_than_they_must(story: &Story) -> Result<()> {
    story.says(&["tree", "speaker"], &["selects ConfigMap topic with "])?;
    story.apply(VIEWER).await?;
    let account = Account::new(&story.namespace, "viewer");
    let kubeconfig = story.cluster.kubeconfig_of(&account).await?;
    let arguments = ["tree", "speaker", "--namespace", &story.namespace];
    let tree = || {
        let mut command = support::command(&repository(), &arguments);
        support::finish(command.env("KUBECONFIG", &kubeconfig))
    };
    let seen = story
        .eventually("the viewer's role to hold", || async {
            let seen = tree();
            Ok(match seen.code {
                0 => Seen::Done(seen),
                _ => Seen::NotYet(seen.err),
            })
        })
        .await?;
    let parts = [
        "Runnable speaker  True Ready",
        "ClusterRunTemplate speak (not seen: reading ClusterRunTemplate speak needs a permission that you lack: ",
        "the ClusterRole cartouche-templates-view has it)",
        "selects ConfigMap with ",
        "cannot list resource \"configmaps\"",
        "runs: 1",
        "said: \"hello\"",
    ];
    contains(&seen.out, &parts)
}
