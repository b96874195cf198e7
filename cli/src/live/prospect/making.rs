//! The number, request and profile of a run that is shown.

use std::sync::Arc;

use cartouche_authoring::render::{self, DraftRun, RenderSubject, profiles::With};
use cartouche_crds::{PinnedProfile, ProfileVersion};
use cartouche_protocol::{
    facts::{RunnableFacts, Unknown, choose_profile},
    ledger::{Due, Ledger},
    messages::diagnosis::{Diagnosis, Fault, Held, NotRefreshed},
    profiles::{KnownProfile, Profiles},
};

use crate::{cluster::TEMPLATES_VIEW, outcome::to_error};

/// Message if the profile is unknown because of rules that select namespaces.
const NO_NAMESPACE: &str = "its profile is unknown, because you may not read the namespace, whose labels a rule selects: it is shown without one";

/// Returns the message if the profiles cannot be listed.
fn not_listed() -> String {
    format!(
        "its profile is unknown, because you may not list ClusterRunProfiles (the ClusterRole {TEMPLATES_VIEW} lets you): it is shown without one"
    )
}

/// Facts of the run that is shown.
pub(super) struct Making<'a> {
    ledger: &'a Ledger,
    is_present: bool,
    /// The run exists, so no problem with its profile prevents it.
    is_made: bool,
    sequence: i64,
    rerun_token: Option<String>,
}

/// Profile that the run is made with.
pub(super) enum ChosenProfile {
    Without,
    /// A profile, the pin, and the reason why a refresh was not followed.
    With(Arc<KnownProfile>, PinnedProfile, Option<NotRefreshed>),
    Unknown(String),
}

impl<'a> Making<'a> {
    /// Describes the current run if it is the rendered one, or else the next one.
    pub(super) fn new(ledger: &'a Ledger, due: Option<Due>, facts: &RunnableFacts) -> Self {
        let present = match due {
            None | Some(Due::New(_)) => None,
            Some(Due::Pending(present) | Due::Nothing(present) | Due::OtherHash(present)) => {
                Some(present)
            }
        };
        let next = match due {
            Some(Due::New(next)) => next,
            _ => ledger.next_sequence(),
        };
        let token = facts.rerun_token.as_deref();
        let token = match (present, &ledger.current) {
            (Some(_), Some(current)) => current.rerun_token.as_deref(),
            _ => token.filter(|_| token != ledger.answered_by_seen()),
        };
        Self {
            ledger,
            is_present: present.is_some(),
            is_made: matches!(due, Some(Due::Nothing(_) | Due::OtherHash(_))),
            sequence: present.unwrap_or(next),
            rerun_token: token.map(str::to_owned),
        }
    }

    /// Describes the next run, whether or not a change is pending.
    pub(super) fn next(ledger: &'a Ledger, facts: &RunnableFacts) -> Self {
        Self::new(ledger, None, facts)
    }

    /// Returns the profile. For the current run it is the pinned one in its present version, for the next run the one
    /// that the controller would choose. If the controller would make no run, that is an error.
    pub(super) fn with(
        &self,
        facts: &RunnableFacts,
        profiles: Option<&Profiles>,
        is_required: bool,
    ) -> anyhow::Result<ChosenProfile> {
        let Some(profiles) = profiles else {
            return Ok(ChosenProfile::Unknown(not_listed()));
        };
        let (pinned, not_refreshed) = if self.is_present {
            (self.ledger.profile.as_deref().cloned(), None)
        } else {
            match choose_profile(facts, profiles, is_required, self.ledger) {
                Ok(chosen) => (chosen.pinned, chosen.not_refreshed),
                Err(Unknown::Namespace) => {
                    return Ok(ChosenProfile::Unknown(NO_NAMESPACE.to_owned()));
                }
                Err(Unknown::Held(held)) => return Err(to_error(&Diagnosis::Profile(held))),
            }
        };
        let Some(pinned) = pinned else {
            return Ok(ChosenProfile::Without);
        };
        match profiles.get(&pinned.name) {
            None if self.is_made => Ok(ChosenProfile::Unknown(format!(
                "its profile '{}' no longer exists: it is shown without one",
                pinned.name
            ))),
            Some(known) => Ok(ChosenProfile::With(
                Arc::clone(known),
                pinned,
                not_refreshed,
            )),
            None => Err(to_error(&Diagnosis::Profile(Held::Gone {
                name: pinned.name,
                not_refreshed: None,
            }))),
        }
    }
}

impl ChosenProfile {
    /// Renders the run. A run that exists is rendered without its profile if that no longer fits.
    pub(super) fn made_or_without(
        self,
        subject: RenderSubject<'_>,
        making: &Making<'_>,
    ) -> anyhow::Result<(Self, DraftRun)> {
        match self.render_run(subject, making) {
            Ok(run) => Ok((self, run)),
            Err(error) if making.is_made => {
                let said = error.to_string();
                let said = said.lines().next().unwrap_or_default();
                let without = Self::Unknown(format!("{said}: it is shown without its profile"));
                let run = without.render_run(subject, making)?;
                Ok((without, run))
            }
            Err(error) => Err(error),
        }
    }

    /// Renders the run with its profile.
    fn render_run(
        &self,
        subject: RenderSubject<'_>,
        making: &Making<'_>,
    ) -> anyhow::Result<DraftRun> {
        let misfit = |name: &str, problems: &[_]| {
            let faults = Fault::all(problems);
            to_error(&Diagnosis::ProfileDoesNotFit(name.to_owned(), faults))
        };
        let with = match self {
            Self::With(known, pinned, _) => {
                let with = With::from_profile(known, pinned.refresh_token.as_deref());
                Some(with.map_err(|problems| misfit(&pinned.name, problems))?)
            }
            Self::Without | Self::Unknown(_) => None,
        };
        let subject = RenderSubject { with, ..subject };
        let run = render::run_numbered(&subject, making.sequence, making.rerun_token.as_deref());
        run.map_err(|found| match self {
            Self::With(_, pinned, _) => misfit(&pinned.name, &found),
            Self::Without => unrendered(subject.template_name, Fault::all(&found)),
            Self::Unknown(why) => {
                unrendered(subject.template_name, Fault::all(&found)).context(why.clone())
            }
        })
    }

    /// Returns the present version of the profile.
    pub(super) fn version(&self) -> Option<ProfileVersion> {
        match self {
            Self::With(known, ..) => Some(known.version.clone()),
            Self::Without | Self::Unknown(_) => None,
        }
    }

    /// Returns the reason why the profile is unknown.
    pub(super) fn unknown_reason(&self) -> Option<String> {
        match self {
            Self::Unknown(why) => Some(why.clone()),
            Self::Without | Self::With(..) => None,
        }
    }

    /// Returns the reason why a refresh was not followed.
    pub(super) fn not_refreshed(&self) -> Option<String> {
        match self {
            Self::With(_, _, why) => why.as_ref().map(ToString::to_string),
            Self::Without | Self::Unknown(_) => None,
        }
    }
}

/// Returns the error for a template that cannot be rendered or compiled.
pub(super) fn unrendered(template: &str, faults: Vec<Fault>) -> anyhow::Error {
    to_error(&Diagnosis::Unrendered(template.to_owned(), faults))
}
