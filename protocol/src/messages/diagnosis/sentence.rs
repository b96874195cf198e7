//! The sentence of each diagnosis.

use std::{fmt, time::Duration};

use cartouche_crds::{Stop, StopReason};

use super::{
    Denied, Diagnosis, Fault, Holder, Who, approval, dependency, in_the_way, status_full,
    wrong_type::WrongType,
};

const NO_WAY: &str = "and Cartouche does not know how to stop its kind: it is still running";
const MARKS_REMOVED: &str =
    "the API server returned the object without the label or annotation of its run";
const NAME_FREED: &str = "another object had this name when the run was created, and is gone now";
const NOT_STOPPED: &str = "was asked to stop, and is still running";

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AccountName(name) => write!(
                f,
                "spec.serviceAccountName {name:?} is not the name of a ServiceAccount"
            ),
            Self::AccountMissing(namespace, name) => write!(
                f,
                "there is no ServiceAccount {name:?} in namespace {namespace:?}"
            ),
            Self::NoToken(namespace, name) => write!(
                f,
                "the controller gets no token for ServiceAccount {name:?} in namespace {namespace:?}"
            ),
            Self::TemplateMissing(name) => write!(f, "there is no ClusterRunTemplate {name:?}"),
            Self::TemplateUnread(name) => {
                write!(f, "ClusterRunTemplate {name:?} cannot be read now")
            }
            Self::Unrendered(template, faults) => write!(
                f,
                "ClusterRunTemplate {template:?} cannot be rendered for this Runnable: {}",
                whats(faults)
            ),
            Self::Unacceptable(faults) => {
                write!(f, "it would fail for every Runnable: {}", whats(faults))
            }
            Self::ClusterScoped(api_version, kind) => write!(
                f,
                "{kind} of {api_version} is cluster-scoped, but a run must be in a namespace"
            ),
            Self::KindMissing(api_version, kind, _) => write!(
                f,
                "the API server has no kind {kind:?} in version {api_version:?}"
            ),
            Self::NothingSelected(kind, labels) => write!(f, "no {kind} has {}", labelled(labels)),
            Self::SeveralSelected(kind, labels, names) => write!(
                f,
                "more than one {kind} has {}: {}",
                labelled(labels),
                names.join(", ")
            ),
            Self::Selector(why) | Self::Unreadable(why) => f.write_str(why),
            Self::Forbidden(who, what) => write!(f, "{} may not {}", named(who), listed(what)),
            Self::Invalid { kind, why, .. } => {
                let wrong = WrongType::parse(why).map(|wrong| wrong.what());
                let why = wrong.as_deref().unwrap_or(why);
                write!(f, "the rendered object is not a valid {kind}: {why}")
            }
            Self::NotAdmitted(why) => write!(f, "the run was not admitted: {why}"),
            Self::WebhookSilent(why) => f.write_str(&webhook(why)),
            Self::NamespaceEnds(namespace) => write!(f, "namespace {namespace:?} is being deleted"),
            Self::NoAnswer(tried) => write!(f, "the API server did not {tried}"),
            Self::Refused(tried, why) => write!(f, "the API server does not {tried}: {why}"),
            Self::NoOutputs(run, faults) => write!(
                f,
                "run {run} succeeded, but gives no outputs: {}",
                whats(faults)
            ),
            Self::OutputsUnread(run, why) => write!(f, "{}: {why}", outputs_unread(run)),
            Self::NameTaken(object, fixed, holder) => {
                f.write_str(&format_name_taken(object, *fixed, holder))
            }
            Self::Runaway {
                runs,
                until,
                minutes,
            } => f.write_str(&runaway(*runs, until, *minutes)),
            Self::PermissionMissing(..)
            | Self::Profile(_)
            | Self::NamespacesUnknown(_)
            | Self::ProfileNotRefreshed(_)
            | Self::ProfileDoesNotFit(..)
            | Self::UnusableProfile(_) => of_profile(self, f),
            Self::PolicyInvalid(faults)
            | Self::Sources(faults)
            | Self::SourcesMissing(faults)
            | Self::Sinks(faults) => f.write_str(&whats(faults)),
            Self::DependencyNotReady(..) | Self::DependencyFailed(_) | Self::DependencyCycle(_) => {
                f.write_str(&dependency::sentence(self))
            }
            Self::ApprovalRequired(..) | Self::Rejected(..) => {
                f.write_str(&approval::sentence(self))
            }
            Self::Debouncing { pause, longest } => f.write_str(&debouncing(*pause, *longest)),
            Self::RunAtWork(runs) => f.write_str(&in_the_way::sentence(runs)),
            Self::NoWayToStop(run, stop) => write!(f, "{}, {NO_WAY}", is_to_stop(run, stop)),
            Self::NotStopped(run, stop) => write!(f, "{}, {NOT_STOPPED}", is_to_stop(run, stop)),
            Self::OtherController(seconds) => f.write_str(&other_controller(*seconds)),
            Self::Suspended => f.write_str("the next run waits: the Runnable is suspended"),
            Self::Crowded(runs) => write!(
                f,
                "{runs} earlier runs have not ended, so the controller creates no further run"
            ),
            Self::NewerNeeds(_) | Self::NewerFields(..) | Self::DefinitionsOutdated(..) => {
                of_release(self, f)
            }
            Self::StatusFull(bytes) => f.write_str(&status_full::sentence(bytes)),
            Self::MarksRemoved => f.write_str(MARKS_REMOVED),
            Self::NameFreed => f.write_str(NAME_FREED),
        }
    }
}

