//! `cartouche rbac` of files.

mod accounts;
mod in_part;

use std::fs;

use crate::support::{cartouche, cartouche_in, copy_of, edit, played::Played, replace, repository};
use serde_json::{Value, json};

#[test]
fn the_role_of_an_example_says_what_each_verb_is_for() {
    let output = cartouche(&["rbac", "-f", "examples/selector"]);
    assert_eq!((output.code, output.err.as_str()), (0, ""));
    insta::assert_snapshot!(output.out);
}

/// Returns the rules that a document in YAML or JSON grants: verb, resource and the names of objects.
fn granted(items: &[Value]) -> Vec<String> {
    let mut granted = Vec::new();
    let texts = |value: &Value| -> Vec<String> {
        let texts = value.as_array().unwrap().iter();
        texts.map(|it| it.as_str().unwrap().to_owned()).collect()
    };
    for role in items.iter().filter(|it| it["kind"] == "Role") {
        for rule in role["rules"].as_array().unwrap() {
            let names = &rule["resourceNames"];
            let names = names
                .as_array()
                .map(|_| format!(" {}", texts(names).join(" ")));
            let names = names.unwrap_or_default();
            for resource in texts(&rule["resources"]) {
                granted.extend(
                    texts(&rule["verbs"])
                        .iter()
                        .map(|verb| format!("{verb} {resource}{names}")),
                );
            }
        }
    }
    granted.sort();
    granted
}

fn json(arguments: &[&str]) -> Vec<Value> {
    let output = cartouche(arguments);
    assert_eq!(output.code, 0, "{}", output.err);
    let list: Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!(list["kind"], "List");
    list["items"].as_array().unwrap().clone()
}

#[test]
fn the_accounts_of_the_examples_may_do_what_is_printed_for_them_but_for_what_is_optional() {
    let examples = [
        "job",
        "retry",
        "selector",
        "inputs",
        "secret-input",
        "secret-output",
        "health-rule",
        "tekton-taskrun",
        "tekton-pipelinerun",
        "argo-workflow",
        "supply-chain",
    ];
    for example in examples {
        let path = format!("examples/{example}");
        let printed = json(&["rbac", "-f", &path, "-o", "json"]);
        let text = fs::read_to_string(repository().join(&path).join("account.yaml")).unwrap();
        let kept: Vec<Value> = text
            .split("---")
            .map(|document| serde_saphyr::from_str(document).unwrap())
            .collect();
        let mut now = granted(&printed);
        let mut before = granted(&kept);
        // Mostly needed only to explain why a run failed.
        for all in [&mut now, &mut before] {
            all.retain(|it| it != "list pods");
        }
        assert_eq!(now, before, "{example}");
        let namespace = |role: &Value| role["metadata"]["namespace"].clone();
        assert_eq!(namespace(&printed[0]), namespace(&kept[1]), "{example}");
    }
}

#[test]
fn a_definition_among_the_files_gives_the_plural_name() {
    let folder = copy_of("health-rule");
    let known = cartouche_in(folder.path(), &["rbac", "-f", "."]);
    assert_eq!(known.code, 0, "{}", known.err);
    fs::remove_file(folder.path().join("crd.yaml")).unwrap();
    let unknown = cartouche_in(folder.path(), &["rbac", "-f", "."]);
    assert_eq!((unknown.code, unknown.out.as_str()), (2, ""));
    assert!(
        unknown.err.contains("hint: ") && unknown.err.contains("--resource backups."),
        "{}",
        unknown.err
    );
    assert!(known.out.contains("- backups\n"), "{}", known.out);
}

