//! A kind that is watched, and the purpose of its watch.

use std::sync::Arc;

use crate::discovery::Kind;

/// Purpose of the watch of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Purpose {
    /// Runs are of this kind.
    Runs,
    /// Selectors name this kind.
    Selected,
}

/// A kind and the purpose of its watch.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Watched {
    /// Purpose of the watch.
    pub purpose: Purpose,
    /// The kind.
    pub kind: Arc<Kind>,
}

impl Watched {
    /// Returns the kind of the `ConfigMaps` that inputs come from, or selectors name.
    #[must_use]
    pub fn config_maps() -> Self {
        Self {
            purpose: Purpose::Selected,
            kind: Arc::new(Kind::config_maps()),
        }
    }
}
