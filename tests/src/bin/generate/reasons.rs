//! `docs/reference/reasons.md`: tables of reasons and their meanings, from the closed sets in the code. Explanations and
//! cures are written by hand.

use std::io;

use cartouche_controller::events::{NormalReason, WarningReason};
use cartouche_engines::RunReason;
use cartouche_protocol::category::Category;

use crate::page::{Block, Table};

/// Sections of the reasons of `RunTemplateReady`, which have a block each.
const SECTIONS: [&str; 7] = [
    ABOUT_OBJECTS,
    ABOUT_INPUTS,
    ABOUT_PROFILES,
    ABOUT_RUNS,
    WAITING,
    ABOUT_OUTPUTS,
    ABOUT_OTHERS,
];

const ABOUT_OBJECTS: &str = "Runnable, template and account";
const ABOUT_INPUTS: &str = "Inputs and chains";
const ABOUT_PROFILES: &str = "Profiles and permissions";
const ABOUT_RUNS: &str = "Creating and stopping runs";
const WAITING: &str = "Runs that wait";
const ABOUT_OUTPUTS: &str = "Outputs";
const ABOUT_OTHERS: &str = "Other controllers and releases";

/// Returns the blocks of the page. It is an error if the page lacks the cure of a reason.
pub(super) fn blocks(page: &str) -> io::Result<Vec<Block>> {
    let uncured: Vec<&str> = Category::ALL
        .map(Category::as_str)
        .into_iter()
        .filter(|reason| !has_cure(page, reason))
        .collect();
    if !uncured.is_empty() {
        return Err(io::Error::other(format!(
            "write the cure of {} as a section (`#### REASON`) or an item (\"- `REASON`: ...\")",
            uncured.join(", ")
        )));
    }
    let mut blocks: Vec<Block> = SECTIONS.map(of_section).into();
    let (failed, unfinished): (Vec<RunReason>, Vec<RunReason>) = RunReason::ALL
        .into_iter()
        .partition(|&reason| reason < RunReason::PodFailed);
    blocks.push(of_runs("unfinished runs", &unfinished));
    blocks.push(of_runs("failed runs", &failed));
    let warnings = WarningReason::ALL.map(|it| (it.as_str(), it.meaning()));
    blocks.push(of_pairs("Warning events", &warnings));
    let normal = NormalReason::ALL.map(|it| (it.as_str(), it.meaning()));
    blocks.push(of_pairs("Normal events", &normal));
    Ok(blocks)
}

/// Returns true if the page has a section or an item about the reason.
fn has_cure(page: &str, reason: &str) -> bool {
    let section = format!("#### {reason}");
    let item = format!("- `{reason}`: ");
    page.lines()
        .any(|line| line == section || line.starts_with(&item))
}

fn of_section(name: &'static str) -> Block {
    let mut table = Table::new(&["reason", "status", "meaning"]);
    for reason in Category::ALL.into_iter().filter(|it| section(*it) == name) {
        table.add([
            format!("`{reason}`"),
            reason.status().to_owned(),
            reason.meaning().to_owned(),
        ]);
    }
    Block {
        name,
        content: table.text(),
    }
}

fn of_runs(name: &'static str, reasons: &[RunReason]) -> Block {
    let pairs: Vec<_> = reasons
        .iter()
        .map(|it| (it.as_str(), it.meaning()))
        .collect();
    of_pairs(name, &pairs)
}

fn of_pairs(name: &'static str, reasons: &[(&str, &str)]) -> Block {
    let mut table = Table::new(&["reason", "meaning"]);
    for (reason, meaning) in reasons {
        table.add([format!("`{reason}`"), (*meaning).to_owned()]);
    }
    Block {
        name,
        content: table.text(),
    }
}

fn section(reason: Category) -> &'static str {
    match reason {
        Category::InvalidRunnable
        | Category::ServiceAccountError
        | Category::ServiceAccountTokenError
        | Category::ClientBuilderError
        | Category::RunTemplateNotFound
        | Category::TemplateStampFailure
        | Category::PolicyInvalid => ABOUT_OBJECTS,
        Category::SourceError
        | Category::DependencyNotReady
        | Category::DependencyFailed
        | Category::DependencyCycle => ABOUT_INPUTS,
        Category::ProfileAmbiguous
        | Category::ProfileNotFound
        | Category::ProfileNotRefreshed
        | Category::ProfileDoesNotFit
        | Category::PermissionMissing => ABOUT_PROFILES,
        Category::StampedObjectRejectedByAPIServer
        | Category::FailedToListCreatedObjects
        | Category::NameConflict
        | Category::RunawayDetected
        | Category::StopFailed
        | Category::UnknownError => ABOUT_RUNS,
        Category::Debouncing
        | Category::ApprovalRequired
        | Category::Rejected
        | Category::RunAtWork
        | Category::Suspended => WAITING,
        Category::OutputPathNotSatisfied | Category::OutputSinkFailed => ABOUT_OUTPUTS,
        Category::OtherController | Category::NewerRelease | Category::DefinitionsOutdated => {
            ABOUT_OTHERS
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cure_is_a_section_or_an_item_of_the_whole_name() {
        let page = "text about `C`\n#### Ab\n- `B`: do it\n";
        let found = ["A", "Ab", "B", "C"].map(|reason| has_cure(page, reason));
        assert_eq!(found, [false, true, true, false]);
    }

    #[test]
    fn every_reason_is_in_a_section() {
        for reason in Category::ALL {
            assert!(SECTIONS.contains(&section(reason)), "{reason}");
        }
    }
}
