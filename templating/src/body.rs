//! The document of a template, with its strings compiled.

use cartouche_language::{
    Diagnostic, Diagnostics, OpenPlace, Segment,
    bounds::Work,
    diagnostic::{SegmentRef, copy_steps, spelled_out},
    open::TagHolder,
    tag::{self, BadTag, Leaf, RenderRoom},
};
use serde_json::Value;

use crate::{context::Context, meant};

/// A document with its tags replaced. It is null where that failed, and open there.
pub(crate) struct ReplacedDocument {
    pub(crate) document: Value,
    pub(crate) open: Vec<Vec<Segment>>,
    /// Places with tags that stay open until a run is made.
    pub(crate) to_fill: Vec<OpenPlace>,
    pub(crate) problems: Vec<Diagnostic>,
}

/// A part of the document. A part without tags is kept whole and only copied.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    Literal(Value),
    Leaf(Leaf),
    /// A string with tags that cannot be parsed.
    Broken {
        /// The string without these tags.
        readable: Leaf,
        /// The number of its tags, including these.
        tags: usize,
    },
    Array(Vec<Body>),
    Object(Vec<(String, Body)>),
}

impl Body {
    /// Compiles a shallow document at this place. Its problems are added in document order.
    pub(crate) fn compile(
        document: &Value,
        holder: TagHolder,
        at: &[Segment],
        problems: &mut Vec<Diagnostic>,
    ) -> Self {
        let known = problems.len();
        let mut steps: Vec<SegmentRef<'_>> = at.iter().map(Segment::to_ref).collect();
        let body = compile(document, holder, &mut steps, problems);
        for problem in &mut problems[known..] {
            problem.root = holder.root();
        }
        body
    }

    pub(crate) fn tag_count(&self) -> usize {
        match self {
            Self::Literal(_) => 0,
            Self::Broken { tags, .. } => *tags,
            Self::Leaf(leaf) => leaf.paths().count(),
            Self::Array(items) => items.iter().map(Self::tag_count).sum(),
            Self::Object(fields) => fields.iter().map(|(_, body)| body.tag_count()).sum(),
        }
    }

    /// Returns true if the predicate holds for a path in the tags.
    pub(crate) fn any_path(&self, is: &impl Fn(&str) -> bool) -> bool {
        match self {
            Self::Literal(_) => false,
            Self::Leaf(leaf) | Self::Broken { readable: leaf, .. } => leaf.paths().any(is),
            Self::Array(items) => items.iter().any(|item| item.any_path(is)),
            Self::Object(fields) => fields.iter().any(|(_, body)| body.any_path(is)),
        }
    }

    /// Collects the strings with tags, in document order.
    pub(crate) fn leaves<'a>(&'a self, found: &mut Vec<&'a Leaf>) {
        match self {
            Self::Literal(_) => {}
            Self::Leaf(leaf) | Self::Broken { readable: leaf, .. } => found.push(leaf),
            Self::Array(items) => items.iter().for_each(|item| item.leaves(found)),
            Self::Object(fields) => fields.iter().for_each(|(_, body)| body.leaves(found)),
        }
    }

    /// Returns the path of the tag that yields the whole value at the end of some steps, or a value that contains
    /// it.
    pub(crate) fn tag_at(&self, at: &[Segment]) -> Option<&str> {
        match (self, at.split_first()) {
            (Self::Leaf(Leaf::Value { tag, .. }), _) => Some(tag.raw()),
            (Self::Object(fields), Some((Segment::Key(key), below))) => {
                let (_, body) = fields.iter().find(|(name, _)| name == key)?;
                body.tag_at(below)
            }
            (Self::Array(items), Some((Segment::Index(index), below))) => {
                items.get(*index)?.tag_at(below)
            }
            _ => None,
        }
    }

    /// Replaces all tags except open ones. Fails with all that cannot be replaced, in document order.
    pub(crate) fn render(&self, context: &Context) -> Result<(Value, Vec<OpenPlace>), Diagnostics> {
        let mut replaced = self.attempt(context, |_| false);
        for problem in spelled_out(&mut replaced.problems) {
            problem.hint = meant::hint(problem, context);
        }
        Diagnostics::check(replaced.problems)?;
        Ok((replaced.document, replaced.to_fill))
    }

    /// Replaces every tag that can be replaced. Tags with a path that is `unknown` are not reported.
    pub(crate) fn attempt(
        &self,
        context: &Context,
        unknown: impl Fn(&str) -> bool,
    ) -> ReplacedDocument {
        let mut renderer = Renderer {
            context,
            unknown,
            work: Work::new(),
            room: RenderRoom::new(),
            problems: Vec::new(),
            at: Vec::new(),
            open: Vec::new(),
            to_fill: Vec::new(),
            stopped: false,
        };
        let document = renderer.render(self);
        ReplacedDocument {
            document,
            open: renderer.open,
            to_fill: renderer.to_fill,
            problems: renderer.problems,
        }
    }

    fn is_literal(&self) -> bool {
        matches!(self, Self::Literal(_))
    }

    fn into_literal(self) -> Value {
        match self {
            Self::Literal(value) => value,
            _ => Value::Null,
        }
    }
}

