//! The path to which a container writes its termination message, and the path at which it is read.

use super::{Part, PodFault};

/// The default path.
const DEFAULT: &str = "/dev/termination-log";

pub(super) fn check(container: &Part<'_>) -> Vec<PodFault> {
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
    let words: Vec<_> = words.collect();
    let mut texts = words.iter().filter_map(|part| part.value.as_str());
    // Scripts may change to its folder.
    let file = moved.rsplit('/').next().unwrap_or(moved);
    let writes = |text: &str| {
        let before = text.match_indices(DEFAULT);
        let mut before = before.map(|(at, _)| text[..at].trim_end());
        before.any(|it| [">", "tee", "tee -a"].iter().any(|end| it.ends_with(end)))
    };
    if !texts.clone().any(writes) || texts.any(|text| text.contains(file)) {
        return Vec::new();
    }
    let message = format!(
        "{} writes to {DEFAULT}, and its termination message is read from {moved}: that message is empty, and gives no outputs",
        container.container()
    );
    let help = "remove terminationMessagePath, or write to that file".to_owned();
    vec![PodFault::surprise(
        &path,
        message,
        "the message is read here",
        help,
    )]
}
