//! Which code may not know which: the walls of `ARCHITECTURE.md`. The compiler keeps those between
//! crates once a dependency is left out; this keeps it left out, and keeps the walls inside of crates.

mod files;
mod paths;

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use serde_json::Value;

/// What runs things, talks over a network or has a clock. Chance is with them: who decides by it
/// cannot be played again.
const DOES_IO: &[&str] = &[
    "async-std",
    "fastrand",
    "futures",
    "getrandom",
    "hyper",
    "hyper-util",
    "kube-client",
    "kube-runtime",
    "mio",
    "rand",
    "reqwest",
    "rustix",
    "smol",
    "socket2",
    "tokio",
    "tokio-util",
    "tower",
    "tracing",
    "tracing-subscriber",
    "ureq",
];

/// Of kube, the types and the derive of custom resources are data; these are not.
const DOES_IO_IN_KUBE: &[&str] = &[
    "client",
    "config",
    "default",
    "runtime",
    "unstable-runtime",
    "ws",
];

/// A package that may not depend on others, neither itself nor through members of the workspace.
/// Dev-dependencies do not count, and neither do optional ones: nobody who depends on it gets them.
struct Package {
    name: &'static str,
    io: bool,
    never: &'static [&'static str],
}

const PACKAGES: &[Package] = &[
    Package {
        name: "cartouche-crds",
        io: false,
        never: &["cartouche-controller"],
    },
    Package {
        name: "cartouche-templating",
        io: false,
        never: &["cartouche-controller"],
    },
    Package {
        name: "cartouche-protocol",
        io: false,
        never: &["cartouche-controller"],
    },
    Package {
        name: "cartouche-cli",
        io: true,
        never: &["cartouche-controller"],
    },
    Package {
        name: "cartouche-model",
        io: true,
        never: &["cartouche-controller"],
    },
];

/// Sources that may not name certain paths.
struct Sources {
    /// Of a crate: its folder, then what the paths of files below its `src` begin with.
    of: (&'static str, &'static [&'static str]),
    /// Beginnings of paths; `::now` is the end of one.
    never: &'static [&'static str],
}

const IO: &[&str] = &["std::fs", "std::net", "std::process", "std::env", "::now"];

/// What only reads a text that is an address.
const NO_IO: &[&str] = &[
    "std::net::Ipv4Addr",
    "std::net::Ipv6Addr",
    "std::net::IpAddr",
];

const SOURCES: &[Sources] = &[
    // Its one program, `generate`, writes files; it is not part of the library.
    Sources {
        of: (
            "crds",
            &[
                "definition",
                "health_rule",
                "lib",
                "names",
                "rerun",
                "run_template",
                "runnable",
                "schema",
                "status",
            ],
        ),
        never: IO,
    },
    Sources {
        of: ("templating", &[""]),
        never: IO,
    },
    Sources {
        of: ("protocol", &[""]),
        never: IO,
    },
    Sources {
        of: ("controller", &["watch"]),
        never: &["crate::reconcile", "crate::serve"],
    },
    Sources {
        of: ("controller", &["api"]),
        never: &[
            "crate::reconcile",
            "crate::watch",
            "crate::serve",
            "crate::mutants",
        ],
    },
    Sources {
        of: (
            "cli",
            &["case", "finding", "render", "schema", "source", "validate"],
        ),
        never: &["crate::live"],
    },
];

/// What is not as the tables say, yet. Nothing may be added; what is mended has to be taken out.
const STILL_BROKEN: &[&str] = &[
    "cartouche-cli: cartouche-cli depends on cartouche-controller",
    "cartouche-model: cartouche-model depends on cartouche-controller",
    "cartouche-protocol: there is no such package",
    "cli/src/render/command.rs: crate::live",
    "cli/src/validate/command.rs: crate::live",
    "controller/src/api.rs: crate::mutants",
    "controller/src/watch.rs: crate::reconcile",
    "controller/src/watch/own.rs: crate::reconcile",
    "controller/src/watch/progress.rs: crate::reconcile",
    "controller/src/watch/runs.rs: crate::reconcile",
    "controller/src/watch/runs/owner.rs: crate::reconcile",
    "controller/src/watch/runs/polled.rs: crate::reconcile",
    "protocol/src/: there is no such file",
];

#[test]
fn nothing_imports_what_it_may_not() {
    let found: BTreeSet<String> = broken_by_packages(&metadata())
        .into_iter()
        .chain(broken_by_sources())
        .collect();
    let known: BTreeSet<String> = STILL_BROKEN.iter().map(ToString::to_string).collect();
    let new: Vec<_> = found.difference(&known).collect();
    let mended: Vec<_> = known.difference(&found).collect();
    assert!(
        new.is_empty(),
        "not allowed by the tables of this file:\n{new:#?}"
    );
    assert!(
        mended.is_empty(),
        "no longer broken, so take it out of STILL_BROKEN:\n{mended:#?}"
    );
}

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--offline",
            "--format-version",
            "1",
        ])
        .current_dir(files::root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

fn broken_by_packages(metadata: &Value) -> Vec<String> {
    let mut broken = Vec::new();
    for rule in PACKAGES {
        match member(metadata, rule.name) {
            Some(_) => dependencies(metadata, rule, rule.name, &mut broken),
            None => broken.push(format!("{}: there is no such package", rule.name)),
        }
    }
    broken
}

fn member<'a>(metadata: &'a Value, name: &str) -> Option<&'a Value> {
    let packages = metadata["packages"].as_array().unwrap();
    packages.iter().find(|package| package["name"] == name)
}

