//! Re-run requests, in the form of the status. Pure.

use std::fmt::Write as _;

use cartouche_crds::{RERUN_TOKEN_ANNOTATION, RETRY_NOW_ANNOTATION, Runnable};
use sha2::{Digest as _, Sha256};

/// Longest request that is kept verbatim, in bytes.
const MOST: usize = 1024;

/// Returns the re-run request on a Runnable, or `None` if there is none.
#[must_use]
pub fn find_request(runnable: &Runnable) -> Option<String> {
    request(runnable, RERUN_TOKEN_ANNOTATION)
}

/// Returns the request to retry at once what failed, or `None` if there is none. No decision
/// depends on it.
#[must_use]
pub fn retry_now(runnable: &Runnable) -> Option<String> {
    request(runnable, RETRY_NOW_ANNOTATION)
}

/// Returns the request that an annotation makes each time its value changes, or `None` if there is
/// none.
#[must_use]
pub fn request(runnable: &Runnable, annotation: &str) -> Option<String> {
    let annotations = runnable.metadata.annotations.as_ref()?;
    let token = annotations.get(annotation)?;
    (!token.is_empty()).then(|| bound_token(token))
}

/// Returns the request itself, or its hash if it is very long, so that the status keeps its size.
#[must_use]
pub fn bound_token(token: &str) -> String {
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
    use super::{MOST, bound_token};

    #[test]
    fn a_request_of_a_sane_size_is_kept_to_the_letter_and_a_longer_one_by_its_hash() {
        let sane = "é".repeat(MOST / 2);
        assert_eq!(bound_token(&sane), sane);
        let (long, other) = ("a".repeat(100_000), "a".repeat(100_001));
        assert_eq!(bound_token(&long).len(), "sha256:".len() + 64);
        assert_eq!(bound_token(&long), bound_token(&long));
        assert_ne!(bound_token(&long), bound_token(&other));
    }
}
