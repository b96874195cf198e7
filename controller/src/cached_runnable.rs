//! A Runnable as the cache keeps it: small, while nobody looks at it.

use std::{
    ops::Deref,
    sync::{Arc, OnceLock},
};

use cartouche_crds::Runnable;
use cartouche_protocol::sources::Seen;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::clock::moment;

/// Inputs of more bytes than this are kept as text: as values, very many small maps take 35 times as much, and
/// whoever may write Runnables would decide how much memory is left for others.
const MOST_AS_VALUES: usize = 1024;
/// A Runnable whose inputs have more bytes than this is large.
const LARGE: usize = 64 * 1024;

/// A Runnable that may lack its inputs, which [`Self::whole`] puts back.
#[derive(Clone, Debug)]
pub struct CachedRunnable {
    runnable: Arc<Runnable>,
    /// The inputs that it lacks.
    inputs: Option<Arc<RawValue>>,
    /// When it was read out of an answer of the API server.
    arrived: u64,
    /// What decides about those whose inputs come from it, once any do.
    seen: OnceLock<Arc<Seen>>,
}

/// The inputs of a Runnable, unread.
#[derive(Deserialize)]
struct OnlyInputs<'a> {
    #[serde(borrow)]
    spec: OnlyInputsOfSpec<'a>,
}

#[derive(Deserialize)]
struct OnlyInputsOfSpec<'a> {
    #[serde(borrow)]
    inputs: Option<&'a RawValue>,
}

impl CachedRunnable {
    /// As small as it can be kept, if `text` is what it was read from.
    #[must_use]
    pub fn compacted(mut self, text: &str) -> Self {
        if text.len() <= MOST_AS_VALUES {
            return self;
        }
        let read: Option<OnlyInputs<'_>> = serde_json::from_str(text).ok();
        let inputs = read.and_then(|read| read.spec.inputs);
        if let Some(inputs) = inputs.filter(|inputs| inputs.get().len() > MOST_AS_VALUES) {
            self.inputs = Some(inputs.to_owned().into());
            Arc::make_mut(&mut self.runnable).spec.inputs = None;
        }
        self
    }

    /// All of it. Its inputs were read before, so that there is an error only by a mistake.
    pub fn whole(&self) -> serde_json::Result<Arc<Runnable>> {
        let Some(inputs) = &self.inputs else {
            return Ok(self.runnable.clone());
        };
        let mut runnable = Runnable::clone(&self.runnable);
        runnable.spec.inputs = Some(serde_json::from_str(inputs.get())?);
        Ok(Arc::new(runnable))
    }

    /// What decides about those whose inputs come from it.
    #[must_use]
    pub fn seen(&self) -> Arc<Seen> {
        let seen = || Arc::new(Seen::of(&self.runnable));
        self.seen.get_or_init(seen).clone()
    }

    /// When it came, as [`moment`] counts: in this version it was on the API server then.
    #[must_use]
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Whether it takes so much memory as a whole that few should be whole at the same time.
    #[must_use]
    pub fn is_large(&self) -> bool {
        let inputs = self.inputs.as_ref();
        inputs.is_some_and(|inputs| inputs.get().len() > LARGE)
    }
}

impl From<Runnable> for CachedRunnable {
    fn from(runnable: Runnable) -> Self {
        Self {
            runnable: Arc::new(runnable),
            inputs: None,
            arrived: moment(),
            seen: OnceLock::new(),
        }
    }
}

/// All but the inputs, as it were.
impl Deref for CachedRunnable {
    type Target = Runnable;

    fn deref(&self) -> &Runnable {
        &self.runnable
    }
}

/// The kind of another type, for one that holds an object of it.
macro_rules! kind_of {
    ($inner:ty) => {
        type DynamicType = ();
        type Scope = <$inner as ::kube::Resource>::Scope;

        fn kind((): &()) -> ::std::borrow::Cow<'_, str> {
            <$inner>::kind(&())
        }
        fn group((): &()) -> ::std::borrow::Cow<'_, str> {
            <$inner>::group(&())
        }
        fn version((): &()) -> ::std::borrow::Cow<'_, str> {
            <$inner>::version(&())
        }
        fn plural((): &()) -> ::std::borrow::Cow<'_, str> {
            <$inner>::plural(&())
        }
    };
}
pub(crate) use kind_of;

impl Resource for CachedRunnable {
    kind_of!(Runnable);

    fn meta(&self) -> &ObjectMeta {
        self.runnable.meta()
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.seen.take();
        Arc::make_mut(&mut self.runnable).meta_mut()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{CachedRunnable, LARGE, MOST_AS_VALUES};

    fn cached(inputs: &serde_json::Value) -> CachedRunnable {
        let runnable = json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "Runnable", "metadata": { "name": "app", "uid": "u" },
            "spec": { "runTemplateRef": { "name": "t" }, "inputs": inputs },
        });
        let whole: cartouche_crds::Runnable = serde_json::from_value(runnable.clone()).unwrap();
        let cached = CachedRunnable::from(whole.clone()).compacted(&runnable.to_string());
        assert_eq!(*cached.whole().unwrap(), whole);
        cached
    }

    #[test]
    fn inputs_of_any_size_are_there_when_they_are_asked_for() {
        let small = cached(&json!({ "a": 1.25, "b": "x" }));
        assert!(small.spec.inputs.is_some() && !small.is_large());
        let text = |size: usize| json!({ "a": "x".repeat(size), "b": [{}, { "c": null }, 1e300] });
        let middling = cached(&text(MOST_AS_VALUES));
        assert!(middling.spec.inputs.is_none() && !middling.is_large());
        assert!(cached(&text(LARGE)).is_large());
        assert!(!cached(&json!(null)).is_large());
    }
}
