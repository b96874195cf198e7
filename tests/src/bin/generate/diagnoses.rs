//! `docs/reference/diagnoses.md`: every diagnosis with its cure, in the words of the conditions.

use std::fmt::Write as _;

use cartouche_protocol::messages::diagnosis::Diagnosis;

const HEAD: &str = "\
<!-- Written by `cargo generate`. -->

# What can be wrong with a Runnable

Look up the sentence that a condition shows, and what you can do about it. For example, after
`there is no ClusterRunTemplate \"build\"` you create it, or correct `spec.runTemplateRef.name`.

The message of `RunTemplateReady` begins with one of these sentences, and so does that of `Ready`
unless it is about a run. The cure follows after `to do:`, and the message of Cartographer after
`in full:`. Names in the sentences are examples. [Conditions and reasons](reasons.md) explains the
reasons.

| it says | to do |
|---|---|
";

pub(super) fn markdown() -> String {
    let mut page = HEAD.to_owned();
    for diagnosis in Diagnosis::examples() {
        let cell = |text: &str| text.replace('|', "\\|");
        // Writing into a String cannot fail.
        let _ = writeln!(
            page,
            "| {} | {} |",
            cell(&diagnosis.to_string()),
            cell(&diagnosis.cure())
        );
    }
    page
}
