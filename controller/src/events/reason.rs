//! Reasons of events that are no reasons of a condition.

use cartouche_crds::reasons;

reasons! {
    /// Reason of a Warning event. A Warning event can also have the reason of a condition, or a reason of a run.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum WarningReason {
        /// A value in the run is probably a mistake: 1.1 in place of a version (YAML reads `1.10` as 1.1), `${NAME}`,
        /// `{{ .Values.name }}`, or a reference to a Secret inside a text.
        DoubtfulValue,
        /// Lines of `status.history` cannot be read, and their runs count as forgotten: find out which client writes
        /// them.
        HistoryUnreadable,
        /// The controller may not watch the kind, and polls it every `--poll-seconds`.
        KindNotWatched,
        /// An object had outputs of an unknown run, and was overwritten.
        OutputSinkOverwritten,
        /// Old runs cannot be deleted: grant `delete` to the account.
        RetentionFailed,
        /// The last attempt failed: correct the cause, and rerun.
        RetriesExhausted,
        /// The API server warned when the run was created, for example of a dropped field.
        RunWarning,
        /// Another client has written the status, and it cannot be compared with the existing runs. Nothing runs until
        /// you fix the problem in the message.
        StatusNotCompared,
        /// The controller cannot read or write the status, so that nothing runs: check its permissions and the
        /// policies.
        StatusRefused,
        /// An object claims to be a run, and is not in the status. It is never deleted: delete it if it is not yours.
        UnknownRun,
    }
}

reasons! {
    /// Reason of a Normal event. It is Cartographer's if Cartographer has such an event.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum NormalReason {
        /// A run was created.
        StampedObjectApplied,
        /// Retention deleted an old run.
        StampedObjectRemoved,
        /// The run has new outputs.
        ResourceOutputChanged,
        /// A run failed, and the controller will retry it.
        RetryScheduled,
        /// A run was asked to stop.
        RunStopped,
        /// The next run needs approval.
        ApprovalRequested,
    }
}

#[cfg(test)]
mod tests {
    use cartouche_crds::conditions::RETRY_SCHEDULED;

    use super::NormalReason;

    #[test]
    fn the_event_of_a_retry_has_the_reason_of_its_condition() {
        assert_eq!(NormalReason::RetryScheduled.as_str(), RETRY_SCHEDULED);
    }
}
