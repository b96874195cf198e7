//! Knowledge about the kinds of runs: a file for each engine, and one table.
//!
//! No other code knows a kind by its name: health, outputs, `cartouche cancel`, `logs`, `validate` and `migrate`
//! ask here. Kinds outside the table work as well, with a `healthRule`. To add a kind, describe it in a file
//! below, and list that file in the table. If the controller is to watch it, its `ClusterRole` belongs into
//! `config/rbac`; a test compares the two.

mod argo;
mod job;
mod kueue;
mod passive;
mod pod;
mod pod_place;
mod queue;
mod silent;
mod stop;
mod tekton;

use cartouche_language::suggestion;
use serde_json::Value;

use crate::verdict::Verdict;

pub use job::{JOB_LABELS, is_job};
pub use kueue::{Admission, admission};
pub use pod_place::{PodPlace, has_tags_of_tekton, pod_place};
pub use queue::{Queue, Standing, Works, queue_of, standing};
pub(crate) use silent::is_silent;
pub use stop::{StopMethodError, StopRequest, asked_to_stop};
pub use tekton::has_params;

/// The table. Within a group, a kind by name takes precedence over the rest of its group.
const TABLE: [&[KnownKind]; 5] = [
    job::KINDS,
    pod::KINDS,
    tekton::KINDS,
    argo::KINDS,
    passive::KINDS,
];

/// The account of a pod that names none.
const DEFAULT_ACCOUNT: &str = "default";

/// Knowledge about a kind. There is no default, so every new kind answers every question.
#[derive(Clone, Copy, Debug)]
pub struct KnownKind {
    /// The API group; empty for that of Pods.
    pub group: &'static str,
    /// The name of the kind; `None` describes the rest of the group.
    pub kind: Option<&'static str>,
    /// The version whose schema is part of the `cartouche` command. Statements about single fields of an object
    /// ([`OutputSource`], [`RestartPolicy`], `pod_template`) are about this version; the rest holds for all.
    pub version: Option<&'static str>,
    /// The permission by which the controller watches the kind.
    pub watch: Watch,
    /// The signs of success and failure, used without a `healthRule` and a condition `Succeeded`.
    pub health: HealthFrom,
    /// The possible contents of the status, in any version.
    pub shows: Shows,
    /// The objects that output paths are read from.
    pub outputs: OutputSource,
    /// The method to stop a run.
    pub cancel: Cancel,
    /// The way in which a queue holds runs, if one does.
    pub queue: Option<&'static Queue>,
    /// The pods of a run.
    pub pods: PodsOf,
    /// Labels that distinguish the engine's pods from others that name the run as their controller: one of them
    /// contains the uid of the run. Empty if the engine sets none.
    pub pod_uid_labels: &'static [&'static str],
    /// The JSON pointer to the pod template, if the kind has one in the form of Kubernetes.
    pub pod_template: Option<&'static str>,
    /// The JSON pointers to the `ServiceAccount` name of the pods, one for each form in its versions; the first
    /// one found counts. Without a name at any of them it is `default`. Empty if the place is unknown.
    pub pods_account: &'static [&'static str],
    /// The restart policy that the kind needs, if it has one.
    pub restart_policy: Option<RestartPolicy>,
}

/// The permission by which the controller watches a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// A `ClusterRole` that is installed with Cartouche.
    ClusterRole {
        /// The file in `config/rbac`.
        file: &'static str,
        /// The plural name of the kind, as in RBAC.
        resource: &'static str,
    },
    /// No permission: the controller polls the runs as their ServiceAccount, unless an administrator adds a
    /// `ClusterRole`.
    Nothing,
}

/// The sign of success and failure of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthFrom {
    /// The condition `Succeeded`, which the engine will write.
    SucceededCondition,
    /// Conditions of the kind's own.
    Conditions {
        /// The reason in the condition of a Runnable.
        reason: &'static str,
        /// Conditions with their verdicts. The first one that is True decides.
        decisive: &'static [(&'static str, Verdict)],
    },
    /// `status.phase`, which ends as `Succeeded` or otherwise.
    Phase {
        /// The reason in the condition of a Runnable.
        reason: &'static str,
        /// Phases of a run that ended without success.
        failures: &'static [&'static str],
    },
    /// None: the run has succeeded once it exists.
    Existence,
}

/// Possible contents of a kind's status. A prefixed condition such as `example.com/ready` may be on any object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shows {
    /// The fields of the status; empty for a kind without one. `None` if they are unknown.
    pub fields: Option<&'static [&'static str]>,
    /// The types of its conditions. `None` if they are unknown.
    pub conditions: Option<&'static [&'static str]>,
    /// Types of conditions that are True whenever they exist.
    pub only_true: &'static [&'static str],
    /// The values of `status.phase`, if the kind has one.
    pub phases: &'static [&'static str],
}

impl Shows {
    /// The contents for an unknown kind.
    const UNKNOWN: Self = Self {
        fields: None,
        conditions: None,
        only_true: &[],
        phases: &[],
    };
    /// The contents for a kind without a status.
    const NOTHING: Self = Self {
        fields: Some(&[]),
        conditions: Some(&[]),
        ..Self::UNKNOWN
    };
}

/// The objects that output paths are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputSource {
    /// The run.
    Run,
    /// The run, and the termination message of its containers.
    RunAndItsMessage,
    /// The run, and the termination message of its pods.
    RunAndMessageOfPods,
    /// None: every user who may create the object could read the data that the cluster puts into it.
    Refused,
}

