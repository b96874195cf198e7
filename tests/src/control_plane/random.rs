//! Randomness for tokens and names, from the operating system.

use std::{
    fmt::Write,
    fs::File,
    io::{self, Read},
};

/// Returns random bytes.
pub(crate) fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Returns a word of lower-case hexadecimal digits, two for each of `N` bytes.
pub(crate) fn word<const N: usize>() -> io::Result<String> {
    Ok(bytes::<N>()?.iter().fold(String::new(), |mut word, byte| {
        // Writing to a string cannot fail.
        let _ = write!(word, "{byte:02x}");
        word
    }))
}
