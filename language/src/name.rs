//! Names of runs and values of labels: always valid, always the same for the same input.

use std::{borrow::Cow, collections::BTreeMap};

use sha2::{Digest as _, Sha256};

/// Maximum length of a run's name. Indexed Jobs, `CronJobs` and pods append to it, and the names of pods and the
/// labels derived from them end at 63.
pub const MAX_RUN_NAME: usize = 52;
/// Maximum length of a label's value.
pub const MAX_LABEL: usize = 63;
/// Maximum number of labels that select an object: each is looked up in every changed object of the kind.
const MAX_SELECTED_BY: usize = 64;
/// Length of a hash in a name, in characters: 50 bits.
const SUFFIX: usize = 10;

/// Returns the end of a run's name: ten characters that only this sequence of this Runnable has.
///
/// They are the first ten characters of the lower-case, unpadded base32 of `sha256("<uid>/<sequence>")`.
#[must_use]
pub fn name_suffix(runnable_uid: &str, sequence: i64) -> String {
    short_hash(&format!("{runnable_uid}/{sequence}"))
}

/// Returns a name as the value of a label: a name over 63 characters is cut and ends with its hash.
#[must_use]
pub fn label_value(name: &str) -> Cow<'_, str> {
    if name.len() <= MAX_LABEL {
        return Cow::Borrowed(name);
    }
    let head = &name[..name.floor_char_boundary(MAX_LABEL - SUFFIX - 1)];
    Cow::Owned(format!(
        "{}-{}",
        head.trim_end_matches(['-', '.', '_']),
        short_hash(name)
    ))
}

/// Returns the problem of labels to select by, or `None`. A text that could be read as more than one requirement
/// is refused.
#[must_use]
pub fn wrong_label(labels: &BTreeMap<String, String>) -> Option<String> {
    if labels.len() > MAX_SELECTED_BY {
        let count = labels.len();
        return Some(format!(
            "{count} labels are more than {MAX_SELECTED_BY}: select by fewer"
        ));
    }
    labels.iter().find_map(|(key, value)| {
        if !is_label_key(key) {
            return Some(format!("{key:?} is not a valid label key"));
        }
        (!is_label_value(value)).then(|| format!("{value:?} is not a valid label value"))
    })
}

/// Returns true for a valid label key: a name, or a prefix and a name with a slash between them.
#[must_use]
pub fn is_label_key(text: &str) -> bool {
    let name = match text.split_once('/') {
        Some((prefix, name)) if is_label_text(prefix, 253) => name,
        Some(_) => "",
        None => text,
    };
    !name.is_empty() && is_label_text(name, MAX_LABEL)
}

/// Returns true for a valid label value: letters, digits, `-`, `_` and `.`, with a letter or digit at both ends;
/// or nothing.
#[must_use]
pub fn is_label_value(text: &str) -> bool {
    is_label_text(text, MAX_LABEL)
}

/// Returns true for letters, digits, `-`, `_` and `.`, with a letter or digit at both ends; or nothing.
fn is_label_text(text: &str, most: usize) -> bool {
    let edge = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_alphanumeric);
    text.len() <= most
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        && edge(text.as_bytes().first())
        && edge(text.as_bytes().last())
}

/// Returns the name of a run: the prefix, cut so that the whole has at most [`MAX_RUN_NAME`] characters, and the
/// suffix. Invalid characters are replaced. The API server reports those of the prefix itself, which stays on the
/// object as `generateName`.
#[must_use]
pub fn run_name(prefix: &str, suffix: &str) -> String {
    let mut name = String::with_capacity(MAX_RUN_NAME);
    for c in prefix.chars().take(MAX_RUN_NAME - suffix.len()) {
        let c = match c.to_ascii_lowercase() {
            c @ ('a'..='z' | '0'..='9' | '-' | '.') => c,
            _ => '-',
        };
        let before = name.chars().next_back();
        match (before, c) {
            // A name begins with a letter or digit, and so does every part between dots.
            (None | Some('.'), '-' | '.') => {}
            // Every part ends with one too.
            (Some('-'), '.') => {
                name.truncate(name.trim_end_matches('-').len());
                name.push('.');
            }
            _ => name.push(c),
        }
    }
    name.push_str(suffix);
    name
}

