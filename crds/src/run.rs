//! The number, the attempt and the result of a run, current or earlier.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum number of a run. Higher numbers cannot be an honest count, and are refused. No run follows this number,
/// which only an edited status can reach.
pub const MAX_SEQUENCE: i64 = 1 << 53;

/// Result of a run: `Succeeded`, `Failed` or `Lost`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum RunResult {
    /// The run succeeded.
    Succeeded,
    /// The run ended without success.
    Failed,
    /// The run's object vanished while no controller was watching, so its result is unknown.
    Lost,
}

impl RunResult {
    /// Returns the result as it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::Lost => "Lost",
        }
    }

    /// Returns the result with this name, or `None`.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let all = [Self::Succeeded, Self::Failed, Self::Lost];
        all.into_iter().find(|result| result.as_str() == name)
    }
}

/// Returns the number of the first attempt, the default.
pub(crate) fn first_attempt() -> i64 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
pub(crate) fn is_first_attempt(attempt: &i64) -> bool {
    *attempt == 1
}
