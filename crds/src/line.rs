//! The parts of a line in a status: times, and shortened messages.

use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};

/// Maximum length of a message in the history, in bytes.
pub const MESSAGE_BYTES: usize = 256;

/// Formats a time as the API server does, in whole seconds.
pub(crate) fn time(time: &Time) -> String {
    let seconds = Timestamp::from_second(time.0.as_second());
    seconds.unwrap_or(time.0).to_string()
}

/// Shortens a message to [`MESSAGE_BYTES`], on one line.
#[must_use]
pub fn short_message(message: &str) -> String {
    let mut text = String::with_capacity(message.len().min(MESSAGE_BYTES));
    for c in message.chars() {
        let c = if c.is_control() { ' ' } else { c };
        if text.len() + c.len_utf8() > MESSAGE_BYTES {
            break;
        }
        text.push(c);
    }
    text
}
