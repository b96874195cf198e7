//! Findings as SARIF, the format of code scanning tools.

use serde_json::{Value, json};

use super::{Finding, Rule};
use crate::source::Place;

pub(super) fn document(findings: &[Finding]) -> Value {
    let rules = Rule::ALL.map(|rule| {
        let (id, text) = rule.words();
        json!({ "id": id, "shortDescription": { "text": text } })
    });
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "cartouche",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "columnKind": "unicodeCodePoints",
            "results": findings.iter().map(result).collect::<Vec<_>>(),
        }],
    })
}

fn result(finding: &Finding) -> Value {
    let related = finding.related.iter().map(|(place, label)| {
        let mut location = location(place);
        if let Some(fields) = location.as_object_mut() {
            fields.insert("message".to_owned(), json!({ "text": label }));
        }
        location
    });
    json!({
        "ruleId": finding.rule.id(),
        "level": finding.severity.as_str(),
        "message": { "text": finding.one_line() },
        "locations": finding.place.iter().map(location).collect::<Vec<_>>(),
        "relatedLocations": related.collect::<Vec<_>>(),
    })
}

fn location(place: &Place) -> Value {
    let (line, column) = place.line_and_column();
    json!({
        "physicalLocation": {
            "artifactLocation": { "uri": place.source.name.replace(' ', "%20") },
            "region": { "startLine": line, "startColumn": column },
        },
    })
}
