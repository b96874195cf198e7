#![allow(
    clippy::needless_pass_by_value,
    reason = "values are written in the calls"
)]

use cartouche_language::bounds::MAX_OUTPUTS;
use serde_json::json;

use super::*;
use crate::failure_outputs::FailureOutputs;

fn outputs(declared: &[(&str, &str)]) -> Outputs {
    with_optional(declared, &[])
}

fn with_optional(declared: &[(&str, &str)], optional: &[&str]) -> Outputs {
    let declared = declared
        .iter()
        .map(|(name, path)| ((*name).to_owned(), (*path).to_owned()));
    let mut problems = Vec::new();
    let optional: Vec<String> = optional.iter().map(ToString::to_string).collect();
    let outputs = Outputs::compile(Some(&declared.collect()), &optional, &[], &mut problems);
    assert_eq!(problems, []);
    outputs
}

const POD: Option<(&str, &str)> = Some(("v1", "Pod"));

fn run() -> Value {
    json!({
        "apiVersion": "tekton.dev/v1", "kind": "TaskRun",
        "status": { "results": [{ "name": "digest", "value": "abc" }], "nothing": null, "n": 3 },
    })
}

#[test]
fn outputs_keep_their_type_and_may_be_null() {
    let outputs = outputs(&[
        ("digest", r#".status.results[?(@.name=="digest")].value"#),
        ("all", "status.results"),
        ("nothing", "status.nothing"),
        ("n", "{.status.n}"),
    ]);
    let expected = BTreeMap::from([
        ("digest".to_owned(), json!("abc")),
        (
            "all".to_owned(),
            json!([{ "name": "digest", "value": "abc" }]),
        ),
        ("nothing".to_owned(), json!(null)),
        ("n".to_owned(), json!(3)),
    ]);
    assert_eq!(outputs.read(POD, &run()), Ok(Some(expected)));
}

#[test]
fn without_declared_outputs_there_is_nothing_to_read() {
    assert_eq!(outputs(&[]).read(POD, &run()), Ok(None));
    assert!(Outputs::compile(None, &[], &[], &mut Vec::new()).is_empty());
}

#[test]
fn one_path_without_a_value_fails_all_outputs() {
    let error = outputs(&[("a", "status.n"), ("b", ".status.b")])
        .read(POD, &run())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "failed to evaluate path [.status.b]: jsonpath returned empty list: .status.b (output [b])"
    );
}

#[test]
fn every_path_without_a_value_is_named() {
    let error = outputs(&[("z", "x"), ("a", "status.n[0]")])
        .read(POD, &run())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "failed to evaluate path [status.n[0]]: evaluate: failed to find results: number is not \
         array or slice (output [a]); failed to evaluate path [x]: jsonpath returned empty list: x \
         (output [z])"
    );
}

#[test]
fn a_path_that_is_none_is_found_by_compiling() {
    let mut problems = Vec::new();
    Outputs::compile(
        Some(&BTreeMap::from([
            ("a".to_owned(), String::new()),
            ("b".to_owned(), "x[".to_owned()),
        ])),
        &[],
        &[],
        &mut problems,
    );
    let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "outputs.a: failed to evaluate path []: empty jsonpath not allowed",
            "outputs.b: failed to evaluate path [x[]: evaluate: failed to parse jsonpath '{.x[}': \
             unterminated array",
        ]
    );
}

#[test]
fn more_than_64_outputs_are_refused() {
    let declared = |count: usize| {
        (0..count)
            .map(|i| (format!("o{i}"), "a".to_owned()))
            .collect()
    };
    let mut problems = Vec::new();
    Outputs::compile(Some(&declared(MAX_OUTPUTS)), &[], &[], &mut problems);
    assert_eq!(problems, []);
    Outputs::compile(Some(&declared(MAX_OUTPUTS + 1)), &[], &[], &mut problems);
    assert_eq!(
        problems,
        [Diagnostic::in_spec(
            "outputs",
            DiagnosticKind::Limit("there are 65, more than 64".to_owned())
        )]
    );
}

