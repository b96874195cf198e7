//! Base 64, as the tag `!!binary` defines it.

/// Returns the bytes of a text with padding, which may span several lines.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let text: Vec<u8> = text
        .bytes()
        .filter(|it| !matches!(it, b'\r' | b'\n'))
        .collect();
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let mut groups = text.chunks(4).peekable();
    while let Some(group) = groups.next() {
        let padding = match group {
            [_, _, b'=', b'='] => 2,
            [_, _, _, b'='] => 1,
            [_, _, _, _] => 0,
            _ => return None,
        };
        if padding > 0 && groups.peek().is_some() {
            return None;
        }
        let digits = group.iter().take(4 - padding);
        let joined = digits.map(|it| digit(*it)).try_fold(0, |joined: u32, it| {
            it.map(|digit| joined << 6 | u32::from(digit))
        })?;
        let [_, group @ ..] = (joined << (6 * padding)).to_be_bytes();
        bytes.extend(group.iter().take(3 - padding));
    }
    Some(bytes)
}

fn digit(letter: u8) -> Option<u8> {
    match letter {
        b'A'..=b'Z' => Some(letter - b'A'),
        b'a'..=b'z' => Some(letter - b'a' + 26),
        b'0'..=b'9' => Some(letter - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn base_64_needs_its_padding() {
        assert_eq!(decode("aGVsbG8="), Some(b"hello".to_vec()));
        assert_eq!(decode("aGVs\nbG8h"), Some(b"hello!".to_vec()));
        assert_eq!(decode("aA=="), Some(b"h".to_vec()));
        for text in ["aGVsbG8", "aA==aA==", "a===", "aG.s", "aGV s", "===="] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
