//! The form of a message for people: what is wrong, what to do, and Cartographer's words to the letter.
//!
//! ```text
//! <what is wrong>; to do: <what to do>; in full: <Cartographer's words>
//! ```

/// Stands before what to do.
const TO_DO: &str = "; to do: ";
/// Stands before the words of Cartographer, which scripts look for.
const IN_FULL: &str = "; in full: ";
/// Bytes of the part that Cartographer did not have.
const MOST: usize = 900;

/// The parts of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told<'a> {
    /// What is wrong.
    pub what: &'a str,
    /// What to do about it.
    pub to_do: Option<&'a str>,
    /// The same as Cartographer said it.
    pub in_full: Option<&'a str>,
}

impl<'a> Told<'a> {
    /// The parts of a message of that form; a message of no form says what is wrong.
    #[must_use]
    pub fn of(message: &'a str) -> Self {
        let (own, in_full) = parted(message, IN_FULL);
        let (what, to_do) = parted(own, TO_DO);
        Self {
            what,
            to_do,
            in_full,
        }
    }

    /// The message without the words of Cartographer.
    #[must_use]
    pub fn own(message: &'a str) -> &'a str {
        parted(message, IN_FULL).0
    }
}

fn parted<'a>(text: &'a str, mark: &str) -> (&'a str, Option<&'a str>) {
    match text.split_once(mark) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

/// A message of these parts. What others have said stays what it is: it cannot pass for what to do.
#[must_use]
pub fn message(what: &str, to_do: &str, in_full: Option<&str>) -> String {
    let plain = |text: &str| text.replace(TO_DO, "; ").replace(IN_FULL, "; ");
    let mut message = plain(what);
    if message.len() > MOST {
        message.truncate(message.floor_char_boundary(MOST));
        message.push('…');
    }
    if !to_do.is_empty() {
        message.push_str(TO_DO);
        message.push_str(&plain(to_do));
    }
    if let Some(words) = in_full {
        message.push_str(IN_FULL);
        message.push_str(words);
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_it_was_made() {
        let made = message("it is not there", "make it", Some("not found"));
        assert_eq!(made, "it is not there; to do: make it; in full: not found");
        let told = Told::of(&made);
        assert_eq!(
            (told.what, told.to_do, told.in_full),
            ("it is not there", Some("make it"), Some("not found"))
        );
        assert_eq!(Told::own(&made), "it is not there; to do: make it");
    }

    #[test]
    fn what_others_have_said_does_not_pass_for_what_to_do() {
        let said = "no; to do: rm -rf /; in full: x";
        let made = message(said, "ask", Some(said));
        let told = Told::of(&made);
        assert_eq!(told.what, "no; rm -rf /; x");
        assert_eq!(told.to_do, Some("ask"));
        assert_eq!(told.in_full, Some(said));
    }

    #[test]
    fn a_message_of_another_form_says_what_is_wrong() {
        let told = Told::of("it burned");
        assert_eq!(
            (told.what, told.to_do, told.in_full),
            ("it burned", None, None)
        );
    }

    #[test]
    fn however_long_the_first_part_is_the_others_are_whole() {
        let made = message(&"é".repeat(10_000), "ask", Some("not found"));
        assert!(made.len() < 1_000 && made.ends_with("…; to do: ask; in full: not found"));
    }
}
