//! Who keeps the sources of a Runnable from stemming from one revision of each ancestor. Pure.
//!
//! The two ways from an ancestor may be of different length, so that the sources differ while a change runs down to them.
//! Then somebody has not looked at what is there, and will. If everybody has, a run has failed, and only a change helps.

use std::collections::BTreeSet;

use super::{
    Coherence, Known, Seen, family, moving,
    readiness::Readiness,
    settle::{cannot_look, has_looked_in_vain},
};
use crate::{
    diagnosis::{Failed, Lag, NotReady},
    trace::{Incoherence, Revision, SourceKey, Sources, Trace},
};

/// What an incoherent trace of these direct sources amounts to, when none of them, and nobody that they wait for, is at
/// work: in this order, that somebody has not looked yet at what its own sources give; that somebody has not looked yet at
/// what is read here as well, or that two have seen different revisions of something that is not known here, so that one of
/// them has not looked yet; that one of these cannot look; that somebody has looked, and has given nothing for it; and what else may
/// keep one back. Whoever is suspended is waited for, in whichever way he keeps back.
pub(super) fn judged(
    trace: &Trace,
    first: &Incoherence,
    direct: &[&SourceKey],
    known: &Known,
) -> Readiness {
    let family = family(direct.iter().copied(), known);
    let disputed: Vec<SourceKey> = trace.incoherences().map(|it| it.ancestor).collect();
    let keeps_still = |it: &Member<'_>| it.1.reacts() && cannot_look(it.1);
    let (still, free): (Vec<Member<'_>>, Vec<Member<'_>>) =
        family.iter().copied().partition(keeps_still);
    let behind = free.iter().copied().filter(|it| is_behind(it.1, known));
    let behind: Vec<Member<'_>> = behind.collect();
    let waiting = waiting_for(&behind, NotReady::Behind).or_else(|| {
        let mut disputed = disputed.iter();
        disputed.find_map(|ancestor| not_looked_at(trace, ancestor, &free, known))
    });
    if let Some(waiting) = waiting {
        return waiting;
    }
    // Others do not stem from what it reads while it does not look, so that this may not be known.
    let reads_unknown = |seen: &Seen| {
        let mut reads = seen.waits_for();
        !seen.has_read() && reads.any(|key| !known.contains_key(key))
    };
    let still = still.into_iter().filter(|it| {
        let mut disputed = disputed.iter();
        is_behind(it.1, known)
            || reads_unknown(it.1)
            || disputed.any(|ancestor| differs(it, ancestor, trace, known))
    });
    let still: Vec<Member<'_>> = still.collect();
    if !still.is_empty() {
        return failed(first, &still, Lag::Stalled);
    }
    let has_failed = |seen: &Seen| disputed.iter().any(|ancestor| gave_nothing(seen, ancestor));
    let have_failed = family.iter().copied().filter(|it| has_failed(it.1));
    let have_failed: Vec<Member<'_>> = have_failed.collect();
    let at_work = have_failed.iter().copied().filter(|it| it.1.reacts());
    let at_work: Vec<Member<'_>> = at_work.collect();
    match (
        at_work.as_slice(),
        waiting_for(&have_failed, NotReady::Suspended),
    ) {
        ([], Some(waiting)) => waiting,
        ([], None) => Readiness::Failed(unexplained(first, &family, known)),
        (at_work, _) => failed(first, at_work, Lag::GaveNothing),
    }
}

