use cartouche_crds::{ClusterRunTemplateSpec, ResourceRef, Selector};
use cartouche_protocol::{
    permissions::{of_selector, of_sources, of_stop, of_template},
    policy::{Asks, Policy},
};
use cartouche_templating::Template;
use serde_json::{Value, json};

use super::*;
use crate::schema::catalog::Catalog;

fn template(api_version: &str, kind: &str, outputs: &Value) -> Template {
    let spec: ClusterRunTemplateSpec = serde_json::from_value(json!({
        "template": { "apiVersion": api_version, "kind": kind, "metadata": { "generateName": "a-" } },
        "outputs": outputs,
    }))
    .unwrap();
    Template::compile(&spec).unwrap()
}

fn found(needs: &[Need], given: &[&str]) -> anyhow::Result<Vec<(String, Vec<&'static str>)>> {
    let given: Vec<Resource> = given.iter().map(|it| it.parse().unwrap()).collect();
    let catalog = Catalog::default();
    let find =
        |api_version: &str, kind: &str| resource::without_cluster(&catalog, api_version, kind);
    let rules = rules(needs, &given, find)?;
    let shown = |rule: &RoleRule| (rule.resource.to_string(), rule.verbs());
    Ok(rules.iter().map(shown).collect())
}

fn of(
    api_version: &str,
    kind: &str,
    given: &[&str],
) -> anyhow::Result<Vec<(String, Vec<&'static str>)>> {
    found(
        &of_template("t", &template(api_version, kind, &json!({}))),
        given,
    )
}

const RUNS: [&str; 4] = ["list", "create", "get", "delete"];

#[test]
fn the_plural_of_a_kind_with_an_engine_is_known_without_a_cluster() {
    for (api_version, kind, resource) in [
        ("batch/v1", "Job", "jobs.batch"),
        ("tekton.dev/v1", "TaskRun", "taskruns.tekton.dev"),
        ("argoproj.io/v1alpha1", "Workflow", "workflows.argoproj.io"),
        (
            "networking.k8s.io/v1",
            "NetworkPolicy",
            "networkpolicies.networking.k8s.io",
        ),
    ] {
        let rules = of(api_version, kind, &[]).unwrap();
        assert_eq!(rules[0], (resource.to_owned(), RUNS.to_vec()));
    }
}

#[test]
fn to_stop_runs_that_may_not_heed_it_they_may_be_deleted_too() {
    let asks = Asks {
        timeout: Some("1h".to_owned()),
        ..Asks::default()
    };
    let policy = Policy::merge(&Asks::default(), &asks).unwrap();
    let verbs = |api_version: &str, kind: &str| {
        let need = of_stop("t", &template(api_version, kind, &json!({})), &policy);
        need.unwrap().verbs
    };
    for (api_version, kind) in [
        ("batch/v1", "Job"),
        ("v1", "Pod"),
        ("argoproj.io/v1alpha1", "Workflow"),
    ] {
        assert_eq!(verbs(api_version, kind), ["patch", "delete"], "{kind}");
    }
    for kind in ["TaskRun", "PipelineRun"] {
        assert_eq!(verbs("tekton.dev/v1", kind), ["patch"], "{kind}");
    }
}

#[test]
fn the_pods_of_a_job_are_listed_for_its_outputs_and_else_only_to_tell_more() {
    for (outputs, optional) in [
        (json!({ "a": ".terminationMessage.a" }), false),
        (json!({}), true),
    ] {
        let needs = of_template("t", &template("batch/v1", "Job", &outputs));
        let mut pods = needs
            .iter()
            .filter(|need| need.target == Target::Kind("v1".into(), "Pod".into()));
        assert_eq!(
            pods.clone().all(|need| need.optional),
            optional,
            "{needs:?}"
        );
        assert!(pods.all(|need| need.verbs == ["list"]));
    }
    let rules = of("tekton.dev/v1", "TaskRun", &[]).unwrap();
    assert_eq!(rules.len(), 1, "{rules:?}");
}

#[test]
fn what_is_selected_may_be_listed_and_a_run_of_the_same_kind_needs_no_second_rule() {
    let select = |api_version: &str, kind: &str| {
        let resource = ResourceRef {
            api_version: Some(api_version.to_owned()),
            kind: Some(kind.to_owned()),
        };
        of_selector(
            "r",
            &Selector {
                resource,
                ..Selector::default()
            },
        )
    };
    let mut needs = of_template("t", &template("v1", "ConfigMap", &json!({})));
    needs.extend([
        select("v1", "ConfigMap"),
        select("carto.run/v1alpha1", "Runnable"),
    ]);
    let rules = found(&needs, &[]).unwrap();
    let expected = [
        ("configmaps", RUNS.to_vec()),
        ("runnables.carto.run", vec!["list"]),
    ];
    assert_eq!(
        rules,
        expected.map(|(name, verbs)| (name.to_owned(), verbs))
    );
}

