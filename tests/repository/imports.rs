//! Forbidden imports between and inside of crates: the walls of `ARCHITECTURE.md`. The compiler enforces
//! those between crates once a dependency is missing. This test keeps it missing, and enforces the walls
//! inside of crates.

mod circles;
mod files;
mod nevers;
mod paths;

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Result, ensure};
use nevers::{
    DOES_IO, DOES_IO_IN_KUBE, FILES, FILES_ROOM, FLOORS, IO, NO_IO, PACKAGES, Package, SOURCES,
    STILL_BROKEN, STILL_IN_CIRCLES, Sources,
};
use serde_json::Value;

#[test]
fn nothing_imports_what_it_may_not() -> Result<()> {
    let mut found = broken_by_packages(&metadata()?);
    for rule in SOURCES {
        found.extend(broken_by_sources(rule)?);
    }
    for (package, floors) in FLOORS {
        for (height, floor) in floors.iter().enumerate() {
            for above in &floors[height + 1..] {
                let of = (package, floor.files);
                let never = above.modules;
                found.extend(broken_by_sources(&Sources { of, never })?);
            }
        }
    }
    let found: BTreeSet<&str> = found.iter().map(String::as_str).collect();
    let known: BTreeSet<&str> = STILL_BROKEN.iter().copied().collect();
    let new: Vec<_> = found.difference(&known).collect();
    let mended: Vec<_> = known.difference(&found).collect();
    assert!(
        new.is_empty(),
        "not allowed by the tables of this file: {new:#?}"
    );
    assert!(
        mended.is_empty(),
        "no longer broken, so take it out of STILL_BROKEN: {mended:#?}"
    );
    Ok(())
}

#[test]
fn no_circle_is_larger_than_a_parent_and_its_children() -> Result<()> {
    let (mut counts, mut shown) = (Vec::new(), String::new());
    for (package, _) in STILL_IN_CIRCLES {
        let circles = circles::of_crate(package)?;
        counts.push((*package, circles.iter().map(|it| it.modules.len()).sum()));
        for circle in circles {
            let _ = writeln!(shown, "{package}: {circle}");
        }
    }
    println!("{shown}");
    ensure!(
        counts == STILL_IN_CIRCLES,
        "modules in circles are {counts:?}; the numbers in nevers.rs may only fall"
    );
    Ok(())
}

/// Syntax that leads around the walls without naming what is behind them.
#[test]
fn no_source_is_found_under_another_name() -> Result<()> {
    let ways = [
        "#[path",
        "include!(",
        "extern crate",
        "use crate as",
        "use std as",
        "super as",
        "{self as",
        "{crate as",
        "{ crate as",
        "crate::$",
    ];
    for package in [
        "crds",
        "language",
        "engines",
        "templating",
        "protocol",
        "controller",
        "authoring",
        "cli",
    ] {
        let folder = files::root()?.join(package).join("src");
        for file in files::below(&folder, ".rs")? {
            let source = fs::read_to_string(folder.join(&file))?;
            for way in ways {
                ensure!(
                    !source.contains(way),
                    "{package}: {}: {way}",
                    file.display()
                );
            }
        }
    }
    Ok(())
}

/// Output is escaped there, so that no command has to care. A library prints nothing.
#[test]
fn the_command_prints_in_one_place() -> Result<()> {
    for package in ["authoring", "cli"] {
        let folder = files::root()?.join(package).join("src");
        for file in files::below(&folder, ".rs")? {
            let source = fs::read_to_string(folder.join(&file))?;
            let prints = package == "cli" && file == Path::new("outcome.rs");
            for way in [
                "print!(",
                "println!(",
                "anstream::std",
                "stdout().write",
                "stderr().write",
            ] {
                ensure!(
                    !source.contains(way) || prints,
                    "{package}: {}: {way} instead of outcome::print",
                    file.display()
                );
            }
        }
    }
    Ok(())
}

