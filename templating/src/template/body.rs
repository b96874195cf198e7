//! The document of a template, with its strings compiled.

use serde_json::{Map, Value};

use crate::{
    bounds::{MAX_RENDERED_BYTES, Work},
    context::Context,
    diagnostic::{Problem, Problems, Segment, document_path},
    tag::{Leaf, TagError},
};

/// A part of the document. What holds no tag is kept whole and only copied.
#[derive(Clone, Debug)]
pub(super) enum Body {
    Literal(Value),
    Leaf(Leaf),
    Array(Vec<Body>),
    Object(Vec<(String, Body)>),
}

impl Body {
    /// Compiles a document that is shallow. Its problems are added in document order.
    pub(super) fn compile(document: &Value, problems: &mut Vec<Problem>) -> Self {
        compile(document, &mut Vec::new(), problems)
    }

    pub(super) fn tag_count(&self) -> usize {
        match self {
            Self::Literal(_) => 0,
            Self::Leaf(leaf) => leaf.tag_count(),
            Self::Array(items) => items.iter().map(Self::tag_count).sum(),
            Self::Object(fields) => fields.iter().map(|(_, body)| body.tag_count()).sum(),
        }
    }

    /// The text of a top-level field without tags.
    pub(super) fn literal(&self, key: &str) -> Option<String> {
        let text = match self {
            Self::Literal(document) => document.get(key)?.as_str()?,
            Self::Object(fields) => match fields.iter().find(|(name, _)| name == key)? {
                (_, Self::Literal(value)) => value.as_str()?,
                _ => return None,
            },
            _ => return None,
        };
        Some(text.to_owned())
    }

    /// Replaces every tag. Fails with all that cannot be replaced, in document order.
    pub(super) fn render(&self, context: &Context) -> Result<Value, Problems> {
        let mut rendering = Rendering {
            context,
            work: Work::new(),
            room: MAX_RENDERED_BYTES,
            problems: Vec::new(),
            at: Vec::new(),
            stopped: false,
        };
        let document = rendering.render(self);
        Problems::check(rendering.problems)?;
        Ok(document)
    }
}

fn compile<'a>(value: &'a Value, at: &mut Vec<Segment<'a>>, problems: &mut Vec<Problem>) -> Body {
    match value {
        Value::String(text) => match Leaf::compile(text) {
            Ok(Leaf::Plain(text)) => Body::Literal(Value::String(text)),
            Ok(leaf) => Body::Leaf(leaf),
            Err(errors) => {
                problems.extend(located(at, errors));
                Body::Literal(Value::Null)
            }
        },
        Value::Array(items) => {
            let bodies = items.iter().enumerate().map(|(index, item)| {
                within(at, Segment::Index(index), |at| compile(item, at, problems))
            });
            collapse_array(bodies.collect())
        }
        Value::Object(fields) => {
            let bodies = fields.iter().map(|(key, field)| {
                let body = within(at, Segment::Key(key), |at| compile(field, at, problems));
                (key.clone(), body)
            });
            collapse_object(bodies.collect())
        }
        other => Body::Literal(other.clone()),
    }
}

fn collapse_array(bodies: Vec<Body>) -> Body {
    if !bodies.iter().all(|body| matches!(body, Body::Literal(_))) {
        return Body::Array(bodies);
    }
    let literals = bodies.into_iter().filter_map(|body| match body {
        Body::Literal(value) => Some(value),
        _ => None,
    });
    Body::Literal(literals.collect())
}

fn collapse_object(bodies: Vec<(String, Body)>) -> Body {
    if !bodies
        .iter()
        .all(|(_, body)| matches!(body, Body::Literal(_)))
    {
        return Body::Object(bodies);
    }
    let literals = bodies.into_iter().filter_map(|(key, body)| match body {
        Body::Literal(value) => Some((key, value)),
        _ => None,
    });
    Body::Literal(Value::Object(literals.collect()))
}

fn within<'a, T>(
    at: &mut Vec<Segment<'a>>,
    segment: Segment<'a>,
    visit: impl FnOnce(&mut Vec<Segment<'a>>) -> T,
) -> T {
    at.push(segment);
    let outcome = visit(at);
    at.pop();
    outcome
}

fn located(at: &[Segment<'_>], errors: Vec<TagError>) -> impl Iterator<Item = Problem> {
    let path = document_path(at);
    errors.into_iter().map(move |error| Problem {
        path: path.clone(),
        tag: Some(error.tag),
        message: error.message,
    })
}

struct Rendering<'a> {
    context: &'a Context,
    work: Work,
    room: usize,
    problems: Vec<Problem>,
    at: Vec<Segment<'a>>,
    /// Whether a limit was reached: then the rest is not looked at.
    stopped: bool,
}

impl<'a> Rendering<'a> {
    fn render(&mut self, body: &'a Body) -> Value {
        match body {
            Body::Literal(value) => value.clone(),
            Body::Leaf(leaf) => self.leaf(leaf),
            Body::Array(items) => {
                let items = items.iter().enumerate();
                items
                    .map(|(index, item)| self.below(Segment::Index(index), item))
                    .collect()
            }
            Body::Object(fields) => {
                let fields = fields.iter().map(|(key, field)| {
                    let value = self.below(Segment::Key(key), field);
                    (key.clone(), value)
                });
                Value::Object(fields.collect::<Map<_, _>>())
            }
        }
    }

    fn below(&mut self, segment: Segment<'a>, body: &'a Body) -> Value {
        self.at.push(segment);
        let value = self.render(body);
        self.at.pop();
        value
    }

    fn leaf(&mut self, leaf: &Leaf) -> Value {
        if self.stopped {
            return Value::Null;
        }
        match leaf.render(self.context, &mut self.work, &mut self.room) {
            Ok(value) => value,
            Err(errors) => {
                self.stopped = errors.iter().any(|error| error.fatal);
                self.problems.extend(located(&self.at, errors));
                Value::Null
            }
        }
    }
}
