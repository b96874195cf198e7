//! The ways in which a command is given files, and one of them that cannot be read.

use std::fs;

use crate::support::{cartouche_in, copy_of};

/// Returns the example `job`, with two files that cannot be read.
fn with_broken() -> tempfile::TempDir {
    let folder = copy_of("job");
    let broken = "metadata:\n  name: shop-{{ session_namespace }}\n  {{ x }}\n";
    fs::write(folder.path().join("broken.yaml"), broken).unwrap();
    fs::write(folder.path().join("not-utf-8.yaml"), b"a: \xff\n").unwrap();
    folder
}

#[test]
fn every_command_that_takes_files_takes_them_by_option_and_by_position() {
    let folder = copy_of("job");
    for command in [
        &["validate"][..],
        &["render"],
        &["migrate", "check"],
        &["explain"],
        &["graph"],
        &["rbac"],
    ] {
        let called = |files: &[&str]| {
            let output = cartouche_in(folder.path(), &[command, files].concat());
            assert_eq!(output.code, 0, "{command:?} {files:?}: {}", output.err);
            output.out
        };
        let by_option = called(&["-f", "./"]);
        assert_eq!(called(&["./"]), by_option, "{command:?}");
        let files = ["template.yaml", "runnable.yaml", "account.yaml"];
        assert_eq!(
            called(&["-f", files[0], "-f", files[1], "-f", files[2]]),
            by_option,
            "{command:?}"
        );
    }
}

#[test]
fn a_folder_that_is_called_like_a_runnable_is_none_of_the_files() {
    let folder = copy_of("job");
    fs::create_dir(folder.path().join("hello")).unwrap();
    let graph = cartouche_in(
        folder.path(),
        &[
            "graph",
            "hello",
            "-f",
            "runnable.yaml",
            "-n",
            "cartouche-examples",
        ],
    );
    assert_eq!(graph.code, 0, "{}", graph.err);
    // Without a cluster, a name leads nowhere.
    assert_eq!(cartouche_in(folder.path(), &["graph", "hello"]).code, 2);
}

#[test]
fn a_file_that_cannot_be_read_ends_no_command_and_is_told_without_colours() {
    let folder = with_broken();
    for command in [
        &["migrate", "check", "."][..],
        &["explain", "-f", "."],
        &["explain", "-f", ".", "-o", "json"],
        &["--color", "never", "explain", "-f", "."],
        &["graph", "-f", "."],
        &["rbac", "-f", "."],
        &["rbac", "-f", ".", "-o", "json"],
    ] {
        let output = cartouche_in(folder.path(), command);
        assert_eq!(output.code, 2, "{command:?}: {}", output.err);
        assert!(
            command[0] == "graph" || output.out.contains("greet") || output.out.contains("hello"),
            "{command:?}"
        );
        for file in ["broken.yaml", "not-utf-8.yaml"] {
            assert!(output.err.contains(file), "{command:?}: {}", output.err);
        }
        for text in [&output.out, &output.err] {
            let is_escaped = text.contains('\u{1b}') || text.contains("\\u001b");
            assert!(!is_escaped, "{command:?}: {text}");
        }
    }
}

#[test]
fn a_role_of_files_of_which_one_is_missing_takes_the_place_of_no_whole_one() {
    let folder = with_broken();
    let rbac = cartouche_in(folder.path(), &["rbac", "-f", "."]);
    assert!(rbac.out.starts_with("# "), "{}", rbac.out);
    assert!(
        rbac.out.contains("name: cartouche:greeter:all:"),
        "{}",
        rbac.out
    );
    let named = cartouche_in(folder.path(), &["rbac", "-f", ".", "--name", "own"]);
    assert_eq!((named.code, named.out.as_str()), (2, ""), "{}", named.err);
}

#[test]
fn a_file_alone_that_cannot_be_read_is_an_error() {
    let folder = with_broken();
    for command in [
        &["graph", "-f"][..],
        &["explain", "-f"],
        &["migrate", "check"],
    ] {
        let output = cartouche_in(folder.path(), &[command, &["broken.yaml"]].concat());
        assert_eq!((output.code, output.out.as_str()), (2, ""), "{command:?}");
        assert!(!output.err.contains('\u{1b}'), "{}", output.err);
    }
}

#[test]
fn a_file_that_is_named_and_holds_no_object_is_told() {
    let folder = tempfile::tempdir().unwrap();
    for (text, missing) in [
        ("a: b\n", "apiVersion and kind are missing"),
        ("apiVersion: v1\n", "kind is missing"),
    ] {
        fs::write(folder.path().join("a.yaml"), text).unwrap();
        let output = cartouche_in(folder.path(), &["validate", "a.yaml"]);
        let said = format!("{}{}", output.out, output.err);
        let message = format!("this is not a Kubernetes object: {missing}\n");
        assert!(output.code == 1 && said.contains(&message), "{said}");
    }
}
