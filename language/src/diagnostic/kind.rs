//! Kinds of problems. The set is closed, so that code which translates diagnostics must handle a new one.

use std::sync::Arc;

use cartouche_crds::GROUP;
use serde_json::Value;

use crate::{
    bounds::MAX_DEPTH,
    path::{PathError, shorten},
    suggestion,
    tag_error::TagError,
};

/// Maximum number of names or values that are listed as alternatives.
const LISTED: usize = 20;

/// Kind of a problem. Its text contains neither the place nor the cure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiagnosticKind {
    /// A tag that is a whole value cannot be replaced.
    #[error("evaluate tag {text}: {error}")]
    WholeValue {
        /// The value.
        text: String,
        /// The reason.
        error: TagError,
    },
    /// A tag in a longer text cannot be replaced.
    #[error("interpolate tag: evaluate jsonpath: {0}")]
    InText(TagError),
    /// A tag in a longer text is null; its path.
    #[error("interpolate tag: tag must not point to nil value: {0}")]
    NullInText(String),
    /// A path of an output or a health rule cannot be used.
    #[error("failed to evaluate path [{path}]: {error}")]
    Path {
        /// The path; a long one is cut.
        path: String,
        /// The reason.
        error: PathError,
    },
    /// A field of the kind is missing.
    #[error("{field} is missing or not a string: say what kind of object to create")]
    NoKind {
        /// `apiVersion` or `kind`.
        field: &'static str,
        /// True if the document looks like a pod.
        is_pod: bool,
    },
    /// The kind is one of Cartouche's own.
    #[error("a run cannot be a {0} of {GROUP}")]
    OwnKind(String),
    /// The runs have no name.
    #[error("neither generateName nor name is set: give the runs a generateName, such as 'build-'")]
    NoName,
    /// The document asks for a namespace. The words are Cartographer's.
    #[error("cannot set namespace in resource template")]
    Namespace,
    /// A value is too large, too deep or has too many parts.
    #[error("{0}")]
    Limit(String),
    /// Not exactly one health rule is set.
    #[error("exactly one of alwaysHealthy, singleConditionType and multiMatch must be set")]
    NotOneRule,
    /// A health rule has no condition and no field.
    #[error("at least one of matchConditions and matchFields must be given")]
    NothingMatched,
    /// A comparison with this operator has no values.
    #[error("{0} needs at least one value")]
    NoValues(String),
    /// A keyword that no schema has.
    #[error("there is no such keyword in a schema: it has {}", known.join(", "))]
    UnknownKeyword {
        /// The known keywords.
        known: Vec<&'static str>,
    },
    /// A type that no schema has.
    #[error("there is no type '{name}': it has to be one of {}", known.join(", "))]
    UnknownType {
        /// The name of the type.
        name: String,
        /// The known types.
        known: Vec<&'static str>,
    },
    /// A required property that is not declared.
    #[error("there is no property '{name}' beside it: the properties are {}", known.join(", "))]
    UnknownProperty {
        /// The name of the property.
        name: String,
        /// The declared properties.
        known: Vec<String>,
    },
    /// An optional output that is none of the outputs.
    #[error("there is no '{name}' in outputs")]
    UnknownOutput {
        /// The name of the output; a long one is cut.
        name: String,
        /// The declared outputs.
        known: Vec<String>,
    },
    /// A required input that the Runnable does not give.
    #[error("the input '{key}' is missing")]
    MissingInput {
        /// The name of the input.
        key: String,
        /// The type of the input, in plain words.
        wanted: Option<&'static str>,
        /// The permitted values, if they are listed.
        allowed: Option<Arc<[Value]>>,
        /// The description of the input.
        about: Option<String>,
    },
    /// An input that the template does not take.
    #[error("there is no such input")]
    UnknownInput {
        /// The inputs that it takes.
        known: Vec<String>,
    },
    /// An input with a value that is not permitted.
    #[error("it has to be one of {}", listed(allowed))]
    NotAllowed {
        /// The permitted values.
        allowed: Arc<[Value]>,
    },
    /// A default of the schema that does not fit it, with its problem.
    #[error("the default does not fit")]
    Default(Box<DiagnosticKind>),
    /// A tag in the key of this, which the API server does not evaluate.
    #[error("the key of {0} cannot hold a tag")]
    TagInKey(&'static str),
    /// A label or an annotation of the run that is not a text.
    #[error("{} {is}, and {what} is a text", made_by(tag.as_deref()))]
    NotAText {
        /// A label, or an annotation.
        what: &'static str,
        /// The type of its value.
        is: &'static str,
        /// The path of the tag that yields it, if there is one.
        tag: Option<String>,
    },
    /// Any other problem.
    #[error("{what}")]
    Other {
        /// The problem.
        what: String,
        /// The cure.
        cure: Option<String>,
    },
}

