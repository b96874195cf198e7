//! What the profiles say of a Runnable that none of them matches.

use cartouche_crds::Runnable;

use super::which;
use crate::{cluster::Cluster, live::profiles};

/// The reasons why no profile matches where one has to, the nearest first. Nothing where the user may not read them.
pub(crate) async fn unmatched(runnable: &Runnable, cluster: &Cluster) -> Vec<String> {
    let Ok(profiles) = profiles::read(cluster).await else {
        return Vec::new();
    };
    let which = which::of(runnable, profiles.as_ref(), cluster).await;
    which.map(which::Which::unmatched).unwrap_or_default()
}
