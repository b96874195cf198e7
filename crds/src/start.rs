//! When a run may begin.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When a run that is due may begin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Start {
    /// How long what is rendered has to stay the same before it runs, a duration such as `10s`, from `1s` to `8760h`; what changes
    /// again and again runs after ten times as long. Where the template and the Runnable both give one, the longer counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debounce: Option<String>,
}
