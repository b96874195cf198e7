//! Open tags: tags that stay in the rendered document, and are filled in when a run is made.
//!
//! The values of a Runnable and of its selected object decide whether there is a run. Facts of the run itself
//! (`run`) and its settings (`profile.values`) do not. Such a tag stays in the rendered document as it was
//! written, and its *place* is kept beside it. Only places are filled in, and never a text that looks like a tag:
//! an input that reads `$(run.name)$` stays unchanged.

use serde_json::{Value, json};

use crate::{
    bounds::Work,
    diagnostic::{Diagnostic, Diagnostics, Root, Segment, SegmentRef},
    json_text,
    path::Path,
    roots::{FACTS, INPUT_HASH, NAME, PROFILE, RERUN_TOKEN, RUN, SELECTED, SEQUENCE},
    tag::{self, BadTag, Leaf, Pieces, RenderRoom, Tag},
    tag_error::{OpenTagError, TagError},
};

const VALUES: &str = "values";
/// Fields of a run's metadata that must be known before there is a run.
const SETTLED_METADATA: [&str; 5] = ["name", "generateName", "namespace", "labels", "annotations"];

/// A string of a rendered document that holds open tags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenPlace {
    /// The steps to the string.
    pub at: Vec<Segment>,
    /// The open tags, from left to right. The rest of the string is text.
    pub tags: Vec<Tag>,
    /// The document with open places of its own whose JSON text this string is, if it is one.
    pub json: Option<OpenJson>,
}

/// A document that is embedded in another one as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenJson {
    /// The document.
    pub document: Value,
    /// The open places of the document.
    pub open: Vec<OpenPlace>,
}

/// Facts of a run that are known when it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunFacts<'a> {
    /// The name of the run.
    pub name: &'a str,
    /// The number of the run in the ledger of its Runnable.
    pub sequence: i64,
    /// The hash of the rendered document.
    pub input_hash: &'a str,
    /// The re-run request that the run answers.
    pub rerun_token: Option<&'a str>,
}

/// A kind of text that may hold open tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagHolder {
    /// The document of a template: open tags may be in string values except `apiVersion`, `kind` and those that
    /// name the run.
    Template,
    /// The files of a template's `runner`.
    Runner,
    /// A profile, which knows no selected object.
    Profile,
}

impl TagHolder {
    /// Returns the root of the paths in diagnostics.
    #[must_use]
    pub fn root(self) -> Root {
        match self {
            Self::Template => Root::Template,
            Self::Runner => Root::Spec,
            Self::Profile => Root::Profile,
        }
    }

    /// Returns true if this path at this place belongs to an open tag. Fails if nothing can fill it in.
    pub fn holds(self, path: &Path, at: &[SegmentRef<'_>]) -> Result<bool, OpenTagError> {
        let root = match path.leading_keys().as_slice() {
            [RUN, fact] if FACTS.contains(fact) && path.steps() == 2 => RUN,
            [RUN, ..] => return Err(OpenTagError::UnknownFact),
            [PROFILE, VALUES, ..] => PROFILE,
            [PROFILE, ..] => return Err(OpenTagError::NotOfValues),
            // Without a leading key the path may lead anywhere.
            [] | [SELECTED, ..] if self == Self::Profile => return Err(OpenTagError::NotInProfile),
            _ => return Ok(false),
        };
        let is_settled = match at {
            [SegmentRef::Key("apiVersion" | "kind" | "metadata")] => true,
            [SegmentRef::Key("metadata"), SegmentRef::Key(field)] => {
                SETTLED_METADATA.contains(field)
            }
            _ => false,
        };
        if is_settled && self == Self::Template {
            return Err(OpenTagError::TooLate(root));
        }
        Ok(true)
    }
}

impl OpenPlace {
    /// Returns the JSON pointer to the place (RFC 6901).
    #[must_use]
    pub fn pointer(&self) -> String {
        let steps = self.at.iter().map(|step| match step {
            Segment::Key(key) => format!("/{}", key.replace('~', "~0").replace('/', "~1")),
            Segment::Index(index) => format!("/{index}"),
        });
        steps.collect()
    }

    /// Returns the part of the hash beside the string itself: its tags. It is equal for places that are filled in
    /// alike.
    fn to_hash_form(&self) -> Vec<Value> {
        let pointer = self.pointer();
        if let Some(json) = &self.json {
            return vec![json!([pointer, to_hash_form(&json.open)])];
        }
        let tags = self.tags.iter().map(|tag| {
            let text = tag::format_open_tag(&tag.path);
            if tag.alone {
                json!([pointer, text])
            } else {
                // The same text may be beside the tag without being one.
                json!([pointer, text, tag.span.start])
            }
        });
        tags.collect()
    }

