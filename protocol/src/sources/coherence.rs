//! Who keeps the sources of a Runnable from stemming from one revision of each ancestor. Pure.
//!
//! The two ways from an ancestor may be of different length, so that the sources differ while a change runs down to them.
//! Then somebody has not looked at what is there, and will. If everybody has, a run has failed, and only a change helps.

use super::{
    Coherence, Known, Revision, Seen, SourceKey, Sources, Trace, family, moving,
    readiness::{Failed, NotReady, Readiness},
    settle::looks_at_nothing,
    trace::Incoherence,
};

/// What an incoherent trace of these direct sources amounts to, when none of them, and nobody that they wait for, is at
/// work: in this order, that somebody has not looked yet at what its own sources give; that somebody has not looked yet at
/// what is read here as well, or that two have seen different revisions of something that is not known here, so that one of
/// them has not looked yet; that somebody has looked, and has given nothing for it. Whoever is suspended is waited for, in
/// whichever way he keeps back.
pub(super) fn judged(
    trace: &Trace,
    first: &Incoherence,
    direct: &[&SourceKey],
    known: &Known,
) -> Readiness {
    let family = family(direct.iter().copied(), known);
    let disputed: Vec<SourceKey> = trace.incoherences().map(|it| it.ancestor).collect();
    let behind: Vec<Member<'_>> = family
        .iter()
        .copied()
        .filter(|member| is_behind(member.1, known))
        .collect();
    if let Some(waiting) = waiting_for(&behind, NotReady::Behind) {
        return waiting;
    }
    if let Some(waiting) = disputed
        .iter()
        .find_map(|ancestor| not_looked_at(trace, ancestor, &family, known))
    {
        return waiting;
    }
    let has_failed = |seen: &Seen| disputed.iter().any(|ancestor| gave_nothing(seen, ancestor));
    let failed: Vec<Member<'_>> = family.into_iter().filter(|it| has_failed(it.1)).collect();
    if !failed.is_empty()
        && failed.iter().all(|it| !it.1.reacts())
        && let Some(waiting) = waiting_for(&failed, NotReady::Suspended)
    {
        return waiting;
    }
    let at_work = failed.into_iter().filter(|it| it.1.reacts());
    Readiness::Failed(Failed::Incoherent {
        between: Box::new(first.clone()),
        who: at_work.map(|it| it.0.clone()).collect(),
    })
}

/// Somebody among these sources and those that they wait for who will look at what its own sources give, and has not yet.
pub(super) fn not_yet_looked(direct: &[&SourceKey], known: &Known) -> Option<Readiness> {
    let will_look = |seen: &Seen| seen.reacts() && !looks_at_nothing(seen);
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
    if known.contains_key(ancestor) {
        return None;
    }
    let readers = family.iter().filter_map(|(key, seen)| {
        let revision = seen.looked_at()?.get(ancestor)?;
        let is_direct = !given(seen, known).names(ancestor);
        is_direct.then_some(((*key, *seen), revision))
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