fn dependencies(metadata: &Value, rule: &Package, through: &str, broken: &mut Vec<String>) {
    let Some(package) = member(metadata, through) else {
        return;
    };
    for dependency in package["dependencies"].as_array().unwrap() {
        if dependency["kind"] == "dev" || dependency["optional"] == true {
            continue;
        }
        let name = dependency["name"].as_str().unwrap();
        let io = DOES_IO.contains(&name) || name == "kube" && kube_does_io(dependency);
        if rule.never.contains(&name) || !rule.io && io {
            broken.push(format!("{}: {through} depends on {name}", rule.name));
        } else {
            dependencies(metadata, rule, name, broken);
        }
    }
}

fn kube_does_io(dependency: &Value) -> bool {
    let features = dependency["features"].as_array().unwrap();
    dependency["uses_default_features"] == true
        || features
            .iter()
            .any(|feature| DOES_IO_IN_KUBE.contains(&feature.as_str().unwrap()))
}

fn broken_by_sources() -> Vec<String> {
    let mut broken = Vec::new();
    for Sources {
        of: (folder, beginnings),
        never,
    } in SOURCES
    {
        let src = files::root().join(folder).join("src");
        let all = if src.is_dir() {
            files::below(&src, ".rs")
        } else {
            Vec::new()
        };
        // A wall around a room that was renamed keeps nobody out of it.
        for beginning in *beginnings {
            if !all
                .iter()
                .any(|file| begins(file.strip_prefix(&src).unwrap(), beginning))
            {
                broken.push(format!("{folder}/src/{beginning}: there is no such file"));
            }
        }
        for room in never
            .iter()
            .filter_map(|never| never.strip_prefix("crate::"))
        {
            if !src.join(room).with_extension("rs").is_file() {
                broken.push(format!("{folder}/src/{room}.rs: there is no such file"));
            }
        }
        for file in &all {
            let below = file.strip_prefix(&src).unwrap();
            if paths::is_test(below) || !beginnings.iter().any(|beginning| begins(below, beginning))
            {
                continue;
            }
            let source = fs::read_to_string(file).unwrap();
            for never in forbidden(&source, below, never) {
                broken.push(format!("{folder}/src/{}: {never}", below.display()));
            }
        }
    }
    broken
}

/// `watch` is `watch.rs` and all in `watch/`, and not `watcher.rs`; nothing is all.
fn begins(file: &Path, beginning: &str) -> bool {
    let first = file.with_extension("");
    let first = first
        .components()
        .next()
        .and_then(|part| part.as_os_str().to_str());
    beginning.is_empty() || first == Some(beginning)
}

fn forbidden<'a>(source: &str, file: &Path, never: &[&'a str]) -> BTreeSet<&'a str> {
    let named = paths::named_in(source, &paths::module_of(file));
    never
        .iter()
        .copied()
        .filter(|never| named.iter().any(|path| is_of(path, never)))
        .collect()
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
fn each_way_to_name_a_path_is_found() {
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
    ];
    let file = Path::new("watch/runs.rs");
    for way in ways {
        let found = forbidden(way, file, &["crate::reconcile"]);
        assert_eq!(found.len(), 1, "{way}");
    }
}

#[test]
fn what_only_looks_like_it_is_not_found() {
    let others = [
        "//! See [`crate::reconcile`].\nuse crate::reconciler::Thing;",
        "use crate::watch::reconcile; // of its own",
        "const TEXT: &str = \"crate::reconcile::decide\";",
        "#[cfg(test)] mod tests { use crate::reconcile::Pass; }",
        "use super::reconcile;",
    ];
    let file = Path::new("watch/runs.rs");
    for other in others {
        let found = forbidden(other, file, &["crate::reconcile"]);
        assert!(found.is_empty(), "{other}");
    }
}

#[test]
fn clocks_and_files_are_found_by_any_name() {
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
            forbidden(clock, Path::new("lib.rs"), IO).len(),
            1,
            "{clock}"
        );
    }
    let none = "fn now(now: u64) -> u64 { self.now(); std::net::Ipv4Addr::LOCALHOST }";
    assert!(forbidden(none, Path::new("lib.rs"), IO).is_empty());
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
