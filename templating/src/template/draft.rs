//! A template that may have mistakes, for those who want to know of all of them at once.

use cartouche_crds::ClusterRunTemplateSpec;
use serde_json::Value;

use super::{Template, input, leading_steps, leads_to};
use crate::{
    context::Context,
    diagnostic::{Diagnostic, DiagnosticKind, Root, Segment},
    document::{self, check_rendered_size},
};

/// A template as far as it can be read. It is checked, and never run: what cannot be read is left open.
#[derive(Clone, Debug)]
pub struct Draft {
    template: Template,
    problems: Vec<Diagnostic>,
    /// Whether the template as a whole is refused, so that nothing is known of what it makes.
    is_refused: bool,
}

/// What a draft makes of one Runnable.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// What is rendered, with null where nothing is known.
    pub document: Value,
    /// Where in it nothing is known, because a tag has no value or cannot be read, or because it reads an
    /// input that does not fit.
    pub open: Vec<Vec<Segment>>,
    /// What is wrong beside what is wrong for every Runnable. A tag that reads an input which does not
    /// fit is not named, too: that is one mistake.
    pub problems: Vec<Diagnostic>,
}

impl Draft {
    /// Reads what can be read.
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

    /// Everything that is wrong whatever a Runnable says, as [`Template::compile`] tells it.
    #[must_use]
    pub fn problems(&self) -> &[Diagnostic] {
        &self.problems
    }

    /// The template as far as it could be read, for what does not make runs: warnings, kind, health.
    #[must_use]
    pub fn template(&self) -> &Template {
        &self.template
    }

    /// Renders what can be rendered, and goes on where [`Template::render`] gives up. Of the inputs that are `unknown` it
    /// takes for granted that they are given, and leaves open what reads them.
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
        // A default that does not fit is a mistake of the schema, and told as such.
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
            // What an input makes too large that does not fit is one mistake, too.
            if unfit.is_empty() {
                problems.extend_from_slice(&refused);
            }
            return Attempt::unknown(problems);
        }
        let (mut document, mut open) = (rendered.document, rendered.open);
        // What is filled in when a run is made is not known either.
        open.extend(rendered.to_fill.into_iter().map(|place| place.at));
        let not_texts = self.template.not_texts(&document);
        let known = not_texts.into_iter().filter(|it| !open.contains(&it.at));
        let not_texts: Vec<Diagnostic> = known.collect();
        // What else would be said of them follows from that.
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

/// Whether a problem of the inputs may be gone once the unknown ones are there: it is of one of them, or of all inputs
/// together, and not that there is no such input or that another one is missing.
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
    /// That of a template that cannot be rendered at all: all of the document is open.
    fn unknown(problems: Vec<Diagnostic>) -> Self {
        Self {
            document: Value::Null,
            open: vec![Vec::new()],
            problems,
        }
    }
}

/// Whether a path leads to one of these places, into one, or past one.
fn reads(path: &str, places: &[Vec<Segment>]) -> bool {
    let steps = leading_steps(path);
    !steps.is_empty() && places.iter().any(|place| leads_to(&steps, place))
}
