//! Times, which a tag may ask for. Their value is their text, so only their syntax is checked.

/// Returns true if go-yaml reads a text as a time: a date, followed by nothing, by a T with a time and a zone, or by
/// blanks with a time.
pub(super) fn is_timestamp(text: &str) -> bool {
    let is_year = text.bytes().take_while(u8::is_ascii_digit).count() == 4;
    let mut rest = Rest(text);
    if !is_year || !rest.skip_date() {
        return false;
    }
    match rest.0.as_bytes().first() {
        None => true,
        Some(b'T' | b't') => {
            rest.skip(1);
            rest.skip_time() && rest.skip_zone() && rest.0.is_empty()
        }
        Some(b' ') => {
            rest.0 = rest.0.trim_start_matches(' ');
            rest.skip_time() && rest.0.is_empty()
        }
        Some(_) => false,
    }
}

/// Unread rest of a text.
struct Rest<'a>(&'a str);

impl Rest<'_> {
    fn skip(&mut self, bytes: usize) {
        self.0 = self.0.get(bytes..).unwrap_or_default();
    }

    fn took(&mut self, character: char) -> bool {
        let rest = self.0.strip_prefix(character);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn digits(&self) -> usize {
        self.0.bytes().take_while(u8::is_ascii_digit).count()
    }

    /// Reads a number of at least one and at most so many digits.
    fn number(&mut self, most: usize) -> Option<u32> {
        let count = self.digits().min(most);
        let number = self.0.get(..count)?.parse().ok()?;
        self.skip(count);
        Some(number)
    }

    fn skip_date(&mut self) -> bool {
        let Some(year) = self.number(4).filter(|_| self.0.starts_with('-')) else {
            return false;
        };
        self.skip(1);
        let Some(month) = self.number(2).filter(|_| self.0.starts_with('-')) else {
            return false;
        };
        self.skip(1);
        let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let days = match month {
            2 if is_leap => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => return false,
        };
        self.number(2).is_some_and(|day| (1..=days).contains(&day))
    }

    fn skip_time(&mut self) -> bool {
        let is_time = self.number(2).is_some_and(|hour| hour < 24)
            && self.took(':')
            && self.number(2).is_some_and(|minute| minute < 60)
            && self.took(':')
            && self.number(2).is_some_and(|second| second < 60);
        if let Some(fraction) = self.0.strip_prefix(['.', ',']) {
            let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
            if digits > 0 {
                self.skip(1 + digits);
            }
        }
        is_time
    }

    /// Returns true for `Z`, or for hours and minutes of two digits each. Go takes 24 and 60 as well.
    fn skip_zone(&mut self) -> bool {
        if self.took('Z') {
            return true;
        }
        if !self.took('+') && !self.took('-') {
            return false;
        }
        self.two_digits().is_some_and(|hours| hours <= 24)
            && self.took(':')
            && self.two_digits().is_some_and(|minutes| minutes <= 60)
    }

    fn two_digits(&mut self) -> Option<u32> {
        if self.digits() < 2 {
            return None;
        }
        self.number(2)
    }
}

#[cfg(test)]
mod tests {
    use super::is_timestamp;

    #[test]
    fn times_are_those_that_go_yaml_takes() {
        for text in [
            "2024-01-02",
            "2024-1-2",
            "2024-02-29",
            "2024-01-02T03:04:05Z",
            "2024-01-02t3:4:5.25+02:00",
            "2024-01-02   03:04:05.123456789123",
        ] {
            assert!(is_timestamp(text), "{text}");
        }
        for text in [
            "2023-02-29",
            "2024-13-01",
            "2024-01",
            "20240-01-02",
            "2024-01-02T03:04:05",
            "2024-01-02T24:00:00Z",
            "2024-01-02 03:04:05 -5",
            "2024-01-02 ",
            "2024-01-023",
        ] {
            assert!(!is_timestamp(text), "{text}");
        }
    }
}
