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
