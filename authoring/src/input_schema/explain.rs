//! The inputs of a template, as `kubectl explain` prints the fields of a kind.

use cartouche_crds::{ProfileRequirement, Runner};
use cartouche_language::{
    suggestion,
    syntax::{self, PathStep, To},
};
use cartouche_templating::{Mounted, list_mounts};
use std::fmt::Write as _;

use anyhow::{anyhow, bail};
use cartouche_templating::Template;
use serde_json::{Value, json};

use crate::{
    foreign::in_lines,
    input_schema,
    objects::Objects,
    schema::{MemberSchema, Schema},
    source::Document,
};

/// Format of the explanation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum ExplainFormat {
    #[default]
    #[expect(
        missing_docs,
        reason = "the comment would appear in the help of the command"
    )]
    Text,
    /// The schema itself
    Json,
}

/// Explanation of a template, or of one of its inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Explanation as it is printed.
    pub text: String,
    /// Warning that the template cannot be used.
    pub warning: Option<String>,
}

/// Explains the template among some objects. If there is one template, the only word may be the input.
pub fn explain_one(
    objects: &Objects,
    (template, input): (Option<&str>, Option<&str>),
    format: ExplainFormat,
) -> anyhow::Result<Explanation> {
    let find = |name: &str| objects.templates.iter().find(|one| one.name() == name);
    let names = || objects.templates.iter().map(Document::name);
    let (template, input) = match (objects.templates.as_slice(), template) {
        ([], _) => bail!("there is no ClusterRunTemplate among these files"),
        ([only], Some(word)) if input.is_none() && only.name() != word => (only, Some(word)),
        ([only], None) => (only, None),
        (_, None) => bail!(
            "there are several templates among these files\nhint: name one of {}",
            names().collect::<Vec<_>>().join(", ")
        ),
        (_, Some(name)) => match find(name) {
            Some(found) => (found, input),
            None => bail!(
                "there is no ClusterRunTemplate {name} among these files\nhint: {}",
                suggestion::hint(name, "there are", names()).unwrap_or_default()
            ),
        },
    };
    explain(&template.value, input, format)
}

/// Explains a template as the API server holds it.
pub fn explain(
    template: &Value,
    input: Option<&str>,
    format: ExplainFormat,
) -> anyhow::Result<Explanation> {
    let name = template.pointer("/metadata/name").and_then(Value::as_str);
    let name = name.unwrap_or_default();
    let Some(root) = Schema::new(template, "/spec/inputSchema").filter(|root| root.is_object())
    else {
        return Ok(undeclared(template, name));
    };
    let (schema, is_required) = match input {
        None => (root, false),
        Some(path) => find(root, path, name)?,
    };
    if format == ExplainFormat::Json {
        return Ok(Explanation {
            text: format!("{:#}\n", schema.node()),
            warning: None,
        });
    }
    let mut out = format!("TEMPLATE: {name}\n");
    if let Some(path) = input {
        let _ = writeln!(out, "INPUT:    {path} {}", kind(schema, is_required));
    }
    if let Some(text) = schema.description() {
        let _ = write!(out, "\nDESCRIPTION:\n{}", indented(text, 4));
    }
    let facts = facts(schema);
    if input.is_some() && !facts.is_empty() {
        let _ = write!(out, "\n{}", indented(&facts.join("\n"), 0));
    }
    let inside = contents(schema);
    if inside.member_names().next().is_some() {
        out.push_str(if input.is_some() {
            "\nFIELDS:\n"
        } else {
            "\nINPUTS:\n"
        });
        out.push_str(&fields(inside));
    } else if input.is_none() {
        out.push_str("\nIt accepts any inputs.\n");
    }
    if input.is_none() {
        out.push_str(&making(template));
    }
    Ok(Explanation {
        text: in_lines(&out),
        warning: warning(template),
    })
}

