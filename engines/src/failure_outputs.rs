//! Values of a failed run.

use std::collections::BTreeMap;

use cartouche_language::{
    Diagnostic,
    bounds::{self, MAX_FAILURE_BYTES, MAX_FAILURE_WEIGHT, Work},
    path::Path,
    weight::weight,
};
use serde_json::Value;

use crate::{
    output_paths::{is_refused, paths_of},
    sensitive::{Search, withheld},
};

/// The failure outputs that a template declares, by name.
#[derive(Clone, Debug)]
pub struct FailureOutputs(Vec<(String, Path)>);

impl FailureOutputs {
    /// Compiles what a template declares; what is wrong is put with the `problems`.
    pub fn compile(
        declared: Option<&BTreeMap<String, String>>,
        problems: &mut Vec<Diagnostic>,
    ) -> Self {
        Self(paths_of("failureOutputs", declared, problems))
    }

    /// Returns true if the template declares none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over names and paths.
    pub fn paths(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.0.iter().map(|(name, path)| (name.as_str(), path))
    }

    /// Reads the existing outputs from a run of that `apiVersion` and kind, in the order of their names, as far as
    /// there is room. One that shows a sensitive value is replaced with a message that it was withheld. A Secret
    /// gives none.
    #[must_use]
    pub fn read(
        &self,
        kind: Option<(&str, &str)>,
        run: &Value,
        search: &Search<'_>,
    ) -> BTreeMap<String, Value> {
        let mut found = BTreeMap::new();
        if kind.is_none_or(is_refused) {
            return found;
        }
        let (mut work, mut room) = (Work::new(), MAX_FAILURE_BYTES);
        let mut left = MAX_FAILURE_WEIGHT;
        for (name, path) in &self.0 {
            let Ok(value) = path.evaluate(run, &mut work) else {
                continue;
            };
            if !bounds::is_shallow(value) {
                continue;
            }
            let bytes = bounds::stored_bytes_within(value, room);
            if let Some((bytes, weighed)) = bytes.zip(left.checked_sub(weight(value))) {
                room -= bytes;
                left = weighed;
                let withheld = search.found_in(value).map(withheld);
                let value = withheld.map_or_else(|| value.clone(), Value::from);
                found.insert(name.clone(), value);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(declared: &[(&str, &str)], run: &Value) -> BTreeMap<String, Value> {
        let declared = declared.iter();
        let declared = declared.map(|(name, path)| ((*name).to_owned(), (*path).to_owned()));
        let mut problems = Vec::new();
        let outputs = FailureOutputs::compile(Some(&declared.collect()), &mut problems);
        assert_eq!(problems, []);
        outputs.read(Some(("v1", "Pod")), run, &Search::default())
    }

    #[test]
    fn what_is_missing_or_too_large_is_left_out_and_the_rest_is_there() {
        let run =
            json!({ "status": { "reason": "Evicted", "log": "x".repeat(MAX_FAILURE_BYTES) } });
        let paths = [
            ("code", ".status.code"),
            ("log", ".status.log"),
            ("reason", ".status.reason"),
        ];
        assert_eq!(
            read(&paths, &run),
            [("reason".to_owned(), json!("Evicted"))].into()
        );
    }

    #[test]
    fn a_secret_gives_none() {
        let declared = [("a".to_owned(), ".data.a".to_owned())].into();
        let outputs = FailureOutputs::compile(Some(&declared), &mut Vec::new());
        let run = json!({ "data": { "a": "x" } });
        let read = |kind| outputs.read(Some(("v1", kind)), &run, &Search::default());
        assert!(read("Secret").is_empty());
        assert!(!read("Pod").is_empty());
    }
}
