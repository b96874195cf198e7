//! The context of a template: `runnable`, and `selected` if the Runnable has a selector.
//!
//! Both are plain JSON, addressable at any depth. The Runnable behaves as a typed object where templates rely on
//! it: a field of its type that the object lacks is empty, not missing.
//!
//! The list [`visible`] defines which parts of both there are.

mod visible;

use std::{collections::BTreeMap, sync::LazyLock};

use cartouche_crds::RetentionPolicy;
use cartouche_engines::kinds::holds_secrets;
use cartouche_language::{
    Diagnostic, DiagnosticKind, Diagnostics, Hashing, Owner, PathError, Root, Segment,
    bounds::{self, MAX_CONTEXT_BYTES, MAX_RENDERED_BYTES, MAX_WEIGHT, Work},
    diagnostic::TO_INPUTS,
    is_run,
    object::text,
    path::Path,
    readable::check,
    roots::{RUNNABLE, SELECTED},
};
use serde_json::{Map, Value, json};

use crate::source::Sourced;

/// The context of one rendering.
#[derive(Clone, Debug, Default)]
pub struct Context {
    root: Value,
    /// The marks of the secret values that inputs refer to, by input.
    secrets: BTreeMap<String, String>,
    /// Versions of the hash of the rendered document.
    hashing: Hashing,
}

impl Context {
    /// Creates the context from a Runnable and, if it has a selector, the selected object, as the API server
    /// returns them. Fails if they are too large or too deep.
    pub fn new(runnable: &Value, selected: Option<&Value>) -> Result<Self, Diagnostics> {
        Self::from_owned(runnable.clone(), selected)
    }

    /// Creates the context from a Runnable without copying it.
    pub fn from_owned(runnable: Value, selected: Option<&Value>) -> Result<Self, Diagnostics> {
        check_shapes(&runnable, selected)?;
        let both = [
            (RUNNABLE.to_owned(), visible::runnable(runnable)),
            (
                SELECTED.to_owned(),
                selected.map(visible::select_visible).into(),
            ),
        ];
        let context = Self {
            root: Value::Object(both.into_iter().collect()),
            secrets: BTreeMap::new(),
            hashing: Hashing::default(),
        };
        context.check_size("the Runnable and the object it selects")?;
        context.check_secret(selected)?;
        Ok(context)
    }

    /// Sets the versions of the hash of the rendered document.
    #[must_use]
    pub fn with_hashing(self, hashing: Hashing) -> Self {
        Self { hashing, ..self }
    }

    /// Returns the versions of the hash of the rendered document.
    pub(crate) fn hashing(&self) -> Hashing {
        self.hashing
    }

    /// Fails if the selected object is a Secret that is a run. The uid is the key of the hashes of a Secret's
    /// values, and that of a run is in a status.
    fn check_secret(&self, selected: Option<&Value>) -> Result<(), Diagnostics> {
        let metadata = selected.and_then(|it| it.get("metadata"));
        if self.secret_key().is_none() || !metadata.is_some_and(is_run) {
            return Ok(());
        }
        let kind = DiagnosticKind::with_cure(
            "it is a Secret that a Runnable made as its run, and the status of that Runnable shows the uid by which its values \
             could be guessed",
            "select another Secret: one that outputs are written to, or a copy",
        );
        Err(Diagnostic::new(Root::Context, Segment::keys([SELECTED]), kind).into())
    }

    /// Adds inputs from other objects, by name, to those of the Runnable itself. None of them may be given twice,
    /// see [`given_twice`](crate::given_twice). Fails if they are too large or too deep.
    pub fn with_sources(
        mut self,
        sourced: &BTreeMap<String, Sourced>,
    ) -> Result<Self, Diagnostics> {
        if sourced.is_empty() {
            return Ok(self);
        }
        if self.inputs().is_none_or(|given| !given.is_object()) {
            self.set_inputs(Map::new().into());
        }
        let inputs = self.root.pointer_mut("/runnable/spec/inputs");
        if let Some(inputs) = inputs.and_then(Value::as_object_mut) {
            let given = sourced.iter();
            inputs.extend(given.map(|(name, source)| (name.clone(), source.value.clone())));
        }
        let marks = sourced.iter().filter_map(|(name, source)| {
            let mark = source.secret.clone()?;
            Some((name.clone(), mark))
        });
        self.secrets = marks.collect();
        if self
            .root
            .get(RUNNABLE)
            .is_some_and(|it| !bounds::is_shallow(it))
        {
            let at = Segment::keys(TO_INPUTS);
            return Err(Diagnostic::new(Root::Context, at, DiagnosticKind::too_deep()).into());
        }
        self.check_size("the Runnable, the object it selects and the inputs from other objects")?;
        Ok(self)
    }

    fn check_size(&self, what: &str) -> Result<(), Diagnostics> {
        let message = if bounds::json_bytes_within(&self.root, MAX_CONTEXT_BYTES).is_none() {
            format!("{what} are together larger than {MAX_CONTEXT_BYTES} bytes")
        } else if let Some(takes) = bounds::too_heavy(&self.root, MAX_WEIGHT) {
            format!("{what}: all of it {takes}")
        } else {
            return Ok(());
        };
        let kind = DiagnosticKind::Limit(message);
        Err(Diagnostic::new(Root::Context, Vec::new(), kind).into())
    }

