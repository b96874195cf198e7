//! What may not know what. The picture is in `ARCHITECTURE.md`.

mod floors;

pub use floors::FLOORS;

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
    ("controller", 0),
    ("cli", 56),
];
