//! Labels and annotations of a run that an input makes something else than texts.

use cartouche_language::{Diagnostic, DiagnosticKind, Root, syntax};

use super::{secrets, shape, subject};
use crate::{
    finding::{Finding, Rule},
    schema::{check::wrong_type, mismatch::Mismatch, partial::Partial},
    source::{Document, Segment},
    template_file,
};

/// Returns the finding about one, at the input that gives it. `None` if the value is known only on a cluster, or stands
/// in the template.
pub(super) fn finding(
    document: &Document,
    runnable: &Document,
    problem: &Diagnostic,
) -> Option<Finding> {
    let DiagnosticKind::NotAText { tag: Some(tag), .. } = &problem.kind else {
        return None;
    };
    let given_at = given_at(document, tag, &problem.at)?;
    let given = Segment::value_at(&given_at, &runnable.value)?;
    let fault = wrong_type("a string".to_owned(), &Partial::from(given));
    let mismatch = |at: &[Segment]| Mismatch {
        at: at.to_vec(),
        fault: fault.clone(),
        help: None,
    };
    let said = mismatch(&problem.at).message();
    let message = format!("Runnable {}: {said}", runnable.name());
    let quoted = shape::suggest_quotes(runnable, &runnable.root, &mismatch(&given_at));
    Some(
        Finding::error(Rule::FieldType, message)
            .at(template_file::place_of(document, problem))
            .label("this has to be a string")
            .with_related(subject::place(runnable, &given_at), "given here")
            .maybe_help(
                secrets::help(document, runnable, &problem.at)
                    .or(quoted)
                    .or_else(|| problem.kind.cure()),
            ),
    )
}

/// Returns the steps from the Runnable to the value that a tag reads for a place of the template; that place may lie in
/// the value.
fn given_at(document: &Document, tag: &str, at: &[Segment]) -> Option<Vec<Segment>> {
    let steps = syntax::whole_steps(tag)?;
    let steps = syntax::below(&steps, &["runnable"])?;
    let read = steps.iter().map(|step| step.key().map(Segment::from));
    let read: Option<Vec<Segment>> = read.collect();
    let (_, _, taken) = template_file::node_of(document, Root::Template).follow(at);
    Some([read?.as_slice(), at.get(taken..)?].concat())
}
