//! What can be wrong with a Runnable: a closed set of categories, used alike as condition reason,
//! event reason and metric label.

use std::fmt;

/// Why a Runnable is not ready, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Category {
    /// It cannot be read: too deep, too large, or of another type than its schema says.
    InvalidRunnable,
    /// Its `ServiceAccount` cannot be used.
    ServiceAccountError,
    /// No token can be had for its `ServiceAccount`.
    ServiceAccountTokenError,
    /// No client can be built for its `ServiceAccount`.
    ClientBuilderError,
    /// Its template is not there, or not acceptable.
    RunTemplateNotFound,
    /// The template cannot be rendered for it, or its selector does not pick one object.
    TemplateStampFailure,
    /// The API server did not accept the run, or did not answer.
    StampedObjectRejectedByAPIServer,
    /// Its runs cannot be listed or read.
    FailedToListCreatedObjects,
    /// The newest successful run lacks an output.
    OutputPathNotSatisfied,
    /// Outputs cannot be written to the objects that they are to go to.
    OutputSinkFailed,
    /// The name of the run is taken.
    NameConflict,
    /// Runs follow each other without anybody changing anything.
    RunawayDetected,
    /// What it, or its template, asks for beside what is run cannot be used.
    PolicyInvalid,
    /// An input from another object cannot be used.
    SourceError,
    /// An input comes from an object or a key that is not there yet, or a run that is due waits for what its inputs come from.
    DependencyNotReady,
    /// A run is due, and cannot be made of what its inputs come from before somebody mends that.
    DependencyFailed,
    /// The inputs of the Runnable stem from itself.
    DependencyCycle,
    /// Several profiles match, and none of them says more than the others.
    ProfileAmbiguous,
    /// There is no profile that can be used.
    ProfileNotFound,
    /// Nothing is due, and a request to choose the profile anew can choose nothing.
    ProfileNotRefreshed,
    /// The profile cannot be applied to what is rendered.
    ProfileDoesNotFit,
    /// The pods of the run that is due may not do what its template requires.
    PermissionMissing,
    /// A run is due, and waits until what is rendered has stayed the same for a while.
    Debouncing,
    /// A run is due, and nobody has approved it yet.
    ApprovalRequired,
    /// A run is due, and a person has refused it.
    Rejected,
    /// A run is due, and no run may begin while an earlier one is at work.
    RunAtWork,
    /// A run was told to stop, and is still at work.
    StopFailed,
    /// Another controller writes the same status.
    OtherController,
    /// A run is due, and the Runnable is suspended.
    Suspended,
    /// It is of a newer release: its status needs what this release does not know, or what it is made of has fields that
    /// this release does not know.
    NewerRelease,
    /// A run is due, and the definitions of our kinds that are installed are of an older release than this one.
    DefinitionsOutdated,
    /// Anything else.
    UnknownError,
}

impl Category {
    /// Every category, for metrics that are there from the start.
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

    /// As it stands in a condition.
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

    /// The category of a condition's reason.
    #[must_use]
    pub fn parse(reason: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|category| category.as_str() == reason)
    }

    /// Whether a run that is due is held back by what somebody asked for, which is no fault.
    #[must_use]
    pub fn is_hold(self) -> bool {
        self == Self::Suspended || self.goes_before_the_run() && self != Self::Rejected
    }

    /// Whether it holds a run back until something happens that is on its way, or a person says yes, or for good since one has
    /// said no: whatever became of the run before is not what the Runnable stands at.
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

    /// True for what may hold back a run that has its number already, so that one may have been made before.
    #[must_use]
    pub fn waits_with_its_number(self) -> bool {
        matches!(
            self,
            Self::ApprovalRequired | Self::Rejected | Self::RunAtWork | Self::DefinitionsOutdated
        )
    }

    /// Whether it is of what inputs come from, of how the next run is made, or of another release: nothing is wrong with the run
    /// that there is.
    #[must_use]
    pub fn leaves_the_run(self) -> bool {
        matches!(self, Self::SourceError | Self::PermissionMissing)
            || matches!(self, Self::NewerRelease | Self::DefinitionsOutdated)
            || self.is_of_dependencies()
            || self.is_of_profiles()
    }

    /// True for what holds nothing back and is no fault of what runs: the conditions tell it beside what they say without it.
    #[must_use]
    pub fn is_remark(self) -> bool {
        self == Self::ProfileNotRefreshed
    }

    /// Whether it is of the profile that the next run is made with: what ends it is a change of profiles, or a request to choose
    /// anew.
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

    /// Whether a run that is due is held back by what its inputs come from.
    #[must_use]
    pub fn is_of_dependencies(self) -> bool {
        matches!(
            self,
            Self::DependencyNotReady | Self::DependencyFailed | Self::DependencyCycle
        )
    }

    /// Whether nothing can be rendered, or nothing be made of it, before somebody corrects it: whatever inputs come from, nobody
    /// looks at it.
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

    /// Whether only a person ends it, and nothing is wrong.
    #[must_use]
    pub fn waits_for_a_person(self) -> bool {
        matches!(self, Self::ApprovalRequired | Self::Suspended)
    }

    /// True for what waits for a person, for an earlier run or for permissions. A change of its inputs brings other words for the status, as a
    /// rule: what is run in the end is read anew.
    #[must_use]
    pub fn waits_beside_inputs(self) -> bool {
        self.waits_for_a_person() || matches!(self, Self::RunAtWork | Self::PermissionMissing)
    }

    /// Whether it stands before anything could be stamped, so that nothing is said of a run.
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
