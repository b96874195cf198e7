//! Consistent reads of templates, which reconciliations share. I/O.

use std::{sync::Arc, time::Duration};

use cartouche_crds::API_VERSION;
use cartouche_protocol::compiled::Compiled;
use futures::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use kube::runtime::reflector::ObjectRef;
use serde_json::value::RawValue;

use super::Templates;
use crate::{
    api::{Requests, ResourcePath},
    clock::{boot_time, moment},
    lock::lock,
};

/// How long the answer to a read is used. The promise would hold for longer, but a run that waited should be of
/// the template as it is.
const FRESH_FOR: Duration = Duration::from_millis(100);

/// A read that was sent, and its answer.
#[derive(Clone)]
pub(super) struct Read {
    /// As [`moment`] counts.
    sent: u64,
    at: Duration,
    answer: Shared<BoxFuture<'static, Result<Arc<Compiled>, TemplateUnread>>>,
}

/// Why a template was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplateUnread {
    /// There is none of that name.
    Absent,
    /// What went wrong.
    Failed(String),
}

impl Templates {
    /// A consistent read of a template for a Runnable that reached the cache at that [`moment`].
    ///
    /// Whatever was sent after that serves it: the write that follows proves, by its resourceVersion, that the
    /// Runnable has not changed since it came, and the read lies in between, so that there was a moment in which both
    /// were as they are rendered. Who comes later takes the next one.
    pub async fn read(
        self: &Arc<Self>,
        name: &str,
        arrived: u64,
        requests: &Requests,
    ) -> Result<Arc<Compiled>, TemplateUnread> {
        let known = lock(&self.reads).get(name).cloned();
        let known = known.filter(|read| read.sent > arrived && self.is_usable(name, read));
        let read = known.unwrap_or_else(|| self.send(name, requests.clone()));
        read.answer.await
    }

    /// Whether its answer is still to come, or came a moment ago and is what the cache has.
    fn is_usable(&self, name: &str, read: &Read) -> bool {
        match read.answer.peek() {
            None => true,
            Some(Err(_)) => false,
            Some(Ok(compiled)) => {
                let cached = self.cached(name);
                boot_time().saturating_sub(read.at) < FRESH_FOR
                    && cached.is_some_and(|cached| Arc::ptr_eq(&cached, compiled))
            }
        }
    }

    fn send(self: &Arc<Self>, name: &str, requests: Requests) -> Read {
        let (sent, at) = (moment(), boot_time());
        let (templates, key) = (self.clone(), name.to_owned());
        let name = key.clone();
        let answer = async move {
            let path = ResourcePath::new(API_VERSION, "clusterruntemplates", None);
            match requests.get::<Box<RawValue>>(&path, &name).await {
                Ok(answer) => templates
                    .answered(&answer)
                    .map_err(|error| TemplateUnread::Failed(error.to_string())),
                Err(error) if error.is_not_found() => Err(TemplateUnread::Absent),
                Err(error) => Err(TemplateUnread::Failed(error.to_string())),
            }
        };
        let read = Read {
            sent,
            at,
            answer: answer.boxed().shared(),
        };
        let mut reads = lock(&self.reads);
        // Those of templates that are gone leave when another one comes.
        if reads.len() >= self.store.len() {
            reads.retain(|name, _| self.store.get(&ObjectRef::new(name)).is_some());
        }
        reads.insert(key, read.clone());
        read
    }
}

#[cfg(test)]
mod tests;
