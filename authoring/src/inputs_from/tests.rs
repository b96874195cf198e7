use std::io::Write as _;

use super::*;
use crate::{finding::Severity, objects::Objects};

/// Reads a Runnable with this `spec` beside these objects.
fn of(spec: &str, objects: &str) -> (Document, Given) {
    let text = format!(
        "apiVersion: carto.run/v1alpha1\nkind: Runnable\nmetadata: {{name: hello, namespace: demo}}\nspec:\n{spec}"
    );
    let mut file = tempfile::Builder::new().suffix(".yaml").tempfile().unwrap();
    write!(file, "{text}\n---\n{objects}").unwrap();
    let objects = Objects::load(&[file.path().to_owned()]).unwrap();
    assert!(objects.findings.is_empty(), "{:?}", objects.findings);
    let runnable = objects.runnables[0].clone();
    let given = read_given(&objects, &runnable);
    (runnable, given)
}

fn config_map(rest: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: sizes}}\n{rest}\n")
}

fn secret(rest: &str) -> String {
    format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: db, uid: u}}\n{rest}\n")
}

/// Returns the message of each finding, and the text at its place.
fn said(given: &Given) -> Vec<(String, String)> {
    let findings = given.findings.iter();
    let of = |finding: &Finding| {
        assert_eq!(
            (finding.severity, finding.rule),
            (Severity::Error, Rule::Source)
        );
        assert!(finding.help.is_some(), "{finding:?}");
        let place = finding.place.as_ref().unwrap();
        (finding.message.clone(), place.text().to_owned())
    };
    findings.map(of).collect()
}

const SIZE: &str =
    "  inputsFrom:\n    - name: size\n      configMapKeyRef: {name: sizes, key: small, as: JSON}\n";
const PASSWORD: &str =
    "  inputsFrom:\n    - name: password\n      secretKeyRef: {name: db, key: word}\n";

#[test]
fn a_value_is_what_the_controller_would_read() {
    let (_, given) = of(SIZE, &config_map("data: {small: '{\"cpu\": 2}'}"));
    assert_eq!(
        given.values["size"],
        Sourced::plain(serde_json::json!({ "cpu": 2 }))
    );
    assert_eq!(given.written["size"].text(), "'{\"cpu\": 2}'");
    assert!(given.findings.is_empty() && given.absent.is_empty());
}

#[test]
fn a_secret_counts_as_its_text_or_its_base64_with_its_uid() {
    let mark = |objects: &str| {
        let (_, given) = of(PASSWORD, objects);
        assert!(given.findings.is_empty(), "{:?}", given.findings);
        given.values["password"].clone()
    };
    let plain = mark(&secret("stringData: {word: '1234'}"));
    assert_eq!(plain, mark(&secret("data: {word: MTIzNA==}")));
    assert_eq!(plain, mark(&secret("data: {word: \"MTIz\\nNA==\"}")));
    assert_eq!(
        plain,
        mark(&secret("data: {word: eA==}\nstringData: {word: '1234'}"))
    );
    assert_ne!(plain, mark(&secret("stringData: {word: '1235'}")));
    let without_uid = secret("stringData: {word: '1234'}").replace(", uid: u", "");
    assert_ne!(plain, mark(&without_uid));
    // With a public uid, values could be guessed from the hash.
    assert_eq!(
        mark(&without_uid),
        mark(&without_uid.replace("1234", "1235"))
    );
    assert!(of(PASSWORD, &without_uid).1.lacks_uid);
    assert!(!of(PASSWORD, &secret("stringData: {word: a}")).1.lacks_uid);
}

