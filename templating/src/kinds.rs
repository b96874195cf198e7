//! What is known of kinds that runs are of: a file for each engine, and one table.
//!
//! Nothing else knows a kind by its name: health, outputs, `cartouche cancel`, `logs`, `validate` and
//! `migrate` ask here. Kinds that do not stand here work as well, with a `healthRule`. To add one, write
//! what is known of it in a file below, and list that file in the table. If the controller is to
//! watch it, its `ClusterRole` belongs into `config/rbac`; a test compares the two.

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

use serde_json::Value;

use crate::{suggestion, verdict::Verdict};

pub use job::{JOB_LABELS, is_job};
pub(crate) use kueue::{Admission, admission};
pub use pod_place::{PodPlace, has_tags_of_tekton, pod_place};
pub use queue::{Queue, Standing, Works, queue_of, standing};
pub(crate) use silent::is_silent;
pub use stop::{StopMethodError, StopRequest, asked_to_stop};
pub use tekton::has_params;

/// The table. Within a group, a kind by name goes before the rest of its group.
const TABLE: [&[KnownKind]; 5] = [
    job::KINDS,
    pod::KINDS,
    tekton::KINDS,
    argo::KINDS,
    passive::KINDS,
];

/// What a pod without an account has.
const DEFAULT_ACCOUNT: &str = "default";

/// What is known of a kind. There is no default: whoever adds a kind answers every question.
#[derive(Clone, Copy, Debug)]
pub struct KnownKind {
    /// The API group; empty for that of Pods.
    pub group: &'static str,
    /// Its name; without one, this is what is known of the rest of the group.
    pub kind: Option<&'static str>,
    /// The version whose schema the `cartouche` command brings along. What is said below of single fields
    /// of an object ([`OutputSource`], [`RestartPolicy`], `pod_template`) is said of this version; the rest holds for all.
    pub version: Option<&'static str>,
    /// What lets the controller watch it.
    pub watch: Watch,
    /// When a run has succeeded or failed, where neither a `healthRule` nor a condition `Succeeded` says so.
    pub health: HealthFrom,
    /// What its status ever shows, in whatever version.
    pub shows: Shows,
    /// Where output paths look.
    pub outputs: OutputSource,
    /// How a run is stopped.
    pub cancel: Cancel,
    /// How a queue holds runs, if one does.
    pub queue: Option<&'static Queue>,
    /// Which pods a run has.
    pub pods: PodsOf,
    /// The labels by which its engine tells its pods from others that name it as their controller: one of them has the uid of the
    /// run. None where the engine sets none.
    pub pod_uid_labels: &'static [&'static str],
    /// The JSON pointer to the pod that it runs, as its template has it, if it has one as Kubernetes writes it.
    pub pod_template: Option<&'static str>,
    /// The JSON pointers to the name of the `ServiceAccount` that its pods have, one for each way in which its versions say it, the
    /// one that counts first; without a name at any of them it is `default`. None where it is not known.
    pub pods_account: &'static [&'static str],
    /// The restart policy that it needs, if it has one.
    pub restart_policy: Option<RestartPolicy>,
}

/// What lets the controller watch a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// A `ClusterRole` that is installed with Cartouche.
    ClusterRole {
        /// Its file in `config/rbac`.
        file: &'static str,
        /// The plural name of the kind, as RBAC has it.
        resource: &'static str,
    },
    /// Nothing: its runs are polled as their ServiceAccount, unless somebody installs a `ClusterRole`.
    Nothing,
}

/// What says whether a run has succeeded or failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthFrom {
    /// The condition `Succeeded`, which its engine is going to write.
    SucceededCondition,
    /// Conditions of its own.
    Conditions {
        /// The reason that Runnables then give.
        reason: &'static str,
        /// The first one that is True decides.
        decisive: &'static [(&'static str, Verdict)],
    },
    /// `status.phase`, which ends as `Succeeded` or otherwise.
    Phase {
        /// The reason that Runnables then give.
        reason: &'static str,
        /// The phases of a run that ended without success.
        failures: &'static [&'static str],
    },
    /// Nothing: it has succeeded once it exists.
    Existence,
}

/// What the status of a kind ever shows. A condition with a prefix, as `example.com/ready`, may be on any object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shows {
    /// The fields of the status; none of a kind without one. `None` where they are not known.
    pub fields: Option<&'static [&'static str]>,
    /// The types of its conditions. `None` where they are not known.
    pub conditions: Option<&'static [&'static str]>,
    /// Those of them that are True as long as they are there.
    pub only_true: &'static [&'static str],
    /// The values of `status.phase`, where it has one.
    pub phases: &'static [&'static str],
}

impl Shows {
    /// Of a kind of which nothing is known.
    const UNKNOWN: Self = Self {
        fields: None,
        conditions: None,
        only_true: &[],
        phases: &[],
    };
    /// Of a kind without a status.
    const NOTHING: Self = Self {
        fields: Some(&[]),
        conditions: Some(&[]),
        ..Self::UNKNOWN
    };
}

