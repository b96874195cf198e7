//! A profile's patch of pods is merged as `kubectl patch --type strategic` merges it.
//!
//! Pods and patches on which the two differ on purpose do not occur here: containers that the run does not
//! have, names that appear twice in a list, `*`, directives such as `$patch`, and the removal of all labels
//! or annotations at once. The API server drops the nulls that kubectl leaves, so nulls do not count.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use cartouche_language::RunFacts;
use cartouche_templating::{Context, Profile, Template};
use cartouche_tests::{
    control_plane::{Part, Parts},
    progress::Progress,
};
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};
use serde_json::{Map, Value, json};

use crate::DEMO;

/// Number of pods and patches: kubectl is started for each.
const CASES: u32 = 64;

type Field = (&'static str, Option<Value>);

fn object(fields: impl IntoIterator<Item = Field>) -> Value {
    let given = fields
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(given.collect())
}

/// Draws a field that is missing, null (in patches), or one of these.
fn one_of(nulls: bool, values: impl IntoIterator<Item = Value>) -> BoxedStrategy<Option<Value>> {
    let values: Vec<Value> = values.into_iter().collect();
    let some = prop::sample::select(values).prop_map(Some);
    let nulls = u32::from(nulls);
    prop_oneof![2 => Just(None), nulls => Just(Some(Value::Null)), 3 => some].boxed()
}

/// Draws a list of elements with some of these keys, each at most once and in any order, and with some
/// fields.
fn list(
    nulls: bool,
    key: &'static str,
    keys: Vec<Value>,
    element: BoxedStrategy<Value>,
) -> BoxedStrategy<Option<Value>> {
    let count = 0..=keys.len();
    let elements = prop::collection::vec(element, keys.len());
    let keys = Just(keys).prop_shuffle();
    let list = (keys, elements, count).prop_map(move |(keys, elements, count)| {
        let named = keys.into_iter().zip(elements).take(count);
        let named = named.map(|(name, mut element)| {
            element[key] = name;
            element
        });
        Some(named.collect())
    });
    let nulls = u32::from(nulls);
    prop_oneof![1 => Just(None), nulls => Just(Some(Value::Null)), 4 => list].boxed()
}

fn texts<const N: usize>(texts: [&str; N]) -> Vec<Value> {
    texts.map(Value::from).to_vec()
}

fn container(nulls: bool) -> BoxedStrategy<Value> {
    let one_of = |values: Vec<Value>| one_of(nulls, values);
    let env = (
        one_of(texts(["1", "2"])),
        one_of(vec![
            json!({ "fieldRef": { "fieldPath": "metadata.name" } }),
            json!({ "secretKeyRef": { "name": "s", "key": "k" } }),
        ]),
    );
    let env = env.prop_map(|(value, from)| object([("value", value), ("valueFrom", from)]));
    let port = (
        one_of(texts(["http", "dns"])),
        one_of(vec![json!(8080), json!(9090)]),
    );
    let port = port.prop_map(|(name, host)| object([("name", name), ("hostPort", host)]));
    let mount = (
        one_of(texts(["u", "v"])),
        one_of(vec![json!(true)]),
        one_of(texts(["x"])),
    );
    let mount = mount.prop_map(|(name, read_only, sub_path)| {
        object([
            ("name", name),
            ("readOnly", read_only),
            ("subPath", sub_path),
        ])
    });
    let device = one_of(texts(["u", "v"])).prop_map(|name| object([("name", name)]));
    let lists = (
        list(nulls, "name", texts(["A", "B", "C"]), env.boxed()),
        list(
            nulls,
            "containerPort",
            vec![json!(53), json!(80)],
            port.boxed(),
        ),
        list(nulls, "mountPath", texts(["/a", "/b", "/c"]), mount.boxed()),
        list(nulls, "devicePath", texts(["/d", "/e"]), device.boxed()),
    );
    let others = (
        one_of(texts(["i", "j"])),
        one_of(vec![json!([]), json!(["1", "2"]), json!(["3"])]),
        one_of(vec![
            json!([{ "configMapRef": { "name": "a" } }]),
            json!([{ "secretRef": { "name": "b" } }]),
        ]),
        one_of(vec![
            json!({ "limits": { "cpu": "1" }, "claims": [{ "name": "a" }] }),
            json!({ "limits": { "memory": "1Gi", "cpu": "2" }, "claims": [{ "name": "b" }] }),
        ]),
        one_of(vec![
            json!({ "runAsUser": 1, "capabilities": { "add": ["A"] } }),
            json!({ "capabilities": { "add": ["B"], "drop": ["ALL"] } }),
        ]),
        one_of(vec![
            json!({ "httpGet": { "port": 80, "httpHeaders": [{ "name": "a", "value": "1" }] } }),
            json!({ "httpGet": { "path": "/", "httpHeaders": [{ "name": "b", "value": "2" }] } }),
        ]),
    );
    let made = (lists, others).prop_map(|((env, ports, mounts, devices), others)| {
        let (image, args, env_from, resources, security, probe) = others;
        object([
            ("env", env),
            ("ports", ports),
            ("volumeMounts", mounts),
            ("volumeDevices", devices),
            ("image", image),
            ("args", args),
            ("envFrom", env_from),
            ("resources", resources),
            ("securityContext", security),
            ("livenessProbe", probe),
        ])
    });
    made.boxed()
}

fn pod(nulls: bool) -> BoxedStrategy<Value> {
    let one_of = |values: Vec<Value>| one_of(nulls, values);
    let volume = (
        one_of(vec![json!({}), json!({ "medium": "Memory" })]),
        one_of(vec![
            json!({ "name": "c", "items": [{ "key": "a", "path": "a" }] }),
            json!({ "items": [{ "key": "b", "path": "b" }] }),
        ]),
    );
    let volume =
        volume.prop_map(|(empty, config)| object([("emptyDir", empty), ("configMap", config)]));
    let alias = one_of(vec![json!(["a"]), json!(["b", "c"])]);
    let alias = alias.prop_map(|names| object([("hostnames", names)]));
    let spread = (
        one_of(vec![json!(1), json!(2)]),
        one_of(vec![json!({ "matchLabels": { "a": "b" } })]),
    );
    let spread =
        spread.prop_map(|(skew, labels)| object([("maxSkew", skew), ("labelSelector", labels)]));
    let empty = || Just(json!({})).boxed();
    let claim = one_of(texts(["x", "y"])).prop_map(|name| object([("resourceClaimName", name)]));
    let lists = (
        // Containers are never removed.
        list(false, "name", texts(["a", "b", "c"]), container(nulls)),
        list(false, "name", texts(["s", "t"]), container(nulls)),
        list(nulls, "name", texts(["u", "v", "w"]), volume.boxed()),
        list(nulls, "name", texts(["p", "q"]), empty()),
        list(nulls, "ip", texts(["1.1.1.1", "2.2.2.2"]), alias.boxed()),
        list(
            nulls,
            "topologyKey",
            texts(["zone", "host"]),
            spread.boxed(),
        ),
        list(nulls, "name", texts(["c", "d"]), claim.boxed()),
        list(nulls, "name", texts(["g", "h"]), empty()),
    );
    let others = (
        one_of(vec![
            json!([{ "key": "a", "operator": "Exists" }]),
            json!([{ "key": "b" }, { "key": "c" }]),
        ]),
        one_of(vec![json!({ "a": "b" }), json!({ "a": "c", "d": "e" })]),
        one_of(vec![
            json!({ "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": [] } } }),
            json!({ "podAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [{ "topologyKey": "a" }] } }),
        ]),
        one_of(vec![
            json!({ "supplementalGroups": [1], "fsGroup": 1 }),
            json!({ "supplementalGroups": [2, 3] }),
        ]),
        one_of(vec![
            json!({ "options": [{ "name": "a" }] }),
            json!({ "options": [{ "name": "b" }], "nameservers": ["1.1.1.1"] }),
        ]),
        one_of(texts(["deployer", "default"])),
    );
    let texts = (
        self::one_of(false, [json!({ "a": "b" }), json!({ "a": "c", "d": "e" })]),
        self::one_of(false, [json!({ "x": "y" })]),
    );
    let made = (lists, others, texts).prop_map(|(lists, others, (labels, annotations))| {
        let (containers, init, volumes, secrets, aliases, spread, claims, gates) = lists;
        let (tolerations, selector, affinity, security, dns, account) = others;
        let spec = object([
            ("containers", containers),
            ("initContainers", init),
            ("volumes", volumes),
            ("imagePullSecrets", secrets),
            ("hostAliases", aliases),
            ("topologySpreadConstraints", spread),
            ("resourceClaims", claims),
            ("schedulingGates", gates),
            ("tolerations", tolerations),
            ("nodeSelector", selector),
            ("affinity", affinity),
            ("securityContext", security),
            ("dnsConfig", dns),
            ("serviceAccountName", account),
        ]);
        json!({ "metadata": object([("labels", labels), ("annotations", annotations)]), "spec": spec })
    });
    made.boxed()
}

/// Returns a patch without containers that the pod does not have.
fn for_pod(mut patch: Value, pod: &Value) -> Value {
    for field in ["containers", "initContainers"] {
        let names: Vec<Value> = elements(&pod["spec"][field])
            .map(|it| it["name"].clone())
            .collect();
        let spec = patch["spec"].as_object_mut().unwrap();
        if let Some(Value::Array(containers)) = spec.get_mut(field) {
            containers.retain(|it| names.contains(&it["name"]));
            // An empty list counts as none for Cartouche, and as a list for kubectl.
            if containers.is_empty() {
                spec.remove(field);
            }
        }
    }
    patch
}

fn elements(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// Returns the run that has this pod, and the patch of the run for a patch of the pod.
fn run(is_job: bool, mut pod: Value, patch: &Value) -> (Value, Value) {
    if is_job {
        let run = json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": "x" }, "spec": { "backoffLimit": 0, "template": pod },
        });
        return (run, json!({ "spec": { "template": patch } }));
    }
    pod["apiVersion"] = "v1".into();
    pod["kind"] = "Pod".into();
    pod["metadata"]["name"] = "x".into();
    (pod, patch.clone())
}

