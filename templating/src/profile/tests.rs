#![allow(
    clippy::needless_pass_by_value,
    reason = "values are written in the calls"
)]

use cartouche_language::RunFacts;

use super::*;
use crate::{Context, Template};

fn spec(spec: Value) -> ClusterRunProfileSpec {
    serde_json::from_value(spec).unwrap()
}

const FACTS: RunFacts<'static> = RunFacts {
    name: "x-7",
    sequence: 7,
    input_hash: "h",
    rerun_token: None,
};

fn context() -> Context {
    let runnable = json!({
        "metadata": { "name": "rn", "namespace": "ns", "labels": { "carto.run/x": "y" } },
        "spec": { "runTemplateRef": { "name": "t" }, "inputs": { "size": "large", "n": 1, "tag": "$(run.name)$" } },
    });
    Context::new(&runnable, None).unwrap()
}

fn rendered(template: Value) -> Rendered {
    let spec = serde_json::from_value(json!({ "template": template })).unwrap();
    let template = Template::compile(&spec).unwrap();
    template.render(&context()).unwrap()
}

fn task_run() -> Rendered {
    rendered(json!({
        "apiVersion": "tekton.dev/v1", "kind": "TaskRun",
        "metadata": { "generateName": "x-", "labels": { "a": "b" } },
        "spec": { "timeout": "10m", "params": [1, 2], "taskRef": { "name": "t", "kind": "Task" } },
    }))
}

fn wrong(profile: Value) -> Vec<String> {
    let problems = Profile::compile(&spec(profile)).unwrap_err();
    problems.iter().map(ToString::to_string).collect()
}

#[test]
fn texts_that_look_like_tags_are_warned_of() {
    let container = json!({ "name": "*", "args": ["$(runnable.metadata.name)", "$(A)$(B)"] });
    let patch = json!({ "spec": { "a": "$(run.name)" } });
    let profile = json!({
        "podTemplate": { "spec": { "containers": [container] } },
        "patches": [{ "apiVersion": "tekton.dev/v1", "kind": "TaskRun", "patch": patch }],
    });
    let profile = Profile::compile(&spec(profile)).unwrap();
    let warned = profile.warnings().iter();
    let warned: Vec<_> = warned.map(|it| (it.root, it.to_string())).collect();
    let begins = [
        "podTemplate.spec.containers[0].args[0]: a tag is not closed",
        "podTemplate.spec.containers[0].args[1]: $(A)$ is not read as a tag",
        "patches[0].patch.spec.a: a tag is not closed",
    ];
    assert_eq!(warned.len(), begins.len(), "{warned:?}");
    for ((root, said), begin) in warned.iter().zip(begins) {
        assert!(*root == Root::Profile && said.starts_with(begin), "{said}");
    }
}

#[test]
fn a_patch_is_merged_into_runs_of_its_kind_and_into_no_others() {
    let patch = json!({
        "metadata": { "labels": { "a": null, "c": "d" } }, "spec": { "timeout": "1h", "params": [3], "taskRef": { "kind": null } },
    });
    let profile = |kind: &str| {
        let patches = json!([{ "apiVersion": "tekton.dev/v1", "kind": kind, "patch": patch }]);
        Profile::compile(&spec(json!({ "patches": patches }))).unwrap()
    };
    let run = task_run();
    let made = profile("TaskRun").apply(&run, &context(), &FACTS).unwrap();
    assert_eq!(
        made.document(),
        &json!({
            "apiVersion": "tekton.dev/v1", "kind": "TaskRun",
            "metadata": { "generateName": "x-", "labels": { "c": "d" } },
            "spec": { "timeout": "1h", "params": [3], "taskRef": { "name": "t" } },
        })
    );
    assert_eq!(made.input_hash(), run.input_hash());
    assert_eq!(
        profile("PipelineRun")
            .apply(&run, &context(), &FACTS)
            .unwrap(),
        run
    );
    assert_eq!(
        profile("TaskRun").apply(&made, &context(), &FACTS).unwrap(),
        made
    );
}

