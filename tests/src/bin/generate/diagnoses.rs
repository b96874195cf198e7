//! `docs/reference/diagnoses.md`: every diagnosis with its cure, in the words of the conditions.

use std::fmt::Write as _;

use cartouche_protocol::diagnosis::Diagnosis;

const HEAD: &str = "\
<!-- Written by `cargo generate`. -->

# What can be wrong with a Runnable

The message of `RunTemplateReady`, and of `Ready` where it repeats it, begins with one of these sentences, says after `to do:` what
cures it, and after `in full:` what Cartographer would have said. What `Ready` says of a run is the run's own. Names in the sentences are
examples. [Conditions and reasons](reasons.md) says more of each reason.

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