#[test]
fn a_templated_kind_is_told_and_may_be_named() {
    let folder = copy_of("job");
    edit(
        &folder,
        "template.yaml",
        "kind: Job",
        "kind: $(runnable.spec.inputs.name)$",
    );
    let refused = cartouche_in(folder.path(), &["rbac", "-f", "."]);
    assert_eq!(refused.code, 2);
    assert!(
        refused.err.contains("a tag decides the kind of these runs"),
        "{}",
        refused.err
    );
    let named = cartouche_in(
        folder.path(),
        &["rbac", "-f", ".", "--resource", "jobs.batch"],
    );
    assert_eq!(named.code, 0, "{}", named.err);
    assert!(named.out.contains("- jobs\n"), "{}", named.out);
}

#[test]
fn one_account_is_meant_and_asked_for_if_it_is_not_plain() {
    let folder = copy_of("job");
    let runnable = folder.path().join("runnable.yaml");
    let first = fs::read_to_string(&runnable).unwrap();
    fs::write(
        folder.path().join("other.yaml"),
        first.replace("hello", "other"),
    )
    .unwrap();
    replace(&folder.path().join("other.yaml"), "greeter", "stranger");
    let both = cartouche_in(folder.path(), &["rbac", "-f", "."]);
    assert_eq!(both.code, 2);
    assert!(
        both.err
            .contains("more than one account: greeter, stranger"),
        "{}",
        both.err
    );
    for arguments in [["--account", "stranger"], ["-r", "other"]] {
        let arguments = [&["rbac", "-f", "."], &arguments[..]].concat();
        let one = cartouche_in(folder.path(), &arguments);
        assert_eq!(one.code, 0, "{}", one.err);
        assert!(
            one.out.contains("stranger") && !one.out.contains("greeter"),
            "{}",
            one.out
        );
    }
    fs::remove_file(runnable).unwrap();
    fs::remove_file(folder.path().join("other.yaml")).unwrap();
    let none = cartouche_in(folder.path(), &["rbac", "-f", "."]);
    assert_eq!(none.code, 2);
    assert!(
        none.err.contains("which account?") && none.err.contains("--account"),
        "{}",
        none.err
    );
    let named = cartouche_in(
        folder.path(),
        &[
            "rbac",
            "greet",
            "-f",
            ".",
            "--account",
            "a",
            "-n",
            "b",
            "--name",
            "c",
        ],
    );
    assert_eq!(named.code, 0, "{}", named.err);
    assert!(
        named.out.contains("name: c\n  namespace: b\n"),
        "{}",
        named.out
    );
}

#[test]
fn a_name_that_no_object_can_have_gives_no_role() {
    let names = [
        ("template.yaml", "name: greet", "template"),
        ("runnable.yaml", "name: hello", "Runnable"),
        ("runnable.yaml", "greeter", "ServiceAccount"),
    ];
    for (file, from, what) in names {
        let folder = copy_of("job");
        let to = format!("{from}\\u2028- apiGroups: ['*']").replace("name: ", "name: \"");
        let to = match what {
            "ServiceAccount" => format!("\"{to}\""),
            _ => format!("{to}\""),
        };
        edit(&folder, file, from, &to);
        if what == "template" {
            edit(
                &folder,
                "runnable.yaml",
                "name: greet\n",
                &format!("{to}\n"),
            );
        }
        let refused = cartouche_in(folder.path(), &["rbac", "-f", "."]);
        assert_eq!((refused.code, refused.out.as_str()), (2, ""), "{what}");
        let told = format!("is not a valid name of a {what}");
        assert!(refused.err.contains(&told), "{}", refused.err);
    }
}

/// Returns the name of the role that is printed, and of its binding.
fn role_of(folder: &std::path::Path, arguments: &[&str]) -> String {
    let printed = cartouche_in(folder, &[&["rbac", "-o", "json"], arguments].concat());
    assert_eq!(printed.code, 0, "{}", printed.err);
    let list: Value = serde_json::from_str(&printed.out).unwrap();
    let names = [0, 1].map(|item| list["items"][item]["metadata"]["name"].as_str().unwrap());
    assert_eq!(names[0], names[1]);
    assert_eq!(list["items"][1]["roleRef"]["name"], names[0]);
    names[0].to_owned()
}

