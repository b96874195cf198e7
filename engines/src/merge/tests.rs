#![allow(
    clippy::needless_pass_by_value,
    reason = "values are written in the calls"
)]

mod properties;

use serde_json::json;

use super::*;

fn pod(spec: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "x" }, "spec": spec })
}

fn job(spec: Value) -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": "x" },
        "spec": { "backoffLimit": 0, "template": { "spec": spec } },
    })
}

/// Merges into the pod of a Job.
fn merged(spec: Value, patch: Value) -> Value {
    let patch = json!({ "spec": patch });
    assert_eq!(check(&patch), []);
    let mut document = job(spec);
    merge(&mut document, &patch).unwrap();
    document["spec"]["template"]["spec"].clone()
}

/// Returns the parts that do not fit, by path.
fn misfits(spec: Value, patch: Value) -> Vec<String> {
    let patch = json!({ "spec": patch });
    assert_eq!(check(&patch), []);
    let problems = merge(&mut job(spec), &patch).unwrap_err();
    problems.iter().map(ToString::to_string).collect()
}

/// Returns the problems of a pod template, by path.
fn wrong(pod_template: Value) -> Vec<String> {
    check(&pod_template)
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn lists_whose_elements_have_names_are_merged_by_these_and_others_are_replaced() {
    let spec = json!({
        "containers": [{
            "name": "a", "image": "i", "args": ["1", "2"], "env": [{ "name": "A", "value": "1" }, { "name": "B", "value": "2" }],
            "volumeMounts": [{ "name": "v", "mountPath": "/v" }, { "name": "v", "mountPath": "/w", "subPath": "w" }],
            "ports": [{ "containerPort": 80, "name": "http" }], "volumeDevices": [{ "name": "d", "devicePath": "/d" }],
        }],
        "volumes": [{ "name": "v", "emptyDir": {} }], "imagePullSecrets": [{ "name": "s" }],
        "hostAliases": [{ "ip": "1.1.1.1", "hostnames": ["a", "b"] }],
        "topologySpreadConstraints": [{ "topologyKey": "zone", "maxSkew": 1 }],
        "tolerations": [{ "key": "a" }], "nodeSelector": { "a": "b" },
    });
    let patch = json!({
        "containers": [{
            "name": "a", "image": "j", "args": ["3"], "env": [{ "name": "B", "value": "3" }],
            "volumeMounts": [{ "mountPath": "/w", "readOnly": true }], "ports": [{ "containerPort": 80, "hostPort": 8080 }],
            "volumeDevices": [{ "devicePath": "/d", "name": "e" }],
        }],
        "volumes": [{ "name": "v", "emptyDir": { "medium": "Memory" } }], "imagePullSecrets": [{ "name": "s" }],
        "hostAliases": [{ "ip": "1.1.1.1", "hostnames": ["c"] }],
        "topologySpreadConstraints": [{ "topologyKey": "zone", "maxSkew": 2 }],
        "tolerations": [{ "key": "b" }], "nodeSelector": { "c": "d" }, "serviceAccountName": "deployer",
    });
    assert_eq!(
        merged(spec, patch),
        json!({
            "containers": [{
                "name": "a", "image": "j", "args": ["3"], "env": [{ "name": "A", "value": "1" }, { "name": "B", "value": "3" }],
                "volumeMounts": [
                    { "name": "v", "mountPath": "/v" }, { "name": "v", "mountPath": "/w", "subPath": "w", "readOnly": true },
                ],
                "ports": [{ "containerPort": 80, "name": "http", "hostPort": 8080 }],
                "volumeDevices": [{ "name": "e", "devicePath": "/d" }],
            }],
            "volumes": [{ "name": "v", "emptyDir": { "medium": "Memory" } }], "imagePullSecrets": [{ "name": "s" }],
            "hostAliases": [{ "ip": "1.1.1.1", "hostnames": ["c"] }],
            "topologySpreadConstraints": [{ "topologyKey": "zone", "maxSkew": 2 }],
            "tolerations": [{ "key": "b" }], "nodeSelector": { "a": "b", "c": "d" }, "serviceAccountName": "deployer",
        })
    );
}

#[test]
fn null_takes_away_and_leaves_nothing_where_nothing_was() {
    let spec = json!({ "containers": [{ "name": "a", "env": [{ "name": "A", "value": "1" }], "tty": true }], "tolerations": [] });
    let patch = json!({
        "containers": [{ "name": "a", "tty": null, "env": [{ "name": "A", "value": null, "valueFrom": { "x": "y", "z": null } }] }],
        "tolerations": null, "affinity": { "nodeAffinity": null }, "hostname": null, "volumes": null,
    });
    assert_eq!(
        merged(spec, patch),
        json!({ "containers": [{ "name": "a", "env": [{ "name": "A", "valueFrom": { "x": "y" } }] }], "affinity": {} })
    );
}

#[test]
fn what_is_new_stands_in_front_and_the_order_of_the_profile_counts() {
    let named =
        |names: &[&str]| -> Value { names.iter().map(|name| json!({ "name": name })).collect() };
    for (run, profile, expected) in [
        (vec!["a", "b"], vec!["c"], vec!["c", "a", "b"]),
        (vec!["a", "b"], vec!["b", "c"], vec!["a", "b", "c"]),
        (vec!["a", "b", "c"], vec!["c", "a"], vec!["b", "c", "a"]),
        (vec![], vec!["b", "a"], vec!["b", "a"]),
    ] {
        let spec = json!({ "containers": [], "volumes": named(&run) });
        let merged = merged(spec, json!({ "volumes": named(&profile) }));
        assert_eq!(merged["volumes"], named(&expected), "{run:?} {profile:?}");
    }
}

#[test]
fn a_star_stands_for_each_container_and_for_none_where_there_are_none() {
    let spec = json!({ "containers": [{ "name": "b" }, { "name": "a", "image": "i" }] });
    let each = json!([{ "name": "*", "image": "j", "env": [{ "name": "A" }] }]);
    assert_eq!(
        merged(spec, json!({ "containers": each, "initContainers": each })),
        json!({ "containers": [
            { "name": "b", "image": "j", "env": [{ "name": "A" }] }, { "name": "a", "image": "j", "env": [{ "name": "A" }] },
        ] })
    );
}

#[test]
fn what_is_for_each_container_comes_before_what_is_for_one_wherever_it_stands() {
    let spec =
        json!({ "containers": [{ "name": "b", "image": "i" }, { "name": "a", "image": "i" }] });
    let each = json!({ "name": "*", "image": "j", "env": [{ "name": "A", "value": "1" }] });
    let one = json!({ "name": "a", "image": "k", "env": [{ "name": "B", "value": "2" }] });
    for patch in [json!([each, one]), json!([one, each])] {
        assert_eq!(
            merged(spec.clone(), json!({ "containers": patch }))["containers"],
            json!([
                { "name": "b", "image": "j", "env": [{ "name": "A", "value": "1" }] },
                { "name": "a", "image": "k", "env": [{ "name": "B", "value": "2" }, { "name": "A", "value": "1" }] },
            ])
        );
    }
    let misspelt = json!({ "containers": [each, { "name": "c" }] });
    let said = "podTemplate.spec.containers[1].name: the run has no such container 'c': name one that it has: b, a";
    assert_eq!(misfits(spec, misspelt), [said]);
}

#[test]
fn a_container_that_the_run_does_not_have_is_an_error_and_all_are_told_at_once() {
    let spec = json!({ "containers": [{ "name": "build" }, { "name": "push" }] });
    let patch = json!({
        "containers": [{ "name": "push" }, { "name": "biuld" }, { "name": "x" }],
        "initContainers": [{ "name": "fetch", "image": "i" }],
    });
    assert_eq!(
        misfits(spec, patch),
        [
            "podTemplate.spec.containers[1].name: the run has no such container 'biuld': name one that it has: build, push",
            "podTemplate.spec.containers[2].name: the run has no such container 'x': name one that it has: build, push",
            "podTemplate.spec.initContainers[0].name: the run has no such container 'fetch'",
        ]
    );
}

#[test]
fn a_name_that_leads_to_several_elements_is_an_error() {
    let ports = json!([{ "containerPort": 53, "protocol": "TCP" }, { "containerPort": 53, "protocol": "UDP" }]);
    let spec = json!({ "containers": [{ "name": "a", "ports": ports }] });
    let patch = json!({ "containers": [{ "name": "a", "ports": [{ "containerPort": 53, "hostPort": 5353 }] }] });
    assert_eq!(
        misfits(spec, patch),
        [
            "podTemplate.spec.containers[0].ports[0].containerPort: the run has several here whose containerPort is 53"
        ]
    );
}

#[test]
fn labels_and_annotations_of_pods_are_merged_into_jobs_and_pods_alike() {
    let patch = json!({ "metadata": { "labels": { "a": "b" }, "annotations": { "c": "d" } } });
    assert_eq!(check(&patch), []);
    let mut of_job = job(json!({}));
    merge(&mut of_job, &patch).unwrap();
    assert_eq!(of_job["spec"]["template"]["metadata"], patch["metadata"]);
    assert_eq!(of_job["metadata"], json!({ "name": "x" }));
    let mut of_pod = pod(json!({}));
    merge(&mut of_pod, &patch).unwrap();
    assert_eq!(
        of_pod["metadata"],
        json!({ "name": "x", "labels": { "a": "b" }, "annotations": { "c": "d" } })
    );
}

#[test]
fn other_kinds_stay_as_they_are_and_a_job_without_a_pod_is_an_error() {
    let patch = json!({ "spec": { "containers": [{ "name": "x" }] } });
    for kind in [
        "tekton.dev/v1 TaskRun",
        "v1 ConfigMap",
        "batch/v1beta1 Job",
        "example.com/v1 Pod",
    ] {
        let (api_version, kind) = kind.split_once(' ').unwrap();
        let document =
            json!({ "apiVersion": api_version, "kind": kind, "spec": { "template": {} } });
        let mut merged = document.clone();
        merge(&mut merged, &patch).unwrap();
        assert_eq!(merged, document);
    }
    let mut document = json!({ "apiVersion": "batch/v1", "kind": "Job", "spec": {} });
    assert_eq!(
        merge(&mut document, &patch).unwrap_err().to_string(),
        "podTemplate: the run has no pod to merge it into"
    );
}

#[test]
fn what_a_profile_may_not_say_of_pods_is_told_at_once_and_by_path() {
    let own = "keys of carto.run are set by Cartouche: use a key of your own";
    let metadata =
        "a profile sets labels and annotations of pods, and nothing else of their metadata";
    let expected = [
        (
            "podTemplate.kind",
            "there is no such field: a pod template has metadata and spec",
        ),
        (
            "podTemplate.metadata.annotations['carto.run/input-hash']",
            own,
        ),
        ("podTemplate.metadata.annotations.z", "it is not a string"),
        ("podTemplate.metadata.finalizers", metadata),
        ("podTemplate.metadata.labels['carto.run/x']", own),
        ("podTemplate.metadata.name", metadata),
        ("podTemplate.metadata.namespace", metadata),
        ("podTemplate.metadata.ownerReferences", metadata),
    ];
    let expected: Vec<_> = expected
        .iter()
        .map(|(path, what)| format!("{path}: {what}"))
        .collect();
    let metadata = json!({
        "name": "x", "namespace": "x", "ownerReferences": [], "finalizers": [],
        "labels": { "carto.run/x": "x", "carto.run.example.com/x": "x" }, "annotations": { "carto.run/input-hash": "x", "z": 1 },
    });
    assert_eq!(
        wrong(json!({ "metadata": metadata, "kind": "Pod" })),
        expected
    );
}

#[test]
fn lists_that_cannot_be_merged_are_told_at_once_and_by_path() {
    let spec = json!({
        "containers": [
            { "image": "i" }, { "name": "a", "env": [{ "name": "A" }, { "name": "A" }, "B"], "$patch": "delete" },
            { "name": "*", "ports": [{ "containerPort": null }] }, { "name": "a", "volumeMounts": { "name": "v" } },
        ],
        "initContainers": null, "volumes": { "name": "v" }, "$setElementOrder/volumes": [],
    });
    let directive = "directives of kubectl are not supported: null removes a field, and lists without names are replaced";
    let at = |path: &str, what: &str| format!("podTemplate.spec.{path}: {what}");
    assert_eq!(
        wrong(json!({ "spec": spec })),
        [
            at("$setElementOrder/volumes", directive),
            at(
                "containers[0]",
                "it has no name, which identifies the element that it is merged into"
            ),
            at("containers[1].$patch", directive),
            at("containers[1].env[1].name", "it occurs here twice"),
            at("containers[1].env[2]", "it is not an object"),
            at(
                "containers[2].ports[0]",
                "it has no containerPort, which identifies the element that it is merged into"
            ),
            at("containers[3].name", "it occurs here twice"),
            at("containers[3].volumeMounts", "it is not a list"),
            at(
                "initContainers",
                "it is not a list of containers; a profile can change containers, but not add or remove them"
            ),
            at("volumes", "it is not a list"),
        ]
    );
}

#[test]
fn what_is_no_object_where_one_has_to_be_is_told() {
    let wrong = |pod_template| super::check(&pod_template)[0].to_string();
    for (pod_template, path) in [
        (json!(1), "podTemplate"),
        (json!({ "spec": null }), "podTemplate.spec"),
        (json!({ "metadata": [] }), "podTemplate.metadata"),
        (
            json!({ "metadata": { "labels": "a" } }),
            "podTemplate.metadata.labels",
        ),
    ] {
        assert_eq!(wrong(pod_template), format!("{path}: it is not an object"));
    }
}

#[test]
fn a_star_is_copied_into_no_more_containers_than_a_run_may_weigh() {
    let spec = |containers: usize| {
        let containers = (0..containers).map(|at| json!({ "name": format!("c{at}") }));
        json!({ "containers": containers.collect::<Value>() })
    };
    let each = |env: usize| {
        let env: Value = (0..env)
            .map(|at| json!({ "name": format!("E{at}") }))
            .collect();
        json!({ "containers": [{ "name": "*", "env": env }] })
    };
    let said = misfits(spec(1_000), each(20));
    let [said] = said.as_slice() else {
        panic!("{said:?}");
    };
    let begins =
        "podTemplate.spec.containers[0]: in each of the 1000 containers of the run it takes ";
    assert!(said.starts_with(begins), "{said}");
    let fits = merged(spec(1_000), each(0));
    assert_eq!(
        fits["containers"][999],
        json!({ "name": "c999", "env": [] })
    );
    assert_eq!(
        misfits(spec(1_001), each(0)),
        ["podTemplate.spec.containers[0]: the run has 1001 containers, more than 1000"]
    );
}

#[test]
fn of_many_containers_a_message_names_the_first() {
    let containers: Value = (0..22)
        .map(|at| json!({ "name": format!("c{at}") }))
        .collect();
    let said = misfits(
        json!({ "containers": containers }),
        json!({ "containers": [{ "name": "x" }] }),
    );
    assert!(said[0].ends_with(", c19 and 2 more"), "{said:?}");
}
