//! All values of four digits, tried against all hashes that were read.

use std::collections::{BTreeSet, HashMap};

use ring::{
    digest::{SHA256, digest},
    hmac::{HMAC_SHA256, Key, sign},
};
use serde_json::{Value, json};

/// Placeholder in a document for the mark of a secret value until it is computed.
const PLACE: &str = "the-mark";

/// Hashed values, and known hashes.
pub(super) struct Guesses {
    /// Names of keys that a value may be hashed with.
    pub(super) marked: Vec<&'static str>,
    /// The rendering of a Runnable that reads a value under a name, and that name.
    pub(super) document: Value,
    pub(super) secret: &'static str,
    /// The rendering of a Runnable that takes a value out of a Secret.
    pub(super) taken: fn(&str) -> Value,
    /// In hexadecimal, whole or the beginning.
    pub(super) hashes: BTreeSet<String>,
}

/// A value that was found, and the way to it.
#[derive(Debug)]
pub(super) struct Guess {
    pub(super) value: String,
    #[allow(dead_code)] // Told where something was found.
    by: String,
}

impl Guesses {
    /// Returns the values of which a hash with one of these keys, or with none, is known.
    pub(super) fn found(&self, keys: &BTreeSet<String>) -> Vec<Guess> {
        let known = Known::of(&self.hashes);
        let whole = json!({ "document": self.document, "secrets": { self.secret: PLACE } });
        let whole = whole.to_string();
        let around = whole.split_once(PLACE).unwrap_or_default();
        let mut found = Vec::new();
        let mut note = |hash: &[u8], value: &str, by: &dyn Fn() -> String| {
            if known.has(hash) {
                found.push(Guess {
                    value: value.to_owned(),
                    by: by(),
                });
            }
        };
        let values: Vec<String> = (0..10_000).map(|value| format!("{value:04}")).collect();
        let texts: Vec<Vec<String>> = values.iter().map(|value| self.texts(value)).collect();
        let taken: Vec<[String; 2]> = values.iter().map(|value| self.taken(value)).collect();
        for ((value, texts), taken) in values.iter().zip(&texts).zip(&taken) {
            for text in texts.iter().chain(&self.documents(value)).chain(taken) {
                note(digest(&SHA256, text.as_bytes()).as_ref(), value, &|| {
                    format!("SHA-256 of {text:?}")
                });
            }
        }
        for name in keys {
            let key = Key::new(HMAC_SHA256, name.as_bytes());
            for ((value, texts), taken) in values.iter().zip(&texts).zip(&taken) {
                for text in texts.iter().chain(taken) {
                    let hash = sign(&key, text.as_bytes());
                    note(hash.as_ref(), value, &|| {
                        format!("HMAC of {text:?} with {name}")
                    });
                }
                for between in ["", "/", "\0"] {
                    let text = [name, between, value].concat();
                    note(digest(&SHA256, text.as_bytes()).as_ref(), value, &|| {
                        format!("SHA-256 of {text:?}")
                    });
                }
                let mark = sign(&key, format!("{}\0{value}", self.secret).as_bytes());
                let text = [around.0, &hexadecimal(mark.as_ref()), around.1].concat();
                note(digest(&SHA256, text.as_bytes()).as_ref(), value, &|| {
                    format!("SHA-256 of what is rendered, with {name}")
                });
            }
        }
        found
    }

    /// Returns the value, and the value together with its possible names.
    fn texts(&self, value: &str) -> Vec<String> {
        let beside = self.marked.iter();
        let beside =
            beside.flat_map(|name| ["", "\0"].map(|between| [*name, between, value].concat()));
        beside.chain([value.to_owned()]).collect()
    }

    /// Returns the whole document that contains it, by itself and as a part of the hashed document.
    fn taken(&self, value: &str) -> [String; 2] {
        let document = (self.taken)(value);
        let whole = json!({ "document": document });
        [document, whole].map(|it| it.to_string())
    }

    /// Returns the documents around it, in the form in which the controller hashes public values.
    fn documents(&self, value: &str) -> Vec<String> {
        let of = |name: &&'static str| {
            let outputs = json!({ *name: value, "user": "shop" });
            let both = json!({ "outputs": outputs });
            [json!({ *name: value }), outputs, both].map(|document| document.to_string())
        };
        let documents = self.marked.iter().flat_map(of);
        documents.chain([json!(value).to_string()]).collect()
    }
}

/// Hashes by their beginning.
struct Known(HashMap<[u8; 8], Vec<String>>);

impl Known {
    fn of(hashes: &BTreeSet<String>) -> Self {
        let mut known: HashMap<[u8; 8], Vec<String>> = HashMap::new();
        for hash in hashes {
            if let Some(begin) = hash
                .get(..16)
                .and_then(|digits| u64::from_str_radix(digits, 16).ok())
            {
                known
                    .entry(begin.to_be_bytes())
                    .or_default()
                    .push(hash.clone());
            }
        }
        Self(known)
    }

    fn has(&self, hash: &[u8]) -> bool {
        let Some((begin, _)) = hash.split_first_chunk::<8>() else {
            return false;
        };
        let Some(same) = self.0.get(begin) else {
            return false;
        };
        let whole = hexadecimal(hash);
        same.iter().any(|known| whole.starts_with(known.as_str()))
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    // By hand: this runs for every guess.
    let digit = |four: u8| char::from(b"0123456789abcdef"[usize::from(four)]);
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 15));
    }
    text
}
