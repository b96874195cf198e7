//! Plain words: how comments begin, which words pages use, and how long the README is.
//!
//! Each number is today's, and may only fall. A crate or page that is not in a list has 0.

mod files;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use anyhow::Result;

/// Doc comments, for each crate, that begin with one of [`QUESTIONS`] in place of a noun or a verb.
const QUESTIONS_IN_COMMENTS: &[(&str, usize)] = &[];

const QUESTIONS: [&str; 9] = [
    "What", "Whether", "How", "Who", "Whose", "Where", "Why", "Which", "When",
];

/// Words, for each page, that name no actor: see [`VAGUE`].
const VAGUE_WORDS: &[(&str, usize)] = &[];

const VAGUE: [&str; 5] = ["nobody", "somebody", "whoever", "anybody", "told"];

/// Lines of prose, for each page, above 100 characters: of generated pages, and links that cannot be wrapped.
const LONG_LINES: &[(&str, usize)] = &[
    ("docs/reference/api.md", 1),
    ("docs/internals/performance.md", 1),
];

/// Pages of more than 3,500 words: they are generated, or have generated tables.
const LONG_PAGES: [&str; 3] = [
    "docs/reference/api.md",
    "docs/reference/reasons.md",
    "docs/internals/performance.md",
];

#[test]
fn doc_comments_begin_with_a_noun_or_a_verb() -> Result<()> {
    let found = count(".rs", folder_of, questions)?;
    assert_falls(QUESTIONS_IN_COMMENTS, &found);
    Ok(())
}

#[test]
fn pages_name_who_acts() -> Result<()> {
    let found = count(".md", whole, |text| prose(text).map(vague).sum())?;
    assert_falls(VAGUE_WORDS, &found);
    Ok(())
}

#[test]
fn lines_of_pages_are_short() -> Result<()> {
    let found = count(".md", whole, |text| {
        prose(text)
            .filter(|line| line.chars().count() > 100)
            .count()
    })?;
    assert_falls(LONG_LINES, &found);
    Ok(())
}

/// A longer page is two pages, or says what no reader needs.
#[test]
fn pages_are_read_in_a_quarter_of_an_hour() -> Result<()> {
    let found = count(".md", whole, |text| {
        text.split_whitespace().count().saturating_sub(3_500)
    })?;
    for (page, words) in found {
        let is_allowed = LONG_PAGES.contains(&page.as_str());
        assert!(is_allowed, "{page} is {words} words too long");
    }
    Ok(())
}

#[test]
fn the_readme_is_read_in_a_minute() -> Result<()> {
    let readme = fs::read_to_string(files::root()?.join("README.md"))?;
    let lines = readme.lines().count();
    assert!(lines <= 150, "README.md has {lines} lines");
    Ok(())
}

/// The first examples that a reader sees are files that other tests play.
#[test]
fn the_first_examples_are_those_of_the_folder() -> Result<()> {
    let root = files::root()?;
    let examples = root.join("examples");
    let mut played = BTreeSet::new();
    for file in files::below(&examples, ".yaml")? {
        played.insert(without_remarks(&fs::read_to_string(examples.join(file))?));
    }
    for page in ["README.md", "docs/tutorials/first-run.md"] {
        let text = fs::read_to_string(root.join(page))?;
        let objects: Vec<String> = blocks(&text, "yaml")
            .iter()
            .filter(|block| block.starts_with("apiVersion:"))
            .map(|block| without_remarks(block))
            .collect();
        assert_eq!(objects.len(), 2, "{page} has a template and a Runnable");
        for object in objects {
            assert!(
                played.contains(&object),
                "{page} shows what no example has:\n{object}"
            );
        }
    }
    Ok(())
}

/// Adds up a number of each file whose name ends so, by a name for its place.
fn count(
    ending: &str,
    place: fn(&Path) -> String,
    number: fn(&str) -> usize,
) -> Result<BTreeMap<String, usize>> {
    let root = files::root()?;
    let mut counts = BTreeMap::new();
    for file in files::below(&root, ending)? {
        let found = number(&fs::read_to_string(root.join(&file))?);
        if found > 0 {
            *counts.entry(place(&file)).or_default() += found;
        }
    }
    Ok(counts)
}

fn whole(file: &Path) -> String {
    file.display().to_string()
}

fn folder_of(file: &Path) -> String {
    let first = file.components().next();
    first.map_or_else(String::new, |it| {
        it.as_os_str().to_string_lossy().into_owned()
    })
}

#[track_caller]
fn assert_falls(known: &[(&str, usize)], found: &BTreeMap<String, usize>) {
    let known: BTreeMap<String, usize> = known
        .iter()
        .map(|(place, number)| ((*place).to_owned(), *number))
        .collect();
    let differs = |place: &&String| known.get(*place) != found.get(*place);
    let places: BTreeSet<&String> = known.keys().chain(found.keys()).filter(differs).collect();
    let shown: Vec<String> = places
        .iter()
        .map(|place| {
            let (was, is) = (known.get(*place), found.get(*place));
            format!(
                "{place}: {} in the list, {} now",
                was.unwrap_or(&0),
                is.unwrap_or(&0)
            )
        })
        .collect();
    assert!(
        shown.is_empty(),
        "a number that has fallen goes into the list, and none may rise: {shown:#?}"
    );
}

/// Counts doc comments whose first word is one of [`QUESTIONS`].
fn questions(source: &str) -> usize {
    let mut before = false;
    let mut found = 0;
    for line in source.lines() {
        let line = line.trim_start();
        let text = line
            .strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"));
        if let Some(text) = text
            && !before
        {
            let first = text.split_whitespace().next().unwrap_or_default();
            found += usize::from(QUESTIONS.contains(&first));
        }
        before = text.is_some();
    }
    found
}

fn vague(line: &str) -> usize {
    line.split(|letter: char| !letter.is_alphabetic())
        .filter(|word| VAGUE.contains(&word.to_lowercase().as_str()))
        .count()
}

/// Lines of a page that are neither code, nor a table, nor a heading.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut code = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        !fence && !code && !line.starts_with(['|', '#'])
    })
}

/// Blocks of code of a language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let opening = format!("```{language}");
    let mut found = Vec::new();
    let mut block: Option<String> = None;
    for line in text.lines() {
        if line == opening {
            block = Some(String::new());
        } else if line == "```" {
            found.extend(block.take());
        } else if let Some(block) = &mut block {
            block.push_str(line);
            block.push('\n');
        }
    }
    found
}

/// An example without its comments.
fn without_remarks(yaml: &str) -> String {
    let lines = yaml.lines().filter(|line| !line.starts_with('#'));
    let bare = lines.map(|line| line.split("  #").next().unwrap_or_default().trim_end());
    bare.collect::<Vec<_>>().join("\n")
}

#[test]
fn what_only_looks_like_it_is_not_counted() {
    let source = "/// What it is.\n/// What follows.\nfn a() {}\n    //! Whatever.\n\n/// Where `x` stands\n// What\n";
    assert_eq!(questions(source), 2);
    assert_eq!(vague("Nobody has told-me; somebodys retold it"), 2);
    let page = "one\n```text\ntold\n```\n| told |\n# told\ntwo";
    assert_eq!(prose(page).collect::<Vec<_>>(), ["one", "two"]);
    assert_eq!(
        blocks("```yaml\na: 1\n```\n```text\nb\n```", "yaml"),
        ["a: 1\n"]
    );
    assert_eq!(
        without_remarks("# says\na: 1   # 2\nb: \"#\"\n"),
        "a: 1\nb: \"#\""
    );
}
