//! Files for the containers of a run: arguments, context, and files of the template.
//!
//! They are annotations of the pod, which the downward API mounts. So there is no further object to create, to own
//! and to clean up, and no further permission is needed. Mounts by `subPath` do not follow later edits of the
//! annotations.

mod compile;
mod context;
mod found;
mod misfits;
mod pod;

use cartouche_crds::{
    RUNNER_ARGS_ANNOTATION, RUNNER_CONTEXT_ANNOTATION, RUNNER_FILE_ANNOTATION, Runner,
};
use cartouche_engines::kinds;
use cartouche_language::{
    Diagnostic, DiagnosticKind, Diagnostics, OpenJson, OpenPlace, Root, Segment, Warning,
    WarningKind, json_text, open::TagHolder,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{body::Body, context::Context};
use context::ContextParts;
pub(crate) use context::tell_account;
pub use found::{FileOfRun, files_of_run};
use pod::RunnerPod;
pub use pod::VOLUME;

/// Maximum bytes of all files together. A pod may have 256 KiB of annotations, some of them from others.
pub(crate) const MAX_FILES_BYTES: usize = 200 * 1024;
/// Path of the arguments in a container.
const ARGS_PATH: &str = "/runner/args.yaml";
/// Path of the context in a container.
const CONTEXT_PATH: &str = "/runner/context.yaml";
/// Variables that contain these paths.
const ARGS_VARIABLE: &str = "RUNNER_ARGS_PATH";
const CONTEXT_VARIABLE: &str = "RUNNER_CONTEXT_PATH";

/// The files of a template, ready to be rendered.
#[derive(Clone, Debug)]
pub(crate) struct CompiledRunner {
    /// The arguments; `None` means all inputs.
    args: Option<Body>,
    all_inputs: Body,
    context: Option<ContextParts>,
    files: Vec<File>,
    containers: Option<Vec<String>>,
}

#[derive(Clone, Debug)]
struct File {
    path: String,
    content: Body,
    is_json: bool,
}

/// A rendered file of a run.
struct RenderedFile {
    annotation: String,
    /// The name of the file in the volume.
    name: String,
    path: String,
    variable: Option<&'static str>,
    content: FileContent,
}

/// The content of a file, with its open tags.
struct FileContent {
    text: String,
    place: Option<OpenPlace>,
}

impl FileContent {
    /// Creates the content from a document, as JSON, which is YAML.
    fn json(document: Value, open: Vec<OpenPlace>) -> Self {
        let text = json_text::json(&document, json_text::float);
        let place = (!open.is_empty()).then(|| OpenPlace {
            at: Vec::new(),
            tags: Vec::new(),
            json: Some(OpenJson { document, open }),
        });
        Self { text, place }
    }

    /// Creates the content from a string, or returns `None` for any other value.
    fn text(value: Value, mut open: Vec<OpenPlace>) -> Option<Self> {
        let Value::String(text) = value else {
            return None;
        };
        let mut place = open.pop();
        for tag in place.iter_mut().flat_map(|place| &mut place.tags) {
            // Its value becomes text in any case.
            tag.alone = false;
        }
        Some(Self { text, place })
    }
}

impl CompiledRunner {
    /// Iterates over the parts that are rendered.
    pub(crate) fn bodies(&self) -> impl Iterator<Item = &Body> {
        let context = self.context.iter().flat_map(ContextParts::bodies);
        let files = self.files.iter().map(|file| &file.content);
        [self.args()].into_iter().chain(context).chain(files)
    }

    fn args(&self) -> &Body {
        self.args.as_ref().unwrap_or(&self.all_inputs)
    }

    pub(crate) fn tag_count(&self) -> usize {
        self.bodies().map(Body::tag_count).sum()
    }

    /// Returns a warning about a context that is probably not intended.
    pub(crate) fn warning(&self) -> Option<Warning> {
        let is_endless = self.context.as_ref().is_some_and(ContextParts::is_endless);
        is_endless.then(|| Warning {
            root: Root::Spec,
            at: field("context"),
            kind: WarningKind::NoTimeout,
        })
    }

    /// Returns true if the predicate holds for a path in the tags.
    pub(crate) fn any_path(&self, is: &impl Fn(&str) -> bool) -> bool {
        self.bodies().any(|body| body.any_path(is))
    }

    /// Adds the files to the pod of a run, and their open places to those of the run.
    pub(crate) fn add_to(
        &self,
        document: &mut Value,
        open: &mut Vec<OpenPlace>,
        context: &Context,
    ) -> Result<(), Diagnostics> {
        let mut problems = Vec::new();
        let made = self.render_files(document, context, &mut problems);
        Diagnostics::check(problems)?;
        let is_misspelt = is_misspelt(document);
        match RunnerPod::find(document) {
            None if is_misspelt => return Ok(()),
            None => return Err(without_pods()),
            Some(pod) => pod.mount(made, self.containers.as_deref(), open)?,
        }
        check_size(document)
    }

    /// Renders every file, as far as possible.
    fn render_files(
        &self,
        document: &Value,
        context: &Context,
        problems: &mut Vec<Diagnostic>,
    ) -> Vec<RenderedFile> {
        let mut made = Vec::new();
        match render(self.args(), &field("args"), context) {
            // A Runnable need not have inputs.
            Ok((Value::Null, _)) if self.args.is_none() => {
                made.push(args_file(FileContent::json(json!({}), Vec::new())));
            }
            Ok((args, places)) => made.push(args_file(FileContent::json(args, places))),
            Err(found) => problems.extend(found),
        }
        let parts = self.context.as_ref();
        if let Some(content) = parts.and_then(|it| it.content(document, context, problems)) {
            made.push(RenderedFile {
                annotation: RUNNER_CONTEXT_ANNOTATION.to_owned(),
                name: "context".to_owned(),
                path: CONTEXT_PATH.to_owned(),
                variable: Some(CONTEXT_VARIABLE),
                content,
            });
        }
        for (index, file) in self.files.iter().enumerate() {
            made.extend(file.render(index, context, problems));
        }
        made
    }
}

fn args_file(content: FileContent) -> RenderedFile {
    RenderedFile {
        annotation: RUNNER_ARGS_ANNOTATION.to_owned(),
        name: "args".to_owned(),
        path: ARGS_PATH.to_owned(),
        variable: Some(ARGS_VARIABLE),
        content,
    }
}

impl File {
    fn render(
        &self,
        index: usize,
        context: &Context,
        problems: &mut Vec<Diagnostic>,
    ) -> Option<RenderedFile> {
        let at = file(index, if self.is_json { "json" } else { "text" });
        let inside = match render(&self.content, &at, context) {
            Ok((value, open)) if self.is_json => Some(FileContent::json(value, open)),
            Ok((value, open)) => FileContent::text(value, open).or_else(|| {
                problems.push(wrong(at, "it is not a string: write it as json"));
                None
            }),
            Err(found) => {
                problems.extend(found);
                None
            }
        };
        Some(RenderedFile {
            annotation: format!("{RUNNER_FILE_ANNOTATION}{index}"),
            name: format!("file-{index}"),
            path: self.path.clone(),
            variable: None,
            content: inside?,
        })
    }
}

/// A file that containers get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mounted {
    /// The path of the file.
    pub path: String,
    /// The content of the file, in a few words.
    pub content: String,
}