#[test]
fn what_a_patch_may_not_set_is_told_at_once_and_by_path() {
    let patch = |patch: Value| json!({ "apiVersion": "v1", "kind": "Pod", "patch": patch });
    let metadata = json!({
        "name": "x", "generateName": null, "namespace": "x", "ownerReferences": null, "finalizers": [], "uid": "x",
        "labels": { "carto.run/runnable-uid": "x", "b": 1 }, "annotations": { "carto.run/x": null }, "other": 1,
    });
    let all = json!({ "apiVersion": "v2", "kind": "x", "metadata": metadata, "status": {} });
    let cannot =
        |field: &str| format!("patches[1].patch.metadata.{field}: a profile cannot set this");
    let own = |field: &str| {
        format!(
            "patches[1].patch.metadata.{field}: keys of carto.run are set by Cartouche: use a key of your own"
        )
    };
    assert_eq!(
        wrong(
            json!({ "patches": [patch(json!({})), patch(all), { "apiVersion": "v1", "kind": "Secret", "patch": { "metadata": null } }] })
        ),
        [
            "patches[1]: another patch is of this kind: put both into one".to_owned(),
            "patches[1].patch.apiVersion: only the template sets apiVersion and kind".to_owned(),
            "patches[1].patch.kind: only the template sets apiVersion and kind".to_owned(),
            own("annotations['carto.run/x']"),
            cannot("finalizers"),
            cannot("generateName"),
            "patches[1].patch.metadata.labels.b: it is not a string".to_owned(),
            own("labels['carto.run/runnable-uid']"),
            cannot("name"),
            cannot("namespace"),
            cannot("ownerReferences"),
            cannot("uid"),
            "patches[1].patch.status: only the controller of a run sets its status".to_owned(),
            "patches[2].patch.metadata: it is not an object".to_owned(),
        ]
    );
}

#[test]
fn rules_that_cannot_be_read_are_told_at_once_and_by_path() {
    let expression = |key: &str, operator: &str, values: Value| json!({ "key": key, "operator": operator, "values": values });
    let expressions = json!([
        expression("a", "In", json!([])),
        expression("a", "Exists", json!(["b"])),
        expression("a", "Gt", json!(["1"])),
        expression("-", "NotIn", json!(["b", "/"])),
        expression("a", "DoesNotExist", json!(null)),
    ]);
    let rules = json!([
        {}, { "templates": ["build", "../x", ""] }, { "templates": [] },
        { "namespaceSelector": { "matchLabels": { "a": "b", "c": "d e", "": "f" } }, "runnableSelector": { "matchExpressions": expressions } },
    ]);
    let at = |at: &str, what: &str| format!("rules[{at}: {what}");
    assert_eq!(
        wrong(json!({ "rules": rules })),
        [
            at("1].templates[1]", "\"../x\" is not the name of a template"),
            at("1].templates[2]", "\"\" is not the name of a template"),
            at(
                "2].templates",
                "it names no template: leave the field out for all templates"
            ),
            at(
                "3].namespaceSelector.matchLabels.",
                "\"\" is not a valid label key"
            ),
            at(
                "3].namespaceSelector.matchLabels.c",
                "\"d e\" is not a valid label value"
            ),
            at(
                "3].runnableSelector.matchExpressions[0].values",
                "In needs values"
            ),
            at(
                "3].runnableSelector.matchExpressions[1].values",
                "Exists takes no values"
            ),
            at(
                "3].runnableSelector.matchExpressions[2].operator",
                "\"Gt\" is none of In, NotIn, Exists and DoesNotExist"
            ),
            at(
                "3].runnableSelector.matchExpressions[3].key",
                "\"-\" is not a valid label key"
            ),
            at(
                "3].runnableSelector.matchExpressions[3].values[1]",
                "\"/\" is not a valid label value"
            ),
        ]
    );
}

#[test]
fn mistakes_of_rules_pods_and_patches_are_told_together() {
    let profile = json!({
        "rules": [{ "templates": [] }],
        "podTemplate": { "spec": { "containers": [{}] } },
        "patches": [{ "apiVersion": "v1", "kind": "Pod", "patch": { "kind": "x" } }],
    });
    assert_eq!(wrong(profile).len(), 3);
}

