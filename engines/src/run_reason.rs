//! The reason of a run's failure or delay, in one word.

/// A word that `Ready` has as its reason in place of the general one. The set is closed: a foreign word passes
/// only if it is one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunReason {
    /// A user stopped the run.
    Cancelled,
    /// The timeout stopped the run.
    TimedOut,
    /// The run was stopped for a later run.
    Replaced,
    /// A container exceeded its memory limit.
    OomKilled,
    /// The cluster removed the pod: it was evicted, preempted or drained, or its node was lost.
    Evicted,
    /// The command of a container is not in its image, or cannot be executed.
    StartError,
    /// The same as `StartError`, in the word of older runtimes.
    ContainerCannotRun,
    /// The engine gave up after its own retries.
    BackoffLimitExceeded,
    /// The run exceeded its own deadline.
    DeadlineExceeded,
    /// The policy for failed pods ended the run.
    PodFailurePolicy,
    /// Too many indexes of the run failed.
    MaxFailedIndexesExceeded,
    /// Some indexes of the run failed.
    FailedIndexes,
    /// Pods of the run have failed, and its engine creates others.
    PodFailed,
    /// An init container runs, and the others wait for it.
    InitContainerRuns,
    /// An image cannot be pulled.
    ImagePullBackOff,
    /// The name of an image is invalid.
    InvalidImageName,
    /// An image is not on the node, and must not be pulled.
    ErrImageNeverPull,
    /// A container lacks a `ConfigMap`, a Secret or a key.
    CreateContainerConfigError,
    /// A container cannot be created.
    CreateContainerError,
    /// A container cannot be started.
    RunContainerError,
    /// A pod has no containers yet.
    ContainerCreating,
    /// No node fits a pod.
    Unschedulable,
    /// Scheduling gates hold a pod back.
    SchedulingGated,
    /// No scheduler has handled a pod.
    NoScheduler,
    /// The run has created no pod.
    NoPodYet,
    /// A container fails again and again.
    CrashLoopBackOff,
    /// A container has done its work, and is always restarted.
    RestartPolicyAlways,
    /// A sidecar keeps a pod alive whose work is done.
    SidecarRuns,
}

impl RunReason {
    /// All reasons.
    pub const ALL: [Self; 28] = [
        Self::Cancelled,
        Self::TimedOut,
        Self::Replaced,
        Self::OomKilled,
        Self::Evicted,
        Self::StartError,
        Self::ContainerCannotRun,
        Self::BackoffLimitExceeded,
        Self::DeadlineExceeded,
        Self::PodFailurePolicy,
        Self::MaxFailedIndexesExceeded,
        Self::FailedIndexes,
        Self::PodFailed,
        Self::InitContainerRuns,
        Self::ImagePullBackOff,
        Self::InvalidImageName,
        Self::ErrImageNeverPull,
        Self::CreateContainerConfigError,
        Self::CreateContainerError,
        Self::RunContainerError,
        Self::ContainerCreating,
        Self::Unschedulable,
        Self::SchedulingGated,
        Self::NoScheduler,
        Self::NoPodYet,
        Self::CrashLoopBackOff,
        Self::RestartPolicyAlways,
        Self::SidecarRuns,
    ];

