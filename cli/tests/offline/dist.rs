//! The released files: an archive, its sum, and krew's manifest.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Stdio},
};

use crate::support::{Output, finish, repository};
use serde_json::Value;

const BASE: &str = "https://example.com/a&b/v1/";

/// Makes it of a program that calls the command: the command as it is tested is too large to pack.
fn make(folder: &Path) -> Output {
    let program = folder.join("cartouche");
    let script = format!(
        "#!/bin/sh\nexec {} \"$@\"\n",
        env!("CARGO_BIN_EXE_cartouche")
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new("bash");
    command
        .arg(repository().join(".ci/dist"))
        .args([&program, &folder.join("dist")])
        .arg(BASE)
        .env("SOURCE_DATE_EPOCH", "1700000000")
        .stdin(Stdio::null());
    finish(&mut command)
}

fn run(folder: &Path, program: &str, arguments: &[&str]) -> String {
    let Output { out, err, code } =
        finish(Command::new(program).current_dir(folder).args(arguments));
    assert_eq!(code, 0, "{program} {arguments:?}: {out}{err}");
    out
}

#[test]
fn the_archive_has_the_command_twice_and_what_belongs_to_it_and_krew_is_told_its_sum() {
    let folder = tempfile::tempdir().unwrap();
    let made = make(folder.path());
    assert_eq!((made.code, made.err.as_str()), (0, ""), "{}", made.out);
    let dist = folder.path().join("dist");
    run(&dist, "sha256sum", &["--check", "SHA256SUMS"]);
    let sums = fs::read_to_string(dist.join("SHA256SUMS")).unwrap();
    let (sum, archive) = sums.trim().split_once("  ").unwrap();

    run(&dist, "tar", &["-xzf", archive]);
    let root = dist.join(archive.strip_suffix(".tar.gz").unwrap());
    let version = env!("CARGO_PKG_VERSION");
    for program in ["./cartouche", "./kubectl-cartouche"] {
        assert!(run(&root, program, &["--version"]).ends_with(&format!(" {version}\n")));
        assert!(!root.join(program).is_symlink(), "krew refuses links");
    }
    for file in [
        "LICENSE",
        "completions/cartouche.bash",
        "completions/kubectl_complete-cartouche",
        "man/man1/cartouche-why.1",
    ] {
        assert!(fs::metadata(root.join(file)).unwrap().len() > 0, "{file}");
    }

    let manifest = fs::read_to_string(dist.join("cartouche.yaml")).unwrap();
    let manifest: Value = serde_saphyr::from_str(&manifest).unwrap();
    assert_eq!(manifest["spec"]["version"], format!("v{version}"));
    let platforms = manifest["spec"]["platforms"].as_array().unwrap();
    assert_eq!(platforms.len(), 1, "{manifest}");
    assert_eq!(platforms[0]["sha256"], sum);
    assert_eq!(platforms[0]["uri"], format!("{BASE}{archive}"));
}

#[test]
fn one_commit_makes_one_archive() {
    let made = || {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("cartouche");
        make(folder.path());
        assert!(program.is_file());
        fs::read_to_string(folder.path().join("dist/SHA256SUMS")).unwrap()
    };
    assert_eq!(made(), made());
}