/// Returns the requirements of its runs, and the files that their containers find.
fn making(template: &Value) -> String {
    let spec = template.get("spec").and_then(Value::as_object);
    let field = |name: &str| spec?.get(name).filter(|value| !value.is_null()).cloned();
    let mut out = String::new();
    let profile = field("profile").and_then(|it| serde_json::from_value(it).ok());
    if profile == Some(ProfileRequirement::Required) {
        out.push_str("\nPROFILE:\n  No run is made unless a ClusterRunProfile matches.\n");
    }
    let runner = field("runner").and_then(|it| serde_json::from_value::<Runner>(it).ok());
    if let Some(runner) = runner {
        out.push_str("\nFILES:\n");
        for Mounted { path, content } in list_mounts(&runner) {
            let _ = writeln!(out, "  {path}: {content}");
        }
        let who = match runner.containers.as_deref() {
            None => "all containers, and no init containers".to_owned(),
            Some(names) => format!("the containers {}", names.join(", ")),
        };
        let _ = writeln!(out, "  They are in {who}.");
    }
    out
}

/// Returns a warning that the template cannot be used: its schema is printed all the same.
fn warning(template: &Value) -> Option<String> {
    let spec = serde_json::from_value(template.get("spec")?.clone()).ok()?;
    let problems = Template::compile(&spec).err()?;
    Some(in_lines(&format!(
        "the template cannot be used: {problems}\n"
    )))
}

/// Returns the schema of one input, and whether it is required.
fn find<'a>(root: Schema<'a>, path: &str, template: &str) -> anyhow::Result<(Schema<'a>, bool)> {
    let path = path
        .trim_start_matches("runnable.")
        .trim_start_matches("spec.inputs.");
    let (mut schema, mut required) = (root, false);
    for PathStep { to, span } in syntax::steps(path) {
        let To::Key(key) = to else {
            schema = schema.items().unwrap_or(schema);
            continue;
        };
        let parent = contents(schema);
        let MemberSchema::Known(member) = parent.member(&key) else {
            let known = parent.member_names();
            let hint = suggestion::hint(&key, "there are", known)
                .unwrap_or_else(|| "without an input all of them are listed".to_owned());
            let within = path.get(..span.start).unwrap_or_default();
            let of = match within.trim_matches('.') {
                "" => format!("ClusterRunTemplate {template} has no input {key}"),
                within => format!("the input {within} has no field {key}"),
            };
            return Err(anyhow!("{of}\nhint: {hint}"));
        };
        required = parent.required().any(|name| name == key);
        schema = member;
    }
    Ok((schema, required))
}

