//! Categories of errors of a Runnable: a closed set, used as condition reason, event reason and
//! metric label.

use std::fmt;

/// The reason why a Runnable is not ready, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Category {
    /// It cannot be read: too deep, too large, or of another type than its schema says.
    InvalidRunnable,
    /// Its `ServiceAccount` cannot be used.
    ServiceAccountError,
    /// The controller gets no token for its `ServiceAccount`.
    ServiceAccountTokenError,
    /// No client can be built for its `ServiceAccount`.
    ClientBuilderError,
    /// Its template does not exist, or is not acceptable.
    RunTemplateNotFound,
    /// The template cannot be rendered for it, or its selector does not pick one object.
    TemplateStampFailure,
    /// The API server did not accept the run, or did not answer.
    StampedObjectRejectedByAPIServer,
    /// Its runs cannot be listed or read.
    FailedToListCreatedObjects,
    /// The newest successful run lacks an output.
    OutputPathNotSatisfied,
    /// Outputs cannot be written to their objects.
    OutputSinkFailed,
    /// The name of the run is taken.
    NameConflict,
    /// Runs follow one another without a change by a user.
    RunawayDetected,
    /// A policy of the Runnable or its template cannot be used.
    PolicyInvalid,
    /// An input from another object cannot be used.
    SourceError,
    /// An input comes from an object or a key that does not exist yet, or the next run waits for
    /// the sources of its inputs.
    DependencyNotReady,
    /// A run is pending, and the sources of its inputs allow none before a user corrects them.
    DependencyFailed,
    /// The inputs of the Runnable derive from its own outputs.
    DependencyCycle,
    /// Several profiles match, and none outranks the others.
    ProfileAmbiguous,
    /// No profile can be used.
    ProfileNotFound,
    /// No change is pending, and a request to choose the profile again can choose none.
    ProfileNotRefreshed,
    /// The profile cannot be applied to what is rendered.
    ProfileDoesNotFit,
    /// The pods of the next run lack a permission that its template requires.
    PermissionMissing,
    /// A run is pending, and waits until what is rendered has stayed the same for a while.
    Debouncing,
    /// A run is pending, and needs approval.
    ApprovalRequired,
    /// A run is pending, and a person has rejected it.
    Rejected,
    /// A run is pending, and may not begin while an earlier one is at work.
    RunAtWork,
    /// A run was requested to stop, and is still at work.
    StopFailed,
    /// Another controller writes the same status.
    OtherController,
    /// A run is pending, and the Runnable is suspended.
    Suspended,
    /// It is of a newer release: its status needs a feature, or its Runnable, template or profile
    /// has a field, that this release does not know.
    NewerRelease,
    /// A run is pending, and the installed definitions of our kinds are older than this release.
    DefinitionsOutdated,
    /// Anything else.
    UnknownError,
}

impl Category {
    /// All categories, for metrics that exist from the start.
    pub const ALL: [Self; 32] = [
        Self::InvalidRunnable,
        Self::ServiceAccountError,
        Self::ServiceAccountTokenError,
        Self::ClientBuilderError,
        Self::RunTemplateNotFound,
        Self::TemplateStampFailure,
        Self::StampedObjectRejectedByAPIServer,
        Self::FailedToListCreatedObjects,
        Self::OutputPathNotSatisfied,
        Self::OutputSinkFailed,
        Self::NameConflict,
        Self::RunawayDetected,
        Self::PolicyInvalid,
        Self::SourceError,
        Self::DependencyNotReady,
        Self::DependencyFailed,
        Self::DependencyCycle,
        Self::ProfileAmbiguous,
        Self::ProfileNotFound,
        Self::ProfileNotRefreshed,
        Self::ProfileDoesNotFit,
        Self::PermissionMissing,
        Self::Debouncing,
        Self::ApprovalRequired,
        Self::Rejected,
        Self::RunAtWork,
        Self::StopFailed,
        Self::OtherController,
        Self::Suspended,
        Self::NewerRelease,
        Self::DefinitionsOutdated,
        Self::UnknownError,
    ];

    /// Returns the name in conditions.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRunnable => "InvalidRunnable",
            Self::ServiceAccountError => "ServiceAccountError",
            Self::ServiceAccountTokenError => "ServiceAccountTokenError",
            Self::ClientBuilderError => "ClientBuilderError",
            Self::RunTemplateNotFound => "RunTemplateNotFound",
            Self::TemplateStampFailure => "TemplateStampFailure",
            Self::StampedObjectRejectedByAPIServer => "StampedObjectRejectedByAPIServer",
            Self::FailedToListCreatedObjects => "FailedToListCreatedObjects",
            Self::OutputPathNotSatisfied => "OutputPathNotSatisfied",
            Self::OutputSinkFailed => "OutputSinkFailed",
            Self::NameConflict => "NameConflict",
            Self::RunawayDetected => "RunawayDetected",
            Self::PolicyInvalid => "PolicyInvalid",
            Self::SourceError => "SourceError",
            Self::DependencyNotReady => "DependencyNotReady",
            Self::DependencyFailed => "DependencyFailed",
            Self::DependencyCycle => "DependencyCycle",
            Self::ProfileAmbiguous => "ProfileAmbiguous",
            Self::ProfileNotFound => "ProfileNotFound",
            Self::ProfileNotRefreshed => "ProfileNotRefreshed",
            Self::ProfileDoesNotFit => "ProfileDoesNotFit",
            Self::PermissionMissing => "PermissionMissing",
            Self::Debouncing => "Debouncing",
            Self::ApprovalRequired => "ApprovalRequired",
            Self::Rejected => "Rejected",
            Self::RunAtWork => "RunAtWork",
            Self::StopFailed => "StopFailed",
            Self::OtherController => "OtherController",
            Self::Suspended => "Suspended",
            Self::NewerRelease => "NewerRelease",
            Self::DefinitionsOutdated => "DefinitionsOutdated",
            Self::UnknownError => "UnknownError",
        }
    }

    /// Returns the category of a condition's reason, or `None` if it is another reason.
    #[must_use]
    pub fn parse(reason: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|category| category.as_str() == reason)
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