#[test]
fn a_role_takes_no_right_away_that_another_of_the_account_gives() {
    let folder = copy_of("job");
    let template = fs::read_to_string(folder.path().join("template.yaml")).unwrap();
    let other = template.replace("name: greet", "name: part");
    fs::write(folder.path().join("other.yaml"), other).unwrap();
    let of = |templates: &[&str]| {
        let arguments = ["-f", ".", "-n", "demo", "--account", "greeter"];
        role_of(folder.path(), &[templates, &arguments].concat())
    };
    assert_eq!(of(&["greet"]), "cartouche:greeter:greet");
    assert_eq!(of(&["part"]), "cartouche:greeter:part");
    // Two folders may each have several.
    let several = of(&["greet", "part"]);
    assert!(several.starts_with("cartouche:greeter:all:"), "{several}");
    let refused = ["rbac", "greet", "-f", ".", "--name", "a/b"];
    let refused = cartouche_in(folder.path(), &refused);
    assert_eq!((refused.code, refused.out.as_str()), (2, ""));
}

const SOURCES: &str = "  inputsFrom:
    - {name: size, configMapKeyRef: {name: sizes, key: small}}
    - {name: password, secretKeyRef: {name: db, key: password}}
";

/// Returns the example `job`, with inputs from other objects.
fn with_sources() -> tempfile::TempDir {
    let folder = copy_of("job");
    edit(
        &folder,
        "runnable.yaml",
        "spec:\n",
        &format!("spec:\n{SOURCES}"),
    );
    folder
}

#[test]
fn the_objects_that_inputs_come_from_are_named_in_the_role() {
    let folder = with_sources();
    let printed = cartouche_in(folder.path(), &["rbac", "-f", "."]);
    assert_eq!(printed.code, 0, "{}", printed.err);
    for rule in [
        "resourceNames:\n    - sizes\n    resources:\n    - configmaps\n    verbs:\n    - get\n",
        "resourceNames:\n    - db\n    resources:\n    - secrets\n    verbs:\n    - get\n    - watch\n",
        "# watch: to notice their changes immediately for the Runnable hello (optional)\n",
        "# get: to read inputs of the Runnable hello\n",
    ] {
        assert!(printed.out.contains(rule), "{rule}: {}", printed.out);
    }
    // Another Runnable of the template has another role.
    let role = role_of(folder.path(), &["-f", "."]);
    assert_eq!(role, "cartouche:greeter:runnable:hello");
    edit(&folder, "runnable.yaml", "name: sizes", "name: '*'");
    let refused = cartouche_in(folder.path(), &["rbac", "-f", "."]);
    assert_eq!((refused.code, refused.out.as_str()), (2, ""));
    assert!(
        refused.err.contains("is not a valid name of a ConfigMap"),
        "{}",
        refused.err
    );
}

/// An API server whose accounts may do this with named objects, and all else that needs no name in their namespace.
fn who_may(with_named: fn(&Value) -> bool) -> Played {
    let list = |group: &str, kinds: &[(&str, &str)]| {
        let resources = kinds.iter().map(|(kind, plural)| {
            json!({ "kind": kind, "name": plural, "singularName": "", "namespaced": true, "verbs": ["get"] })
        });
        json!({ "kind": "APIResourceList", "groupVersion": group, "resources": resources.collect::<Vec<_>>() })
    };
    Played::serve(move |request| match request.path.as_str() {
        "/api/v1" => Some(list(
            "v1",
            &[
                ("ConfigMap", "configmaps"),
                ("Secret", "secrets"),
                ("Pod", "pods"),
            ],
        )),
        "/apis/carto.run/v1alpha1" => {
            Some(list("carto.run/v1alpha1", &[("Runnable", "runnables")]))
        }
        "/apis/batch/v1" => Some(list("batch/v1", &[("Job", "jobs")])),
        path if path.starts_with("/apis/authorization.k8s.io/v1/subjectaccessreviews") => {
            let mut review: Value = serde_json::from_str(&request.body).unwrap();
            let asked = &review["spec"]["resourceAttributes"];
            let is_source = asked["resource"] == "configmaps" || asked["resource"] == "secrets";
            let is_elsewhere = asked["namespace"] != "cartouche-examples";
            let allowed = !is_elsewhere && (!is_source || with_named(asked));
            review["status"] = json!({ "allowed": allowed });
            Some(review)
        }
        _ => None,
    })
}

