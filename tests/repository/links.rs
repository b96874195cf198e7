//! Links between the pages of the repository lead somewhere, and the paths that pages name exist.

mod files;
mod page;

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::Result;
use page::Page;

#[test]
fn every_link_leads_somewhere() -> Result<()> {
    let root = files::root()?;
    let broken = broken_links(&root, &pages(&root)?);
    assert!(broken.is_empty(), "{broken:#?}");
    Ok(())
}

#[test]
fn every_path_that_a_page_names_exists() -> Result<()> {
    let root = files::root()?;
    let pages = pages(&root)?;
    assert!(pages.contains_key(Path::new("ARCHITECTURE.md")));
    let missing = missing_paths(&root, &pages)?;
    assert!(missing.is_empty(), "{missing:#?}");
    Ok(())
}

/// Every page, by its path from the root.
type Pages = BTreeMap<PathBuf, Page>;

fn pages(root: &Path) -> io::Result<Pages> {
    let mut pages = Pages::new();
    for file in files::below(root, ".md")? {
        let text = fs::read_to_string(root.join(&file))?;
        pages.insert(file, Page::read(&text));
    }
    Ok(pages)
}

fn broken_links(root: &Path, pages: &Pages) -> Vec<String> {
    let mut broken = Vec::new();
    for (file, page) in pages {
        for link in page.links.iter().filter(|link| !is_elsewhere(link)) {
            if let Some(why) = why_broken(root, pages, file, link) {
                broken.push(format!("{}: {link}: {why}", file.display()));
            }
        }
    }
    broken
}

/// Returns true for `https:`, `mailto:` and the like, which cannot be checked offline.
fn is_elsewhere(link: &str) -> bool {
    let scheme = link.split(['/', '#', '?']).next();
    scheme.is_some_and(|scheme| scheme.contains(':'))
}

fn why_broken(root: &Path, pages: &Pages, from: &Path, link: &str) -> Option<&'static str> {
    let (path, anchor) = match link.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor)),
        None => (link, None),
    };
    let target = match path.strip_prefix('/') {
        _ if path.is_empty() => root.join(from),
        Some(from_root) => root.join(from_root),
        None => root.join(from).with_file_name("").join(path),
    };
    let Ok(target) = target.canonicalize() else {
        return Some("there is no such file");
    };
    let Ok(target) = target.strip_prefix(root) else {
        return Some("it leads out of the repository");
    };
    let anchor = anchor?;
    let found = pages
        .get(target)
        .is_some_and(|page| page.anchors.contains(anchor));
    (!found).then_some("there is no such heading")
}

/// Returns paths of code in backticks that do not exist. One that does not begin at the root is looked for in
/// the sources of each crate, because a page about one crate leaves its folder out. It is also looked for
/// beside the file that was named before it: "`reconcile/act.rs` and `ask.rs`".
fn missing_paths(root: &Path, pages: &Pages) -> io::Result<Vec<String>> {
    let mut homes = vec![root.to_owned()];
    for entry in fs::read_dir(root)? {
        homes.push(entry?.path().join("src"));
    }
    let mut missing = Vec::new();
    for (file, page) in pages {
        let mut before = root.to_owned();
        for code in page.codes.iter().filter(|code| is_path(root, code)) {
            let beside = before.with_file_name(code);
            let mut all = homes.iter().map(|home| home.join(code)).chain([beside]);
            match all.find(|path| path.exists()) {
                Some(found) => before = found,
                None => missing.push(format!("{}: `{code}`", file.display())),
            }
        }
    }
    Ok(missing)
}

/// Returns true if it has to exist: a Rust file, or something below a folder of the repository.
fn is_path(root: &Path, code: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-/".contains(letter);
    if !code.chars().all(plain) {
        return false;
    }
    let rust = Path::new(code)
        .extension()
        .is_some_and(|extension| extension == "rs");
    // Build products need not exist.
    let top = code
        .split_once('/')
        .map(|(top, _)| top)
        .filter(|top| !["", ".", "target"].contains(top));
    rust || top.is_some_and(|top| root.join(top).is_dir())
}

/// A small repository, whose folder is removed with it.
struct Repository(PathBuf);

impl Repository {
    fn of(name: &str, files: &[(&str, &str)]) -> io::Result<Self> {
        let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.with_file_name(""))?;
            fs::write(path, text)?;
        }
        Ok(Self(root.canonicalize()?))
    }
}

impl Drop for Repository {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn broken_links_are_found() -> Result<()> {
    let text = "\
# One, `two` & three!\n\n## Twice\n\n## Twice\n
[file](docs/b.md) [folder](docs) [root](/docs/b.md) [anchor](#one-two--three) [second](#twice-1) <https://x.y/#z>
[other](docs/b.md#b) [name][ref] ![picture](docs/p.svg) `[code](nowhere.md)`

[ref]: docs/b.md
[gone](docs/c.md) [no heading](#four) [third](#twice-2) [no heading there](docs/b.md#c) [out](../x.md)
[undefined][nobody] ![no picture](docs/q.svg) [folder with anchor](docs#b)\n";
    let files = [
        ("README.md", text),
        ("docs/b.md", "# b\n[up](../README.md#twice)"),
        ("docs/p.svg", ""),
    ];
    let repository = Repository::of("broken-links", &files)?;
    // Outside, and existing.
    fs::write(repository.0.join("../x.md"), "")?;
    let broken = broken_links(&repository.0, &pages(&repository.0)?);
    let expected = [
        "README.md: docs/c.md: there is no such file",
        "README.md: #four: there is no such heading",
        "README.md: #twice-2: there is no such heading",
        "README.md: docs/b.md#c: there is no such heading",
        "README.md: ../x.md: it leads out of the repository",
        "README.md: docs/q.svg: there is no such file",
        "README.md: docs#b: there is no such heading",
        "README.md: [nobody]: there is no such file",
    ];
    assert_eq!(broken, expected);
    Ok(())
}

#[test]
fn paths_that_are_gone_are_found() -> Result<()> {
    let text = "`a/src/b.rs` `b.rs` `c/d.rs` `a/src` `a/gone` `gone.rs` `x/y.yaml` `a/src/*.rs` `b/e.rs` `c/d.rs` `e.rs` `f.rs`";
    let files = [
        ("README.md", text),
        ("a/src/b.rs", ""),
        ("a/src/c/d.rs", ""),
        ("a/src/c/e.rs", ""),
        ("b/README.md", ""),
    ];
    let repository = Repository::of("missing-paths", &files)?;
    let missing = missing_paths(&repository.0, &pages(&repository.0)?)?;
    assert_eq!(
        missing,
        [
            "README.md: `a/gone`",
            "README.md: `gone.rs`",
            "README.md: `b/e.rs`",
            "README.md: `f.rs`"
        ]
    );
    Ok(())
}
