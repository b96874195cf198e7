//! The cure of each diagnosis.

use cartouche_crds::{DEFAULT_SERVICE_ACCOUNT, StopReason};

use super::{
    Diagnosis, Fault, Who, dependency, in_the_way, invalid, is_of_quota, wrong_type::WrongType,
};

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
                let cure = WrongType::parse(why).map(|wrong| wrong.cure());
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
    let texts = cures.into_iter().map(|(cure, places)| {
        if is_one || places.contains(&"") {
            cure.to_owned()
        } else {
            format!("{}: {cure}", places.join(", "))
        }
    });
    texts.collect::<Vec<_>>().join("; ")
}
