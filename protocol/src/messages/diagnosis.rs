//! Diagnoses of a Runnable, each with a sentence for people and a cure: the one source of both for
//! conditions, events, `cartouche why` and the docs.

mod approval;
mod cure;
mod denied;
mod dependency;
mod examples;
mod holder;
mod in_the_way;
mod invalid;
mod profile;
mod sentence;
mod sourced;
mod status_full;
mod wrong_type;

use std::time::Duration;

use cartouche_crds::{Approval, InputSource, Rejection, StatusBytes, Stop};
use cartouche_language::{Diagnostic, explained};

use crate::{messages::format, trace::SourceKey};
pub use approval::{ApprovalGuard, GivenApproval, waits_for_a_person};
pub use denied::{Denied, Who};
pub use dependency::{Busy, Failed, Lag, NotReady, format_name, why_not_ready};
pub use holder::{Holder, controller};
pub use in_the_way::{InTheWay, Why};
pub use invalid::is_of_quota;
pub use profile::{Held, NotRefreshed, Unchosen};
pub(crate) use sentence::outputs_unread;
pub use wrong_type::add_place;

/// Maximum number of faults of one template that are spelled out; the others are counted.
const SHOWN: usize = 10;

/// A fault of a template or of what it reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fault {
    /// The fault and its place.
    pub what: String,
    /// The place in a word or two, to set this fault apart from others; empty if `what` stands
    /// alone.
    pub place: String,
    /// The cure, if it is known.
    pub cure: Option<String>,
}

impl Fault {
    /// Returns a fault whose text already contains its place.
    #[must_use]
    pub fn new(what: impl Into<String>, cure: Option<String>) -> Self {
        Self {
            what: what.into(),
            place: String::new(),
            cure,
        }
    }

    fn from_diagnostic(diagnostic: &Diagnostic) -> Self {
        let said = explained::explain(diagnostic);
        let path = diagnostic.path();
        let what = if path.is_empty() || said.text.contains(&path) {
            said.text
        } else {
            format!("{path}: {}", said.text)
        };
        Self {
            what,
            place: diagnostic.place(),
            cure: said.help,
        }
    }

    /// Returns the faults of a template, or of what it renders. The first are spelled out, the
    /// others counted.
    #[must_use]
    pub fn all(diagnostics: &[Diagnostic]) -> Vec<Self> {
        Self::all_with(diagnostics, &[])
    }

    /// Returns the same for a Runnable with inputs from these sources.
    #[must_use]
    pub fn all_with(diagnostics: &[Diagnostic], sources: &[InputSource]) -> Vec<Self> {
        let first = diagnostics.iter().take(SHOWN).map(|diagnostic| {
            let fault = Self::from_diagnostic(diagnostic);
            let cure = sourced::cure(diagnostic, sources).or(fault.cure);
            Self { cure, ..fault }
        });
        let more = (SHOWN < diagnostics.len()).then(|| Self {
            what: format!("and {} more", diagnostics.len() - SHOWN),
            ..Self::default()
        });
        first.chain(more).collect()
    }
}

