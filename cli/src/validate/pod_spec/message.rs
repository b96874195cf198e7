//! The path to which a container writes its last words, and the path at which they are read.

use super::{Fault, Part};

/// The path without a word of the container.
const DEFAULT: &str = "/dev/termination-log";

pub(super) fn check(container: &Part<'_>) -> Vec<Fault> {
    let Some(path) = container.get("terminationMessagePath") else {
        return Vec::new();
    };
    let moved = path
        .text()
        .filter(|text| !text.is_empty() && *text != DEFAULT);
    let Some(moved) = moved else {
        return Vec::new();
    };
    let lists = ["command", "args"].into_iter();
    let words = lists.flat_map(|list| container.items(list));
    let env = container.items("env").into_iter();
    let values = env.filter_map(|variable| variable.get("value"));
    let mut texts = words.chain(values).filter_map(|part| part.value.as_str());
    let writes = |path: &str, text: &str| text.contains(path);
    if !texts.clone().any(|text| writes(DEFAULT, text)) || texts.any(|text| writes(moved, text)) {
        return Vec::new();
    }
    let message = format!(
        "{} writes to {DEFAULT}, and its termination message is read from {moved}: it says nothing, and gives no outputs",
        container.container()
    );
    let help = "take terminationMessagePath out, or write to that file".to_owned();
    vec![Fault::surprise(
        &path,
        message,
        "the message is read here",
        help,
    )]
}
