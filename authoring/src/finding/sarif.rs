//! Findings as SARIF, the format of code scanning tools.

use serde_json::{Value, json};

use super::{Finding, Rule, listed::LeftOut};
use crate::source::SourceSpan;

pub(super) fn document(findings: &[&Finding], left_out: &[LeftOut<'_>]) -> Value {
    let rules = Rule::ALL
        .iter()
        .map(|rule| json!({ "id": rule.id(), "shortDescription": { "text": rule.description() } }));
    let mut document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "cartouche",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.collect::<Vec<_>>(),
            } },
            "columnKind": "unicodeCodePoints",
            "results": findings.iter().map(|finding| result(finding)).collect::<Vec<_>>(),
        }],
    });
    if !left_out.is_empty() {
        document["runs"][0]["invocations"] = json!([{
            "executionSuccessful": true,
            "toolExecutionNotifications": left_out.iter().map(notification).collect::<Vec<_>>(),
        }]);
    }
    document
}

fn notification(left_out: &LeftOut<'_>) -> Value {
    let locations = left_out
        .file
        .map(|file| json!({ "physicalLocation": { "artifactLocation": artifact(file) } }));
    json!({
        "level": "note",
        "message": { "text": left_out.to_string() },
        "locations": Vec::from_iter(locations),
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

fn location(place: &SourceSpan) -> Value {
    let (line, column) = place.line_and_column();
    json!({
        "physicalLocation": {
            "artifactLocation": artifact(&place.source.name),
            "region": { "startLine": line, "startColumn": column },
        },
    })
}

fn artifact(file: &str) -> Value {
    json!({ "uri": file.replace(' ', "%20") })
}