#[test]
fn a_value_over_64_kibibytes_is_refused_by_name() {
    let value = |bytes: usize| json!({ "fits": "", "x": "x".repeat(bytes - 2) });
    let outputs = outputs(&[("fits", "fits"), ("large", "x")]);
    assert!(outputs.read(POD, &value(MAX_OUTPUT_BYTES)).is_ok());
    let error = outputs.read(POD, &value(MAX_OUTPUT_BYTES + 1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "output [large] is larger than 65536 bytes"
    );
}

/// The API server's store escapes these as `\u003c` and the like.
#[test]
fn signs_that_the_store_escapes_count_six_bytes() {
    let value = |signs: usize| json!({ "x": "<".repeat(signs) });
    let most = (MAX_OUTPUT_BYTES - 2) / 6;
    let outputs = outputs(&[("large", "x")]);
    assert!(outputs.read(POD, &value(most)).is_ok());
    assert!(outputs.read(POD, &value(most + 1)).is_err());
}

#[test]
fn values_over_256_kibibytes_together_are_refused() {
    let run = json!({ "x": "x".repeat(MAX_OUTPUT_BYTES - 2) });
    let declared = [("a", "x"), ("b", "x"), ("c", "x"), ("d", "x"), ("e", "x")];
    assert!(outputs(&declared[..4]).read(POD, &run).is_ok());
    assert_eq!(
        outputs(&declared).read(POD, &run).unwrap_err().to_string(),
        "the outputs are together larger than 262144 bytes: output [e], of 65536 bytes, is the \
         first that does not fit"
    );
}

#[test]
fn a_value_that_is_too_deep_is_refused() {
    let deep = (0..65).fold(json!(1), |inner, _| Value::Array(vec![inner]));
    let error = outputs(&[("deep", "x")])
        .read(POD, &json!({ "x": deep }))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "output [deep] nests objects and arrays more than 64 deep"
    );
}

#[test]
fn a_secret_gives_no_outputs_and_nor_does_what_could_be_one() {
    let secret = json!({ "data": { "token": "x" } });
    let outputs = outputs(&[("token", "data.token")]);
    assert_eq!(
        outputs.read(Some(("v1", "Secret")), &secret),
        Err(OutputError::Secret)
    );
    assert_eq!(outputs.read(None, &secret), Err(OutputError::UnknownKind));
}

#[test]
fn a_run_that_lacks_an_optional_output_gives_the_others() {
    for path in [
        ".status.missing",
        ".status.results[7].value",
        ".status.missing[0]",
        r#".status.results[?(@.name=="size")].value"#,
        ".status.nothing[0]",
        r#".status.nothing[?(@.name=="size")].value"#,
        ".status.n.deeper",
        ".terminationMessage.size",
    ] {
        let outputs = with_optional(&[("n", "status.n"), ("size", path)], &["size"]);
        let others = BTreeMap::from([("n".to_owned(), json!(3))]);
        assert_eq!(outputs.read(POD, &run()), Ok(Some(others)), "{path}");
    }
}

#[test]
fn a_termination_message_that_is_no_object_is_no_optional_output_that_is_missing() {
    let run = |message: Value| json!({ "terminationMessage": message });
    let kind = Some(("batch/v1", "Job"));
    for path in [
        ".terminationMessage.a",
        ".terminationMessage..a",
        ".terminationMessage['a']",
        ".terminationMessage.a[0]",
    ] {
        let outputs = with_optional(&[("a", path)], &["a"]);
        let cut = run(json!("{ \"a\": cut"));
        assert!(outputs.read(kind, &cut).is_err(), "{path}");
        let none = Ok(Some(BTreeMap::new()));
        assert_eq!(outputs.read(kind, &run(json!({ "b": 1 }))), none, "{path}");
        assert_eq!(outputs.read(kind, &json!({})), none, "{path}");
    }
    // These find nothing in a string, whatever they find elsewhere.
    for path in [
        ".terminationMessage.*",
        ".terminationMessage['a','b']",
        ".terminationMessage[*]",
    ] {
        let outputs = with_optional(&[("a", path)], &["a"]);
        let cut = run(json!("{ \"a\": cut"));
        assert!(outputs.read(kind, &cut).is_err(), "{path}");
    }
}

#[test]
fn a_run_that_lacks_all_of_its_outputs_gives_none_if_all_are_optional() {
    let outputs = with_optional(&[("a", "status.a"), ("b", "status.b")], &["a", "b"]);
    assert_eq!(outputs.read(POD, &run()), Ok(Some(BTreeMap::new())));
}

#[test]
fn an_optional_output_that_is_there_is_given() {
    let outputs = with_optional(
        &[("n", "status.n"), ("nothing", "status.nothing")],
        &["n", "nothing"],
    );
    let expected = [("n", json!(3)), ("nothing", json!(null))];
    let expected = expected
        .map(|(name, value)| (name.to_owned(), value))
        .into();
    assert_eq!(outputs.read(POD, &run()), Ok(Some(expected)));
}

#[test]
fn beside_an_optional_output_a_required_one_has_to_be_there_and_is_the_one_that_is_named() {
    let outputs = with_optional(&[("a", "status.a"), ("b", "status.b")], &["a"]);
    let error = outputs.read(POD, &run()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "failed to evaluate path [status.b]: jsonpath returned empty list: status.b (output [b])"
    );
}

