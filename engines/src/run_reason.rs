//! The reason of a run's failure or delay, in one word.

use cartouche_crds::reasons;

reasons! {
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
        OOMKilled,
        /// The cluster removed the pod: an eviction, a preemption, a drain, or a lost node.
        Evicted,
        /// The command of a container is not in its image, or cannot be executed.
        StartError,
        /// The same as `StartError`, from an older container runtime.
        ContainerCannotRun,
        /// The engine gave up after its own retries.
        BackoffLimitExceeded,
        /// The run exceeded the deadline of its engine, such as `activeDeadlineSeconds`.
        DeadlineExceeded,
        /// The policy for failed pods ended the run.
        PodFailurePolicy,
        /// Too many indexes of the run failed.
        MaxFailedIndexesExceeded,
        /// Some indexes of the run failed.
        FailedIndexes,
        /// Pods of the run have failed, and its engine creates others.
        PodFailed,
        /// An init container runs, and the other containers wait for it.
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
        /// A pod has no containers yet: an image is being pulled, a volume or its key is missing, or the memory limit
        /// is wrong (`512m` is half a byte).
        ContainerCreating,
        /// No node fits a pod.
        Unschedulable,
        /// Scheduling gates hold a pod.
        SchedulingGated,
        /// No scheduler has handled a pod.
        NoScheduler,
        /// The run has created no pod.
        NoPodYet,
        /// A container fails again and again.
        CrashLoopBackOff,
        /// A container has finished, and is always restarted.
        RestartPolicyAlways,
        /// A sidecar keeps the pod alive after the other containers have finished.
        SidecarRuns,
    }
}

impl RunReason {
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
            Self::OOMKilled | Self::StartError | Self::ContainerCannotRun
        );
        is_one.then_some(known)
    }
}

#[cfg(test)]
mod tests {
    use super::RunReason;

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
        assert_eq!(RunReason::of_end("OOMKilled"), Some(RunReason::OOMKilled));
        assert_eq!(RunReason::of_end("TimedOut"), None);
    }

    #[test]
    fn the_words_on_the_wire_stay_as_they_are() {
        let words = [
            "Cancelled",
            "TimedOut",
            "Replaced",
            "OOMKilled",
            "Evicted",
            "StartError",
            "ContainerCannotRun",
            "BackoffLimitExceeded",
            "DeadlineExceeded",
            "PodFailurePolicy",
            "MaxFailedIndexesExceeded",
            "FailedIndexes",
            "PodFailed",
            "InitContainerRuns",
            "ImagePullBackOff",
            "InvalidImageName",
            "ErrImageNeverPull",
            "CreateContainerConfigError",
            "CreateContainerError",
            "RunContainerError",
            "ContainerCreating",
            "Unschedulable",
            "SchedulingGated",
            "NoScheduler",
            "NoPodYet",
            "CrashLoopBackOff",
            "RestartPolicyAlways",
            "SidecarRuns",
        ];
        assert_eq!(RunReason::ALL.map(RunReason::as_str), words);
    }

    #[test]
    fn what_has_failed_hinders_nothing() {
        assert!(RunReason::ImagePullBackOff.is_hindrance());
        assert!(RunReason::SidecarRuns.is_hindrance());
        assert!(!RunReason::FailedIndexes.is_hindrance());
        assert!(!RunReason::PodFailed.is_hindrance());
    }
}
