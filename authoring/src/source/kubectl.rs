//! Splits a file into documents as kubectl does: at lines that begin with `---`, or as one JSON value behind the other.

use std::{borrow::Cow, ops::Range};

use super::{
    json,
    node::{Content, Node},
    refusal::Refusal,
    yaml,
};

const SEPARATOR: &str = "---";
/// Bytes within which this kubectl looks for the brace that JSON begins with.
const LOOKS_AHEAD: usize = 4096;
/// Bytes that kubectl reads at once when it passes from JSON to YAML: it takes fewer for the end.
const AT_ONCE: usize = 4;

/// Returns the documents of a text, but for those that are null. Behind a byte order mark kubectl takes nothing for
/// JSON.
pub(super) fn documents(text: &str, is_marked: bool) -> Result<Vec<Node>, Refusal> {
    let mut documents = Vec::new();
    if is_marked {
        yaml::check_unmarked(text, 0)?;
    }
    let rest = if might_be_json(text) && !is_marked {
        json_documents(text, &mut documents)?
    } else {
        Some(0)
    };
    if let Some(start) = rest {
        yaml_documents(text, start, &mut documents)?;
    }
    documents.retain(|it| !matches!(it.content, Content::Scalar(serde_json::Value::Null)));
    Ok(documents)
}

fn might_be_json(text: &str) -> bool {
    let begin = text.trim_start();
    begin.starts_with('{') && text.len() - begin.len() < LOOKS_AHEAD
}

/// Reads JSON as long as there is some. After at most one value, YAML may follow: the result is the byte at which it
/// begins.
fn json_documents(text: &str, documents: &mut Vec<Node>) -> Result<Option<usize>, Refusal> {
    let mut at = 0;
    loop {
        match json::read(text, at) {
            Ok(None) => return Ok(None),
            Ok(Some(read)) => {
                if let Some(refusal) = read.refusal {
                    return Err(refusal);
                }
                documents.push(read.node);
                at = read.end;
            }
            Err(refusal) if documents.len() > 1 => return Err(refusal),
            Err(refusal) => return begin_of_yaml(text, at).map(Some).ok_or(refusal),
        }
    }
}

/// Skips blanks up to the end of a line.
fn begin_of_yaml(text: &str, start: usize) -> Option<usize> {
    let rest = text.get(start..)?;
    for (at, character) in rest.char_indices() {
        if rest.len() - at < AT_ONCE {
            return None;
        }
        if !character.is_whitespace() {
            return Some(start + at);
        }
        if character == '\n' {
            return Some(start + at + 1);
        }
    }
    None
}

/// Reads YAML up to the end.
fn yaml_documents(text: &str, start: usize, documents: &mut Vec<Node>) -> Result<(), Refusal> {
    let lines = Lines::new(text, start);
    let read = split(&lines.text, start).and_then(|spans| {
        let texts = spans.into_iter().filter_map(|span| {
            let before_end = lines.text.get(..span.end)?;
            yaml::read(before_end, span.start).transpose()
        });
        texts.collect::<Result<Vec<_>, _>>()
    });
    let mut nodes = read.map_err(|mut refusal| {
        lines.move_back(&mut refusal.span);
        refusal
    })?;
    for node in &mut nodes {
        lines.place(node);
    }
    documents.extend(nodes);
    Ok(())
}

/// Returns the ranges of the documents.
fn split(text: &str, start: usize) -> Result<Vec<Range<usize>>, Refusal> {
    let mut documents = Vec::new();
    let (mut begin, mut at) = (start, start);
    for line in text.get(start..).unwrap_or_default().split_inclusive('\n') {
        let end = at + line.len();
        if let Some(behind) = line.strip_prefix(SEPARATOR) {
            let behind = behind.trim();
            if !behind.is_empty() && !behind.starts_with('#') {
                let message = "a line that begins with --- has more than a comment";
                return Err(Refusal::new(message, at..at + line.trim_end().len())
                    .help("kubectl begins a new object at each such line, also within a text"));
            }
            // A line that nothing stands before is a part of the document.
            if at > begin {
                documents.push(begin..at);
                begin = end;
            }
        }
        at = end;
    }
    documents.push(begin..at);
    Ok(documents)
}

/// A text whose lines all end with a line feed, and with nothing else: so kubectl passes documents on.
struct Lines<'a> {
    text: Cow<'a, str>,
    /// Positions at which a carriage return was removed.
    removed: Vec<usize>,
}

