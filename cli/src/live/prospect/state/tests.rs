use serde_json::json;

use super::*;
use crate::live::prospect::OfSecrets;

/// Returns a state whose template makes this kind, whose Runnable selects one, and whose last run was of one.
fn state(kind: &str, selected: &str, last: &str) -> ProspectState {
    let runnable: Runnable = serde_json::from_value(json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
        "metadata": { "name": "hello", "uid": "u" },
        "spec": {
            "runTemplateRef": { "name": "greet" },
            "selector": { "resource": { "apiVersion": "v1", "kind": selected }, "matchingLabels": { "a": "b" } },
            "inputs": { "kind": "Secret" },
        },
        "status": { "currentRun": {
            "sequence": 1, "inputHash": "v1:0", "phase": "Created",
            "apiVersion": "v1", "kind": last, "name": "x",
        } },
    }))
    .unwrap();
    let template = serde_json::from_value(json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunTemplate",
        "metadata": { "name": "greet" },
        "spec": { "template": {
            "apiVersion": "v1", "kind": kind, "metadata": { "generateName": "a-" },
            "data": { "a": "$(selected.data.a)$" },
        } },
    }))
    .unwrap();
    ProspectState {
        live: Some(runnable.clone()),
        runnable,
        template,
        selected: Some(json!({ "data": { "a": "b" } })),
        sources: InputSources::default(),
        profiles: Some(Profiles::default()),
        of_next: false,
    }
}

#[test]
fn a_secret_is_one_whether_it_is_made_was_made_or_is_selected() {
    let has_secrets = |kind, selected, last| {
        let prospect = state(kind, selected, last).prospect("demo");
        prospect.unwrap().has_secrets
    };
    assert!(!has_secrets("ConfigMap", "ConfigMap", "ConfigMap"));
    assert!(has_secrets("Secret", "ConfigMap", "ConfigMap"));
    assert!(has_secrets("ConfigMap", "Secret", "ConfigMap"));
    assert!(has_secrets("ConfigMap", "ConfigMap", "Secret"));
    let by_tag = "$(runnable.spec.inputs.kind)$";
    assert!(has_secrets(by_tag, "ConfigMap", "ConfigMap"));
    // The removed selector has filled the last run.
    let mut edited = state("ConfigMap", "Secret", "ConfigMap");
    edited.runnable.spec.selector = None;
    assert!(edited.prospect("demo").unwrap().has_secrets);
}

#[test]
fn what_a_newer_release_serves_or_reads_is_said() {
    let newer = |change: fn(&mut ProspectState)| {
        let mut state = state("ConfigMap", "ConfigMap", "ConfigMap");
        change(&mut state);
        let newer = state.prospect("demo").unwrap().newer;
        newer.map(|newer| newer.message)
    };
    assert_eq!(newer(|_| {}), None);
    let served = newer(|state| {
        let status = state.live.as_mut().unwrap().status.as_mut().unwrap();
        status.needs = vec!["ticks".to_owned()];
    });
    assert!(served.is_some_and(|it| it.contains("ticks")));
    let field = newer(|state| state.runnable.spec.unknown_fields = vec!["start.at".to_owned()]);
    assert!(field.is_some_and(|it| it.contains("start.at")));
    let field = newer(|state| state.template.spec.unknown_fields = vec!["cluster".to_owned()]);
    assert!(field.is_some_and(|it| it.contains("cluster")));
}

#[test]
fn an_error_about_a_secret_is_marked() {
    let error = |selected| {
        let mut state = state("ConfigMap", selected, "ConfigMap");
        state.selected = Some(json!({ "data": {} }));
        state.prospect("demo").err().unwrap()
    };
    assert!(error("Secret").downcast_ref::<OfSecrets>().is_some());
    assert!(error("ConfigMap").downcast_ref::<OfSecrets>().is_none());
}
