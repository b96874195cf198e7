//! Conditions for the start of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Conditions for the start of a pending run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Start {
    /// Time for which the rendered document must stay the same before it runs: a duration such as `10s`, from `1s`
    /// to `8760h`; by default there is none. A document that keeps changing runs after ten times as long. If the
    /// template and the Runnable both set it, the longer counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debounce: Option<String>,
}