#[test]
fn the_check_asks_for_each_object_by_its_name() {
    let (folder, played) = (with_sources(), who_may(|asked| asked["name"] == "sizes"));
    let path = folder.path().display().to_string();
    let checked = played.cartouche(&["rbac", "-f", &path, "--check"]);
    assert_eq!(checked.code, 1, "{}", checked.err);
    let told = "ServiceAccount cartouche-examples/greeter may not\n  get secrets/db: to read inputs of the Runnable hello\n";
    assert!(checked.out.starts_with(told), "{}", checked.out);
    let json = played.cartouche(&["rbac", "-f", &path, "--check", "-o", "json"]);
    let rights: Value = serde_json::from_str(&json.out).unwrap();
    let rights = rights["rights"].as_array().unwrap();
    let named: Vec<_> = rights.iter().filter(|it| !it["name"].is_null()).collect();
    let shown = named
        .iter()
        .map(|it| (it["name"].as_str().unwrap(), it["allowed"] == true));
    let wanted = [("sizes", true), ("db", false), ("db", false)];
    assert_eq!(shown.collect::<Vec<_>>(), wanted);
}

#[test]
fn that_a_secret_may_not_be_watched_is_told_and_stops_nothing() {
    let (folder, played) = (with_sources(), who_may(|asked| asked["verb"] == "get"));
    let path = folder.path().display().to_string();
    let checked = played.cartouche(&["rbac", "-f", &path, "--check"]);
    assert_eq!(checked.code, 0, "{}", checked.err);
    let told =
        "watch secrets/db: to notice their changes immediately for the Runnable hello (optional)\n";
    assert!(checked.out.contains(told), "{}", checked.out);
}

/// Two Runnables of another namespace give inputs, and one of its own.
fn with_runnables() -> tempfile::TempDir {
    let folder = copy_of("job");
    let references = "  inputsFrom:\n    - {name: name, runnableRef: {name: base, output: pods}}\n    - {name: more, runnableRef: {name: scan, namespace: ci, output: pods}}\n  runTemplateRef:";
    edit(&folder, "runnable.yaml", "  runTemplateRef:", references);
    folder
}

#[test]
fn runnables_that_inputs_come_from_are_named_where_they_are() {
    let folder = with_runnables();
    let path = folder.path().display().to_string();
    let printed = json(&["rbac", "-f", &path, "-o", "json"]);
    let places: Vec<_> = printed
        .iter()
        .map(|it| it["metadata"]["namespace"].as_str().unwrap())
        .collect();
    assert_eq!(
        places,
        ["cartouche-examples", "cartouche-examples", "ci", "ci"]
    );
    assert!(granted(&printed[..2]).contains(&"get runnables base".to_owned()));
    assert_eq!(granted(&printed[2..]), ["get runnables scan"]);
    let text = cartouche(&["rbac", "-f", &path]).out;
    assert!(
        text.contains("# get: to read inputs of the Runnable hello\n"),
        "{text}"
    );
}

#[test]
fn the_check_asks_in_the_namespace_that_a_runnable_is_in() {
    let (folder, played) = (with_runnables(), who_may(|_| true));
    let path = folder.path().display().to_string();
    let checked = played.cartouche(&["rbac", "-f", &path, "--check"]);
    assert_eq!(checked.code, 1, "{}", checked.err);
    let told = "may not\n  get runnables.carto.run/scan in the namespace ci: to read inputs of the Runnable hello\nWithout";
    assert!(checked.out.contains(told), "{}", checked.out);
}
