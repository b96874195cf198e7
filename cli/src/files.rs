//! The files that a command is given.

use std::path::{Path, PathBuf};

use cartouche_authoring::manifests::STANDARD_INPUT;
use clap::Args;

/// Files by an option, as kubectl takes them. Each command that takes files takes them in the place of names as well.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct FileArgs {
    /// File or folder; - is standard input; may be given several times
    #[arg(short, long = "file", id = "files", value_name = "PATH")]
    pub(crate) files: Vec<PathBuf>,
}

impl FileArgs {
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Takes these words if they are files, and leaves the others.
    pub(crate) fn take_from(&mut self, words: &mut Vec<String>) {
        let (files, names): (Vec<String>, _) = words.drain(..).partition(|word| is_file(word));
        self.files.extend(files.into_iter().map(PathBuf::from));
        *words = names;
    }

    /// Takes an optional word if it is a file.
    pub(crate) fn take_one(&mut self, word: &mut Option<String>) {
        if let Some(file) = word.take_if(|word| is_file(word)) {
            self.files.push(PathBuf::from(file));
        }
    }

    /// Hands over to paths that a command takes in any case.
    pub(crate) fn move_to(&mut self, paths: &mut Vec<PathBuf>) {
        paths.append(&mut self.files);
    }
}

/// Returns true if a word is written as a path, and leads to something. A folder may be called like a Runnable.
fn is_file(word: &str) -> bool {
    let path = Path::new(word);
    let extension = path.extension().and_then(|it| it.to_str());
    let is_written_so = word.starts_with('.')
        || word.contains(std::path::MAIN_SEPARATOR)
        || matches!(extension, Some("yaml" | "yml" | "json"));
    word == STANDARD_INPUT || (is_written_so && path.exists())
}
