//! Suggestion of the kind that was probably meant by one that is not served.

use cartouche_engines::kinds::{KnownKind, all};
use cartouche_language::suggestion;

use super::{DiscoveryError, Kinds};
use crate::lock::lock;

/// Maximum number of characters of a kind's name.
const LONGEST_KIND: usize = 63;

impl Kinds {
    /// Adds the kind that was probably meant to an error of a kind that is not served. That takes no request, and
    /// nothing is kept: users may name any number of missing kinds.
    pub(crate) fn with_hint(&self, error: DiscoveryError) -> DiscoveryError {
        let DiscoveryError::Unknown {
            api_version, kind, ..
        } = error
        else {
            return error;
        };
        DiscoveryError::Unknown {
            hint: self.hint(&api_version, &kind),
            api_version,
            kind,
        }
    }

    fn hint(&self, api_version: &str, kind: &str) -> Option<String> {
        if kind.len() > LONGEST_KIND {
            return None;
        }
        let (mut elsewhere, here) = {
            let known = lock(&self.known);
            (known.versions_with(kind), known.names(api_version))
        };
        // A group with a dot may not be installed.
        let built_in = all().filter(|it| it.kind == Some(kind) && !it.group.contains('.'));
        for other in built_in.filter_map(KnownKind::api_version) {
            if !elsewhere.contains(&other) {
                elsewhere.push(other);
            }
        }
        elsewhere.retain(|it| it != api_version);
        let elsewhere: Vec<&str> = elsewhere.iter().map(String::as_str).collect();
        suggestion::of_kind(kind, &elsewhere, here.iter().map(String::as_str))
    }
}
