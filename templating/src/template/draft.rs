//! A template that may have errors, for tools that report all of them at once.

use cartouche_crds::ClusterRunTemplateSpec;
use cartouche_language::{Diagnostic, DiagnosticKind, Root, Segment};
use serde_json::Value;

use super::{Template, input, leading_steps, leads_to};
use crate::{
    context::Context,
    document::{self, check_rendered_size},
};

/// A template as far as it can be parsed. It is checked, and never run: unparsable parts stay open.
#[derive(Clone, Debug)]
pub struct Draft {
    template: Template,
    problems: Vec<Diagnostic>,
    /// True if the template as a whole is refused, so that nothing is known of its runs.
    is_refused: bool,
}

/// The result of rendering a draft for one Runnable.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The rendered document, with null at unknown places.
    pub document: Value,
    /// Unknown places of the document, with a tag that has no value, cannot be parsed, or reads an input that does
    /// not fit.
    pub open: Vec<Vec<Segment>>,
    /// Problems other than those for every Runnable. A tag that reads an input which does not fit is not reported
    /// as well, because that is one error.
    pub problems: Vec<Diagnostic>,
}

impl Draft {
    /// Compiles a template as far as possible.
    #[must_use]
    pub fn new(spec: &ClusterRunTemplateSpec) -> Self {
        let (template, problems) = Template::read(spec);
        let whole = Segment::keys(["template"]);
        let is_refused = problems
            .iter()
            .any(|problem| problem.root == Root::Spec && problem.at == whole);
        Self {
            template,
            problems,
            is_refused,
        }
    }

    /// Returns all problems that are independent of a Runnable, as [`Template::compile`] does.
    #[must_use]
    pub fn problems(&self) -> &[Diagnostic] {
        &self.problems
    }

    /// Returns the template as far as it was compiled, for uses other than runs: warnings, kind, health.
    #[must_use]
    pub fn template(&self) -> &Template {
        &self.template
    }

    /// Renders as far as possible, and continues where [`Template::render`] fails. It assumes that the `unknown`
    /// inputs will be given, and leaves open the tags that read them.
    #[must_use]
    pub fn attempt(&self, context: &Context, unknown: &[&str]) -> Attempt {
        let context = &context.with_nulls(unknown);
        let unknown: Vec<Vec<Segment>> = unknown.iter().map(|name| input(name)).collect();
        let (completed, mut problems) = match &self.template.inputs {
            Some(schema) => {
                let (inputs, misfits) = schema.attempt(context.inputs());
                (context.with_inputs(inputs), misfits)
            }
            None => (context.clone(), Vec::new()),
        };
        problems.retain(|problem| !follows_from(problem, &unknown));
        let misfits = problems.iter().map(Diagnostic::input);
        let unfit: Vec<Vec<Segment>> = misfits.chain(unknown).collect();
        // A default that does not fit is an error of the schema, and reported as such.
        problems.retain(|problem| {
            context.at(&problem.input()).is_some() || completed.at(&problem.input()).is_none()
        });
        if self.is_refused {
            return Attempt::unknown(problems);
        }
        let is_unfit = |path: &str| !unfit.is_empty() && reads(path, &unfit);
        let mut rendered = self.template.body.attempt(&completed, is_unfit);
        problems.append(&mut rendered.problems);
        if let Err(refused) = check_rendered_size(&rendered.document) {
            // A document that is too large because of an input that does not fit is one error, too.
            if unfit.is_empty() {
                problems.extend_from_slice(&refused);
            }
            return Attempt::unknown(problems);
        }
        let (mut document, mut open) = (rendered.document, rendered.open);
        // Values that are filled in when a run is made are unknown, too.
        open.extend(rendered.to_fill.into_iter().map(|place| place.at));
        let not_texts = self.template.not_texts(&document);
        let known = not_texts.into_iter().filter(|it| !open.contains(&it.at));
        let not_texts: Vec<Diagnostic> = known.collect();
        // Further reports about them would follow from that.
        open.extend(not_texts.iter().map(|problem| problem.at.clone()));
        problems.extend(not_texts);
        for at in &open {
            if let Some(unknown) = Segment::value_at_mut(at, &mut document) {
                *unknown = Value::Null;
            }
        }
        problems.extend(document::review(&mut document, &open, context.namespace()));
        problems.retain(|problem| !self.problems.contains(problem));
        Attempt {
            document,
            open,
            problems,
        }
    }
}

/// Returns true if a problem of the inputs may vanish once the unknown ones are given: it is about one of them, or
/// about all inputs together, and not about an unexpected or another missing input.
fn follows_from(problem: &Diagnostic, unknown: &[Vec<Segment>]) -> bool {
    let at = problem.input();
    unknown.iter().any(|input| {
        if at == *input {
            return !matches!(problem.kind, DiagnosticKind::UnknownInput { .. });
        }
        input.starts_with(&at) || at.starts_with(input)
    })
}

impl Attempt {
    /// Creates the result for a template that cannot be rendered at all: the whole document is open.
    fn unknown(problems: Vec<Diagnostic>) -> Self {
        Self {
            document: Value::Null,
            open: vec![Vec::new()],
            problems,
        }
    }
}

/// Returns true if a path leads to one of these places, into one, or past one.
fn reads(path: &str, places: &[Vec<Segment>]) -> bool {
    let steps = leading_steps(path);
    !steps.is_empty() && places.iter().any(|place| leads_to(&steps, place))
}