    /// Returns the value that a tag with this path yields, or `None` if the path is invalid or has no value.
    #[must_use]
    pub fn value(&self, path: &str) -> Option<Value> {
        let path = Path::parse(path).ok()?;
        check(&path).ok()?;
        let value = self.find(&path, &mut Work::new()).ok()?;
        bounds::json_bytes_within(value, MAX_RENDERED_BYTES)?;
        Some(value.clone())
    }

    /// Returns the value at the end of some steps.
    pub(crate) fn at(&self, steps: &[Segment]) -> Option<&Value> {
        Segment::value_at(steps, &self.root)
    }

    /// Returns the namespace of the Runnable.
    pub(crate) fn namespace(&self) -> &str {
        self.owner().namespace
    }

    /// Returns the Runnable as the owner of its runs.
    pub(crate) fn owner(&self) -> Owner<'_> {
        let metadata = self.root.pointer("/runnable/metadata");
        let text = |field: &str| metadata.map_or("", |metadata| text(metadata, field));
        Owner {
            name: text("name"),
            namespace: text("namespace"),
            uid: text("uid"),
        }
    }

    /// Returns the inputs of the Runnable, if it gives any.
    pub(crate) fn inputs(&self) -> Option<&Value> {
        self.root.pointer("/runnable/spec/inputs")
    }

    /// Returns a copy with other inputs.
    pub(crate) fn with_inputs(&self, inputs: Value) -> Self {
        let mut completed = self.clone();
        completed.set_inputs(inputs);
        completed
    }

    /// Returns a copy with null for each of these inputs.
    pub(crate) fn with_nulls(&self, inputs: &[&str]) -> Self {
        if inputs.is_empty() {
            return self.clone();
        }
        let given = self.inputs().and_then(Value::as_object);
        let mut completed = given.cloned().unwrap_or_default();
        completed.extend(inputs.iter().map(|name| ((*name).to_owned(), Value::Null)));
        self.with_inputs(completed.into())
    }

    fn set_inputs(&mut self, inputs: Value) {
        let spec = self.root.pointer_mut("/runnable/spec");
        if let Some(spec) = spec.and_then(Value::as_object_mut) {
            spec.insert("inputs".into(), inputs);
        }
    }

    /// Returns the uid of the selected object, if it may hold secret values: it is the key of their hashes.
    pub(crate) fn secret_key(&self) -> Option<&str> {
        let selected = self.root.get(SELECTED)?.as_object()?;
        // An object from a list need not have its kind.
        let asked = self.root.pointer("/runnable/spec/selector/resource/kind");
        let kinds = [selected.get("kind"), asked].into_iter().flatten();
        let mut kinds = kinds.filter_map(Value::as_str);
        let metadata = selected.get("metadata").unwrap_or_default();
        kinds.any(holds_secrets).then(|| text(metadata, "uid"))
    }

    /// Returns the marks of the secret values that inputs refer to, by input.
    pub(crate) fn secrets(&self) -> &BTreeMap<String, String> {
        &self.secrets
    }

    /// Returns the value of a path that passed [`check`].
    pub(crate) fn find<'a>(
        &'a self,
        path: &'a Path,
        work: &mut Work,
    ) -> Result<&'a Value, PathError> {
        path.evaluate_typed(&self.root, absent, work)
    }
}

/// Fails unless both are objects of limited depth.
fn check_shapes(runnable: &Value, selected: Option<&Value>) -> Result<(), Diagnostics> {
    let mut problems = Vec::new();
    for (name, value) in [(RUNNABLE, Some(runnable)), (SELECTED, selected)] {
        let kind = match value {
            Some(value) if !value.is_object() => "is not an object".into(),
            Some(value) if !bounds::is_shallow(value) => DiagnosticKind::too_deep(),
            _ => continue,
        };
        problems.push(Diagnostic::new(Root::Context, Segment::keys([name]), kind));
    }
    Diagnostics::check(problems)
}

static NULL: Value = Value::Null;
static EMPTY: Value = Value::String(String::new());
static ZERO: LazyLock<Value> = LazyLock::new(|| json!(0));
static RETENTION: LazyLock<Value> = LazyLock::new(|| json!(RetentionPolicy::default()));

/// Returns the value of a field of a Runnable's type that the object lacks; for the retention policy, the API
/// server's default.
fn absent(keys: &[&str]) -> Option<&'static Value> {
    let (RUNNABLE, keys) = keys.split_first().map(|(root, keys)| (*root, keys))? else {
        return None;
    };
    Some(match keys {
        ["metadata", field] => match *field {
            "name" | "generateName" | "namespace" | "selfLink" | "uid" => &EMPTY,
            "generation" => &ZERO,
            "creationTimestamp"
            | "deletionTimestamp"
            | "deletionGracePeriodSeconds"
            | "labels"
            | "annotations"
            | "ownerReferences"
            | "finalizers" => &NULL,
            _ => return None,
        },
        ["spec", "runTemplateRef", "name"]
        | ["spec", "serviceAccountName"]
        | ["spec", "selector", "resource", "apiVersion" | "kind"] => &EMPTY,
        ["spec", "selector" | "inputs"] | ["spec", "selector", "matchingLabels"] => &NULL,
        ["spec", "retentionPolicy"] => &RETENTION,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