/// Returns the files that the containers of a run get from a template.
#[must_use]
pub fn list_mounts(runner: &Runner) -> Vec<Mounted> {
    let file = |path: &str, content: String| Mounted {
        path: path.to_owned(),
        content,
    };
    let args = match runner.args {
        Some(_) => "the arguments of the template",
        None => "all inputs",
    };
    let mut files = vec![file(
        ARGS_PATH,
        format!("{args}, as JSON ({ARGS_VARIABLE})"),
    )];
    if runner.context == Some(true) {
        let content = format!("the context of the run, as JSON ({CONTEXT_VARIABLE})");
        files.push(file(CONTEXT_PATH, content));
    }
    for one in runner.files.iter().flatten() {
        let content = if one.json.is_some() { "JSON" } else { "text" };
        files.push(file(&one.path, content.to_owned()));
    }
    files
}

/// Renders the part of a template at this place.
fn render(
    body: &Body,
    at: &[Segment],
    context: &Context,
) -> Result<(Value, Vec<OpenPlace>), Vec<Diagnostic>> {
    let rendered = body.render(context);
    rendered.map_err(|problems| problems.below(TagHolder::Runner.root(), at))
}

/// Returns the steps to a field of `runner`.
fn field(name: &str) -> Vec<Segment> {
    Segment::keys(["runner", name])
}