/// Returns the schema that has members: of a list that of its elements, of a map that of its values.
fn contents(schema: Schema<'_>) -> Schema<'_> {
    let mut schema = schema;
    loop {
        if let Some(items) = schema.items() {
            schema = items;
        } else if let (None, Some(values)) = (schema.member_names().next(), schema.values()) {
            schema = values;
        } else {
            return schema;
        }
    }
}

/// Returns `<[]string> -required-`.
fn kind(schema: Schema<'_>, is_required: bool) -> String {
    let required = if is_required { " -required-" } else { "" };
    format!("<{}>{required}", type_name(schema))
}

fn type_name(schema: Schema<'_>) -> String {
    if schema.is_int_or_string() {
        return "integer or string".to_owned();
    }
    match (schema.type_name(), schema.items(), schema.values()) {
        (Some("array"), Some(items), _) => format!("[]{}", type_name(items)),
        (Some("object"), _, Some(values)) if schema.member_names().next().is_none() => {
            format!("map[string]{}", type_name(values))
        }
        (Some(name), _, _) => name.to_owned(),
        (None, _, _) => "any".to_owned(),
    }
}

/// Returns default and limits, a line each.
fn facts(schema: Schema<'_>) -> Vec<String> {
    const NAMES: [(&str, &str); 15] = [
        ("default", "default"),
        ("example", "example"),
        ("enum", "one of"),
        ("format", "format"),
        ("pattern", "pattern"),
        ("minimum", "at least"),
        ("maximum", "at most"),
        ("multipleOf", "a multiple of"),
        ("minLength", "characters, at least"),
        ("maxLength", "characters, at most"),
        ("minItems", "elements, at least"),
        ("maxItems", "elements, at most"),
        ("minProperties", "keys, at least"),
        ("maxProperties", "keys, at most"),
        ("nullable", "may be null"),
    ];
    let mut facts = Vec::new();
    for (key, name) in NAMES {
        let Some(value) = schema.get(key) else {
            continue;
        };
        facts.push(match value {
            Value::Array(values) if key == "enum" => {
                let values: Vec<String> = values.iter().map(ToString::to_string).collect();
                format!("{name}: {}", values.join(", "))
            }
            Value::String(text) if key != "default" => format!("{name}: {text}"),
            value => format!("{name}: {value}"),
        });
    }
    for key in ["allOf", "anyOf", "oneOf", "not"] {
        if let Some(value) = schema.get(key) {
            facts.push(format!("{key}: {value}"));
        }
    }
    if schema.get("additionalProperties") == Some(&json!(false)) {
        facts.push("no others are allowed".to_owned());
    }
    facts
}

fn fields(schema: Schema<'_>) -> String {
    let mut out = String::new();
    for name in schema.member_names() {
        let MemberSchema::Known(member) = schema.member(name) else {
            continue;
        };
        let required = schema.required().any(|other| other == name);
        let _ = writeln!(out, "  {name} {}", kind(member, required));
        if let Some(text) = member.description() {
            out.push_str(&indented(text, 4));
        }
        out.push_str(&indented(&facts(member).join("\n"), 4));
        let names: Vec<&str> = contents(member).member_names().collect();
        if !names.is_empty() {
            let _ = writeln!(out, "    fields: {}", names.join(", "));
        }
        out.push('\n');
    }
    out.truncate(out.trim_end_matches('\n').len());
    out.push('\n');
    out
}

/// Wraps a text to the width of a terminal.
fn indented(text: &str, by: usize) -> String {
    const WIDTH: usize = 100;
    let mut out = String::new();
    for line in text.lines() {
        let mut width = 0;
        for word in line.split_whitespace() {
            if width > 0 && by + width + 1 + word.len() > WIDTH {
                out.push('\n');
                width = 0;
            }
            if width == 0 {
                out.push_str(&" ".repeat(by));
            } else {
                out.push(' ');
                width += 1;
            }
            out.push_str(word);
            width += word.len();
        }
        if width > 0 {
            out.push('\n');
        }
    }
    out
}

/// Explains a template without a schema: the inputs that its tags read are the best that is known.
fn undeclared(template: &Value, name: &str) -> Explanation {
    let mut read = Vec::new();
    let body = template.pointer("/spec/template").unwrap_or(&Value::Null);
    collect(body, &mut read);
    let runner = template.pointer("/spec/runner");
    collect(runner.unwrap_or(&Value::Null), &mut read);
    read.sort();
    read.dedup();
    let mut out = format!("TEMPLATE: {name}\n\nIt declares no inputs in spec.inputSchema.");
    if read.is_empty() {
        out.push_str(" Its tags read none.\n");
    } else {
        out.push_str(" Its tags read:\n");
        for path in read {
            let _ = writeln!(out, "  {path}");
        }
    }
    out.push_str(&making(template));
    Explanation {
        text: in_lines(&out),
        warning: None,
    }
}

fn collect(value: &Value, read: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            for tag in syntax::tags(text) {
                let steps = syntax::steps(&tag.path);
                if let Some(inputs) = input_schema::below_inputs(&steps) {
                    let path = inputs.iter().map(|step| match &step.to {
                        To::Key(key) => key.clone(),
                        To::Index(_) | To::Elements => "[]".to_owned(),
                    });
                    let path: Vec<String> = path.collect();
                    read.push(match path.as_slice() {
                        [] => "(all of them)".to_owned(),
                        path => path.join("."),
                    });
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, read)),
        Value::Object(fields) => fields.values().for_each(|field| collect(field, read)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
