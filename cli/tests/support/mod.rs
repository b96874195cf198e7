//! Runs the command as a user does.

#![allow(dead_code, reason = "each test program takes what it needs")]

pub mod played;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Output and exit code of a command.
pub struct Output {
    pub out: String,
    pub err: String,
    pub code: i32,
}

/// Returns the command in a folder, without a terminal and without a cluster.
pub fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cartouche"));
    command
        .current_dir(folder)
        .args(arguments)
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .env("KUBECONFIG", "/nonexistent")
        .stdin(Stdio::null());
    command
}

pub fn cartouche_in(folder: &Path, arguments: &[&str]) -> Output {
    finish(&mut command(folder, arguments))
}

/// Returns the exit code and the output of `validate` on these manifests, in one file.
pub fn validated(manifests: &str) -> (i32, String) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("all.yaml"), manifests).unwrap();
    let output = cartouche_in(folder.path(), &["validate", "."]);
    (output.code, format!("{}{}", output.err, output.out))
}

pub fn finish(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    Output {
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
        code: output.status.code().unwrap(),
    }
}

pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

pub fn cartouche(arguments: &[&str]) -> Output {
    cartouche_in(&repository(), arguments)
}

/// Creates a folder with a copy of one example.
pub fn copy_of(example: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    copy(&repository().join("examples").join(example), folder.path());
    folder
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, name) = entry
            .map(|entry| (entry.path(), entry.file_name()))
            .unwrap();
        if path.is_dir() {
            copy(&path, &to.join(name));
        } else {
            fs::copy(&path, to.join(name)).unwrap();
        }
    }
}

pub fn replace(file: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(file, text.replace(from, to)).unwrap();
}

/// Replaces a text in a file of a folder.
pub fn edit(folder: &tempfile::TempDir, file: &str, from: &str, to: &str) {
    replace(&folder.path().join(file), from, to);
}

/// Returns everything on standard error of a command, once it has ended.
pub fn errors_of(child: &mut std::process::Child) -> String {
    use std::io::Read as _;
    let mut err = String::new();
    let mut said = child.stderr.take().unwrap();
    said.read_to_string(&mut err).unwrap();
    err
}

/// Writes the manifests of a page of docs whose first line names their file, below a folder.
pub fn write_files(page: &str, folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(repository().join("docs").join(page)).unwrap();
    let blocks = text.split("```yaml\n").skip(1);
    let mut written = Vec::new();
    for block in blocks.filter_map(|rest| rest.split("```").next()) {
        let named = block
            .lines()
            .next()
            .and_then(|line| line.strip_prefix("# "));
        let Some(name) = named.filter(|name| Path::new(name).extension().is_some()) else {
            continue;
        };
        let file = folder.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, block).unwrap();
        written.push(name.to_owned());
    }
    written
}
