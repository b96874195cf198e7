//! Output of the commands without a cluster about profiles.

mod cases;
mod rules;

use std::fs;

use crate::support::{Output, cartouche_in, copy_of, edit};

const TEAM: &str = "\
apiVersion: carto.run/v1alpha1
kind: ClusterRunProfile
metadata:
  name: team
  generation: 7
spec:
  rules:
    - templates: [greet]
      namespaceSelector: { matchLabels: { env: production } }
  podTemplate:
    metadata:
      labels: { app: $(runnable.metadata.name)$ }
    spec:
      nodeSelector: { pool: batch }
      containers:
        - name: '*'
          env: [{ name: RUN, value: $(run.name)$ }]
  values:
    registry: eu.example.com
    mirrors: [{ at: us.example.com }]
";

const BASE: &str = "\
apiVersion: carto.run/v1alpha1
kind: ClusterRunProfile
metadata:
  name: base
spec:
  rules: [{}]
  podTemplate:
    spec: { nodeSelector: { pool: small } }
";

/// The example with these profiles beside it. Its template reads facts of the run.
fn example(profiles: &[&str]) -> tempfile::TempDir {
    let folder = copy_of("job");
    fs::write(folder.path().join("profiles.yaml"), profiles.join("---\n")).unwrap();
    folder
}

/// The same whose template reads the values of a profile.
fn reading(profiles: &[&str]) -> tempfile::TempDir {
    let folder = example(profiles);
    let read =
        "$(run.sequence)$ of $(profile.values.registry)$ and $(profile.values.mirrors[0].at)$, ";
    edit(&folder, "template.yaml", "Hello, ", read);
    folder
}

fn render(folder: &tempfile::TempDir, arguments: &[&str]) -> Output {
    cartouche_in(folder.path(), &[&["render", "."], arguments].concat())
}

#[test]
fn a_run_is_shown_as_it_is_sent_with_its_tags_filled_in_and_the_profile_applied() {
    let folder = reading(&[TEAM, BASE]);
    let output = render(
        &folder,
        &["--namespace-labels", "env=production", "--explain"],
    );
    assert_eq!((output.code, output.err.as_str()), (0, ""));
    insta::assert_snapshot!(output.out);
}

#[test]
fn without_a_profile_that_matches_the_tags_of_the_run_are_filled_in_all_the_same() {
    let folder = example(&[]);
    edit(&folder, "template.yaml", "Hello, ", "$(run.name)$ ");
    let token = "metadata:\n  annotations: { carto.run/rerun-token: again }\n";
    edit(&folder, "runnable.yaml", "metadata:\n", token);
    edit(
        &folder,
        "template.yaml",
        "backoffLimit: 0",
        "backoffLimit: $(run.sequence)$",
    );
    edit(
        &folder,
        "template.yaml",
        "$!\"",
        "$ $(run.rerunToken)$ $(run.inputHash)$\"",
    );
    let output = render(&folder, &[]);
    assert_eq!(output.err, "");
    for filled in [
        "hello-ozwrxaxlnu world again",
        "          v1:",
        "backoffLimit: 1",
    ] {
        assert!(output.out.contains(filled), "{}", output.out);
    }
    assert!(!output.out.contains("carto.run/profile"), "{}", output.out);
}

#[test]
fn the_hash_is_the_same_whatever_the_run_is_made_with() {
    let hash = |folder: &tempfile::TempDir, arguments: &[&str]| {
        let output = render(folder, arguments);
        let mut lines = output.out.lines().map(str::to_owned);
        lines.find(|line| line.starts_with("# input hash")).unwrap()
    };
    let folder = example(&[TEAM, BASE]);
    let of_team = hash(&folder, &["--profile", "team"]);
    assert_eq!(hash(&folder, &["--profile", "base"]), of_team);
    fs::remove_file(folder.path().join("profiles.yaml")).unwrap();
    assert_eq!(hash(&folder, &[]), of_team);
}

