//! Output as text for people, or as JSON or YAML for programs.

use cartouche_authoring::yaml;
use clap::ValueEnum;
use serde::Serialize;

/// Format of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    #[default]
    Text,
    Json,
    Yaml,
}

impl OutputFormat {
    /// Writes the result. The text is made from the same value as JSON and YAML.
    pub(crate) fn write<T: Serialize>(
        self,
        found: &T,
        text: impl FnOnce(&T) -> String,
    ) -> anyhow::Result<String> {
        Ok(match self {
            Self::Text => text(found),
            Self::Json => format!("{:#}\n", serde_json::to_value(found)?),
            Self::Yaml => yaml::text(&serde_json::to_value(found)?)?,
        })
    }
}
