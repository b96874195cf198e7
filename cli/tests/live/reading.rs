//! Files are read as kubectl reads them: random texts are given to both.

mod by_chance;
mod documents;
mod kubectl;
mod scalars;

use anyhow::{Result, ensure};
use cartouche_language::short_hash;
use serde_json::Value;

use by_chance::Chance;
use kubectl::{Answer, Kubectl};

/// Of texts with a scalar as a value, as a key or as both.
const SCALARS: usize = 24_000;
/// Of texts with documents.
const DOCUMENTS: usize = 6_000;

#[test]
fn scalars_are_what_they_are_to_kubectl() -> Result<()> {
    let mut chance = Chance::of_seed(41);
    let texts = (0..SCALARS).map(|_| scalars::text(&mut chance));
    compare(&texts.collect::<Vec<_>>())
}

#[test]
fn documents_are_what_they_are_to_kubectl() -> Result<()> {
    let mut chance = Chance::of_seed(42);
    let texts = (0..DOCUMENTS).map(|_| documents::text(&mut chance));
    compare(&texts.collect::<Vec<_>>())
}

#[test]
fn what_was_read_otherwise_once_is_what_it_is_to_kubectl() -> Result<()> {
    let texts = include_str!("reading/once.txt").split("=====\n");
    compare(&texts.map(str::to_owned).collect::<Vec<_>>())
}

fn compare(texts: &[String]) -> Result<()> {
    let answers = Kubectl::build()?.read(texts)?;
    let (mut taken, mut refused) = (0, 0);
    let mut differences = Vec::new();
    for (text, answer) in texts.iter().zip(&answers) {
        let read = cartouche_cli::documents_of(text);
        match &read {
            Ok(_) => taken += 1,
            Err(_) => refused += 1,
        }
        if let Some(difference) = difference(text, &read, answer) {
            differences.push(format!("{text:?}\n  {difference}"));
        }
    }
    println!("{taken} texts taken and {refused} refused");
    let (count, first) = (differences.len(), differences.iter().take(20));
    let first: Vec<_> = first.map(String::as_str).collect();
    ensure!(count == 0, "{count} differences:\n{}", first.join("\n"));
    Ok(())
}

/// Returns the difference between the command and kubectl for a text. The command may refuse what kubectl takes for two
/// reasons only, both in docs/reference/command.md: a key that stands twice, and text behind the end of a document.
fn difference(text: &str, read: &Result<Vec<Value>, String>, answer: &Answer) -> Option<String> {
    let is_doubtful = |what: &str| answer.doubtful.iter().any(|it| it == what);
    match (read, &answer.error) {
        (Ok(documents), None) => {
            if *documents != answer.documents {
                return Some(format!("{documents:?}\n  {:?}", answer.documents));
            }
            let hashes = |of: &[Value]| of.iter().map(short_hash).collect::<Vec<_>>();
            if hashes(documents) != hashes(&answer.documents) {
                return Some("the hashes are not the same".to_owned());
            }
            // Another entry may replace one of a merge key: that is its purpose.
            let is_twice = is_doubtful("duplicate") && !text.contains("<<");
            let is_wrong = is_twice || is_doubtful("more");
            is_wrong.then(|| format!("taken, though {:?}", answer.doubtful))
        }
        (Err(_), Some(_)) => None,
        // The part that kubectl does not read, or replaces, may be wrong for other reasons as well.
        (Err(message), None) => {
            let is_meant = is_doubtful("duplicate") || is_doubtful("more");
            let refused = || format!("refused: {message}\n  {:?}", answer.documents);
            (!is_meant).then(refused)
        }
        (Ok(documents), Some(error)) => Some(format!("{documents:?}\n  refused: {error}")),
    }
}
