//! The document of a template, with its strings compiled.

use serde_json::{Map, Value};

use crate::{
    bounds::{MAX_RENDERED_BYTES, Work},
    context::Context,
    diagnostic::{Diagnostic, Diagnostics, Root, Segment, SegmentRef, kept},
    tag::{BadTag, Leaf},
};

/// A document with its tags replaced: null where that failed, which is where it is open.
pub(super) struct Replaced {
    pub(super) document: Value,
    pub(super) open: Vec<Vec<Segment>>,
    pub(super) problems: Vec<Diagnostic>,
}

/// A part of the document. What holds no tag is kept whole and only copied.
#[derive(Clone, Debug)]
pub(super) enum Body {
    Literal(Value),
    Leaf(Leaf),
    /// A string some tags of which cannot be read.
    Broken {
        /// The string without them.
        readable: Leaf,
        /// How many tags it has, with them.
        tags: usize,
    },
    Array(Vec<Body>),
    Object(Vec<(String, Body)>),
}

impl Body {
    /// Compiles a document that is shallow. Its problems are added in document order.
    pub(super) fn compile(document: &Value, problems: &mut Vec<Diagnostic>) -> Self {
        compile(document, &mut Vec::new(), problems)
    }

    pub(super) fn tag_count(&self) -> usize {
        match self {
            Self::Literal(_) => 0,
            Self::Broken { tags, .. } => *tags,
            Self::Leaf(leaf) => leaf.paths().len(),
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

    /// Where the strings with tags are, with the paths of their tags.
    pub(super) fn tagged<'a>(
        &'a self,
        at: &mut Vec<Segment>,
        found: &mut Vec<(Vec<Segment>, Vec<&'a str>)>,
    ) {
        let mut below = |step: Segment, body: &'a Self| {
            at.push(step);
            body.tagged(at, found);
            at.pop();
        };
        match self {
            Self::Literal(_) => {}
            Self::Leaf(leaf) | Self::Broken { readable: leaf, .. } => {
                found.push((at.clone(), leaf.paths()));
            }
            Self::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    below(Segment::Index(index), item);
                }
            }
            Self::Object(fields) => {
                for (key, field) in fields {
                    below(Segment::Key(key.clone()), field);
                }
            }
        }
    }

    /// Replaces every tag. Fails with all that cannot be replaced, in document order.
    pub(super) fn render(&self, context: &Context) -> Result<Value, Diagnostics> {
        let Replaced {
            document, problems, ..
        } = self.attempt(context);
        Diagnostics::check(problems)?;
        Ok(document)
    }

    /// Replaces every tag that can be replaced.
    pub(super) fn attempt(&self, context: &Context) -> Replaced {
        let mut rendering = Renderer {
            context,
            work: Work::new(),
            room: MAX_RENDERED_BYTES,
            problems: Vec::new(),
            at: Vec::new(),
            open: Vec::new(),
            stopped: false,
        };
        let document = rendering.render(self);
        Replaced {
            document,
            open: rendering.open,
            problems: rendering.problems,
        }
    }
}

fn compile<'a>(
    value: &'a Value,
    at: &mut Vec<SegmentRef<'a>>,
    problems: &mut Vec<Diagnostic>,
) -> Body {
    match value {
        Value::String(text) => {
            let (leaf, errors) = Leaf::compile(text);
            let broken = errors.len();
            problems.extend(located(at, errors));
            match leaf {
                readable if broken > 0 => Body::Broken {
                    tags: readable.paths().len() + broken,
                    readable,
                },
                Leaf::Plain(text) => Body::Literal(Value::String(text)),
                leaf => Body::Leaf(leaf),
            }
        }
        Value::Array(items) => {
            let bodies = items.iter().enumerate().map(|(index, item)| {
                within(at, SegmentRef::Index(index), |at| {
                    compile(item, at, problems)
                })
            });
            collapse_array(bodies.collect())
        }
        Value::Object(fields) => {
            let bodies = fields.iter().map(|(key, field)| {
                let body = within(at, SegmentRef::Key(key), |at| compile(field, at, problems));
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
    let at = kept(at);
    errors.into_iter().map(move |error| Diagnostic {
        root: Root::Template,
        at: at.clone(),
        tag: Some(error.tag),
        kind: error.kind,
    })
}

struct Renderer<'a> {
    context: &'a Context,
    work: Work,
    room: usize,
    problems: Vec<Diagnostic>,
    at: Vec<SegmentRef<'a>>,
    /// Where nothing could be put in.
    open: Vec<Vec<Segment>>,
    /// Whether a limit was reached: then the rest is not looked at.
    stopped: bool,
}

impl<'a> Renderer<'a> {
    fn render(&mut self, body: &'a Body) -> Value {
        match body {
            Body::Literal(value) => value.clone(),
            Body::Leaf(leaf) => self.leaf(leaf).unwrap_or_else(|| self.nothing()),
            Body::Broken { readable, .. } => {
                self.leaf(readable);
                self.nothing()
            }
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
                Value::Object(fields.collect::<Map<_, _>>())
            }
        }
    }

    fn below(&mut self, segment: SegmentRef<'a>, body: &'a Body) -> Value {
        self.at.push(segment);
        let value = self.render(body);
        self.at.pop();
        value
    }

    fn nothing(&mut self) -> Value {
        self.open.push(kept(&self.at));
        Value::Null
    }

    fn leaf(&mut self, leaf: &Leaf) -> Option<Value> {
        if self.stopped {
            return None;
        }
        match leaf.render(self.context, &mut self.work, &mut self.room) {
            Ok(value) => Some(value),
            Err(errors) => {
                self.stopped = errors.iter().any(BadTag::is_final);
                self.problems.extend(located(&self.at, errors));
                None
            }
        }
    }
}