fn short_hash(text: &str) -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let digest = Sha256::digest(text.as_bytes());
    let bits = digest
        .iter()
        .take(8)
        .fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
    let five_bits = |position: usize| usize::try_from(bits >> (59 - 5 * position) & 31).ok();
    (0..SUFFIX)
        .filter_map(|position| ALPHABET.get(five_bits(position)?))
        .map(|byte| char::from(*byte))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suffix_is_ten_characters_of_base32() {
        // printf 'uid/1' | sha256sum | xxd -r -p | base32 | tr A-Z a-z | cut -c1-10
        assert_eq!(name_suffix("uid", 1), "35mwe65unn");
        assert_eq!(
            name_suffix("0f5c9f62-2b0e-4c8e-a2d4-7a2a1f6a3c10", 42),
            "aqhagtx6xl"
        );
    }

    #[test]
    fn a_run_name_is_its_prefix_and_its_suffix() {
        assert_eq!(run_name("test-", "abcde12345"), "test-abcde12345");
        assert_eq!(run_name("test.", "abcde12345"), "test.abcde12345");
        assert_eq!(run_name("test", "abcde12345"), "testabcde12345");
    }

    #[test]
    fn a_long_prefix_is_cut_so_that_the_name_has_52_characters() {
        for length in [42, 43, 58, 59, 63, 64, 253] {
            let name = run_name(&"x".repeat(length), "abcde12345");
            assert_eq!(name, format!("{}abcde12345", "x".repeat(42)));
        }
    }

    #[test]
    fn a_cut_leaves_no_invalid_ending() {
        let prefix = format!("{}.bcd-", "x".repeat(41));
        assert_eq!(
            run_name(&prefix, "abcde12345"),
            format!("{}.abcde12345", "x".repeat(41))
        );
        let prefix = format!("{}-.cd-", "x".repeat(40));
        assert_eq!(
            run_name(&prefix, "abcde12345"),
            format!("{}.abcde12345", "x".repeat(40))
        );
    }

    #[test]
    fn an_object_is_selected_by_few_valid_labels() {
        let labels = |count: usize| {
            (0..count)
                .map(|at| (format!("k{at}"), "v".to_owned()))
                .collect()
        };
        assert_eq!(wrong_label(&labels(MAX_SELECTED_BY)), None);
        let wrong = wrong_label(&labels(MAX_SELECTED_BY + 1)).unwrap();
        assert!(wrong.contains("65 labels are more than 64"), "{wrong}");
    }

    #[test]
    fn what_no_name_may_hold_is_replaced() {
        assert_eq!(run_name("My_Run-", "abcde12345"), "my-run-abcde12345");
        assert_eq!(run_name("system:é-", "abcde12345"), "system---abcde12345");
        assert_eq!(run_name("--..-", "abcde12345"), "abcde12345");
        assert_eq!(run_name("a..b", "abcde12345"), "a.babcde12345");
    }

    #[test]
    fn two_prefixes_that_are_equal_when_cut_still_give_two_names() {
        let prefix = "a".repeat(60);
        assert_ne!(
            run_name(&prefix, &name_suffix("one", 1)),
            run_name(&prefix, &name_suffix("two", 1))
        );
    }

    #[test]
    fn a_name_of_63_characters_is_a_label_as_it_is() {
        let name = "a".repeat(63);
        assert_eq!(label_value(&name), name.as_str());
    }

    #[test]
    fn a_longer_name_is_shortened_to_a_label_of_its_own() {
        let (one, two) = ("a".repeat(64), "a".repeat(65));
        assert_eq!(label_value(&one).len(), 63);
        assert!(label_value(&one).starts_with(&"a".repeat(52)));
        assert_ne!(label_value(&one), label_value(&two));
        assert_eq!(label_value(&one), label_value(&one.clone()));
    }

    #[test]
    fn a_shortened_label_has_no_separator_before_the_one_that_is_added() {
        let name = format!("{}.-{}", "a".repeat(50), "b".repeat(100));
        let label = label_value(&name);
        assert!(label.starts_with(&format!("{}-", "a".repeat(50))));
        assert_eq!(label.len(), 61);
    }
}
