//! Refused files, by path.

use cartouche_language::field_path;

use super::*;

fn wrong(template: Value, runner: Value) -> Vec<String> {
    let problems = render(
        template,
        runner,
        json!({ "a": 1, "large": "x".repeat(100_000) }),
    )
    .unwrap_err();
    problems.iter().map(ToString::to_string).collect()
}

fn wrong_of_job(runner: Value) -> Vec<String> {
    wrong(job(), runner)
}

#[test]
fn files_that_cannot_be_there_are_told_at_once() {
    let file = |path: &str| json!({ "path": path, "text": "" });
    let files = json!([
        file("a"), file("/"), file("/a/"), file("/a/../b"), file("//a"), file("/a:b"), file("/ok"), file("/ok"),
        file("/runner/args.yaml"), { "path": "/c" }, { "path": "/d", "text": "", "json": 1 },
    ]);
    let relative =
        |index: usize| format!("runner.files[{index}].path: it is not a path from / to a file");
    let both = |index: usize| format!("runner.files[{index}]: a file has either text or json");
    let mut expected: Vec<String> = (0..6).map(relative).collect();
    expected.push("runner.files[7].path: another file is there".to_owned());
    expected.push("runner.files[8].path: arguments and context are there".to_owned());
    expected.extend([both(9), both(10)]);
    assert_eq!(wrong_of_job(json!({ "files": files })), expected);
}

#[test]
fn a_tag_in_the_path_of_a_file_is_refused_whether_or_not_it_is_closed() {
    for path in [
        "/a/$(runnable.metadata.name)$",
        "/a/$(runnable.metadata.name)",
    ] {
        assert_eq!(
            wrong_of_job(json!({ "files": [{ "path": path, "text": "" }] })),
            [
                "runner.files[0].path: it holds a tag, and a path is taken as it is written: write the path as it is to be"
            ]
        );
    }
    let of_another = json!({ "files": [{ "path": "/a/$(params.x)", "text": "" }] });
    assert!(compile(job(), of_another).is_ok());
}

#[test]
fn tags_that_are_not_closed_are_warned_of_wherever_tags_are_read() {
    const OPEN: &str = "$(runnable.metadata.name)";
    let runner = json!({
        "context": true, "timeout": OPEN, "args": { "a": [OPEN] },
        "files": [{ "path": "/t", "text": OPEN }, { "path": "/j", "json": { "b": OPEN } }],
    });
    let requires = json!([{ "resource": "secrets", "verbs": ["get"], "namespace": OPEN }]);
    let spec = json!({ "template": job(), "runner": runner, "requires": requires });
    let template = Template::compile(&serde_json::from_value(spec).unwrap()).unwrap();
    let warned = template.warnings().iter().map(|it| {
        assert_eq!(it.kind, cartouche_language::WarningKind::UnclosedTag);
        field_path(&it.at)
    });
    assert_eq!(
        warned.collect::<Vec<_>>(),
        [
            "runner.args.a[0]",
            "runner.files[0].text",
            "runner.files[1].json.b",
            "runner.timeout",
            "requires[0].namespace"
        ]
    );
}

#[test]
fn what_is_there_already_is_told_with_its_container() {
    let mut template = job();
    let pod = &mut template["spec"]["template"];
    pod["spec"]["containers"][0]["volumeMounts"] = json!([{ "name": "v", "mountPath": "/a" }]);
    pod["spec"]["containers"][1]["env"] = json!([{ "name": "RUNNER_ARGS_PATH", "value": "x" }]);
    pod["spec"]["volumes"] = json!([{ "name": "cartouche-runner" }]);
    pod["metadata"] = json!({ "annotations": { "carto.run/runner-file-0": "x" } });
    assert_eq!(
        wrong(template, json!({ "files": [{ "path": "/a", "text": "" }] })),
        [
            "runner: the run has a volume 'cartouche-runner' already",
            "runner.files[0].path: the container 'a' has something at /a already",
            "runner: the container 'b' has a variable RUNNER_ARGS_PATH already",
            "runner: the pod of the run has an annotation carto.run/runner-file-0 already",
        ]
    );
}

