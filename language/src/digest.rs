//! One hash for all spellings of the same document.
//!
//! The hash of a rendered document decides whether a run is made, so it must not change between two releases:
//! `tests/releases` pins it. A release that has to hash differently adds a [`HashVersion`], and knows the former
//! one as well: see [`Hashing`].

use std::fmt::Write as _;

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Number, Value};
use sha2::{Digest as _, Sha256};

use crate::{json_text, number::integer};

/// Prefix of every hash of a release.
pub const VERSION: &str = HashVersion::V1.prefix();

/// Version of the hash of a rendered document. It is the prefix of each hash, so that hashes of two versions are
/// never confused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HashVersion {
    /// The version of all releases so far.
    #[default]
    V1,
    /// A version of no release: tests play a controller with it beside one with the first.
    Next,
}

impl HashVersion {
    /// Returns the text before the digits.
    #[must_use]
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::V1 => "v1:",
            Self::Next => "v2:",
        }
    }

    /// Returns the prefix and the SHA-256, in hexadecimal, of the canonical JSON of the value: keys sorted, no
    /// spaces, numbers of equal value written in one way (`1`, `1.0` and `1e0` are equal). With a key it is the
    /// HMAC-SHA256: without the key, a hashed value cannot be found by trial. Only for values that are shallow.
    #[must_use]
    pub fn hash(self, value: &Value, key: Option<&str>) -> String {
        let text = match self {
            Self::V1 => canonical(value),
            Self::Next => format!("[2,{}]", canonical(value)),
        };
        format!("{}{}", self.prefix(), digits(&text, key))
    }
}

/// Versions by which a controller hashes rendered documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Hashing {
    /// The version of the hashes that it intends.
    pub own: HashVersion,
    /// The version of the former release, if it differs: a ledger of that release is read by its hashes.
    pub former: Option<HashVersion>,
}

/// The hashes of one document: that of this release, and that of the former release if it differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hashes<'a> {
    /// The hash by this release.
    pub own: &'a str,
    /// The hash by the former release.
    pub former: Option<&'a str>,
}

impl<'a> Hashes<'a> {
    /// Returns the hash of the same version as another one. Returns `None` if that version is unknown, so that the
    /// two cannot be compared.
    #[must_use]
    pub fn like(self, other: &str) -> Option<&'a str> {
        let version = version(other)?;
        let mut known = [Some(self.own), self.former].into_iter().flatten();
        known.find(|hash| hash.starts_with(version))
    }
}

/// Returns the prefix of a hash, with its colon.
fn version(hash: &str) -> Option<&str> {
    hash.split_inclusive(':')
        .next()
        .filter(|it| it.ends_with(':'))
}

impl<'a> From<&'a str> for Hashes<'a> {
    fn from(own: &'a str) -> Self {
        Self { own, former: None }
    }
}

impl<'a> From<&'a String> for Hashes<'a> {
    fn from(own: &'a String) -> Self {
        own.as_str().into()
    }
}

/// Returns the hash of a value by the first version. Only for values that are shallow.
#[must_use]
pub fn hash(value: &Value) -> String {
    HashVersion::V1.hash(value, None)
}

/// Prefix of the hash of a create request, which differs from that of every rendered document.
pub const MADE_VERSION: &str = "m1:";

/// Returns the hash of a create request: `m1:` and the SHA-256 of its canonical JSON, or with a key the
/// HMAC-SHA256. Only for values that are shallow.
#[must_use]
pub fn made_hash(made: &Value, key: Option<&str>) -> String {
    format!("{MADE_VERSION}{}", digits(&canonical(made), key))
}

/// Returns the SHA-256 of a text in hexadecimal, or with a key the HMAC-SHA256.
fn digits(text: &str, key: Option<&str>) -> String {
    match key {
        Some(key) => hmac(key.as_bytes(), &[text.as_bytes()]),
        None => hexadecimal(&Sha256::digest(text)),
    }
}

/// Returns the first 16 hexadecimal digits of the SHA-256 of the canonical JSON: enough to distinguish the
/// revisions of one thing, and short enough to be kept by the dozen. Only for values that are shallow.
#[must_use]
pub fn short_hash(value: &Value) -> String {
    hexadecimal(&Sha256::digest(canonical(value))[..8])
}

