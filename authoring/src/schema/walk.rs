//! Follows paths through the schema of a kind, before there is an object.

use cartouche_language::syntax::{PathStep, To};

use super::{MemberSchema, Schema};

/// End of a path.
pub(crate) enum Reached<'a> {
    /// A described value.
    Known(Schema<'a>),
    /// A value beyond the described ones.
    Open,
}

/// Reason why a path leads nowhere.
pub(crate) struct Impossible<'a> {
    /// The step that fails.
    pub(crate) step: usize,
    pub(crate) reason: ImpossibleStep<'a>,
}

pub(crate) enum ImpossibleStep<'a> {
    /// The object has no such member.
    NoMember { of: Schema<'a> },
    /// The value is of a type that has no members or elements.
    NotA { wanted: &'static str, is: &'a str },
}

/// Follows the steps of a path.
pub(crate) fn walk<'a>(
    root: Schema<'a>,
    steps: &[PathStep],
) -> Result<Reached<'a>, Impossible<'a>> {
    let mut schema = root;
    for (step, PathStep { to, .. }) in steps.iter().enumerate() {
        let impossible = |reason| Err(Impossible { step, reason });
        if schema.is_int_or_string() {
            return impossible(ImpossibleStep::NotA {
                wanted: "object",
                is: "number or string",
            });
        }
        match (to, schema.type_name()) {
            (To::Key(key), Some("object") | None) => match schema.member(key) {
                MemberSchema::Known(member) => schema = member,
                MemberSchema::Open => return Ok(Reached::Open),
                MemberSchema::Unknown => {
                    return impossible(ImpossibleStep::NoMember { of: schema });
                }
            },
            (To::Index(_) | To::Elements, Some("array")) => match schema.items() {
                Some(items) => schema = items,
                None => return Ok(Reached::Open),
            },
            (To::Index(_) | To::Elements, None) => return Ok(Reached::Open),
            (To::Key(_), Some(is)) => {
                return impossible(ImpossibleStep::NotA {
                    wanted: "object",
                    is,
                });
            }
            (To::Index(_) | To::Elements, Some(is)) => {
                return impossible(ImpossibleStep::NotA {
                    wanted: "array",
                    is,
                });
            }
        }
    }
    Ok(Reached::Known(schema))
}