/// Returns the steps to a field of a file.
fn file(index: usize, name: &str) -> Vec<Segment> {
    [field("files"), vec![Segment::Index(index), name.into()]].concat()
}

fn wrong(at: Vec<Segment>, kind: impl Into<DiagnosticKind>) -> Diagnostic {
    Diagnostic::new(TagHolder::Runner.root(), at, kind)
}

/// Returns true if a run lacks files because its kind is misspelt.
fn is_misspelt(document: &Value) -> bool {
    let text = |field: &str| document.get(field).and_then(Value::as_str);
    let kind = (text("apiVersion"), text("kind"));
    matches!(kind, (Some(version), Some(kind)) if kinds::is_misspelt_with_pods(version, kind))
}

/// Fails if a run of an existing kind lacks its files.
pub(crate) fn check_is_mounted(document: &Value) -> Result<(), Diagnostics> {
    if is_misspelt(document) {
        return Err(without_pods());
    }
    Ok(())
}

fn without_pods() -> Diagnostics {
    let kind = "the run has no pods that files can be mounted into: only Jobs and Pods have";
    wrong(Segment::keys(["runner"]), kind).into()
}

/// Returns the JSON pointer to the annotations of a run's pod.
fn to_annotations(document: &Value) -> Option<String> {
    let known = kinds::known_fields_of(document)?;
    Some(format!("{}/metadata/annotations", known.pod_template?))
}

/// Returns the annotations of a run's pod.
fn annotations(document: &Value) -> Option<&Map<String, Value>> {
    document.pointer(&to_annotations(document)?)?.as_object()
}

fn annotations_mut(document: &mut Value) -> Option<&mut Map<String, Value>> {
    let pointer = to_annotations(document)?;
    document.pointer_mut(&pointer)?.as_object_mut()
}

/// The part of a context that tells whether the container may change anything.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AskedOf {
    dry_run: Option<bool>,
}

/// Returns true if the containers of a run of this kind were asked to change nothing.
pub(crate) fn is_dry_run(kind: Option<(&str, &str)>, run: &Value) -> bool {
    let asked = || {
        let (api_version, kind) = kind?;
        let pod = kinds::known_fields(api_version, kind)?.pod_template?;
        let annotations = run.pointer(pod)?.pointer("/metadata/annotations")?;
        let text = annotations.get(RUNNER_CONTEXT_ANNOTATION)?.as_str()?;
        // Every account that may change pods can write any text there, so it is not parsed into a tree.
        let context: AskedOf = serde_json::from_str(text).ok()?;
        context.dry_run
    };
    asked().unwrap_or_default()
}

/// Fails if all files of a run together are too large for its pod.
pub(crate) fn check_size(document: &Value) -> Result<(), Diagnostics> {
    let is_file = |key: &str| {
        key == RUNNER_ARGS_ANNOTATION
            || key == RUNNER_CONTEXT_ANNOTATION
            || key.starts_with(RUNNER_FILE_ANNOTATION)
    };
    let files = annotations(document).into_iter().flatten();
    let files = files.filter(|(key, _)| is_file(key));
    let bytes: usize = files
        .map(|(_, text)| text.as_str().map_or(0, str::len))
        .sum();
    if bytes <= MAX_FILES_BYTES {
        return Ok(());
    }
    let message = format!("the files have {bytes} bytes together, more than {MAX_FILES_BYTES}");
    Err(wrong(Segment::keys(["runner"]), DiagnosticKind::Limit(message)).into())
}

#[cfg(test)]
mod tests;
