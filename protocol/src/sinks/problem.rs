//! Errors of sinks.

use std::collections::BTreeMap;

use cartouche_crds::{OutputSink, SinkKind};

use crate::{
    category::Category,
    messages::{
        diagnosis::{Denied, Diagnosis, Fault, Who},
        reconcile_error::{ReconcileError, Requeue},
    },
    references::SourceObject,
};

/// The reason why a sink is not up to date.
#[derive(Clone, Debug, PartialEq)]
pub enum SinkProblem {
    /// A user has to correct it.
    Faults(Vec<Fault>),
    /// Another's object has its name. The text names the owner.
    Anothers(SourceObject, String),
    /// A request failed.
    Failed(SourceObject, Diagnosis, Requeue),
    /// The run of this number, which gave the sensitive outputs, is gone, and they are stored
    /// nowhere else.
    Lost(SourceObject, i64),
    /// The run of this number exists, but does not give them by the present template, and they are
    /// stored nowhere else.
    Withheld(SourceObject, i64),
    /// Another client changes it each time that it is written.
    Fought(SourceObject),
    /// It is too large to be held; the text says so.
    TooHeavy(SourceObject, String),
}

impl SinkProblem {
    /// Returns the time of the retry.
    fn requeue(&self) -> Requeue {
        match self {
            Self::Faults(_) | Self::Anothers(..) | Self::Lost(..) | Self::Withheld(..) => {
                Requeue::OnChange
            }
            // A refusal, or a lack of room, may end without an event.
            Self::Fought(_) | Self::TooHeavy(..) | Self::Failed(_, _, Requeue::OnChange) => {
                Requeue::Backoff
            }
            Self::Failed(_, _, requeue) => *requeue,
        }
    }

    /// Returns the faults, for people.
    #[must_use]
    pub fn faults(self) -> Vec<Fault> {
        match self {
            Self::Faults(faults) => faults,
            Self::Anothers(object, whose) => vec![Fault::new(
                format!("outputs cannot be written to {object}, which {whose}"),
                Some("write them to an object of another name, or delete that one".to_owned()),
            )],
            Self::Failed(object, diagnosis, _) => vec![Fault::new(
                format!("outputs cannot be written to {object}: {diagnosis}"),
                Some(diagnosis.cure()).filter(|cure| !cure.is_empty()),
            )],
            Self::Lost(object, sequence) => vec![Fault::new(
                format!(
                    "{object} cannot be written: run {sequence}, which gave its sensitive outputs, cannot be read any more"
                ),
                Some("run again: `cartouche rerun`".to_owned()),
            )],
            Self::Withheld(object, sequence) => vec![Fault::new(
                format!(
                    "{object} cannot be written: run {sequence}, which gave its sensitive outputs, exists, but does not give them with the current template"
                ),
                Some("correct the outputs of the template, or run again: `cartouche rerun`".to_owned()),
            )],
            Self::Fought(object) => vec![Fault::new(
                format!(
                    "another client changes {object} each time that it is written; the controller corrects it less and less often"
                ),
                Some("find that client (`kubectl get --show-managed-fields`), or write outputs to an object of another name".to_owned()),
            )],
            Self::TooHeavy(object, takes) => vec![Fault::new(
                format!("outputs cannot be written to {object}: its content {takes}"),
                Some("make it smaller, or write outputs to an object of another name".to_owned()),
            )],
        }
    }
}

/// Returns the error of all sinks together, if any.
#[must_use]
pub fn error(problems: Vec<SinkProblem>) -> Option<ReconcileError> {
    let requeues = problems.iter().map(SinkProblem::requeue);
    // A problem that may pass is retried, whatever else is wrong.
    let requeue = requeues.min_by_key(|requeue| match requeue {
        Requeue::OnRbac => 0,
        Requeue::Backoff | Requeue::OnKind | Requeue::After(_) => 1,
        Requeue::OnChange => 2,
    })?;
    let diagnosis = forbidden(&problems).unwrap_or_else(|| {
        let faults = problems.into_iter().flat_map(SinkProblem::faults);
        Diagnosis::Sinks(faults.collect())
    });
    Some(ReconcileError::from_diagnosis(
        Category::OutputSinkFailed,
        requeue,
        diagnosis,
        None,
    ))
}

/// Returns all missing permissions, or `None` if anything else is wrong.
fn forbidden(problems: &[SinkProblem]) -> Option<Diagnosis> {
    let mut all: Vec<Denied> = Vec::new();
    let mut who: Option<Who> = None;
    for problem in problems {
        let SinkProblem::Failed(object, Diagnosis::Forbidden(by, denied), _) = problem else {
            return None;
        };
        who = who.or_else(|| Some(by.clone()));
        for one in denied {
            one.clone().with_name(&object.name).add_to(&mut all);
        }
    }
    who.map(|who| Diagnosis::Forbidden(who, all))
}

/// Returns the problem of sensitive outputs that no sink takes, or `None` if there are none.
#[must_use]
pub fn unplaced(sinks: &[OutputSink], declared: &BTreeMap<&str, bool>) -> Option<SinkProblem> {
    let sensitive = declared.iter().filter(|(_, sensitive)| **sensitive);
    let names: Vec<&str> = sensitive.map(|(name, _)| *name).collect();
    let has_secret = sinks.iter().any(|sink| sink.kind == SinkKind::Secret);
    (!names.is_empty() && !has_secret).then(|| {
        let what = format!(
            "the sensitive outputs {} are stored nowhere: spec.writeOutputsTo has no Secret",
            names.join(", ")
        );
        let cure = "add a Secret there while the run can still be read";
        SinkProblem::Faults(vec![Fault::new(what, Some(cure.to_owned()))])
    })
}
