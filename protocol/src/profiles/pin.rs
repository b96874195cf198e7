//! What a Runnable is pinned to, and when that changes.

use super::choice::{Candidate, Choice, Subject, Unchosen, choose, rank};

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

/// What the next run is made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// What the Runnable is pinned to then, which is written with the intent; `None` if there is no profile for it.
    pub pin: Option<Pin>,
    /// Why a request to choose anew was not followed. It is, once that is mended.
    pub not_refreshed: Option<NotRefreshed>,
}

/// Why a request to choose anew leaves the pin as it is: no profile can be chosen, or none matches.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no other profile can be chosen: {}",
    .0.as_ref().map_or_else(|| "none matches".to_owned(), Unchosen::to_string)
)]
pub struct NotRefreshed(pub Option<Unchosen>);

/// Why no run is made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Held {
    /// No profile can be chosen.
    #[error(transparent)]
    Unchosen(#[from] Unchosen),
    /// The profile that it is pinned to is not there.
    #[error("its profile '{name}' is not there: make it again, or {}", refresh(not_refreshed.as_ref()))]
    Gone {
        /// The name of the profile.
        name: String,
        /// Why a request to choose anew did not help, if there was one.
        not_refreshed: Option<NotRefreshed>,
    },
    /// Its status was lost, and the profile of its newest run is not one that matches today.
    #[error(
        "its status was lost, and the profile '{name}' of its newest run does not match any more: {}",
        refresh(not_refreshed.as_ref())
    )]
    Unproven {
        /// The name of the profile.
        name: String,
        /// Why a request to choose anew did not help, if there was one.
        not_refreshed: Option<NotRefreshed>,
    },
}

fn refresh(not_refreshed: Option<&NotRefreshed>) -> String {
    let cure = "refresh the Runnable so that another one is chosen";
    not_refreshed.map_or_else(
        || cure.to_owned(),
        |why| format!("let another one match; {why}"),
    )
}

impl Held {
    /// The reason that a condition gives.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Unchosen(unchosen) => unchosen.reason(),
            Self::Gone { .. } | Self::Unproven { .. } => "ProfileNotFound",
        }
    }
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
