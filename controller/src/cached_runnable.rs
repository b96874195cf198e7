//! A Runnable as the cache keeps it: small, while no reconciliation reads it.

use std::{
    borrow::Cow,
    collections::HashMap,
    ops::Deref,
    sync::{Arc, OnceLock},
    time::Duration,
};

use cartouche_crds::{Runnable, plain_json_map};
use cartouche_language::{
    bounds::{LIGHT, MAX_WEIGHT, takes},
    weight::{most_weight, weight, weight_of_text},
};
use cartouche_protocol::sources::Seen;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::OwnedSemaphorePermit;

use crate::clock::{boot_time, moment};

/// Largest weight of inputs that are kept as values. Heavier ones are kept as text: as values they may take a hundred
/// times as much memory, and the authors of Runnables would decide how much is left for others.
const MOST_AS_VALUES: usize = 16 * 1024;

/// Largest weight of a Runnable as a tree, without its inputs and its status. The tree is kept, and each reconciliation
/// makes two more.
const MOST_BESIDE_INPUTS: usize = 1024 * 1024;

/// A Runnable that may lack its inputs, which [`Self::whole`] puts back.
#[derive(Clone, Debug)]
pub struct CachedRunnable {
    runnable: Arc<Runnable>,
    /// The inputs that it lacks.
    inputs: Option<Inputs>,
    /// Time of arrival, as [`moment`] counts: when it was parsed from an answer of the API server.
    arrived: u64,
    /// Time of arrival by [`boot_time`].
    came: Duration,
    /// State that decides for the Runnables whose inputs come from it, once there are any.
    seen: OnceLock<Arc<Seen>>,
}

/// The inputs of a Runnable, as text.
#[derive(Clone, Debug)]
pub(crate) struct Inputs {
    text: Arc<RawValue>,
    /// Their weight as a tree.
    weight: usize,
}

/// A Runnable with its inputs, unless these are too heavy for any template.
pub struct WholeRunnable {
    /// The Runnable.
    pub(crate) runnable: Arc<Runnable>,
    /// Weight of its inputs, which it lacks if that is more than [`MAX_WEIGHT`].
    pub(crate) weight: usize,
    /// The place that it needs, if it was taken.
    pub(crate) place: Option<OwnedSemaphorePermit>,
}

impl From<Arc<Runnable>> for WholeRunnable {
    fn from(runnable: Arc<Runnable>) -> Self {
        let inputs = runnable.spec.inputs.iter().flatten();
        let weight = inputs.map(|(_, value)| weight(value)).sum();
        Self {
            runnable,
            weight,
            place: None,
        }
    }
}

/// The inputs of a Runnable, unparsed.
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

/// Removes heavy inputs from the text of a Runnable, so that they are not parsed into a tree.
pub(crate) fn without_inputs(text: &str) -> serde_json::Result<(Cow<'_, str>, Option<Inputs>)> {
    let whole = Ok((Cow::Borrowed(text), None));
    if most_weight(text.len()) <= MOST_AS_VALUES {
        return whole;
    }
    let read: Option<OnlyInputs<'_>> = serde_json::from_str(text).ok();
    let inputs = read.and_then(|read| read.spec.inputs);
    // The parser of the whole reports what is wrong with any other value.
    let Some(inputs) = inputs.filter(|inputs| inputs.get().starts_with('{')) else {
        return whole;
    };
    let weight = weight_of_text(inputs.get())?;
    if weight <= MOST_AS_VALUES {
        return whole;
    }
    let begin = inputs.get().as_ptr() as usize - text.as_ptr() as usize;
    let (before, after) = (&text[..begin], &text[begin + inputs.get().len()..]);
    let inputs = Inputs {
        text: inputs.to_owned().into(),
        weight,
    };
    Ok((Cow::Owned(format!("{before}null{after}")), Some(inputs)))
}

/// The parts of a Runnable that are kept as trees, unparsed.
#[derive(Deserialize)]
struct BesideInputs<'a> {
    #[serde(borrow)]
    metadata: KeptMetadata<'a>,
    #[serde(borrow)]
    spec: HashMap<Cow<'a, str>, &'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct KeptMetadata<'a> {
    #[serde(borrow)]
    labels: Option<&'a RawValue>,
    #[serde(borrow)]
    annotations: Option<&'a RawValue>,
    #[serde(borrow)]
    owner_references: Option<&'a RawValue>,
    #[serde(borrow)]
    finalizers: Option<&'a RawValue>,
}

/// Fails if labels, annotations and the spec without its inputs take too much memory as trees of values.
pub(crate) fn check_beside_inputs(text: &str) -> serde_json::Result<()> {
    if most_weight(text.len()) <= MOST_BESIDE_INPUTS {
        return Ok(());
    }
    // The parser of the whole reports what is wrong with a text that cannot be read here.
    let Ok(BesideInputs { metadata, spec }) = serde_json::from_str(text) else {
        return Ok(());
    };
    let kept = [
        metadata.labels,
        metadata.annotations,
        metadata.owner_references,
        metadata.finalizers,
    ];
    let fields = spec.into_iter().filter(|(name, _)| name != "inputs");
    let parts = kept
        .into_iter()
        .flatten()
        .chain(fields.map(|(_, value)| value));
    let mut all = 0_usize;
    for part in parts {
        all = all.saturating_add(weight_of_text(part.get())?);
    }
    if all <= MOST_BESIDE_INPUTS {
        return Ok(());
    }
    let takes = takes(all, MOST_BESIDE_INPUTS);
    Err(serde::de::Error::custom(format!(
        "the object without its inputs (labels, annotations, the rest of the spec) {takes}"
    )))
}

