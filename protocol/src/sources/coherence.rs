//! Finds the Runnable that keeps the sources of another from deriving from one revision of each
//! ancestor. Pure.
//!
//! The two paths from an ancestor may differ in length, so the sources differ while a change runs
//! down to them. Then a Runnable has not yet looked at its sources, and will. If all have looked, a
//! run has failed, and only a change helps.

use std::collections::BTreeSet;

use super::{
    Coherence, KnownRunnables, Seen, family, moving,
    readiness::Readiness,
    settle::{cannot_look, has_looked_in_vain},
};
use crate::{
    messages::diagnosis::{Failed, Lag, NotReady},
    trace::{Incoherence, Revision, SourceKey, Sources, Trace},
};

/// Judges an incoherent trace of these direct sources, if none of them and no Runnable that they
/// wait for is at work. The first of these cases counts:
///
/// - A Runnable has not yet looked at the outputs of its own sources.
/// - One has not yet looked at what is read here as well, or two have seen different revisions of
///   something that is not known here, so that one of them has not looked yet.
/// - One of these cannot look.
/// - One has looked, and has given nothing for it.
/// - Anything else that may keep one back.
///
/// A suspended Runnable is waited for, in whichever case.
pub(super) fn judge(
    trace: &Trace,
    first: &Incoherence,
    direct: &[&SourceKey],
    known: &KnownRunnables,
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
    // While it does not look, others do not derive from what it reads, so that may not be known.
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

/// Returns the failure if no Runnable is behind and none has looked without result: it names the
/// possible causes.
fn unexplained(first: &Incoherence, family: &[Member<'_>], known: &KnownRunnables) -> Failed {
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
    let (who, why) = found.unwrap_or((by, Lag::Undetermined));
    Failed::Incoherent {
        between: Box::new(first.clone()),
        who,
        why,
    }
}

/// Returns a wait for one of these sources, or of those that they wait for, that will look at the
/// outputs of its own sources and has not yet.
pub(super) fn not_yet_looked(direct: &[&SourceKey], known: &KnownRunnables) -> Option<Readiness> {
    let will_look = |seen: &Seen| seen.reacts() && !cannot_look(seen) && !has_looked_in_vain(seen);
    let behind = moving(direct.iter().copied(), known)
        .into_iter()
        .filter(|it| will_look(it.1) && is_behind(it.1, known));
    let behind: Vec<Member<'_>> = behind.collect();
    waiting_for(&behind, NotReady::Behind)
}

type Member<'a> = (&'a SourceKey, &'a Seen);

/// Returns the wait for one of these; one that goes on without a person comes first.
fn waiting_for(who: &[Member<'_>], why: NotReady) -> Option<Readiness> {
    let (key, seen) = who
        .iter()
        .find(|it| it.1.reacts())
        .or_else(|| who.first())?;
    let why = NotReady::of_still(seen).unwrap_or(why);
    Some(Readiness::NotReady((*key).clone(), why))
}

/// Returns true if it has not yet looked at the outputs of its own sources, even if only to find
/// that its rendering stays the same. All that they derive from counts, since a source may give the
/// same as before, made from something else. A Runnable whose own sources disagree does not look,
/// nor does one with a source of unknown provenance.
fn is_behind(seen: &Seen, known: &KnownRunnables) -> bool {
    let looked_at = seen.looked_at();
    // Without required coherence, a missing ancestor may be one of which it saw two revisions, one
    // of them in what it reads itself. The revision of a Runnable that it waits for still shows if
    // it has looked.
    let shows_revision =
        |key: &SourceKey| seen.coherence == Coherence::Required || seen.reads.contains_key(key);
    to_look_at(seen, known).is_some_and(|given| {
        let mut given = given.iter();
        given.any(
            |(key, revision)| match looked_at.and_then(|sources| sources.get(key)) {
                Some(looked_at) => looked_at != revision,
                None => shows_revision(key),
            },
        )
    })
}

/// Returns what it has to look at, as far as that is known, or `None` if it does not look.
fn to_look_at(seen: &Seen, known: &KnownRunnables) -> Option<Sources> {
    let is_of_unknown = |key| known.get(key).is_some_and(|seen| seen.is_of_unknown());
    if seen.status.current_run.is_none() || seen.waits_for().any(is_of_unknown) {
        return None;
    }
    given(seen, known).sources_for(seen.coherence).ok()
}

/// Returns what the Runnables that it waits for give now, even if nothing, as far as they are
/// known.
fn given(seen: &Seen, known: &KnownRunnables) -> Trace {
    let sources = seen.waits_for().filter_map(|key| known.get_key_value(key));
    let absent = Revision::without_value();
    sources
        .map(|(key, source)| {
            let revision = source.revision.as_ref().unwrap_or(&absent);
            Trace::new(key, Some(revision), source.gives())
        })
        .collect()
}

/// Returns a wait for a reader of something that is not known here, such as a key of a `ConfigMap`,
/// that has not yet looked at its present state.
fn not_looked_at(
    trace: &Trace,
    ancestor: &SourceKey,
    family: &[Member<'_>],
    known: &KnownRunnables,
) -> Option<Readiness> {
    let readers = family.iter().filter_map(|member| {
        let revision = seen_directly(member, ancestor, known)?;
        Some((*member, revision))
    });
    let Some(now) = trace.read_itself(ancestor) else {
        return apart(ancestor, readers);
    };
    // One that looks at all and has seen another revision will look; one that has seen this
    // revision may have failed.
    let behind = readers
        .filter(|(member, revision)| *revision != now && to_look_at(member.1, known).is_some());
    let behind: Vec<Member<'_>> = behind.map(|(member, _)| member).collect();
    waiting_for(&behind, NotReady::Behind)
}

/// Returns the revision that this member has seen of something unknown here, if it reads it itself.
fn seen_directly<'a>(
    (_, seen): &Member<'a>,
    ancestor: &SourceKey,
    known: &KnownRunnables,
) -> Option<&'a Revision> {
    let revision = seen.looked_at()?.get(ancestor)?;
    let is_direct = !known.contains_key(ancestor) && !given(seen, known).names(ancestor);
    is_direct.then_some(revision)
}

/// Returns true if it has seen another revision of something unknown here than the present one, or
/// than others have.
fn differs(
    member: &Member<'_>,
    ancestor: &SourceKey,
    trace: &Trace,
    known: &KnownRunnables,
) -> bool {
    let seen = seen_directly(member, ancestor, known);
    let now = trace.read_itself(ancestor);
    seen.is_some_and(|seen| now.is_none_or(|now| now != seen))
}

/// Returns a wait for one of two readers that saw different revisions: there is one at a time, so
/// one of them has to look again.
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

/// Returns true if it has looked at another revision of an ancestor than its outputs are made from.
fn gave_nothing(seen: &Seen, ancestor: &SourceKey) -> bool {
    let looked_at = seen.looked_at().and_then(|sources| sources.get(ancestor));
    let gives = seen.gives().and_then(|sources| sources.get(ancestor));
    looked_at.is_some() && gives.is_some() && looked_at != gives
}