#[test]
fn patches_are_merged_after_pods() {
    let pod = rendered(json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "generateName": "x-" }, "spec": { "containers": [{ "name": "a" }] },
    }));
    let profile = json!({
        "podTemplate": { "spec": { "priorityClassName": "low", "containers": [{ "name": "a", "image": "i" }] } },
        "patches": [{ "apiVersion": "v1", "kind": "Pod", "patch": { "spec": { "priorityClassName": "high" } } }],
    });
    let made = Profile::compile(&spec(profile))
        .unwrap()
        .apply(&pod, &context(), &FACTS)
        .unwrap();
    assert_eq!(
        made.document()["spec"],
        json!({ "priorityClassName": "high", "containers": [{ "name": "a", "image": "i" }] })
    );
}

#[test]
fn a_profile_that_is_too_large_or_too_deep_is_refused() {
    let large = json!({ "values": { "x": "y".repeat(MAX_PROFILE_BYTES - 100) }, "podTemplate": { "x": "y".repeat(100) } });
    assert_eq!(
        wrong(large),
        ["values: podTemplate, patches and values are together larger than 262144 bytes"]
    );
    let deep = (0..100).fold(json!(1), |it, _| json!([it]));
    assert_eq!(
        wrong(json!({ "podTemplate": { "spec": deep } })),
        ["podTemplate: objects and arrays are nested more than 64 deep"]
    );
}

#[test]
fn a_profile_is_not_applied_while_a_tag_is_open_and_its_values_fill_it_in() {
    let run = rendered(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "x-" }, "data": { "a": "$(profile.values.b)$" },
    }));
    let profile = Profile::compile(&spec(json!({ "values": { "b": "c" } }))).unwrap();
    assert_eq!(
        profile
            .apply(&run, &context(), &FACTS)
            .unwrap_err()
            .to_string(),
        StampError::Open.to_string()
    );
    let facts = RunFacts {
        name: "x-1",
        sequence: 1,
        input_hash: "h",
        rerun_token: None,
    };
    let filled = run.fill(&facts, Some(profile.values())).unwrap();
    assert_eq!(
        profile
            .apply(&filled, &context(), &FACTS)
            .unwrap()
            .document()["data"]["a"],
        "c"
    );
    let none = Profile::compile(&spec(json!({}))).unwrap();
    let problems = run.fill(&facts, Some(none.values())).unwrap_err();
    assert_eq!(problems[0].path(), "data.a");
}

#[test]
fn a_run_that_a_profile_makes_too_large_is_refused() {
    let containers = json!([{ "name": "a" }, { "name": "b" }, { "name": "c" }]);
    let run = rendered(json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "generateName": "x-" }, "spec": { "containers": containers },
    }));
    let each = json!([{ "name": "*", "image": "y".repeat(200_000) }]);
    let profile = spec(json!({ "podTemplate": { "spec": { "containers": each } } }));
    let profile = Profile::compile(&profile).unwrap();
    let said = profile
        .apply(&run, &context(), &FACTS)
        .unwrap_err()
        .to_string();
    assert!(said.contains("larger than 524288 bytes"), "{said}");
}

fn pod() -> Rendered {
    rendered(json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "generateName": "x-" }, "spec": { "containers": [{ "name": "a" }] },
    }))
}

/// Applies a profile to a Pod, and returns it, or the problems by path.
fn made(profile: Value) -> Result<Value, Vec<(Root, String)>> {
    let profile = Profile::compile(&spec(profile)).unwrap();
    let made = profile.apply(&pod(), &context(), &FACTS);
    let wrong = |problems: Diagnostics| problems.iter().map(|it| (it.root, it.path())).collect();
    made.map(|made| made.document().clone()).map_err(wrong)
}

