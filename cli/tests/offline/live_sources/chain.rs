//! Outputs of another Runnable as inputs.

use std::io::Write as _;

use serde_json::{Value, json};

use super::forbidden;
use crate::support::played::{Played, Request};

/// Answer of the server about a Runnable that an input comes from.
#[derive(Clone, Copy)]
enum Base {
    Gives(&'static str),
    /// A number, where the template wants a text.
    GivesNumber,
    WithoutOutputs,
    Hidden,
    Gone,
}

/// A Runnable that takes an output of one of another namespace.
fn chain(base: Base) -> Played {
    Played::serve(move |request: &Request| {
        let path = request.path.split('?').next().unwrap_or_default();
        let object = |name: &str, namespace: &str, spec: &Value, status: &Value| {
            json!({
                "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
                "metadata": { "name": name, "namespace": namespace, "uid": name, "generation": 1 },
                "spec": spec, "status": status,
            })
        };
        match path
            .strip_prefix("/apis/carto.run/v1alpha1/")
            .unwrap_or(path)
        {
            "clusterruntemplates/greet" => {
                let mut template = json!({
                    "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunTemplate", "metadata": { "name": "greet" },
                    "spec": { "template": {
                        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "hello-" },
                        "data": { "digest": "$(runnable.spec.inputs.digest)$" },
                    } },
                });
                if matches!(base, Base::GivesNumber) {
                    template["spec"]["inputSchema"] = json!({ "type": "object", "properties": { "digest": { "type": "string" } } });
                }
                Some(template)
            }
            "namespaces/demo/runnables/hello" => {
                let reference = json!({ "name": "base", "namespace": "ci", "output": "digest" });
                let spec = json!({
                    "runTemplateRef": { "name": "greet" },
                    "inputsFrom": [{ "name": "digest", "runnableRef": reference }],
                });
                Some(object("hello", "demo", &spec, &json!({ "conditions": [] })))
            }
            "namespaces/ci/runnables/base" => {
                let spec = json!({ "runTemplateRef": { "name": "greet" } });
                match base {
                    Base::Gives(digest) => {
                        let status = json!({ "outputs": { "digest": digest } });
                        Some(object("base", "ci", &spec, &status))
                    }
                    Base::GivesNumber => {
                        let status = json!({ "outputs": { "digest": 7 } });
                        Some(object("base", "ci", &spec, &status))
                    }
                    Base::WithoutOutputs => Some(object("base", "ci", &spec, &json!({}))),
                    Base::Hidden => Some(forbidden("runnables")),
                    Base::Gone => None,
                }
            }
            _ => None,
        }
    })
}

#[test]
fn an_output_of_another_namespace_is_read_there_as_the_user() {
    let diff = chain(Base::Gives("sha256:1")).cartouche(&["diff", "hello"]);
    assert_eq!(diff.code, 1, "{}", diff.err);
    assert!(diff.out.contains("+   digest: sha256:1\n"), "{}", diff.out);
    let rendered =
        chain(Base::Gives("sha256:2")).cartouche(&["render", "--cluster", "-r", "hello"]);
    assert!(
        rendered.out.contains("digest: sha256:2\n"),
        "{}{}",
        rendered.out,
        rendered.err
    );
    for (base, told) in [
        (
            Base::Gone,
            "input digest comes from Runnable ci/base, which is not there",
        ),
        (
            Base::WithoutOutputs,
            "input digest comes from output digest of Runnable ci/base, which has given none yet",
        ),
        (Base::Hidden, "reading Runnable base: "),
    ] {
        let diff = chain(base).cartouche(&["diff", "hello"]);
        assert_eq!((diff.code, diff.out.as_str()), (2, ""));
        assert!(diff.err.contains(told), "{}", diff.err);
    }
    let hidden = chain(Base::Hidden).cartouche(&["why", "hello"]);
    let told = "you may not read Runnable ci/base, so what it waits for is unknown";
    assert!(hidden.out.contains(told), "{}{}", hidden.out, hidden.err);
}

#[test]
fn of_an_output_that_does_not_fit_it_is_said_where_it_comes_from_and_how_to_make_a_text_of_it() {
    let played = chain(Base::GivesNumber);
    for command in [
        &["diff", "hello"][..],
        &["render", "--cluster", "-r", "hello"],
    ] {
        let said = played.cartouche(command);
        let said = format!("{}{}", said.out, said.err);
        let from = "it comes from output digest of Runnable ci/base";
        assert!(said.contains(from), "{command:?}: {said}");
        let text =
            r#""$('')$$(runnable.spec.inputs.digest)$" in the template makes a string of it"#;
        assert!(said.contains(text), "{command:?}: {said}");
        assert!(!said.contains("in quotes"), "{command:?}: {said}");
    }
}

#[test]
fn what_a_file_says_of_a_status_does_not_count_where_there_is_a_cluster() {
    let mut file = tempfile::Builder::new().suffix(".yaml").tempfile().unwrap();
    write!(
        file,
        "apiVersion: carto.run/v1alpha1\nkind: Runnable\nmetadata: {{name: base, namespace: ci}}\nspec: {{runTemplateRef: {{name: greet}}}}\nstatus: {{outputs: {{digest: of-a-file}}}}\n"
    )
    .unwrap();
    let path = file.path().display().to_string();
    let played = chain(Base::Gives("sha256:1"));
    let diff = played.cartouche(&["diff", "hello", "-f", &path]);
    assert!(!diff.out.contains("of-a-file"), "{}{}", diff.out, diff.err);
}
