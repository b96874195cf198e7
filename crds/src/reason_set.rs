//! Sets of reasons that conditions and events have.

/// Defines a closed set of reasons, with the meaning of each as its doc comment. `cargo generate` writes both into
/// `docs/reference/reasons.md`. The name of a variant is the word on the wire: it never changes.
#[macro_export]
macro_rules! reasons {
    (
        $(#[$attribute:meta])*
        pub enum $name:ident {
            $($(#[doc = $meaning:literal])+ $reason:ident,)+
        }
    ) => {
        $(#[$attribute])*
        pub enum $name {
            $($(#[doc = $meaning])+ $reason,)+
        }

        impl $name {
            /// All reasons of the set.
            pub const ALL: [Self; [$(stringify!($reason)),+].len()] = [$(Self::$reason),+];

            /// Returns the word in a condition or an event.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$reason => stringify!($reason),)+
                }
            }

            /// Returns the meaning, as Markdown.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                // Each line of a doc comment begins with a space.
                match self {
                    $(Self::$reason => concat!($($meaning),+).trim_start(),)+
                }
            }

            /// Parses the word, and returns `None` if it is not of the set.
            #[must_use]
            pub fn parse(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|it| it.as_str() == word)
            }
        }
    };
}

#[cfg(test)]
mod tests {
    reasons! {
        /// A set.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Sample {
            /// One line.
            Short,
            /// One line,
            /// and another.
            Long,
        }
    }

    #[test]
    fn each_reason_has_its_word_and_its_meaning() {
        let all = Sample::ALL.map(|it| (it.as_str(), it.meaning()));
        let expected = [("Short", "One line."), ("Long", "One line, and another.")];
        assert_eq!(all, expected);
        assert_eq!(Sample::parse("Long"), Some(Sample::Long));
        assert_eq!(Sample::parse("long"), None);
    }
}
