//! Reasons why no profile can be used for a run, with sentences and cures.

use crate::category::Category;

/// The reason why no profile can be chosen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unchosen {
    /// Several match with the same rank. The field lists their names.
    #[error("the profiles {} match with the same rank", listed(.0))]
    Ambiguous(Vec<String>),
    /// None matches, and the template makes no run without one. The field says why the nearest does
    /// not match.
    #[error("no profile matches, and the template requires one{}", near(.0.as_deref()))]
    NoneMatches(Option<String>),
    /// One that matches, as far as this release knows, has fields that it does not know. They may
    /// exclude this profile or include another.
    #[error("the profile '{name}' has fields that this release of Cartouche does not know: {}", .fields.join(", "))]
    Newer {
        /// Its name.
        name: String,
        /// The fields, by path.
        fields: Vec<String>,
    },
    /// The one in `spec.profileName` is none of those that match with the highest rank.
    #[error("spec.profileName is '{name}', and {}", offer(.offered))]
    NotOffered {
        /// Its name.
        name: String,
        /// Those that match with the highest rank.
        offered: Vec<String>,
    },
}

fn listed(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    quoted.join(", ")
}

fn offer(offered: &[String]) -> String {
    match offered {
        [] => "no profile matches".to_owned(),
        [one] => format!("the profile that matches is '{one}'"),
        several => format!("the profiles that match are {}", listed(several)),
    }
}

impl Unchosen {
    /// Returns the category.
    #[must_use]
    pub fn category(&self) -> Category {
        match self {
            Self::Ambiguous(_) => Category::ProfileAmbiguous,
            Self::NoneMatches(_) | Self::NotOffered { .. } => Category::ProfileNotFound,
            Self::Newer { .. } => Category::NewerRelease,
        }
    }

    /// Returns the cure.
    #[must_use]
    pub fn cure(&self) -> &'static str {
        match self {
            Self::Ambiguous(_) => {
                "set spec.profileName to one of them, or make one rule more specific"
            }
            Self::NoneMatches(_) => {
                "change a rule or a label so that a profile matches: `cartouche profile which` shows what each rule requires"
            }
            Self::Newer { .. } => {
                "upgrade the controller, or remove these fields if they are not needed"
            }
            Self::NotOffered { offered, .. } if offered.is_empty() => {
                "remove spec.profileName, or make a rule of that profile match"
            }
            Self::NotOffered { .. } => "set spec.profileName to one that matches, or remove it",
        }
    }
}

fn near(miss: Option<&str>) -> String {
    miss.map_or_else(String::new, |miss| format!(" (the nearest is {miss})"))
}

/// The reason why a request to choose the profile again leaves the pin as it is: no profile can be
/// chosen, or none matches.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no other profile can be chosen: {}",
    .0.as_ref().map_or_else(|| "none matches".to_owned(), Unchosen::to_string)
)]
pub struct NotRefreshed(pub Option<Unchosen>);

/// The reason why no run is made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Held {
    /// No profile can be chosen.
    #[error(transparent)]
    Unchosen(#[from] Unchosen),
    /// The pinned profile does not exist.
    #[error("its profile '{name}' does not exist{}", and(not_refreshed.as_ref()))]
    Gone {
        /// The name of the profile.
        name: String,
        /// The reason why a request to choose again did not help, if there was one.
        not_refreshed: Option<NotRefreshed>,
    },
    /// The status was lost, and the profile of the newest run does not match any more.
    #[error(
        "its status was lost, and the profile '{name}' of its newest run does not match any more{}",
        and(not_refreshed.as_ref())
    )]
    Unproven {
        /// The name of the profile.
        name: String,
        /// The reason why a request to choose again did not help, if there was one.
        not_refreshed: Option<NotRefreshed>,
    },
}

fn and(not_refreshed: Option<&NotRefreshed>) -> String {
    not_refreshed.map_or_else(String::new, |why| format!(", and {why}"))
}

impl NotRefreshed {
    /// Returns the cure.
    #[must_use]
    pub fn cure(&self) -> &'static str {
        let Self(why) = self;
        why.as_ref().map_or(
            "change a rule or a label so that a profile matches",
            Unchosen::cure,
        )
    }
}

impl Held {
    /// Returns the category.
    #[must_use]
    pub fn category(&self) -> Category {
        match self {
            Self::Unchosen(unchosen) => unchosen.category(),
            Self::Gone { .. } | Self::Unproven { .. } => Category::ProfileNotFound,
        }
    }

    /// Returns the cure.
    #[must_use]
    pub fn cure(&self) -> &'static str {
        match self {
            Self::Unchosen(unchosen) => unchosen.cure(),
            Self::Gone {
                not_refreshed: Some(why),
                ..
            }
            | Self::Unproven {
                not_refreshed: Some(why),
                ..
            } => why.cure(),
            Self::Gone { .. } => {
                "create it again, or choose another one for the next run: `cartouche profile refresh`"
            }
            Self::Unproven { .. } => "choose another one: `cartouche profile refresh`",
        }
    }
}