/// The rest of the crate gets texts, so that an editor can give them from its buffers.
#[test]
fn authoring_uses_files_in_one_room() -> Result<()> {
    let src = files::root()?.join("authoring/src");
    for file in files::below(&src, ".rs")? {
        if begins(&file, FILES_ROOM) || is_for_tests(&src, &file)? {
            continue;
        }
        let found = forbidden(&fs::read_to_string(src.join(&file))?, &file, FILES)?;
        ensure!(found.is_empty(), "authoring: {}: {found:?}", file.display());
    }
    Ok(())
}

fn metadata() -> Result<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
        .current_dir(files::root()?)
        .output()?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn broken_by_packages(metadata: &Value) -> Vec<String> {
    let mut broken = Vec::new();
    for rule in PACKAGES {
        match member(metadata, rule.name) {
            Some(package) => dependencies(metadata, rule, package, &mut broken),
            None => broken.push(format!("{}: there is no such package", rule.name)),
        }
    }
    broken
}

fn member<'a>(metadata: &'a Value, name: &str) -> Option<&'a Value> {
    list(&metadata["packages"]).find(|package| package["name"] == name)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn dependencies(metadata: &Value, rule: &Package, package: &Value, broken: &mut Vec<String>) {
    for dependency in list(&package["dependencies"]) {
        let name = dependency["name"].as_str().unwrap_or_default();
        if dependency["kind"] == "dev" {
            continue;
        }
        let io = DOES_IO.contains(&name) || name == "kube" && kube_does_io(dependency);
        if rule.never.contains(&name) || !rule.io && io {
            let through = package["name"].as_str().unwrap_or_default();
            broken.push(format!("{}: {through} depends on {name}", rule.name));
        } else if let Some(package) = member(metadata, name) {
            dependencies(metadata, rule, package, broken);
        }
    }
}

fn kube_does_io(dependency: &Value) -> bool {
    let mut features = list(&dependency["features"]).filter_map(Value::as_str);
    dependency["uses_default_features"] == true
        || features.any(|name| DOES_IO_IN_KUBE.contains(&name))
}

fn broken_by_sources(rule: &Sources) -> Result<Vec<String>> {
    let (folder, beginnings) = rule.of;
    let src = files::root()?.join(folder).join("src");
    let all = if src.is_dir() {
        files::below(&src, ".rs")?
    } else {
        Vec::new()
    };
    let has_rooms = rooms(rule).next().is_some();
    let mut broken = walls_around_nothing(rule, &src, &all);
    let concerned = |file: &&PathBuf| {
        beginnings.iter().any(|beginning| begins(file, beginning)) && !file.starts_with("bin")
    };
    for file in all.iter().filter(concerned) {
        if is_for_tests(&src, file)? {
            continue;
        }
        let source = fs::read_to_string(src.join(file))?;
        for never in forbidden(&source, file, rule.never)? {
            broken.push(format!("{folder}/src/{}: {never}", file.display()));
        }
        if !has_rooms {
            continue;
        }
        for path in nameless(&source, file, &src)? {
            broken.push(format!(
                "{folder}/src/{}: {path} is no module",
                file.display()
            ));
        }
    }
    Ok(broken)
}

/// Returns the walls that protect nothing, for example because a module was renamed.
fn walls_around_nothing(rule: &Sources, src: &Path, all: &[PathBuf]) -> Vec<String> {
    let (folder, beginnings) = rule.of;
    let files = beginnings
        .iter()
        .filter(|beginning| !all.iter().any(|file| begins(file, beginning)));
    let files = files.map(|beginning| (*beginning).to_owned());
    let rooms = rooms(rule).map(|room| room.replace("::", "/") + ".rs");
    let rooms = rooms.filter(|room| !src.join(room).is_file());
    let missing = files.chain(rooms);
    missing
        .map(|path| format!("{folder}/src/{path}: there is no such file"))
        .collect()
}

/// Returns the modules of its own crate that a rule names.
fn rooms(rule: &Sources) -> impl Iterator<Item = &str> {
    let never = rule.never.iter();
    never.filter_map(|never| never.strip_prefix("crate::"))
}