#[test]
fn what_is_wrong_with_an_object_is_told_at_the_key_and_no_secret_is_shown() {
    for (spec, object, message, at) in [
        (
            SIZE,
            config_map("data: {large: '1'}"),
            "which has no such key",
            "small",
        ),
        (
            SIZE,
            config_map("data: {small: '{'}"),
            "it cannot be read as JSON: line 1",
            "small",
        ),
        (
            SIZE,
            config_map("data: {small: 3}"),
            "which is not a string in its file",
            "small",
        ),
        (
            SIZE,
            config_map("binaryData: {small: eA==}"),
            "which is in its binaryData",
            "small",
        ),
        (
            PASSWORD,
            secret("data: {word: hunter2!}"),
            "which is not base64 in its file",
            "word",
        ),
        (
            PASSWORD,
            secret("stringData: {word: 4711}"),
            "which is not a string in its file",
            "word",
        ),
        (
            PASSWORD,
            secret("stringData: {other: hunter2}"),
            "which has no such key",
            "word",
        ),
    ] {
        let (_, given) = of(spec, &object);
        let said = said(&given);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].0.contains(message), "{said:?}");
        assert_eq!(said[0].1, at);
        assert!(given.values.is_empty());
        let shown =
            crate::finding::report::write(&given.findings, crate::finding::report::Format::Text);
        assert!(
            !shown.contains("hunter2") && !shown.contains("4711"),
            "{shown}"
        );
    }
}

#[test]
fn all_that_is_wrong_whatever_the_objects_say_is_told_at_its_place() {
    let spec = "  inputs: {size: 1}\n  inputsFrom:\n    \
        - {name: size, configMapKeyRef: {name: sizes, key: small}}\n    \
        - {name: a, configMapKeyRef: {name: Sizes, key: small}}\n    \
        - {name: b, secretKeyRef: {name: db, key: a/b}}\n    \
        - {name: c, optional: true}\n    \
        - {name: d, secretKeyRef: {name: db, key: a}}\n    \
        - {name: d, secretKeyRef: {name: db, key: b}}\n";
    let (_, given) = of(spec, "");
    let places: Vec<_> = said(&given).into_iter().map(|(_, at)| at).collect();
    assert_eq!(places, ["Sizes", "a/b", "{", "d", "size"]);
    let unknown: BTreeSet<&str> = given.unknown_names().into_iter().collect();
    assert_eq!(unknown, BTreeSet::from(["size", "a", "b", "c", "d"]));
}

#[test]
fn more_than_32_are_told_at_the_list() {
    let one = |index| format!("    - {{name: i{index}, secretKeyRef: {{name: db, key: a}}}}\n");
    let list = |count| (0..count).map(one).collect::<String>();
    let (_, given) = of(&format!("  inputsFrom:\n{}", list(33)), "");
    let said = said(&given);
    assert_eq!(said.len(), 1);
    assert!(said[0].0.contains("33 entries"), "{said:?}");
    assert_eq!(said[0].1, "inputsFrom");
    assert!(
        of(&format!("  inputsFrom:\n{}", list(32)), "")
            .1
            .findings
            .is_empty()
    );
}

#[test]
fn what_is_not_among_the_files_is_no_error_and_a_reference_is_known_without_it() {
    let both = format!("{SIZE}{}", PASSWORD.trim_start_matches("  inputsFrom:\n"));
    let (runnable, given) = of(
        &both,
        &config_map("").replace("sizes}", "sizes, namespace: other}"),
    );
    let elsewhere = &given.findings[0];
    assert_eq!(
        (given.findings.len(), elsewhere.severity),
        (1, Severity::Warning)
    );
    assert!(
        elsewhere
            .message
            .contains("not in the namespace demo, but in other"),
        "{}",
        elsewhere.message
    );
    assert!(given.values.is_empty());
    assert_eq!(given.unknown_names(), ["size"]);
    let known = given.known_values();
    assert_eq!(
        known["password"].value,
        serde_json::json!({ "name": "db", "key": "word" })
    );
    let unchecked = given
        .absent
        .iter()
        .filter_map(|it| it.unchecked_finding(&runnable));
    assert_eq!(
        unchecked
            .map(|it| it.place.unwrap().text().to_owned())
            .collect::<Vec<_>>(),
        ["sizes"]
    );
    let seen = given.complete(&runnable).value;
    assert_eq!(seen["spec"]["inputs"]["password"]["key"], "word");
    assert!(seen["spec"]["inputs"]["size"].is_null());
}