/// Where output paths look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputSource {
    /// Into the run.
    Run,
    /// Into the run, and into the termination message of its containers.
    RunAndItsMessage,
    /// Into the run, and into the termination message of its pods.
    RunAndMessageOfPods,
    /// Nowhere: whoever may create one could read what the cluster puts into it.
    Refused,
}

impl OutputSource {
    /// Whether output paths may begin with [`crate::TERMINATION_MESSAGE`].
    #[must_use]
    pub fn has_termination_message(self) -> bool {
        matches!(self, Self::RunAndItsMessage | Self::RunAndMessageOfPods)
    }
}

/// How a run is stopped so that it ends, rather than being made anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancel {
    /// By a word in its `spec`.
    Word {
        /// The field of `spec`.
        field: &'static str,
        /// What stops a run there; the first one is what is written.
        words: &'static [&'static str],
    },
    /// By a deadline: `spec.activeDeadlineSeconds`.
    Deadline {
        /// Seconds from its start.
        seconds: u32,
    },
    /// Not at all: it does no work.
    NeverAtWork,
    /// That differs within the group, or is not known.
    Unknown,
}

/// Which pods a run has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodsOf {
    /// It is a Pod.
    Itself,
    /// Those with this label, whose value is the name of the run.
    Labelled(&'static str),
    /// None, or nothing tells which.
    Unknown,
}

/// What the API server wants of `restartPolicy`; no schema says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestartPolicy {
    /// The path to the pod's spec.
    pub pod_spec: &'static [&'static str],
    /// What it may be.
    pub allowed: &'static [&'static str],
    /// Whether it must be given.
    pub required: bool,
    /// What to know when choosing.
    pub advice: &'static str,
}

impl KnownKind {
    /// Whether the controller may watch it as it is installed.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.watch != Watch::Nothing
    }

    /// The `apiVersion` whose schema is known, if one is, of a kind that has a name.
    #[must_use]
    pub fn api_version(&self) -> Option<String> {
        let version = self.version?;
        Some(match self.group {
            "" => version.to_owned(),
            group => format!("{group}/{version}"),
        })
    }

    /// By what it is judged without a `healthRule`, as it is said to people.
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

/// Everything that is known, in the order of the table.
pub fn all() -> impl Iterator<Item = &'static KnownKind> {
    TABLE.into_iter().flatten()
}

/// What is known of a kind, in whatever version of its group.
#[must_use]
pub fn known(api_version: &str, kind: &str) -> Option<&'static KnownKind> {
    let group = group_of(api_version);
    let of_group = || all().filter(|known| known.group == group);
    of_group()
        .find(|known| known.kind == Some(kind))
        .or_else(|| of_group().find(|known| known.kind.is_none()))
}

fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// Whether objects of a kind may hold what only few may see, so that no message repeats it. In a group that is
/// not known, a kind of such a name counts as well.
#[must_use]
pub fn holds_secrets(kind: &str) -> bool {
    all().any(|known| known.kind == Some(kind) && known.outputs == OutputSource::Refused)
}

/// What is known of a kind in the very version whose fields are known.
#[must_use]
pub fn known_fields(api_version: &str, kind: &str) -> Option<&'static KnownKind> {
    known(api_version, kind).filter(|known| known.is_of_version(api_version))
}

/// True if a kind that is not known is a misspelt one with pods: one of that name in a version of Kubernetes' own groups that
/// has none, or a name that is like it in its group.
#[must_use]
pub(crate) fn is_misspelt_with_pods(api_version: &str, kind: &str) -> bool {
    let group = group_of(api_version);
    let is_of_kubernetes = |group: &str| !group.contains('.');
    let is_meant = |known: &KnownKind| {
        let is_like = || known.group == group && suggestion::nearest(kind, known.kind).is_some();
        known.pod_template.is_some() && (known.kind == Some(kind) || is_like())
    };
    let is_there = all().any(|known| known.kind == Some(kind) && known.is_of_version(api_version));
    !is_there && is_of_kubernetes(group) && all().any(is_meant)
}

/// The `ServiceAccount` that the pods of a run have. `None` if it is not known where runs of its kind say it.
#[must_use]
pub fn pods_account(run: &Value) -> Option<&str> {
    let text = |field: &str| run.get(field)?.as_str();
    let pointers = known(text("apiVersion")?, text("kind")?)?.pods_account;
    let named = |pointer: &str| {
        let account = run.pointer(pointer).and_then(Value::as_str);
        account.filter(|account| !account.is_empty())
    };
    // The older name, which Kubernetes still takes for it.
    let either = |pointer: &&str| named(pointer).or_else(|| named(pointer.strip_suffix("Name")?));
    let account = pointers.iter().find_map(either);
    (!pointers.is_empty()).then_some(account.unwrap_or(DEFAULT_ACCOUNT))
}

/// The same of the kind of an object.
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