    /// Returns the word in a condition.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cancelled => "Cancelled",
            Self::TimedOut => "TimedOut",
            Self::Replaced => "Replaced",
            Self::OomKilled => "OOMKilled",
            Self::Evicted => "Evicted",
            Self::StartError => "StartError",
            Self::ContainerCannotRun => "ContainerCannotRun",
            Self::BackoffLimitExceeded => "BackoffLimitExceeded",
            Self::DeadlineExceeded => "DeadlineExceeded",
            Self::PodFailurePolicy => "PodFailurePolicy",
            Self::MaxFailedIndexesExceeded => "MaxFailedIndexesExceeded",
            Self::FailedIndexes => "FailedIndexes",
            Self::PodFailed => "PodFailed",
            Self::InitContainerRuns => "InitContainerRuns",
            Self::ImagePullBackOff => "ImagePullBackOff",
            Self::InvalidImageName => "InvalidImageName",
            Self::ErrImageNeverPull => "ErrImageNeverPull",
            Self::CreateContainerConfigError => "CreateContainerConfigError",
            Self::CreateContainerError => "CreateContainerError",
            Self::RunContainerError => "RunContainerError",
            Self::ContainerCreating => "ContainerCreating",
            Self::Unschedulable => "Unschedulable",
            Self::SchedulingGated => "SchedulingGated",
            Self::NoScheduler => "NoScheduler",
            Self::NoPodYet => "NoPodYet",
            Self::CrashLoopBackOff => "CrashLoopBackOff",
            Self::RestartPolicyAlways => "RestartPolicyAlways",
            Self::SidecarRuns => "SidecarRuns",
        }
    }

    /// Parses a word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == word)
    }

    /// Returns the reason of a run's failure, from the word of its engine.
    #[must_use]
    pub fn of_engine(cause: &str) -> Option<Self> {
        Self::parse(cause).filter(|it| it.is_of_engine() || *it == Self::Evicted)
    }

    /// Returns true for a reason that keeps a run from its start or its end, and usually needs a user's action.
    #[must_use]
    pub fn is_hindrance(self) -> bool {
        self >= Self::ImagePullBackOff
    }

    /// Returns true if an image cannot be pulled, including a misspelt name.
    #[must_use]
    pub fn is_of_image(self) -> bool {
        (Self::ImagePullBackOff..=Self::ErrImageNeverPull).contains(&self)
    }

    fn is_of_engine(self) -> bool {
        (Self::BackoffLimitExceeded..=Self::FailedIndexes).contains(&self)
    }

    /// Returns the reason why a container does not start, from the word of the kubelet.
    pub(crate) fn of_waiting(word: &str) -> Option<Self> {
        match word {
            // The kubelet alternates between the two.
            "ErrImagePull" => Some(Self::ImagePullBackOff),
            word => Self::parse(word)
                .filter(|it| (Self::ImagePullBackOff..=Self::RunContainerError).contains(it)),
        }
    }

    /// Returns the reason why a container ended, from the word of the kubelet.
    pub(crate) fn of_end(word: &str) -> Option<Self> {
        let known = Self::parse(word)?;
        let is_one = matches!(
            known,
            Self::OomKilled | Self::StartError | Self::ContainerCannotRun
        );
        is_one.then_some(known)
    }
}

#[cfg(test)]
mod tests {
    use super::RunReason;

    #[test]
    fn every_word_is_read_as_it_is_written_and_stands_in_the_docs() {
        assert_eq!(RunReason::ALL.len(), RunReason::SidecarRuns as usize + 1);
        let docs = include_str!("../../docs/reference/reasons.md");
        for reason in RunReason::ALL {
            assert_eq!(RunReason::parse(reason.as_str()), Some(reason));
            let row = format!("`{}`", reason.as_str());
            assert!(docs.contains(&row), "{row}");
        }
    }

    #[test]
    fn a_word_passes_only_from_who_may_say_it() {
        let engine = RunReason::of_engine;
        assert_eq!(
            engine("DeadlineExceeded"),
            Some(RunReason::DeadlineExceeded)
        );
        for foreign in ["Cancelled", "OOMKilled", "Unschedulable", "Hacked", ""] {
            assert_eq!(engine(foreign), None, "{foreign}");
        }
        let waiting = RunReason::of_waiting;
        assert_eq!(waiting("ErrImagePull"), Some(RunReason::ImagePullBackOff));
        for foreign in ["Cancelled", "CrashLoopBackOff", "SidecarRuns"] {
            assert_eq!(waiting(foreign), None, "{foreign}");
        }
        assert_eq!(RunReason::of_end("OOMKilled"), Some(RunReason::OomKilled));
        assert_eq!(RunReason::of_end("TimedOut"), None);
    }

    #[test]
    fn what_has_failed_hinders_nothing() {
        assert!(RunReason::ImagePullBackOff.is_hindrance());
        assert!(RunReason::SidecarRuns.is_hindrance());
        assert!(!RunReason::FailedIndexes.is_hindrance());
        assert!(!RunReason::PodFailed.is_hindrance());
    }
}
