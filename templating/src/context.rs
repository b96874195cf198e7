//! What a template can see: `runnable`, and `selected` when the Runnable has a selector.
//!
//! Both are plain JSON, addressable at any depth. The Runnable behaves as a typed object where
//! templates rely on it: a field that its type has and the object lacks is empty, not missing.
//!
//! Which parts of both there are is a list, [`visible`].

mod visible;

use std::{collections::BTreeMap, sync::LazyLock};

use cartouche_crds::RetentionPolicy;
use serde_json::{Map, Value, json};

use crate::{
    bounds::{self, MAX_CONTEXT_BYTES, MAX_RENDERED_BYTES, MAX_WEIGHT, Work},
    diagnostic::{Diagnostic, DiagnosticKind, Diagnostics, Root, Segment, TO_INPUTS},
    digest::Hashing,
    kinds::holds_secrets,
    object::text,
    owner::{Owner, is_run},
    path::{Path, PathError},
    readable::check,
    roots::{RUNNABLE, SELECTED},
    source::Sourced,
};

/// What one rendering sees.
#[derive(Clone, Debug, Default)]
pub struct Context {
    root: Value,
    /// What stands for the secret values that inputs refer to, by input.
    secrets: BTreeMap<String, String>,
    /// How what is rendered is hashed.
    hashing: Hashing,
}

impl Context {
    /// Takes a Runnable and, if it has a selector, the selected object, as the API server returns
    /// them. Fails when they are too large or too deep.
    pub fn new(runnable: &Value, selected: Option<&Value>) -> Result<Self, Diagnostics> {
        Self::of(runnable.clone(), selected)
    }

    /// The same of a Runnable of which no copy is made.
    pub fn of(runnable: Value, selected: Option<&Value>) -> Result<Self, Diagnostics> {
        check_shapes(&runnable, selected)?;
        let both = [
            (RUNNABLE.to_owned(), visible::runnable(runnable)),
            (SELECTED.to_owned(), selected.map(visible::selected).into()),
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

    /// The same, of which what is rendered is hashed so.
    #[must_use]
    pub fn hashed(self, hashing: Hashing) -> Self {
        Self { hashing, ..self }
    }

    /// How what is rendered is hashed.
    pub(crate) fn hashing(&self) -> Hashing {
        self.hashing
    }

    /// The uid is the key of what is shown of a Secret, and that of a run stands in a status.
    fn check_secret(&self, selected: Option<&Value>) -> Result<(), Diagnostics> {
        let metadata = selected.and_then(|it| it.get("metadata"));
        if self.secret_key().is_none() || !metadata.is_some_and(is_run) {
            return Ok(());
        }
        let kind = DiagnosticKind::with_cure(
            "it is a Secret that a Runnable made as its run, and the status of that Runnable shows the uid by which its values \
             could be guessed",
            "select a Secret that is no run: one that outputs are written to, or a copy",
        );
        Err(Diagnostic::new(Root::Context, Segment::keys([SELECTED]), kind).into())
    }

    /// The same with inputs from other objects, by name, beside those that the Runnable gives itself. None of them may be
    /// given twice, see [`given_twice`](crate::given_twice). Fails when they are too large or too deep.
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

    /// The value that a tag with this path yields; nothing when the path cannot be read or has none.
    #[must_use]
    pub fn value(&self, path: &str) -> Option<Value> {
        let path = Path::parse(path).ok()?;
        check(&path).ok()?;
        let value = self.find(&path, &mut Work::new()).ok()?;
        bounds::json_bytes_within(value, MAX_RENDERED_BYTES)?;
        Some(value.clone())
    }

    /// What is at the end of some steps.
    pub(crate) fn at(&self, steps: &[Segment]) -> Option<&Value> {
        Segment::value_at(steps, &self.root)
    }

    /// The namespace of the Runnable.
    pub(crate) fn namespace(&self) -> &str {
        self.owner().namespace
    }

    /// The Runnable, as the owner of its runs.
    pub(crate) fn owner(&self) -> Owner<'_> {
        let metadata = self.root.pointer("/runnable/metadata");
        let text = |field: &str| metadata.map_or("", |metadata| text(metadata, field));
        Owner {
            name: text("name"),
            namespace: text("namespace"),
            uid: text("uid"),
        }
    }

    /// The inputs of the Runnable, if it gives any.
    pub(crate) fn inputs(&self) -> Option<&Value> {
        self.root.pointer("/runnable/spec/inputs")
    }

    /// The same with other inputs.
    pub(crate) fn with_inputs(&self, inputs: Value) -> Self {
        let mut completed = self.clone();
        completed.set_inputs(inputs);
        completed
    }

    /// The same with null for each of these inputs.
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

    /// The uid of the selected object, if it may hold secret values: it is the key of what is shown of them.
    pub(crate) fn secret_key(&self) -> Option<&str> {
        let selected = self.root.get(SELECTED)?.as_object()?;
        // What was listed need not say its kind.
        let asked = self.root.pointer("/runnable/spec/selector/resource/kind");
        let kinds = [selected.get("kind"), asked].into_iter().flatten();
        let mut kinds = kinds.filter_map(Value::as_str);
        let metadata = selected.get("metadata").unwrap_or_default();
        kinds.any(holds_secrets).then(|| text(metadata, "uid"))
    }

    /// What stands for the secret values that inputs refer to, by input.
    pub(crate) fn secrets(&self) -> &BTreeMap<String, String> {
        &self.secrets
    }

    /// The value of a path that passed [`check`].
    pub(crate) fn find<'a>(
        &'a self,
        path: &'a Path,
        work: &mut Work,
    ) -> Result<&'a Value, PathError> {
        path.evaluate_typed(&self.root, absent, work)
    }
}

/// Whether both are objects that are not too deep.
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

/// The value of a field that a Runnable's type has and the object lacks; of the retention policy, what
/// the API server fills in.
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
