//! Values of a finished run.

mod shown;

use std::collections::BTreeMap;

use cartouche_language::{
    Diagnostic, DiagnosticKind, TERMINATION_MESSAGE,
    bounds::{
        self, MAX_DEPTH, MAX_OUTPUT_BYTES, MAX_OUTPUTS_BYTES, MAX_OUTPUTS_WEIGHT, Work, takes,
    },
    path::{Path, shorten},
};
use serde_json::Value;

use crate::{
    output_paths::{is_refused, paths_of},
    sensitive::{Search, Sensitive},
};

/// Reason for which a run gives no outputs. The Runnable keeps those of an earlier run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutputError {
    /// Paths that lead to no value, or to several.
    #[error("{}", listed(.0))]
    Paths(Vec<OutputPathError>),
    /// A value that is too large.
    #[error("output [{name}] is larger than {MAX_OUTPUT_BYTES} bytes")]
    TooLarge {
        /// The name of the output.
        name: String,
    },
    /// A value that is nested too deeply.
    #[error("output [{name}] nests objects and arrays more than {MAX_DEPTH} deep")]
    TooDeep {
        /// The name of the output.
        name: String,
    },
    /// Values that are too large together.
    #[error(
        "the outputs are together larger than {MAX_OUTPUTS_BYTES} bytes: output [{name}], of \
         {bytes} bytes, is the first that does not fit"
    )]
    TooLargeTogether {
        /// The first output that does not fit, in the order of names.
        name: String,
        /// The bytes of that output.
        bytes: usize,
    },
    /// A value that contains that of a sensitive output.
    #[error(
        "output [{name}] is withheld, and all others with it: it contains the value of the sensitive output [{sensitive}]"
    )]
    ShowsSensitive {
        /// The name of the output.
        name: String,
        /// The name of the sensitive output.
        sensitive: String,
    },
    /// Values that take too much memory together.
    #[error(
        "with output [{name}], what the outputs are together {}",
        takes(*.weight, MAX_OUTPUTS_WEIGHT)
    )]
    TooHeavy {
        /// The first output that does not fit, in the order of names.
        name: String,
        /// The weight of all outputs up to it.
        weight: usize,
    },
    /// The run is a Secret: every user who may create one could read the data that the cluster puts into it.
    #[error("outputs cannot be read from a Secret")]
    Secret,
    /// The kind of the run is unknown, so it could be a Secret.
    #[error("outputs cannot be read from an object without apiVersion and kind")]
    UnknownKind,
}

/// An output path that leads to no value, or to several.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to evaluate path [{path}]: {reason} (output [{name}])")]
pub struct OutputPathError {
    /// The name of the output.
    pub name: String,
    /// The path of the output.
    pub path: String,
    /// The problem of the path, in Cartographer's words.
    pub reason: String,
    /// True if the path leads nowhere, which would be permitted for an optional output.
    pub missing: bool,
}

fn listed(errors: &[OutputPathError]) -> String {
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    errors.join("; ")
}

/// The outputs that a template declares, by name.
#[derive(Clone, Debug)]
pub struct Outputs(Vec<Output>);

#[derive(Clone, Debug)]
struct Output {
    name: String,
    path: Path,
    /// True if a run that lacks it gives the others.
    optional: bool,
    /// True if its value is for a Secret only.
    sensitive: bool,
}

