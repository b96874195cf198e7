//! Named paths of a template that are read from its runs, and the kinds that are not read.

use std::collections::BTreeMap;

use cartouche_language::{
    Diagnostic, DiagnosticKind, Root, Segment,
    bounds::MAX_OUTPUTS,
    path::{Path, shorten},
};

use crate::kinds::{OutputSource, known_fields};

/// Returns true if runs of a kind give no outputs.
#[must_use]
pub fn is_refused((api_version, kind): (&str, &str)) -> bool {
    known_fields(api_version, kind).is_some_and(|known| known.outputs == OutputSource::Refused)
}

/// Returns the valid names and paths that a field of a template declares, and adds the `problems` of the others.
pub(crate) fn paths_of(
    field: &str,
    declared: Option<&BTreeMap<String, String>>,
    problems: &mut Vec<Diagnostic>,
) -> Vec<(String, Path)> {
    let declared = declared.into_iter().flatten();
    let count = declared.clone().count();
    if count > MAX_OUTPUTS {
        let kind = DiagnosticKind::Limit(format!("there are {count}, more than {MAX_OUTPUTS}"));
        problems.push(Diagnostic::in_spec(field, kind));
    }
    let mut paths = Vec::new();
    for (name, raw) in declared {
        match Path::parse(raw) {
            Ok(path) => paths.push((name.clone(), path)),
            Err(error) => problems.push(Diagnostic::new(
                Root::Spec,
                Segment::keys([field, name]),
                DiagnosticKind::Path {
                    path: shorten(raw).into_owned(),
                    error,
                },
            )),
        }
    }
    paths
}
