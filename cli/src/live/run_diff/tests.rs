use cartouche_authoring::render::{DraftRun, RenderSubject, profiles::With, run_numbered};
use cartouche_crds::{ClusterRunProfile, ClusterRunTemplateSpec};
use cartouche_protocol::profiles::KnownProfile;
use cartouche_templating::Template;
use serde_json::json;

use super::*;

/// Returns a template that reads all facts unique to a run, and a value of its profile.
fn template() -> ClusterRunTemplateSpec {
    serde_json::from_value(json!({
        "runner": { "context": true, "args": {
            "seed": "$(runnable.spec.inputs.seed)$", "run": "$(run.name)$", "n": "$(run.sequence)$",
            "pool": "$(profile.values.pool)$",
        } },
        "template": {
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": { "generateName": "hello-" },
            "spec": { "template": { "spec": { "containers": [{
                "name": "a", "image": "app:$(runnable.spec.inputs.seed)$",
                "env": [
                    { "name": "RUN", "value": "of $(run.name)$" },
                    { "name": "N", "value": "number $(run.sequence)$ in $(profile.values.pool)$" },
                ],
            }] } } },
        },
    }))
    .unwrap()
}

fn profile(generation: i64, pool: &str, selector: &serde_json::Value) -> KnownProfile {
    let profile: ClusterRunProfile = serde_json::from_value(json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunProfile",
        "metadata": { "name": "p", "uid": "u", "generation": generation },
        "spec": { "values": { "pool": pool }, "podTemplate": { "spec": {
            "nodeSelector": selector, "serviceAccountName": format!("of-{pool}"),
            "containers": [{ "name": "a", "env": [{ "name": "P", "value": "$(run.name)$" }] }],
        } } },
    }))
    .unwrap();
    KnownProfile::new(&profile)
}

fn run(
    template: &ClusterRunTemplateSpec,
    seed: i64,
    sequence: i64,
    profile: &KnownProfile,
) -> DraftRun {
    let runnable = json!({
        "metadata": { "name": "r", "namespace": "demo", "uid": "u-1" },
        "spec": { "inputs": { "seed": seed } },
    });
    let subject = RenderSubject {
        template: &Template::compile(template).unwrap(),
        template_name: "t",
        runnable: &runnable,
        selected: None,
        sourced: &std::collections::BTreeMap::new(),
        with: Some(With::from_profile(profile, None).unwrap()),
    };
    run_numbered(&subject, sequence, None).unwrap()
}

fn between(old: &DraftRun, new: &DraftRun) -> RunDiff {
    let making = MakingFacts::new(&new.rendering, new.filled.as_ref(), new.rendered.document());
    differences(
        &RunSide::from_object(&old.object),
        &RunSide::from_object(&new.object),
        Some(&making),
    )
}

fn places(changes: &[FieldChange]) -> Vec<String> {
    let place = |change: &FieldChange| {
        let file = change.file.iter().map(|file| format!("{file} "));
        file.collect::<String>() + &change.path
    };
    changes.iter().map(place).collect()
}

#[test]
fn nothing_that_each_run_has_of_its_own_is_a_cause() {
    let (template, profile) = (template(), profile(1, "small", &json!({ "pool": "small" })));
    let old = run(&template, 1, 1, &profile);
    let found = between(&old, &run(&template, 1, 2, &profile));
    assert_eq!(found, RunDiff::default());
    let found = between(&old, &run(&template, 2, 2, &profile));
    assert_eq!(
        places(&found.changes),
        [
            "spec.template.spec.containers[0].image",
            "/runner/args.yaml seed"
        ]
    );
    assert_eq!(found.by_profile, []);
}

#[test]
fn the_name_of_a_run_is_told_apart_without_a_template_as_well() {
    let profile = profile(1, "small", &json!({}));
    let template = template();
    let [old, new] = [1, 2].map(|sequence| run(&template, 1, sequence, &profile));
    let found = differences(
        &RunSide::from_object(&old.object),
        &RunSide::from_object(&new.object),
        None,
    );
    let numbers = [
        "spec.template.spec.containers[0].env[2].value",
        "/runner/args.yaml n",
    ];
    let found = places(&found.changes);
    assert!(found.iter().all(|it| numbers.contains(&&**it)), "{found:?}");
}

#[test]
fn nothing_that_a_profile_merges_is_a_cause() {
    let template = template();
    let small = profile(1, "small", &json!({ "pool": "small", "zone": "a" }));
    let large = profile(2, "large", &json!({ "pool": "large" }));
    let old = run(&template, 1, 1, &small);
    let found = between(&old, &run(&template, 2, 2, &large));
    assert_eq!(
        places(&found.changes),
        [
            "spec.template.spec.containers[0].image",
            "/runner/args.yaml seed"
        ]
    );
    let pod = "spec.template.spec";
    assert_eq!(
        places(&found.by_profile),
        [
            &format!("{pod}.nodeSelector.pool"),
            &format!("{pod}.nodeSelector.zone"),
            &format!("{pod}.serviceAccountName"),
            "/runner/context.yaml platform.serviceAccountName",
        ]
    );
    let told = found.describe_profile_changes().unwrap();
    let begin = "also differs by the profile (p@1 became p@2), which makes no run: spec.template.spec.nodeSelector.pool, ";
    assert!(told.starts_with(begin), "{told}");
    // A value may be a Secret's.
    assert!(!told.contains("large"), "{told}");
}

#[test]
fn a_text_is_of_its_parts_with_anything_between_them() {
    let fixed = |parts: &[&str]| parts.iter().map(|&it| it.to_owned()).collect::<Vec<_>>();
    for (text, parts, is) in [
        ("a-x-b", &["a-", "-b"][..], true),
        ("a-b", &["a-", "-b"], false),
        ("abc", &["abc"], true),
        ("abcd", &["abc"], false),
        ("1x2y3", &["1", "2", "3"], true),
        ("1x3", &["1", "2", "3"], false),
        ("anything", &["", ""], true),
    ] {
        assert_eq!(put_back::is_of(text, &fixed(parts)), is, "{text} {parts:?}");
    }
}

#[test]
fn what_the_api_server_filled_in_does_not_differ_from_a_run_that_it_has_not_seen() {
    let old = json!({
        "metadata": { "managedFields": [{
            "manager": cartouche_crds::FIELD_MANAGER,
            "fieldsV1": { "f:spec": { "f:completionMode": {}, "f:image": {} } },
        }] },
        "spec": { "completionMode": "NonIndexed", "image": "a:1" },
    });
    let new = json!({ "spec": { "image": "a:2" } });
    let (old, new) = (RunSide::from_object(&old), RunSide::from_object(&new));
    let unseen = rendered_differences(&old, &new, None);
    assert_eq!(places(&unseen.changes), ["spec.image"]);
    assert_eq!(differences(&old, &new, None).changes.len(), 2);
}

#[test]
fn a_field_that_the_template_no_longer_has_is_a_cause_while_the_profile_is_the_same() {
    let (mut template, profile) = (template(), profile(1, "small", &json!({})));
    template.template["spec"]["suspend"] = json!(false);
    let old = run(&template, 1, 1, &profile);
    template.template["spec"] = json!({ "template": template.template["spec"]["template"] });
    let found = between(&old, &run(&template, 1, 2, &profile));
    assert_eq!(places(&found.changes), ["spec.suspend"]);
}
