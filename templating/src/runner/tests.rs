#![allow(
    clippy::needless_pass_by_value,
    reason = "values are written in the calls"
)]

mod refused;

use cartouche_language::RunFacts;
use serde_json::{Value, json};

use super::*;
use crate::{Profile, Rendered, Template};

const FACTS: RunFacts<'static> = RunFacts {
    name: "x-7",
    sequence: 7,
    input_hash: "h",
    rerun_token: None,
};

fn pod() -> Value {
    json!({
        "containers": [{ "name": "a" }, { "name": "b", "env": [{ "name": "A", "value": "1" }] }],
        "initContainers": [{ "name": "i" }],
    })
}

fn job() -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": { "generateName": "x-" }, "spec": { "template": { "spec": pod() } },
    })
}

fn compile(template: Value, runner: Value) -> Result<Template, Diagnostics> {
    let spec = json!({ "template": template, "runner": runner });
    Template::compile(&serde_json::from_value(spec).unwrap())
}

fn context(inputs: Value) -> Context {
    let runnable = json!({
        "metadata": { "name": "rn", "namespace": "ns", "uid": "u" },
        "spec": { "runTemplateRef": { "name": "t" }, "inputs": inputs },
    });
    Context::new(&runnable, None).unwrap()
}

fn render(template: Value, runner: Value, inputs: Value) -> Result<Rendered, Diagnostics> {
    compile(template, runner)?.render(&context(inputs))
}

/// Returns the annotations of the pod of a run.
fn made(runner: Value, inputs: Value) -> Value {
    let rendered = render(job(), runner, inputs).unwrap();
    let values = json!({ "x": "say \"$(run.name)$\"\n", "list": [1] });
    let made = rendered.fill(&FACTS, Some(&values)).unwrap();
    made.document()["spec"]["template"]["metadata"]["annotations"].clone()
}

fn read(text: &Value) -> Value {
    serde_json::from_str(text.as_str().unwrap()).unwrap()
}

#[test]
fn files_are_annotations_of_the_pod_and_mounted_read_only_into_each_container() {
    let runner = json!({ "context": true, "files": [{ "path": "/config/a.json", "json": { "b": "$(runnable.spec.inputs.c)$" } }] });
    let rendered = render(job(), runner, json!({ "c": [1] })).unwrap();
    let pod = &rendered.document()["spec"]["template"];
    let annotations = &pod["metadata"]["annotations"];
    assert_eq!(annotations["carto.run/runner-args"], r#"{"c":[1]}"#);
    assert_eq!(annotations["carto.run/runner-file-0"], r#"{"b":[1]}"#);
    let item = |path: &str, annotation: &str| json!({ "path": path, "fieldRef": { "fieldPath": format!("metadata.annotations['carto.run/runner-{annotation}']") } });
    let items = [
        item("args", "args"),
        item("context", "context"),
        item("file-0", "file-0"),
    ];
    assert_eq!(
        pod["spec"]["volumes"],
        json!([{ "name": "cartouche-runner", "downwardAPI": { "items": items } }])
    );
    let mount = |path: &str, file: &str| json!({ "name": "cartouche-runner", "mountPath": path, "subPath": file, "readOnly": true });
    let mounts = json!([
        mount("/runner/args.yaml", "args"),
        mount("/runner/context.yaml", "context"),
        mount("/config/a.json", "file-0"),
    ]);
    let variables = [
        json!({ "name": "RUNNER_ARGS_PATH", "value": "/runner/args.yaml" }),
        json!({ "name": "RUNNER_CONTEXT_PATH", "value": "/runner/context.yaml" }),
    ];
    let env = [
        &[json!({ "name": "A", "value": "1" })],
        variables.as_slice(),
    ]
    .concat();
    assert_eq!(
        pod["spec"]["containers"],
        json!([{ "name": "a", "env": variables, "volumeMounts": mounts }, { "name": "b", "env": env, "volumeMounts": mounts }])
    );
    assert_eq!(pod["spec"]["initContainers"], json!([{ "name": "i" }]));
}

#[test]
fn containers_that_are_named_find_the_files_and_no_others() {
    let rendered = render(job(), json!({ "containers": ["i", "b"] }), json!({})).unwrap();
    let spec = &rendered.document()["spec"]["template"]["spec"];
    let has = |container: &Value| container.get("volumeMounts").is_some();
    assert!(has(&spec["initContainers"][0]) && has(&spec["containers"][1]));
    assert!(!has(&spec["containers"][0]));
}

#[test]
fn the_context_is_what_a_runner_of_capact_reads() {
    let runner = json!({ "context": true, "timeout": "$(runnable.spec.inputs.t)$", "dryRun": "$(runnable.spec.inputs.d)$" });
    let annotations = made(runner, json!({ "t": "1h30m", "d": true }));
    let owner = json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "Runnable", "name": "rn", "uid": "u", "blockOwnerDeletion": false, "controller": true,
    });
    let platform = json!({ "namespace": "ns", "serviceAccountName": "default", "ownerRef": owner });
    assert_eq!(
        read(&annotations["carto.run/runner-context"]),
        json!({ "name": "x-7", "dryRun": true, "timeout": "1h30m", "platform": platform })
    );
    let context = read(&made(json!({ "context": true }), json!({}))["carto.run/runner-context"]);
    assert_eq!(
        (&context["dryRun"], &context["timeout"]),
        (&json!(false), &json!("0s"))
    );
    assert_eq!(
        made(json!({}), json!({})).get("carto.run/runner-context"),
        None
    );
}