impl Outputs {
    /// Iterates over the names of all outputs.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|output| output.name.as_str())
    }

    /// Compiles what a template declares; what is wrong is put with the `problems`.
    pub fn compile(
        declared: Option<&BTreeMap<String, String>>,
        optional: &[String],
        sensitive: &[String],
        problems: &mut Vec<Diagnostic>,
    ) -> Self {
        check_named(("optionalOutputs", optional), declared, problems);
        check_named(("sensitiveOutputs", sensitive), declared, problems);
        let paths = paths_of("outputs", declared, problems).into_iter();
        let outputs = paths.map(|(name, path)| Output {
            path,
            optional: optional.contains(&name),
            sensitive: sensitive.contains(&name),
            name,
        });
        Self(outputs.collect())
    }

    /// Returns true if the template declares none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if an output is below this field.
    #[must_use]
    pub fn reads(&self, field: &str) -> bool {
        self.0
            .iter()
            .any(|output| output.path.leading_keys().first() == Some(&field))
    }

    /// Iterates over the names of outputs that a run may lack.
    pub fn optional(&self) -> impl Iterator<Item = &str> {
        let optional = self.0.iter().filter(|output| output.optional);
        optional.map(|output| output.name.as_str())
    }

    /// Iterates over the names of outputs whose values are for a Secret only.
    pub fn sensitive(&self) -> impl Iterator<Item = &str> {
        self.sensitive_paths().map(|(name, _)| name)
    }

    fn sensitive_paths(&self) -> impl Iterator<Item = (&str, &Path)> {
        let sensitive = self.0.iter().filter(|output| output.sensitive);
        sensitive.map(|output| (output.name.as_str(), &output.path))
    }

    /// Reads the public outputs from a run of that `apiVersion` and kind: all except optional ones, or none. If a
    /// sensitive one has no value, there are none either.
    pub fn read(
        &self,
        kind: Option<(&str, &str)>,
        run: &Value,
    ) -> Result<Option<BTreeMap<String, Value>>, OutputError> {
        let Some(all) = self.read_all(kind, run)? else {
            return Ok(None);
        };
        let (sensitive, open): (Vec<_>, Vec<_>) =
            all.iter().partition(|(output, _)| output.sensitive);
        let search = Search::new(
            sensitive
                .into_iter()
                .map(|(output, value)| (output.name.as_str(), value)),
        );
        for (output, value) in open {
            if let Some(sensitive) = search.found_in(value) {
                return Err(OutputError::ShowsSensitive {
                    name: output.name.clone(),
                    sensitive: sensitive.to_owned(),
                });
            }
        }
        Ok(Some(Self::values(&all, |output| !output.sensitive)))
    }

    /// Returns a search for the values at sensitive paths in texts about a run, whether or not it gives outputs.
    /// An unknown value may be anywhere.
    #[must_use]
    pub fn search(&self, run: &Value) -> Search<'_> {
        let mut work = Work::new();
        let (mut known, mut unknown) = (Vec::new(), None);
        for (name, path) in self.sensitive_paths() {
            let is_bounded = |value: &Value| {
                bounds::is_shallow(value)
                    && bounds::json_bytes_within(value, MAX_OUTPUT_BYTES).is_some()
            };
            match path.evaluate(run, &mut work) {
                Ok(value) if is_bounded(value) => known.push((name, value)),
                Err(error) if error.finds_nothing() => {}
                Ok(_) | Err(_) => unknown = Some(name),
            }
        }
        unknown.map_or_else(|| Search::new(known.into_iter()), Search::anywhere)
    }

    /// Reads the sensitive outputs; none unless all outputs can be read.
    #[must_use]
    pub fn read_sensitive(&self, kind: Option<(&str, &str)>, run: &Value) -> Sensitive {
        if self.sensitive().next().is_none() {
            return Sensitive::default();
        }
        let all = self.read_all(kind, run).ok().flatten().unwrap_or_default();
        Sensitive::new(Self::values(&all, |output| output.sensitive))
    }

    fn values(
        all: &[(&Output, &Value)],
        which: impl Fn(&Output) -> bool,
    ) -> BTreeMap<String, Value> {
        let of_them = all.iter().filter(|(output, _)| which(output));
        of_them
            .map(|(output, value)| (output.name.clone(), (*value).clone()))
            .collect()
    }

    fn read_all<'a>(
        &'a self,
        kind: Option<(&str, &str)>,
        run: &'a Value,
    ) -> Result<Option<Vec<(&'a Output, &'a Value)>>, OutputError> {
        if self.is_empty() {
            return Ok(None);
        }
        match kind {
            None => return Err(OutputError::UnknownKind),
            Some(kind) if is_refused(kind) => return Err(OutputError::Secret),
            Some(_) => {}
        }
        let found = self.find(run)?;
        check_sizes(&found)?;
        Ok(Some(found))
    }

    fn find<'a>(&'a self, run: &'a Value) -> Result<Vec<(&'a Output, &'a Value)>, OutputError> {
        let mut work = Work::new();
        let (mut found, mut errors) = (Vec::new(), Vec::new());
        for output in &self.0 {
            let Output {
                name,
                path,
                optional,
                ..
            } = output;
            match path.evaluate(run, &mut work) {
                Ok(value) => found.push((output, value)),
                Err(reason)
                    if *optional && reason.finds_nothing() && !is_below_words(path, run) => {}
                Err(reason) => errors.push(OutputPathError {
                    name: name.clone(),
                    path: path.raw().to_owned(),
                    missing: reason.finds_nothing(),
                    reason: reason.to_string(),
                }),
            }
        }
        if errors.is_empty() {
            Ok(found)
        } else {
            Err(OutputError::Paths(errors))
        }
    }
}

/// Returns true if a path leads into a termination message that is a string: the container has not written a JSON
/// object, or too much.
fn is_below_words(path: &Path, run: &Value) -> bool {
    path.leading_keys().first() == Some(&TERMINATION_MESSAGE)
        && path.steps() > 1
        && run.get(TERMINATION_MESSAGE).is_some_and(Value::is_string)
}

/// Reports names in a list that are none of the outputs, and repeated ones, as the schema of the kind does for a
/// set.
fn check_named(
    (list, names): (&str, &[String]),
    declared: Option<&BTreeMap<String, String>>,
    problems: &mut Vec<Diagnostic>,
) {
    for (index, name) in names.iter().enumerate() {
        let kind = if !declared.is_some_and(|declared| declared.contains_key(name)) {
            let known = declared.into_iter().flatten();
            DiagnosticKind::UnknownOutput {
                name: shorten(name).into_owned(),
                known: known.map(|(name, _)| name.clone()).collect(),
            }
        } else if names.iter().take(index).any(|before| before == name) {
            "the output is named twice: remove one of them".into()
        } else {
            continue;
        };
        problems.push(Diagnostic::in_spec(&format!("{list}[{index}]"), kind));
    }
}

fn check_sizes(found: &[(&Output, &Value)]) -> Result<(), OutputError> {
    let (mut room, mut weight) = (MAX_OUTPUTS_BYTES, 0);
    for (output, value) in found {
        let name = || output.name.clone();
        if !bounds::is_shallow(value) {
            return Err(OutputError::TooDeep { name: name() });
        }
        let bytes = bounds::stored_bytes_within(value, MAX_OUTPUT_BYTES)
            .ok_or_else(|| OutputError::TooLarge { name: name() })?;
        room = room
            .checked_sub(bytes)
            .ok_or_else(|| OutputError::TooLargeTogether {
                name: name(),
                bytes,
            })?;
        weight += cartouche_language::weight::weight(value);
        if weight > MAX_OUTPUTS_WEIGHT {
            let name = name();
            return Err(OutputError::TooHeavy { name, weight });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
