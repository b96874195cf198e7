//! The files in pages of `docs` work as they stand there.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::support::{cartouche_in, repository, write_files};

#[test]
fn the_repository_of_the_page_of_flux_passes_the_check_that_the_page_names() {
    let folder = tempfile::tempdir().unwrap();
    let written = write_files("how-to/flux.md", folder.path());
    for file in [
        "platform/templates/migrate-database.yaml",
        "teams/orders/migrate/account.yaml",
        "teams/orders/migrate/runnable.yaml",
    ] {
        assert!(written.iter().any(|name| name == file), "{written:?}");
    }
    let arguments = ["validate", "platform", "teams", "--deny-warnings"];
    let page = fs::read_to_string(repository().join("docs/how-to/flux.md")).unwrap();
    assert!(page.contains(&format!("$ cartouche {}\n", arguments.join(" "))));
    let checked = cartouche_in(folder.path(), &arguments);
    assert_eq!(checked.code, 0, "{}{}", checked.out, checked.err);
    let wanted = "1 template and 1 Runnable: no errors";
    assert!(checked.err.contains(wanted), "{}", checked.err);
    // The role that the page gives is enough: what `rbac` prints is in it.
    let printed = cartouche_in(
        folder.path(),
        &["rbac", "-f", ".", "-n", "orders", "-o", "json"],
    );
    assert_eq!(printed.code, 0, "{}", printed.err);
    let account = folder.path().join("teams/orders/migrate/account.yaml");
    let account = fs::read_to_string(account).unwrap();
    for verb in ["get", "list", "create", "delete"] {
        let asked = printed.out.contains(&format!("\"{verb}\""));
        assert!(asked && account.contains(verb), "{verb}: {}", printed.out);
    }
}

/// Checks a recipe, and renders it as the run that is made.
fn rendered(folder: &Path, recipe: &str) -> Value {
    let checked = cartouche_in(folder, &["validate", recipe, "--deny-warnings"]);
    assert_eq!(checked.code, 0, "{}{}", checked.out, checked.err);
    let rendered = cartouche_in(folder, &["render", recipe, "-o", "json"]);
    assert_eq!(rendered.code, 0, "{}", rendered.err);
    serde_json::from_str(&rendered.out).unwrap()
}

/// Renders the run of a recipe of how-to/write-templates.md whose template is for inputs of any kind.
fn with_inputs(recipe: &str, template: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    write_files("how-to/write-templates.md", folder.path());
    let runnable = format!(
        "apiVersion: carto.run/v1alpha1\nkind: Runnable\nmetadata: {{name: orders, namespace: shop, uid: u}}\n\
         spec:\n  runTemplateRef: {{name: {template}}}\n  inputs: {{size: 3, name: \"a \\\"b\\\"\"}}\n"
    );
    fs::write(folder.path().join(recipe).join("runnable.yaml"), runnable).unwrap();
    rendered(folder.path(), recipe)
}

/// Reads a text in a run that is YAML.
fn yaml(text: &Value) -> Value {
    serde_saphyr::from_str(text.as_str().unwrap()).unwrap()
}

fn inputs() -> Value {
    json!({ "size": 3, "name": "a \"b\"" })
}

#[test]
fn a_workflow_has_arguments_and_context_as_artifacts_where_its_container_looks() {
    let run = with_inputs("runner-workflow", "make-database-in-workflow");
    let work = &run["spec"]["templates"][0];
    let artifacts = work["inputs"]["artifacts"].as_array().unwrap();
    let [args, context] = &artifacts[..] else {
        panic!("{work}");
    };
    assert_eq!(yaml(&args["raw"]["data"]), inputs());
    let owner = json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "Runnable", "name": "orders", "uid": "u",
        "controller": true, "blockOwnerDeletion": false,
    });
    let platform =
        json!({ "namespace": "shop", "serviceAccountName": "workflow-pods", "ownerRef": owner });
    let wanted = json!({
        "name": run["metadata"]["name"], "dryRun": false, "timeout": "10m", "platform": platform,
    });
    assert_eq!(yaml(&context["raw"]["data"]), wanted);
    assert!(run["metadata"]["name"].is_string(), "{run}");
    assert_eq!(run["spec"]["serviceAccountName"], "workflow-pods");
    let variables = json!([
        { "name": "RUNNER_ARGS_PATH", "value": args["path"] },
        { "name": "RUNNER_CONTEXT_PATH", "value": context["path"] },
    ]);
    assert_eq!(work["container"]["env"], variables);
    let paths = [&args["path"], &context["path"]];
    assert_eq!(paths, ["/runner/args.yaml", "/runner/context.yaml"]);
}

