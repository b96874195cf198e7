//! The accounts that roles are for: printed with them, and of several namespaces.

use std::fs;

use serde_json::Value;

use crate::support::{cartouche_in, copy_of, edit};

fn items(folder: &tempfile::TempDir, arguments: &[&str]) -> Vec<Value> {
    let arguments = [&["rbac", "-f", ".", "-o", "json"], arguments].concat();
    let printed = cartouche_in(folder.path(), &arguments);
    assert_eq!(printed.code, 0, "{}", printed.err);
    let list: Value = serde_json::from_str(&printed.out).unwrap();
    list["items"].as_array().unwrap().clone()
}

/// Returns kind, namespace and name of each.
fn named(items: &[Value]) -> Vec<String> {
    let text = |item: &Value, at: &str| item.pointer(at).unwrap().as_str().unwrap().to_owned();
    let name = |item: &Value| {
        let [kind, namespace, name] =
            ["/kind", "/metadata/namespace", "/metadata/name"].map(|at| text(item, at));
        format!("{kind} {namespace}/{name}")
    };
    items.iter().map(name).collect()
}

#[test]
fn an_account_is_printed_unless_it_is_among_the_files_or_in_every_namespace() {
    let folder = copy_of("job");
    let has_account = |items: &[Value]| items.iter().any(|it| it["kind"] == "ServiceAccount");
    assert!(!has_account(&items(&folder, &[])));
    fs::remove_file(folder.path().join("account.yaml")).unwrap();
    let printed = items(&folder, &[]);
    assert_eq!(
        named(&printed).last().unwrap(),
        "ServiceAccount cartouche-examples/greeter"
    );
    // It has no field that an apply could overwrite.
    let account = printed.last().unwrap().as_object().unwrap();
    assert_eq!(account.len(), 3, "{account:?}");
    let text = cartouche_in(folder.path(), &["rbac", "-f", "."]).out;
    assert!(
        text.contains("---\n# leave this out if the account exists"),
        "{text}"
    );
    assert!(!has_account(&items(
        &folder,
        &["--account", "default", "-n", "demo"]
    )));
}

#[test]
fn roles_of_several_namespaces_are_printed_together() {
    let folder = copy_of("job");
    fs::remove_file(folder.path().join("account.yaml")).unwrap();
    let runnable = fs::read_to_string(folder.path().join("runnable.yaml")).unwrap();
    for (team, account) in [("blue", "greeter"), ("red", "painter")] {
        let other = runnable.replace("cartouche-examples", team);
        let other = other.replace(
            "serviceAccountName: greeter",
            &format!("serviceAccountName: {account}"),
        );
        fs::write(folder.path().join(format!("{team}.yaml")), other).unwrap();
    }
    let refused = cartouche_in(folder.path(), &["rbac", "-f", "."]);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("--all-namespaces"), "{}", refused.err);
    let of = |namespace: &str, account: &str| {
        [
            format!("Role {namespace}/cartouche:{account}:greet"),
            format!("RoleBinding {namespace}/cartouche:{account}:greet"),
            format!("ServiceAccount {namespace}/{account}"),
        ]
    };
    let (blue, red) = (of("blue", "greeter"), of("red", "painter"));
    let all = [
        blue.clone(),
        of("cartouche-examples", "greeter"),
        red.clone(),
    ]
    .concat();
    assert_eq!(named(&items(&folder, &["-A"])), all);
    assert_eq!(
        named(&items(&folder, &["-n", "blue", "-n", "red"])),
        [blue, red].concat()
    );
    let one_name = cartouche_in(folder.path(), &["rbac", "-f", ".", "-A", "--name", "own"]);
    assert_eq!(one_name.code, 2);
    assert!(
        one_name
            .err
            .contains("--name is for the role of one account"),
        "{}",
        one_name.err
    );
    edit(&folder, "red.yaml", "  namespace: red\n", "");
    let nowhere = cartouche_in(folder.path(), &["rbac", "-f", ".", "-A"]);
    assert!(
        nowhere.err.contains("names no namespace"),
        "{}",
        nowhere.err
    );
}
