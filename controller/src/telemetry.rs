//! Logs: structured fields on standard error; never tokens, outputs or whole objects.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::flags::LogFormat;

/// Starts logging. An unusable filter is an error for the user.
pub fn start(format: LogFormat, filter: &str) -> Result<(), String> {
    let filter = EnvFilter::try_new(filter)
        .map_err(|error| format!("--log {filter:?} is not a valid filter: {error}"))?;
    let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(colour);
    let started = match format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
    started.map_err(|error| error.to_string())
}
