//! The targets of the fuzzer, and their invariants.

use std::collections::BTreeMap;

use cartouche_crds::{ClusterRunTemplateSpec, RunnableStatus};
use cartouche_language::{MAX_RUN_NAME, Owner, label_value, name_suffix};
use cartouche_templating::{Context, Rendered, Stamp, Template, contains, stamp};
use serde_json::{Value, json};

/// A part of the code with one text as input.
pub struct Target {
    pub name: &'static str,
    /// Returns the behaviour of the part on a text, or its failure.
    pub check: fn(&str) -> Result<String, String>,
}

pub const TARGETS: [Target; 6] = [
    Target {
        name: "tag",
        check: tag,
    },
    Target {
        name: "path",
        check: path,
    },
    Target {
        name: "template",
        check: template,
    },
    Target {
        name: "digest",
        check: digest,
    },
    Target {
        name: "name",
        check: name,
    },
    Target {
        name: "status",
        check: status,
    },
];

/// Fixed words of our messages: the rest of an error repeats the input.
const SAYINGS: &[&str] = &[
    "compile",
    "render ",
    "rendered",
    "empty jsonpath",
    "empty list",
    "too many results",
    "out of bounds",
    "not array",
    "unterminated",
    "unrecognized",
    "invalid array index",
    "not a number",
    "more queries",
    "step must",
    "nil value",
    "not readable",
    "reads runnable",
    "bytes long",
    "larger",
    "nested",
    "more than",
    "missing",
    "no text",
    "is not a",
    "cannot set",
    "removed",
    "overwritten",
    "not closed",
    "tags in keys",
    "fixed name",
    "interpolate tag",
    "a dot within",
    "identifier",
    "expected",
    "duplicate",
    "invalid type",
    "unknown variant",
    "and more",
    "regular",
    "function",
];

/// Reduces a text to a behaviour: texts with the same fixed words have the same one.
fn behaviour(text: &str) -> String {
    let said = SAYINGS.iter().filter(|saying| text.contains(**saying));
    said.copied().collect::<Vec<_>>().join(", ")
}

fn ensure(holds: bool, what: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what.to_owned()) }
}

fn spec(template: &Value) -> ClusterRunTemplateSpec {
    serde_json::from_value(json!({ "template": template })).unwrap_or_else(|_| panic!("a template"))
}

fn config_map(data: Value) -> Value {
    let mut template = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "x-" },
    });
    template["data"] = data;
    template
}

/// Returns values of every type, nested, with odd keys.
fn document() -> Value {
    json!({
        "metadata": { "name": "rn", "namespace": "ns", "labels": { "app.kubernetes.io/name": "shop", "a": "b" } },
        "spec": {
            "runTemplateRef": { "name": "t" },
            "inputs": {
                "text": "x", "number": 7, "large": 9_223_372_036_854_775_807_i64, "part": 0.5, "no": false, "nil": null,
                "list": [1, [2, 3], { "name": "a", "value": 1 }, { "name": "b", "value": "2" }, null],
                "": "empty", "é": "accent", "a b": "blank", "tag": "$(runnable.kind)$",
            },
        },
        "status": { "results": [{ "name": "digest", "value": "sha256:abc" }], "phase": "Succeeded" },
    })
}

fn context() -> Context {
    Context::new(&document(), Some(&document())).unwrap_or_else(|_| panic!("a context"))
}

fn tag(text: &str) -> Result<String, String> {
    let template = match Template::compile(&spec(&config_map(json!(text)))) {
        Ok(template) => template,
        Err(problems) => return Ok(behaviour(&format!("compile {problems}"))),
    };
    let rendered = template.render(&context());
    ensure(
        rendered == template.render(&context()),
        "rendering twice gives two results",
    )?;
    match rendered {
        Err(problems) => {
            ensure(
                text.contains(")$"),
                "a text without an end marker has a problem",
            )?;
            Ok(behaviour(&format!("render {problems}")))
        }
        Ok(rendered) => {
            let data = &rendered.document()["data"];
            ensure(
                text.contains(")$") || data == text,
                "a text without an end marker has changed",
            )?;
            Ok(kind_of(data))
        }
    }
}

fn kind_of(value: &Value) -> String {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    };
    kind.to_owned()
}

fn path(text: &str) -> Result<String, String> {
    let mut spec = spec(&config_map(json!({})));
    spec.outputs = Some(BTreeMap::from([("o".to_owned(), text.to_owned())]));
    let template = match Template::compile(&spec) {
        Ok(template) => template,
        Err(problems) => return Ok(behaviour(&format!("compile {problems}"))),
    };
    let mut run = document();
    run["apiVersion"] = json!("v1");
    run["kind"] = json!("ConfigMap");
    let (once, twice) = (template.outputs(&run), template.outputs(&run));
    ensure(
        format!("{once:?}") == format!("{twice:?}"),
        "reading twice gives two results",
    )?;
    match once {
        Ok(outputs) => {
            let value = outputs.and_then(|mut outputs| outputs.remove("o"));
            Ok(kind_of(&value.ok_or("the output is not there")?))
        }
        Err(error) => Ok(behaviour(&error.to_string())),
    }
}

