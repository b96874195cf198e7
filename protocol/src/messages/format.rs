//! The form of a message for people: the problem, the cure, and Cartographer's message verbatim.
//!
//! ```text
//! <what is wrong>; to do: <what to do>; in full: <Cartographer's words>
//! ```

use std::{fmt, time::Duration};

use k8s_openapi::jiff::Timestamp;

/// Longest text in an event, and of the words of others in a condition, in bytes.
pub const TEXT_BYTES: usize = 1_000;
/// Mark before the cure.
const TO_DO: &str = "; to do: ";
/// Mark before Cartographer's message, which scripts look for.
const IN_FULL: &str = "; in full: ";
/// Mark before the number of tries, which changes while all else stays.
const TRIED: &str = "; tried ";
/// Longest problem in a message, in bytes.
const MOST: usize = 900;
/// Longest cure in a message, in bytes.
const MOST_TO_DO: usize = 600;

/// The parts of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageParts<'a> {
    /// The problem.
    pub what: &'a str,
    /// The cure.
    pub to_do: Option<&'a str>,
    /// The same in Cartographer's words.
    pub in_full: Option<&'a str>,
}

impl<'a> MessageParts<'a> {
    /// Splits a message of that form. A message of another form is all problem.
    #[must_use]
    pub fn parse(message: &'a str) -> Self {
        let (own, in_full) = parted(message, IN_FULL);
        let (what, to_do) = parted(own, TO_DO);
        Self {
            what,
            to_do,
            in_full,
        }
    }

    /// Returns the message without Cartographer's words.
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

/// Adds the number of tries, the time of the first one, and the longest wait for the next. The text
/// changes only at some of the tries: each change is a write of the status.
#[must_use]
pub fn with_tries(
    message: &str,
    times: u32,
    since: Option<Timestamp>,
    again: Option<Duration>,
) -> String {
    let step = [10, 5, 2, 1].into_iter().find(|step| times >= *step);
    let mut least = step.unwrap_or(1);
    while least <= times / 10 {
        least *= 10;
    }
    let times = match least {
        1 => "once".to_owned(),
        least => format!("at least {least} times"),
    };
    let seconds = |at: Timestamp| Timestamp::from_second(at.as_second()).unwrap_or(at);
    let since = since.map(|since| seconds(since).to_string());
    let again = again.map(|again| format!("{} minutes", again.as_secs().div_ceil(60)));
    let tries = Tries {
        times: &times,
        since: since.as_deref(),
        again: again.as_deref(),
    };
    put_tries(message, &tries.to_string())
}

/// Returns the number of tries in the message, or `None` if it has none.
#[must_use]
pub fn tries(message: &str) -> Option<&str> {
    MessageParts::parse(message)
        .what
        .split_once(TRIED)
        .map(|(_, tries)| tries)
}

/// Puts into a message what [`tries`] found in another one.
#[must_use]
pub fn put_tries(message: &str, tries: &str) -> String {
    let what = MessageParts::parse(message).what.len();
    let (what, rest) = message.split_at(what);
    format!("{what}{TRIED}{tries}{rest}")
}

/// Returns the message without its tries: two messages agree if the rest is the same.
#[must_use]
pub fn without_tries(message: &str) -> String {
    match tries(message) {
        Some(tries) => message.replacen(&format!("{TRIED}{tries}"), "", 1),
        None => message.to_owned(),
    }
}

/// Returns the message of one process with the tries of both, or `None` if it differs from the
/// stored one in anything else. The earliest time and the highest number count. Two processes that
/// try the same then agree on the message.
#[must_use]
pub(crate) fn joined_tries(stored: &str, own: &str) -> Option<String> {
    let (before, after) = (Tries::parse(tries(stored)?), Tries::parse(tries(own)?));
    let message = without_tries(own);
    (without_tries(stored) == message)
        .then(|| put_tries(&message, &before.joined(after).to_string()))
}

/// The parts of what [`with_tries`] adds.
#[derive(Clone, Copy)]
struct Tries<'a> {
    times: &'a str,
    since: Option<&'a str>,
    again: Option<&'a str>,
}

/// Mark before the time of the first try.
const SINCE: &str = " since ";
/// Mark before the wait for the next try.
const AGAIN: &str = ", and again within ";

impl<'a> Tries<'a> {
    fn parse(tries: &'a str) -> Self {
        let (tries, again) = parted(tries, AGAIN);
        let (times, since) = parted(tries, SINCE);
        Self {
            times,
            since,
            again,
        }
    }

    /// Returns the least number of tries.
    fn number(self) -> u32 {
        let words = self.times.split(' ').find_map(|word| word.parse().ok());
        words.unwrap_or(1)
    }

    fn joined(self, other: Self) -> Self {
        // Times of the same form sort like their texts.
        let since = self.since.into_iter().chain(other.since).min();
        let more = if self.number() > other.number() {
            self.times
        } else {
            other.times
        };
        Self {
            times: more,
            since,
            again: other.again,
        }
    }
}

impl fmt::Display for Tries<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.times)?;
        if let Some(since) = self.since {
            write!(f, "{SINCE}{since}")?;
        }
        if let Some(again) = self.again {
            write!(f, "{AGAIN}{again}")?;
        }
        Ok(())
    }
}

