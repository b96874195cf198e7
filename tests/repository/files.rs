//! The files of the repository, as a checkout has them.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Folders that no commit holds.
const NOT_OURS: [&str; 2] = [".git", "target"];

/// The folder that holds the workspace.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap().to_owned()
}

/// Every file below a folder whose name ends so, in order.
pub fn below(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(folder, ending, &mut found);
    found.sort();
    found
}

fn collect(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let path = entry.path();
        // A link to a folder, as `target` may be one, is not followed.
        let kind = entry.file_type().unwrap();
        if kind.is_dir() && !NOT_OURS.contains(&name.as_str()) {
            collect(&path, ending, found);
        } else if kind.is_file() && name.ends_with(ending) {
            found.push(path);
        }
    }
}
