//! Forbidden dependencies. `ARCHITECTURE.md` has the picture.

mod floors;

pub use floors::FLOORS;

/// Packages that run tasks, use a network or have a clock. Randomness is among them: random decisions cannot
/// be replayed.
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

/// Features of kube that do I/O; the types and the derive of custom resources are data.
pub const DOES_IO_IN_KUBE: &[&str] = &[
    "client",
    "config",
    "default",
    "runtime",
    "unstable-runtime",
    "ws",
];

/// A package that may not depend on others, neither itself nor through members of the workspace.
/// Dev-dependencies do not count; optional ones do, because a default or a dependent may turn them on.
pub struct Package {
    pub name: &'static str,
    /// True if it may depend on packages that do I/O.
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
        name: "cartouche-language",
        io: false,
        never: &[
            "cartouche-controller",
            "cartouche-engines",
            "cartouche-templating",
        ],
    },
    Package {
        name: "cartouche-engines",
        io: false,
        never: &["cartouche-controller", "cartouche-templating"],
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
        name: "cartouche-authoring",
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
    /// The folder of a crate, and the beginnings of the paths of files below its `src`. Programs in `bin` of
    /// a library's crate do not count, because its dependents do not get them.
    pub of: (&'static str, &'static [&'static str]),
    /// Beginnings of paths; `::now` is the end of one.
    pub never: &'static [&'static str],
}

/// Paths that a crate without I/O may not name.
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

/// Paths that a crate may not name if it does nothing but read and write files.
pub const IO_BUT_FILES: &[&str] = &[
    "std::net",
    "std::process::Command",
    "std::env",
    "std::thread",
    "std::time",
    "::now",
];

/// Paths that only the room for files may name. The id of the process is in the name of a file that is not whole yet.
pub const FILES: &[&str] = &["std::fs", "std::io::stdin", "std::process"];

/// The room for files in `authoring`: files, folders and standard input.
pub const FILES_ROOM: &str = "manifests";

/// Exceptions: they only parse an address, or measure without a clock.
pub const NO_IO: &[&str] = &[
    "std::time::Duration",
    "std::net::Ipv4Addr",
    "std::net::Ipv6Addr",
    "std::net::IpAddr",
];

/// The walls inside of crates, and those that no manifest shows.
pub const SOURCES: &[Sources] = &[
    Sources {
        of: ("crds", &[""]),
        never: IO,
    },
    Sources {
        of: ("language", &[""]),
        never: IO,
    },
    Sources {
        of: ("engines", &[""]),
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
    // No floor forbids it: mutants stand below.
    Sources {
        of: ("controller", &["api"]),
        never: &["crate::mutants"],
    },
    Sources {
        of: ("authoring", &[""]),
        never: IO_BUT_FILES,
    },
    Sources {
        of: ("cli", &["completion/shells", "files", "format", "outcome"]),
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
        of: (
            "cli",
            &[
                "commands/init",
                "commands/manual",
                "commands/migrate/remarks",
                "commands/migrate/report",
                "commands/test",
            ],
        ),
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

/// Present exceptions to the tables. Nothing may be added; a repaired one has to be removed.
pub const STILL_BROKEN: &[&str] = &[];

/// For each crate, the number of its modules in import cycles that are larger than a parent and its children.
/// The numbers may only fall.
pub const STILL_IN_CIRCLES: &[(&str, usize)] = &[
    ("crds", 0),
    ("language", 0),
    ("engines", 0),
    ("templating", 0),
    ("protocol", 0),
    ("controller", 0),
    ("authoring", 0),
    ("cli", 0),
];
