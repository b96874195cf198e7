//! Lines of the documents that become templates: comments and labels.

const LABELS: &str = "    {{- include \"cartouche.labels\" $ | nindent 4 }}\n";
/// The label that `config/` gives as well, in a document or in a kustomization.
const PART_OF: &str = "    app.kubernetes.io/part-of: cartouche";
/// Names, where they are the whole value of a field, up to the end of their tags.
const WHOLE_VALUES: [&str; 3] = [
    ": {{ $.Release.Namespace",
    ": {{ include \"cartouche.name\" $",
    ": {{ .",
];

pub(super) fn without_comments(text: &str) -> String {
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    lines.flat_map(|line| [line, "\n"]).collect()
}

pub(super) fn without_first_comments(text: &str) -> &str {
    let mut rest = text;
    while rest.starts_with('#') {
        rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
    }
    rest
}

/// Quotes the names that are the whole value of a field: a name of digits would be a number.
pub(super) fn with_quotes(document: &str) -> String {
    let is_name = |open: &&str| WHOLE_VALUES.iter().any(|tag| open.ends_with(tag));
    let line = |line: &str| match line.strip_suffix(" }}").filter(is_name) {
        Some(open) => format!("{open} | quote }}}}\n"),
        None => format!("{line}\n"),
    };
    document.lines().map(line).collect()
}

/// Adds the labels of the chart to the metadata of an object.
pub(super) fn labelled(document: &str) -> String {
    let mut text = String::new();
    let mut missing = false;
    for line in document.lines().filter(|line| *line != PART_OF) {
        if missing && !line.starts_with(' ') {
            text.push_str("  labels:\n");
            text.push_str(LABELS);
            missing = false;
        }
        text.push_str(line);
        text.push('\n');
        if line == "metadata:" {
            missing = true;
        } else if missing && line == "  labels:" {
            text.push_str(LABELS);
            missing = false;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_exist_are_kept() {
        let source = format!(
            "metadata:\n  labels:\n{PART_OF}\n    a: b\n  name: c\nspec:\n  labels:\n    d: e\n"
        );
        let expected = format!(
            "metadata:\n  labels:\n{LABELS}    a: b\n  name: c\nspec:\n  labels:\n    d: e\n"
        );
        assert_eq!(labelled(&source), expected);
    }
}
