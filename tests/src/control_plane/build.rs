//! Builds the programs of the control plane from their Go modules, once per version.

use std::{
    env,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use super::{
    parts::{Part, PartsError},
    supervise::{Program, Supervised},
};
use crate::progress::Progress;

/// Variable that is `built` where engines and nodes are used only if they were built before, since all of them take
/// longer to build than all tests take. `.ci/run` sets it.
pub(super) const ENGINES: &str = "CARTOUCHE_ENGINES";

/// Returns true if nothing but a control plane may be built.
pub(crate) fn leaves_engines_out() -> bool {
    env::var(ENGINES).is_ok_and(|engines| engines == "built")
}

/// Returns the given parts, each with its path, and builds those that are not built yet. Of several processes
/// that do this at once, one builds and the others wait.
pub(super) fn built(
    demo: &Path,
    parts: &[Part],
    progress: Progress,
) -> Result<Vec<(Part, PathBuf)>, PartsError> {
    let root = folder_for_builds(demo);
    let mut places = Vec::new();
    for &part in parts {
        let (product, _) = part.product();
        let version = version(part)?;
        let place = root.join(format!("{product}-{version}"));
        places.push((part, place.join(part.binary()), version));
    }
    let missing: Vec<_> = places
        .iter()
        .filter(|(_, path, _)| !path.is_file())
        .collect();
    let engine = missing.iter().find(|(part, ..)| !Part::ALL.contains(part));
    if let Some((part, ..)) = engine
        && leaves_engines_out()
    {
        let binary = part.binary();
        return Err(PartsError::LeftOut { binary });
    }
    if !missing.is_empty() {
        let _lock = lock(&root, progress)?;
        build_missing(demo, &places, progress)?;
    }
    Ok(places.into_iter().map(|(p, path, _)| (p, path)).collect())
}

/// Returns `<target>/control-plane`: the demo binary is `<target>/<profile>/demo`.
pub(super) fn folder_for_builds(demo: &Path) -> PathBuf {
    let target = demo.parent().and_then(Path::parent);
    target.unwrap_or(Path::new(".")).join("control-plane")
}

fn lock(root: &Path, progress: Progress) -> Result<File, PartsError> {
    fs::create_dir_all(root).map_err(|e| at(root, e))?;
    let path = root.join(".lock");
    let file = File::create(&path).map_err(|e| at(&path, e))?;
    if file.try_lock().is_err() {
        let step = progress.step("waiting for another process that builds the control plane");
        file.lock().map_err(|e| at(&path, e))?;
        step.done();
    }
    Ok(file)
}

fn build_missing(
    demo: &Path,
    places: &[(Part, PathBuf, String)],
    progress: Progress,
) -> Result<(), PartsError> {
    let missing: Vec<_> = places.iter().filter(|(_, p, _)| !p.is_file()).collect();
    if !missing.is_empty() && !go_is_there() {
        let names: Vec<_> = missing.iter().map(|(part, ..)| part.binary()).collect();
        return Err(PartsError::NoGo {
            missing: names.join(", "),
        });
    }
    if missing.len() >= Part::ALL.len() {
        progress.note(
            "Building a Kubernetes control plane from source: once, about 6 minutes on two cores.",
        );
    }
    for (index, (part, path, version)) in missing.iter().enumerate() {
        let step = progress.step(format!(
            "[{}/{}] building {} {version}",
            index + 1,
            missing.len(),
            part.binary(),
        ));
        build(demo, *part, version, path)?;
        step.done();
    }
    Ok(())
}

fn go_is_there() -> bool {
    Command::new("go")
        .arg("version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Builds beside the final path and moves the result there, so that a file at that path is whole.
fn build(demo: &Path, part: Part, version: &str, path: &Path) -> Result<(), PartsError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|e| at(folder, e))?;
    let unfinished = path.with_extension("unfinished");
    let log = path.with_extension("log");
    fs::write(&log, "").map_err(|e| at(&log, e))?;
    let program = Program::new("go", &log)
        .arg("build")
        .arg("-C")
        .arg(go_module(part))
        .args(["-trimpath", "-tags", part.tags(), "-ldflags"])
        .arg(linker_flags(version))
        .arg("-o")
        .arg(&unfinished)
        .arg(part.package())
        .env("CGO_ENABLED", if part.needs_c() { "1" } else { "0" })
        .env("GOFLAGS", "-mod=readonly");
    let go = Supervised::start(demo, &program).map_err(|e| at(demo, e))?;
    let status = loop {
        match go.ended().map_err(|e| at(demo, e))? {
            Some(status) => break status,
            None => thread::sleep(Duration::from_millis(50)),
        }
    };
    if !status.success() {
        return Err(PartsError::Build {
            binary: part.binary(),
            reason: fs::read_to_string(&log).map_err(|e| at(&log, e))?,
        });
    }
    fs::rename(&unfinished, path).map_err(|e| at(&unfinished, e))?;
    fs::remove_file(&log).map_err(|e| at(&log, e))
}

/// Returns the flags that set the version. Without it, clients take the server for a development build and
/// refuse it.
fn linker_flags(version: &str) -> String {
    format!("-s -w -X k8s.io/component-base/version.gitVersion={version}")
}

fn go_module(part: Part) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("control-plane")
        .join(part.go_mod_folder())
}

fn version(part: Part) -> Result<String, PartsError> {
    let (_, module) = part.product();
    let file = go_module(part).join("go.mod");
    let text = fs::read_to_string(&file).map_err(|e| at(&file, e))?;
    required_version(&text, module)
        .map(str::to_owned)
        .ok_or(PartsError::NoVersion { file, module })
}

/// Returns the version of `module` that a go.mod requires, if any.
fn required_version<'a>(go_mod: &'a str, module: &str) -> Option<&'a str> {
    go_mod.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip_while(|w| *w == "require");
        (words.next()? == module)
            .then(|| words.next())
            .flatten()
            .filter(|word| word.starts_with('v'))
    })
}

fn at(path: &Path, source: io::Error) -> PartsError {
    PartsError::File {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GO_MOD: &str = "module x\n\ntool k8s.io/kubernetes/cmd/kubectl\n\nrequire (\n\
        \tk8s.io/kubernetes/extra v0.1.0\n\tk8s.io/kubernetes v1.36.3 // indirect\n)\n\
        require sigs.k8s.io/kwok v0.8.0\n";

    #[test]
    fn the_version_comes_from_the_require_line_of_exactly_that_module() {
        assert_eq!(
            required_version(GO_MOD, "k8s.io/kubernetes"),
            Some("v1.36.3")
        );
        assert_eq!(required_version(GO_MOD, "sigs.k8s.io/kwok"), Some("v0.8.0"));
        assert_eq!(required_version(GO_MOD, "k8s.io/kube"), None);
    }

    #[test]
    fn every_part_has_a_version_in_its_go_mod() {
        for part in Part::ALL.into_iter().chain(Part::NODE) {
            assert!(version(part).unwrap().starts_with('v'), "{part:?}");
        }
    }

    #[test]
    fn builds_are_kept_in_the_target_folder_of_the_demo() {
        assert_eq!(
            folder_for_builds(Path::new("/src/target/debug/demo")),
            Path::new("/src/target/control-plane")
        );
    }
}