fn template(text: &str) -> Result<String, String> {
    let Ok(document) = serde_json::from_str::<Value>(text) else {
        return Ok("no JSON".to_owned());
    };
    let template = match Template::compile(&spec(&document)) {
        Ok(template) => template,
        Err(problems) => return Ok(behaviour(&format!("compile {problems}"))),
    };
    let warnings: Vec<String> = template
        .warnings()
        .iter()
        .map(ToString::to_string)
        .collect();
    let warnings = warnings.join(" ");
    match template.render(&context()) {
        Err(problems) => Ok(behaviour(&format!("render {problems}"))),
        Ok(rendered) => {
            stamped(&rendered)?;
            Ok(behaviour(&format!("rendered {warnings}")))
        }
    }
}

/// Checks the invariants of every rendering.
fn stamped(rendered: &Rendered) -> Result<(), String> {
    let name = rendered.run_name("uid", 7);
    if rendered.fixed_name().is_none() {
        ensure(name.len() <= MAX_RUN_NAME, "the name is too long")?;
        ensure(
            name.ends_with(&name_suffix("uid", 7)),
            "the name does not end in its suffix",
        )?;
    }
    let run = stamp(
        rendered,
        &Stamp {
            owner: Owner {
                name: "rn",
                namespace: "ns",
                uid: "uid",
            },
            template_name: "t",
            name: &name,
            sequence: 7,
            input_hash: rendered.input_hash(),
            rerun_token: None,
            rerun_request: None,
            sources: None,
            profile: None,
            profile_refresh: None,
        },
    );
    match run {
        Ok(run) => {
            ensure(
                run["metadata"]["namespace"] == "ns",
                "it is in another namespace",
            )?;
            let owners = run["metadata"]["ownerReferences"].as_array().map(Vec::len);
            ensure(owners == Some(1), "it has other owners")?;
            ensure(
                run["metadata"]["labels"]["carto.run/run-sequence"] == "7",
                "it has another number",
            )?;
            ensure(run.get("status").is_none(), "it has a status")?;
            ensure(
                contains(&run, rendered),
                "it is not taken for what was rendered",
            )
        }
        Err(_) => Ok(()),
    }
}

/// Checks that the hash depends on the value, and not on its spelling.
fn digest(text: &str) -> Result<String, String> {
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return Ok("no JSON".to_owned());
    };
    let hash = |value: &Value| {
        let template = Template::compile(&spec(&config_map(value.clone()))).ok()?;
        let rendered = template.render(&context()).ok()?;
        Some((
            rendered.input_hash().to_owned(),
            rendered.document()["data"].clone(),
        ))
    };
    let Some((first, data)) = hash(&value) else {
        return Ok("not rendered".to_owned());
    };
    let again: Value =
        serde_json::from_str(&value.to_string()).map_err(|error| error.to_string())?;
    ensure(
        hash(&again).is_some_and(|(second, _)| second == first),
        "written again it has another hash",
    )?;
    let marked = hash(&json!([value])).is_some_and(|(other, _)| other == first);
    ensure(!marked, "another value has the same hash")?;
    Ok(kind_of(&data))
}

fn name(text: &str) -> Result<String, String> {
    let label = label_value(text);
    ensure(label.len() <= 63, "the label value is too long")?;
    let mut document = config_map(json!({}));
    document["metadata"]["generateName"] = json!(text);
    let template = match Template::compile(&spec(&document)) {
        Ok(template) => template,
        Err(problems) => return Ok(behaviour(&format!("compile {problems}"))),
    };
    let rendered = match template.render(&context()) {
        Ok(rendered) => rendered,
        Err(problems) => return Ok(behaviour(&format!("render {problems}"))),
    };
    let name = rendered.run_name(text, 7);
    let is_dns =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    ensure(
        name.len() <= MAX_RUN_NAME && name.bytes().all(is_dns),
        "it is no name",
    )?;
    ensure(!name.starts_with(['-', '.']), "it begins with a mark")?;
    let other = rendered.run_name(text, 8);
    ensure(name != other, "two numbers have one name")?;
    Ok(format!("{} {}", name.len() / 8, text == label))
}

/// Checks that a readable status is written back unchanged.
fn status(text: &str) -> Result<String, String> {
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return Ok("no JSON".to_owned());
    };
    let status: RunnableStatus = match serde_json::from_value(value) {
        Ok(status) => status,
        Err(error) => return Ok(behaviour(&error.to_string())),
    };
    let written = serde_json::to_value(&status).map_err(|error| error.to_string())?;
    let again: RunnableStatus =
        serde_json::from_value(written.clone()).map_err(|error| error.to_string())?;
    let once_more = serde_json::to_value(&again).map_err(|error| error.to_string())?;
    ensure(written == once_more, "written twice it is another")?;
    let fields = written
        .as_object()
        .map(|fields| fields.keys().cloned().collect::<Vec<_>>());
    Ok(fields.unwrap_or_default().join(" "))
}
