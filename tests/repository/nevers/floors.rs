//! The order inside of crates: floors of modules, each of which knows only those below it. Modules of one
//! floor may import each other, in no cycle that another test refuses.

use std::path::Path;

use anyhow::Result;

use crate::files;

/// Modules of a crate on one floor: they import each other, and the floors below.
pub struct Floor {
    /// In the form of [`super::Sources::of`].
    pub files: &'static [&'static str],
    /// In the form of [`super::Sources::never`].
    pub modules: &'static [&'static str],
}

macro_rules! floor {
    ($($module:literal),* $(,)?) => {
        Floor {
            files: &[$($module),*],
            modules: &[$(concat!("crate::", $module)),*],
        }
    };
}

/// The API types by floors, the lowest first: parts of specs and statuses; templates, profiles, the status of a
/// Runnable and its conditions; the Runnable, and items about all resources.
const OF_CRDS: [Floor; 3] = [
    floor![
        "approval",
        "breaker",
        "cancellation",
        "concurrency",
        "duration",
        "health_rule",
        "keys",
        "line",
        "names",
        "needs",
        "pending_run",
        "plain_json",
        "reason_set",
        "rejection",
        "required_permission",
        "rerun",
        "retry",
        "run",
        "runner",
        "schema",
        "selector",
        "sink",
        "source",
        "start",
        "stop",
        "unknown_fields",
    ],
    floor![
        "conditions",
        "history",
        "profile",
        "run_template",
        "status",
        "status_bytes"
    ],
    floor!["definition", "runnable", "strict"],
];

/// The language of templates by floors, the lowest first: texts, paths and sizes; tags, and what is said of them.
const OF_LANGUAGE: [Floor; 2] = [
    floor![
        "bounds",
        "clocks",
        "digest",
        "json_text",
        "name",
        "number",
        "object",
        "own_metadata",
        "owner",
        "path",
        "roots",
        "suggestion",
        "weight",
    ],
    floor![
        "diagnostic",
        "explained",
        "foreign_tag",
        "input_schema",
        "open",
        "readable",
        "syntax",
        "tag",
        "tag_error",
        "warning",
    ],
];

/// Engines have one floor.
const OF_ENGINES: [Floor; 1] = [floor![
    "failure_outputs",
    "health",
    "kinds",
    "maker",
    "merge",
    "output_paths",
    "outputs",
    "pods",
    "run_reason",
    "sensitive",
    "termination_message",
    "verdict",
]];

/// Templating has one floor.
const OF_TEMPLATING: [Floor; 1] = [floor![
    "body", "contains", "context", "document", "meant", "profile", "rendered", "requires",
    "runner", "source", "stamp", "suspect", "template",
]];

/// The protocol by floors, the lowest first: names, keys, and forms of objects; messages; the ledger; rules that
/// know it; facts; decisions, statuses, and the memory of a process.
const OF_PROTOCOL: [Floor; 6] = [
    floor![
        "category",
        "managed_fields",
        "object",
        "references",
        "rerun",
        "trace",
    ],
    floor!["messages"],
    floor!["ledger"],
    floor![
        "compiled",
        "evaluate",
        "newer_release",
        "permissions",
        "policy",
        "profiles",
        "retention",
        "sinks",
        "sourced_inputs",
        "sources",
    ],
    floor!["facts"],
    floor!["advice", "decide", "pace", "process_state", "status"],
];

/// The controller by floors, the lowest first: times, locks and mutants; counts and caches; metrics and keys;
/// requests and endpoints; what requests bring, events and flags; purposes of watches, and writes of statuses; memory;
/// watches; the reconciliation of one Runnable; the queue; the program.
const OF_CONTROLLER: [Floor; 11] = [
    floor!["backoff", "clock", "lock", "mutants"],
    floor!["budget", "cached_runnable", "picked", "profiles", "survey"],
    floor!["metrics", "runnable_key"],
    floor!["api", "endpoints"],
    floor![
        "definitions",
        "discovery",
        "events",
        "flags",
        "identity",
        "reviews",
        "templates"
    ],
    floor!["status_writes", "telemetry", "watched_kind"],
    floor!["memory", "template_status"],
    floor!["profile_status", "watch"],
    floor!["reconcile"],
    floor!["serve"],
    floor!["main"],
];

/// Floors of the library for authors, the lowest first: texts with places; files, and findings about them; objects and
/// schemas; their renderings; judgement.
const OF_AUTHORING: [Floor; 5] = [
    floor!["foreign", "remark", "source", "yaml"],
    floor![
        "finding",
        "manifests",
        "profile_file",
        "template_file",
        "unrendered",
    ],
    floor!["objects", "schema"],
    floor![
        "graph",
        "input_schema",
        "inputs_from",
        "permissions",
        "render",
        "starter",
    ],
    floor!["template_test", "validate"],
];

/// The crates whose modules stand on floors.
pub const FLOORS: [(&str, &[Floor]); 7] = [
    ("crds", &OF_CRDS),
    ("language", &OF_LANGUAGE),
    ("engines", &OF_ENGINES),
    ("templating", &OF_TEMPLATING),
    ("protocol", &OF_PROTOCOL),
    ("controller", &OF_CONTROLLER),
    ("authoring", &OF_AUTHORING),
];

/// A module without a floor could be imported from everywhere.
#[test]
fn each_module_stands_on_one_floor() -> Result<()> {
    for (package, floors) in FLOORS {
        let mut placed: Vec<&str> = floors.iter().flat_map(|it| it.files).copied().collect();
        placed.sort_unstable();
        let src = files::root()?.join(package).join("src");
        let files = files::below(&src, ".rs")?.into_iter();
        let modules = files.filter(|file| file.parent() == Some(Path::new("")));
        let mut modules: Vec<String> = modules
            .map(|file| file.with_extension("").display().to_string())
            .filter(|module| module != "lib")
            .collect();
        modules.sort_unstable();
        assert_eq!(placed, modules, "{package}");
    }
    Ok(())
}