#[test]
fn a_kind_that_is_not_known_has_to_be_named() {
    let error = of("example.com/v1", "Policy", &[]).unwrap_err().to_string();
    assert!(error.contains("--resource"), "{error}");
    for given in [
        vec!["policies.example.com"],
        vec!["backups.example.com", "policies.example.com"],
    ] {
        let rules = of("example.com/v1", "Policy", &given).unwrap();
        assert_eq!(rules, [("policies.example.com".to_owned(), RUNS.to_vec())]);
    }
    assert!(of("example.com/v1", "Policy", &["policies.example.org"]).is_err());
}

#[test]
fn a_resource_that_is_named_for_one_kind_stands_for_no_other_of_its_group() {
    let given = ["backups.example.com"];
    assert!(of("example.com/v1", "Backup", &given).is_ok());
    let error = of("example.com/v1", "Restore", &given).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("plural name of Restore"), "{error}");
}

#[test]
fn a_definition_with_a_star_for_its_plural_gives_no_role() {
    let star = |_: &str, _: &str| {
        Some(Resource {
            group: "example.com".to_owned(),
            plural: "*".to_owned(),
            namespaced: true,
        })
    };
    let needs = of_template("t", &template("example.com/v1", "Backup", &json!({})));
    let error = rules(&needs, &[], star).unwrap_err().to_string();
    assert!(error.contains("can be in no role"), "{error}");
}

#[test]
fn no_line_break_of_yaml_ends_the_comment_of_a_rule() {
    let account = Account {
        namespace: "shop".to_owned(),
        name: "builder".to_owned(),
    };
    let rule = RoleRule {
        namespace: None,
        names: Vec::new(),
        resource: "pods".parse().unwrap(),
        grants: vec![Grant {
            verbs: vec!["list"],
            why: "a\u{2028}b\u{2029}c\u{85}d\re\u{feff}f".to_owned(),
            optional: false,
        }],
    };
    let text = manifest::yaml("builder", &account, &[rule]).unwrap();
    assert!(
        text.contains("  # list: a\\u2028b\\u2029c\\u0085d e\\ufefff\n"),
        "{text:?}"
    );
}

#[test]
fn a_kind_that_a_tag_decides_has_to_be_named() {
    let templated = ("batch/v1", "$(runnable.spec.inputs.kind)$");
    let error = of(templated.0, templated.1, &[]).unwrap_err().to_string();
    assert!(error.contains("a tag decides"), "{error}");
    let rules = of(templated.0, templated.1, &["jobs.batch", "pods"]).unwrap();
    let names: Vec<&str> = rules.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["jobs.batch", "pods"]);
}

#[test]
fn what_is_no_resource_is_refused() {
    for wrong in [
        "",
        ".batch",
        "jobs.",
        "Jobs.batch",
        "jobs.a..b",
        "jobs/status",
        "a b",
    ] {
        assert!(wrong.parse::<Resource>().is_err(), "{wrong}");
    }
}

#[test]
fn a_kind_without_namespaces_gets_a_role_of_the_cluster() {
    let account = Account {
        namespace: "shop".to_owned(),
        name: "builder".to_owned(),
    };
    let rule = |plural: &str, namespaced| RoleRule {
        namespace: None,
        names: Vec::new(),
        resource: Resource {
            group: String::new(),
            plural: plural.to_owned(),
            namespaced,
        },
        grants: vec![Grant {
            verbs: vec!["list"],
            why: "a\nb: c".to_owned(),
            optional: false,
        }],
    };
    let rules = [rule("pods", true), rule("nodes", false)];
    let items = manifest::json("builder", &account, &rules);
    let named: Vec<_> = items
        .iter()
        .map(|it| (&it["kind"], &it["metadata"]["name"]))
        .collect();
    assert_eq!(
        json!(named),
        json!([
            ["Role", "builder"],
            ["RoleBinding", "builder"],
            ["ClusterRole", "cartouche:shop::builder"],
            ["ClusterRoleBinding", "cartouche:shop::builder"],
        ])
    );
    let own = manifest::json("cartouche:builder:build", &account, &rules);
    assert_eq!(own[2]["metadata"]["name"], "cartouche:shop:builder:build");
    assert_eq!(items[2]["metadata"].get("namespace"), None);
    let text = manifest::yaml("builder", &account, &rules).unwrap();
    assert!(text.contains("  # list: a b: c\n"), "{text}");
}

/// Returns each rule with the names that it is for.
fn named(needs: &[Need]) -> Vec<(String, String, String)> {
    let find = |api_version: &str, kind: &str| {
        resource::without_cluster(&Catalog::default(), api_version, kind)
    };
    let rules = rules(needs, &[], find).unwrap();
    let shown = |rule: &RoleRule| {
        let resource = rule.resource.to_string();
        (resource, rule.names.join(" "), rule.verbs().join(" "))
    };
    rules.iter().map(shown).collect()
}