impl OutputSource {
    /// Returns true if output paths may begin with [`cartouche_language::TERMINATION_MESSAGE`].
    #[must_use]
    pub fn has_termination_message(self) -> bool {
        matches!(self, Self::RunAndItsMessage | Self::RunAndMessageOfPods)
    }
}

/// The method to stop a run so that it ends, rather than being made anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancel {
    /// A word in its `spec`.
    Word {
        /// The field of `spec`.
        field: &'static str,
        /// Words that stop a run; the first one is written.
        words: &'static [&'static str],
    },
    /// A deadline: `spec.activeDeadlineSeconds`.
    Deadline {
        /// Seconds from the start of the run.
        seconds: u32,
    },
    /// None: the kind does no work.
    NeverAtWork,
    /// The method differs within the group, or is unknown.
    Unknown,
}

/// The pods of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodsOf {
    /// The run itself is a Pod.
    Itself,
    /// Pods with this label, whose value is the name of the run.
    Labelled(&'static str),
    /// None, or unknown ones.
    Unknown,
}

/// The API server's rule for `restartPolicy`, which no schema contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestartPolicy {
    /// The path to the pod's spec.
    pub pod_spec: &'static [&'static str],
    /// The permitted values.
    pub allowed: &'static [&'static str],
    /// True if the field is required.
    pub required: bool,
    /// Advice for the choice.
    pub advice: &'static str,
}

impl KnownKind {
    /// Returns true if the controller may watch the kind in a default installation.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.watch != Watch::Nothing
    }

    /// Returns the `apiVersion` whose schema is known, for a kind with a name; otherwise `None`.
    #[must_use]
    pub fn api_version(&self) -> Option<String> {
        let version = self.version?;
        Some(match self.group {
            "" => version.to_owned(),
            group => format!("{group}/{version}"),
        })
    }

    /// Describes for users the sign by which the kind is judged without a `healthRule`.
    #[must_use]
    pub fn judged_by(&self) -> String {
        match self.health {
            HealthFrom::SucceededCondition => "by its condition Succeeded".to_owned(),
            HealthFrom::Conditions { decisive, .. } => {
                let ends = decisive.iter().filter(|(_, is)| *is != Verdict::Unknown);
                let ends: Vec<&str> = ends.map(|(name, _)| *name).collect();
                format!("by its conditions {}", ends.join(" and "))
            }
            HealthFrom::Phase { .. } => "by its phase".to_owned(),
            HealthFrom::Existence => "to have succeeded once it is made".to_owned(),
        }
    }

    fn is_of_version(&self, api_version: &str) -> bool {
        let version = match self.group {
            "" => Some(api_version),
            group => api_version
                .strip_prefix(group)
                .and_then(|rest| rest.strip_prefix('/')),
        };
        self.version.is_some_and(|known| version == Some(known))
    }
}

/// Iterates over all known kinds, in the order of the table.
pub fn all() -> impl Iterator<Item = &'static KnownKind> {
    TABLE.into_iter().flatten()
}

/// Returns the entry of a kind, in any version of its group.
#[must_use]
pub fn find_kind(api_version: &str, kind: &str) -> Option<&'static KnownKind> {
    let group = group_of(api_version);
    let of_group = || all().filter(|known| known.group == group);
    of_group()
        .find(|known| known.kind == Some(kind))
        .or_else(|| of_group().find(|known| known.kind.is_none()))
}

fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// Returns true if objects of a kind may hold confidential data, so that no message repeats it. A kind with such a
/// name in an unknown group counts as well.
#[must_use]
pub fn holds_secrets(kind: &str) -> bool {
    all().any(|known| known.kind == Some(kind) && known.outputs == OutputSource::Refused)
}

/// Returns the entry of a kind if this is the version whose fields are known.
#[must_use]
pub fn known_fields(api_version: &str, kind: &str) -> Option<&'static KnownKind> {
    find_kind(api_version, kind).filter(|known| known.is_of_version(api_version))
}

/// Returns true if an unknown kind is probably a misspelt one with pods: the name of such a kind in another
/// version of Kubernetes' own groups, or a similar name in its group.
#[must_use]
pub fn is_misspelt_with_pods(api_version: &str, kind: &str) -> bool {
    let group = group_of(api_version);
    let is_of_kubernetes = |group: &str| !group.contains('.');
    let is_meant = |known: &KnownKind| {
        let is_like = || known.group == group && suggestion::nearest(kind, known.kind).is_some();
        known.pod_template.is_some() && (known.kind == Some(kind) || is_like())
    };
    let is_there = all().any(|known| known.kind == Some(kind) && known.is_of_version(api_version));
    !is_there && is_of_kubernetes(group) && all().any(is_meant)
}

/// Returns the `ServiceAccount` of a run's pods, or `None` if its place is unknown for the kind.
#[must_use]
pub fn pods_account(run: &Value) -> Option<&str> {
    let text = |field: &str| run.get(field)?.as_str();
    let pointers = find_kind(text("apiVersion")?, text("kind")?)?.pods_account;
    let named = |pointer: &str| {
        let account = run.pointer(pointer).and_then(Value::as_str);
        account.filter(|account| !account.is_empty())
    };
    // The older name, which Kubernetes still accepts.
    let either = |pointer: &&str| named(pointer).or_else(|| named(pointer.strip_suffix("Name")?));
    let account = pointers.iter().find_map(either);
    (!pointers.is_empty()).then_some(account.unwrap_or(DEFAULT_ACCOUNT))
}

/// Returns the same as [`known_fields`], for an object.
#[must_use]
pub fn known_fields_of(object: &Value) -> Option<&'static KnownKind> {
    let text = |field: &str| {
        object
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    known_fields(text("apiVersion"), text("kind"))
}
