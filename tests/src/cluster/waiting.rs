//! Waits for a condition, with the state at the end in the message of a failure.

use std::{
    fmt::Debug,
    future::Future,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use kube::{Api, ResourceExt};
use serde::{Serialize, de::DeserializeOwned};

use super::Cluster;
use crate::{error_text::in_full, progress::elapsed};

/// Interval between two looks.
const INTERVAL: Duration = Duration::from_millis(50);

/// Maximum time of one look: a suspended server never answers a request.
const LOOK: Duration = Duration::from_secs(10);

/// Result of one look.
#[derive(Debug)]
pub enum Seen<T> {
    /// The wanted state.
    Done(T),
    /// Not yet: the present state, for the message of a failure.
    NotYet(String),
}

/// Looks repeatedly until `look` finds the wanted state. An error of `look` counts as "not yet", because
/// tests kill servers. `what` completes the sentence "waited for ...".
pub async fn eventually<T, Looking, Look>(
    what: &str,
    at_most: Duration,
    mut look: Looking,
) -> Result<T>
where
    Looking: FnMut() -> Look,
    Look: Future<Output = Result<Seen<T>>>,
{
    let begin = Instant::now();
    let mut last = "nothing was seen".to_owned();
    loop {
        let left = at_most.saturating_sub(begin.elapsed());
        match tokio::time::timeout(left.min(LOOK), look()).await {
            Ok(Ok(Seen::Done(found))) => return Ok(found),
            Ok(Ok(Seen::NotYet(state))) => last = state,
            Ok(Err(error)) => last = format!("error: {}", in_full(&error)),
            Err(_) => last = format!("a look did not end; before it: {last}"),
        }
        if begin.elapsed() + INTERVAL > at_most {
            bail!(
                "waited {} in vain for {what}\nlast state: {last}",
                elapsed(at_most)
            );
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

impl Cluster {
    /// Waits as [`eventually`] does. A failure also shows the ends of the logs of the controllers that were
    /// started on this cluster.
    pub async fn eventually<T, Looking, Look>(
        &self,
        what: &str,
        at_most: Duration,
        look: Looking,
    ) -> Result<T>
    where
        Looking: FnMut() -> Look,
        Look: Future<Output = Result<Seen<T>>>,
    {
        let outcome = eventually(what, at_most, look).await;
        outcome.map_err(|error| anyhow::anyhow!("{error:#}\n{}", self.log_tails("")))
    }

    /// Waits until the named object is as wanted and returns it. The message of a failure shows the last
    /// state of the object.
    pub async fn wait_for<K>(
        &self,
        api: &Api<K>,
        name: &str,
        what: &str,
        at_most: Duration,
        wanted: impl Fn(&K) -> bool,
    ) -> Result<K>
    where
        K: Clone + DeserializeOwned + Debug + Serialize + ResourceExt,
    {
        let wanted = &wanted;
        self.eventually(what, at_most, || async move {
            match api.get_opt(name).await? {
                Some(object) if wanted(&object) => Ok(Seen::Done(object)),
                Some(object) => Ok(Seen::NotYet(shown(&object)?)),
                None => Ok(Seen::NotYet(format!("{name} does not exist"))),
            }
        })
        .await
    }

    /// Waits until the named object is gone.
    pub async fn wait_until_gone<K>(
        &self,
        api: &Api<K>,
        name: &str,
        at_most: Duration,
    ) -> Result<()>
    where
        K: Clone + DeserializeOwned + Debug + Serialize + ResourceExt,
    {
        self.eventually(&format!("{name} to be gone"), at_most, || async move {
            match api.get_opt(name).await? {
                None => Ok(Seen::Done(())),
                Some(object) => Ok(Seen::NotYet(shown(&object)?)),
            }
        })
        .await
    }
}

/// Returns an object as YAML, without its managed fields.
fn shown<K: Clone + Serialize + ResourceExt>(object: &K) -> Result<String> {
    let mut object = object.clone();
    object.managed_fields_mut().clear();
    serde_saphyr::to_string(&object).context("showing an object as YAML")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_seen_late_is_returned() {
        let mut looks = 0;
        let found = eventually("the third look", Duration::from_secs(5), || {
            looks += 1;
            let seen = if looks == 3 {
                Seen::Done(looks)
            } else {
                Seen::NotYet(format!("look {looks}"))
            };
            async { Ok(seen) }
        })
        .await;
        assert_eq!(found.unwrap(), 3);
    }

    #[tokio::test]
    async fn what_never_comes_is_an_error_with_the_last_state() {
        let outcome = eventually("a miracle", Duration::from_millis(120), || async {
            Ok(Seen::<()>::NotYet("an ordinary day".to_owned()))
        })
        .await;
        let message = outcome.unwrap_err().to_string();
        assert!(message.contains("for a miracle"), "{message}");
        assert!(message.contains("last state: an ordinary day"), "{message}");
    }

    #[tokio::test]
    async fn a_look_that_hangs_ends_in_time() {
        let begin = Instant::now();
        let outcome = eventually("an answer", Duration::from_millis(200), || async {
            std::future::pending::<Result<Seen<()>>>().await
        })
        .await;
        assert!(outcome.is_err());
        assert!(begin.elapsed() < Duration::from_secs(2));
    }
}