/// Returns the HMAC-SHA256 (RFC 2104) of the concatenated parts, in hexadecimal.
#[must_use]
pub fn hmac(key: &[u8], parts: &[&[u8]]) -> String {
    let mut mark = String::new();
    // A key may have any length.
    let Ok(mut hmac) = Hmac::<Sha256>::new_from_slice(key) else {
        return mark;
    };
    for part in parts {
        hmac.update(part);
    }
    for byte in hmac.finalize().into_bytes() {
        // Writing to a string cannot fail.
        let _ = write!(mark, "{byte:02x}");
    }
    mark
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn canonical(value: &Value) -> String {
    json_text::json(value, |float| {
        let integer = Number::from_f64(float).as_ref().and_then(integer);
        integer.map_or_else(|| json_text::float(float), |integer| integer.to_string())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn keyed_hash(key: &str, value: &Value) -> String {
        HashVersion::V1.hash(value, Some(key))
    }

    #[test]
    fn two_versions_say_different_things_of_one_value_and_are_told_apart_by_their_prefix() {
        let value = json!({ "a": 1 });
        let [own, former] = [HashVersion::Next, HashVersion::V1].map(|it| it.hash(&value, None));
        assert_ne!(own[3..], former[3..]);
        let both = Hashes {
            own: &own,
            former: Some(&former),
        };
        assert_eq!(both.like("v1:of another document"), Some(&*former));
        assert_eq!(both.like("v2:of another document"), Some(&*own));
        for unknown in ["v0:unknown", "v3:x", "v1", "", "v11:x"] {
            assert_eq!(both.like(unknown), None, "{unknown:?}");
        }
        assert_eq!(Hashes::from(&former).like(&own), None);
    }

    #[test]
    fn maps_are_sorted_because_no_dependency_switches_on_preserve_order() {
        let map: Value = serde_json::from_str(r#"{"b": 1, "a": 2}"#).unwrap();
        assert_eq!(map.to_string(), r#"{"a":2,"b":1}"#);
    }

    #[test]
    fn a_fraction_is_read_as_it_was_written() {
        // Written with one digit less, or parsed less exactly, these are their neighbours.
        for text in [
            "9.007190071900719e106",
            "0.30000000000000004",
            "5e-324",
            "1.7976931348623157e308",
        ] {
            let value: Value = serde_json::from_str(text).unwrap();
            let again: Value = serde_json::from_str(&value.to_string()).unwrap();
            assert_eq!(value, again, "{text}");
            assert_eq!(value.as_f64(), text.parse().ok(), "{text}");
        }
    }

    #[test]
    fn a_short_hash_is_the_beginning_of_the_long_one() {
        let value = json!({ "b": [1.0, null], "a": "x" });
        let same = json!({ "a": "x", "b": [1, null] });
        assert_eq!(short_hash(&value), hash(&value)[VERSION.len()..][..16]);
        assert_eq!(short_hash(&value), short_hash(&same));
    }

    #[test]
    fn a_keyed_hash_is_of_the_same_form_and_another_for_each_key_and_value() {
        let value = json!({ "pin": "7306" });
        let hashes = [
            hash(&value),
            keyed_hash("", &value),
            keyed_hash("uid", &value),
            keyed_hash("uid", &json!({ "pin": "7307" })),
        ];
        let different: std::collections::BTreeSet<&String> = hashes.iter().collect();
        assert_eq!(different.len(), hashes.len());
        for hash in &hashes {
            assert!(hash.starts_with(VERSION) && hash.len() == VERSION.len() + 64);
        }
        assert_eq!(keyed_hash("uid", &value), hashes[2]);
    }

    #[test]
    fn equal_numbers_are_written_in_one_way() {
        for (value, expected) in [
            (json!(1), "1"),
            (json!(1.0), "1"),
            (json!(0.0), "0"),
            (json!(-0.0), "0"),
            (json!(1e18), "1000000000000000000"),
            (json!(1_152_921_504_606_846_976_u64), "1152921504606846976"),
            (json!(1_152_921_504_606_846_976_f64), "1152921504606846976"),
            (json!(9_007_199_254_740_993_u64), "9007199254740993"),
            (json!(1.5), "1.5"),
            (json!(1e300), "1e+300"),
        ] {
            assert_eq!(canonical(&value), expected);
        }
    }
}
