//! YAML as this command writes it.

use anyhow::Context as _;
use serde_json::Value;

/// A document, with keys in alphabetical order as the API server returns them.
pub(crate) fn text(value: &Value) -> anyhow::Result<String> {
    let text = serde_saphyr::to_string(value).context("the object cannot be written as YAML")?;
    Ok(if text.ends_with('\n') {
        text
    } else {
        text + "\n"
    })
}