#[test]
fn the_account_in_the_context_is_that_of_the_pod_and_of_the_profile_before_it() {
    let mut template = job();
    template["spec"]["template"]["spec"]["serviceAccountName"] = "builder".into();
    let rendered = render(template, json!({ "context": true }), json!({})).unwrap();
    let filled = rendered.fill(&FACTS, None).unwrap();
    let account = |rendered: &Rendered| {
        let annotations = &rendered.document()["spec"]["template"]["metadata"]["annotations"];
        let context = read(&annotations["carto.run/runner-context"]);
        assert_eq!(context["name"], "x-7");
        context["platform"]["serviceAccountName"].clone()
    };
    assert_eq!(account(&filled), "builder");
    let applied = |spec: Value| {
        let spec = serde_json::from_value(json!({ "podTemplate": { "spec": spec } })).unwrap();
        Profile::compile(&spec)
            .unwrap()
            .apply(&filled, &context(json!({})), &FACTS)
            .unwrap()
    };
    assert_eq!(account(&applied(json!({ "hostname": "h" }))), "builder");
    let deployer = applied(json!({ "serviceAccountName": "deployer" }));
    assert_eq!(account(&deployer), "deployer");
    assert_eq!(deployer.input_hash(), rendered.input_hash());
    assert_eq!(
        account(&applied(json!({ "serviceAccountName": null }))),
        "default"
    );
}

#[test]
fn arguments_are_all_inputs_or_what_the_template_says_with_what_is_known_of_the_run_in_its_place() {
    let said = |runner: Value, inputs: Value| read(&made(runner, inputs)["carto.run/runner-args"]);
    assert_eq!(
        said(json!({}), json!({ "a": { "b": null } })),
        json!({ "a": { "b": null } })
    );
    assert_eq!(said(json!({}), Value::Null), json!({}));
    assert_eq!(
        said(json!({ "args": "$(runnable.spec.inputs)$" }), Value::Null),
        Value::Null
    );
    let args = json!({
        "text": "<$(profile.values.x)$>", "value": ["$(profile.values.list)$", "$(run.sequence)$"], "in": "$(runnable.spec.inputs.in)$",
    });
    assert_eq!(
        said(json!({ "args": args }), json!({ "in": "\"$(run.name)$\"" })),
        json!({ "text": "<say \"$(run.name)$\"\n>", "value": [[1], 7], "in": "\"$(run.name)$\"" })
    );
}