/// Returns the words of others without our marks, so that no part of them passes for one of ours.
pub(crate) fn plain(said: &str) -> String {
    // Without its semicolon a mark is none, and the rest forms no new one.
    let marks = [TO_DO, IN_FULL, TRIED].iter();
    marks.fold(said.to_owned(), |said, mark| {
        said.replace(mark, &mark.replacen(';', ",", 1))
    })
}

/// Joins the parts to a message. The words of others keep their meaning: they cannot pass for a
/// cure.
#[must_use]
pub fn message(what: &str, to_do: &str, in_full: Option<&str>) -> String {
    let mut message = truncate_to(plain(what), MOST);
    if !to_do.is_empty() {
        message.push_str(TO_DO);
        message.push_str(&truncate_to(plain(to_do), MOST_TO_DO));
    }
    if let Some(words) = in_full {
        message.push_str(IN_FULL);
        message.push_str(words);
    }
    message
}

/// Cuts a text to [`TEXT_BYTES`], on a character border.
#[must_use]
pub fn truncate(text: String) -> String {
    truncate_to(text, TEXT_BYTES)
}

/// Cuts a text to this many bytes, on a character border.
pub(crate) fn truncate_to(mut text: String, bytes: usize) -> String {
    if text.len() > bytes {
        text.truncate(text.floor_char_boundary(bytes - '…'.len_utf8()));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_it_was_made() {
        let made = message("it is not there", "make it", Some("not found"));
        assert_eq!(made, "it is not there; to do: make it; in full: not found");
        let told = MessageParts::parse(&made);
        assert_eq!(
            (told.what, told.to_do, told.in_full),
            ("it is not there", Some("make it"), Some("not found"))
        );
        assert_eq!(MessageParts::own(&made), "it is not there; to do: make it");
    }

    #[test]
    fn what_others_have_said_does_not_pass_for_what_to_do() {
        let said = "no; to do: rm -rf /; in full: x";
        let made = message(said, "ask", Some(said));
        let told = MessageParts::parse(&made);
        assert_eq!(told.what, "no, to do: rm -rf /, in full: x");
        assert_eq!(told.to_do, Some("ask"));
        assert_eq!(told.in_full, Some(said));
    }

    #[test]
    fn how_often_it_was_tried_stands_before_what_to_do_and_can_be_left_out() {
        let made = message("no", "ask", Some("not found"));
        let tried = |times| {
            let since = Timestamp::from_second(0).ok();
            with_tries(&made, times, since, Some(Duration::from_mins(6)))
        };
        let once = "tried once since 1970-01-01T00:00:00Z, and again within 6 minutes";
        let told = format!("no; {once}; to do: ask; in full: not found");
        assert_eq!(tried(1), told);
        assert_eq!(without_tries(&told), made);
        assert_eq!(tries(&made), None);
        let put = put_tries("yes; to do: go", tries(&told).unwrap());
        assert_eq!(put, format!("yes; {once}; to do: go"));
    }

    #[test]
    fn the_number_of_tries_changes_the_message_less_and_less_often() {
        let made = message("no", "ask", None);
        let told = |times| with_tries(&made, times, None, None);
        let all: std::collections::BTreeSet<String> = (1..=1_000).map(told).collect();
        assert!(all.len() <= 10, "{all:?}");
        assert_eq!(told(7), "no; tried at least 5 times; to do: ask");
        assert_eq!(told(120), "no; tried at least 100 times; to do: ask");
    }

    #[test]
    fn tries_of_two_processes_are_joined_where_they_say_the_same() {
        let made = message("no", "ask", Some("not found"));
        let tried = |message: &str, times, since| {
            let since = Timestamp::from_second(since).ok();
            with_tries(message, times, since, Some(Duration::from_mins(6)))
        };
        let (first, second) = (tried(&made, 7, 100), tried(&made, 2, 200));
        let both = tried(&made, 5, 100);
        assert_eq!(joined_tries(&first, &second), Some(both.clone()));
        assert_eq!(joined_tries(&second, &first), Some(both.clone()));
        assert_eq!(joined_tries(&both, &second), Some(both), "it stays so");
        let more = tried(&made, 20, 200);
        assert_eq!(joined_tries(&first, &more), Some(tried(&made, 20, 100)));
        let other = tried("yes", 7, 100);
        assert_eq!(joined_tries(&first, &other), None);
        assert_eq!(joined_tries(&made, &second), None, "it had not been tried");
    }

    #[test]
    fn no_mark_comes_of_what_is_left_of_another() {
        for said in [
            "a; to do: to do: x",
            "a; in full: to do: x",
            "a; tried to do: x; to; to do: do: y",
        ] {
            let told = message(said, "ask", None);
            assert_eq!(MessageParts::parse(&told).to_do, Some("ask"), "{told}");
        }
    }

    #[test]
    fn a_message_of_another_form_says_what_is_wrong() {
        let told = MessageParts::parse("it burned");
        assert_eq!(
            (told.what, told.to_do, told.in_full),
            ("it burned", None, None)
        );
    }

    #[test]
    fn however_long_the_first_part_is_the_others_are_whole() {
        let made = message(&"é".repeat(10_000), "ask", Some("not found"));
        let long_cure = message("no", &"é".repeat(10_000), Some("not found"));
        assert!(long_cure.len() < 1_000 && long_cure.ends_with("…; in full: not found"));
        assert!(made.len() < 1_000 && made.ends_with("…; to do: ask; in full: not found"));
    }
}
