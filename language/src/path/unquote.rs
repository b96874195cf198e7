//! Texts in quotes, with the escapes of Go.

/// Resolves the escapes in the text between two quotes. Returns `None` if one of them is invalid.
pub(super) fn unquote(text: &str, quote: char) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        let escape = rest.next()?;
        let mut digits = |count: usize, radix: u32| {
            (0..count).try_fold(0u32, |number, _| {
                Some(number.wrapping_mul(radix) + rest.next()?.to_digit(radix)?)
            })
        };
        match escape {
            'a' => bytes.push(7),
            'b' => bytes.push(8),
            'f' => bytes.push(12),
            'n' => bytes.push(b'\n'),
            'r' => bytes.push(b'\r'),
            't' => bytes.push(b'\t'),
            'v' => bytes.push(11),
            '\\' => bytes.push(b'\\'),
            'x' => bytes.push(u8::try_from(digits(2, 16)?).ok()?),
            'u' | 'U' => {
                let code = digits(if escape == 'u' { 4 } else { 8 }, 16)?;
                let c = char::from_u32(code)?;
                bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
            '0'..='7' => {
                let first = escape.to_digit(8)?;
                bytes.push(u8::try_from(first * 64 + digits(2, 8)?).ok()?);
            }
            c if c == quote => bytes.push(u8::try_from(c).ok()?),
            _ => return None,
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_escapes_of_go_are_resolved() {
        for (text, expected) in [
            ("plain é", "plain é"),
            (r"\\ \n \t \r", "\\ \n \t \r"),
            (r"\a\b\f\v", "\u{7}\u{8}\u{c}\u{b}"),
            (r"\x41\u00e9\U0001f600\101", "Aé😀A"),
            (r"\xc3\xa9", "é"),
            (r"\'", "'"),
        ] {
            assert_eq!(unquote(text, '\'').as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_escape_is_an_error() {
        for text in [
            r"\q", r"\", r"\x4", r"\u12", r"\ud800", r"\8", r"\777", r#"\""#,
        ] {
            assert_eq!(unquote(text, '\''), None, "{text}");
        }
    }
}
