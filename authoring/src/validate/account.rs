//! The account of a Runnable: a name that can be no ServiceAccount is reported in the words of the controller.

use cartouche_protocol::messages::diagnosis::Diagnosis;

use super::names::is_subdomain;
use crate::{
    finding::{Finding, Rule},
    source::{Document, Node},
};

pub(super) fn check(runnable: &Document) -> Option<Finding> {
    let node = runnable.root.at(&["spec", "serviceAccountName"])?;
    // Without a name it is `default`.
    let name = Node::text(node).filter(|name| !name.is_empty() && !is_subdomain(name, false))?;
    let diagnosis = Diagnosis::AccountName(name.to_owned());
    let finding = Finding::error(Rule::Name, diagnosis.to_string())
        .at(runnable.place(&node.span))
        .label("the controller refuses this")
        .help(diagnosis.cure());
    Some(finding)
}
