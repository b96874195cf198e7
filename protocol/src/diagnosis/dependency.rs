//! What a run waits for that is due: the sentences, and what to do.

use super::Diagnosis;
use crate::sources::{Busy, Failed, NotReady, SourceKey};

/// As people say it: `Runnable shop/build`, `ConfigMap shop/sizes, key small`.
pub(super) fn named(key: &SourceKey) -> String {
    let mut parts = key.as_str().splitn(4, '/');
    let kind = parts.next().unwrap_or_default();
    let namespace = parts.next().filter(|it| !it.is_empty());
    let name = parts.next().unwrap_or_default();
    let place = namespace.map_or_else(|| name.to_owned(), |it| format!("{it}/{name}"));
    match parts.next() {
        Some(key) => format!("{kind} {place}, key {key}"),
        None => format!("{kind} {place}"),
    }
}

/// What is said; nothing of what is no dependency.
pub(super) fn sentence(of: &Diagnosis) -> String {
    match of {
        Diagnosis::DependencyNotReady(key, why) => waits(key, why),
        Diagnosis::DependencyFailed(it) => failed(it),
        Diagnosis::DependencyCycle(way) => cycle(way),
        _ => String::new(),
    }
}

fn waits(key: &SourceKey, why: &NotReady) -> String {
    let who = named(key);
    let why = match why {
        NotReady::Missing => format!("{who} has not given a value yet"),
        NotReady::ObjectNotReady => format!("{who} says that it is not ready"),
        NotReady::Busy(Busy::Changed) => format!("{who} has changed, and has not acted on it yet"),
        NotReady::Busy(Busy::AtWork) => format!("a run of {who} has not ended"),
        NotReady::Busy(Busy::Waits(reason)) => {
            format!("a run of {who} is due and waits ({reason})")
        }
        NotReady::Busy(Busy::TriedAgain) => format!("{who} has failed, and is tried again"),
        NotReady::Behind => format!("{who} has not looked yet at what its own inputs come from"),
        NotReady::Apart { other, ancestor } => format!(
            "{who} and {} have seen different states of {}",
            named(other),
            named(ancestor)
        ),
        NotReady::Suspended => {
            format!("{who} is suspended, and does not follow a change of what it stems from")
        }
    };
    format!("a new run waits: {why}")
}

fn failed(failed: &Failed) -> String {
    match failed {
        Failed::Source(key) => format!(
            "no new run is made: {} has not succeeded, and spec.inputsFrom asks for that (waitFor: Succeeded)",
            named(key)
        ),
        Failed::Incoherent { between, who } => {
            let by = |all: &[SourceKey]| all.iter().map(named).collect::<Vec<_>>().join(", ");
            let (one, other) = (&between.one, &between.other);
            let what = format!(
                "no new run is made: the inputs stem from different states of {}: {} by {}, {} by {}",
                named(&between.ancestor),
                one.revision,
                by(&one.by),
                other.revision,
                by(&other.by)
            );
            if who.is_empty() {
                what
            } else {
                format!(
                    "{what}; {} has looked at it, and has given nothing for it",
                    by(who)
                )
            }
        }
    }
}

pub(super) fn failed_cure(failed: &Failed) -> &'static str {
    match failed {
        Failed::Source(_) => "mend that Runnable: this one goes on when its run has succeeded",
        Failed::Incoherent { .. } => {
            "mend the Runnable whose run failed, or run it again; spec.coherence: Ignored takes the inputs as they are"
        }
    }
}

pub(super) fn waits_cure(why: &NotReady) -> &'static str {
    match why {
        NotReady::Missing => "see that it runs, or set optional if the template can do without it",
        NotReady::Suspended | NotReady::Busy(Busy::Waits(_)) => {
            "`cartouche why` of that Runnable says what it waits for; this one goes on by itself then"
        }
        _ => "nothing: it begins by itself",
    }
}

fn cycle(way: &[SourceKey]) -> String {
    let round: Vec<String> = way.iter().chain(way.first()).map(named).collect();
    format!(
        "no run is made: its inputs come from itself: {}",
        round.join(", which reads ")
    )
}
