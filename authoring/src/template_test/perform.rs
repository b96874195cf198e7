//! Plays one case and compares.

use std::path::{Path, PathBuf};

use anyhow::bail;
use cartouche_language::Diagnostic;
use cartouche_templating::Template;
use serde_json::{Value, json};

use crate::template_test::{
    Case, EXPECTED, EXPECTED_ERROR, PLAYED, PLAYED_EXPECTED, difference, find, play::PlayedRun,
    profile, sources,
};
use crate::{
    foreign::in_lines,
    manifests::{self, Boundary},
    objects,
    render::{self, DraftRun, RenderSubject, profiles::With},
    source::Document,
    template_file, yaml,
};

/// A difference from the expected result.
#[derive(Debug)]
pub struct Difference {
    /// The file with the expectation.
    pub file: String,
    /// Difference as text, for a terminal.
    pub text: String,
}

/// Handling of expectations that are not met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Report the differences.
    Compare,
    /// Write the actual result.
    Update,
}

/// Plays a case. No difference: it passed.
pub fn perform(case: &Case, mode: Mode) -> anyhow::Result<Vec<Difference>> {
    let template_document = document("template", case.template.as_deref(), case)?;
    let runnable = runnable(case)?;
    let selected = case
        .selected
        .as_deref()
        .map(|path| document("selected", Some(path), case))
        .transpose()?;
    let sourced = sources::inputs(case, &runnable)?;
    let mut expectations = Expectations {
        case,
        mode,
        differences: Vec::new(),
    };
    let template = match template_file::compile(&template_document) {
        Some(Ok(template)) => template,
        Some(Err(problems)) => {
            expectations.error(&lines(&problems))?;
            return Ok(expectations.differences);
        }
        None => bail!("{} has no spec.template", template_document.source.name),
    };
    let sourced = match sourced {
        Ok(sourced) => sourced,
        Err(why) => {
            expectations.error(&why)?;
            return Ok(expectations.differences);
        }
    };
    let namespace = runnable.pointer("/metadata/namespace");
    let namespace = namespace.and_then(Value::as_str).unwrap_or_default();
    let is_required = template_file::needs_profile(&template_document);
    let profile = match profile::choose(case, (&runnable, namespace), is_required)? {
        Ok(profile) => profile,
        Err(why) => {
            expectations.error(&why)?;
            return Ok(expectations.differences);
        }
    };
    let with = match profile
        .as_deref()
        .map(|known| With::from_profile(known, None))
    {
        None => None,
        Some(Ok(with)) => Some(with),
        Some(Err(problems)) => {
            expectations.error(&lines(problems))?;
            return Ok(expectations.differences);
        }
    };
    let subject = RenderSubject {
        template: &template,
        template_name: template_document.name(),
        runnable: &runnable,
        selected: selected.as_ref().map(|document| &document.value),
        sourced: &sourced,
        with,
    };
    match render::run(&subject) {
        Err(problems) => expectations.error(&lines(&problems))?,
        Ok(run) => {
            expectations.run(&run)?;
            expectations.played(&template, &run, &runnable)?;
        }
    }
    Ok(expectations.differences)
}

fn document(what: &str, path: Option<&Path>, case: &Case) -> anyhow::Result<Document> {
    let Some(path) = path else {
        bail!(
            "there is no {what}.yaml in this folder or above it, up to {}\nhint: set its path in case.yaml",
            case.boundary.root().display()
        );
    };
    let found = manifests::load_one(path, &case.boundary)?;
    let mut document = found.map_err(|finding| finding.as_error())?;
    match objects::unusable(&mut document) {
        Some(finding) => Err(finding.as_error()),
        None => Ok(document),
    }
}

fn lines(problems: &[Diagnostic]) -> String {
    let lines = problems.iter().map(|problem| format!("{problem}\n"));
    lines.collect()
}

/// Loads the Runnable, with the inputs of the case.
fn runnable(case: &Case) -> anyhow::Result<Value> {
    let document = document("runnable", case.runnable.as_deref(), case)?;
    let mut runnable = document.value.clone();
    if let Some(inputs) = &case.inputs {
        find::merge_patch(&mut runnable, &json!({ "spec": { "inputs": inputs } }));
    }
    Ok(render::prepare(&runnable, objects::namespace_of(&document)))
}

