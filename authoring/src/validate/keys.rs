//! Keys without quotes that kubectl reads as something else than text.

use crate::{
    finding::{Finding, Rule, Severity},
    source::{Content, Document, Node},
};

/// Finds every such key of a document, and the text that it becomes.
pub(crate) fn check(document: &Document) -> Vec<Finding> {
    let mut findings = Vec::new();
    collect(document, &document.root, &mut findings);
    findings
}

/// Returns these findings as warnings, for commands that show the result all the same.
#[must_use]
pub fn warnings(document: &Document) -> Vec<Finding> {
    let mut findings = check(document);
    for finding in &mut findings {
        finding.severity = Severity::Warning;
    }
    findings
}

fn collect(document: &Document, node: &Node, findings: &mut Vec<Finding>) {
    match &node.content {
        Content::Scalar(_) => {}
        Content::Array(items) => {
            for item in items {
                collect(document, item, findings);
            }
        }
        Content::Object(entries) => {
            for entry in entries {
                if let Some(written) = &entry.written {
                    let message = format!("kubectl reads the key {written} as {:?}", entry.key);
                    let finding = Finding::error(Rule::Yaml, message)
                        .at(document.place(&entry.key_span))
                        .label("this is not in quotes")
                        .help(format!("put it in quotes: \"{written}\""));
                    findings.push(finding);
                }
                collect(document, &entry.value, findings);
            }
        }
    }
}
