//! What is wrong with a Runnable, as a person would say it, and what to do about it: the one home of both, for
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
use cartouche_templating::{Diagnostic, explained};

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

/// Mistakes of one template that are spelled out; the others are counted.
const SHOWN: usize = 10;

/// One thing that is wrong with a template or what it reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fault {
    /// What and where.
    pub what: String,
    /// Where, in a word or two, if others may be told beside it; empty if `what` is all that says it.
    pub place: String,
    /// What to do about it, if it is known.
    pub cure: Option<String>,
}

impl Fault {
    /// What is wrong, where it says itself where that is.
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

    /// Everything that is wrong with a template, or with what it renders, as far as it is told.
    #[must_use]
    pub fn all(diagnostics: &[Diagnostic]) -> Vec<Self> {
        Self::all_with(diagnostics, &[])
    }

    /// The same for a Runnable some of whose inputs come from these sources.
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

/// Why a Runnable is not ready, as far as that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Diagnosis {
    /// This is the name of no `ServiceAccount`.
    AccountName(String),
    /// There is no such `ServiceAccount` in this namespace.
    AccountMissing(String, String),
    /// No token can be had for the `ServiceAccount`, or no client be set up.
    NoToken(String, String),
    /// There is no such template.
    TemplateMissing(String),
    /// The template cannot be read.
    TemplateUnread(String),
    /// The template cannot be used, or not be rendered for this Runnable.
    Unrendered(String, Vec<Fault>),
    /// The template would fail for every Runnable.
    Unacceptable(Vec<Fault>),
    /// A profile that fits no run.
    UnusableProfile(Vec<Fault>),
    /// Objects of this kind, of this `apiVersion`, live in no namespace.
    ClusterScoped(String, String),
    /// The API server does not serve this kind, of this `apiVersion`; what was probably meant.
    KindMissing(String, String, Option<String>),
    /// No object of this kind has these labels.
    NothingSelected(String, String),
    /// More than one object of this kind has these labels; two of them.
    SeveralSelected(String, String, Vec<String>),
    /// A selector that selects nothing, whatever there is.
    Selector(String),
    /// Somebody may not do these things.
    Forbidden(Who, Vec<Denied>),
    /// The API server takes what was rendered for no object of its kind.
    Invalid {
        /// The kind.
        kind: String,
        /// The reason.
        why: String,
        /// Where the Runnable is.
        namespace: String,
        /// The Runnable.
        runnable: String,
    },
    /// A quota, a policy or a webhook does not admit the run, for this reason.
    NotAdmitted(String),
    /// An admission webhook that the API server has to ask gives no answer: which, and why.
    WebhookSilent(String),
    /// The namespace is being deleted.
    NamespaceEnds(String),
    /// The API server did not answer, or with an error of its own; what was tried.
    NoAnswer(&'static str),
    /// The API server refuses what was tried, for this reason.
    Refused(&'static str, String),
    /// A run, by its name, gives no outputs.
    NoOutputs(String, Vec<Fault>),
    /// A run, by its name, has done its work, and its outputs cannot be read: why.
    OutputsUnread(String, Box<Diagnosis>),
    /// The name is taken by this object; whether the template fixes the name, and whose the object is.
    NameTaken(String, bool, Holder),
    /// Runs follow each other.
    Runaway {
        /// How many did.
        runs: i64,
        /// When the next may be made.
        until: String,
        /// And then one in so many minutes.
        minutes: i64,
    },
    /// What is asked for beside what is run cannot be used.
    PolicyInvalid(Vec<Fault>),
    /// Inputs from other objects that cannot be used, or are not there.
    Sources(Vec<Fault>),
    /// Inputs from other objects that are not there, and that nothing is known to bring.
    SourcesMissing(Vec<Fault>),
    /// A run that is due waits for this source or ancestor.
    DependencyNotReady(SourceKey, NotReady),
    /// A run that is due cannot be made of what the sources are.
    DependencyFailed(Failed),
    /// The Runnable stems from itself, this way round.
    DependencyCycle(Vec<SourceKey>),
    /// No profile can be used for the run that is due.
    Profile(Held),
    /// The labels of namespaces, which a rule selects, cannot be had: why.
    NamespacesUnknown(String),
    /// Nothing else can be chosen, though somebody asks to choose anew.
    ProfileNotRefreshed(NotRefreshed),
    /// The profile of this name cannot be applied to what is rendered.
    ProfileDoesNotFit(String, Vec<Fault>),
    /// What the pods of a run, with this account, may not do of what this template requires.
    PermissionMissing(String, String, Vec<Denied>),
    /// Objects that outputs cannot be written to.
    Sinks(Vec<Fault>),
    /// What is rendered has to stay the same for a while before it runs.
    Debouncing {
        /// For how long.
        pause: Duration,
        /// After how long it runs all the same.
        longest: Duration,
    },
    /// The run that is due needs the yes of a person. What somebody has approved, if anything: it is not this run.
    ApprovalRequired(Guarded, Option<GivenApproval>),
    /// A person has refused the run that is due.
    Rejected(Guarded, Rejection),
    /// These runs are at work, and no other may begin beside them.
    RunAtWork(Vec<InTheWay>),
    /// This run is to stop, for this reason since then, and nobody knows how its kind is stopped.
    NoWayToStop(String, Stop),
    /// This run was told to stop, for this reason since then, and has not.
    NotStopped(String, Stop),
    /// Somebody else writes the status.
    OtherController(u64),
    /// The Runnable is suspended.
    Suspended,
    /// So many earlier runs have not ended.
    Crowded(usize),
    /// The status has so many bytes that the result of a further run might have no room in it.
    StatusFull(StatusBytes),
    /// The object came back without the marks of its run.
    MarksRemoved,
    /// The name was taken, and is free again.
    NameFreed,
    /// The Runnable cannot be read: why.
    Unreadable(String),
    /// Its status needs what these words stand for, which this release does not know.
    NewerNeeds(Vec<String>),
    /// This object, as it is called in a sentence, has fields that this release does not know.
    NewerFields(String, Vec<String>),
    /// The definitions that are installed are older than this release: what is known of them, and what to do.
    DefinitionsOutdated(String, String),
}

impl Diagnosis {
    /// What to do about it; empty where nothing is to be done.
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
                // Mostly of a Runnable that names none.
                return match account.as_str() {
                    DEFAULT_SERVICE_ACCOUNT => {
                        format!("name an account that may in spec.serviceAccountName, or {role}")
                    }
                    _ => role,
                };
            }
            Self::Forbidden(Who::Controller(user), _) => {
                return format!(
                    "grant it to {user}, as the manifests of Cartouche do (docs/security.md)"
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
                    "{cure}; `cartouche diff {runnable} -n {namespace} --server-dry-run` asks again"
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
                "let the controller create serviceaccounts/token in that namespace (docs/security.md)"
            }
            Self::TemplateMissing(_) => "create it, or correct spec.runTemplateRef.name",
            Self::ClusterScoped(..) => "let the template make a kind that lives in a namespace",
            Self::KindMissing(..) => "install what serves it, or correct apiVersion and kind",
            Self::NothingSelected(..) => {
                "create the object, in the namespace of the Runnable if its kind has one, or correct spec.selector or the labels"
            }
            Self::SeveralSelected(..) => {
                "add labels to spec.selector, or take them off the others, until one is left"
            }
            Self::Selector(_) => "correct spec.selector.matchingLabels",
            Self::Refused(..) => "see what the answer names; it is tried again",
            Self::NotAdmitted(why) if is_of_quota(why) => {
                "raise that ResourceQuota, or delete what it counts, such as ended runs; it is tried again within minutes, and at once when you edit the Runnable or its template, or by `cartouche rerun`, which sets the annotation carto.run/retry-now"
            }
            Self::NotAdmitted(_) => {
                "do as the answer says; it is tried again within minutes, and at once when you edit the Runnable or its template, or by `cartouche rerun`, which sets the annotation carto.run/retry-now"
            }
            Self::WebhookSilent(_) => {
                "see that the service behind that webhook is there and answers, or remove the webhook; the run is tried again meanwhile"
            }
            Self::NamespaceEnds(_) => "nothing: no run can be made in it any more",
            Self::NoAnswer(_) | Self::TemplateUnread(_) | Self::NameFreed => {
                "nothing: it is tried again"
            }
            Self::Runaway { .. } => {
                "let the template read only fields that its runs do not change; a change of the Runnable or its template ends the wait"
            }
            Self::NoWayToStop(..) => {
                "give the template a spec.stop that says how, and end the run in the way of its engine"
            }
            Self::NotStopped(_, stop) if stop.reason == StopReason::Replaced => {
                "see whether its engine runs, and end the run in its way; it is told to stop again every 5 minutes, and the new run begins when it has ended"
            }
            Self::NotStopped(..) => {
                "see whether its engine runs, and end the run in its way; it is told again every 5 minutes, and a new one is made only when something changes"
            }
            Self::OtherController(_) => {
                "leave the status alone if it was edited by hand; else stop the other controller of carto.run, which may be Cartographer"
            }
            Self::Debouncing { .. } => "nothing: it begins by itself",
            Self::DependencyNotReady(_, why) => dependency::waits_cure(why),
            Self::DependencyFailed(failed) => dependency::failed_cure(failed),
            Self::Profile(held) => held.cure(),
            Self::ProfileNotRefreshed(why) => why.cure(),
            Self::NamespacesUnknown(_) => {
                "let the controller list and watch namespaces (docs/security.md), or take namespaceSelector out of the rules of profiles"
            }
            Self::PermissionMissing(..) => {
                "grant that to the ServiceAccount, or correct requires in the template; it goes on then"
            }
            Self::DependencyCycle(_) => "take one of these references away",
            Self::Suspended => {
                "`cartouche resume`, or set spec.suspend to false, when it may be made"
            }
            Self::Crowded(_) => "delete those that hang, or wait until one ends",
            Self::StatusFull(_) => {
                "let the template give smaller outputs, or take what is no use any more out of the status (`kubectl edit --subresource=status`), but leave currentRun and unfinishedRuns"
            }
            Self::MarksRemoved => {
                "see that no admission webhook removes labels or annotations of new objects"
            }
            Self::Unreadable(_) => "correct the Runnable",
            Self::NewerNeeds(_) => {
                "upgrade what says this; controllers of that newer release go on with it meanwhile"
            }
            Self::NewerFields(..) => {
                "upgrade the controller, or take these fields away if they are not needed"
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

    /// The run that it is about, as a person approves it.
    #[must_use]
    pub fn wanted(&self) -> Option<&Approval> {
        match self {
            Self::ApprovalRequired(guarded, _) | Self::Rejected(guarded, _) => {
                Some(&guarded.wanted)
            }
            _ => None,
        }
    }

    /// The message of a condition: what is wrong, what to do, and what Cartographer would have said.
    #[must_use]
    pub fn message(&self, in_full: Option<&str>) -> String {
        told::message(&self.to_string(), &self.cure(), in_full)
    }
}

/// What to do about the faults that are spelled out, each once; where they differ, with the places that each is for.
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