#[test]
fn a_text_stands_in_its_file_as_it_is_and_json_keeps_what_tags_yield_in_its_place() {
    let text = "a: $(runnable.spec.inputs.q)$ $(run.name)$ $('$(run.name)$')$";
    let files = json!([
        { "path": "/a", "text": text }, { "path": "/b", "text": "$(run.sequence)$" },
        { "path": "/c", "json": "$(runnable.spec.inputs.q)$" }, { "path": "/d", "text": "$(profile.values.list)$" },
    ]);
    let annotations = made(json!({ "files": files }), json!({ "q": "\"}" }));
    assert_eq!(
        annotations["carto.run/runner-file-0"],
        "a: \"} x-7 $(run.name)$"
    );
    assert_eq!(annotations["carto.run/runner-file-1"], "7");
    assert_eq!(annotations["carto.run/runner-file-2"], r#""\"}""#);
    assert_eq!(annotations["carto.run/runner-file-3"], "[1]");
}

#[test]
fn what_is_in_the_files_decides_about_the_hash_and_what_is_filled_in_does_not() {
    let hash = |runner: Value, inputs: Value| {
        render(job(), runner, inputs)
            .unwrap()
            .input_hash()
            .to_owned()
    };
    let plain = hash(json!({}), json!({ "a": 1 }));
    assert_eq!(hash(json!({}), json!({ "a": 1.0 })), plain);
    assert_ne!(hash(json!({}), json!({ "a": 2 })), plain);
    assert_ne!(hash(json!({ "context": true }), json!({ "a": 1 })), plain);
    let args = |text: &str| hash(json!({ "args": [text] }), json!({ "a": "$(run.name)$" }));
    assert_ne!(args("$(run.name)$"), args("$(runnable.spec.inputs.a)$"));
    assert_ne!(args("$(run.name)$"), args("$('')$$(run.name)$"));
    let file = |text: &str| {
        hash(
            json!({ "files": [{ "path": "/a", "text": text }] }),
            json!({ "a": "$(run.name)$" }),
        )
    };
    assert_ne!(file("$(run.name)$"), file("$(runnable.spec.inputs.a)$"));
}

#[test]
fn hashes_of_runs_with_files_never_change_between_releases() {
    let runner = json!({ "context": true, "args": { "n": "$(run.name)$" }, "files": [{ "path": "/a", "text": "b" }] });
    assert_eq!(
        render(job(), runner, json!({})).unwrap().input_hash(),
        "v1:3e2c4bb44e1ceab35588772796fa37a52193962d1eacb0c273e09aa468b69e6f"
    );
}

#[test]
fn a_pod_has_them_as_annotations_of_its_own() {
    let template = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "generateName": "x-" }, "spec": pod() });
    let rendered = render(template, json!({ "args": "$(run.name)$" }), json!({})).unwrap();
    let filled = rendered.fill(&FACTS, None).unwrap();
    assert_eq!(
        filled.document()["metadata"]["annotations"]["carto.run/runner-args"],
        "\"x-7\""
    );
}

#[test]
fn an_input_that_only_arguments_read_is_read() {
    let all = compile(job(), json!({})).unwrap();
    let one = compile(job(), json!({ "args": ["$(runnable.spec.inputs.a)$"] })).unwrap();
    assert!(all.reads_input("a") && all.reads_input("b"));
    assert!(one.reads_input("a") && !one.reads_input("b"));
}

#[test]
fn the_files_of_a_run_are_found_in_its_pod_by_what_is_mounted() {
    let runner = json!({ "files": [{ "path": "/cfg/main.tf", "text": "a" }] });
    let rendered = render(job(), runner, json!({})).unwrap();
    let found = files_of_run(rendered.document());
    let annotations = ["spec", "template", "metadata", "annotations"];
    let file = |annotation: &str, path: &str| FileOfRun {
        at: Segment::keys([&annotations[..], &[annotation]].concat()),
        path: path.to_owned(),
    };
    assert_eq!(
        found,
        [
            file("carto.run/runner-args", "/runner/args.yaml"),
            file("carto.run/runner-file-0", "/cfg/main.tf")
        ]
    );
    // An annotation of that name is no file by itself.
    let mut bare = job();
    bare["spec"]["template"]["metadata"] =
        json!({ "annotations": { "carto.run/runner-args": "{}" } });
    assert_eq!(files_of_run(&bare), []);
}
