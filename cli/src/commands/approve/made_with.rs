//! Whether what is shown is made with the profile that is asked about.

use anyhow::bail;
use cartouche_crds::{Approval, ProfileVersion};

use crate::live::place::Place;

/// An error unless what is shown is made with the profile that the controller asks about, as it was then: nobody has seen another
/// one.
pub(super) fn is_made_with(
    approval: &Approval,
    shown: Result<Option<&ProfileVersion>, &str>,
    unverified: bool,
    (name, place): (&str, &Place),
) -> anyhow::Result<()> {
    let asked = approval.profile.as_ref();
    match shown {
        Ok(shown) if shown == asked => Ok(()),
        Ok(shown) => {
            let said = |profile: Option<&ProfileVersion>| {
                profile.map_or_else(|| "no profile".to_owned(), ToString::to_string)
            };
            let again = place.command(&format!("approve {name}"));
            bail!(
                "what waits of {name} is made with {}, and would be with {} now: nothing is approved\n\
                 hint: something has just changed, or the controller has yet to see it: wait a moment, and look again: `{again}`",
                said(asked),
                said(shown)
            )
        }
        // Without a profile it is shown as it is made.
        Err(_) if asked.is_none() || unverified => Ok(()),
        Err(why) => bail!(
            "{why}; what waits is made with one: nothing is approved\n\
             hint: whoever may list ClusterRunProfiles can approve it; --unverified approves what the status asks about"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_made_with_the_profile_that_the_controller_asks_about() {
        let place = Place::new("shop", "demo");
        let of = |asked: &str, shown: Result<Option<&str>, &str>, unverified| {
            let shown = shown.map(|shown| shown.and_then(ProfileVersion::of));
            let shown = shown.as_ref().map(Option::as_ref).map_err(|why| *why);
            let approval = Approval::of(asked).unwrap();
            is_made_with(&approval, shown, unverified, ("hello", &place))
                .map_err(|it| it.to_string())
        };
        for shown in [Ok(Some("gke@3")), Ok(Some("aks@4")), Ok(None)] {
            let error = of("4:v1:a:gke@4", shown, true).unwrap_err();
            assert!(error.contains("is made with gke@4"), "{error}");
        }
        assert!(of("4:v1:a", Ok(Some("gke@4")), false).is_err());
        assert_eq!(of("4:v1:a:gke@4", Ok(Some("gke@4")), false), Ok(()));
        assert_eq!(of("4:v1:a", Ok(None), false), Ok(()));
        // Who may not list profiles sees what is made without one.
        assert_eq!(of("4:v1:a", Err("unlisted"), false), Ok(()));
        assert!(
            of("4:v1:a:gke@4", Err("unlisted"), false)
                .unwrap_err()
                .starts_with("unlisted")
        );
        assert_eq!(of("4:v1:a:gke@4", Err("unlisted"), true), Ok(()));
    }
}