/// The reason why a Runnable is not ready, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Diagnosis {
    /// This name is not a valid `ServiceAccount` name.
    AccountName(String),
    /// There is no such `ServiceAccount` in this namespace.
    AccountMissing(String, String),
    /// The `ServiceAccount` gets no token, or no client can be set up for it.
    NoToken(String, String),
    /// There is no such template.
    TemplateMissing(String),
    /// The template cannot be read.
    TemplateUnread(String),
    /// The template cannot be used, or cannot be rendered for this Runnable.
    Unrendered(String, Vec<Fault>),
    /// The template would fail for every Runnable.
    Unacceptable(Vec<Fault>),
    /// A profile that fits no run.
    UnusableProfile(Vec<Fault>),
    /// Objects of this `apiVersion` and kind are cluster-scoped.
    ClusterScoped(String, String),
    /// The API server does not serve this `apiVersion` and kind; the last field is the probable
    /// intention.
    KindMissing(String, String, Option<String>),
    /// No object of this kind has these labels.
    NothingSelected(String, String),
    /// More than one object of this kind has these labels; the last field names two of them.
    SeveralSelected(String, String, Vec<String>),
    /// The selector can select nothing.
    Selector(String),
    /// These permissions are missing.
    Forbidden(Who, Vec<Denied>),
    /// The API server rejects what was rendered as an invalid object of its kind.
    Invalid {
        /// The kind.
        kind: String,
        /// The reason.
        why: String,
        /// The namespace of the Runnable.
        namespace: String,
        /// The name of the Runnable.
        runnable: String,
    },
    /// A quota, a policy or a webhook does not admit the run, for this reason.
    NotAdmitted(String),
    /// An admission webhook that the API server has to call gives no answer, for this reason.
    WebhookSilent(String),
    /// The namespace is being deleted.
    NamespaceEnds(String),
    /// The API server did not answer this request, or answered with an internal error.
    NoAnswer(&'static str),
    /// The API server refuses this request, for this reason.
    Refused(&'static str, String),
    /// The run of this name gives no outputs.
    NoOutputs(String, Vec<Fault>),
    /// The run of this name has succeeded, but its outputs cannot be read, for this reason.
    OutputsUnread(String, Box<Diagnosis>),
    /// This object has the name of the run. The flag is true if the template fixes the name; the
    /// holder is the object's owner.
    NameTaken(String, bool, Holder),
    /// Runs follow one another without a change.
    Runaway {
        /// Number of these runs.
        runs: i64,
        /// Time of the next run.
        until: String,
        /// Minutes between the runs after that.
        minutes: i64,
    },
    /// A policy of the Runnable or its template cannot be used.
    PolicyInvalid(Vec<Fault>),
    /// Inputs from other objects cannot be used, or are absent.
    Sources(Vec<Fault>),
    /// Inputs from other objects are absent, and nothing is known to create them.
    SourcesMissing(Vec<Fault>),
    /// The next run waits for this source or ancestor.
    DependencyNotReady(SourceKey, NotReady),
    /// The sources are in a state that allows no run.
    DependencyFailed(Failed),
    /// The Runnable depends on itself, through these keys.
    DependencyCycle(Vec<SourceKey>),
    /// No profile can be used for the next run.
    Profile(Held),
    /// A rule selects namespaces, and their labels cannot be read, for this reason.
    NamespacesUnknown(String),
    /// A request to choose the profile again can choose no other one.
    ProfileNotRefreshed(NotRefreshed),
    /// The profile of this name cannot be applied to what is rendered.
    ProfileDoesNotFit(String, Vec<Fault>),
    /// The pods of a run, with this account, lack these of the permissions that this template
    /// requires.
    PermissionMissing(String, String, Vec<Denied>),
    /// Outputs cannot be written to these objects.
    Sinks(Vec<Fault>),
    /// The debounce: the document has to stay the same for a while before it runs.
    Debouncing {
        /// Time without a change before a run.
        pause: Duration,
        /// Time after which it runs all the same.
        longest: Duration,
    },
    /// The next run needs approval. The annotation may approve something else, which is the second
    /// field.
    ApprovalRequired(ApprovalGuard, Option<GivenApproval>),
    /// A person has rejected the next run.
    Rejected(ApprovalGuard, Rejection),
    /// These runs are at work, and no other may begin beside them.
    RunAtWork(Vec<InTheWay>),
    /// This run is to stop, for this reason and since this time, and no way to stop its kind is
    /// known.
    NoWayToStop(String, Stop),
    /// This run was requested to stop, for this reason and at this time, and is still at work.
    NotStopped(String, Stop),
    /// Another client writes the status, which has to be left alone for this many seconds.
    OtherController(u64),
    /// The Runnable is suspended.
    Suspended,
    /// This many earlier runs have not ended.
    Crowded(usize),
    /// The status is so large that the result of a further run might have no room in it.
    StatusFull(StatusBytes),
    /// The object came back without the marks of its run.
    MarksRemoved,
    /// The name was taken, and is free again.
    NameFreed,
    /// The Runnable cannot be read, for this reason.
    Unreadable(String),
    /// The status needs features with these names, which this release does not know.
    NewerNeeds(Vec<String>),
    /// This object, in the words of a sentence, has fields that this release does not know.
    NewerFields(String, Vec<String>),
    /// The installed definitions are older than this release: the reason, and the cure.
    DefinitionsOutdated(String, String),
}

impl Diagnosis {
    /// Returns the approval text of the run that waits or was rejected.
    #[must_use]
    pub fn wanted_approval(&self) -> Option<&Approval> {
        match self {
            Self::ApprovalRequired(guarded, _) | Self::Rejected(guarded, _) => {
                Some(&guarded.wanted)
            }
            _ => None,
        }
    }

    /// Returns the message of a condition: the sentence, the cure, and Cartographer's message.
    #[must_use]
    pub fn message(&self, in_full: Option<&str>) -> String {
        format::message(&self.to_string(), &self.cure(), in_full)
    }
}

#[cfg(test)]
mod tests;
