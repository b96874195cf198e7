//! Lines of two texts that differ.

use cartouche_authoring::source::Segment;

use crate::live::object_diff::FieldChange;

/// Most pairs of lines that are compared. For longer texts, all lines between the first and the last difference are
/// reported.
const MOST_PAIRS: usize = 1_000_000;

/// Returns the removed and the new lines, in order.
pub(super) fn changes(at: &[Segment], old: &str, new: &str) -> Vec<FieldChange> {
    let left: Vec<&str> = old.split_inclusive('\n').collect();
    let right: Vec<&str> = new.split_inclusive('\n').collect();
    let begin = left.iter().zip(&right).take_while(|(a, b)| a == b).count();
    let shorter = left.len().min(right.len()) - begin;
    let ends = left.iter().rev().zip(right.iter().rev());
    let end = ends.take_while(|(a, b)| a == b).count().min(shorter);
    let left_middle = left.get(begin..left.len() - end).unwrap_or_default();
    let right_middle = right.get(begin..right.len() - end).unwrap_or_default();
    let change = |index: usize, text: &str| {
        let text = text.strip_suffix('\n').unwrap_or(text).to_owned();
        let line = begin + index;
        (
            FieldChange {
                line: Some(line + 1),
                at: [at, &[Segment::Index(line)]].concat(),
                ..FieldChange::default()
            },
            Some(text.into()),
        )
    };
    let edits = edits(left_middle, right_middle);
    let edits = edits.into_iter().map(|edit| match edit {
        Edit::Gone(index) => {
            let (mut gone, text) = change(index, left_middle.get(index).unwrap_or(&""));
            gone.old = text;
            gone
        }
        Edit::New(index) => {
            let (mut added, text) = change(index, right_middle.get(index).unwrap_or(&""));
            added.new = text;
            added
        }
    });
    edits.collect()
}

/// Line of the old text, or of the new one, by its index.
enum Edit {
    Gone(usize),
    New(usize),
}

/// Returns the fewest edits, by the longest common subsequence.
fn edits(left: &[&str], right: &[&str]) -> Vec<Edit> {
    let lengths = if left.len().saturating_mul(right.len()) <= MOST_PAIRS {
        common(left, right)
    } else {
        Vec::new()
    };
    let length = |i: usize, j: usize| {
        let row = lengths.get(i);
        row.and_then(|row: &Vec<u32>| row.get(j)).copied()
    };
    let (mut i, mut j) = (0, 0);
    let mut edits = Vec::new();
    while i < left.len() || j < right.len() {
        let is_same = i < left.len() && j < right.len() && left.get(i) == right.get(j);
        if is_same && !lengths.is_empty() {
            (i, j) = (i + 1, j + 1);
        } else if i < left.len() && (j == right.len() || length(i + 1, j) >= length(i, j + 1)) {
            edits.push(Edit::Gone(i));
            i += 1;
        } else {
            edits.push(Edit::New(j));
            j += 1;
        }
    }
    edits
}

/// Returns, for each pair of positions, the length of the longest common subsequence of the rest of both texts.
fn common(left: &[&str], right: &[&str]) -> Vec<Vec<u32>> {
    let mut lengths = vec![vec![0; right.len() + 1]; left.len() + 1];
    for i in (0..left.len()).rev() {
        for j in (0..right.len()).rev() {
            lengths[i][j] = if left[i] == right[j] {
                lengths[i + 1][j + 1] + 1
            } else {
                lengths[i + 1][j].max(lengths[i][j + 1])
            };
        }
    }
    lengths
}