impl DiagnosticKind {
    /// Creates a problem without a cure.
    #[must_use]
    pub fn plain(what: impl Into<String>) -> Self {
        Self::Other {
            what: what.into(),
            cure: None,
        }
    }

    /// Creates a problem with a cure.
    #[must_use]
    pub fn with_cure(what: impl Into<String>, cure: impl Into<String>) -> Self {
        Self::Other {
            what: what.into(),
            cure: Some(cure.into()),
        }
    }

    /// Creates the problem of a value that is nested too deep.
    #[must_use]
    pub fn too_deep() -> Self {
        Self::Limit(format!(
            "objects and arrays are nested more than {MAX_DEPTH} deep"
        ))
    }

    /// Returns the cure, if the diagnostic itself contains it.
    #[must_use]
    pub fn cure(&self) -> Option<String> {
        match self {
            Self::Other { cure, .. } => cure.clone(),
            Self::TagInKey(_) => {
                Some("write the key as it is to be: only values can hold tags".to_owned())
            }
            Self::NotAText { is: "null", .. } => Some("give it a value".to_owned()),
            Self::NotAText { tag: None, .. } => Some("put the value in quotes".to_owned()),
            Self::NotAText { tag: Some(tag), .. } => Some(format!(
                "put the value in quotes where it is given, or write $('')$ before the tag: $('')$$({tag})$"
            )),
            Self::Default(misfit) => Some(misfit.message()),
            Self::MissingInput {
                wanted,
                allowed,
                about,
                ..
            } => {
                let allowed = allowed
                    .as_ref()
                    .map(|allowed| format!("one of {}", listed(allowed)));
                let wanted = allowed.or(wanted.map(str::to_owned));
                let wanted = wanted.map(|wanted| format!("it has to be {wanted}"));
                let about = about.as_ref().map(|about| format!("({about})"));
                let cure: Vec<String> = wanted.into_iter().chain(about).collect();
                Some(cure.join(" ")).filter(|cure| !cure.is_empty())
            }
            Self::UnknownOutput { name, known } => {
                let known = known.iter().map(String::as_str);
                let hint = suggestion::hint(name, "the outputs are", known);
                Some(hint.unwrap_or_else(|| "declare it there, or remove it here".to_owned()))
            }
            Self::UnknownInput { known } => match known.len() {
                0 => None,
                1..=LISTED => Some(format!("the inputs here are {}", known.join(", "))),
                _ => Some("look for a misspelt name".to_owned()),
            },
            _ => None,
        }
    }

    /// Formats the problem and its cure.
    pub(super) fn message(&self) -> String {
        match (self, self.cure()) {
            (_, None) => self.to_string(),
            // Only the description of the input.
            (
                Self::MissingInput {
                    wanted: None,
                    allowed: None,
                    ..
                },
                Some(about),
            ) => format!("{self} {about}"),
            (_, Some(cure)) => format!("{self}: {cure}"),
        }
    }
}

fn made_by(tag: Option<&str>) -> String {
    tag.map_or_else(
        || "it is".to_owned(),
        |tag| format!("the tag $({})$ makes it", shorten(tag)),
    )
}

fn listed(values: &[Value]) -> String {
    let words: Vec<String> = values.iter().take(LISTED).map(Value::to_string).collect();
    let more = if values.len() > LISTED { ", ..." } else { "" };
    format!("{}{more}", words.join(", "))
}

/// Splits the problem from the cure at the first colon. Only for constant texts, because texts of users may
/// contain colons, too.
impl From<&'static str> for DiagnosticKind {
    fn from(text: &'static str) -> Self {
        match text.split_once(": ") {
            Some((what, cure)) => Self::with_cure(what, cure),
            None => Self::plain(text),
        }
    }
}