fn failed(first: &Incoherence, who: &[Member<'_>], why: Lag) -> Readiness {
    Readiness::Failed(Failed::Incoherent {
        between: Box::new(first.clone()),
        who: who.iter().map(|it| it.0.clone()).collect(),
        why,
    })
}

/// Nobody is behind, and nobody has looked in vain: who has to do with it all the same.
fn unexplained(first: &Incoherence, family: &[Member<'_>], known: &Known) -> Failed {
    let waited_for: BTreeSet<&SourceKey> = family.iter().flat_map(|it| it.1.waits_for()).collect();
    let of = |matches: &dyn Fn(&Member<'_>) -> bool| -> Vec<SourceKey> {
        let found = family.iter().filter(|it| matches(it));
        found.map(|it| it.0.clone()).collect()
    };
    let of_unknown = of(&|it| waited_for.contains(it.0) && it.1.is_of_unknown());
    let without_run = of(&|it| it.1.status.current_run.is_none() && it.1.revision.is_some());
    let not_seen = waited_for.iter().filter(|key| !known.contains_key(**key));
    let not_seen = not_seen.map(|key| (*key).clone()).collect();
    let by = first
        .one
        .by
        .iter()
        .chain(&first.other.by)
        .cloned()
        .collect();
    let all = [
        (of_unknown, Lag::OfUnknown),
        (without_run, Lag::WithoutRun),
        (not_seen, Lag::NotSeen),
    ];
    let found = all.into_iter().find(|(who, _)| !who.is_empty());
    let (who, why) = found.unwrap_or((by, Lag::Untold));
    Failed::Incoherent {
        between: Box::new(first.clone()),
        who,
        why,
    }
}

/// Somebody among these sources and those that they wait for who will look at what its own sources give, and has not yet.
pub(super) fn not_yet_looked(direct: &[&SourceKey], known: &Known) -> Option<Readiness> {
    let will_look = |seen: &Seen| seen.reacts() && !cannot_look(seen) && !has_looked_in_vain(seen);
    let behind = moving(direct.iter().copied(), known)
        .into_iter()
        .filter(|it| will_look(it.1) && is_behind(it.1, known));
    let behind: Vec<Member<'_>> = behind.collect();
    waiting_for(&behind, NotReady::Behind)
}

type Member<'a> = (&'a SourceKey, &'a Seen);

/// Somebody who goes on without a person first.
fn waiting_for(who: &[Member<'_>], why: NotReady) -> Option<Readiness> {
    let (key, seen) = who
        .iter()
        .find(|it| it.1.reacts())
        .or_else(|| who.first())?;
    let why = NotReady::of_still(seen).unwrap_or(why);
    Some(Readiness::NotReady((*key).clone(), why))
}

/// Whether it has to look yet at what its own sources give, be it only to find that its rendering stays as it is. By all
/// that they stem from, since a source may give the same as before, made from something else. Whoever cannot be of one
/// revision because its own sources are not does not look, nor whoever has one of which nobody knows what it stems from.
fn is_behind(seen: &Seen, known: &Known) -> bool {
    let looked_at = seen.looked_at();
    // Where nobody cares for what is coherent, an ancestor that is missing may be one of which it saw two revisions, one of them
    // in what it reads itself. That of a Runnable which it waits for tells all the same whether it has looked at it.
    let is_told =
        |key: &SourceKey| seen.coherence == Coherence::Required || seen.reads.contains_key(key);
    to_look_at(seen, known).is_some_and(|given| {
        let mut given = given.iter();
        given.any(
            |(key, revision)| match looked_at.and_then(|sources| sources.get(key)) {
                Some(looked_at) => looked_at != revision,
                None => is_told(key),
            },
        )
    })
}

/// What it has to look at, as far as that is known; `None` if it does not look.
fn to_look_at(seen: &Seen, known: &Known) -> Option<Sources> {
    let is_of_unknown = |key| known.get(key).is_some_and(|seen| seen.is_of_unknown());
    if seen.status.current_run.is_none() || seen.waits_for().any(is_of_unknown) {
        return None;
    }
    given(seen, known).sources_for(seen.coherence).ok()
}

/// What the Runnables that it waits for give now, as far as they are known, be it nothing.
fn given(seen: &Seen, known: &Known) -> Trace {
    let sources = seen.waits_for().filter_map(|key| known.get_key_value(key));
    let absent = Revision::absent();
    sources
        .map(|(key, source)| {
            let revision = source.revision.as_ref().unwrap_or(&absent);
            Trace::of(key, Some(revision), source.gives())
        })
        .collect()
}

/// Somebody who reads what is not known here, such as a key of a `ConfigMap`, and has not looked yet at what it is now.
fn not_looked_at(
    trace: &Trace,
    ancestor: &SourceKey,
    family: &[Member<'_>],
    known: &Known,
) -> Option<Readiness> {
    let readers = family.iter().filter_map(|member| {
        let revision = seen_directly(member, ancestor, known)?;
        Some((*member, revision))
    });
    let Some(now) = trace.read_itself(ancestor) else {
        return apart(ancestor, readers);
    };
    // Who looks at all and has seen it otherwise will look; who has seen it so may have failed.
    let behind = readers
        .filter(|(member, revision)| *revision != now && to_look_at(member.1, known).is_some());
    let behind: Vec<Member<'_>> = behind.map(|(member, _)| member).collect();
    waiting_for(&behind, NotReady::Behind)
}

/// Which revision somebody has seen who reads what is not known here himself.
fn seen_directly<'a>(
    (_, seen): &Member<'a>,
    ancestor: &SourceKey,
    known: &Known,
) -> Option<&'a Revision> {
    let revision = seen.looked_at()?.get(ancestor)?;
    let is_direct = !known.contains_key(ancestor) && !given(seen, known).names(ancestor);
    is_direct.then_some(revision)
}

/// Whether somebody has seen what is not known here otherwise than it is, or than others have.
fn differs(member: &Member<'_>, ancestor: &SourceKey, trace: &Trace, known: &Known) -> bool {
    let seen = seen_directly(member, ancestor, known);
    let now = trace.read_itself(ancestor);
    seen.is_some_and(|seen| now.is_none_or(|now| now != seen))
}

/// Two that read it themselves and saw different revisions: it has one at a time, so one of them has to look yet.
fn apart<'a>(
    ancestor: &SourceKey,
    mut readers: impl Iterator<Item = (Member<'a>, &'a Revision)>,
) -> Option<Readiness> {
    let ((one, seen), revision) = readers.next()?;
    let ((other, its), _) = readers.find(|reader| reader.1 != revision)?;
    let still = [(one, seen), (other, its)].into_iter();
    let mut still = still.filter_map(|(who, seen)| Some((who, NotReady::of_still(seen)?)));
    let (who, why) = still.next().unwrap_or_else(|| {
        let why = NotReady::Apart {
            other: other.clone(),
            ancestor: ancestor.clone(),
        };
        (one, why)
    });
    Some(Readiness::NotReady(who.clone(), why))
}

/// Whether it has looked at another revision of an ancestor than its outputs are made from.
fn gave_nothing(seen: &Seen, ancestor: &SourceKey) -> bool {
    let looked_at = seen.looked_at().and_then(|sources| sources.get(ancestor));
    let gives = seen.gives().and_then(|sources| sources.get(ancestor));
    looked_at.is_some() && gives.is_some() && looked_at != gives
}
