//! Warnings of the API server in answers that are no errors.

use http::{HeaderMap, header};

/// Maximum number of warnings that are read of one answer.
const MOST: usize = 10;
/// Maximum number of bytes kept of one: the full text of Pod Security for a pod with a few containers.
const BYTES: usize = 640;

/// Returns the texts of the headers `Warning: 299 - "text"` (RFC 7234, 5.5; KEP-1693).
pub(super) fn read_warnings(headers: &HeaderMap) -> Vec<String> {
    let headers = headers.get_all(header::WARNING).iter().take(MOST);
    let mut warnings: Vec<String> = Vec::new();
    for text in headers.filter_map(|header| text(std::str::from_utf8(header.as_bytes()).ok()?)) {
        if !warnings.contains(&text) {
            warnings.push(text);
        }
    }
    warnings
}

/// Returns the fields of a status that the API server has dropped, since the definition does not know them (KEP-2885).
pub(super) fn dropped_of_status(headers: &HeaderMap) -> Vec<String> {
    if !headers.contains_key(header::WARNING) {
        return Vec::new();
    }
    let field = |text: &String| {
        let field = text.strip_prefix("unknown field \"")?;
        let field = field.strip_suffix('"').unwrap_or(field);
        let is_of_status = field == "status" || field.starts_with("status.");
        is_of_status.then(|| field.to_owned())
    };
    read_warnings(headers).iter().filter_map(field).collect()
}

/// Returns the first quoted string, in which a backslash escapes a quote or a backslash.
fn text(header: &str) -> Option<String> {
    let (code, rest) = header.split_once(' ')?;
    let (_, quoted) = rest.split_once('"')?;
    let mut text = String::new();
    let mut characters = quoted.chars();
    loop {
        let next = match characters.next()? {
            '"' => break,
            '\\' => characters.next()?,
            plain => plain,
        };
        if text.len() < BYTES {
            text.push(if next.is_control() { ' ' } else { next });
        }
    }
    (code == "299" && !text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn read(warnings: &[&str]) -> Vec<String> {
        let mut headers = HeaderMap::new();
        for warning in warnings {
            headers.append(header::WARNING, HeaderValue::from_str(warning).unwrap());
        }
        read_warnings(&headers)
    }

    #[test]
    fn the_text_of_each_warning_is_read_once() {
        let unknown = r#"299 - "unknown field \"spec.activeDeadlineSecond\"""#;
        let old = r#"299 - "batch/v1beta1 CronJob is deprecated in v1.21+""#;
        assert_eq!(
            read(&[unknown, old, unknown]),
            [
                "unknown field \"spec.activeDeadlineSecond\"",
                "batch/v1beta1 CronJob is deprecated in v1.21+"
            ]
        );
    }

    #[test]
    fn fields_of_a_status_that_were_dropped_are_told_from_all_else() {
        let mut headers = HeaderMap::new();
        assert!(dropped_of_status(&headers).is_empty());
        for field in [
            "status.currentRun",
            "status.unfinishedRuns[0].stop",
            "spec.status",
            "status",
            "statuses",
        ] {
            let warning = format!(r#"299 - "unknown field \"{field}\"""#);
            headers.append(header::WARNING, HeaderValue::from_str(&warning).unwrap());
        }
        let old = r#"299 - "status.x is deprecated""#;
        headers.append(header::WARNING, HeaderValue::from_static(old));
        let dropped = [
            "status.currentRun",
            "status.unfinishedRuns[0].stop",
            "status",
        ];
        assert_eq!(dropped_of_status(&headers), dropped);
    }

    #[test]
    fn whatever_stands_there_is_bounded_and_no_error() {
        assert!(
            read(&[
                "",
                "299",
                "299 - x",
                "299 - \"open",
                "199 - \"other\"",
                "299 - \"\""
            ])
            .is_empty()
        );
        let long = format!("299 - \"{}\"", "a".repeat(5_000));
        assert_eq!(read(&[&long])[0].len(), BYTES);
        let many: Vec<String> = (0..50).map(|n| format!("299 - \"{n}\"")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(read(&many).len(), 10);
    }
}
