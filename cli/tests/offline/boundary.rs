//! Paths that files name, and links: nothing outside of the folder or its repository is read or written.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use crate::support::{Output, cartouche_in};

const SECRET: &str = "hunter2";
const TEMPLATE: &str = "\
apiVersion: carto.run/v1alpha1
kind: ClusterRunTemplate
metadata: {name: show}
spec:
  template:
    apiVersion: v1
    kind: ConfigMap
    metadata: {generateName: show-}
    data: {shown: $(selected.users)$}
  healthRule: {alwaysHealthy: {}}
";
const SELECTED: &str = "apiVersion: v1\nkind: Config\nusers: all\n";
const RUNNABLE: &str = "\
apiVersion: carto.run/v1alpha1
kind: Runnable
metadata: {name: show, namespace: demo}
spec:
  runTemplateRef: {name: show}
  selector:
    resource: {apiVersion: v1, kind: Config}
    matchingLabels: {a: b}
";

/// A folder from a proposal, and files beside it that do not belong to it.
struct Proposed {
    all: tempfile::TempDir,
}

impl Proposed {
    fn new() -> Self {
        let all = tempfile::tempdir().unwrap();
        let proposed = Self { all };
        for folder in ["home", "proposed/tests/one"] {
            fs::create_dir_all(proposed.at(folder)).unwrap();
        }
        proposed.write(
            "home/config.yaml",
            &format!("apiVersion: v1\nkind: Config\nusers: {SECRET}\n"),
        );
        proposed.write("proposed/template.yaml", TEMPLATE);
        proposed.write("proposed/runnable.yaml", RUNNABLE);
        proposed.write(
            "proposed/tests/one/expected.yaml",
            "data: {shown: nothing}\n",
        );
        proposed
    }

    /// Creates the folder as a repository.
    fn repository() -> Self {
        let proposed = Self::new();
        fs::create_dir(proposed.at("proposed/.git")).unwrap();
        proposed
    }

    fn at(&self, path: &str) -> PathBuf {
        self.all.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.at(path), text).unwrap();
    }

    fn link(&self, path: &str, to: &str) {
        let path = self.at(path);
        let _ = fs::remove_file(&path);
        symlink(self.at(to), path).unwrap();
    }

    fn run(&self, arguments: &[&str]) -> Output {
        cartouche_in(&self.at("proposed"), arguments)
    }
}

fn is_refused(output: &Output, by: &str) {
    let all = [output.out.as_str(), &output.err].concat();
    assert!(!all.contains(SECRET), "{by}: {all}");
    assert_ne!(output.code, 0, "{by}: {all}");
    assert!(all.contains("which is outside of the "), "{by}: {all}");
    assert!(all.contains("hint: put a copy of it there"), "{by}: {all}");
}

#[test]
fn a_case_names_no_file_outside() {
    for proposed in [Proposed::new(), Proposed::repository()] {
        let absolute = proposed.at("home/config.yaml");
        for path in [
            "../../../home/config.yaml",
            absolute.to_str().unwrap(),
            "../../../home/none/../config.yaml",
        ] {
            for key in [
                "selected", "template", "runnable", "sources", "profile", "profiles",
            ] {
                proposed.write("proposed/tests/one/case.yaml", &format!("{key}: {path}\n"));
                let output = proposed.run(&["test", "."]);
                is_refused(&output, key);
                let named = format!(
                    "tests/one/case.yaml names {}",
                    Path::new("tests/one").join(path).display()
                );
                assert!(output.err.contains(&named), "{named}: {}", output.err);
            }
        }
    }
}

#[test]
fn a_case_has_no_link_that_leads_outside() {
    for file in [
        "selected.yaml",
        "template.yaml",
        "runnable.yaml",
        "sources.yaml",
        "tests/one/case.yaml",
        "tests/one/expected.yaml",
        "tests/one/expected-error.txt",
    ] {
        let proposed = Proposed::new();
        let path = format!("proposed/{file}");
        proposed.write("proposed/selected.yaml", SELECTED);
        if file == "tests/one/expected-error.txt" {
            // An error of rendering is compared with it.
            fs::remove_file(proposed.at("proposed/tests/one/expected.yaml")).unwrap();
            fs::remove_file(proposed.at("proposed/selected.yaml")).unwrap();
        }
        proposed.link(&path, "home/config.yaml");
        is_refused(&proposed.run(&["test", "."]), file);
        is_refused(&proposed.run(&["test", ".", "--update"]), file);
        let kept = fs::read_to_string(proposed.at("home/config.yaml")).unwrap();
        assert!(kept.contains(SECRET), "{kept}");
    }
}

