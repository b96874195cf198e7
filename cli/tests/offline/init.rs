//! `cartouche init`: the files that it writes can be used as they are.

use std::fs;

use crate::support::cartouche_in;

const KINDS: [&str; 3] = ["Job", "TaskRun", "Workflow"];

/// Returns the commands that are printed as next steps, each as words.
fn steps(out: &str, program: &str) -> Vec<Vec<String>> {
    let steps = out
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.strip_prefix(program));
    steps
        .map(|step| {
            step.split_whitespace()
                .map(|word| word.trim_matches('\'').to_owned())
                .collect()
        })
        .collect()
}

#[test]
fn what_is_written_for_each_kind_is_valid_and_its_test_passes() {
    for kind in KINDS {
        let folder = tempfile::tempdir().unwrap();
        let made = cartouche_in(
            folder.path(),
            &["init", "first", "--kind", kind, "-n", "shop"],
        );
        assert_eq!((made.code, made.err.as_str()), (0, ""), "{kind}");
        let steps = steps(&made.out, "cartouche ");
        let offline: Vec<_> = steps
            .iter()
            .filter(|step| step.contains(&"first".to_owned()) && step.len() == 2)
            .collect();
        assert_eq!(offline.len(), 2, "{}", made.out);
        for step in offline {
            let words: Vec<&str> = step.iter().map(String::as_str).collect();
            let done = cartouche_in(folder.path(), &words);
            assert_eq!(done.code, 0, "{kind} {words:?}: {}{}", done.out, done.err);
        }
        let tested = cartouche_in(folder.path(), &["test"]).out;
        assert!(tested.contains("1 passed, 0 failed"), "{tested}");
        let expected = folder
            .path()
            .join("first/tests/it-succeeds/played/1-succeeded.expected.yaml");
        let expected = fs::read_to_string(expected).unwrap();
        assert!(
            expected.contains("result: Succeeded") && expected.contains("outputs:"),
            "{kind}: {expected}"
        );
    }
}

#[test]
fn a_folder_that_is_applied_by_the_names_of_its_files_has_the_template_before_the_runnable() {
    for kind in KINDS {
        let folder = tempfile::tempdir().unwrap();
        let made = cartouche_in(folder.path(), &["init", "first", "--kind", kind]);
        let wrote = made.out.lines().filter_map(|line| {
            let path = line.strip_prefix("wrote first/")?;
            (!path.contains('/')).then_some(path)
        });
        let wrote: Vec<&str> = wrote.collect();
        let entries = fs::read_dir(folder.path().join("first")).unwrap();
        let entries = entries.map(Result::unwrap).filter(|it| it.path().is_file());
        let names = entries.map(|entry| entry.file_name().into_string().unwrap());
        let mut files: Vec<String> = names.collect();
        files.sort();
        assert_eq!(wrote, files);
        let kinds = files.iter().map(|file| {
            let text = fs::read_to_string(folder.path().join("first").join(file)).unwrap();
            let kind = text.lines().find_map(|line| line.strip_prefix("kind: "));
            kind.unwrap().to_owned()
        });
        let kinds: Vec<String> = kinds.collect();
        assert_eq!(kinds, ["ServiceAccount", "ClusterRunTemplate", "Runnable"]);
    }
}

#[test]
fn the_role_is_the_one_that_rbac_prints() {
    for kind in KINDS {
        let folder = tempfile::tempdir().unwrap();
        cartouche_in(
            folder.path(),
            &["init", "first", "--kind", kind, "-n", "shop"],
        );
        let account = fs::read_to_string(folder.path().join("first/account.yaml")).unwrap();
        let printed = cartouche_in(folder.path(), &["rbac", "-f", "first"]);
        assert_eq!(printed.code, 0, "{}", printed.err);
        assert!(
            account.contains(&printed.out),
            "{kind}: {account}\n{}",
            printed.out
        );
    }
}

#[test]
fn nothing_is_written_over_unless_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("first/runnable.yaml");
    let init = |more: &[&str]| cartouche_in(folder.path(), &[&["init", "first"], more].concat());
    fs::create_dir(folder.path().join("first")).unwrap();
    fs::write(&file, "mine").unwrap();
    let refused = init(&[]);
    assert_eq!((refused.code, refused.out.as_str()), (2, ""));
    assert!(
        refused.err.contains("first/runnable.yaml") && refused.err.contains("--force"),
        "{}",
        refused.err
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    assert!(!folder.path().join("first/run-template.yaml").exists());
    assert_eq!(init(&["-o", "a b/c's"]).code, 0);
    assert_eq!(init(&["--force"]).code, 0);
    assert_ne!(fs::read_to_string(&file).unwrap(), "mine");
}

#[test]
fn what_is_printed_is_one_stream_of_manifests() {
    let folder = tempfile::tempdir().unwrap();
    let printed = cartouche_in(folder.path(), &["init", "-k", "workflow", "-o", "-"]);
    assert_eq!((printed.code, printed.err.as_str()), (0, ""));
    assert!(
        fs::read_dir(folder.path()).unwrap().next().is_none(),
        "nothing is written"
    );
    fs::write(folder.path().join("all.yaml"), &printed.out).unwrap();
    let again = cartouche_in(folder.path(), &["init", "-k", "workflow", "--stdout"]);
    assert_eq!(again.out, printed.out);
    let valid = cartouche_in(folder.path(), &["validate", "all.yaml"]);
    assert_eq!(valid.code, 0, "{}{}", valid.out, valid.err);
    assert!(
        valid.err.contains("1 template and 1 Runnable"),
        "{}",
        valid.err
    );
}

#[test]
fn a_name_that_no_object_can_have_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["Hello", "a.b", "-a", "a-", "a/b", "", "a b"] {
        let refused = cartouche_in(folder.path(), &["init", "--", name]);
        assert_eq!(refused.code, 2, "{name}");
    }
}

#[test]
fn a_name_that_yaml_takes_for_something_else_is_one_all_the_same() {
    for kind in KINDS {
        for name in ["no", "on", "null", "123", "1e3", "true"] {
            let folder = tempfile::tempdir().unwrap();
            let made = cartouche_in(folder.path(), &["init", name, "--kind", kind, "-n", name]);
            assert_eq!((made.code, made.err.as_str()), (0, ""), "{kind} {name}");
            let done = cartouche_in(folder.path(), &["validate", name]);
            assert_eq!(done.code, 0, "{kind} {name}: {}{}", done.out, done.err);
            for file in ["run-template.yaml", "runnable.yaml", "account.yaml"] {
                let text = fs::read_to_string(folder.path().join(name).join(file)).unwrap();
                let bare = format!(": {name}\n");
                assert!(!text.contains(&bare), "{kind} {name} {file}: {text}");
            }
        }
    }
}
