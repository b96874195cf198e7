//! The images of the node: `examples/runner`, the only program that its containers run.

use std::{
    env,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tar::{Builder, EntryType, Header};

use crate::{control_plane::build, engines::sha256, progress::Progress};

/// The example's image.
pub const RUNNER_IMAGE: &str = "registry.example.com/runner:1";
/// Image of the container that holds a pod together: the same program, asleep.
pub(super) const PAUSE_IMAGE: &str = "registry.example.com/pause:1";

/// The archive with both, in the node's folder.
pub(super) const ARCHIVE: &str = "images.tar";

/// The program's name, and its path in the images. Runs have their files at `/runner`.
const PROGRAM: &str = "runner";
const PATH: &str = "/bin/runner";

/// Builds the program and writes the archive with its images into the node's folder.
pub(super) fn write(demo: &Path, folder: &Path) -> Result<()> {
    let images = [
        (RUNNER_IMAGE, json!([PATH])),
        (PAUSE_IMAGE, json!([PATH, "sleep"])),
    ];
    write_archive(&folder.join(ARCHIVE), &built(demo)?, PATH, &images)
}

/// Writes an archive with images of one program, which differ in the command that they start.
pub(super) fn write_archive(
    archive: &Path,
    program: &Path,
    path: &str,
    images: &[(&str, Value)],
) -> Result<()> {
    let layer = layer(&fs::read(program)?, path)?;
    let digest = sha256(&layer);
    let mut archive = Builder::new(File::create(archive)?);
    let mut manifest = Vec::new();
    for (index, (image, entrypoint)) in images.iter().enumerate() {
        let config = config(entrypoint, &digest).to_string();
        let file = format!("{index}.json");
        add(&mut archive, &file, 0o644, config.as_bytes())?;
        manifest.push(json!({ "Config": file, "RepoTags": [image], "Layers": ["layer.tar"] }));
    }
    add(&mut archive, "layer.tar", 0o644, &layer)?;
    let manifest = Value::from(manifest).to_string();
    add(&mut archive, "manifest.json", 0o644, manifest.as_bytes())?;
    archive.into_inner()?;
    Ok(())
}

/// Builds the program, linked statically because an image has nothing else. Cargo knows if it has changed.
fn built(demo: &Path) -> Result<PathBuf> {
    let target = format!("{}-unknown-linux-gnu", env::consts::ARCH);
    let folder = build::folder_for_builds(demo).join("image");
    let step = (!folder.is_dir()).then(|| Progress::for_stderr().step("building examples/runner"));
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args([
            "build",
            "--quiet",
            "--locked",
            "--package",
            "cartouche-example-runner",
        ])
        // With a target, the flag does not apply to build scripts.
        .args(["--target", &target, "--target-dir"])
        .arg(&folder)
        .env(
            "CARGO_ENCODED_RUSTFLAGS",
            "-Ctarget-feature=+crt-static\u{1f}-Cstrip=symbols",
        )
        .current_dir(crate::repository())
        .stdin(Stdio::null())
        .output()
        .context("cargo")?;
    if !output.status.success() {
        bail!(
            "building examples/runner failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    if let Some(step) = step {
        step.done();
    }
    Ok(folder.join(target).join("debug").join(PROGRAM))
}

fn layer(program: &[u8], path: &str) -> io::Result<Vec<u8>> {
    let mut layer = Builder::new(Vec::new());
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Directory);
    header.set_mode(0o1777);
    header.set_size(0);
    layer.append_data(&mut header, "tmp/", io::empty())?;
    add(&mut layer, path.trim_start_matches('/'), 0o755, program)?;
    layer.into_inner()
}

fn add(
    archive: &mut Builder<impl io::Write>,
    name: &str,
    mode: u32,
    content: &[u8],
) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_mode(mode);
    header.set_size(content.len() as u64);
    archive.append_data(&mut header, name, content)
}

fn config(entrypoint: &Value, digest: &str) -> Value {
    let architecture = match env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    json!({
        "architecture": architecture,
        "os": "linux",
        "config": { "Entrypoint": entrypoint },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{digest}")] },
    })
}
