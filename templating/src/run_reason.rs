//! Why a run has failed, or does not go on, in one word.

/// One of the words that `Ready` gives as its reason in the place of the general one. The set is closed: what others
/// say passes only if it is one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunReason {
    /// A person stopped it.
    Cancelled,
    /// Its timeout stopped it.
    TimedOut,
    /// It was stopped for a later run.
    Replaced,
    /// A container used more memory than it may.
    OomKilled,
    /// The cluster took its pod away: it was evicted, preempted or drained, or its node went.
    Evicted,
    /// The command of a container is not in its image, or cannot be executed.
    StartError,
    /// The same, as older runtimes say it.
    ContainerCannotRun,
    /// Its engine gave it up after the attempts that it has itself.
    BackoffLimitExceeded,
    /// It took longer than its own deadline.
    DeadlineExceeded,
    /// Its policy for failed pods ended it.
    PodFailurePolicy,
    /// Too many of its indexes failed.
    MaxFailedIndexesExceeded,
    /// Some of its indexes failed.
    FailedIndexes,
    /// Pods of it have failed, and its engine makes others.
    PodFailed,
    /// An init container runs, and the others wait for it.
    InitContainerRuns,
    /// An image cannot be pulled.
    ImagePullBackOff,
    /// The name of an image is none.
    InvalidImageName,
    /// An image is not on the node, and may not be pulled.
    ErrImageNeverPull,
    /// A `ConfigMap`, a Secret or a key is missing that a container needs.
    CreateContainerConfigError,
    /// A container cannot be made.
    CreateContainerError,
    /// A container cannot be started.
    RunContainerError,
    /// A pod has no containers yet.
    ContainerCreating,
    /// No node fits a pod.
    Unschedulable,
    /// A pod is held back by its scheduling gates.
    SchedulingGated,
    /// No scheduler has looked at a pod.
    NoScheduler,
    /// The run has made no pod.
    NoPodYet,
    /// A container ends without success again and again.
    CrashLoopBackOff,
    /// A container has done its work, and is started again for ever.
    RestartPolicyAlways,
    /// A sidecar keeps a pod alive whose work is done.
    SidecarRuns,
}

impl RunReason {
    /// Every one.
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

    /// As it stands in a condition.
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

    /// The one of a word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == word)
    }

    /// Why a run failed, by the reason that its engine gives.
    #[must_use]
    pub fn of_engine(cause: &str) -> Option<Self> {
        Self::parse(cause).filter(|it| it.is_of_engine() || *it == Self::Evicted)
    }

    /// True for what keeps a run from its start or from its end, and needs a person as a rule.
    #[must_use]
    pub fn is_hindrance(self) -> bool {
        self >= Self::ImagePullBackOff
    }

    /// True if an image cannot be pulled, be it since its name is misspelt.
    #[must_use]
    pub fn is_of_image(self) -> bool {
        (Self::ImagePullBackOff..=Self::ErrImageNeverPull).contains(&self)
    }

    fn is_of_engine(self) -> bool {
        (Self::BackoffLimitExceeded..=Self::FailedIndexes).contains(&self)
    }

    /// Why a container does not start, by the word that the kubelet has for it.
    pub(crate) fn of_waiting(word: &str) -> Option<Self> {
        match word {
            // The kubelet goes from one to the other and back.
            "ErrImagePull" => Some(Self::ImagePullBackOff),
            word => Self::parse(word)
                .filter(|it| (Self::ImagePullBackOff..=Self::RunContainerError).contains(it)),
        }
    }

    /// Why a container ended, by the word that the kubelet has for it.
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
        let docs = include_str!("../../docs/troubleshooting.md");
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