#[test]
fn strings_of_a_profile_read_the_runnable_the_run_and_its_values() {
    let pod_template = json!({
        "metadata": { "labels": { "size": "$(runnable.spec.inputs.size)$" } },
        "spec": {
            "nodeSelector": { "pool": "$(profile.values.pools.large)$" }, "priority": "$(runnable.spec.inputs.n)$",
            "containers": [{ "name": "a", "args": ["$(run.name)$ of $(runnable.metadata.name)$", "$(runnable.spec.inputs.tag)$"] }],
        },
    });
    let patch = json!({ "spec": { "hostname": "h$(run.sequence)$" } });
    let patches = json!([{ "apiVersion": "v1", "kind": "Pod", "patch": patch }]);
    let profile = json!({ "podTemplate": pod_template, "patches": patches, "values": { "pools": { "large": "big" } } });
    assert_eq!(
        made(profile).unwrap(),
        json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": { "generateName": "x-", "labels": { "size": "large" } },
            "spec": {
                "nodeSelector": { "pool": "big" }, "priority": 1, "hostname": "h7",
                "containers": [{ "name": "a", "args": ["x-7 of rn", "$(run.name)$"] }],
            },
        })
    );
}

#[test]
fn a_profile_knows_no_selected_object_and_nothing_that_changes_with_every_run() {
    let container = json!({ "name": "a", "args": ["$(selected.data.x)$", "$(*.name)$", "$(runnable.status)$", "$(run.uid)$", "$(runable.x)$"] });
    let patches = json!([{ "apiVersion": "v1", "kind": "Pod", "patch": { "spec": { "a": "x $(selected)$" } } }]);
    let profile =
        json!({ "podTemplate": { "spec": { "containers": [container] } }, "patches": patches });
    let problems = Profile::compile(&spec(profile)).unwrap_err();
    let at: Vec<_> = problems.iter().map(|it| (it.root, it.path())).collect();
    let arg = |index: usize| {
        (
            Root::Profile,
            format!("podTemplate.spec.containers[0].args[{index}]"),
        )
    };
    let mut expected: Vec<_> = (0..5).map(arg).collect();
    expected.push((Root::Profile, "patches[0].patch.spec.a".to_owned()));
    assert_eq!(at, expected);
    assert!(
        problems[0]
            .message()
            .contains("but not the selected object")
    );
}

#[test]
fn tags_of_a_profile_that_have_no_value_are_told_with_their_place_in_it() {
    let profile = json!({
        "podTemplate": { "spec": { "a": "$(profile.values.missing)$", "b": "$(runnable.spec.inputs.missing)$" } },
        "patches": [
            { "apiVersion": "v1", "kind": "Secret", "patch": { "a": "$(runnable.spec.inputs.missing)$" } },
            { "apiVersion": "v1", "kind": "Pod", "patch": { "a": "x$(run.rerunToken)$" } },
        ],
    });
    let at = |path: &str| (Root::Profile, path.to_owned());
    assert_eq!(
        made(profile).unwrap_err(),
        [at("podTemplate.spec.b"), at("patches[1].patch.a")]
    );
    let profile = json!({ "podTemplate": { "spec": { "a": "$(profile.values.missing)$" } } });
    assert_eq!(made(profile).unwrap_err(), [at("podTemplate.spec.a")]);
}

#[test]
fn what_tags_yield_may_say_no_more_than_what_is_written() {
    let at = |path: &str| (Root::Profile, path.to_owned());
    let labels = json!({ "a": "$(runnable.metadata.labels)$" });
    let profile = json!({
        "podTemplate": { "metadata": { "labels": labels } },
        "patches": [{ "apiVersion": "v1", "kind": "Pod", "patch": { "metadata": { "labels": labels } } }],
    });
    assert_eq!(
        made(profile).unwrap_err(),
        [
            at("podTemplate.metadata.labels.a"),
            at("patches[0].patch.metadata.labels.a")
        ]
    );
    let profile = json!({ "patches": [{ "apiVersion": "v1", "kind": "Pod", "patch": { "metadata": { "x": "$(runnable.metadata)$" } } }] });
    assert!(made(profile).is_ok());
}
