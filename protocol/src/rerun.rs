//! Re-run requests, as the status holds them. Pure.

use std::fmt::Write as _;

use cartouche_crds::{RERUN_TOKEN_ANNOTATION, RETRY_NOW_ANNOTATION, Runnable};
use sha2::{Digest as _, Sha256};

/// The longest one that is kept as it is, in bytes.
const MOST: usize = 1024;

/// The request on a Runnable, if there is one.
#[must_use]
pub fn requested(runnable: &Runnable) -> Option<String> {
    request(runnable, RERUN_TOKEN_ANNOTATION)
}

/// The request to try at once what failed and is tried again later, if there is one. No decision hangs on it.
#[must_use]
pub fn retry_now(runnable: &Runnable) -> Option<String> {
    request(runnable, RETRY_NOW_ANNOTATION)
}

/// The request that an annotation of a Runnable makes each time its value changes, if there is one.
#[must_use]
pub fn request(runnable: &Runnable, annotation: &str) -> Option<String> {
    let annotations = runnable.metadata.annotations.as_ref()?;
    let token = annotations.get(annotation)?;
    (!token.is_empty()).then(|| bounded(token))
}

/// The request itself, or the hash of one that is longer than anybody needs, so that the status keeps its
/// size.
#[must_use]
pub fn bounded(token: &str) -> String {
    if token.len() <= MOST {
        return token.to_owned();
    }
    let digest = Sha256::digest(token.as_bytes());
    digest.iter().fold("sha256:".to_owned(), |mut hash, byte| {
        // Writing into a String cannot fail.
        let _ = write!(hash, "{byte:02x}");
        hash
    })
}

#[cfg(test)]
mod tests {
    use super::{MOST, bounded};

    #[test]
    fn a_request_of_a_sane_size_is_kept_to_the_letter_and_a_longer_one_by_its_hash() {
        let sane = "é".repeat(MOST / 2);
        assert_eq!(bounded(&sane), sane);
        let (long, other) = ("a".repeat(100_000), "a".repeat(100_001));
        assert_eq!(bounded(&long).len(), "sha256:".len() + 64);
        assert_eq!(bounded(&long), bounded(&long));
        assert_ne!(bounded(&long), bounded(&other));
    }
}
