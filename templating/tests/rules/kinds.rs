//! The table of kinds: answers to each question for each kind, and agreement with permissions and docs.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    reason = "helpers of tests fail like tests, and values are written in the calls"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use cartouche_crds::Cancellation;
use cartouche_engines::{
    Verdict, add_own_message, built_in_health, is_job,
    kinds::{
        self, Cancel, HealthFrom, KnownKind, OutputSource, PodsOf, StopRequest, Watch,
        asked_to_stop, find_kind, known_fields,
    },
};
use cartouche_language::TERMINATION_MESSAGE;
use cartouche_templating::Template;
use serde::Deserialize;
use serde_json::{Value, json};

fn file(path: &str) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns a version in which the kind is known, and its name: any, if the group has one answer.
fn name(kind: &KnownKind) -> (String, &'static str) {
    let version = kind.version.unwrap_or("v1beta1");
    let api_version = [kind.group, version].join("/");
    (
        api_version.trim_start_matches('/').to_owned(),
        kind.kind.unwrap_or("Whatever"),
    )
}

fn run(kind: &KnownKind, status: Value) -> Value {
    let (api_version, kind) = name(kind);
    json!({ "apiVersion": api_version, "kind": kind, "status": status })
}

fn judged(kind: &KnownKind, status: Value) -> (Verdict, String) {
    let health = built_in_health(&run(kind, status));
    (health.verdict, health.reason)
}

#[test]
fn each_kind_stands_once_and_is_found() {
    let mut names = BTreeSet::new();
    for kind in kinds::all() {
        assert!(names.insert((kind.group, kind.kind)), "{kind:?}");
        let (api_version, kind_name) = name(kind);
        let found = find_kind(&api_version, kind_name).unwrap();
        assert_eq!((found.group, found.kind), (kind.group, kind.kind));
        let is_known = known_fields(&api_version, kind_name).is_some();
        assert_eq!(is_known, kind.version.is_some(), "{kind:?}");
        assert!(known_fields(&api_version.replace("v1", "v0"), kind_name).is_none());
    }
    for (api_version, kind) in [
        ("example.com/v1", "Job"),
        ("batch/v1", "CronJob"),
        ("v1", "Service"),
        ("batch", "Job"),
        ("", ""),
    ] {
        assert!(
            find_kind(api_version, kind).is_none(),
            "{api_version} {kind}"
        );
    }
}

#[test]
fn each_kind_says_when_it_has_succeeded_or_failed() {
    for kind in kinds::all() {
        let condition = |name: &str| json!({ "conditions": [{ "type": name, "status": "True" }] });
        match kind.health {
            HealthFrom::SucceededCondition => {
                assert_eq!(judged(kind, json!({})).0, Verdict::Unknown, "{kind:?}");
                let succeeded = judged(kind, condition("Succeeded"));
                assert_eq!(succeeded.0, Verdict::Succeeded, "{kind:?}");
            }
            HealthFrom::Conditions { reason, decisive } => {
                assert_eq!(judged(kind, json!({})).0, Verdict::Unknown, "{kind:?}");
                for (name, verdict) in decisive {
                    let expected = (*verdict, reason.to_owned());
                    assert_eq!(judged(kind, condition(name)), expected, "{kind:?}");
                }
                for verdict in [Verdict::Succeeded, Verdict::Failed] {
                    assert!(decisive.iter().any(|(_, of)| *of == verdict), "{kind:?}");
                }
            }
            HealthFrom::Phase { reason, failures } => {
                let phase = |phase: &str| judged(kind, json!({ "phase": phase }));
                assert_eq!(phase("").0, Verdict::Unknown, "{kind:?}");
                assert_eq!(
                    phase("Succeeded"),
                    (Verdict::Succeeded, reason.to_owned()),
                    "{kind:?}"
                );
                assert!(!failures.is_empty(), "{kind:?}");
                for failure in failures {
                    assert_eq!(phase(failure).0, Verdict::Failed, "{kind:?}");
                }
            }
            HealthFrom::Existence => {
                assert_eq!(judged(kind, Value::Null).0, Verdict::Succeeded, "{kind:?}");
            }
        }
    }
}

