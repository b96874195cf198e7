//! Tags that read fields that cannot be there.

use cartouche_language::{
    explained::unescaped_dots,
    suggestion,
    syntax::{self, PathStep},
};

use super::knowledge::Knowledge;
use crate::{
    finding::{Finding, Rule},
    input_schema,
    schema::{
        Schema,
        check::with_article,
        walk::{ImpossibleStep, Reached, walk},
    },
    source::Document,
    template_file::{self, PlacedTag},
};

/// Finds tags that read a field which no Runnable has.
pub(super) fn check(document: &Document, knowledge: &Knowledge) -> Vec<Finding> {
    let mut tags = template_file::tags(document);
    tags.extend(template_file::runner_tags(document));
    tags.iter()
        .filter_map(|tag| check_tag(tag, knowledge))
        .collect()
}

fn check_tag(tag: &PlacedTag, knowledge: &Knowledge) -> Option<Finding> {
    let steps = syntax::steps(&tag.tag.path);
    let (schema, steps) = below_runnable(&steps, knowledge)?;
    // The finding of the engine is there already.
    if steps.first()?.key() == Some("status") {
        return None;
    }
    let impossible = walk(schema, steps).err()?;
    let what = format!("the tag $({})$", tag.tag.path);
    let step = steps.get(impossible.step);
    let finding = describe(Rule::Tag, &what, "a Runnable", step, &impossible.reason);
    let dots = unescaped_dots(&tag.tag.path, step);
    let deeper = below_another(schema, steps, &tag.tag.path);
    let help = deeper.filter(|_| impossible.step == 0).or(dots);
    Some(finding.at(tag.place_of(step)).maybe_help(help))
}

/// Returns the path that is meant by one without `metadata` or `spec`.
fn below_another(schema: Schema<'_>, steps: &[PathStep], path: &str) -> Option<String> {
    let first = steps.first()?;
    let key = first.key()?;
    if suggestion::nearest(key, schema.member_names()).is_some() {
        return None;
    }
    let rest = path.get(first.span.end..)?;
    let parents = ["metadata", "spec"].into_iter();
    let parents = parents.filter_map(|parent| match walk(schema, &syntax::steps(parent)).ok()? {
        Reached::Known(fields) => Some((parent, fields)),
        Reached::Open => None,
    });
    let parents: Vec<(&str, Schema<'_>)> = parents.collect();
    let same = parents.iter().find_map(|(parent, fields)| {
        let name = fields.member_names().find(|name| *name == key)?;
        Some((parent, name))
    });
    let (parent, name) = same.or_else(|| {
        parents.iter().find_map(|(parent, fields)| {
            Some((parent, suggestion::nearest(key, fields.member_names())?))
        })
    })?;
    let meant = format!("runnable.{parent}.{name}{rest}");
    // The engine refuses some fields.
    syntax::whole_steps(&meant)?;
    Some(format!("did you mean {meant}?"))
}

/// Returns the steps below `runnable`, with the schema to follow them in.
fn below_runnable<'k, 's>(
    steps: &'s [PathStep],
    knowledge: &'k Knowledge,
) -> Option<(Schema<'k>, &'s [PathStep])> {
    let below = syntax::below(steps, &["runnable"])?;
    Some((knowledge.runnable.schema()?, below))
}

/// The types of a schema.
const TYPES: [&str; 6] = ["object", "array", "string", "integer", "number", "boolean"];

/// Returns the type that a tag yields, if it is the same for every Runnable. It is not known for a path that is
/// followed only in part, or that cannot be read.
pub(super) fn type_of(path: &str, template: &Document, knowledge: &Knowledge) -> Option<String> {
    let whole = syntax::whole_steps(path)?;
    if let Some((schema, inputs)) =
        input_schema::find_schema(template).zip(input_schema::below_inputs(&whole))
    {
        return match walk(schema, inputs).ok()? {
            Reached::Known(reached) if reached.get("nullable").is_none() => {
                let name = reached.type_name();
                name.filter(|name| TYPES.contains(name)).map(str::to_owned)
            }
            Reached::Known(_) | Reached::Open => None,
        };
    }
    let (schema, steps) = below_runnable(&whole, knowledge)?;
    match walk(schema, steps).ok()? {
        Reached::Known(reached) => reached.type_name().map(str::to_owned),
        Reached::Open => None,
    }
}

/// Returns the finding about a path that cannot lead anywhere.
pub(super) fn describe(
    rule: Rule,
    what: &str,
    of: &str,
    step: Option<&PathStep>,
    reason: &ImpossibleStep<'_>,
) -> Finding {
    match reason {
        ImpossibleStep::NoMember { of: parent } => {
            let key = step.and_then(PathStep::key).unwrap_or_default();
            let message = format!("{what} reads '{key}', which {of} does not have");
            let hint = suggestion::hint(key, "the fields are", parent.member_names());
            Finding::error(rule, message)
                .label("there is no such field")
                .maybe_help(hint)
        }
        ImpossibleStep::NotA { wanted, is } => {
            let help = match (*wanted, *is) {
                ("object", "array") => {
                    "pick an element of the list first: [0], [-1] or [?(@.name==\"x\")]"
                }
                ("array", "object") => "members are written .name",
                _ => "end the path before it",
            };
            let (wanted, is) = (with_article(wanted), with_article(is));
            let message = format!("{what} never leads to a value: it reads a part of {is}");
            Finding::error(rule, message)
                .label(format!("only {wanted} has parts like this"))
                .help(help)
        }
    }
}