/// Returns true if a file is built for tests only, as the module above it has to declare.
fn is_for_tests(src: &Path, file: &Path) -> Result<bool> {
    let Some(above) = paths::above_tests(file) else {
        return Ok(false);
    };
    let above = if above == Path::new("") {
        "lib".into()
    } else {
        above
    };
    paths::has_tests(&fs::read_to_string(src.join(above).with_extension("rs"))?)
}

/// Returns true for a file below a beginning: `watch` is `watch.rs` and all in `watch/`, and not
/// `watcher.rs`; an empty beginning is everything.
fn begins(file: &Path, beginning: &str) -> bool {
    let file = file.with_extension("");
    beginning.is_empty() || file.starts_with(beginning)
}

fn forbidden<'a>(source: &str, file: &Path, never: &[&'a str]) -> Result<Vec<&'a str>> {
    let named = paths::named_in(source, &paths::module_of(file))?;
    let is_named = |never: &&str| named.iter().any(|path| is_of(path, never));
    Ok(never.iter().copied().filter(is_named).collect())
}

/// Returns the imports of a file from the root of its crate that are no modules. Such a name may be anything,
/// because `lib.rs` may use items behind a wall.
fn nameless(source: &str, file: &Path, src: &Path) -> Result<Vec<String>> {
    let mut named = paths::named_in(source, &paths::module_of(file))?;
    named.retain(|path| {
        let item = path.strip_prefix("crate::");
        let item = item.map(|item| item.split("::").next().unwrap_or_default());
        item.is_some_and(|item| !src.join(item).with_extension("rs").is_file())
    });
    Ok(named)
}

fn is_of(path: &str, never: &str) -> bool {
    if NO_IO.iter().any(|pure| path.starts_with(pure)) {
        return false;
    }
    match path.strip_prefix(never) {
        _ if never.starts_with("::") => path.ends_with(never),
        Some(rest) => rest.is_empty() || rest.starts_with("::"),
        None => false,
    }
}

#[test]
fn each_way_to_name_a_path_is_found() -> Result<()> {
    let ways = [
        "use crate::reconcile;",
        "use crate::reconcile::Pass;",
        "use crate::{memory::Memory, reconcile::{self, Pass}};",
        "use crate::{memory, reconcile as other};",
        "pub(crate) use super::super::reconcile::*;",
        "use super::super::{reconcile::Pass};",
        "fn f() { crate::reconcile::decide::decide(1); }",
        "fn f(pass: &mut crate::reconcile::Pass<'_>) {}",
        "fn f() { assert!(matches!(g(), Some(crate::reconcile::Step::Wait))); }",
        "mod inner { use super::super::super::reconcile; }",
        "macro_rules! m { () => { $crate::reconcile::f() } }",
        "#[cfg(test)] fn f() {} mod inner { use crate::reconcile; }",
        "#[cfg(unix)] mod inner { fn f(x: Vec<crate::reconcile::Pass>) {} }",
    ];
    let file = Path::new("watch/runs.rs");
    for way in ways {
        let found = forbidden(way, file, &["crate::reconcile"])?;
        assert_eq!(found.len(), 1, "{way}");
    }
    Ok(())
}

#[test]
fn what_only_looks_like_it_is_not_found() -> Result<()> {
    let others = [
        "//! See [`crate::reconcile`].\nuse crate::reconciler::Thing;",
        "use crate::watch::reconcile; // of its own",
        "const TEXT: &str = \"crate::reconcile::decide\";",
        "#[cfg(test)] mod tests { use crate::reconcile::Pass; }",
        "#[cfg(test)] #[allow(unused)] pub(crate) mod samples { use crate::reconcile::Pass; }",
        "use super::reconcile;",
    ];
    let file = Path::new("watch/runs.rs");
    for other in others {
        let found = forbidden(other, file, &["crate::reconcile"])?;
        assert!(found.is_empty(), "{other}");
    }
    Ok(())
}

