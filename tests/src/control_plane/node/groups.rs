//! The control groups of containers.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process,
};

const ROOT: &str = "/sys/fs/cgroup";

/// Returns the group above all containers of a control plane, as the kubelet names it: after the control
/// plane's folder.
pub(super) fn group(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default();
    format!("/{}", name.to_string_lossy())
}

/// Returns the reason why groups cannot be made here, or `None` if they can.
pub(super) fn unfit() -> Option<String> {
    let name = format!("/cartouche-probe-{}", process::id());
    for group in everywhere(&name) {
        if let Err(error) = fs::create_dir(&group).and_then(|()| fs::remove_dir(&group)) {
            return Some(format!("no control groups: {}: {error}", group.display()));
        }
    }
    None
}

/// Removes the groups of a control plane whose containers are gone.
pub(crate) fn remove_groups(folder: &Path) -> io::Result<()> {
    for path in everywhere(&group(folder)) {
        remove(&path)?;
    }
    Ok(())
}

/// Returns the possible paths of a group: in the unified hierarchy, or in each of the others.
fn everywhere(group: &str) -> Vec<PathBuf> {
    let at = |hierarchy: &Path| hierarchy.join(group.trim_start_matches('/'));
    let root = Path::new(ROOT);
    if root.join("cgroup.controllers").is_file() {
        return vec![at(root)];
    }
    let hierarchies = fs::read_dir(root).into_iter().flatten().flatten();
    let hierarchies = hierarchies.map(|entry| entry.path());
    let hierarchies = hierarchies.filter(|path| path.is_dir() && !path.is_symlink());
    hierarchies.map(|path| at(&path)).collect()
}

/// Removes a group after those below it. Its files cannot be removed and need not be.
fn remove(group: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(group) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            remove(&path)?;
        }
    }
    fs::remove_dir(group)
}
