//! Checks of a template's files against the pod in the template.

use cartouche_crds::{RUNNER_ARGS_ANNOTATION, RUNNER_CONTEXT_ANNOTATION, RUNNER_FILE_ANNOTATION};
use cartouche_language::{Diagnostic, syntax};
use serde_json::{Map, Value};

use super::{
    ARGS_PATH, ARGS_VARIABLE, CONTEXT_PATH, CONTEXT_VARIABLE, CompiledRunner, FileContent,
    RenderedFile, pod::RunnerPod,
};

const NAME: &str = "name";

impl CompiledRunner {
    /// Returns the problems that every Runnable would have, unless a tag decides about them: files without a place
    /// in the template's pod, and containers that it lacks.
    pub(crate) fn misfits(&self, template: &Value) -> Vec<Diagnostic> {
        let mut document = template.clone();
        let Some(pod) = RunnerPod::find(&mut document).filter(|pod| self.is_settled(pod.fields()))
        else {
            return Vec::new();
        };
        let mounted = pod.mount(
            self.without_content(),
            self.containers.as_deref(),
            &mut vec![],
        );
        mounted.map_or_else(|problems| problems.to_vec(), |()| Vec::new())
    }

    /// Returns true if no tag decides about the parts of the pod that files are added to.
    fn is_settled(&self, pod: &Map<String, Value>) -> bool {
        let is_open = |value: Option<&Value>| value.is_some_and(Value::is_string);
        let spec = pod.get("spec");
        let field = |name: &str| spec.and_then(|spec| spec.get(name));
        let annotations = pod.get("metadata").and_then(|it| it.get("annotations"));
        let lists = ["containers", "initContainers"].map(field);
        let mut containers = lists
            .iter()
            .flatten()
            .filter_map(|it| it.as_array())
            .flatten();
        let is_container_open = |container: &Value| {
            let name = container.get(NAME).and_then(Value::as_str);
            let is_named = name.is_some_and(|name| !syntax::may_hold_tags(name));
            let is_asked_for = self.containers.is_some();
            container.is_string()
                || is_open(container.get("env"))
                || is_open(container.get("volumeMounts"))
                || is_asked_for && !is_named
        };
        let places = [spec, pod.get("metadata"), annotations, field("volumes")];
        !places.into_iter().chain(lists).any(is_open) && !containers.any(is_container_open)
    }

    /// Returns every file without its content.
    fn without_content(&self) -> Vec<RenderedFile> {
        let made = |annotation: String, name: String, path: &str, variable| RenderedFile {
            annotation,
            name,
            path: path.to_owned(),
            variable,
            content: FileContent {
                text: String::new(),
                place: None,
            },
        };
        let args = (RUNNER_ARGS_ANNOTATION, "args", ARGS_PATH, ARGS_VARIABLE);
        let context = (
            RUNNER_CONTEXT_ANNOTATION,
            "context",
            CONTEXT_PATH,
            CONTEXT_VARIABLE,
        );
        let context = self.context.as_ref().map(|_| context);
        let of_template = [args].into_iter().chain(context);
        let of_template = of_template.map(|(annotation, name, path, variable)| {
            made(annotation.to_owned(), name.to_owned(), path, Some(variable))
        });
        let files = self.files.iter().enumerate().map(|(index, file)| {
            let annotation = format!("{RUNNER_FILE_ANNOTATION}{index}");
            made(annotation, format!("file-{index}"), &file.path, None)
        });
        of_template.chain(files).collect()
    }
}