#[test]
fn of_two_objects_of_a_name_nobody_knows_which_one_is_meant() {
    let twice = format!(
        "{}---\n{}",
        config_map("data: {small: '1'}"),
        config_map("data: {small: '2'}")
    );
    let (_, given) = of(SIZE, &twice);
    assert!(
        said(&given)[0].0.contains("there are 2 of it"),
        "{:?}",
        given.findings
    );
}

#[test]
fn an_optional_input_without_its_key_is_left_out() {
    let spec = SIZE.replace("- name: size", "- name: size\n      optional: true");
    let (_, given) = of(&spec, &config_map("data: {large: '1'}"));
    assert!(given.values.is_empty() && given.findings.is_empty() && given.absent.is_empty());
}

#[test]
fn an_element_that_cannot_be_read_is_unknown_and_left_to_its_schema() {
    let (_, given) = of(
        "  inputsFrom:\n    - {name: size, configMapKeyRef: sizes}\n",
        "",
    );
    assert!(given.findings.is_empty());
    assert_eq!(given.unknown_names(), ["size"]);
}

fn base(rest: &str) -> String {
    format!(
        "apiVersion: carto.run/v1alpha1\nkind: Runnable\nmetadata: {{name: base, namespace: demo}}\n{rest}\n"
    )
}

const DIGEST: &str =
    "  inputsFrom:\n    - name: digest\n      runnableRef: {name: base, output: digest}\n";

#[test]
fn an_output_of_a_runnable_with_a_status_is_what_it_gives() {
    let (_, given) = of(
        DIGEST,
        &base("spec: {runTemplateRef: {name: t}}\nstatus: {outputs: {digest: 'sha256:1'}}"),
    );
    assert_eq!(given.values["digest"], Sourced::plain("sha256:1".into()));
    assert_eq!(given.written["digest"].text(), "'sha256:1'");
    assert!(given.findings.is_empty() && given.absent.is_empty());
}

#[test]
fn what_a_runnable_without_a_status_gives_only_a_cluster_knows() {
    let (runnable, given) = of(DIGEST, &base("spec: {runTemplateRef: {name: t}}"));
    assert!(given.findings.is_empty() && given.values.is_empty());
    assert_eq!(given.unknown_names(), ["digest"]);
    let note = given.absent[0].unchecked_finding(&runnable).unwrap();
    assert!(
        note.message
            .ends_with("only a cluster knows what Runnable base gives"),
        "{}",
        note.message
    );
}

#[test]
fn a_runnable_of_another_namespace_is_another_one() {
    let elsewhere = DIGEST.replace("name: base,", "name: base, namespace: ci,");
    let here = base("spec: {}\nstatus: {outputs: {digest: here}}");
    let there = here
        .replace("namespace: demo", "namespace: ci")
        .replace("digest: here", "digest: there");
    let both = format!("{here}---\n{there}");
    assert_eq!(of(DIGEST, &both).1.values["digest"].value, "here");
    assert_eq!(of(&elsewhere, &both).1.values["digest"].value, "there");
    // The namespace of an object without one is not known, except that it is not this one.
    let nowhere = here.replace(", namespace: demo", "");
    assert_eq!(of(DIGEST, &nowhere).1.values["digest"].value, "here");
    assert_eq!(of(&elsewhere, &nowhere).1.absent.len(), 1);
}

#[test]
fn inputs_from_other_objects_have_no_more_room_together_than_on_a_cluster() {
    let half = "x".repeat(700 * 1024);
    let two = "  inputsFrom:\n    - {name: a, configMapKeyRef: {name: sizes, key: a}}\n    - {name: b, configMapKeyRef: {name: sizes, key: b}}\n";
    let both = config_map(&format!("data: {{a: {half}, b: {half}}}"));
    let (_, given) = of(two, &both);
    assert_eq!(given.values.len(), 1);
    let said = said(&given);
    assert!(
        said[0].0.contains("input b comes from key b"),
        "{}",
        said[0].0
    );
    let one = "  inputsFrom:\n    - {name: b, configMapKeyRef: {name: sizes, key: b}}\n";
    assert!(of(one, &both).1.findings.is_empty());
}
