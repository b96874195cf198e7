//! The pin of a Runnable to a profile, and its changes.

use cartouche_crds::{PinnedProfile, UnknownFields};

use super::choice::{Candidate, Choice, Subject, choose, rank};
use crate::messages::diagnosis::{Held, NotRefreshed};

/// A pin, as the status of a Runnable and its runs have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The name of the profile.
    pub name: String,
    /// The request to choose again that it answers.
    pub refresh_token: Option<String>,
}

/// The source that the pin of a Runnable is known from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PinOrigin {
    /// Its status; `None` if it is not pinned, like every Runnable without a profile.
    Status(Option<Pin>),
    /// Its newest run, since its status was lost; `None` if that has none. Any client that may
    /// create runs can have written it.
    Run(Option<Pin>),
}

impl PinOrigin {
    /// Returns the pin of a ledger.
    #[must_use]
    pub fn from_pin(pinned: Option<&PinnedProfile>) -> Self {
        let pin = pinned.map(|it| Pin {
            name: it.name.clone(),
            refresh_token: it.refresh_token.clone(),
        });
        if pinned.is_some_and(|it| it.from_run) {
            Self::Run(pin)
        } else {
            Self::Status(pin)
        }
    }
}

impl Pin {
    /// Returns the pin for a ledger, once a run is made with it.
    #[must_use]
    pub fn into_profile(self) -> PinnedProfile {
        PinnedProfile {
            name: self.name,
            refresh_token: self.refresh_token,
            from_run: false,
            unknown_fields: UnknownFields::default(),
        }
    }
}

/// The profile of the next run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// The pin that is written with the intent; `None` if there is no profile for the Runnable.
    pub pin: Option<Pin>,
    /// The reason why a request to choose again was not followed. It is followed once that is
    /// corrected.
    pub not_refreshed: Option<NotRefreshed>,
}

/// Returns the pin of the next run. `requested` is the request to choose again that the Runnable
/// carries, answered or not.
pub fn pin(
    known: &PinOrigin,
    requested: Option<&str>,
    profiles: &[Candidate<'_>],
    subject: &Subject<'_>,
) -> Result<Settled, Held> {
    let (PinOrigin::Status(pinned) | PinOrigin::Run(pinned)) = known;
    let Some(pinned) = pinned else {
        let chosen = choose(profiles, subject)?;
        return Ok(settled(chosen, requested));
    };
    // A request that is taken away asks for nothing.
    if requested.is_none_or(|requested| pinned.refresh_token.as_deref() == Some(requested)) {
        return kept(known, pinned, None, profiles, subject);
    }
    let not_refreshed = match choose(profiles, subject) {
        Ok(chosen @ Choice::Profile(_)) => return Ok(settled(chosen, requested)),
        Ok(Choice::Nothing) => NotRefreshed(None),
        Err(unchosen) => NotRefreshed(Some(unchosen)),
    };
    kept(known, pinned, Some(not_refreshed), profiles, subject)
}

fn settled(chosen: Choice<'_>, requested: Option<&str>) -> Settled {
    let pin = match chosen {
        Choice::Profile(name) => Some(Pin {
            name: name.to_owned(),
            refresh_token: requested.map(str::to_owned),
        }),
        Choice::Nothing => None,
    };
    Settled {
        pin,
        not_refreshed: None,
    }
}

/// Returns the pin as it is, if it may still be used.
fn kept(
    known: &PinOrigin,
    pinned: &Pin,
    not_refreshed: Option<NotRefreshed>,
    profiles: &[Candidate<'_>],
    subject: &Subject<'_>,
) -> Result<Settled, Held> {
    let name = pinned.name.clone();
    let profile = profiles.iter().find(|profile| profile.name == name);
    let matches = || profile.and_then(|it| rank(it.spec, subject)).is_some();
    match known {
        PinOrigin::Run(_) if !matches() => Err(Held::Unproven {
            name,
            not_refreshed,
        }),
        PinOrigin::Status(_) if profile.is_none() => Err(Held::Gone {
            name,
            not_refreshed,
        }),
        _ => Ok(Settled {
            pin: Some(pinned.clone()),
            not_refreshed,
        }),
    }
}
