//! A page defines the short names that code uses for guarantees (`S1`, `L2`, `I3`).

mod files;

use std::{collections::BTreeSet, fs};

use anyhow::Result;

const DEFINED_IN: &str = "docs/concepts/exactly-once.md";

#[test]
fn every_guarantee_that_code_names_is_defined() -> Result<()> {
    let root = files::root()?;
    let defined = defined_by(&fs::read_to_string(root.join(DEFINED_IN))?);
    let mut used = BTreeSet::new();
    let mut undefined = Vec::new();
    for file in files::below(&root, ".rs")? {
        // This one has names that do not exist.
        if file.ends_with("guarantees.rs") {
            continue;
        }
        for name in named_in(&fs::read_to_string(root.join(&file))?) {
            if !defined.contains(&name) {
                undefined.push(format!("{}: {name}", file.display()));
            }
            used.insert(name);
        }
    }
    assert!(
        undefined.is_empty(),
        "{DEFINED_IN} does not define {undefined:#?}"
    );
    let unused: Vec<_> = defined.difference(&used).collect();
    assert!(
        unused.is_empty(),
        "no code speaks of {unused:?}, which {DEFINED_IN} defines"
    );
    Ok(())
}

/// Returns the names in a text: one of the three letters and a digit, and nothing more.
fn named_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let is_name = |word: &&str| matches!(word.as_bytes(), [b'S' | b'L' | b'I', b'1'..=b'9']);
    words.filter(is_name).map(str::to_owned).collect()
}

/// Returns the names in the first cells of the page's tables; `S1 to S5` are five.
fn defined_by(page: &str) -> BTreeSet<String> {
    let cells = page
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    cells.flat_map(names_of).collect()
}

fn names_of(cell: &str) -> BTreeSet<String> {
    let mut names = named_in(cell);
    if let Some((first, last)) = cell.split_once(" to ")
        && first.len() == 2
        && names.contains(first)
        && names.contains(last)
    {
        let digits = first.as_bytes()[1]..=last.as_bytes()[1];
        names.extend(digits.map(|digit| format!("{}{}", &first[..1], char::from(digit))));
    }
    names
}

#[test]
fn names_are_told_from_other_words() {
    let named = |text| named_in(text).into_iter().collect::<Vec<_>>();
    assert_eq!(
        named("// S1, (L2) and Broken::L1; \"I3: gone\""),
        ["I3", "L1", "L2", "S1"]
    );
    assert!(named("S10 XS1 S_1 S0 s1 P1 I1a").is_empty());
    let defined = defined_by("| S1 to S3 | what S9 is |\n| L1 | x |\nI1 is defined by no table");
    assert_eq!(
        defined.into_iter().collect::<Vec<_>>(),
        ["L1", "S1", "S2", "S3"]
    );
}
