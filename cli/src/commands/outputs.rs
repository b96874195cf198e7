//! `cartouche outputs`.

use anyhow::{anyhow, bail};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::cluster::{Cluster, ClusterArgs};
use crate::{outcome::Outcome, suggestion, yaml};

/// Print the outputs of a Runnable, for scripts
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cartouche outputs shop-build
  cartouche outputs shop-build digest
  eval \"$(cartouche outputs shop-build --output env)\" && echo \"$DIGEST\"
  cartouche outputs shop-build -o json | jq .digest")]
pub(crate) struct OutputsArgs {
    /// The Runnable
    name: String,
    /// Only the value of this one: a text as it is, anything else as JSON
    output_name: Option<String>,
    /// Format of all outputs
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputsFormat,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// How outputs are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum OutputsFormat {
    #[default]
    Yaml,
    Json,
    /// Assignments for a shell, names in upper case
    Env,
}

pub(crate) async fn execute(args: &OutputsArgs, cluster: &Cluster) -> anyhow::Result<Outcome> {
    let runnable = cluster.runnable(&args.name).await?;
    let outputs = runnable
        .status
        .and_then(|status| status.outputs)
        .unwrap_or_default();
    if let Some(name) = &args.output_name {
        let value = outputs.get(name).ok_or_else(|| {
            let known = outputs.keys().map(String::as_str);
            let hint = suggestion::hint(name, "the outputs are", known).unwrap_or_else(|| {
                format!(
                    "wait for it: cartouche wait {} --for output={name}",
                    args.name
                )
            });
            anyhow!("{} has no output {name}\nhint: {hint}", args.name)
        })?;
        return Ok(Outcome::good(format!("{}\n", plain(value))));
    }
    if outputs.is_empty() {
        bail!("{0} has no outputs yet\nhint: cartouche why {0}", args.name);
    }
    Ok(Outcome::good(match args.output {
        OutputsFormat::Yaml => yaml::text(&json!(outputs))?,
        OutputsFormat::Json => format!("{:#}\n", json!(outputs)),
        OutputsFormat::Env => outputs
            .iter()
            .map(|(name, value)| assignment(name, value))
            .collect(),
    }))
}

/// A text as it is, anything else as JSON.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// `NAME='value'`, so that no value can be a command.
fn assignment(name: &str, value: &Value) -> String {
    let mut variable: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_uppercase()
            } else {
                '_'
            }
        })
        .collect();
    if variable.starts_with(|c: char| c.is_ascii_digit()) {
        variable.insert(0, '_');
    }
    format!("{variable}='{}'\n", plain(value).replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_can_be_a_command() {
        assert_eq!(
            assignment("image-digest", &json!("a'; rm -rf /; '")),
            "IMAGE_DIGEST='a'\\''; rm -rf /; '\\'''\n"
        );
        assert_eq!(assignment("1st", &json!({ "a": 1 })), "_1ST='{\"a\":1}'\n");
    }
}
