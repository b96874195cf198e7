//! Checks and compilation of a template's files.

use cartouche_crds::{Runner, RunnerFile};
use cartouche_engines::kinds;
use cartouche_language::{
    Diagnostic, DiagnosticKind, Diagnostics,
    bounds::{self, MAX_TEMPLATE_BYTES},
    open::TagHolder,
    tag,
};
use serde_json::Value;

use super::{
    ARGS_PATH, CONTEXT_PATH, CompiledRunner, File, context::ContextParts, field, file,
    without_pods, wrong,
};
use crate::body::Body;

const TAG_IN_PATH: &str =
    "it holds a tag, and a path is taken as it is written: write the path as it is to be";
const ALL_INPUTS: &str = "$(runnable.spec.inputs)$";

impl CompiledRunner {
    /// Compiles the files, and adds all problems, whatever the Runnable. `kind` is that of the runs, if it is
    /// known.
    pub(crate) fn compile(
        runner: &Runner,
        kind: Option<(&str, &str)>,
        problems: &mut Vec<Diagnostic>,
    ) -> Option<Self> {
        Self::compiled(runner, kind)
            .map_err(|found| problems.extend_from_slice(&found))
            .ok()
    }

    fn compiled(runner: &Runner, kind: Option<(&str, &str)>) -> Result<Self, Diagnostics> {
        // A misspelt kind is reported as such when it is looked up.
        let has_pods = |(api_version, kind)| {
            let known = kinds::known_fields(api_version, kind);
            known.is_some_and(|known| known.pod_template.is_some())
                || kinds::is_misspelt_with_pods(api_version, kind)
        };
        if !kind.is_none_or(has_pods) {
            return Err(without_pods());
        }
        let files = runner.files.as_deref().unwrap_or_default();
        let args = runner.args.as_ref();
        let mut problems = Vec::new();
        let parts = files.iter().filter_map(|file| file.json.as_ref());
        for part in parts.chain(args) {
            problems.extend(oversize(part));
        }
        // Deeper or larger ones are not inspected.
        Diagnostics::check(problems)?;
        let mut problems = Vec::new();
        let compiled = Self {
            args: args
                .map(|args| Body::compile(args, TagHolder::Runner, &field("args"), &mut problems)),
            all_inputs: Body::compile(&ALL_INPUTS.into(), TagHolder::Runner, &[], &mut problems),
            context: ContextParts::compile(runner, &mut problems),
            files: of_files(files, &mut problems),
            containers: runner.containers.clone(),
        };
        Diagnostics::check(problems)?;
        Ok(compiled)
    }
}

fn oversize(part: &Value) -> Option<Diagnostic> {
    let kind = if !bounds::is_shallow(part) {
        DiagnosticKind::too_deep()
    } else if bounds::json_bytes_within(part, MAX_TEMPLATE_BYTES).is_none() {
        DiagnosticKind::Limit(format!("it is larger than {MAX_TEMPLATE_BYTES} bytes"))
    } else {
        return None;
    };
    Some(Diagnostic::in_spec("runner", kind))
}

fn of_files(files: &[RunnerFile], problems: &mut Vec<Diagnostic>) -> Vec<File> {
    let mut compiled = Vec::new();
    for (index, one) in files.iter().enumerate() {
        let mut taken = files[..index].iter().map(|other| other.path.as_str());
        let reserved = [ARGS_PATH, CONTEXT_PATH].contains(&one.path.as_str());
        let what = if !is_absolute(&one.path) {
            Some("it is not a path from / to a file")
        } else if tag::has_tag(&one.path) || !tag::find_unclosed(&one.path).is_empty() {
            Some(TAG_IN_PATH)
        } else if reserved {
            Some("arguments and context are there")
        } else if taken.any(|path| path == one.path) {
            Some("another file is there")
        } else {
            None
        };
        problems.extend(what.map(|what| wrong(file(index, "path"), what)));
        let (content, name) = match (&one.text, &one.json) {
            (Some(text), None) => (Value::from(text.as_str()), "text"),
            (None, Some(json)) => (json.clone(), "json"),
            _ => {
                let mut at = file(index, "");
                at.pop();
                problems.push(wrong(at, "a file has either text or json"));
                continue;
            }
        };
        compiled.push(File {
            path: one.path.clone(),
            content: Body::compile(&content, TagHolder::Runner, &file(index, name), problems),
            is_json: name == "json",
        });
    }
    compiled
}

/// Returns true for a normalized absolute path of a file. Kubernetes refuses a colon.
fn is_absolute(path: &str) -> bool {
    let is_name = |name: &str| !matches!(name, "" | "." | "..");
    path.strip_prefix('/')
        .is_some_and(|path| path.split('/').all(is_name) && !path.contains([':', '\0']))
}