struct Expectations<'a> {
    case: &'a Case,
    mode: Mode,
    differences: Vec<Difference>,
}

impl Expectations<'_> {
    /// Compares a run that renders.
    fn run(&mut self, run: &DraftRun) -> anyhow::Result<()> {
        self.not_expected(EXPECTED_ERROR)?;
        self.yaml(&self.case.folder.join(EXPECTED), &run.object)
    }

    /// Compares the error of a run that does not render.
    fn error(&mut self, text: &str) -> anyhow::Result<()> {
        if self.mode == Mode::Compare && !self.case.folder.join(EXPECTED_ERROR).is_file() {
            self.differ(
                &self.case.folder.join(EXPECTED),
                format!("it cannot be rendered:\n{}", in_lines(text)),
            );
            return Ok(());
        }
        self.not_expected(EXPECTED)?;
        self.text(&self.case.folder.join(EXPECTED_ERROR), text)
    }

    /// Adds a difference for a file that expects the opposite. In update mode it removes the file.
    fn not_expected(&mut self, file: &str) -> anyhow::Result<()> {
        let path = self.case.folder.join(file);
        if !path.is_file() {
            return Ok(());
        }
        if self.mode == Mode::Update {
            return manifests::remove(&path);
        }
        let came = if file == EXPECTED_ERROR {
            "an error was expected, and it renders"
        } else {
            "it cannot be rendered"
        };
        self.differ(&path, format!("{came}\n"));
        Ok(())
    }

    /// Plays every status, one after the other.
    fn played(
        &mut self,
        template: &Template,
        run: &DraftRun,
        runnable: &Value,
    ) -> anyhow::Result<()> {
        let files = played_files(&self.case.folder.join(PLAYED), &self.case.boundary)?;
        if files.is_empty() {
            return Ok(());
        }
        let mut stage = PlayedRun::new(template, run, runnable)?;
        for file in files {
            let played = manifests::load_one(&file, &self.case.boundary)?
                .map_err(|finding| finding.as_error())?;
            let summary = stage.play(&played.value)?;
            let stem = file.with_extension("");
            self.yaml(
                &PathBuf::from(format!("{}{PLAYED_EXPECTED}", stem.display())),
                &summary,
            )?;
        }
        Ok(())
    }

    /// Compares as values, so that the order of keys and the style of YAML do not matter.
    fn yaml(&mut self, path: &Path, actual: &Value) -> anyhow::Result<()> {
        let actual_text = yaml::text(actual)?;
        if !path.is_file() {
            return self.text(path, &actual_text);
        }
        let expected = manifests::load_one(path, &self.case.boundary)?
            .map_err(|finding| finding.as_error())?
            .value;
        if &expected == actual {
            return Ok(());
        }
        if self.mode == Mode::Update {
            return self.case.boundary.write(path, &actual_text);
        }
        self.differ(
            path,
            difference::unified(&yaml::text(&expected)?, &actual_text),
        );
        Ok(())
    }

    fn text(&mut self, path: &Path, actual: &str) -> anyhow::Result<()> {
        self.case.boundary.check_found(path)?;
        let expected = path.is_file().then(|| manifests::read(path)).transpose()?;
        if expected.as_deref() == Some(actual) {
            return Ok(());
        }
        if self.mode == Mode::Update {
            return self.case.boundary.write(path, actual);
        }
        let diff = match expected {
            Some(expected) => difference::unified(&expected, actual),
            None => format!(
                "there is no such file; --update writes it:\n{}",
                difference::unified("", actual)
            ),
        };
        self.differ(path, diff);
        Ok(())
    }

    fn differ(&mut self, path: &Path, text: String) {
        self.differences.push(Difference {
            file: path.strip_prefix(".").unwrap_or(path).display().to_string(),
            text,
        });
    }
}

/// Returns the statuses of a case, in the order of their names.
fn played_files(folder: &Path, boundary: &Boundary) -> anyhow::Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    boundary.check_found(folder)?;
    let mut files = manifests::entries(folder)?;
    files.retain(|path| {
        let is_expected = path.to_string_lossy().ends_with(PLAYED_EXPECTED);
        !is_expected && path.extension().is_some_and(|it| it == "yaml")
    });
    Ok(files)
}
