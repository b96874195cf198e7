//! Modules of a crate that import each other in a cycle.
//!
//! A module that imports the modules below it, and is imported by them, is one unit in several files: such a
//! cycle is allowed, and inside of it these modules import each other freely. Every larger one hides which
//! rule depends on which.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
    path::Path,
};

use anyhow::{Result, ensure};

use super::{files, paths};

/// A module, by its path in the crate: `decide::gate`. The root is empty.
type Module = String;

/// Returns each cycle of a crate that is larger than a parent and its children: its modules in order, and
/// their imports of each other.
pub fn of_crate(folder: &str) -> Result<Vec<Circle>> {
    let src = files::root()?.join(folder).join("src");
    let mut sources = BTreeMap::new();
    for file in files::below(&src, ".rs")? {
        let is_program = file.starts_with("bin") || file == Path::new("main.rs");
        if !is_program && !super::is_for_tests(&src, &file)? {
            let source = fs::read_to_string(src.join(&file))?;
            sources.insert(paths::module_of(&file).join("::"), source);
        }
    }
    let imports = imports(&sources)?;
    Ok(circles(&imports))
}

/// Modules that import each other.
pub struct Circle {
    pub modules: Vec<Module>,
    /// The imports, as pairs of importer and imported module.
    pub imports: Vec<(Module, Module)>,
}

impl fmt::Display for Circle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "a circle of {} modules", self.modules.len())?;
        self.imports
            .iter()
            .try_for_each(|(from, to)| writeln!(f, "  {from} imports {to}"))
    }
}

type Imports = BTreeMap<Module, BTreeSet<Module>>;

fn imports(sources: &BTreeMap<Module, String>) -> Result<Imports> {
    let mut imports = Imports::new();
    for (module, source) in sources {
        let steps: Vec<String> = module
            .split("::")
            .filter(|it| !it.is_empty())
            .map(str::to_owned)
            .collect();
        let named = paths::named_in(source, &steps)?;
        let named = named.iter().map(|path| {
            let inside = path.strip_prefix("crate::");
            // Without `crate` in front it may begin with a module below this one.
            inside.map_or_else(|| below(module, path), str::to_owned)
        });
        let met = named.filter_map(|path| longest(&path, sources));
        let others = met.filter(|other| other != module);
        imports.insert(module.clone(), others.collect());
    }
    Ok(imports)
}

fn below(module: &str, path: &str) -> String {
    if module.is_empty() {
        path.to_owned()
    } else {
        format!("{module}::{path}")
    }
}

/// Returns the deepest module that a path leads through. For a path with an item of the module itself that is
/// the module.
fn longest(path: &str, sources: &BTreeMap<Module, String>) -> Option<Module> {
    let mut path = path;
    loop {
        if sources.contains_key(path) {
            return Some(path.to_owned());
        }
        path = path.rsplit_once("::").map_or("", |(before, _)| before);
        if path.is_empty() {
            return sources.contains_key("").then(String::new);
        }
    }
}

fn circles(imports: &Imports) -> Vec<Circle> {
    let reach: BTreeMap<&str, BTreeSet<&str>> = imports
        .keys()
        .map(|module| (module.as_str(), reached(module, imports)))
        .collect();
    let mut circles = Vec::new();
    let mut seen = BTreeSet::new();
    for module in imports.keys() {
        let mutual = |other: &&str| reach[other].contains(module.as_str());
        let members: Vec<&str> = reach[module.as_str()]
            .iter()
            .copied()
            .filter(mutual)
            .collect();
        if members.len() > 1 && !is_family(&members) && seen.insert(members.clone()) {
            circles.push(circle(&members, imports));
        }
    }
    circles
}

/// Returns everything that a module imports, directly or indirectly.
fn reached<'a>(module: &'a str, imports: &'a Imports) -> BTreeSet<&'a str> {
    let (mut reached, mut next) = (BTreeSet::new(), vec![module]);
    while let Some(module) = next.pop() {
        for other in &imports[module] {
            if reached.insert(other.as_str()) {
                next.push(other);
            }
        }
    }
    reached
}

/// Returns true for a parent with its children. The root of a crate is not such a parent.
fn is_family(members: &[&str]) -> bool {
    members.iter().any(|parent| {
        let is_child = |other: &&&str| {
            let below = other
                .strip_prefix(parent)
                .and_then(|it| it.strip_prefix("::"));
            *other == parent || below.is_some_and(|it| !it.contains("::"))
        };
        !parent.is_empty() && members.iter().filter(is_child).count() == members.len()
    })
}

fn circle(members: &[&str], imports: &Imports) -> Circle {
    let is_member = |other: &&Module| members.contains(&other.as_str());
    let of = |module: &&str| {
        let module = (*module).to_owned();
        let others = imports[&module].iter().filter(is_member).cloned();
        let pairs = others.map(move |other| (module.clone(), other));
        pairs.collect::<Vec<_>>()
    };
    Circle {
        modules: members.iter().map(|it| (*it).to_owned()).collect(),
        imports: members.iter().flat_map(of).collect(),
    }
}

#[test]
fn larger_circles_are_found_and_families_are_not() {
    let circles = |imports: &[(&str, &str)]| {
        let mut all = Imports::new();
        for (from, to) in imports {
            all.entry((*to).to_owned()).or_default();
            all.entry((*from).to_owned())
                .or_default()
                .insert((*to).to_owned());
        }
        let found = circles(&all).into_iter().map(|it| it.modules.join(" "));
        found.collect::<Vec<_>>()
    };
    assert_eq!(
        circles(&[("a", "a::b"), ("a::b", "a"), ("a", "c")]),
        [""; 0]
    );
    assert_eq!(circles(&[("a", "b"), ("b", "a")]), ["a b"]);
    assert_eq!(circles(&[("", "a"), ("a", "")]), [" a"]);
    let two = [
        ("a", "b"),
        ("b", "a"),
        ("c", "a"),
        ("c", "d"),
        ("d", "e"),
        ("e", "c"),
    ];
    assert_eq!(circles(&two), ["a b", "c d e"]);
    let grandchild = [("a", "a::b"), ("a::b", "a::b::c"), ("a::b::c", "a")];
    assert_eq!(circles(&grandchild), ["a a::b a::b::c"]);
}

#[test]
fn an_import_is_found_however_it_is_written() -> Result<()> {
    let imported = |source: &str| -> Result<Vec<Module>> {
        let modules = ["", "a", "a::b", "a::b::c", "d"];
        let sources = modules.map(|it| (it.to_owned(), String::new()));
        let mut sources: BTreeMap<_, _> = sources.into_iter().collect();
        sources.insert("a::b".to_owned(), source.to_owned());
        let mut found = imports(&sources)?;
        Ok(found.remove("a::b").into_iter().flatten().collect())
    };
    for (source, module) in [
        ("use crate::d::Thing;", "d"),
        ("use crate::{a, d::{self, Thing}};", "d"),
        ("use super::super::d::Thing;", "d"),
        ("fn f() { crate::d::f() }", "d"),
        ("mod c; use c::Thing;", "a::b::c"),
        ("mod c; fn f() { self::c::f() }", "a::b::c"),
        ("use super::Thing;", "a"),
        ("use crate::Thing;", ""),
    ] {
        ensure!(imported(source)?.contains(&module.to_owned()), "{source}");
    }
    for source in [
        "pub(super) fn f() {}",
        "pub(in crate::d) fn f() {}",
        "mod c;",
        "use std::d::Thing;",
        "#[cfg(test)] mod tests { use crate::d; }",
    ] {
        ensure!(imported(source)?.is_empty(), "{source}");
    }
    Ok(())
}
