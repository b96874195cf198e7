//! Masking of likely passwords in the words of a container, which more people read than its logs.
//!
//! It is a courtesy, not a guarantee: a secret cannot be recognised by its looks (docs/concepts/security.md).

use std::{borrow::Cow, sync::LazyLock};

use regex::Regex;

/// Replacement for a masked text.
const HIDDEN: &str = "${1}***${2}";

/// Patterns of `://user:password@`, and of a value after a word for a secret and `=` or `:`.
const PATTERNS: [&str; 4] = [
    r"(?i)(--?(?:password|passwd|pwd|secret|token|api[_-]?key)\s+)\S+",
    r"(://[^\s/:@]*:)[^\s/@]+(@)",
    r#"(?i)((?:password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key)(?:\\?["'])?\s*[=:]\s*)(?:\\?"[^"]*"|'[^']*'|[^\s,;&]+)"#,
    r"(?i)((?:bearer|basic)\s+)[a-z0-9._~+/=-]{8,}",
];

// A pattern that cannot be compiled masks nothing; a test checks that each masks something.
static SECRETS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let patterns = PATTERNS.iter();
    patterns
        .filter_map(|pattern| Regex::new(pattern).ok())
        .collect()
});

/// Replaces likely passwords with `***`.
#[must_use]
pub fn mask(text: &str) -> String {
    let text = SECRETS.iter().fold(Cow::Borrowed(text), |text, secret| {
        match secret.replace_all(&text, HIDDEN) {
            Cow::Borrowed(_) => text,
            Cow::Owned(hidden) => Cow::Owned(hidden),
        }
    });
    text.into_owned()
}

#[cfg(test)]
mod tests {
    use super::mask;

    #[test]
    fn what_looks_like_a_password_is_hidden_and_nothing_else() {
        let cases = [
            (
                "cannot reach postgres://app:s3cr3t@db:5432/x",
                "cannot reach postgres://app:***@db:5432/x",
            ),
            ("PGPASSWORD=abc is wrong", "PGPASSWORD=*** is wrong"),
            ("password: 'a b' refused", "password: *** refused"),
            (
                r#"{"token":"abc","user":"me"}"#,
                r#"{"token":***,"user":"me"}"#,
            ),
            (
                "Authorization: Bearer abcdefgh.ijkl",
                "Authorization: Bearer ***",
            ),
            ("mysql --password abc failed", "mysql --password *** failed"),
            (r#"{\"password\":\"abc\"} no"#, r#"{\"password\":***} no"#),
            ("api_key=1 apikey=2&b=3", "api_key=*** apikey=***&b=3"),
        ];
        for (said, shown) in cases {
            assert_eq!(mask(said), shown);
        }
        for said in [
            "relation \"orders\" already exists",
            "https://host:8080/path@x",
            "password authentication failed for user \"app\"",
            "a token is missing",
        ] {
            assert_eq!(mask(said), said);
        }
    }
}
