//! What was probably meant by a kind that is not served.

use cartouche_templating::{
    kinds::{KnownKind, all},
    suggestion,
};

use super::{DiscoveryError, Kinds};
use crate::lock::lock;

impl Kinds {
    /// The same error, with what was probably meant if it is that nobody serves the kind.
    pub(crate) async fn with_hint(&self, error: DiscoveryError) -> DiscoveryError {
        let DiscoveryError::Unknown {
            api_version, kind, ..
        } = error
        else {
            return error;
        };
        DiscoveryError::Unknown {
            hint: self.hint(&api_version, &kind).await,
            api_version,
            kind,
        }
    }

    /// Of what cannot be asked nothing is said: that the kind is missing is told all the same.
    async fn hint(&self, api_version: &str, kind: &str) -> Option<String> {
        let key = (api_version.to_owned(), kind.to_owned());
        let moved = self.find_moved(&key).await.ok();
        let mut elsewhere: Vec<String> = moved.iter().map(|it| it.api_version.clone()).collect();
        let known = all().filter(|known| known.kind == Some(kind));
        for other in known.filter_map(KnownKind::api_version) {
            if !elsewhere.contains(&other) && self.find(&other, kind).await.is_ok() {
                elsewhere.push(other);
            }
        }
        let elsewhere: Vec<&str> = elsewhere.iter().map(String::as_str).collect();
        let here = lock(&self.known).names(api_version);
        suggestion::of_kind(kind, &elsewhere, here.iter().map(String::as_str))
    }
}
