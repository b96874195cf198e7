//! Categories of errors of a Runnable: a closed set, used as condition reason, event reason and
//! metric label.

use std::fmt;

use cartouche_crds::{
    conditions::{FALSE, TRUE, UNKNOWN},
    reasons,
};

reasons! {
    /// The reason why a Runnable is not ready, in one word.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Category {
        /// The controller cannot read the Runnable: a field has the wrong type, or it is too deep or too large. No run
        /// is created, and the current run is not followed.
        InvalidRunnable,
        /// The namespace has no `ServiceAccount` with the name in `spec.serviceAccountName` (by default `default`).
        ServiceAccountError,
        /// The controller gets no token for the `ServiceAccount`.
        ServiceAccountTokenError,
        /// No client can be built for the `ServiceAccount`.
        ClientBuilderError,
        /// The template does not exist, cannot be read, or is not accepted.
        RunTemplateNotFound,
        /// The template cannot be rendered, or its selector does not match exactly one object.
        TemplateStampFailure,
        /// The API server did not accept the run, or did not answer.
        StampedObjectRejectedByAPIServer,
        /// The runs cannot be listed or read.
        FailedToListCreatedObjects,
        /// The run succeeded, but its outputs cannot be used. The previous outputs stay.
        OutputPathNotSatisfied,
        /// An object of `writeOutputsTo` cannot be written. The run and its outputs are not affected.
        OutputSinkFailed,
        /// Another object has the name of the run.
        NameConflict,
        /// Runs follow each other without a change by a user. Often a run changes an object that the Runnable selects.
        RunawayDetected,
        /// A setting is unusable, for example a `timeout` that is no duration, or `retry` in a template with a fixed
        /// `metadata.name`.
        PolicyInvalid,
        /// An input from another object is unusable: its name is given twice, its value cannot be an input, or the
        /// account may not read the object.
        SourceError,
        /// An input does not exist, or its source is still changing.
        DependencyNotReady,
        /// A source with `waitFor: Succeeded` has failed, or the inputs stay at two revisions of one ancestor.
        DependencyFailed,
        /// The inputs depend on the Runnable's own outputs: directly, through other Runnables, or through written
        /// objects.
        DependencyCycle,
        /// Several profiles match with the same rank.
        ProfileAmbiguous,
        /// No profile can be used: none matches, `spec.profileName` does not match, or the pinned one is missing.
        ProfileNotFound,
        /// A requested refresh finds no profile, and no run is pending.
        ProfileNotRefreshed,
        /// The profile cannot be applied, for example because the run has no container of that name.
        ProfileDoesNotFit,
        /// The `ServiceAccount` of the pods lacks a permission that the template requires.
        PermissionMissing,
        /// The next run waits until the rendered object has stayed the same for `start.debounce`.
        Debouncing,
        /// The next run needs approval.
        ApprovalRequired,
        /// A user rejected the next run.
        Rejected,
        /// The next run waits for an earlier run, mostly because of `concurrencyPolicy`.
        RunAtWork,
        /// A run was asked to stop, and is still running.
        StopFailed,
        /// Another client writes the status, most likely a controller of Cartographer. No run is created.
        OtherController,
        /// The next run waits because `spec.suspend` is true.
        Suspended,
        /// The status, the Runnable, its template or its profile has something of a newer release, which this release
        /// does not know.
        NewerRelease,
        /// The installed definitions (CRDs) are older than the controller, or drop fields that it writes. No run is
        /// created.
        DefinitionsOutdated,
        /// Any other problem, for example 200 unfinished runs, or a status without room for another run.
        UnknownError,
    }
}

impl Category {
    /// Returns the status of a condition with this reason. Neither a remark nor a hold is a failure.
    #[must_use]
    pub fn status(self) -> &'static str {
        match self {
            it if it.is_remark() => TRUE,
            it if it.is_hold() => UNKNOWN,
            _ => FALSE,
        }
    }

    /// Returns true if the next run is held back on purpose, which is no fault.
    #[must_use]
    pub fn is_hold(self) -> bool {
        self == Self::Suspended || self.goes_before_the_run() && self != Self::Rejected
    }

    /// Returns true if the next run waits for an event that is to come or for approval, or was
    /// rejected. The result of the run before is then not the state of the Runnable.
    #[must_use]
    pub fn goes_before_the_run(self) -> bool {
        matches!(
            self,
            Self::DependencyNotReady
                | Self::Debouncing
                | Self::ApprovalRequired
                | Self::Rejected
                | Self::RunAtWork
        )
    }

    /// Returns true if it may hold back a run that already has its number, so that the run may have
    /// been made before.
    #[must_use]
    pub fn waits_with_its_number(self) -> bool {
        matches!(
            self,
            Self::ApprovalRequired | Self::Rejected | Self::RunAtWork | Self::DefinitionsOutdated
        )
    }

    /// Returns true if it is about the sources of the inputs, about how the next run is made, or
    /// about another release: the existing run has no fault.
    #[must_use]
    pub fn leaves_the_run(self) -> bool {
        matches!(self, Self::SourceError | Self::PermissionMissing)
            || matches!(self, Self::NewerRelease | Self::DefinitionsOutdated)
            || self.is_of_dependencies()
            || self.is_of_profiles()
    }

    /// Returns true if it holds nothing back and is no fault of a run: conditions report it beside
    /// their usual message.
    #[must_use]
    pub fn is_remark(self) -> bool {
        self == Self::ProfileNotRefreshed
    }

    /// Returns true if it is about the profile of the next run. A change of profiles ends it, or a
    /// request to choose again.
    #[must_use]
    pub fn is_of_profiles(self) -> bool {
        matches!(
            self,
            Self::ProfileAmbiguous
                | Self::ProfileNotFound
                | Self::ProfileNotRefreshed
                | Self::ProfileDoesNotFit
        )
    }

    /// Returns true if the sources of the inputs hold the next run back.
    #[must_use]
    pub fn is_of_dependencies(self) -> bool {
        matches!(
            self,
            Self::DependencyNotReady | Self::DependencyFailed | Self::DependencyCycle
        )
    }

    /// Returns true if nothing can be rendered, or no run made of it, before a user corrects a
    /// fault. The sources of the inputs are not looked at then.
    #[must_use]
    pub fn precludes_rendering(self) -> bool {
        self.precedes_stamping()
            || matches!(
                self,
                Self::InvalidRunnable
                    | Self::RunTemplateNotFound
                    | Self::TemplateStampFailure
                    | Self::PolicyInvalid
                    | Self::SourceError
                    | Self::NewerRelease
            )
    }

    /// Returns true if only a person ends it, and there is no fault.
    #[must_use]
    pub fn waits_for_a_person(self) -> bool {
        matches!(self, Self::ApprovalRequired | Self::Suspended)
    }

    /// Returns true if it waits for a person, for an earlier run or for permissions. A change of
    /// the inputs usually changes the message in the status: what finally runs is read again.
    #[must_use]
    pub fn waits_beside_inputs(self) -> bool {
        self.waits_for_a_person() || matches!(self, Self::RunAtWork | Self::PermissionMissing)
    }

    /// Returns true if it comes before anything could be stamped, so that the status says nothing
    /// about a run.
    #[must_use]
    pub fn precedes_stamping(self) -> bool {
        matches!(
            self,
            Self::ServiceAccountError | Self::ServiceAccountTokenError | Self::ClientBuilderError
        )
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
