//! Sources that hold a run back: reasons, sentences and cures.

use super::Diagnosis;
use crate::trace::{Incoherence, SourceKey};

/// The reason to wait for a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotReady {
    /// It has no value.
    Missing,
    /// Its status says that it is not ready.
    ObjectNotReady,
    /// It is about to give something else.
    Busy(Busy),
    /// It has not yet looked at the outputs of its own sources.
    Behind,
    /// It and another source have seen different revisions of this ancestor.
    Apart {
        /// The other one.
        other: SourceKey,
        /// The ancestor.
        ancestor: SourceKey,
    },
    /// It is suspended, and does not follow.
    Suspended,
    /// It is being deleted, and does not follow.
    Deleting,
    /// It derives from something that has a pending change, and that the account of the waiting
    /// Runnable may not read.
    Upstream,
}

/// The cause of a failed dependency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failed {
    /// This source, which has to have succeeded.
    Source(SourceKey),
    /// Sources derive from different revisions of an ancestor, and stay so.
    Incoherent {
        /// The first ancestor by name, and the revisions.
        between: Box<Incoherence>,
        /// The Runnables that lag behind, or may do so.
        who: Vec<SourceKey>,
        /// The reason for the lag.
        why: Lag,
    },
}

/// The reason why sources stay at different revisions of an ancestor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lag {
    /// They have looked at a revision, and have given nothing for it.
    GaveNothing,
    /// They look at nothing before a user corrects a fault.
    Stalled,
    /// It is unknown what their outputs were made from, and so what is made from these.
    OfUnknown,
    /// They have outputs, but no run that shows what they have looked at.
    WithoutRun,
    /// They are waited for, and are not known here.
    NotSeen,
    /// It is one of them, and it cannot be determined which.
    Undetermined,
}

/// The sign that a Runnable is about to change its outputs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Busy {
    /// Its spec has changed, or another run was requested, and its status does not show that yet.
    Changed,
    /// A run of it has not ended, or may still be made.
    AtWork,
    /// Its next run waits, for this reason.
    Waits(String),
    /// This keeps it from going on, so that it may not even be known if a run is pending.
    Hindered(String),
    /// A failed run is going to be retried.
    TriedAgain,
}

/// Returns the readable name: `Runnable shop/build`, `ConfigMap shop/sizes, key small`,
/// `Bucket.example.com shop/app, by .status.revision`.
#[must_use]
pub fn format_name(key: &SourceKey) -> String {
    if *key == SourceKey::UNNAMED {
        return "an upstream that this account may not read".to_owned();
    }
    let mut parts = key.as_str().splitn(3, '/');
    let kind = parts.next().unwrap_or_default();
    let namespace = parts.next().filter(|it| !it.is_empty());
    let rest = parts.next().unwrap_or_default();
    // Labels, which replace the name if no object was found, may contain a slash.
    let is_of_key = matches!(kind, "ConfigMap" | "Secret");
    let (name, part) = match (rest.split_once("/{"), rest.split_once('/')) {
        (Some((name, path)), _) => (
            name,
            format!(", by {}", path.strip_suffix('}').unwrap_or(path)),
        ),
        (None, Some((name, key))) if is_of_key => (name, format!(", key {key}")),
        _ => (rest, String::new()),
    };
    let place = namespace.map_or_else(|| name.to_owned(), |it| format!("{it}/{name}"));
    format!("{kind} {place}{part}")
}

/// Returns the sentence; empty for a diagnosis that is not about dependencies.
pub(super) fn sentence(of: &Diagnosis) -> String {
    match of {
        Diagnosis::DependencyNotReady(key, why) => waits(key, why),
        Diagnosis::DependencyFailed(it) => failed(it),
        Diagnosis::DependencyCycle(way) => cycle(way),
        _ => String::new(),
    }
}

fn waits(key: &SourceKey, why: &NotReady) -> String {
    format!("the next run waits: {}", why_not_ready(key, why))
}

/// Returns the reason why a source or an ancestor is waited for.
#[must_use]
pub fn why_not_ready(key: &SourceKey, why: &NotReady) -> String {
    let who = format_name(key);
    match why {
        NotReady::Missing => format!("{who} has not given a value yet"),
        NotReady::ObjectNotReady => format!("{who} reports that it is not ready"),
        NotReady::Busy(Busy::Changed) => format!("{who} has changed, and has not acted on it yet"),
        NotReady::Busy(Busy::AtWork) => format!("a run of {who} has not ended"),
        NotReady::Busy(Busy::Waits(reason)) => {
            format!("the next run of {who} waits ({reason})")
        }
        NotReady::Busy(Busy::Hindered(reason)) => format!("{who} is blocked ({reason})"),
        NotReady::Busy(Busy::TriedAgain) => format!("{who} has failed, and will be retried"),
        NotReady::Behind => format!("{who} has not read the sources of its own inputs yet"),
        NotReady::Apart { other, ancestor } => format!(
            "{who} and {} have seen different revisions of {}",
            format_name(other),
            format_name(ancestor)
        ),
        NotReady::Suspended => {
            format!("{who} is suspended, and does not follow a change upstream")
        }
        NotReady::Deleting => {
            format!("{who} is being deleted, and does not follow a change upstream")
        }
        NotReady::Upstream => {
            format!(
                "{who} derives from something that is still changing, and that this account may not read"
            )
        }
    }
}

