//! Outputs in other objects: the places of sensitive outputs, and the objects that outputs are written to.

use cartouche_crds::{RunnableStatus, SensitiveOutput, SinkStatus};

/// Returns the place of a sensitive output, whose value no command prints.
pub(crate) fn place(output: &SensitiveOutput) -> String {
    let SensitiveOutput { name, key, .. } = output;
    format!("the key {key} of Secret {name}")
}

/// Returns a sentence with the place of an output, if the status lists it as sensitive.
pub(crate) fn sensitive(status: &RunnableStatus, output: &str) -> Option<String> {
    let found = status.sensitive_outputs.get(output)?;
    Some(describe_output(output, found))
}

/// Returns the same for all sensitive outputs.
pub(crate) fn all_sensitive(status: &RunnableStatus) -> impl Iterator<Item = String> + '_ {
    let all = status.sensitive_outputs.iter();
    all.map(|(output, found)| describe_output(output, found))
}

fn describe_output(output: &str, found: &SensitiveOutput) -> String {
    format!(
        "the output {output} is sensitive: it is in {}",
        place(found)
    )
}

/// Describes an object that outputs are written to, and how far that is.
pub(crate) fn sink(sink: &SinkStatus) -> String {
    let SinkStatus {
        kind,
        name,
        sequence,
        behind,
        ..
    } = sink;
    let kind = kind.as_str();
    match (sequence, behind) {
        (0, _) => format!("{kind} {name} (not written yet)"),
        (sequence, true) => format!("{kind} {name} (outputs of run {sequence}, behind)"),
        (sequence, false) => format!("{kind} {name} (outputs of run {sequence})"),
    }
}
