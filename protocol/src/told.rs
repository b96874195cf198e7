//! The form of a message for people: what is wrong, what to do, and Cartographer's words to the letter.
//!
//! ```text
//! <what is wrong>; to do: <what to do>; in full: <Cartographer's words>
//! ```

use k8s_openapi::jiff::Timestamp;

/// Stands before what to do.
const TO_DO: &str = "; to do: ";
/// Stands before the words of Cartographer, which scripts look for.
const IN_FULL: &str = "; in full: ";
/// Stands before how often something was tried, which changes while all else stays.
const TRIED: &str = "; tried ";
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

/// The message with how often that was tried, since when, and when it is tried next, as far as the clock is known.
#[must_use]
pub fn with_tries(
    message: &str,
    times: u32,
    since: Option<Timestamp>,
    next: Option<Timestamp>,
) -> String {
    let seconds = |at: Timestamp| Timestamp::from_second(at.as_second()).unwrap_or(at);
    let mut tries = match times {
        1 => "once".to_owned(),
        times => format!("{times} times"),
    };
    for (word, at) in [(" since", since.filter(|_| times > 1)), (", next at", next)] {
        if let Some(at) = at {
            tries.push_str(&format!("{word} {}", seconds(at)));
        }
    }
    put_tries(message, &tries)
}

/// How often that was tried, if the message says so.
#[must_use]
pub fn tries(message: &str) -> Option<&str> {
    Told::of(message)
        .what
        .split_once(TRIED)
        .map(|(_, tries)| tries)
}

/// Puts into a message what [`tries`] found in another one.
#[must_use]
pub fn put_tries(message: &str, tries: &str) -> String {
    let what = Told::of(message).what.len();
    let (what, rest) = message.split_at(what);
    format!("{what}{TRIED}{tries}{rest}")
}

/// The message without how often that was tried: what two messages have to share to say the same.
#[must_use]
pub fn without_tries(message: &str) -> String {
    match tries(message) {
        Some(tries) => message.replacen(&format!("{TRIED}{tries}"), "", 1),
        None => message.to_owned(),
    }
}

/// A message of these parts. What others have said stays what it is: it cannot pass for what to do.
#[must_use]
pub fn message(what: &str, to_do: &str, in_full: Option<&str>) -> String {
    let plain = |text: &str| {
        [TO_DO, IN_FULL, TRIED]
            .iter()
            .fold(text.to_owned(), |text, mark| text.replace(mark, "; "))
    };
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
    fn how_often_it_was_tried_stands_before_what_to_do_and_can_be_left_out() {
        let made = message("no", "ask", Some("not found"));
        let at = |seconds| Timestamp::from_second(seconds).ok();
        let once = with_tries(&made, 1, at(0), at(60));
        assert_eq!(
            once,
            "no; tried once, next at 1970-01-01T00:01:00Z; to do: ask; in full: not found"
        );
        let often = with_tries(&made, 3, at(0), None);
        assert_eq!(
            often,
            "no; tried 3 times since 1970-01-01T00:00:00Z; to do: ask; in full: not found"
        );
        for told in [&once, &often, &made] {
            assert_eq!(without_tries(told), made);
        }
        assert_eq!(
            put_tries("yes; to do: go", tries(&once).unwrap()),
            "yes; tried once, next at 1970-01-01T00:01:00Z; to do: go"
        );
        assert_eq!(tries(&made), None);
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