fn merged_by_kubectl(kubectl: &Path, run: &Value, patch: &Value, folder: &Path) -> Value {
    let file = folder.join("run.json");
    std::fs::write(&file, run.to_string()).unwrap();
    let output = Command::new(kubectl)
        .args([
            "patch",
            "--local",
            "--type",
            "strategic",
            "-o",
            "json",
            "-p",
        ])
        .arg(patch.to_string())
        .arg("-f")
        .arg(&file)
        .env("HOME", folder)
        .env("KUBECONFIG", folder.join("none"))
        .stderr(Stdio::inherit())
        .output()
        .expect("kubectl starts");
    assert!(output.status.success(), "kubectl merges {patch} into {run}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn merged_by_us(run: &Value, patch: &Value) -> Value {
    let spec = serde_json::from_value(json!({ "template": run })).unwrap();
    let runnable = json!({ "metadata": { "name": "r", "namespace": "n" }, "spec": { "runTemplateRef": { "name": "t" } } });
    let context = Context::new(&runnable, None).unwrap();
    let rendered = Template::compile(&spec).unwrap().render(&context).unwrap();
    let profile = serde_json::from_value(json!({ "podTemplate": patch })).unwrap();
    let facts = RunFacts {
        name: "x",
        sequence: 1,
        input_hash: rendered.input_hash(),
        rerun_token: None,
    };
    let profile = Profile::compile(&profile).unwrap();
    let made = profile.apply(&rendered, &context, &facts).unwrap();
    made.document().clone()
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.iter().filter(|(_, value)| !value.is_null());
            let kept: Map<String, Value> = kept
                .map(|(key, value)| (key.clone(), without_nulls(value)))
                .collect();
            kept.into()
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

#[test]
fn pods_are_merged_as_kubectl_merges_them() {
    let parts = Parts::prepare(Path::new(DEMO), &[Part::Kubectl], Progress::for_stderr()).unwrap();
    let kubectl = parts.path(Part::Kubectl).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut runner = TestRunner::new(Config {
        cases: CASES,
        failure_persistence: None,
        ..Config::default()
    });
    let tried = runner.run(
        &(any::<bool>(), pod(false), pod(true)),
        |(is_job, pod, patch)| {
            let patch = for_pod(patch, &pod);
            let (run, of_run) = run(is_job, pod, &patch);
            let expected = merged_by_kubectl(kubectl, &run, &of_run, folder.path());
            prop_assert_eq!(
                without_nulls(&merged_by_us(&run, &patch)),
                without_nulls(&expected)
            );
            Ok(())
        },
    );
    tried.unwrap();
}