fn sources(runnable: &str, references: &Value) -> Vec<Need> {
    let sources: Vec<cartouche_crds::InputSource> =
        serde_json::from_value(references.clone()).unwrap();
    of_sources("shop", runnable, &sources)
}

#[test]
fn what_inputs_come_from_is_named_and_takes_no_name_from_a_rule_for_all() {
    let references = json!([
        { "name": "a", "configMapKeyRef": { "name": "sizes", "key": "a" } },
        { "name": "b", "secretKeyRef": { "name": "db", "key": "b" } },
        { "name": "c", "configMapKeyRef": { "name": "sizes", "key": "c" } },
    ]);
    let mut needs = of_template("t", &template("v1", "ConfigMap", &json!({})));
    needs.extend(sources("one", &references));
    let other = json!([
        { "name": "a", "configMapKeyRef": { "name": "extras", "key": "a" } },
        { "name": "b", "secretKeyRef": { "name": "other-db", "key": "b" } },
    ]);
    needs.extend(sources("other", &other));
    let rules = named(&needs);
    let expected = [
        ("configmaps", "", "list create get delete"),
        ("configmaps", "extras sizes", "get"),
        ("secrets", "db other-db", "get watch"),
    ];
    let expected = expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned()));
    assert_eq!(rules, expected);
}

#[test]
fn what_labels_find_is_looked_for_among_all_of_its_kind() {
    let reference = |more: Value| {
        let mut of = json!({ "apiVersion": "v1", "kind": "ConfigMap", "path": ".data.a" });
        for (key, value) in more.as_object().unwrap() {
            of[key] = value.clone();
        }
        json!({ "name": "a", "objectRef": of })
    };
    let references = json!([
        reference(json!({ "name": "one" })),
        reference(json!({ "matchingLabels": { "a": "b" } })),
    ]);
    let rules = named(&sources("r", &references));
    let rules: Vec<_> = rules
        .iter()
        .map(|(_, names, verbs)| (names.as_str(), verbs.as_str()))
        .collect();
    assert_eq!(rules, [("", "list"), ("one", "get")]);
}

#[test]
fn a_verb_is_granted_on_no_object_that_does_not_need_it() {
    let need = |name: &str, verbs| Need {
        target: Target::Kind("v1".to_owned(), "Secret".to_owned()),
        namespace: None,
        names: vec![name.to_owned()],
        verbs,
        why: name.to_owned(),
        optional: false,
    };
    let rules = named(&[
        need("a", &["get"]),
        need("b", &["delete"]),
        need("c", &["get"]),
    ]);
    let rules: Vec<_> = rules
        .iter()
        .map(|(_, names, verbs)| (names.as_str(), verbs.as_str()))
        .collect();
    assert_eq!(rules, [("a c", "get"), ("b", "delete")]);
}

#[test]
fn what_is_in_another_namespace_gets_a_role_there_that_names_whose_account_it_is() {
    let account = Account {
        namespace: "shop".to_owned(),
        name: "builder".to_owned(),
    };
    let references = json!([
        { "name": "a", "runnableRef": { "name": "base", "output": "digest" } },
        { "name": "b", "runnableRef": { "name": "scan", "namespace": "ci", "output": "report" } },
        { "name": "c", "runnableRef": { "name": "build", "namespace": "ci", "output": "digest" } },
        { "name": "d", "runnableRef": { "name": "own", "namespace": "shop", "output": "digest" } },
        { "name": "e", "runnableRef": { "name": "scan", "namespace": "audit", "output": "report" } },
    ]);
    let find = |api_version: &str, kind: &str| {
        resource::without_cluster(&Catalog::default(), api_version, kind)
    };
    let rules = rules(&sources("app", &references), &[], find).unwrap();
    let items = manifest::json("cartouche:builder:runnable:app", &account, &rules);
    let shown: Vec<_> = items
        .iter()
        .map(|it| {
            let metadata = &it["metadata"];
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            (
                text(&it["kind"]),
                text(&metadata["namespace"]),
                text(&metadata["name"]),
            )
        })
        .collect();
    let outside = "cartouche:shop:builder:runnable:app";
    let expected = [
        ("Role", "shop", "cartouche:builder:runnable:app"),
        ("RoleBinding", "shop", "cartouche:builder:runnable:app"),
        ("Role", "audit", outside),
        ("RoleBinding", "audit", outside),
        ("Role", "ci", outside),
        ("RoleBinding", "ci", outside),
    ];
    let expected = expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned()));
    assert_eq!(shown, expected);
    assert_eq!(
        items[4]["rules"],
        json!([{
            "apiGroups": ["carto.run"], "resources": ["runnables"], "verbs": ["get"],
            "resourceNames": ["build", "scan"],
        }])
    );
    assert_eq!(
        items[0]["rules"][0]["resourceNames"],
        json!(["base", "own"])
    );
    assert_eq!(
        items[5]["subjects"],
        json!([{ "kind": "ServiceAccount", "name": "builder", "namespace": "shop" }])
    );
}