#[test]
fn a_taskrun_has_arguments_in_an_annotation_that_a_volume_makes_a_file_of() {
    let run = with_inputs("runner-taskrun", "make-database-in-taskrun");
    let key = "example.com/runner-args";
    assert_eq!(yaml(&run["metadata"]["annotations"][key]), inputs());
    let task = &run["spec"]["taskSpec"];
    let field = format!("metadata.annotations['{key}']");
    let item = json!({ "path": "args.yaml", "fieldRef": { "fieldPath": field } });
    let volume = json!([{ "name": "runner", "downwardAPI": { "items": [item] } }]);
    assert_eq!(task["volumes"], volume);
    let step = &task["steps"][0];
    let mount = json!([{ "name": "runner", "mountPath": "/runner", "readOnly": true }]);
    assert_eq!(step["volumeMounts"], mount);
    let variable = json!([{ "name": "RUNNER_ARGS_PATH", "value": "/runner/args.yaml" }]);
    assert_eq!(step["env"], variable);
}

#[test]
fn what_comes_from_git_is_fetched_with_a_reference_and_applied_by_a_script_of_the_template() {
    let folder = tempfile::tempdir().unwrap();
    write_files("how-to/write-templates.md", folder.path());
    let checked = cartouche_in(folder.path(), &["validate", "fetched", "--deny-warnings"]);
    assert_eq!(checked.code, 0, "{}{}", checked.out, checked.err);
    let secret = "{apiVersion: v1, kind: Secret, metadata: {name: git, namespace: shop}, stringData: {password: planted}}";
    fs::write(folder.path().join("fetched/secret.yaml"), secret).unwrap();
    let run = rendered(folder.path(), "fetched");
    assert!(!run.to_string().contains("planted"), "{run}");
    let pod = &run["spec"]["template"];
    let (fetch, apply) = (
        &pod["spec"]["initContainers"][0],
        &pod["spec"]["containers"][0],
    );
    let variables = json!([
        { "name": "URL", "value": "https://git.example.com/platform/network.git" },
        { "name": "REVISION", "value": "v1.4.0" },
        { "name": "GIT_USER", "value": "deploy" },
        { "name": "GIT_PASSWORD", "valueFrom": { "secretKeyRef": { "name": "git", "key": "password" } } },
    ]);
    assert_eq!(fetch["env"], variables);
    // It is read by the script, and by no tag.
    let script = fetch["args"][0].as_str().unwrap();
    assert!(script.contains("\"$GIT_PASSWORD\""), "{script}");
    let shared = json!({ "name": "work", "mountPath": "/work" });
    assert_eq!(fetch["volumeMounts"], json!([shared]));
    // Shell and script, since no file is executable.
    assert_eq!(apply["command"], json!(["sh", "/scripts/apply.sh"]));
    let mounts = apply["volumeMounts"].as_array().unwrap();
    assert!(mounts.contains(&shared), "{apply}");
    let mount = mounts
        .iter()
        .find(|it| it["mountPath"] == "/scripts/apply.sh");
    let mount = mount.unwrap_or_else(|| panic!("{apply}"));
    assert_eq!(mount["readOnly"], true);
    let volume = pod["spec"]["volumes"].as_array().unwrap();
    let volume = volume
        .iter()
        .find(|it| it["name"] == mount["name"])
        .unwrap();
    let items = volume["downwardAPI"]["items"].as_array().unwrap();
    let item = items
        .iter()
        .find(|it| it["path"] == mount["subPath"])
        .unwrap();
    let field = item["fieldRef"]["fieldPath"].as_str().unwrap();
    assert_eq!(field, "metadata.annotations['carto.run/runner-file-0']");
    let annotations = &pod["metadata"]["annotations"];
    assert_eq!(
        annotations["carto.run/runner-file-0"],
        "set -eu\ncd /work/module\nexec ./apply --arguments \"$RUNNER_ARGS_PATH\"\n"
    );
    assert_eq!(
        yaml(&annotations["carto.run/runner-args"]),
        json!({ "revision": "v1.4.0" })
    );
}
