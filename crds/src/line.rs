//! The parts of a line of a status: times, and messages that are cut.

use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};

/// A message in a history is cut at so many bytes.
pub const MESSAGE_BYTES: usize = 256;

/// As the API server writes times.
pub(crate) fn time(time: &Time) -> String {
    let seconds = Timestamp::from_second(time.0.as_second());
    seconds.unwrap_or(time.0).to_string()
}

/// A message as it may stand at the end of a line: on one line, and cut.
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
