//! Mistakes in the scope of an approval.

use cartouche_crds::Approval;
use cartouche_protocol::facts::Facts;

/// Counts an approval for the wanted run if only these parts fit.
pub(super) fn count_if(facts: &mut Facts, fits: impl Fn(&Approval, &Approval) -> bool) {
    let given = facts.runnable.approved.as_deref().and_then(Approval::parse);
    let (Some(given), Ok(rendering)) = (given, &facts.rendering) else {
        return;
    };
    let wanted = Approval {
        sequence: facts.ledger.next_sequence(),
        hash: rendering.document.input_hash().to_owned(),
    };
    if fits(&given, &wanted) {
        facts.runnable.approved = Some(wanted.to_string());
    }
}
