//! The program of `tests/control-plane/yaml`, which reads as kubectl does, by kubectl's own libraries.

use std::{
    fs::File,
    path::PathBuf,
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use serde_json::Value;

/// Result of kubectl for a text.
#[derive(Debug, Deserialize)]
pub struct Answer {
    pub documents: Vec<Value>,
    pub error: Option<String>,
    /// Parts of the text that kubectl takes and the command refuses.
    #[serde(default)]
    pub doubtful: Vec<String>,
}

pub struct Kubectl {
    program: PathBuf,
    folder: tempfile::TempDir,
}

impl Kubectl {
    /// Builds the program, in seconds. Its folder is of this test alone: tests of one program run at once.
    pub fn build() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let program = folder.path().join("yaml");
        let built = Command::new("go")
            .args(["build", "-o"])
            .arg(&program)
            .arg(".")
            .current_dir(super::super::support::repository().join("tests/control-plane/yaml"))
            .env("CGO_ENABLED", "0")
            .env("GOFLAGS", "-mod=readonly")
            .output()
            .context("the test needs Go")?;
        let said = String::from_utf8_lossy(&built.stderr);
        ensure!(built.status.success(), "go build failed: {said}");
        Ok(Self { program, folder })
    }

    /// Returns its result for each text.
    pub fn read(&self, texts: &[String]) -> Result<Vec<Answer>> {
        let input = self.folder.path().join("texts");
        let lines: Vec<String> = texts
            .iter()
            .map(serde_json::to_string)
            .collect::<Result<_, _>>()?;
        std::fs::write(&input, lines.join("\n"))?;
        let output = Command::new(&self.program)
            .stdin(File::open(&input)?)
            .stderr(Stdio::inherit())
            .output()?;
        ensure!(output.status.success(), "the program failed");
        let answers = serde_json::Deserializer::from_slice(&output.stdout).into_iter();
        let answers: Vec<Answer> = answers.collect::<Result<_, _>>()?;
        ensure!(answers.len() == texts.len(), "an answer is missing");
        Ok(answers)
    }
}
