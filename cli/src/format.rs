//! A text for people, or the same for programs.

use clap::ValueEnum;
use serde::Serialize;

use crate::yaml;

/// How it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    #[default]
    Text,
    Json,
    Yaml,
}

impl Format {
    /// Writes what was found. The text is made of the same.
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