fn failed(failed: &Failed) -> String {
    match failed {
        Failed::Source(key) => format!(
            "no new run is created: {} has not succeeded, which spec.inputsFrom requires (waitFor: Succeeded)",
            format_name(key)
        ),
        Failed::Incoherent { between, who, why } => {
            let by = |all: &[SourceKey]| all.iter().map(format_name).collect::<Vec<_>>().join(", ");
            let (one, other) = (&between.one, &between.other);
            format!(
                "no new run is created: the inputs derive from different revisions of {}: {} by {}, {} by {}; {}",
                format_name(&between.ancestor),
                one.revision,
                by(&one.by),
                other.revision,
                by(&other.by),
                lag(&by(who), *why)
            )
        }
    }
}

fn lag(who: &str, why: Lag) -> String {
    match why {
        Lag::GaveNothing => format!("{who} has seen it, and gave no outputs for it"),
        Lag::Stalled => {
            format!("{who} is Stalled, and follows when its problem is corrected")
        }
        Lag::OfUnknown => format!("it is unknown what the outputs of {who} derive from"),
        Lag::WithoutRun => format!("{who} has no run that shows which revision it has seen"),
        Lag::NotSeen => format!("{who} is not known to this controller"),
        Lag::Undetermined => {
            format!("one of {who} does not follow, and the controller cannot determine which")
        }
    }
}

pub(super) fn failed_cure(failed: &Failed) -> &'static str {
    match failed {
        Failed::Source(_) => {
            "run `cartouche why` on that Runnable, and fix it; this one continues when its run has succeeded"
        }
        Failed::Incoherent { why, .. } => match why {
            Lag::GaveNothing => {
                "fix the Runnable whose run failed, or run it again; spec.coherence: Ignored takes the inputs as they are"
            }
            Lag::Stalled => {
                "correct what `cartouche why` reports for that Runnable; spec.coherence: Ignored takes the inputs as they are"
            }
            Lag::OfUnknown | Lag::WithoutRun | Lag::Undetermined => {
                "run that Runnable again; spec.coherence: Ignored takes the inputs as they are"
            }
            Lag::NotSeen => {
                "let one controller serve all these namespaces; spec.coherence: Ignored takes the inputs as they are"
            }
        },
    }
}

pub(super) fn waits_cure(why: &NotReady) -> &'static str {
    match why {
        NotReady::Missing => {
            "make sure that it runs, or set optional if the template can do without it"
        }
        NotReady::Busy(Busy::Hindered(_)) => {
            "run `cartouche why` on that Runnable, and fix it; this one then continues by itself"
        }
        NotReady::Busy(Busy::AtWork) => {
            "nothing, unless that run hangs (`cartouche why` on that Runnable shows it): this one begins by itself"
        }
        NotReady::Suspended
        | NotReady::Behind
        | NotReady::Upstream
        | NotReady::Busy(Busy::Waits(_)) => {
            "run `cartouche why` on that Runnable to see what it waits for; this one then continues by itself"
        }
        NotReady::Deleting => {
            "check which finalizer keeps it; this one continues when it is gone or created again"
        }
        _ => "nothing: the run begins by itself",
    }
}

fn cycle(way: &[SourceKey]) -> String {
    let step = |key: &SourceKey| {
        // Any key that is no Runnable is an object that outputs are written to.
        let reads = match key.as_runnable() {
            None if *key != SourceKey::UNNAMED => "which has outputs of",
            _ => "which reads",
        };
        format!("{}, {reads} ", format_name(key))
    };
    let round: Vec<String> = way
        .iter()
        .map(step)
        .chain(way.first().map(format_name))
        .collect();
    format!(
        "no run is created: its inputs come from itself: {}",
        round.concat()
    )
}

#[cfg(test)]
mod tests {
    use super::{SourceKey, cycle, format_name};

    #[test]
    fn a_way_round_says_who_reads_an_object_and_whose_outputs_are_in_it() {
        let way = [
            SourceKey::runnable("shop", "a"),
            SourceKey::object(("ConfigMap", ""), "shop", "sizes", ""),
            SourceKey::runnable("shop", "b"),
        ];
        assert_eq!(
            cycle(&way),
            "no run is created: its inputs come from itself: Runnable shop/a, which reads ConfigMap shop/sizes, which has outputs of \
             Runnable shop/b, which reads Runnable shop/a"
        );
    }

    #[test]
    fn a_source_is_named_with_what_tells_it_from_others_of_its_object() {
        let bucket = ("Bucket", "example.com");
        let object = |name, path| SourceKey::object(bucket, "shop", name, path);
        for (key, name) in [
            (SourceKey::runnable("shop", "build"), "Runnable shop/build"),
            (
                SourceKey::config_map("shop", "sizes", "small"),
                "ConfigMap shop/sizes, key small",
            ),
            (
                SourceKey::secret("shop", "db", "pin"),
                "Secret shop/db, key pin",
            ),
            (object("app", ""), "Bucket.example.com shop/app"),
            (
                object("app", ".status.revision"),
                "Bucket.example.com shop/app, by .status.revision",
            ),
            (
                object("example.com/app=x", "['a/b']"),
                "Bucket.example.com shop/example.com/app=x, by ['a/b']",
            ),
            (
                SourceKey::object(("Node", ""), "", "one", ".metadata.uid"),
                "Node one, by .metadata.uid",
            ),
        ] {
            assert_eq!(format_name(&key), name);
        }
    }
}
