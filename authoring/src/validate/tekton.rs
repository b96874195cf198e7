//! Parameters of Tekton: no schema restricts their values, and Tekton makes a text of an unknown one.

use cartouche_engines::kinds;
use cartouche_language::syntax::{self, To};
use serde_json::Value;

use super::shape;
use crate::{
    finding::{Finding, Rule},
    input_schema,
    inputs_from::place_of_input,
    source::{self, Document, Segment, SourceSpan},
    template_file,
};

/// A value of a parameter that is none of the three allowed types.
struct Misfit {
    at: Vec<Segment>,
    is: String,
    /// The text that Tekton makes of it, if that is the one that was meant.
    text: Option<String>,
}

/// Checks values that stand in the template as they are.
pub(super) fn in_template(document: &Document) -> Vec<Finding> {
    let Some(body) = template_file::body(document) else {
        return Vec::new();
    };
    let misfits = misfits(&body.to_value()).into_iter();
    let place = |at: &[Segment]| shape::place(document, body, at, false);
    misfits
        .map(|misfit| finding(&misfit, place(&misfit.at)))
        .collect()
}

/// Checks values of a rendered run that come from a Runnable.
pub(super) fn in_run(
    document: &Document,
    runnable: &Document,
    run: &Value,
    from_a_tag: impl Fn(&[Segment]) -> bool,
) -> Vec<Finding> {
    let misfits = misfits(run).into_iter();
    let misfits = misfits.filter(|misfit| from_a_tag(&misfit.at));
    let finding = |misfit: Misfit| {
        let finding = finding(&misfit, place(document, runnable, &misfit.at));
        Finding {
            message: format!("Runnable {}: {}", runnable.name(), finding.message),
            ..finding
        }
    };
    misfits.map(finding).collect()
}

fn finding(misfit: &Misfit, place: SourceSpan) -> Finding {
    let wanted = match misfit.text {
        Some(_) => "a string, a list of strings or a map of strings",
        None => "a string",
    };
    let at = source::field_path(&misfit.at);
    let message = format!("{at} has to be {wanted}, and is {}", misfit.is);
    let finding = match &misfit.text {
        Some(text) => Finding::warning(Rule::FieldType, message).help(format!(
            "put it in quotes: Tekton makes the text \"{text}\" of it"
        )),
        None => Finding::error(Rule::FieldType, message)
            .help("put it in quotes: Tekton makes one text of the whole value, and no list or map"),
    };
    finding.at(place).label("this is not a string")
}

/// Returns the place that a value of a run comes from: the input, or the tag if the input is not all of it.
fn place(document: &Document, runnable: &Document, at: &[Segment]) -> SourceSpan {
    let tags = template_file::tags(document);
    let tag = tags
        .iter()
        .find(|tag| tag.tag.alone && at.starts_with(&tag.at));
    let input = tag.and_then(|tag| {
        let steps = syntax::steps(&tag.tag.path);
        let mut input = Segment::keys(["spec", "inputs"]);
        for step in input_schema::below_inputs(&steps)? {
            input.push(match &step.to {
                To::Key(key) => Segment::Key(key.clone()),
                To::Index(index) => Segment::Index(usize::try_from(*index).ok()?),
                To::Elements => return None,
            });
        }
        input.extend_from_slice(at.get(tag.at.len()..)?);
        let is_there = runnable.root.follow(&input).2 == input.len();
        let own = || is_there.then(|| shape::place(runnable, &runnable.root, &input, false));
        place_of_input(runnable, &input).or_else(own)
    });
    let of_tag = || match template_file::body(document) {
        Some(body) => shape::place(document, body, at, false),
        None => document.place_at(at),
    };
    input.unwrap_or_else(of_tag)
}

fn misfits(run: &Value) -> Vec<Misfit> {
    let text = |key: &str| run.get(key).and_then(Value::as_str).unwrap_or_default();
    let mut found = Vec::new();
    if !kinds::has_params(text("apiVersion"), text("kind")) {
        return found;
    }
    for (keys, value) in [
        (&["spec", "params"][..], "value"),
        (&["spec", "taskSpec", "params"], "default"),
        (&["spec", "pipelineSpec", "params"], "default"),
    ] {
        params(run, &Segment::keys(keys.iter().copied()), value, &mut found);
    }
    for list in ["tasks", "finally"] {
        let at = Segment::keys(["spec", "pipelineSpec", list]);
        let tasks = Segment::value_at(&at, run).and_then(Value::as_array);
        for index in 0..tasks.map_or(0, Vec::len) {
            let task = [&at[..], &[Segment::Index(index), "params".into()]].concat();
            params(run, &task, "value", &mut found);
        }
    }
    found
}

/// Finds such values in the list of parameters at some steps.
fn params(run: &Value, at: &[Segment], field: &str, found: &mut Vec<Misfit>) {
    let params = Segment::value_at(at, run).and_then(Value::as_array);
    for (index, param) in params.into_iter().flatten().enumerate() {
        let at = [at, &[Segment::Index(index), field.into()]].concat();
        found.extend(param.get(field).and_then(|value| misfit(at, value)));
    }
}

fn misfit(mut at: Vec<Segment>, value: &Value) -> Option<Misfit> {
    let (below, part) = match value {
        Value::Null | Value::String(_) => return None,
        Value::Array(items) => {
            let index = items.iter().position(|item| !item.is_string())?;
            (Some(Segment::Index(index)), items.get(index)?)
        }
        Value::Object(fields) => {
            let (key, part) = fields.iter().find(|(_, part)| !part.is_string())?;
            (Some(Segment::Key(key.clone())), part)
        }
        Value::Bool(_) | Value::Number(_) => (None, value),
    };
    let text = below.is_none().then(|| value.to_string());
    at.extend(below);
    let is = match part {
        Value::Bool(_) => format!("a boolean {part}"),
        Value::Number(_) => format!("a number {part}"),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a map".to_owned(),
        _ => "null".to_owned(),
    };
    Some(Misfit { at, is, text })
}
