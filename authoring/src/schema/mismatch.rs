//! Places where a value does not fit its schema.

use crate::source::{Segment, field_path};

/// One such place.
#[derive(Clone, Debug)]
pub(crate) struct Mismatch {
    /// Steps to it in the value.
    pub(crate) at: Vec<Segment>,
    pub(crate) fault: MismatchKind,
    pub(crate) help: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MismatchKind {
    /// The last step is a member that does not exist.
    Unknown { key: String },
    /// A member is not there and must be.
    Missing { key: String },
    /// The last step is a member that is null and must have a value.
    Null,
    /// The value is of another type.
    Type { wanted: String, is: String },
    /// The value is of the right type, and not allowed.
    Refused { because: String },
}

impl Mismatch {
    /// Returns the fault in one sentence.
    pub(crate) fn message(&self) -> String {
        let place = field_path(&self.at);
        match &self.fault {
            MismatchKind::Unknown { key } => {
                let parent = field_path(self.at.split_last().map_or(&[], |(_, parent)| parent));
                match parent.as_str() {
                    "" => format!("unknown field '{key}'"),
                    parent => format!("unknown field '{key}' in {parent}"),
                }
            }
            MismatchKind::Missing { key } if place.is_empty() => {
                format!("the field '{key}' is missing")
            }
            MismatchKind::Missing { key } => format!("{place}: the field '{key}' is missing"),
            MismatchKind::Null => format!("{place} is required, and null counts as missing"),
            MismatchKind::Type { wanted, is } => format!("{place} has to be {wanted}, and is {is}"),
            MismatchKind::Refused { because } => format!("{place} {because}"),
        }
    }
}
