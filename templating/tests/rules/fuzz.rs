//! Fuzzing on stable Rust. `cargo test` tries everything in `tests/corpus`, and some thousand mutations of it that
//! are the same each time. `just fuzz MINUTES` continues with others. An input that shows a new behaviour, or
//! breaks something, is added to the corpus.
//!
//! An input that aborts the process (a stack overflow) is left in the file that the first line of the output
//! names.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail like tests"
)]

mod mutation;
mod targets;

use std::{
    collections::BTreeSet,
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use mutation::Mutation;
use sha2::{Digest, Sha256};
use targets::{TARGETS, Target};

/// Number of mutations of each target that `cargo test` tries.
const TRIES: usize = 4000;
/// Maximum bytes of an input that is kept: the limits have tests of their own.
const KEPT_BYTES: usize = 600;

/// The known inputs and behaviours of a target, and their folder.
struct Corpus {
    folder: PathBuf,
    inputs: Vec<Vec<u8>>,
    behaviours: BTreeSet<String>,
}

impl Corpus {
    fn read(target: &Target) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/corpus")
            .join(target.name);
        let mut files: Vec<_> = fs::read_dir(&folder)
            .expect("the corpus is there")
            .map(|entry| entry.expect("an entry").path())
            .collect();
        files.sort();
        let inputs: Vec<_> = files
            .iter()
            .map(|file| fs::read(file).expect("an input"))
            .collect();
        assert!(!inputs.is_empty(), "{} is empty", folder.display());
        Self {
            folder,
            inputs,
            behaviours: BTreeSet::new(),
        }
    }

    /// Keeps an input under the hash of its content.
    fn keep(&mut self, input: &[u8]) {
        let digest: [u8; 32] = Sha256::digest(input).into();
        let (head, _) = digest.split_at(8);
        let name = head
            .iter()
            .fold(String::new(), |name, byte| format!("{name}{byte:02x}"));
        fs::write(self.folder.join(name), input).expect("the corpus can be written");
        self.inputs.push(input.to_owned());
    }
}

/// Tries one input. Returns the behaviour of the target, or its failure.
fn attempt(target: &Target, input: &[u8]) -> Result<String, String> {
    let text = String::from_utf8_lossy(input);
    match catch_unwind(AssertUnwindSafe(|| (target.check)(&text))) {
        Ok(outcome) => outcome,
        Err(panic) => {
            let said = panic.downcast_ref::<String>().map(String::as_str);
            Err(said
                .or(panic.downcast_ref::<&str>().copied())
                .unwrap_or("a panic")
                .to_owned())
        }
    }
}

fn broken(target: &Target, input: &[u8], why: &str) -> String {
    format!(
        "{}: {why}\ninput: {:?}",
        target.name,
        String::from_utf8_lossy(input)
    )
}

/// Tries all known inputs, and the mutations of the seed until `go_on` returns false. Returns the number of inputs
/// tried, and the failures.
fn fuzz(
    target: &Target,
    seed: u64,
    keep: bool,
    go_on: &dyn Fn(usize) -> bool,
) -> (usize, Vec<String>) {
    let mut corpus = Corpus::read(target);
    let mut failures = Vec::new();
    for input in corpus.inputs.clone() {
        match attempt(target, &input) {
            Ok(behaviour) => drop(corpus.behaviours.insert(behaviour)),
            Err(why) => failures.push(broken(target, &input, &why)),
        }
    }
    let mut mutation = Mutation::new(seed);
    let mut tried = 0;
    let present = std::env::temp_dir().join(format!("cartouche-fuzz-{}", target.name));
    while failures.is_empty() && go_on(tried) {
        let input = mutation.of(&corpus.inputs);
        if keep {
            fs::write(&present, &input).expect("the present input can be written");
        }
        match attempt(target, &input) {
            Ok(behaviour) => {
                if corpus.behaviours.insert(behaviour) && keep && input.len() <= KEPT_BYTES {
                    corpus.keep(&input);
                }
            }
            Err(why) => {
                if keep {
                    corpus.keep(&input);
                }
                failures.push(broken(target, &input, &why));
            }
        }
        tried += 1;
    }
    (tried, failures)
}

#[test]
fn everything_in_the_corpus_and_near_it_behaves() {
    let failures: Vec<_> = TARGETS
        .iter()
        .flat_map(|target| fuzz(target, 1, false, &|tried| tried < TRIES).1)
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// Does nothing unless `FUZZ_MINUTES` sets a duration.
#[test]
#[ignore = "it takes the minutes that it is given: just fuzz MINUTES"]
fn everything_that_time_allows_behaves() {
    let minutes = std::env::var("FUZZ_MINUTES").expect("FUZZ_MINUTES says how long");
    let minutes: f64 = minutes.parse().expect("FUZZ_MINUTES is a number");
    let seed = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .expect("a clock")
        .as_secs();
    let share = Duration::from_secs_f64(minutes * 60.0 / 6.0);
    println!(
        "seed {seed}; present inputs: {}/cartouche-fuzz-*",
        std::env::temp_dir().display()
    );
    let mut failures = Vec::new();
    for target in &TARGETS {
        let end = Instant::now() + share;
        let (tried, found) = fuzz(target, seed, true, &|_| Instant::now() < end);
        let known = Corpus::read(target).inputs.len();
        println!(
            "{:9} {tried:>10} inputs tried, {} broken, {known} kept",
            target.name,
            found.len()
        );
        failures.extend(found);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
