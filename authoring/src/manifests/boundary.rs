//! The folder that files of others must not lead out of, neither by paths that they name nor by links.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::{self, Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use anyhow::{Context as _, bail};

use super::shown_path;
use crate::remark;

const GIT: &str = ".git";
/// Maximum number of folders that are entered by links. Links to links double with each level.
const MOST_LINKED: usize = 1000;

/// The repository that a folder is in, or the folder itself if it is in none.
#[derive(Clone, Debug)]
pub struct Boundary {
    /// Without links.
    root: PathBuf,
    is_repository: bool,
    /// Number of folders that were entered by links.
    linked: Arc<AtomicUsize>,
}

impl Boundary {
    /// Fails if a link on the way to the folder leads out of the repository that the link is in.
    pub fn around(folder: &Path) -> anyhow::Result<Self> {
        let unreadable = || format!("the folder {} cannot be read", folder.display());
        let links = path::absolute(folder).with_context(unreadable)?;
        for link in links.ancestors().filter(|it| it.is_symlink()) {
            let (to, within) = (link.canonicalize(), link.parent().map(Path::canonicalize));
            let (to, within) = (to.with_context(unreadable)?, within.transpose()?);
            if let Some(repository) = within.as_deref().and_then(repository_of)
                && !to.starts_with(repository)
            {
                let link = link.display();
                let (repository, to) = (repository.display(), to.display());
                bail!(
                    "{link} is a link out of the repository {repository}\nhint: name {to} itself"
                );
            }
        }
        let folder = folder.canonicalize().with_context(unreadable)?;
        let repository = repository_of(&folder);
        Ok(Self {
            is_repository: repository.is_some(),
            root: repository.unwrap_or(&folder).to_owned(),
            linked: Arc::default(),
        })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns true if a folder is the outermost one.
    pub(crate) fn is_at(&self, folder: &Path) -> bool {
        folder
            .canonicalize()
            .is_ok_and(|folder| folder == self.root)
    }

    /// Returns true if a path does not lead out. The data of git is no part of a repository: it may hold passwords.
    pub(crate) fn contains(&self, path: &Path) -> bool {
        let is_below = |path: PathBuf| {
            let below = path.strip_prefix(&self.root);
            below.is_ok_and(|below| below.iter().all(|name| name != GIT))
        };
        target(path).is_ok_and(is_below)
    }

    /// Returns true if a folder found in another one is entered: not if it is a link back to one above it, nor if it
    /// leads out, as the links of Bazel and Nix to their build results do. The latter is a remark. Fails where links
    /// lead to more than a thousand folders.
    pub(crate) fn enters(&self, folder: &Path) -> anyhow::Result<bool> {
        if !folder.is_symlink() {
            return Ok(true);
        }
        if let Err(out) = self.check_found(folder) {
            let out = out.to_string();
            let first = out.lines().next().unwrap_or_default();
            remark::send(&format!("{first}: it is skipped"))?;
            return Ok(false);
        }
        let to = folder.canonicalize()?;
        let above = path::absolute(folder)?;
        let mut above = above.ancestors().skip(1);
        if above.any(|it| it.canonicalize().is_ok_and(|it| it == to)) {
            return Ok(false);
        }
        if self.linked.fetch_add(1, Ordering::Relaxed) >= MOST_LINKED {
            bail!(
                "links lead to more than {MOST_LINKED} folders; the last is {}\nhint: remove links that lead to folders \
                 with links",
                shown_path(folder)
            );
        }
        Ok(true)
    }

    /// Refuses a path that a file names, and that leads out.
    pub(crate) fn check_named(&self, path: &Path, by: &Path) -> anyhow::Result<()> {
        self.check(
            path,
            &format!("{} names {}", shown_path(by), shown_path(path)),
        )
    }

    /// Refuses such a path that was found in a folder which does not lead out.
    pub(crate) fn check_link(&self, path: &Path) -> anyhow::Result<()> {
        if path.is_symlink() {
            return self.check_found(path);
        }
        Ok(())
    }

    /// Refuses a file or folder that leads out because it, or a folder above it, is a link.
    pub fn check_found(&self, path: &Path) -> anyhow::Result<()> {
        let to = target(path).unwrap_or_default();
        self.check(
            path,
            &format!("{} is a link to {}", shown_path(path), to.display()),
        )
    }

    fn check(&self, path: &Path, what: &str) -> anyhow::Result<()> {
        if self.contains(path) {
            return Ok(());
        }
        let root = self.root.display();
        let cure = "put a copy of it there";
        if self.is_repository {
            bail!("{what}, which is outside of the repository {root}\nhint: {cure}");
        }
        bail!(
            "{what}, which is outside of the folder {root}\n\
             hint: {cure}, or use a folder that holds both; in a repository (with .git), all of it may be used"
        );
    }

    /// Writes a file, unless its folder leads out. It replaces a link of that name, not the target of the link.
    pub fn write(&self, path: &Path, text: &str) -> anyhow::Result<()> {
        self.check_found(folder_of(path))?;
        replace(path, text)
    }
}

/// Returns the innermost repository that a folder without links is in. It belongs to the owner of the folder: a `.git`
/// of another user above it does not count.
fn repository_of(folder: &Path) -> Option<&Path> {
    let owner = owner(folder);
    let is_own = |git: &Path| git.exists() && self::owner(git) == owner;
    folder.ancestors().find(|it| is_own(&it.join(GIT)))
}

#[cfg(unix)]
fn owner(path: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;
    path.metadata().ok().map(|it| it.uid())
}

#[cfg(not(unix))]
fn owner(_: &Path) -> Option<u32> {
    None
}

fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Writes a file. It replaces a link of that name, not the target of the link.
pub fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    let unwritable = || format!("{} cannot be written", path.display());
    let name = path.file_name().with_context(unwritable)?;
    // Hidden, so that nothing takes it for a manifest.
    let draft = folder_of(path).join(format!(
        ".{}.{}",
        name.to_string_lossy(),
        std::process::id()
    ));
    write_new(&draft, text)
        .and_then(|()| fs::rename(&draft, path))
        .inspect_err(|_| drop(fs::remove_file(&draft)))
        .with_context(unwritable)
}

/// Removes a file.
pub(crate) fn remove(path: &Path) -> anyhow::Result<()> {
    fs::remove_file(path).with_context(|| format!("{} cannot be removed", path.display()))
}

/// Writes a new file. Fails if the name exists, even as a link.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())
}

/// Returns a path without links and `..`, even if it does not exist yet.
fn target(path: &Path) -> io::Result<PathBuf> {
    let path = match path {
        path if path.as_os_str().is_empty() => Path::new("."),
        path => path,
    };
    match (path.canonicalize(), path.parent(), path.file_name()) {
        (Err(error), Some(above), Some(name)) if error.kind() == io::ErrorKind::NotFound => {
            Ok(target(above)?.join(name))
        }
        (found, ..) => found,
    }
}
