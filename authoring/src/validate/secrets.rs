//! Tags that read inputs from Secrets: these are references, and are easily mistaken for the values.

use cartouche_language::syntax::{self, To};

use crate::{
    finding::{Finding, Rule},
    input_schema,
    inputs_from::is_of_secret,
    source::{Document, Segment},
    template_file::{self, PlacedTag},
};

/// Cure if the value was meant.
const REFER: &str = "an input from a Secret is a reference, {name, key}, and no template can read the value: write valueFrom: {secretKeyRef: $(...)$}, or mount it";
/// Cure of an input that does not fit.
pub(super) const DECLARE: &str = "an input from a Secret is a reference, {name, key}, for a secretKeyRef of the run: let inputSchema declare an object with these two";

/// References that become a part of a text.
pub(super) fn check(document: &Document, runnable: &Document) -> Vec<Finding> {
    let tags = template_file::tags(document);
    let inside = tags.iter().filter(|tag| is_in_text(document, tag));
    let findings = inside.filter(|tag| is_reference(runnable, &tag.tag.path)).map(|tag| {
        let message = format!(
            "Runnable {}: the tag $({})$ puts {{name, key}} into a text, and not what the Secret holds",
            runnable.name(),
            tag.tag.path
        );
        Finding::warning(Rule::Surprise, message)
            .at(tag.place_of(None))
            .label("this is a reference")
            .with_related(
                runnable.place_of(&["metadata", "name"]),
                "for this Runnable",
            )
            .help(REFER)
    });
    findings.collect()
}

/// Returns the cure of a value of the run that is such a reference and does not fit.
pub(super) fn help(document: &Document, runnable: &Document, at: &[Segment]) -> Option<String> {
    let tags = template_file::tags(document);
    let mut here = tags.iter().filter(|tag| tag.at == at);
    here.any(|tag| is_reference(runnable, &tag.tag.path))
        .then(|| REFER.to_owned())
}

/// Returns true if a path leads to an input from a Secret, and not to its name or key.
pub(super) fn is_reference(runnable: &Document, path: &str) -> bool {
    let steps = syntax::steps(path);
    let Some([only]) = input_schema::below_inputs(&steps) else {
        return false;
    };
    let To::Key(name) = &only.to else {
        return false;
    };
    is_of_secret(runnable, &Segment::keys(["spec", "inputs", name]))
}

fn is_in_text(document: &Document, tag: &PlacedTag) -> bool {
    let leaf = template_file::body(document).map(|body| body.follow(&tag.at).0);
    let text = leaf.and_then(|leaf| leaf.text()).unwrap_or_default();
    text != format!("$({})$", tag.tag.path)
}