#[test]
fn a_run_without_pods_is_refused_as_soon_as_its_kind_is_known() {
    let expected =
        "runner: the run has no pods that files can be mounted into: only Jobs and Pods have";
    let template = json!({ "apiVersion": "tekton.dev/v1", "kind": "TaskRun", "metadata": { "generateName": "x-" }, "spec": {} });
    assert_eq!(
        compile(template, json!({})).unwrap_err().to_string(),
        expected
    );
    let template = json!({
        "apiVersion": "v1", "kind": "$(runnable.spec.inputs.kind)$", "metadata": { "generateName": "x-" },
        "spec": { "containers": [{ "name": "a" }] },
    });
    let rendered = |kind: &str| render(template.clone(), json!({}), json!({ "kind": kind }));
    assert_eq!(rendered("ConfigMap").unwrap_err().to_string(), expected);
    assert!(rendered("Pod").is_ok());
    let mut template = job();
    template["spec"]["template"] = json!(null);
    assert_eq!(wrong(template, json!({})), [expected]);
}

/// An unknown kind is reported when kinds are looked up; a run of an existing kind gets no files.
#[test]
fn a_kind_that_looks_misspelt_is_not_refused_for_its_files() {
    let of = |api_version: &str, kind: &str| {
        let mut template = job();
        template["apiVersion"] = api_version.into();
        template["kind"] = kind.into();
        compile(template, json!({}))
    };
    for (api_version, kind) in [
        ("batch/v1beta1", "Job"),
        ("batch/v1", "Jobs"),
        ("v1", "Job"),
        ("v1", "Pods"),
    ] {
        let template = of(api_version, kind).unwrap();
        let rendered = template.render(&context(json!({}))).unwrap();
        let pod = &rendered.document()["spec"]["template"];
        assert_eq!(pod["metadata"], json!(null), "{kind}");
        assert!(template.check_is_mounted(rendered.document()).is_err());
    }
    for (api_version, kind) in [
        ("batch/v1", "CronJob"),
        ("batch.example.com/v1", "Job"),
        ("v1", "Node"),
        ("v1", "ConfigMap"),
    ] {
        assert!(of(api_version, kind).is_err(), "{kind} of {api_version}");
    }
    let template = of("batch/v1", "Job").unwrap();
    let rendered = template.render(&context(json!({}))).unwrap();
    assert!(template.check_is_mounted(rendered.document()).is_ok());
}

#[test]
fn a_container_that_the_run_does_not_have_is_told() {
    assert_eq!(
        wrong_of_job(json!({ "containers": ["a", "x"] })),
        ["runner.containers[1]: the run has no such container 'x': name one that it has: a, b, i"]
    );
}

#[test]
fn what_fails_for_every_runnable_is_told_of_the_template_alone_and_what_a_tag_decides_is_not() {
    let unknown = json!({ "containers": ["x"] });
    let said = |template: Value, runner: &Value| match compile(template, runner.clone()) {
        Ok(_) => String::new(),
        Err(problems) => problems.to_string(),
    };
    let here = said(job(), &unknown);
    assert_eq!(
        here,
        "runner.containers[0]: the run has no such container 'x': name one that it has: a, b, i"
    );
    let with = |pointer: &str, value: Value| {
        let mut template = job();
        *template
            .pointer_mut(&format!("/spec/template/{pointer}"))
            .unwrap() = value;
        template
    };
    let mine = with("spec/containers/1/env/0/name", json!("RUNNER_ARGS_PATH"));
    assert_eq!(
        said(mine, &json!({})),
        "runner: the container 'b' has a variable RUNNER_ARGS_PATH already"
    );
    let tag = "$(runnable.spec.inputs.a)$";
    for pointer in [
        "spec",
        "spec/containers",
        "spec/initContainers",
        "spec/containers/0",
        "spec/containers/0/name",
    ] {
        assert_eq!(said(with(pointer, json!(tag)), &unknown), "", "{pointer}");
    }
    for pointer in ["spec/containers/1/env", "spec/containers/1/env/0/name"] {
        assert_eq!(said(with(pointer, json!(tag)), &json!({})), "", "{pointer}");
    }
}

