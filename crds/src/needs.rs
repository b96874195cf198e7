//! Words in a status for the features that a release must know to act for its Runnable. No word is ever
//! overlooked.

use serde::{Deserialize, Deserializer, de::IgnoredAny};
use serde_json::value::RawValue;

/// Maximum number of words in a status.
pub(crate) const MOST: usize = 16;
/// Maximum length of a word, in bytes.
pub(crate) const BYTES: usize = 63;
/// The word that the reserved key `cluster` of a status means.
pub(crate) const CLUSTERS: &str = "clusters";

/// The fields of a status that name its needs.
#[derive(Default, Deserialize)]
struct Needs {
    #[serde(default, deserialize_with = "words")]
    needs: Vec<String>,
    #[serde(default, rename = "cluster", deserialize_with = "is_there")]
    has_cluster: bool,
}

/// Returns the words of a status text, even if nothing else of it can be parsed.
#[must_use]
pub fn needs_of_status(text: &str) -> Vec<String> {
    let read: Needs = serde_json::from_str(text).unwrap_or_default();
    let clusters = read.has_cluster.then(|| CLUSTERS.to_owned());
    read.needs.into_iter().chain(clusters).collect()
}

/// Deserializes the words. Any other JSON becomes a word as well, which no release knows.
pub(crate) fn words<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let text = Box::<RawValue>::deserialize(from)?;
    Ok(
        match serde_json::from_str::<Option<Vec<&RawValue>>>(text.get()) {
            Ok(elements) => elements
                .into_iter()
                .flatten()
                .take(MOST)
                .map(word)
                .collect(),
            Err(_) => vec![bounded(text.get().to_owned())],
        },
    )
}

fn word(element: &RawValue) -> String {
    bounded(serde_json::from_str(element.get()).unwrap_or_else(|_| element.get().to_owned()))
}

fn bounded(mut word: String) -> String {
    word.truncate(word.floor_char_boundary(BYTES));
    word
}

/// Returns true for any value except null.
pub(crate) fn is_there<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    Option::<IgnoredAny>::deserialize(from).map(|there| there.is_some())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::needs_of_status;
    use crate::RunnableStatus;

    /// Reads the needs of a status both as a whole and alone.
    fn read(status: &Value) -> Vec<String> {
        let whole: RunnableStatus = serde_json::from_value(status.clone()).unwrap();
        assert_eq!(needs_of_status(&status.to_string()), whole.needs);
        whole.needs
    }

    #[test]
    fn what_is_no_list_of_words_is_an_unknown_word() {
        for (needs, words) in [
            (json!(["clusters", "ticks"]), vec!["clusters", "ticks"]),
            (json!([]), vec![]),
            (json!(null), vec![]),
            (json!("ticks"), vec!["\"ticks\""]),
            (json!(5), vec!["5"]),
            (json!({ "a": 1 }), vec![r#"{"a":1}"#]),
            (json!([5, null, ["a"]]), vec!["5", "null", r#"["a"]"#]),
        ] {
            assert_eq!(read(&json!({ "needs": needs })), words, "{needs}");
        }
    }

    #[test]
    fn the_key_of_a_cluster_is_the_need_for_clusters() {
        assert_eq!(read(&json!({ "cluster": { "name": "b" } })), ["clusters"]);
        assert_eq!(
            read(&json!({ "cluster": "b", "needs": ["x"] })),
            ["x", "clusters"]
        );
        assert!(read(&json!({ "cluster": null })).is_empty());
    }

    #[test]
    fn words_are_read_of_a_status_that_cannot_be() {
        let newer = json!({ "currentRun": { "phase": "Elsewhere" }, "needs": ["ticks"] });
        assert!(serde_json::from_value::<RunnableStatus>(newer.clone()).is_err());
        assert_eq!(needs_of_status(&newer.to_string()), ["ticks"]);
    }

    #[test]
    fn words_are_bounded_and_written_as_they_were_read() {
        let many: Vec<String> = (0..100)
            .map(|at| format!("{at}{}", "ä".repeat(500)))
            .collect();
        let words = read(&json!({ "needs": many }));
        assert_eq!(words.len(), super::MOST);
        assert!(words.iter().all(|word| word.len() <= super::BYTES));
        let status: RunnableStatus = serde_json::from_value(json!({ "needs": ["ticks"] })).unwrap();
        assert_eq!(json!(status), json!({ "needs": ["ticks"] }));
    }
}