#[test]
fn an_optional_output_that_is_there_and_cannot_be_taken_is_not_missing() {
    let large = "x".repeat(MAX_OUTPUT_BYTES);
    for (path, wrong) in [
        ("status.n[0]", "number is not array or slice"),
        ("status.n[?(@.a)]", "cannot be filtered"),
        ("status.results[0].*", "too many results"),
        ("large", "is larger than"),
        (
            r"status.results[?(@.value<3)].value",
            "failed to find results",
        ),
    ] {
        let mut run = run();
        run["large"] = json!(large);
        let outputs = with_optional(&[("n", "status.n"), ("o", path)], &["o"]);
        let error = outputs.read(POD, &run).unwrap_err().to_string();
        assert!(error.contains(wrong), "{path}: {error}");
    }
}

#[test]
fn an_optional_output_that_is_no_output_is_refused_with_the_one_that_was_probably_meant() {
    let declared = ["digest", "size"].map(|name| (name.to_owned(), "a".to_owned()));
    let problems = |declared: Option<&BTreeMap<_, _>>, optional: &[&str]| {
        let optional: Vec<String> = optional.iter().map(ToString::to_string).collect();
        let mut problems = Vec::new();
        Outputs::compile(declared, &optional, &[], &mut problems);
        let problems = problems.iter().map(ToString::to_string);
        problems.collect::<Vec<_>>()
    };
    assert_eq!(
        problems(
            Some(&declared.into()),
            &["digets", "size", "colour", "size"]
        ),
        [
            "optionalOutputs[0]: there is no 'digets' in outputs: did you mean 'digest'?",
            "optionalOutputs[2]: there is no 'colour' in outputs: the outputs are: digest, size",
            "optionalOutputs[3]: the output is named twice: remove one of them",
        ]
    );
    assert_eq!(
        problems(None, &["digest"]),
        [
            "optionalOutputs[0]: there is no 'digest' in outputs: declare it there, or remove it here"
        ]
    );
}

fn with_sensitive(
    declared: &[(&str, &str)],
    sensitive: &[&str],
    failure: &[(&str, &str)],
) -> (Outputs, Vec<String>) {
    let map = |declared: &[(&str, &str)]| -> BTreeMap<String, String> {
        let declared = declared.iter();
        let declared = declared.map(|(name, path)| ((*name).to_owned(), (*path).to_owned()));
        declared.collect()
    };
    let mut problems = Vec::new();
    let sensitive: Vec<String> = sensitive.iter().map(ToString::to_string).collect();
    let outputs = Outputs::compile(Some(&map(declared)), &[], &sensitive, &mut problems);
    let failure = FailureOutputs::compile(Some(&map(failure)), &mut problems);
    outputs.check_shown(&failure, None, &mut problems);
    (outputs, problems.iter().map(ToString::to_string).collect())
}

#[test]
fn sensitive_outputs_are_read_apart_and_are_needed_like_the_others() {
    let declared = [("n", ".status.n"), ("password", ".status.password")];
    let (outputs, problems) = with_sensitive(&declared, &["password"], &[]);
    assert_eq!(problems, Vec::<String>::new());
    let mut run = run();
    assert!(outputs.read(POD, &run).is_err());
    assert!(outputs.read_sensitive(POD, &run).is_empty());
    run["status"]["password"] = json!("7731");
    let open = outputs.read(POD, &run).unwrap().unwrap();
    assert_eq!(open, BTreeMap::from([("n".to_owned(), json!(3))]));
    let sensitive = outputs.read_sensitive(POD, &run);
    assert_eq!(sensitive.reveal("password"), Some(&json!("7731")));
    assert_eq!(sensitive.reveal("n"), None);
}

#[test]
fn a_sensitive_output_is_one_of_the_outputs() {
    let (_, problems) = with_sensitive(&[("a", ".status.n")], &["b", "a", "a"], &[]);
    let expected = [
        "sensitiveOutputs[0]: there is no 'b' in outputs: the outputs are: a",
        "sensitiveOutputs[2]: the output is named twice: remove one of them",
    ];
    assert_eq!(problems, expected);
}

#[test]
fn what_shows_a_sensitive_output_is_refused() {
    let secret = ("secret", ".status.db.password");
    for showing in [
        ".status.db",
        "{.status.db.password}",
        "status",
        ".status.db.password.hint",
    ] {
        let (_, problems) = with_sensitive(&[secret, ("open", showing)], &["secret"], &[]);
        assert_eq!(problems.len(), 1, "{showing}");
        let (_, problems) = with_sensitive(&[secret], &["secret"], &[("open", showing)]);
        assert!(problems[0].starts_with("failureOutputs.open: it shows"));
    }
    for other in [".status.db.host", ".status.name"] {
        let (_, problems) = with_sensitive(&[secret, ("open", other)], &["secret"], &[]);
        assert_eq!(problems, Vec::<String>::new(), "{other}");
    }
}
