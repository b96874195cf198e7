//! What is said of sinks that are not as they should be.

use std::collections::BTreeMap;

use cartouche_crds::{OutputSink, SinkKind};

use crate::{
    category::Category,
    diagnosis::{Denied, Diagnosis, Fault, Who},
    reconcile_error::{ReconcileError, Requeue},
    references::SourceObject,
};

/// Why a sink is not as it should be.
#[derive(Clone, Debug, PartialEq)]
pub enum SinkProblem {
    /// Somebody has to correct it.
    Faults(Vec<Fault>),
    /// Another's object has its name: which, and whose it is.
    Anothers(SourceObject, String),
    /// A request did not do what it was sent for.
    Failed(SourceObject, Diagnosis, Requeue),
    /// The run that gave these sensitive outputs is gone, and nothing else has them.
    Lost(SourceObject, i64),
    /// It is there, and does not give them by the template as it is now; and nothing else has them.
    Withheld(SourceObject, i64),
    /// Somebody else changes it each time that it is written.
    Fought(SourceObject),
    /// There is no room for what it has: the words for that.
    TooHeavy(SourceObject, String),
}

impl SinkProblem {
    /// Whether only a change ends it.
    fn requeue(&self) -> Requeue {
        match self {
            Self::Faults(_) | Self::Anothers(..) | Self::Lost(..) | Self::Withheld(..) => {
                Requeue::OnChange
            }
            // A refusal, or what else is held, may pass without anything that is heard of.
            Self::Fought(_) | Self::TooHeavy(..) | Self::Failed(_, _, Requeue::OnChange) => {
                Requeue::Backoff
            }
            Self::Failed(_, _, requeue) => *requeue,
        }
    }

    /// All that is wrong, for people.
    #[must_use]
    pub fn faults(self) -> Vec<Fault> {
        match self {
            Self::Faults(faults) => faults,
            Self::Anothers(object, whose) => vec![Fault::new(
                format!("outputs are to go to {object}, which {whose}"),
                Some("write them to an object of another name, or delete that one".to_owned()),
            )],
            Self::Failed(object, diagnosis, _) => vec![Fault::new(
                format!("outputs cannot be written to {object}: {diagnosis}"),
                Some(diagnosis.cure()).filter(|cure| !cure.is_empty()),
            )],
            Self::Lost(object, sequence) => vec![Fault::new(
                format!(
                    "{object} cannot be written, for run {sequence}, which gave its sensitive outputs, cannot be read any more"
                ),
                Some("run again: `cartouche rerun`".to_owned()),
            )],
            Self::Withheld(object, sequence) => vec![Fault::new(
                format!(
                    "{object} cannot be written, for run {sequence}, which gave its sensitive outputs, is there and does not give its outputs by the template as it is"
                ),
                Some("correct the outputs of the template, or run again: `cartouche rerun`".to_owned()),
            )],
            Self::Fought(object) => vec![Fault::new(
                format!(
                    "{object} is changed by somebody else whenever it is written, and is put right more and more rarely"
                ),
                Some("find out who does that (`kubectl get --show-managed-fields`), or write outputs to an object of another name".to_owned()),
            )],
            Self::TooHeavy(object, takes) => vec![Fault::new(
                format!("outputs cannot be written to {object}: what it has {takes}"),
                Some("let it hold less, or write outputs to an object of another name".to_owned()),
            )],
        }
    }
}

/// What is wrong with all sinks together.
#[must_use]
pub fn error(problems: Vec<SinkProblem>) -> Option<ReconcileError> {
    let requeues = problems.iter().map(SinkProblem::requeue);
    // What may pass is tried again, whatever stands beside it.
    let requeue = requeues.min_by_key(|requeue| match requeue {
        Requeue::OnRbac => 0,
        Requeue::Backoff | Requeue::OnKind | Requeue::After(_) => 1,
        Requeue::OnChange => 2,
    })?;
    let diagnosis = forbidden(&problems).unwrap_or_else(|| {
        let faults = problems.into_iter().flat_map(SinkProblem::faults);
        Diagnosis::Sinks(faults.collect())
    });
    Some(ReconcileError::caused(
        Category::OutputSinkFailed,
        requeue,
        diagnosis,
        None,
    ))
}

/// All that is not allowed, where nothing else is wrong.
fn forbidden(problems: &[SinkProblem]) -> Option<Diagnosis> {
    let mut all: Vec<Denied> = Vec::new();
    let mut who: Option<Who> = None;
    for problem in problems {
        let SinkProblem::Failed(object, Diagnosis::Forbidden(by, denied), _) = problem else {
            return None;
        };
        who = who.or_else(|| Some(by.clone()));
        for one in denied {
            one.clone().named(&object.name).add_to(&mut all);
        }
    }
    who.map(|who| Diagnosis::Forbidden(who, all))
}

/// The sensitive outputs that a run gave and nothing takes: none is anywhere.
#[must_use]
pub fn unplaced(sinks: &[OutputSink], declared: &BTreeMap<&str, bool>) -> Option<SinkProblem> {
    let sensitive = declared.iter().filter(|(_, sensitive)| **sensitive);
    let names: Vec<&str> = sensitive.map(|(name, _)| *name).collect();
    let has_secret = sinks.iter().any(|sink| sink.kind == SinkKind::Secret);
    (!names.is_empty() && !has_secret).then(|| {
        let what = format!(
            "the sensitive outputs {} are nowhere, for spec.writeOutputsTo has no Secret",
            names.join(", ")
        );
        let cure = "give it a Secret there, while the run can still be read";
        SinkProblem::Faults(vec![Fault::new(what, Some(cure.to_owned()))])
    })
}