    /// Parses the string at the place into a leaf to render.
    fn leaf(&self, text: &str) -> Result<Leaf, Vec<BadTag>> {
        let parse = |tag: &Tag| {
            let unreadable = |error| vec![BadTag::in_text(&tag.path, TagError::Path(error))];
            Path::parse(&tag.path).map_err(unreadable)
        };
        let mut pieces = Pieces::default();
        let mut at = 0;
        for tag in &self.tags {
            if tag.alone {
                return Ok(Leaf::value(parse(tag)?, text));
            }
            pieces.push_text(text.get(at..tag.span.start).unwrap_or_default());
            pieces.push_tag(parse(tag)?);
            at = tag.span.end;
        }
        pieces.push_text(text.get(at..).unwrap_or_default());
        Ok(pieces.leaf())
    }

    /// Checks that a value may be at the place: labels that are not all texts would be dropped together.
    fn check(&self, value: &Value) -> Result<(), Vec<BadTag>> {
        let is_label = match self.at.as_slice() {
            [Segment::Key(metadata), Segment::Key(field), Segment::Key(_)] => {
                metadata == "metadata" && matches!(field.as_str(), "labels" | "annotations")
            }
            _ => false,
        };
        match self.tags.first() {
            Some(tag) if is_label && !value.is_string() => Err(vec![BadTag::whole(
                &tag.path,
                OpenTagError::NotAText.into(),
            )]),
            _ => Ok(()),
        }
    }
}

/// The values that open tags read.
struct OpenTagValues {
    root: Value,
    has_rerun: bool,
    has_profile: bool,
}

impl OpenTagValues {
    fn new(run: &RunFacts<'_>, values: Option<&Value>) -> Self {
        let root = json!({
            RUN: {
                NAME: run.name,
                SEQUENCE: run.sequence,
                INPUT_HASH: run.input_hash,
                RERUN_TOKEN: run.rerun_token,
            },
            PROFILE: { VALUES: values },
        });
        Self {
            root,
            has_rerun: run.rerun_token.is_some(),
            has_profile: values.is_some(),
        }
    }

    fn find<'a>(
        &'a self,
        path: &'a Path,
        work: &mut Work,
        room: &mut RenderRoom,
    ) -> Result<&'a Value, TagError> {
        match path.leading_keys().as_slice() {
            [RUN, RERUN_TOKEN] if !self.has_rerun => Err(OpenTagError::NoRerun.into()),
            [PROFILE, ..] if !self.has_profile => Err(OpenTagError::NoProfile.into()),
            _ => tag::paid(path.evaluate(&self.root, work)?, room),
        }
    }
}

impl RunFacts<'_> {
    /// Returns the value of an open tag with this path, given the values of a profile; `None` if it has none.
    #[must_use]
    pub fn value(&self, path: &str, values: Option<&Value>) -> Option<Value> {
        let path = Path::parse(path).ok()?;
        let (mut work, mut room) = (Work::new(), RenderRoom::new());
        let known = OpenTagValues::new(self, values);
        known.find(&path, &mut work, &mut room).ok().cloned()
    }
}

/// Returns the places in their hashed form, in document order.
#[must_use]
pub fn to_hash_form(open: &[OpenPlace]) -> Value {
    open.iter().flat_map(OpenPlace::to_hash_form).collect()
}

/// Fills in the open places of a document, each once. Fails with every tag that has no value.
pub fn fill(
    mut document: Value,
    open: &[OpenPlace],
    run: &RunFacts<'_>,
    values: Option<&Value>,
) -> Result<Value, Diagnostics> {
    let mut filler = Filler {
        known: &OpenTagValues::new(run, values),
        work: Work::new(),
        room: RenderRoom::new(),
        problems: Vec::new(),
        stopped: false,
    };
    filler.fill(&mut document, open, &[]);
    Diagnostics::check(filler.problems)?;
    Ok(document)
}

struct Filler<'a> {
    known: &'a OpenTagValues,
    work: Work,
    room: RenderRoom,
    problems: Vec<Diagnostic>,
    /// True if a limit was reached, so that the rest is skipped.
    stopped: bool,
}

impl Filler<'_> {
    /// Fills in the document at this place.
    fn fill(&mut self, document: &mut Value, open: &[OpenPlace], at: &[Segment]) {
        for place in open {
            if let Some(found) = document.pointer_mut(&place.pointer())
                && !self.stopped
            {
                self.place(place, found, &[at, &place.at].concat());
            }
        }
    }

    fn place(&mut self, place: &OpenPlace, found: &mut Value, at: &[Segment]) {
        if let Some(json) = &place.json {
            let mut document = json.document.clone();
            self.fill(&mut document, &json.open, at);
            *found = json_text::json(&document, json_text::float).into();
            return;
        }
        match self.value(place, found.as_str().unwrap_or_default()) {
            Ok(value) => *found = value,
            Err(errors) => {
                self.stopped = errors.iter().any(BadTag::is_final);
                let located = errors.into_iter().map(|error| error.at(at.to_vec()));
                self.problems.extend(located);
            }
        }
    }

    fn value(&mut self, place: &OpenPlace, text: &str) -> Result<Value, Vec<BadTag>> {
        let (known, work, room) = (self.known, &mut self.work, &mut self.room);
        let leaf = place.leaf(text)?;
        let (value, _) = leaf.render(&mut |path| known.find(path, work, room))?;
        place.check(&value)?;
        Ok(value)
    }
}
