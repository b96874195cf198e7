//! Consistent reads of templates, which reconciliations share. I/O.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

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

/// Time for which the answer to a read is used. It would hold for longer, but a run that waited should be of the
/// present template.
const FRESH_FOR: Duration = Duration::from_millis(100);

/// A read that was sent, and its answer.
#[derive(Clone)]
pub(super) struct TemplateRead {
    /// Time of the request, as [`moment`] counts.
    sent: u64,
    at: Duration,
    answer: Shared<BoxFuture<'static, Result<Arc<Compiled>, TemplateUnread>>>,
}

/// Reason why a template was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplateUnread {
    /// There is none of that name.
    Absent,
    /// Another error: its message.
    Failed(String),
}

impl Templates {
    /// Reads a template consistently for a Runnable that reached the cache at that [`moment`].
    ///
    /// A read that was sent after that may serve it. The write that follows proves, by its `resourceVersion`, that the
    /// Runnable has not changed since it arrived. The read lies in between, so there was a moment in which both were as
    /// they are rendered. But a reconciliation that writes nothing proves nothing, and its cause may be a change of the
    /// template that came after the answer. So an answer serves it only if it is what the cache has.
    pub async fn read(
        self: &Arc<Self>,
        name: &str,
        arrived: u64,
        requests: &Requests,
    ) -> Result<Arc<Compiled>, TemplateUnread> {
        let asked = moment();
        if let Some(read) = self.sent_since(name, arrived)
            && (read.answer.peek().is_none() || boot_time().saturating_sub(read.at) < FRESH_FOR)
            && let Ok(compiled) = read.answer.await
            && self.is_cached(name, &compiled)
        {
            return Ok(compiled);
        }
        let known = self.sent_since(name, asked);
        let read = known.unwrap_or_else(|| self.send(name, requests.clone()));
        read.answer.await
    }

    /// Returns the latest read, if it was sent after that moment and has not failed.
    fn sent_since(&self, name: &str, moment: u64) -> Option<TemplateRead> {
        let read = lock(&self.reads).get(name).cloned();
        read.filter(|read| read.sent > moment && !matches!(read.answer.peek(), Some(Err(_))))
    }

    fn is_cached(&self, name: &str, compiled: &Compiled) -> bool {
        let cached = self.store.get(&ObjectRef::new(name));
        cached.is_some_and(|cached| {
            let metadata = &cached.metadata;
            compiled.is_of(metadata.uid.as_deref(), metadata.generation)
        })
    }

    fn send(self: &Arc<Self>, name: &str, requests: Requests) -> TemplateRead {
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
        // A panic then fails one reconciliation, not all that share the answer.
        let answer = AssertUnwindSafe(answer).catch_unwind().map(|outcome| {
            outcome.unwrap_or_else(|_| Err(TemplateUnread::Failed("reading it panicked".into())))
        });
        let read = TemplateRead {
            sent,
            at,
            answer: answer.boxed().shared(),
        };
        let mut reads = lock(&self.reads);
        // Reads of deleted templates are dropped when another one comes.
        if reads.len() > self.store.len() {
            reads.retain(|name, _| self.store.get(&ObjectRef::new(name)).is_some());
        }
        reads.insert(key, read.clone());
        read
    }
}

#[cfg(test)]
mod tests;