#[test]
fn each_kind_that_works_can_be_stopped_and_has_pods() {
    for kind in kinds::all() {
        let (api_version, kind_name) = name(kind);
        let request = StopRequest::of_kind(&api_version, kind_name);
        match kind.cancel {
            Cancel::Word { field, words } => {
                let patch = request.unwrap().patch(Some("1"), None).unwrap();
                assert_eq!(patch["spec"], json!({ field: words[0] }), "{kind:?}");
                let run = |word: &str| json!({ "apiVersion": api_version, "kind": kind_name, "spec": { field: word } });
                assert!(
                    words.iter().all(|word| asked_to_stop(&run(word))),
                    "{kind:?}"
                );
                assert!(!asked_to_stop(&run("PipelineRunPending")), "{kind:?}");
            }
            Cancel::Deadline { seconds } => {
                let patch = request.unwrap().patch(Some("1"), None).unwrap();
                let spec = json!({ "activeDeadlineSeconds": seconds });
                assert_eq!(patch["spec"], spec, "{kind:?}");
            }
            Cancel::NeverAtWork => {
                assert_eq!(request, None, "{kind:?}");
                assert_eq!(kind.pods, PodsOf::Unknown, "{kind:?}");
                continue;
            }
            // A kind with a name here has been reviewed.
            Cancel::Unknown => {
                assert_eq!((request, kind.kind), (None, None), "{kind:?}");
                continue;
            }
        }
        assert_ne!(kind.health, HealthFrom::Existence, "{kind:?}");
        match kind.pods {
            PodsOf::Itself => assert_eq!((kind.group, kind.kind), ("", Some("Pod"))),
            PodsOf::Labelled(label) => assert!(label.contains('/'), "{kind:?}"),
            PodsOf::Unknown => panic!("{kind:?} works, and nothing tells which pods are its"),
        }
    }
}

