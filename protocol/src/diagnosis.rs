//! Diagnoses of a Runnable, each with a sentence for people and a cure: the one source of both for
//! conditions, events, `cartouche why` and the docs.

mod approval;
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

use cartouche_crds::{
    Approval, DEFAULT_SERVICE_ACCOUNT, InputSource, Rejection, StatusBytes, Stop, StopReason,
};
use cartouche_language::{Diagnostic, explained};

use crate::{told, trace::SourceKey};
pub use approval::{GivenApproval, Guarded, waits_for_a_person};
pub use denied::{Denied, Who};
pub use dependency::{Busy, Failed, Lag, NotReady, named, why_not_ready};
pub use holder::{Holder, controller};
pub use in_the_way::{InTheWay, Why};
pub use invalid::is_of_quota;
pub use profile::{Held, NotRefreshed, Unchosen};
pub(crate) use sentence::outputs_unread;
use wrong_type::WrongType;
pub use wrong_type::placed;

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

    fn of(diagnostic: &Diagnostic) -> Self {
        let said = explained::of(diagnostic);
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
        let told = diagnostics.iter().take(SHOWN).map(|diagnostic| {
            let fault = Self::of(diagnostic);
            let cure = sourced::cure(diagnostic, sources).or(fault.cure);
            Self { cure, ..fault }
        });
        let more = (SHOWN < diagnostics.len()).then(|| Self {
            what: format!("and {} more", diagnostics.len() - SHOWN),
            ..Self::default()
        });
        told.chain(more).collect()
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
    ApprovalRequired(Guarded, Option<GivenApproval>),
    /// A person has rejected the next run.
    Rejected(Guarded, Rejection),
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
    /// Returns the cure, empty if there is nothing to do.
    #[must_use]
    pub fn cure(&self) -> String {
        let fixed = match self {
            Self::Unrendered(_, faults)
            | Self::Unacceptable(faults)
            | Self::UnusableProfile(faults)
            | Self::PolicyInvalid(faults)
            | Self::Sources(faults)
            | Self::SourcesMissing(faults)
            | Self::Sinks(faults)
            | Self::ProfileDoesNotFit(_, faults)
            | Self::NoOutputs(_, faults) => return cures(faults),
            Self::OutputsUnread(_, why) => return why.cure(),
            Self::Forbidden(Who::Account(namespace, account, runnable), _) => {
                let role = format!(
                    "`cartouche rbac --runnable {runnable} --namespace {namespace}` prints the Role to apply"
                );
                // Most such Runnables name no account.
                return match account.as_str() {
                    DEFAULT_SERVICE_ACCOUNT => {
                        format!(
                            "set spec.serviceAccountName to an account with the permission; {role}"
                        )
                    }
                    _ => role,
                };
            }
            Self::Forbidden(Who::Controller(user), _) => {
                return format!(
                    "grant it to {user}, as the manifests of Cartouche do (docs/concepts/security.md)"
                );
            }
            Self::Invalid {
                namespace,
                runnable,
                why,
                ..
            } => {
                let cure = WrongType::of(why).map(|wrong| wrong.cure());
                let cure = cure.unwrap_or_else(|| invalid::cure(why));
                return format!(
                    "{cure}; `cartouche diff {runnable} -n {namespace} --server-dry-run` checks it again"
                );
            }
            Self::ApprovalRequired(guarded, _) => return guarded.approve(),
            Self::Rejected(guarded, _) => return guarded.change(),
            Self::KindMissing(_, _, Some(hint)) => {
                return format!("correct apiVersion and kind ({hint}), or install what serves it");
            }
            Self::RunAtWork(runs) => return in_the_way::cure(runs),
            Self::DefinitionsOutdated(_, cure) => return cure.clone(),
            Self::NameTaken(_, fixed, _) => {
                if *fixed {
                    "use metadata.generateName in the template instead of metadata.name, or delete that object"
                } else {
                    "delete or rename that object"
                }
            }
            other => other.fixed_cure(),
        };
        fixed.to_owned()
    }

    fn fixed_cure(&self) -> &'static str {
        match self {
            Self::AccountName(_) => {
                "give the name of a ServiceAccount, which is a lower-case DNS name"
            }
            Self::AccountMissing(..) => "create it, or correct spec.serviceAccountName",
            Self::NoToken(..) => {
                "let the controller create serviceaccounts/token in that namespace (docs/concepts/security.md)"
            }
            Self::TemplateMissing(_) => "create it, or correct spec.runTemplateRef.name",
            Self::ClusterScoped(..) => "use a namespaced kind in the template",
            Self::KindMissing(..) => "install what serves it, or correct apiVersion and kind",
            Self::NothingSelected(..) => {
                "create the object (in the namespace of the Runnable, if its kind is namespaced), or correct spec.selector or the labels"
            }
            Self::SeveralSelected(..) => {
                "add labels to spec.selector, or remove them from the other objects, until only one matches"
            }
            Self::Selector(_) => "correct spec.selector.matchingLabels",
            Self::Refused(..) => "correct what the answer names; the controller retries",
            Self::NotAdmitted(why) if is_of_quota(why) => {
                "raise that ResourceQuota, or delete what it counts, such as ended runs; the controller retries within minutes, or immediately after `cartouche rerun` (annotation carto.run/retry-now) or an edit of the Runnable or its template"
            }
            Self::NotAdmitted(_) => {
                "do as the answer says; the controller retries within minutes, or immediately after `cartouche rerun` (annotation carto.run/retry-now) or an edit of the Runnable or its template"
            }
            Self::WebhookSilent(_) => {
                "check that the service behind that webhook is running and answers, or remove the webhook; the controller retries meanwhile"
            }
            Self::NamespaceEnds(_) => "nothing: no run can be created in it any more",
            Self::NoAnswer(_) | Self::TemplateUnread(_) | Self::NameFreed => {
                "nothing: the controller retries"
            }
            Self::Runaway { .. } => {
                "let the template read only fields that its runs do not change; a change of the Runnable or its template ends the wait"
            }
            Self::NoWayToStop(..) => {
                "add spec.stop to the template, and stop this run with the tools of its engine"
            }
            Self::NotStopped(_, stop) if stop.reason == StopReason::Replaced => {
                "check that its engine is running, and stop the run with the tools of that engine; the controller asks it to stop every 5 minutes, and creates the next run when it has ended"
            }
            Self::NotStopped(..) => {
                "check that its engine is running, and stop the run with the tools of that engine; the controller asks it to stop every 5 minutes, and creates a new run only after a change"
            }
            Self::OtherController(_) => {
                "if the status was edited by hand, leave it alone; otherwise stop the other controller of carto.run, which may be Cartographer"
            }
            Self::Debouncing { .. } => "nothing: the run begins by itself",
            Self::DependencyNotReady(_, why) => dependency::waits_cure(why),
            Self::DependencyFailed(failed) => dependency::failed_cure(failed),
            Self::Profile(held) => held.cure(),
            Self::ProfileNotRefreshed(why) => why.cure(),
            Self::NamespacesUnknown(_) => {
                "let the controller list and watch namespaces (docs/concepts/security.md), or remove namespaceSelector from the rules of profiles"
            }
            Self::PermissionMissing(..) => {
                "grant it to the ServiceAccount, or correct requires in the template; the controller then creates the run"
            }
            Self::DependencyCycle(_) => "remove one of these references",
            Self::Suspended => "run `cartouche resume`, or set spec.suspend to false",
            Self::Crowded(_) => "delete runs that hang, or wait until one ends",
            Self::StatusFull(_) => {
                "make the outputs of the template smaller, or remove what is no longer needed from the status (`kubectl edit --subresource=status`), but keep currentRun and unfinishedRuns"
            }
            Self::MarksRemoved => {
                "make sure that no admission webhook removes labels or annotations of new objects"
            }
            Self::Unreadable(_) => "correct the Runnable",
            Self::NewerNeeds(_) => {
                "upgrade the controller or command that reports this; controllers of the newer release continue meanwhile"
            }
            Self::NewerFields(..) => {
                "upgrade the controller, or remove these fields if they are not needed"
            }
            Self::Unrendered(..)
            | Self::Unacceptable(_)
            | Self::UnusableProfile(_)
            | Self::PolicyInvalid(_)
            | Self::Sources(_)
            | Self::SourcesMissing(_)
            | Self::Sinks(_)
            | Self::ProfileDoesNotFit(..)
            | Self::NoOutputs(..)
            | Self::OutputsUnread(..)
            | Self::Forbidden(..)
            | Self::Invalid { .. }
            | Self::ApprovalRequired(..)
            | Self::Rejected(..)
            | Self::RunAtWork(_)
            | Self::DefinitionsOutdated(..)
            | Self::NameTaken(..) => "",
        }
    }

    /// Returns the approval text of the run that waits or was rejected.
    #[must_use]
    pub fn wanted(&self) -> Option<&Approval> {
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
        told::message(&self.to_string(), &self.cure(), in_full)
    }
}

/// Returns the cures of the faults, each once. If they differ, each has the places that it is for.
fn cures(faults: &[Fault]) -> String {
    let mut cures: Vec<(&str, Vec<&str>)> = Vec::new();
    for fault in faults {
        let (Some(cure), place) = (fault.cure.as_deref(), fault.place.as_str()) else {
            continue;
        };
        match cures.iter_mut().find(|(known, _)| *known == cure) {
            Some((_, places)) if places.contains(&place) => {}
            Some((_, places)) => places.push(place),
            None => cures.push((cure, vec![place])),
        }
    }
    let is_one = cures.len() == 1;
    let told = cures.into_iter().map(|(cure, places)| {
        if is_one || places.contains(&"") {
            cure.to_owned()
        } else {
            format!("{}: {cure}", places.join(", "))
        }
    });
    told.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests;
