//! The number, the attempt and the result of a run, be it the current one or an earlier one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Numbers of runs above this are nobody's honest count, and are refused. Nor can one follow this one, which takes an edited
/// status.
pub const MAX_SEQUENCE: i64 = 1 << 53;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum RunResult {
    /// It did what it was made for.
    Succeeded,
    /// It ended without success.
    Failed,
    /// Its object vanished while nobody watched, so its end is not known.
    Lost,
}

impl RunResult {
    /// As it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::Lost => "Lost",
        }
    }

    /// The result of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let all = [Self::Succeeded, Self::Failed, Self::Lost];
        all.into_iter().find(|result| result.as_str() == name)
    }
}

/// What an attempt is where nothing says it.
pub(crate) fn first_attempt() -> i64 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
pub(crate) fn is_first_attempt(attempt: &i64) -> bool {
    *attempt == 1
}