#[test]
fn a_context_without_a_timeout_is_warned_of() {
    let warned = |runner: Value| {
        let template = compile(job(), runner).unwrap();
        template
            .warnings()
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    let said = warned(json!({ "context": true }));
    assert_eq!(said.len(), 1);
    assert!(
        said[0].starts_with("runner.context: without a timeout the context has 0s"),
        "{said:?}"
    );
    for runner in [
        json!({}),
        json!({ "context": true, "timeout": "0s" }),
        json!({ "context": true, "timeout": "1m" }),
    ] {
        assert_eq!(warned(runner), Vec::<String>::new());
    }
}

#[test]
fn files_that_are_too_large_together_are_refused_before_and_after_they_are_filled_in() {
    let large = "$(runnable.spec.inputs.large)$";
    let file = |path: &str, text: &str| json!({ "path": path, "text": text });
    let files = json!([
        file("/a", large),
        file("/b", large),
        file("/c", &"y".repeat(4_800))
    ]);
    assert_eq!(
        wrong_of_job(json!({ "args": 1, "files": files })),
        ["runner: the files have 204801 bytes together, more than 204800"]
    );
    let runner = json!({ "args": 1, "files": [file("/a", "$(profile.values.large)$$(profile.values.large)$")] });
    let rendered = render(job(), runner, json!({})).unwrap();
    let filled = |bytes: usize| rendered.fill(&FACTS, Some(&json!({ "large": "x".repeat(bytes) })));
    assert!(filled(100_000).is_ok());
    let said = filled(102_400).unwrap_err().to_string();
    assert_eq!(
        said,
        "runner: the files have 204801 bytes together, more than 204800"
    );
}

#[test]
fn what_the_context_cannot_say_is_told() {
    let said = |runner: Value| wrong_of_job(runner);
    assert_eq!(
        said(json!({ "dryRun": true, "timeout": "1m" })),
        [
            "runner.dryRun: it is part of the context: set context to true",
            "runner.timeout: it is part of the context: set context to true",
        ]
    );
    let duration = "runner.timeout: it is neither a duration from 1s to 8760h, such as 10m, nor 0s";
    for timeout in [
        "",
        "10",
        "1d",
        "0",
        "-1m",
        "$(runnable.spec.inputs.a)$",
        "9000h",
    ] {
        assert_eq!(
            said(json!({ "context": true, "timeout": timeout })),
            [duration],
            "{timeout}"
        );
    }
    assert_eq!(
        said(
            json!({ "context": true, "dryRun": "$(runnable.spec.inputs.a)$", "timeout": "$(run.name)$" })
        ),
        [
            "runner.dryRun: it is not true or false",
            "runner.timeout: it has to be known before the run is created: read runnable or selected",
        ]
    );
}

#[test]
fn tags_that_lead_nowhere_are_told_with_their_place_in_the_runner() {
    let runner = json!({
        "args": ["$(runnable.spec.inputs.b)$"],
        "files": [{ "path": "/a", "text": "x $(selected.a)$" }, { "path": "/b", "text": "$(runnable.spec.inputs.a)$" }],
    });
    let problems = render(job(), runner, json!({ "a": 1 })).unwrap_err();
    let at: Vec<_> = problems.iter().map(|it| (it.root, it.path())).collect();
    let spec = |path: &str| (cartouche_language::Root::Spec, path.to_owned());
    assert_eq!(
        at,
        [
            spec("runner.args[0]"),
            spec("runner.files[0].text"),
            spec("runner.files[1].text")
        ]
    );
    let runner = json!({ "args": ["$(run.uid)$", "$(runnable.status)$"], "files": [{ "path": "/a", "json": { "b": "$(runable.x)$" } }] });
    let problems = compile(job(), runner).unwrap_err();
    let at: Vec<_> = problems.iter().map(|it| (it.root, it.path())).collect();
    assert_eq!(
        at,
        [
            spec("runner.args[0]"),
            spec("runner.args[1]"),
            spec("runner.files[0].json.b")
        ]
    );
}

#[test]
fn a_tag_may_stay_open_below_any_name_of_the_arguments() {
    let args = json!({ "metadata": { "name": "$(run.name)$" }, "kind": "$(run.name)$" });
    assert!(compile(job(), json!({ "args": args })).is_ok());
}

#[test]
fn files_go_into_no_more_containers_than_any_pod_has() {
    let containers: Value = (0..3_000)
        .map(|at| json!({ "name": format!("c{at}") }))
        .collect();
    let mut template = job();
    template["spec"]["template"]["spec"]["containers"] = containers;
    assert_eq!(
        wrong(template, json!({ "context": true })),
        ["runner: 2 files go into each of 3000 containers, which is more than 4096 mounts"]
    );
}
