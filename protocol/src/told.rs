//! The form of a message for people: what is wrong, what to do, and Cartographer's words to the letter.
//!
//! ```text
//! <what is wrong>; to do: <what to do>; in full: <Cartographer's words>
//! ```

use std::{fmt, time::Duration};

use k8s_openapi::jiff::Timestamp;

/// Longest text in an event, and of what others said in a condition, in bytes.
pub const TEXT_BYTES: usize = 1_000;
/// Stands before what to do.
const TO_DO: &str = "; to do: ";
/// Stands before the words of Cartographer, which scripts look for.
const IN_FULL: &str = "; in full: ";
/// Stands before how often something was tried, which changes while all else stays.
const TRIED: &str = "; tried ";
/// Bytes of the part that Cartographer did not have.
const MOST: usize = 900;
/// Bytes of what to do.
const MOST_TO_DO: usize = 600;

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

/// The message with how often that was tried, since when, and when it is tried again at the latest. It changes only
/// at some of the tries: each change is a write of the status.
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

/// The message of one process with the tries of both, where these are all in which it differs from the stored one: the
/// earliest time, and the highest number. Two processes that try the same then agree on what they say of it.
#[must_use]
pub(crate) fn joined_tries(stored: &str, own: &str) -> Option<String> {
    let (before, after) = (Tries::of(tries(stored)?), Tries::of(tries(own)?));
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

/// Stands before the time of the first try.
const SINCE: &str = " since ";
/// Stands before when it is tried again.
const AGAIN: &str = ", and again within ";

impl<'a> Tries<'a> {
    fn of(tries: &'a str) -> Self {
        let (tries, again) = parted(tries, AGAIN);
        let (times, since) = parted(tries, SINCE);
        Self {
            times,
            since,
            again,
        }
    }

    /// How many there were at least.
    fn number(self) -> u32 {
        let words = self.times.split(' ').find_map(|word| word.parse().ok());
        words.unwrap_or(1)
    }

    fn joined(self, other: Self) -> Self {
        // Times of the same form are in the order of their texts.
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

/// What others have said, so that no part of it is taken for one of ours.
pub(crate) fn plain(said: &str) -> String {
    // Without its semicolon no mark is one, and none comes of what is left.
    let marks = [TO_DO, IN_FULL, TRIED].iter();
    marks.fold(said.to_owned(), |said, mark| {
        said.replace(mark, &mark.replacen(';', ",", 1))
    })
}

/// A message of these parts. What others have said stays what it is: it cannot pass for what to do.
#[must_use]
pub fn message(what: &str, to_do: &str, in_full: Option<&str>) -> String {
    let mut message = within(plain(what), MOST);
    if !to_do.is_empty() {
        message.push_str(TO_DO);
        message.push_str(&within(plain(to_do), MOST_TO_DO));
    }
    if let Some(words) = in_full {
        message.push_str(IN_FULL);
        message.push_str(words);
    }
    message
}

/// Cuts a text to [`TEXT_BYTES`], on a character border.
#[must_use]
pub fn bounded(text: String) -> String {
    within(text, TEXT_BYTES)
}

/// Cuts a text to so many bytes, on a character border.
pub(crate) fn within(mut text: String, bytes: usize) -> String {
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
            assert_eq!(Told::of(&told).to_do, Some("ask"), "{told}");
        }
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
        let long_cure = message("no", &"é".repeat(10_000), Some("not found"));
        assert!(long_cure.len() < 1_000 && long_cure.ends_with("…; in full: not found"));
        assert!(made.len() < 1_000 && made.ends_with("…; to do: ask; in full: not found"));
    }
}