#[test]
fn a_request_to_stop_names_the_run_and_is_seen_in_it() {
    let request = StopRequest::of_kind("batch/v1", "Job").unwrap();
    let asked = Cancellation {
        by: "alice".to_owned(),
        ..Cancellation::default()
    };
    let patch = request.patch(Some("7"), Some(&asked)).unwrap();
    assert_eq!(patch["metadata"]["uid"], "7");
    assert_eq!(patch["spec"], json!({ "activeDeadlineSeconds": 1 }));
    let annotations = json!({ "carto.run/cancel-request": r#"{"by":"alice"}"# });
    assert_eq!(patch["metadata"]["annotations"], annotations);
    assert!(request.is_in(&patch));
    for run in [
        json!({ "spec": { "activeDeadlineSeconds": 60 } }),
        json!({ "spec": null }),
        json!({}),
    ] {
        assert!(!request.is_in(&run), "{run}");
    }
}

/// The pods of each kind, to the letter: another label finds nothing, or foreign pods.
#[test]
fn pods_are_found_by_the_labels_of_their_engines() {
    let labels: BTreeMap<_, _> = kinds::all()
        .filter_map(|kind| match kind.pods {
            PodsOf::Labelled(label) => Some((kind.kind?, label)),
            _ => None,
        })
        .collect();
    let expected = [
        ("Job", "batch.kubernetes.io/job-name"),
        ("PipelineRun", "tekton.dev/pipelineRun"),
        ("TaskRun", "tekton.dev/taskRun"),
        ("Workflow", "workflows.argoproj.io/workflow"),
    ];
    assert_eq!(labels, BTreeMap::from(expected));
}

#[test]
fn each_kind_gives_outputs_as_it_says() {
    for kind in kinds::all() {
        let (api_version, kind_name) = name(kind);
        let path = format!(".{TERMINATION_MESSAGE}");
        let spec = json!({
            "template": { "apiVersion": api_version, "kind": kind_name, "metadata": { "generateName": "x-" } },
            "outputs": { "out": path },
        });
        let template = Template::compile(&serde_json::from_value(spec).unwrap()).unwrap();
        let mut run = run(
            kind,
            json!({ "containerStatuses": [{ "state": { "terminated": { "message": "done" } } }] }),
        );
        add_own_message(&mut run);
        let by_itself = matches!(template.outputs(&run), Ok(Some(_)));
        assert_eq!(by_itself, kind.outputs == OutputSource::RunAndItsMessage);
        let by_pods = kind.outputs == OutputSource::RunAndMessageOfPods;
        assert_eq!(is_job(&run), by_pods, "{kind:?}");
        let refused = kind.outputs == OutputSource::Refused;
        assert_eq!(template.warnings().len(), usize::from(refused), "{kind:?}");
        assert_eq!(kinds::holds_secrets(kind_name), refused, "{kind:?}");
        // A kind with termination messages has a restart policy.
        let speaks = kind.outputs.has_termination_message();
        assert_eq!(speaks, kind.restart_policy.is_some(), "{kind:?}");
        // That policy is in the spec of its pod.
        let policy = kind.restart_policy.map(|it| it.pod_spec.join("/"));
        let pod = kind.pod_template.map(|it| format!("{it}/spec"));
        assert_eq!(pod, policy.map(|it| format!("/{it}")), "{kind:?}");
    }
    assert!(!kinds::all().any(|kind| kind.kind == Some("Secret") && kind.is_watched()));
}

#[derive(Deserialize)]
struct Role {
    rules: Vec<RoleRule>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RoleRule {
    api_groups: Vec<String>,
    resources: Vec<String>,
    verbs: Vec<String>,
}

#[test]
fn the_controller_may_watch_what_the_table_says_and_nothing_else() {
    let expected: BTreeSet<_> = kinds::all()
        .filter_map(|kind| match kind.watch {
            Watch::ClusterRole { file, resource } => {
                Some((file.to_owned(), kind.group.to_owned(), resource.to_owned()))
            }
            Watch::Nothing => None,
        })
        .collect();
    let installed = file("config/rbac/kustomization.yaml");
    let mut granted = BTreeSet::new();
    for entry in fs::read_dir(root().join("config/rbac")).unwrap() {
        let file_name = entry.unwrap().file_name().into_string().unwrap();
        if !file_name.starts_with("kinds-") {
            continue;
        }
        assert!(
            installed.contains(&format!("  - {file_name}\n")),
            "{file_name}"
        );
        let role: Role =
            serde_saphyr::from_str(&file(&format!("config/rbac/{file_name}"))).unwrap();
        for rule in role.rules {
            assert_eq!(rule.verbs, ["get", "list", "watch"], "{file_name}");
            for group in &rule.api_groups {
                for resource in &rule.resources {
                    granted.insert((file_name.clone(), group.clone(), resource.clone()));
                }
            }
        }
    }
    assert_eq!(
        granted, expected,
        "granted in config/rbac, and in the table"
    );
}

/// Returns the plural names between two texts of a page.
fn kinds_between(page: &str, begin: &str, end: &str) -> BTreeSet<String> {
    let page = file(page);
    let (_, rest) = page.split_once(begin).unwrap();
    let (sentence, _) = rest.split_once(end).unwrap();
    sentence
        .split(|letter: char| !letter.is_alphanumeric() && letter != '\'')
        .filter(|word| word.starts_with(char::is_uppercase) && !word.contains('\''))
        .map(str::to_owned)
        .collect()
}

#[test]
fn docs_name_the_kinds_that_the_controller_watches() {
    let watched = || kinds::all().filter(|kind| kind.is_watched());
    let plural = |kind: &KnownKind| format!("{}s", kind.kind.unwrap());
    assert_eq!(
        kinds_between("docs/concepts/security.md", "It may watch ", "."),
        watched().map(plural).collect(),
    );
    let runs = watched().filter(|kind| kind.cancel != Cancel::NeverAtWork);
    assert_eq!(
        kinds_between("docs/reference/engines.md", "The controller watches ", ".",),
        runs.map(plural).collect(),
    );
}

#[test]
fn docs_say_when_each_kind_has_succeeded() {
    let templates = file("docs/reference/templates.md");
    let reasons = file("docs/reference/reasons.md");
    for kind in kinds::all() {
        let (words, reason): (Vec<&str>, _) = match kind.health {
            HealthFrom::SucceededCondition => continue,
            HealthFrom::Existence => (vec![], "AlwaysHealthy"),
            HealthFrom::Conditions { reason, decisive } => {
                let ends = decisive.iter().filter(|end| end.1 != Verdict::Unknown);
                (ends.map(|end| end.0).collect(), reason)
            }
            HealthFrom::Phase { reason, failures } => ([&["Succeeded"], failures].concat(), reason),
        };
        assert!(reasons.contains(&format!("`{reason}`")), "{kind:?}");
        let Some(name) = kind.kind else { continue };
        let told = templates.lines().any(|line| {
            let first = line
                .strip_prefix("| ")
                .and_then(|row| row.split(" |").next());
            let is_its = first.is_some_and(|cell| cell.split([' ', ',']).any(|word| word == name));
            is_its && words.iter().all(|word| line.contains(&format!("`{word}`")))
        });
        assert!(told, "docs/reference/templates.md has no row for {kind:?}");
    }
}

#[test]
fn docs_say_how_each_kind_is_stopped() {
    let page = file("docs/reference/lifecycle.md");
    let (_, text) = page.split_once("### How a run is stopped\n").unwrap();
    let (text, _) = text
        .split_once("For a kind that Cartouche does not know")
        .unwrap();
    for kind in kinds::all() {
        let told = match kind.cancel {
            Cancel::Word { field, .. } => format!("spec.{field}"),
            Cancel::Deadline { seconds } => format!("spec.activeDeadlineSeconds: {seconds}"),
            Cancel::NeverAtWork | Cancel::Unknown => continue,
        };
        assert!(text.contains(&told), "{kind:?}");
        assert!(text.contains(kind.kind.unwrap()), "{kind:?}");
    }
}

/// Collects the shipped code outside the table, in files below a folder.
fn shipped(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && name != "tests" && !path.ends_with("engines/src/kinds") {
            shipped(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") && name != "tests.rs" {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            found.push((path.display().to_string(), code.to_owned()));
        }
    }
}

#[test]
fn nothing_else_knows_an_engine_by_its_name() {
    let mut files = Vec::new();
    for member in fs::read_dir(root()).unwrap() {
        let source = member.unwrap().path().join("src");
        // The harness plays engines.
        if source.is_dir() && !source.ends_with("tests/src") {
            shipped(&source, &mut files);
        }
    }
    assert!(files.len() > 100, "{}", files.len());
    // The groups of Pods and of roles contain much besides runs.
    let engines =
        kinds::all().filter(|kind| !matches!(kind.group, "" | "rbac.authorization.k8s.io"));
    for kind in engines {
        let group = kind.group;
        let mut words = vec![format!("\"{group}\""), format!("\"{group}/")];
        words.extend(kind.kind.map(|kind| format!("\"{kind}\"")));
        if let PodsOf::Labelled(label) = kind.pods {
            words.push(format!("\"{label}"));
        }
        for (path, code) in &files {
            for word in &words {
                assert!(
                    !code.contains(word),
                    "{path}: {word} belongs into engines/src/kinds"
                );
            }
        }
    }
}

#[test]
fn a_workflow_that_was_shut_down_has_succeeded_only_if_its_entry_node_has() {
    let judged = |shutdown: &str, status: Value| {
        let health = built_in_health(&json!({
            "apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": { "name": "w" },
            "spec": { "shutdown": shutdown }, "status": status,
        }));
        (health.verdict, health.message)
    };
    let with_nodes = |nodes: Value| json!({ "phase": "Succeeded", "nodes": nodes });
    let node = |name: &str, phase: &str| json!({ name: { "phase": phase } });
    let (verdict, message) = judged("Terminate", with_nodes(json!({})));
    assert_eq!(verdict, Verdict::Failed);
    assert!(message.contains("before its entry node had succeeded"));
    for nodes in [
        Value::Null,
        node("w", "Failed"),
        node("w-1", "Succeeded"),
        json!([]),
    ] {
        let (verdict, _) = judged("Stop", with_nodes(nodes.clone()));
        assert_eq!(verdict, Verdict::Failed, "{nodes}");
    }
    let done = with_nodes(node("w", "Succeeded"));
    assert_eq!(judged("Stop", done).0, Verdict::Succeeded);
    assert_eq!(judged("", with_nodes(json!({}))).0, Verdict::Succeeded);
    // Compressed or offloaded nodes have run.
    for field in ["compressedNodes", "offloadNodeStatusVersion"] {
        let status = json!({ "phase": "Succeeded", field: "x" });
        assert_eq!(judged("Stop", status).0, Verdict::Succeeded);
    }
    let running = json!({ "phase": "Running" });
    assert_eq!(judged("Stop", running).0, Verdict::Unknown);
}
