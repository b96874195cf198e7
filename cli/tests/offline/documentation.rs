//! What pages of `docs` have one write works as it stands there.

use std::{fs, path::Path};

use crate::support::{cartouche_in, repository};

/// Writes the manifests of a page whose first line names their file, below a folder.
fn write_files(page: &str, folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(repository().join("docs").join(page)).unwrap();
    let blocks = text.split("```yaml\n").skip(1);
    let mut written = Vec::new();
    for block in blocks.filter_map(|rest| rest.split("```").next()) {
        let named = block
            .lines()
            .next()
            .and_then(|line| line.strip_prefix("# "));
        let Some(name) = named.filter(|name| Path::new(name).extension().is_some()) else {
            continue;
        };
        let file = folder.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, block).unwrap();
        written.push(name.to_owned());
    }
    written
}

#[test]
fn the_repository_of_the_gitops_page_passes_the_check_that_the_page_names() {
    let folder = tempfile::tempdir().unwrap();
    let written = write_files("gitops.md", folder.path());
    for file in [
        "platform/templates/migrate-database.yaml",
        "teams/orders/migrate/account.yaml",
        "teams/orders/migrate/runnable.yaml",
    ] {
        assert!(written.iter().any(|name| name == file), "{written:?}");
    }
    let arguments = ["validate", "platform", "teams", "--deny-warnings"];
    let page = fs::read_to_string(repository().join("docs/gitops.md")).unwrap();
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

#[test]
fn the_recipes_for_files_pass_the_check_and_give_the_inputs_as_json() {
    let folder = tempfile::tempdir().unwrap();
    write_files("template-recipes.md", folder.path());
    let runnable = |template: &str| {
        format!(
            "apiVersion: carto.run/v1alpha1\nkind: Runnable\nmetadata: {{name: orders, namespace: shop, uid: u}}\n\
             spec:\n  runTemplateRef: {{name: {template}}}\n  inputs: {{size: 3, name: \"a \\\"b\\\"\"}}\n"
        )
    };
    for (recipe, template, args) in [
        (
            "runner-workflow",
            "make-database-in-workflow",
            "/spec/templates/0/inputs/artifacts/0/raw/data",
        ),
        (
            "runner-taskrun",
            "make-database-in-taskrun",
            "/metadata/annotations/example.com~1runner-args",
        ),
    ] {
        let file = folder.path().join(recipe).join("runnable.yaml");
        fs::write(&file, runnable(template)).unwrap();
        let checked = cartouche_in(folder.path(), &["validate", recipe, "--deny-warnings"]);
        assert_eq!(checked.code, 0, "{}{}", checked.out, checked.err);
        let rendered = cartouche_in(folder.path(), &["render", recipe, "-o", "json"]);
        let run: serde_json::Value = serde_json::from_str(&rendered.out).unwrap();
        let args = run.pointer(args).unwrap().as_str().unwrap();
        let args: serde_json::Value = serde_json::from_str(args).unwrap();
        assert_eq!(args, serde_json::json!({ "size": 3, "name": "a \"b\"" }));
    }
    let checked = cartouche_in(folder.path(), &["validate", "fetched", "--deny-warnings"]);
    assert_eq!(checked.code, 0, "{}{}", checked.out, checked.err);
}
