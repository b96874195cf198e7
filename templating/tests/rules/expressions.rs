//! Paths and tags by example: the table in `expressions.yaml`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail like tests"
)]

use std::collections::BTreeMap;

use cartouche_crds::ClusterRunTemplateSpec;
use cartouche_engines::OutputError;
use cartouche_templating::{Context, Template};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Table {
    paths: Paths,
    tags: Tags,
}

#[derive(Deserialize)]
struct Paths {
    document: Value,
    cases: Vec<PathCase>,
}

#[derive(Deserialize)]
struct Tags {
    runnable: Value,
    selected: Value,
    cases: Vec<TagCase>,
}

#[derive(Deserialize)]
struct PathCase {
    path: String,
    #[serde(flatten)]
    expected: Expected,
}

#[derive(Deserialize)]
struct TagCase {
    text: String,
    #[serde(flatten)]
    expected: Expected,
}

#[derive(Deserialize)]
struct Expected {
    #[serde(default)]
    value: Value,
    error: Option<String>,
}

impl Expected {
    fn outcome(&self) -> Result<Value, String> {
        match &self.error {
            Some(error) => Err(error.clone()),
            None => Ok(self.value.clone()),
        }
    }
}

fn table() -> Table {
    serde_saphyr::from_str(include_str!("expressions.yaml")).unwrap()
}

fn spec(template: Value, path: Option<&str>) -> ClusterRunTemplateSpec {
    let outputs = path.map(|path| BTreeMap::from([("out".to_owned(), path.to_owned())]));
    ClusterRunTemplateSpec {
        unknown_fields: Vec::new(),
        profile: None,
        runner: None,
        requires: None,
        template,
        outputs,
        input_schema: None,
        optional_outputs: None,
        sensitive_outputs: None,
        failure_outputs: None,
        health_rule: None,
        retry: None,
        timeout: None,
        concurrency_policy: None,
        approval: None,
        start: None,
        stop: None,
    }
}

fn read_path(path: &str, document: &Value) -> Result<Value, String> {
    let template = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "x-" },
    });
    let without_frame = |message: &str| {
        let frame = format!("failed to evaluate path [{path}]: ");
        message.strip_prefix(&frame).unwrap().to_owned()
    };
    let template = Template::compile(&spec(template, Some(path)))
        .map_err(|problems| without_frame(&problems.iter().next().unwrap().message()))?;
    match template.outputs(document) {
        Ok(outputs) => Ok(outputs.unwrap().remove("out").unwrap()),
        Err(OutputError::Paths(errors)) => Err(errors[0].reason.clone()),
        Err(other) => panic!("{other}"),
    }
}

fn render_text(text: &str, context: &Context) -> Result<Value, String> {
    let template = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "x-" },
        "data": { "leaf": text },
    });
    let rendered = Template::compile(&spec(template, None))
        .and_then(|template| template.render(context))
        .map_err(|problems| {
            let problem = problems.iter().next().unwrap();
            assert_eq!(problem.path(), "data.leaf");
            problem.message()
        })?;
    Ok(rendered.document()["data"]["leaf"].clone())
}

#[test]
fn every_path_of_the_table_gives_what_it_says() {
    let Paths { document, cases } = table().paths;
    assert!(cases.len() > 100);
    for case in cases {
        assert_eq!(
            read_path(&case.path, &document),
            case.expected.outcome(),
            "{}",
            case.path
        );
    }
}

#[test]
fn every_tag_of_the_table_gives_what_it_says() {
    let Tags {
        runnable,
        selected,
        cases,
    } = table().tags;
    let context = Context::new(&runnable, Some(&selected)).unwrap();
    assert!(cases.len() > 70);
    for case in cases {
        assert_eq!(
            render_text(&case.text, &context),
            case.expected.outcome(),
            "{}",
            case.text
        );
    }
}
