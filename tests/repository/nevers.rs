//! What may not know what. The picture is in `ARCHITECTURE.md`.

/// What runs things, talks over a network or has a clock. Chance is with them: who decides by it
/// cannot be played again.
pub const DOES_IO: &[&str] = &[
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
pub const DOES_IO_IN_KUBE: &[&str] = &[
    "client",
    "config",
    "default",
    "runtime",
    "unstable-runtime",
    "ws",
];

/// A package that may not depend on others, neither itself nor through members of the workspace.
/// Dev-dependencies do not count; optional ones do, since a default or a dependent may turn them on.
pub struct Package {
    pub name: &'static str,
    /// Whether it may depend on what does I/O.
    pub io: bool,
    /// Other packages that it may not depend on.
    pub never: &'static [&'static str],
}

/// The walls between crates.
pub const PACKAGES: &[Package] = &[
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
pub struct Sources {
    /// Of a crate: its folder, then what the paths of files below its `src` begin with.
    /// Programs of a library's crate, in `bin`, are not meant: nobody who depends on it gets them.
    pub of: (&'static str, &'static [&'static str]),
    /// Beginnings of paths; `::now` is the end of one.
    pub never: &'static [&'static str],
}

/// Modules of a crate that stand on one floor: they import each other, and what stands below.
pub struct Floor {
    /// As [`Sources::of`] has them.
    pub files: &'static [&'static str],
    /// As [`Sources::never`] has them.
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

/// The API types by floors, the lowest first: parts of specs and statuses; templates, profiles and the status of a Runnable; the
/// Runnable, and what is said of all resources.
pub const OF_CRDS: [Floor; 3] = [
    floor![
        "approval",
        "breaker",
        "cancellation",
        "concurrency",
        "duration",
        "health_rule",
        "line",
        "names",
        "needs",
        "pending_run",
        "plain_json",
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
        "history",
        "profile",
        "run_template",
        "status",
        "status_bytes"
    ],
    floor!["definition", "runnable", "strict"],
];

/// Templating by floors, the lowest first: what knows no tag, the language of tags, what is known of engines and their runs, and
/// templates.
pub const OF_TEMPLATING: [Floor; 4] = [
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
    floor![
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
    ],
    floor![
        "body", "contains", "context", "document", "meant", "profile", "rendered", "requires",
        "runner", "source", "stamp", "suspect", "template",
    ],
];

/// What a crate without I/O may not name.
pub const IO: &[&str] = &[
    "std::fs",
    "std::net",
    "std::process",
    "std::env",
    "std::io::stdin",
    "std::thread",
    "std::time",
    "::now",
];

/// What only reads a text that is an address, or measures without looking at a clock.
pub const NO_IO: &[&str] = &[
    "std::time::Duration",
    "std::net::Ipv4Addr",
    "std::net::Ipv6Addr",
    "std::net::IpAddr",
];

/// The walls inside of crates, and what no manifest shows.
pub const SOURCES: &[Sources] = &[
    Sources {
        of: ("crds", &[""]),
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
        of: ("crds", OF_CRDS[0].files),
        never: OF_CRDS[1].modules,
    },
    Sources {
        of: ("crds", OF_CRDS[0].files),
        never: OF_CRDS[2].modules,
    },
    Sources {
        of: ("crds", OF_CRDS[1].files),
        never: OF_CRDS[2].modules,
    },
    Sources {
        of: ("templating", OF_TEMPLATING[0].files),
        never: OF_TEMPLATING[1].modules,
    },
    Sources {
        of: ("templating", OF_TEMPLATING[0].files),
        never: OF_TEMPLATING[2].modules,
    },
    Sources {
        of: ("templating", OF_TEMPLATING[0].files),
        never: OF_TEMPLATING[3].modules,
    },
    Sources {
        of: ("templating", OF_TEMPLATING[1].files),
        never: OF_TEMPLATING[2].modules,
    },
    Sources {
        of: ("templating", OF_TEMPLATING[1].files),
        never: OF_TEMPLATING[3].modules,
    },
    Sources {
        of: ("templating", OF_TEMPLATING[2].files),
        never: OF_TEMPLATING[3].modules,
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
        of: ("cli", OFFLINE),
        never: &[
            "crate::cluster",
            "crate::command_line",
            "crate::commands",
            "crate::live",
            "kube",
            "tokio",
        ],
    },
    Sources {
        of: ("cli", OFFLINE_COMMANDS),
        never: &[
            "crate::cluster",
            "crate::commands::diff",
            "crate::commands::get",
            "crate::commands::logs",
            "crate::commands::outputs",
            "crate::live",
            "kube",
            "tokio",
        ],
    },
];

/// Of the command, what does its work without a cluster.
pub const OFFLINE: &[&str] = &[
    "completion/shells",
    "files",
    "finding",
    "foreign",
    "format",
    "graph",
    "input_schema",
    "inputs_from",
    "objects",
    "outcome",
    "permissions",
    "profile_file",
    "render",
    "schema",
    "source",
    "starter",
    "template_file",
    "template_test",
    "unrendered",
    "validate",
    "yaml",
];

/// The same of commands: those that never have a cluster, and parts of one.
pub const OFFLINE_COMMANDS: &[&str] = &[
    "commands/init",
    "commands/manual",
    "commands/migrate/pruned",
    "commands/migrate/remarks",
    "commands/migrate/report",
    "commands/test",
];

/// The rest of the command: what knows a cluster, and what knows every command. `render`, `validate`, `explain`
/// and `migrate` are among them because each has a cluster asked if it is told to. What they do without one is in
/// modules of [`OFFLINE`], but for what `render` puts together of files.
pub const LIVE: &[&str] = &[
    "cluster",
    "command_line",
    "commands.rs",
    "commands/approve",
    "commands/cancel",
    "commands/diff",
    "commands/explain",
    "commands/get",
    "commands/graph",
    "commands/history",
    "commands/logs",
    "commands/many",
    "commands/migrate.rs",
    "commands/migrate/adoption",
    "commands/outputs",
    "commands/profile",
    "commands/rbac",
    "commands/render",
    "commands/rerun",
    "commands/suspend",
    "commands/tree",
    "commands/validate",
    "commands/wait",
    "commands/why",
    "completion.rs",
    "completion/names",
    "completion/tests",
    "lib",
    "live",
    "main",
];

/// What is not as the tables say, yet. Nothing may be added; what is mended has to be taken out.
pub const STILL_BROKEN: &[&str] = &[];

/// For each crate, its modules in import circles that are larger than a parent and its children. The numbers may only fall.
pub const STILL_IN_CIRCLES: &[(&str, usize)] = &[
    ("crds", 0),
    ("templating", 0),
    ("protocol", 0),
    ("controller", 79),
    ("cli", 121),
];

/// A module that stands on no floor could be imported from everywhere.
#[test]
fn each_module_stands_on_one_floor() -> anyhow::Result<()> {
    for (package, floors) in [("crds", &OF_CRDS[..]), ("templating", &OF_TEMPLATING[..])] {
        let mut placed: Vec<&str> = floors.iter().flat_map(|it| it.files).copied().collect();
        placed.sort_unstable();
        let src = super::files::root()?.join(package).join("src");
        let files = super::files::below(&src, ".rs")?.into_iter();
        let modules = files.filter(|file| file.parent() == Some(std::path::Path::new("")));
        let mut modules: Vec<String> = modules
            .map(|file| file.with_extension("").display().to_string())
            .filter(|module| module != "lib")
            .collect();
        modules.sort_unstable();
        assert_eq!(placed, modules, "{package}");
    }
    Ok(())
}