#[test]
fn no_folder_of_cases_leads_outside() {
    let proposed = Proposed::new();
    proposed.write("proposed/selected.yaml", SELECTED);
    proposed.write("home/1.yaml", &format!("status: {SECRET}\n"));
    proposed.link("proposed/tests/one/played", "home");
    is_refused(&proposed.run(&["test", ".", "--update"]), "played");
    assert!(!proposed.at("home/1.expected.yaml").exists());
}

/// Also where a file leads to one that is not there yet.
#[test]
fn an_update_takes_the_place_of_a_link_and_follows_none() {
    let proposed = Proposed::new();
    proposed.write("proposed/selected.yaml", SELECTED);
    proposed.link("proposed/tests/one/expected.yaml", "home/new.yaml");
    proposed.write("proposed/tests/one/case.yaml", "description: a link\n");
    let output = proposed.run(&["test", ".", "--update"]);
    assert_eq!(output.code, 0, "{}{}", output.out, output.err);
    assert!(!proposed.at("home/new.yaml").exists());
    let expected = proposed.at("proposed/tests/one/expected.yaml");
    assert!(!expected.is_symlink());
    assert!(fs::read_to_string(expected).unwrap().contains("shown: all"));
    let left: Vec<_> = fs::read_dir(proposed.at("proposed/tests/one"))
        .unwrap()
        .collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn inside_of_a_repository_files_and_links_lead_anywhere() {
    let proposed = Proposed::repository();
    fs::create_dir(proposed.at("proposed/shared")).unwrap();
    proposed.write("proposed/shared/config.yaml", SELECTED);
    proposed.link(
        "proposed/tests/one/selected.yaml",
        "proposed/shared/config.yaml",
    );
    let linked = proposed.run(&["test", "tests", "--update"]);
    assert_eq!(linked.code, 0, "{}{}", linked.out, linked.err);
    fs::remove_file(proposed.at("proposed/tests/one/selected.yaml")).unwrap();
    proposed.write(
        "proposed/tests/one/case.yaml",
        "selected: ../../shared/config.yaml\n",
    );
    let named = proposed.run(&["test", "tests/one"]);
    assert_eq!(named.code, 0, "{}{}", named.out, named.err);
}

#[test]
fn settings_of_folders_above_end_at_the_repository_or_the_folder() {
    for (proposed, settings, root) in [
        (Proposed::new(), "proposed/case.yaml", "tests"),
        (Proposed::repository(), "case.yaml", "."),
    ] {
        proposed.write(settings, "inputs: {evil: 1}\nunknown: field\n");
        let folder = proposed.at(&format!("proposed/{root}"));
        let output = proposed.run(&["test", folder.to_str().unwrap()]);
        let all = output.out + &output.err;
        assert!(!all.contains("unknown"), "{all}");
    }
}

/// Commands that read all of a folder.
const GIVEN_A_FOLDER: [&[&str]; 8] = [
    &["validate", "."],
    &["render", "."],
    &["explain", "-f", "."],
    &["graph", "-f", "."],
    &["rbac", "-f", "."],
    &["migrate", "check", "."],
    &["test", "."],
    &[
        "validate",
        "runnable.yaml",
        "template.yaml",
        "--schemas",
        ".",
    ],
];

/// Build tools make such links in every repository.
#[test]
fn a_folder_that_a_link_leads_out_to_is_passed_over_and_the_rest_is_read() {
    let proposed = Proposed::new();
    proposed.write("home/expected.yaml", SECRET);
    let before = GIVEN_A_FOLDER.map(|line| proposed.run(line));
    proposed.link("proposed/result", "home");
    proposed.link("proposed/tests/bazel-out", "home");
    for (line, before) in GIVEN_A_FOLDER.iter().zip(before) {
        let output = proposed.run(line);
        assert_eq!(
            (output.code, &output.out),
            (before.code, &before.out),
            "{line:?}"
        );
        assert!(!output.err.contains(SECRET), "{line:?}: {}", output.err);
        for link in ["result", "tests/bazel-out"] {
            let note = format!("note: {link} is a link to ");
            let found = output.err.lines().find(|it| it.starts_with(&note));
            let note = found.unwrap_or_else(|| panic!("{line:?}: {}", output.err));
            assert!(note.contains("which is outside of the folder "), "{note}");
            assert!(note.ends_with(": it is skipped"), "{note}");
        }
    }
}

#[test]
fn no_command_that_is_given_a_folder_follows_a_link_out_of_it() {
    for (link, to) in [
        ("linked.yaml", "home/config.yaml"),
        ("linked.json", "home/config.yaml"),
    ] {
        let proposed = Proposed::new();
        proposed.link(&format!("proposed/{link}"), to);
        // A test reads only what its cases name.
        for line in GIVEN_A_FOLDER.iter().filter(|line| line[0] != "test") {
            is_refused(&proposed.run(line), &format!("{line:?} {link}"));
        }
    }
    // The user may name it.
    let proposed = Proposed::new();
    proposed.link("proposed/linked.yaml", "home/config.yaml");
    let named = proposed.run(&["validate", "runnable.yaml", "template.yaml", "linked.yaml"]);
    assert!(!named.err.contains("outside"), "{}", named.err);
}

#[test]
fn a_first_template_is_written_through_no_link() {
    let proposed = Proposed::new();
    fs::create_dir(proposed.at("proposed/hello")).unwrap();
    proposed.link("proposed/hello/run-template.yaml", "home/new.yaml");
    let present = proposed.run(&["init", "hello"]);
    assert_eq!(present.code, 2, "{}", present.out);
    assert!(
        present.err.contains("there is something already"),
        "{}",
        present.err
    );
    let forced = proposed.run(&["init", "hello", "--force"]);
    assert_eq!(forced.code, 0, "{}", forced.err);
    assert!(!proposed.at("home/new.yaml").exists());
    let proposed = Proposed::new();
    fs::create_dir(proposed.at("proposed/hello")).unwrap();
    proposed.link("proposed/hello/tests", "home");
    let through = proposed.run(&["init", "hello"]);
    assert!(
        through.err.contains("which is outside of the folder"),
        "{}{}",
        through.out,
        through.err
    );
    assert_eq!(fs::read_dir(proposed.at("home")).unwrap().count(), 1);
}

#[test]
fn a_folder_that_is_named_is_no_link_out_of_its_repository() {
    let proposed = Proposed::repository();
    proposed.link("proposed/out", "");
    proposed.link("proposed/tests/above", "home");
    for folder in ["out", "out/home", "tests/above"] {
        for command in ["test", "validate"] {
            let output = proposed.run(&[command, folder]);
            let all = [output.out.as_str(), &output.err].concat();
            assert!(!all.contains(SECRET), "{command} {folder}: {all}");
            assert_ne!(output.code, 0, "{command} {folder}: {all}");
            assert!(all.contains("is a link out of the repository"), "{all}");
        }
    }
    // A link to the repository itself, from outside, is how people name it.
    proposed.write("proposed/selected.yaml", SELECTED);
    proposed.link("home/link", "proposed");
    let linked = cartouche_in(&proposed.at("home"), &["test", "link/tests", "--update"]);
    assert!(!linked.err.contains("leads out"), "{}", linked.err);
}

#[test]
fn what_git_keeps_is_no_part_of_a_repository() {
    let proposed = Proposed::repository();
    proposed.write("proposed/.git/config", &format!("url = {SECRET}\n"));
    proposed.link(
        "proposed/tests/one/expected-error.txt",
        "proposed/.git/config",
    );
    is_refused(&proposed.run(&["test", "."]), ".git");
}

#[test]
fn results_take_the_place_of_a_link() {
    let proposed = Proposed::repository();
    proposed.write("home/bashrc", "mine\n");
    proposed.link("proposed/results.xml", "home/bashrc");
    proposed.run(&["test", ".", "--junit", "results.xml"]);
    assert_eq!(
        fs::read_to_string(proposed.at("home/bashrc")).unwrap(),
        "mine\n"
    );
    let results = proposed.at("proposed/results.xml");
    assert!(!results.is_symlink());
    assert!(fs::read_to_string(results).unwrap().contains("<testsuite"));
}

#[test]
fn links_that_lead_round_are_passed_over() {
    let proposed = Proposed::repository();
    let before = proposed.run(&["validate", "."]).code;
    for (link, to) in [
        ("a", "."),
        ("b", "."),
        ("tests/x", "tests/one"),
        ("tests/one/y", "tests"),
    ] {
        proposed.link(&format!("proposed/{link}"), &format!("proposed/{to}"));
    }
    let output = proposed.run(&["test", ".", "--list"]);
    assert_eq!(output.code, 0, "{}", output.err);
    assert!(output.out.lines().count() < 10, "{}", output.out);
    assert_eq!(proposed.run(&["validate", "."]).code, before);
}

#[test]
fn links_to_folders_with_links_end_soon() {
    let proposed = Proposed::repository();
    for level in 0..20 {
        fs::create_dir(proposed.at(&format!("proposed/{level}"))).unwrap();
    }
    // The number of ways doubles with each level.
    for level in 0..19 {
        for link in ["a", "b"] {
            let next = format!("proposed/{}", level + 1);
            proposed.link(&format!("proposed/{level}/{link}"), &next);
        }
    }
    for command in ["validate", "test"] {
        let output = proposed.run(&[command, "0"]);
        assert_eq!(output.code, 2, "{command}: {}", output.err);
        let said = "links lead to more than 1000 folders; the last is 0/a/";
        assert!(output.err.contains(said), "{command}: {}", output.err);
    }
}
