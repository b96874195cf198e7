//! What a Runnable is pinned to, and when that changes.

use cartouche_crds::{PinnedProfile, UnknownFields};

use super::choice::{Candidate, Choice, Subject, choose, rank};
use crate::diagnosis::{Held, NotRefreshed};

/// What a Runnable is pinned to, as its status has it, and its runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The name of the profile.
    pub name: String,
    /// The request to choose anew that it answers.
    pub refresh_token: Option<String>,
}

/// Where the pin of a Runnable is known from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Known {
    /// From its status; `None` if it is not pinned, which is what a Runnable without a profile is.
    Status(Option<Pin>),
    /// From its newest run, since its status was lost; `None` if that has none. Whoever may make runs can have written it.
    Run(Option<Pin>),
}

impl Known {
    /// What a ledger has.
    #[must_use]
    pub fn of(pinned: Option<&PinnedProfile>) -> Self {
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
    /// As a ledger has it, once a run is made with it.
    #[must_use]
    pub fn pinned(self) -> PinnedProfile {
        PinnedProfile {
            name: self.name,
            refresh_token: self.refresh_token,
            from_run: false,
            unknown_fields: UnknownFields::default(),
        }
    }
}

/// What the next run is made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// What the Runnable is pinned to then, which is written with the intent; `None` if there is no profile for it.
    pub pin: Option<Pin>,
    /// Why a request to choose anew was not followed. It is, once that is mended.
    pub not_refreshed: Option<NotRefreshed>,
}

/// What the next run of a Runnable is made with. `requested` is the request to choose anew that the Runnable carries, whether
/// or not it was answered.
pub fn pin(
    known: &Known,
    requested: Option<&str>,
    profiles: &[Candidate<'_>],
    subject: &Subject<'_>,
) -> Result<Settled, Held> {
    let (Known::Status(pinned) | Known::Run(pinned)) = known;
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

/// The pin as it is, if it may still be used.
fn kept(
    known: &Known,
    pinned: &Pin,
    not_refreshed: Option<NotRefreshed>,
    profiles: &[Candidate<'_>],
    subject: &Subject<'_>,
) -> Result<Settled, Held> {
    let name = pinned.name.clone();
    let profile = profiles.iter().find(|profile| profile.name == name);
    let matches = || profile.and_then(|it| rank(it.spec, subject)).is_some();
    match known {
        Known::Run(_) if !matches() => Err(Held::Unproven {
            name,
            not_refreshed,
        }),
        Known::Status(_) if profile.is_none() => Err(Held::Gone {
            name,
            not_refreshed,
        }),
        _ => Ok(Settled {
            pin: Some(pinned.clone()),
            not_refreshed,
        }),
    }
}
