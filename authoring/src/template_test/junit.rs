//! Results as `JUnit` XML, which every CI system shows.

use std::{fmt::Write as _, time::Duration};

use crate::foreign::in_lines;

/// One case with its time and, if it failed, why.
pub struct Result<'a> {
    /// Name of the case.
    pub name: &'a str,
    /// Duration of the case.
    pub took: Duration,
    /// Reason of the failure.
    pub failure: Option<String>,
}

/// Writes the results of all cases.
#[must_use]
pub fn document(results: &[Result<'_>]) -> String {
    let failures = results
        .iter()
        .filter(|result| result.failure.is_some())
        .count();
    let total: Duration = results.iter().map(|result| result.took).sum();
    let counts = format!(
        "tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"0\" time=\"{:.3}\"",
        results.len(),
        total.as_secs_f64()
    );
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing to a string cannot fail.
    let _ = writeln!(out, "<testsuites name=\"cartouche\" {counts}>");
    let _ = writeln!(out, "  <testsuite name=\"cartouche\" {counts}>");
    for Result {
        name,
        took,
        failure,
    } in results
    {
        let (class, case) = name.rsplit_once('/').unwrap_or(("cartouche", name));
        let _ = write!(
            out,
            "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3}\"",
            escaped(class),
            escaped(case),
            took.as_secs_f64()
        );
        let _ = match failure {
            None => writeln!(out, "/>"),
            Some(text) => {
                let plain = anstream::adapter::strip_str(text).to_string();
                let first = plain.lines().next().unwrap_or_default();
                writeln!(
                    out,
                    ">\n      <failure message=\"{}\">{}</failure>\n    </testcase>",
                    escaped(first),
                    escaped(&plain)
                )
            }
        };
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // XML 1.0 cannot write most control characters, nor code points that are no characters.
    for c in in_lines(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_is_one_that_xml_has() {
        let all: String = (0..=u32::from(char::MAX))
            .filter_map(char::from_u32)
            .collect();
        let results = [Result {
            name: &all,
            took: Duration::ZERO,
            failure: Some(all.clone()),
        }];
        let is_of_xml = |c: char| {
            matches!(
                c,
                '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..
            )
        };
        let document = document(&results);
        let wrong = document.chars().find(|c| !is_of_xml(*c));
        assert_eq!(wrong, None);
    }
}