#[test]
fn clocks_and_files_are_found_by_any_name() -> Result<()> {
    let clocks = [
        "fn f() { std::time::SystemTime::now(); }",
        "use std::time::Instant; fn f() { Instant::now(); }",
        "use jiff::Timestamp as T; fn f() { T::now() }",
        "fn f() { let now = Instant::now; }",
        "use std::{fs, io}; fn now() { fs::read(1); }",
        "fn f() { std::fs::read(1); }",
        "use std::net::{Ipv4Addr, TcpStream};",
        "use std::net;",
        "fn f() { std::time::UNIX_EPOCH.elapsed() }",
        "use std::time::{Duration, SystemTime}; fn f() { SystemTime::UNIX_EPOCH.elapsed() }",
        "use std::{io, time}; fn f() { time::UNIX_EPOCH.elapsed() }",
        "use std::time::*;",
    ];
    for clock in clocks {
        let found = forbidden(clock, Path::new("lib.rs"), IO)?;
        assert!(!found.is_empty(), "{clock}");
    }
    let none =
        "use std::time::Duration; fn now(now: u64) { self.now(); std::net::Ipv4Addr::LOCALHOST }";
    assert!(forbidden(none, Path::new("lib.rs"), IO)?.is_empty());
    Ok(())
}

#[test]
fn what_the_root_of_a_crate_lends_is_found() -> Result<()> {
    let src = files::root()?.join("controller/src");
    let file = Path::new("watch/runs.rs");
    let ways = [
        "use crate::Reconciliation;",
        "use crate::{api::Requests, Reconciliation};",
        "use crate::*;",
        "use super::super::Reconciliation;",
    ];
    for way in ways {
        assert_eq!(nameless(way, file, &src)?.len(), 1, "{way}");
    }
    let none =
        "use crate::api::{Requests, *}; use super::*; pub(crate) fn f() { crate::lock::lock() }";
    assert!(nameless(none, file, &src)?.is_empty());
    Ok(())
}

#[test]
fn a_module_is_for_tests_only_where_it_is_said_to_be() -> Result<()> {
    for said in [
        "#[cfg(test)] mod tests;",
        "mod a; #[cfg(test)] pub(crate) mod tests;",
    ] {
        assert!(paths::has_tests(said)?, "{said}");
    }
    for not in ["mod tests;", "#[cfg(test)] mod a; pub mod tests;", "mod a;"] {
        assert!(!paths::has_tests(not)?, "{not}");
    }
    Ok(())
}

#[test]
fn a_dependency_is_found_through_members_of_the_workspace() {
    let metadata = serde_json::json!({ "packages": [
        { "name": "cartouche-crds", "dependencies": [dependency("kube", &["derive"])] },
        { "name": "cartouche-language", "dependencies": [] },
        { "name": "cartouche-engines", "dependencies": [] },
        { "name": "cartouche-templating", "dependencies": [
            dependency("cartouche-crds", &[]),
            { "name": "tokio", "kind": "dev", "optional": false },
            { "name": "tracing", "kind": null, "optional": true },
        ]},
        { "name": "cartouche-protocol", "dependencies": [
            dependency("cartouche-templating", &[]),
            dependency("kube", &["derive", "client"]),
        ]},
        { "name": "cartouche-controller", "dependencies": [dependency("tokio", &[])] },
        { "name": "cartouche-authoring", "dependencies": [] },
        { "name": "cartouche-cli", "dependencies": [dependency("cartouche-model", &[])] },
        { "name": "cartouche-model", "dependencies": [dependency("cartouche-controller", &[])] },
    ]});
    let expected = [
        "cartouche-templating: cartouche-templating depends on tracing",
        "cartouche-protocol: cartouche-templating depends on tracing",
        "cartouche-protocol: cartouche-protocol depends on kube",
        "cartouche-cli: cartouche-model depends on cartouche-controller",
        "cartouche-model: cartouche-model depends on cartouche-controller",
    ];
    assert_eq!(broken_by_packages(&metadata), expected);
    let missing = broken_by_packages(&serde_json::json!({ "packages": [] }));
    assert_eq!(missing.len(), PACKAGES.len(), "{missing:?}");
}

fn dependency(name: &str, features: &[&str]) -> Value {
    serde_json::json!({
        "name": name, "kind": null, "optional": false, "uses_default_features": false, "features": features,
    })
}
