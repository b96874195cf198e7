//! Which code may not know which: the walls of `ARCHITECTURE.md`. The compiler keeps those between
//! crates once a dependency is left out; this keeps it left out, and keeps the walls inside of crates.

mod files;
mod nevers;
mod paths;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Result, ensure};
use nevers::{
    DOES_IO, DOES_IO_IN_KUBE, IO, NO_IO, PACKAGES, Package, SOURCES, STILL_BROKEN, Sources,
};
use serde_json::Value;

#[test]
fn nothing_imports_what_it_may_not() -> Result<()> {
    let mut found = broken_by_packages(&metadata()?);
    for rule in SOURCES {
        found.extend(broken_by_sources(rule)?);
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

/// What would lead around the walls without naming what is behind them.
#[test]
fn no_source_is_found_under_another_name() -> Result<()> {
    let ways = [
        "#[path",
        "include!(",
        "extern crate",
        "use crate as",
        "super as",
    ];
    for package in ["crds", "templating", "protocol", "controller", "cli"] {
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
        if dependency["kind"] == "dev" || dependency["optional"] == true {
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
    let mut broken = Vec::new();
    // A wall around a room that was renamed keeps nobody out of it.
    for beginning in beginnings {
        if !all.iter().any(|file| begins(file, beginning)) {
            broken.push(format!("{folder}/src/{beginning}: there is no such file"));
        }
    }
    for room in rule
        .never
        .iter()
        .filter_map(|never| never.strip_prefix("crate::"))
    {
        if !src.join(room).with_extension("rs").is_file() {
            broken.push(format!("{folder}/src/{room}.rs: there is no such file"));
        }
    }
    let concerned = |file: &&PathBuf| {
        beginnings.iter().any(|beginning| begins(file, beginning))
            && !(paths::is_test(file) || file.starts_with("bin"))
    };
    for file in all.iter().filter(concerned) {
        let source = fs::read_to_string(src.join(file))?;
        for never in forbidden(&source, file, rule.never)? {
            broken.push(format!("{folder}/src/{}: {never}", file.display()));
        }
    }
    Ok(broken)
}

/// `watch` is `watch.rs` and all in `watch/`, and not `watcher.rs`; nothing is all.
fn begins(file: &Path, beginning: &str) -> bool {
    let file = file.with_extension("");
    beginning.is_empty() || file.starts_with(beginning)
}

fn forbidden<'a>(source: &str, file: &Path, never: &[&'a str]) -> Result<Vec<&'a str>> {
    let named = paths::named_in(source, &paths::module_of(file))?;
    let is_named = |never: &&str| named.iter().any(|path| is_of(path, never));
    Ok(never.iter().copied().filter(is_named).collect())
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
    ];
    for clock in clocks {
        assert_eq!(
            forbidden(clock, Path::new("lib.rs"), IO)?.len(),
            1,
            "{clock}"
        );
    }
    let none = "fn now(now: u64) -> u64 { self.now(); std::net::Ipv4Addr::LOCALHOST }";
    assert!(forbidden(none, Path::new("lib.rs"), IO)?.is_empty());
    Ok(())
}

#[test]
fn a_dependency_is_found_through_members_of_the_workspace() {
    let metadata = serde_json::json!({ "packages": [
        { "name": "cartouche-crds", "dependencies": [dependency("kube", &["derive"])] },
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
        { "name": "cartouche-cli", "dependencies": [dependency("cartouche-model", &[])] },
        { "name": "cartouche-model", "dependencies": [dependency("cartouche-controller", &[])] },
    ]});
    let expected = [
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