impl<'a> Lines<'a> {
    /// Reads the lines of a text from some byte on.
    fn new(text: &'a str, start: usize) -> Self {
        let mut removed = Vec::new();
        if text.is_empty() || text.ends_with('\n') && !text.contains("\r\n") {
            let text = Cow::Borrowed(text);
            return Self { text, removed };
        }
        let (before, rest) = text.split_at_checked(start).unwrap_or((text, ""));
        let mut lines = before.to_owned();
        for line in rest.split_inclusive('\n') {
            if let Some(content) = line.strip_suffix("\r\n") {
                lines.push_str(content);
                removed.push(lines.len());
            } else {
                lines.push_str(line.strip_suffix('\n').unwrap_or(line));
            }
            lines.push('\n');
        }
        let text = Cow::Owned(lines);
        Self { text, removed }
    }

    /// Moves a span to the same bytes of the text as it is written.
    fn move_back(&self, span: &mut Range<usize>) {
        let moved = |at: usize| at + self.removed.partition_point(|removed| *removed < at);
        *span = moved(span.start)..moved(span.end);
    }

    fn place(&self, node: &mut Node) {
        if self.removed.is_empty() {
            return;
        }
        self.move_back(&mut node.span);
        match &mut node.content {
            Content::Scalar(_) => {}
            Content::Array(items) => {
                for item in items {
                    self.place(item);
                }
            }
            Content::Object(entries) => {
                for entry in entries {
                    self.move_back(&mut entry.key_span);
                    self.place(&mut entry.value);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<String>, String> {
        let documents = documents(text, false).map_err(|refusal| refusal.message)?;
        let values = documents.iter().map(|it| it.to_value().to_string());
        Ok(values.collect())
    }

    fn is_read_as(text: &str, documents: &[&str]) {
        let documents = documents.iter().map(|it| (*it).to_owned());
        assert_eq!(read(text), Ok(documents.collect()), "{text}");
    }

    fn is_refused(text: &str) {
        assert!(read(text).is_err(), "{text}");
    }

    #[test]
    fn documents_are_split_at_lines_wherever_they_stand() {
        for text in [
            "a: 1\n---\nb: 2",
            "---\n---\na: 1\n--- # next\n---\n# none\n---\nb: 2\n",
            "a: 1\r\n---\r\nb: 2\r\n",
            "a: 1\n---\n\u{feff}b: 2\n",
        ] {
            is_read_as(text, &[r#"{"a":1}"#, r#"{"b":2}"#]);
        }
        is_refused("a: |\n  x\n---y\n");
        is_refused("a: 1\n--- {b: 2}\n");
    }

    #[test]
    fn what_stands_behind_the_end_of_a_document_is_refused() {
        is_read_as("a: 1\n...\n...\n", &[r#"{"a":1}"#]);
        is_refused("a: 1\n...\nb: 2\n");
        is_refused("{a: 1} b\n");
        is_refused("a: 1\n%YAML 1.1\n");
    }

    #[test]
    fn json_goes_by_its_own_rules_until_yaml_follows() {
        let json = r#" {"a": "\/"}{"b": "\ud83d\ude00\ud83d"}{"c": 1.0}"#;
        let read = [r#"{"a":"/"}"#, "{\"b\":\"😀\u{fffd}\"}", r#"{"c":1}"#];
        is_read_as(json, &read);
        is_read_as("{\"a\": 1}\n---\nb: 2\n", &[r#"{"a":1}"#, r#"{"b":2}"#]);
        is_read_as("{a: 1}\n", &[r#"{"a":1}"#]);
        assert!(documents("{} {}", true).is_err());
        is_refused(r#"{"a": 1e999}"#);
        is_refused(r#"{"a": 1}{"b": 1}{c: 1}"#);
        is_refused(r#"{"a": 1, "a": 1}"#);
    }

    #[test]
    fn places_are_those_of_the_file_as_it_is_written() {
        let text = "a: 1\r\nb:\r\n  c: é\r\n  d: [x]\r\n";
        let documents = documents(text, false).unwrap();
        let stands = |keys: &[&str]| text.get(documents[0].at(keys).unwrap().span.clone());
        assert_eq!(stands(&["a"]), Some("1"));
        assert_eq!(stands(&["b", "c"]), Some("é"));
        assert_eq!(stands(&["b", "d"]), Some("["));
    }
}
