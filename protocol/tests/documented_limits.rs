//! The limits that people read are those that are kept.

use cartouche_language::bounds::{
    MAX_CONTEXT_BYTES, MAX_DEFAULTED_BYTES, MAX_DEPTH, MAX_INPUT_SCHEMA_BYTES, MAX_LEAVES,
    MAX_OUTPUT_BYTES, MAX_OUTPUTS, MAX_OUTPUTS_BYTES, MAX_OUTPUTS_WEIGHT, MAX_PATH_BYTES,
    MAX_RENDERED_BYTES, MAX_RENDERED_WEIGHT, MAX_TAGS, MAX_TEMPLATE_BYTES, MAX_WEIGHT,
};
use cartouche_protocol::ledger::MAX_HISTORY;

fn size(bytes: usize) -> String {
    match bytes / 1024 {
        kib if kib.is_multiple_of(1024) => format!("{} MiB", kib / 1024),
        kib => format!("{kib} KiB"),
    }
}

fn count(number: usize) -> String {
    if number < 1_000 {
        return number.to_string();
    }
    format!("{},{:03}", number / 1_000, number % 1_000)
}

#[test]
fn the_table_of_limits_is_what_the_code_keeps_to() {
    let rendered = format!("{} as a tree", size(MAX_RENDERED_WEIGHT));
    let object = format!(
        "{rendered}, {MAX_DEPTH} levels, {} values",
        count(MAX_LEAVES)
    );
    let schema = format!("{}, {MAX_DEPTH} levels; ", size(MAX_INPUT_SCHEMA_BYTES));
    let rows = [
        (
            "template",
            format!(
                "{}, {object}, {} tags |",
                size(MAX_TEMPLATE_BYTES),
                count(MAX_TAGS)
            ),
        ),
        (
            "what a template can see",
            format!(
                "{}, {} as a tree |",
                size(MAX_CONTEXT_BYTES),
                size(MAX_WEIGHT)
            ),
        ),
        (
            "rendered object",
            format!("{}, {object} |", size(MAX_RENDERED_BYTES)),
        ),
        ("a path", format!("{} |", size(MAX_PATH_BYTES))),
        (
            "`inputSchema`",
            format!(
                "{schema}a pattern 1 KiB; its defaults add {} to the inputs of a Runnable, {rendered} |",
                size(MAX_DEFAULTED_BYTES)
            ),
        ),
        (
            "outputs",
            format!(
                "{MAX_OUTPUTS}, each {}, together {}, {} as a tree |",
                size(MAX_OUTPUT_BYTES),
                size(MAX_OUTPUTS_BYTES),
                size(MAX_OUTPUTS_WEIGHT)
            ),
        ),
        ("history in the status", format!("{MAX_HISTORY} runs |")),
    ];
    let page = include_str!("../../docs/reference/templates.md");
    for (what, at_most) in rows {
        let row = format!("| {what} | {at_most}");
        assert!(page.lines().any(|line| line == row), "{row}");
    }
}
