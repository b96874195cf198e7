//! The findings to list, and the number of those left out.

use std::{collections::BTreeMap, fmt};

use super::Finding;

/// Findings listed per file; the others are counted. More are too many to read at once, and each costs a search through
/// the whole file.
const LISTED: usize = 100;

/// Number of findings of a file that are not listed.
pub(super) struct LeftOut<'a> {
    pub(super) file: Option<&'a str>,
    pub(super) count: usize,
}

impl fmt::Display for LeftOut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "and {} more", self.count)?;
        if let Some(file) = self.file {
            write!(f, " in {file}")?;
        }
        f.write_str(" that are not listed: correct these first")
    }
}

/// Returns the findings to list, and the counts of those left out.
pub(super) fn select(findings: &[Finding]) -> (Vec<&Finding>, Vec<LeftOut<'_>>) {
    let mut listed = Vec::new();
    let mut counts: BTreeMap<Option<&str>, usize> = BTreeMap::new();
    for finding in findings {
        let place = finding.place.as_ref();
        let count = counts.entry(place.map(|place| place.source.name.as_str()));
        let count = count.or_default();
        *count += 1;
        if *count <= LISTED {
            listed.push(finding);
        }
    }
    let left_out = counts.into_iter().filter_map(|(file, count)| {
        let count = count.checked_sub(LISTED + 1)? + 1;
        Some(LeftOut { file, count })
    });
    (listed, left_out.collect())
}