#[test]
fn where_no_profile_can_be_chosen_it_is_said_in_the_words_of_the_conditions() {
    let said = |profiles: &[&str], change: &dyn Fn(&tempfile::TempDir)| {
        let folder = example(profiles);
        change(&folder);
        let output = render(&folder, &[]);
        assert_eq!(
            (output.code, output.out.as_str()),
            (1, ""),
            "{}",
            output.err
        );
        output.err
    };
    let second = BASE.replace("base", "other");
    let ask = |folder: &tempfile::TempDir| {
        edit(
            folder,
            "runnable.yaml",
            "  inputs:",
            "  profileName: gone\n  inputs:",
        );
    };
    let require = |folder: &tempfile::TempDir| {
        edit(
            folder,
            "template.yaml",
            "  outputs:",
            "  profile: Required\n  outputs:",
        );
    };
    let all = [
        ("a tie", said(&[BASE, &second], &|_| ())),
        ("asked for", said(&[BASE], &ask)),
        ("required", said(&[], &require)),
        ("unknown labels", said(&[TEAM], &|_| ())),
    ];
    let all = all.map(|(what, said)| format!("{what}:\n{said}"));
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn what_does_not_fit_is_an_error_with_its_place() {
    let odd = BASE.replace(
        "spec: { nodeSelector: { pool: small } }",
        "spec: { containers: [{ name: gret, image: a }] }",
    );
    let tag = BASE.replace("pool: small", "pool: $(profile.values.pool)$");
    let of = |folder: tempfile::TempDir| {
        let output = render(&folder, &[]);
        assert_eq!((output.code, output.out.as_str()), (1, ""));
        output.err
    };
    let all = [
        ("container", of(example(&[&odd]))),
        ("value in the profile", of(example(&[&tag]))),
        (
            "value in the template",
            of(reading(&[&format!(
                "{BASE}  values: {{ registri: a, mirrors: [] }}\n"
            )])),
        ),
        ("no profile", of(reading(&[]))),
    ];
    let all = all.map(|(what, said)| format!("{what}:\n{said}"));
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn a_profile_that_cannot_be_used_is_told_with_all_that_is_wrong_with_it() {
    let broken = "\
apiVersion: carto.run/v1alpha1
kind: ClusterRunProfile
metadata:
  name: broken
spec:
  rules:
    - templates: []
      namespaceSelector: { matchLabels: { 'a b': c } }
  podTempalte: {}
  podTemplate:
    spec:
      containers: [{ image: a }]
      volumes: [{ name: a }, { name: a }]
      nodeSelector: { pool: $(selected.spec.pool)$, size: $(run.uid)$ }
  patches:
    - apiVersion: tekton.dev/v1
      kind: TaskRun
      patch: { metadata: { name: fixed } }
";
    let output = render(&example(&[broken]), &[]);
    assert_eq!(output.code, 1);
    insta::assert_snapshot!(output.err);
}

#[test]
fn a_profile_that_is_named_has_to_be_there() {
    let output = render(&example(&[TEAM]), &["--profile", "teem"]);
    assert_eq!((output.code, output.out.as_str()), (2, ""));
    assert_eq!(
        output.err,
        "error: there is no ClusterRunProfile 'teem' among these files\nhint: did you mean 'team'?\n"
    );
    let output = render(&example(&[]), &["--profile", "team"]);
    assert!(
        output.err.contains("hint: name the file that holds it"),
        "{}",
        output.err
    );
}

fn validate(folder: &tempfile::TempDir) -> Output {
    cartouche_in(folder.path(), &["validate", "."])
}

#[test]
fn profiles_are_checked_beside_templates_and_runnables() {
    let output = validate(&reading(&[TEAM, BASE]));
    assert_eq!((output.code, output.out.as_str()), (0, ""));
    assert_eq!(
        output.err,
        "1 template, 1 Runnable and 2 profiles: no errors\n"
    );
    // Without anything else they are checked as well.
    let folder = tempfile::tempdir().unwrap();
    let wrong = BASE.replace("[{}]", "[{ templates: [A_b] }]");
    fs::write(folder.path().join("base.yaml"), wrong).unwrap();
    let output = validate(&folder);
    assert_eq!(output.code, 1);
    assert!(
        output.out.contains("error[profile]: rules[0].templates[0]"),
        "{}",
        output.out
    );
}

#[test]
fn profiles_that_match_the_same_runnables_with_the_same_rank_are_told() {
    let rules = |name: &str, rules: &str| BASE.replace("base", name).replace("[{}]", rules);
    let found = |profiles: &[&str]| {
        let output = validate(&example(profiles));
        assert_eq!(output.code, 0, "{}", output.out);
        output.out
    };
    let production = "namespaceSelector: { matchLabels: { env: production } }";
    let one = rules(
        "one",
        &format!("[{{ templates: [greet, build], {production} }}, {{}}]"),
    );
    let tied = rules("two", &format!("[{{ templates: [greet], {production} }}]"));
    let same_team = rules(
        "three",
        "[{ templates: [build], namespaceSelector: { matchExpressions: [{ key: env, operator: Exists }] } }, {}]",
    );
    let all = [found(&[&one, &tied]), found(&[&one, &same_team])];
    insta::assert_snapshot!(all.join("\n"));
    for untied in [
        // It is more specific.
        format!(
            "[{{ templates: [greet], {production}, runnableSelector: {{ matchLabels: {{ a: b }} }} }}]"
        ),
        // No namespace is both.
        "[{ templates: [greet], namespaceSelector: { matchLabels: { env: test } } }]".to_owned(),
        format!("[{{ templates: [another], {production} }}]"),
        format!("[{{ {production} }}]"),
    ] {
        assert_eq!(found(&[&one, &rules("two", &untied)]), "", "{untied}");
    }
}

#[test]
fn what_no_template_and_no_profile_of_the_files_has_is_told() {
    let profile = "\
apiVersion: carto.run/v1alpha1
kind: ClusterRunProfile
metadata: { name: odd }
spec:
  rules: [{}]
  podTemplate:
    spec:
      containers:
        - { name: greet, image: a }
        - { name: gret, image: $(profile.values.imagge)$ }
      initContainers: [{ name: '*', image: a }]
  values: { image: a }
";
    let folder = reading(&[profile]);
    let runner = "  runner:\n    args: { pool: $(profile.values.imag)$, of: $(runnable.spec.inptus.name)$ }\n  outputs:";
    edit(&folder, "template.yaml", "  outputs:", runner);
    let output = validate(&folder);
    insta::assert_snapshot!(output.out);
    // Without templates the containers are not known, and without profiles the values.
    fs::remove_file(folder.path().join("template.yaml")).unwrap();
    fs::remove_file(folder.path().join("runnable.yaml")).unwrap();
    assert!(!validate(&folder).out.contains("has a container"));
    assert_eq!(validate(&reading(&[])).out, "");
}

#[test]
fn mistakes_in_what_a_template_says_of_files_are_told() {
    let folder = example(&[]);
    let runner = "  runner:
    contxt: true
    timeout: tomorrow
    dryRun: maybe
    containers: [gret]
    files:
      - path: relative
        text: a
      - path: /a
        json: $(run.uid)$
  outputs:";
    edit(&folder, "template.yaml", "  outputs:", runner);
    let output = validate(&folder);
    assert_eq!(output.code, 1);
    insta::assert_snapshot!(output.out);
}

#[test]
fn the_page_of_a_template_says_that_it_needs_a_profile_and_which_files_there_are() {
    let folder = example(&[]);
    let explain = || cartouche_in(folder.path(), &["explain", "-f", "template.yaml"]).out;
    let plain = explain();
    assert!(
        !plain.contains("PROFILE") && !plain.contains("FILES"),
        "{plain}"
    );
    let making = "  profile: Required
  runner:
    context: true
    args: { pool: $(runnable.spec.inputs.pool)$ }
    files:
      - path: /etc/tool/config.json
        json: {}
    containers: [greet]
  outputs:";
    edit(&folder, "template.yaml", "  outputs:", making);
    insta::assert_snapshot!(explain());
}

#[test]
fn a_container_that_is_to_find_files_and_is_not_there_is_told() {
    let folder = example(&[]);
    edit(
        &folder,
        "template.yaml",
        "  outputs:",
        "  runner: { containers: [gret] }\n  outputs:",
    );
    let output = validate(&folder);
    assert_eq!(output.code, 1);
    assert!(output.out.contains("'gret'"), "{}", output.out);
    // It is found without a Runnable, and is reported once.
    assert!(!output.out.contains("Runnable hello: "), "{}", output.out);
    edit(&folder, "template.yaml", "[gret]", "[greet]");
    assert_eq!(validate(&folder).out, "");
}