fn compile<'a>(
    value: &'a Value,
    holder: TagHolder,
    at: &mut Vec<SegmentRef<'a>>,
    problems: &mut Vec<Diagnostic>,
) -> Body {
    match value {
        Value::String(text) => {
            let (leaf, errors) = Leaf::compile(text, &|path| holder.holds(path, at));
            let broken = errors.len();
            problems.extend(located(at, errors));
            match leaf {
                readable if broken > 0 => Body::Broken {
                    tags: readable.paths().count() + broken,
                    readable,
                },
                Leaf::Plain(text) => Body::Literal(Value::String(text)),
                leaf => Body::Leaf(leaf),
            }
        }
        Value::Array(items) => {
            let bodies = items.iter().enumerate().map(|(index, item)| {
                within(at, SegmentRef::Index(index), |at| {
                    compile(item, holder, at, problems)
                })
            });
            let bodies: Vec<Body> = bodies.collect();
            if bodies.iter().all(Body::is_literal) {
                Body::Literal(bodies.into_iter().map(Body::into_literal).collect())
            } else {
                Body::Array(bodies)
            }
        }
        Value::Object(fields) => {
            let bodies = fields.iter().map(|(key, field)| {
                let body = within(at, SegmentRef::Key(key), |at| {
                    compile(field, holder, at, problems)
                });
                (key.clone(), body)
            });
            let bodies: Vec<(String, Body)> = bodies.collect();
            if bodies.iter().all(|(_, body)| body.is_literal()) {
                let literals = bodies.into_iter();
                let literals = literals.map(|(key, body)| (key, body.into_literal()));
                Body::Literal(literals.collect())
            } else {
                Body::Object(bodies)
            }
        }
        other => Body::Literal(other.clone()),
    }
}

fn within<'a, T>(
    at: &mut Vec<SegmentRef<'a>>,
    segment: SegmentRef<'a>,
    visit: impl FnOnce(&mut Vec<SegmentRef<'a>>) -> T,
) -> T {
    at.push(segment);
    let outcome = visit(at);
    at.pop();
    outcome
}

fn located(at: &[SegmentRef<'_>], errors: Vec<BadTag>) -> impl Iterator<Item = Diagnostic> {
    let at = copy_steps(at);
    errors.into_iter().map(move |error| error.at(at.clone()))
}

struct Renderer<'a, U> {
    context: &'a Context,
    /// Returns true if the value at a path is unknown.
    unknown: U,
    work: Work,
    room: RenderRoom,
    problems: Vec<Diagnostic>,
    at: Vec<SegmentRef<'a>>,
    /// Places with unknown values.
    open: Vec<Vec<Segment>>,
    /// Places with tags that stay open until a run is made.
    to_fill: Vec<OpenPlace>,
    /// True if a limit was reached, so that the rest is skipped.
    stopped: bool,
}

impl<'a, U: Fn(&str) -> bool> Renderer<'a, U> {
    fn render(&mut self, body: &'a Body) -> Value {
        match body {
            Body::Literal(value) => value.clone(),
            Body::Leaf(leaf) => self.leaf(leaf, true),
            Body::Broken { readable, .. } => self.leaf(readable, false),
            Body::Array(items) => {
                let items = items.iter().enumerate();
                items
                    .map(|(index, item)| self.below(SegmentRef::Index(index), item))
                    .collect()
            }
            Body::Object(fields) => {
                let fields = fields.iter().map(|(key, field)| {
                    let value = self.below(SegmentRef::Key(key), field);
                    (key.clone(), value)
                });
                fields.collect()
            }
        }
    }

    fn below(&mut self, segment: SegmentRef<'a>, body: &'a Body) -> Value {
        self.at.push(segment);
        let value = self.render(body);
        self.at.pop();
        value
    }

    fn leaf(&mut self, leaf: &'a Leaf, is_whole: bool) -> Value {
        let value = self.replaced(leaf).filter(|_| is_whole);
        if value.is_none() || leaf.paths().any(&self.unknown) {
            self.open.push(copy_steps(&self.at));
        }
        value.unwrap_or_default()
    }

    fn replaced(&mut self, leaf: &'a Leaf) -> Option<Value> {
        if self.stopped {
            return None;
        }
        let (context, work, room) = (self.context, &mut self.work, &mut self.room);
        match leaf.render(&mut |path| tag::paid(context.find(path, work)?, room)) {
            Ok((value, tags)) => {
                if !tags.is_empty() {
                    let at = copy_steps(&self.at);
                    self.to_fill.push(OpenPlace {
                        at,
                        tags,
                        json: None,
                    });
                }
                Some(value)
            }
            Err(mut errors) => {
                self.stopped = errors.iter().any(BadTag::is_final);
                errors.retain(|error| !(self.unknown)(&error.tag));
                self.problems.extend(located(&self.at, errors));
                None
            }
        }
    }
}