/// Writes the sentence of a diagnosis about another release of the controller or of the
/// definitions.
fn of_release(diagnosis: &Diagnosis, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match diagnosis {
        Diagnosis::NewerNeeds(words) => write!(
            f,
            "a newer release of Cartouche serves the Runnable, and this release leaves it alone, because it does not know {}",
            quoted(words)
        ),
        Diagnosis::NewerFields(object, fields) => write!(
            f,
            "{object} has fields that this release of Cartouche does not know: {}",
            fields.join(", ")
        ),
        Diagnosis::DefinitionsOutdated(why, _) => {
            write!(f, "the next run is not created: {why}")
        }
        _ => Ok(()),
    }
}

fn quoted(words: &[String]) -> String {
    let words = words.iter().map(|word| format!("{word:?}"));
    words.collect::<Vec<_>>().join(", ")
}

/// Returns the sentence for a run that has succeeded and whose outputs cannot be read, without the
/// reason.
pub(crate) fn outputs_unread(run: &str) -> String {
    format!("run {run} has succeeded, but its outputs cannot be read yet")
}

/// Writes the sentence of a diagnosis about how the next run is made.
fn of_profile(diagnosis: &Diagnosis, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match diagnosis {
        Diagnosis::PermissionMissing(account, template, missing) => write!(
            f,
            "the pods of the run, as ServiceAccount {account:?}, may not {}, which ClusterRunTemplate {template:?} requires",
            listed(missing)
        ),
        Diagnosis::Profile(held) => write!(f, "{held}"),
        Diagnosis::NamespacesUnknown(why) => write!(
            f,
            "a rule of a profile selects namespaces, and the controller cannot see their labels: {why}"
        ),
        Diagnosis::ProfileNotRefreshed(why) => write!(f, "{why}"),
        Diagnosis::ProfileDoesNotFit(profile, faults) => write!(
            f,
            "ClusterRunProfile {profile:?} does not fit: {}",
            whats(faults)
        ),
        Diagnosis::UnusableProfile(faults) => {
            write!(f, "no run can be made with it: {}", whats(faults))
        }
        _ => Ok(()),
    }
}

fn webhook(why: &str) -> String {
    format!("the run was not created, because an admission webhook failed: {why}")
}

fn named(who: &Who) -> String {
    match who {
        Who::Account(namespace, name, _) => {
            format!("ServiceAccount {name:?} in namespace {namespace:?}")
        }
        Who::Controller(_) => "the controller itself".to_owned(),
    }
}

fn runaway(runs: i64, until: &str, minutes: i64) -> String {
    format!(
        "{runs} runs were created without a change of the Runnable or its template: does a run change the object that the Runnable selects? The controller creates the next at {until}, then one every {minutes} minutes"
    )
}

fn debouncing(pause: Duration, longest: Duration) -> String {
    format!(
        "the next run begins when the rendered object has stayed the same for {pause:?}, at the latest after {longest:?} of changes"
    )
}

fn other_controller(seconds: u64) -> String {
    format!(
        "another client removed status.currentRun and status.history; the controller creates no run until the status has stayed unchanged for {seconds} seconds"
    )
}

fn format_name_taken(object: &str, fixed: bool, holder: &Holder) -> String {
    let why = if fixed {
        ", and the template gives every run this name"
    } else {
        ""
    };
    format!("{object} exists already{holder}{why}")
}

fn is_to_stop(run: &str, stop: &Stop) -> String {
    let since = stop.at.0;
    match &stop.reason {
        StopReason::Replaced => format!("{run} has to stop for a later run (since {since})"),
        StopReason::Cancelled => format!("{run} was cancelled (found at {since})"),
        StopReason::TimedOut => {
            format!("{run} has exceeded its timeout (found at {since})")
        }
        StopReason::Withdrawn | StopReason::Other(_) => format!("{run} was {stop}"),
    }
}

fn labelled(labels: &str) -> String {
    match labels {
        "" => "any labels, as spec.selector asks for none".to_owned(),
        labels => format!("the labels {labels}"),
    }
}

fn whats(faults: &[Fault]) -> String {
    let whats: Vec<&str> = faults.iter().map(|fault| fault.what.as_str()).collect();
    whats.join("; ")
}

/// Joins the permissions as `a, b and c`.
fn listed(all: &[Denied]) -> String {
    let words: Vec<String> = all.iter().map(ToString::to_string).collect();
    match words.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
