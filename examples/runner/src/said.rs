//! The last message of a container: the termination message, which Kubernetes keeps in the status of the pod.

use std::{env, fs, io};

use serde_json::Value;

use crate::runner::Outputs;

/// Environment variable with a path other than the usual one of Kubernetes.
const PATH: &str = "TERMINATION_LOG_PATH";
const USUAL_PATH: &str = "/dev/termination-log";
/// Maximum bytes of a termination message. Kubernetes cuts off the rest.
const MAX_BYTES: usize = 4096;

/// Writes the outputs, as JSON.
pub fn outputs(outputs: Outputs) -> io::Result<()> {
    let text = Value::Object(outputs).to_string();
    if text.len() > MAX_BYTES {
        let bytes = text.len();
        let message = format!(
            "the outputs have {bytes} bytes, more than the {MAX_BYTES} of a termination message"
        );
        return Err(io::Error::other(message));
    }
    write(&text)
}

/// Writes an error message, cut to its maximum length.
pub fn error(message: &str) -> io::Result<()> {
    let mut end = message.len().min(MAX_BYTES);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    write(&message[..end])
}

fn write(text: &str) -> io::Result<()> {
    let path = env::var(PATH).unwrap_or_else(|_| USUAL_PATH.to_owned());
    fs::write(&path, text).map_err(|error| io::Error::other(format!("writing {path}: {error}")))
}