impl CachedRunnable {
    /// Returns the Runnable with the inputs that were removed from its text.
    #[must_use]
    pub(crate) fn with(self, inputs: Option<Inputs>) -> Self {
        Self { inputs, ..self }
    }

    /// Returns the whole Runnable, without inputs that are too heavy. The text of the inputs was checked before, so an
    /// error is a bug.
    pub fn whole(&self) -> serde_json::Result<WholeRunnable> {
        let Some(Inputs { text, weight }) = &self.inputs else {
            return Ok(self.runnable.clone().into());
        };
        let mut runnable = self.runnable.clone();
        if *weight <= MAX_WEIGHT {
            Arc::make_mut(&mut runnable).spec.inputs = Some(plain_json_map(text.get())?);
        }
        Ok(WholeRunnable {
            runnable,
            weight: *weight,
            place: None,
        })
    }

    /// Returns the state that decides for the Runnables whose inputs come from it.
    #[must_use]
    pub fn state(&self) -> Arc<Seen> {
        let seen = || Arc::new(Seen::from_runnable(&self.runnable));
        self.seen.get_or_init(seen).clone()
    }

    /// Returns the time of arrival, as [`moment`] counts: by then the API server had this version.
    #[must_use]
    pub fn arrival_moment(&self) -> u64 {
        self.arrived
    }

    /// Returns the time of arrival by [`boot_time`].
    #[must_use]
    pub fn arrival_time(&self) -> Duration {
        self.came
    }

    /// Returns true if the whole takes so much memory that few should be whole at the same time.
    #[must_use]
    pub fn is_large(&self) -> bool {
        let inputs = self.inputs.as_ref();
        inputs.is_some_and(|inputs| inputs.weight > LIGHT)
    }
}

impl From<Runnable> for CachedRunnable {
    fn from(runnable: Runnable) -> Self {
        Self {
            runnable: Arc::new(runnable),
            inputs: None,
            arrived: moment(),
            came: boot_time(),
            seen: OnceLock::new(),
        }
    }
}

/// Gives access to all but the inputs that were removed.
impl Deref for CachedRunnable {
    type Target = Runnable;

    fn deref(&self) -> &Runnable {
        &self.runnable
    }
}

/// Implements the kind of a type by that of the object inside it.
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
    use cartouche_language::{bounds::MAX_WEIGHT, weight::weight};
    use serde_json::{Value, json};

    use super::{CachedRunnable, without_inputs};

    fn text(inputs: &Value) -> String {
        let runnable = json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "Runnable", "metadata": { "name": "app", "uid": "u" },
            "spec": { "runTemplateRef": { "name": "t" }, "inputs": inputs },
        });
        runnable.to_string()
    }

    fn read(text: &str) -> CachedRunnable {
        let (rest, inputs) = without_inputs(text).unwrap();
        let read: cartouche_crds::Runnable = serde_json::from_str(&rest).unwrap();
        CachedRunnable::from(read).with(inputs)
    }

    fn cached(inputs: &Value) -> CachedRunnable {
        let whole: cartouche_crds::Runnable = serde_json::from_str(&text(inputs)).unwrap();
        let cached = read(&text(inputs));
        assert_eq!(*cached.whole().unwrap().runnable, whole);
        cached
    }

    /// Returns maps of one entry nested in each other.
    fn nested(chains: usize) -> Value {
        let chain = (0..58).fold(json!(1), |inside, _| json!({ "a": inside }));
        let chains = (0..chains).map(|at| (format!("c{at}"), chain.clone()));
        Value::Object(chains.collect())
    }

    #[test]
    fn inputs_of_any_size_are_there_when_they_are_asked_for() {
        let small = cached(&json!({ "a": 1.25, "b": "x" }));
        assert!(small.spec.inputs.is_some() && !small.is_large());
        let texts = |size: usize| json!({ "a": "x".repeat(size), "b": [{}, { "c": null }, 1e300] });
        let middling = cached(&texts(16 * 1024));
        assert!(middling.spec.inputs.is_none() && !middling.is_large());
        assert!(cached(&texts(1 << 20)).is_large());
        assert!(!cached(&json!(null)).is_large());
    }

    #[test]
    fn what_weighs_much_is_kept_as_text_however_short_it_is() {
        assert!(cached(&nested(1)).spec.inputs.is_none());
        assert!(!cached(&nested(20)).is_large());
        assert!(cached(&nested(30)).is_large());
    }

    #[test]
    fn inputs_that_are_too_heavy_never_become_values() {
        let whole = read(&text(&nested(500))).whole().unwrap();
        assert!(whole.weight > MAX_WEIGHT && whole.runnable.spec.inputs.is_none());
        assert_eq!(whole.runnable.spec.run_template_ref.name, "t");
    }

    #[test]
    fn inputs_that_are_no_inputs_stay_where_it_is_said_that_they_are_wrong() {
        for wrong in [json!("x".repeat(2_000)), json!([nested(1)])] {
            assert!(without_inputs(&text(&wrong)).unwrap().1.is_none());
        }
        let deep = text(&json!({ "a": "DEEP" }));
        let deep = deep.replace(
            "\"DEEP\"",
            &format!("{}{}", "[".repeat(140), "]".repeat(140)),
        );
        assert!(without_inputs(&deep).is_err());
    }

    #[test]
    fn a_name_of_the_library_hides_no_tree_behind_a_text() {
        let chain = format!("{}1{}", "[".repeat(100), "]".repeat(100));
        let chains = format!("[{chain}{}]", format!(",{chain}").repeat(700));
        let hidden = json!({ "a": { "$serde_json::private::RawValue": chains } });
        let whole = cached(&hidden).whole().unwrap();
        let inputs = whole.runnable.spec.inputs.as_ref().unwrap();
        assert!(weight(&inputs["a"]) < 2 * chains.len() && inputs["a"].is_object());
    }
}
