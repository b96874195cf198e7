//! The files of the repository, as a checkout has them.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Folders that no commit has.
const NOT_OURS: [&str; 2] = [".git", "target"];

/// Returns the folder that contains the workspace.
pub fn root() -> io::Result<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
}

/// Returns every file below a folder whose name has this ending, by its path from there, in order.
pub fn below(folder: &Path, ending: &str) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    collect(folder, Path::new(""), ending, &mut found)?;
    found.sort();
    Ok(found)
}

fn collect(folder: &Path, below: &Path, ending: &str, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder.join(below))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // A link to a folder, as `target` may be one, is not followed.
        let kind = entry.file_type()?;
        let path = below.join(&name);
        if kind.is_dir() && !NOT_OURS.contains(&name.as_str()) {
            collect(folder, &path, ending, found)?;
        } else if kind.is_file() && name.ends_with(ending) {
            found.push(path);
        }
    }
    Ok(())
}
