//! Judges intents, moves, and the content of ledgers, without the rules that it judges.

use std::collections::BTreeMap;

use cartouche_protocol::{
    ledger::Ledger,
    trace::{Revision, SourceKey, Sources},
};

use super::{
    known::key,
    model::Chain,
    runs::run_of,
    setup::Shape,
    world::{A, Document, EMPTY, Stored, Who, World},
};
use crate::cast::token;

/// An ancestor had two revisions at an intent.
pub const C1: u8 = 1;
/// A value was missing.
pub const C2: u8 = 2;
/// The Runnable was on a cycle.
pub const C3: u8 = 4;
/// The run was one more than A has given different outputs.
pub const ONCE: u8 = 8;
/// A source was at work, or one further up as far as the cache showed it.
pub const HELD: u8 = 16;
/// An earlier intent has read newer values.
pub const FRESH: u8 = 32;
/// The ledger moved on, and nothing had moved.
pub const STILL: u8 = 64;

/// Judges an intent that takes effect now, by the sources that were read for it.
pub(super) fn intent(
    model: &Chain,
    world: &mut World,
    (who, own): (Who, &Stored),
    cache: &[Stored],
    read: &[(Who, Stored)],
    document: Document,
) {
    let mut broken = 0;
    let mut flag = |is_broken: bool, what: u8| broken |= u8::from(is_broken) * what;
    flag(is_incoherent(model, read), C1);
    let has_outputs = |stored: &Stored| model.kept.stored(stored.status).outputs.is_some();
    let is_missing = read.iter().any(|(_, stored)| !has_outputs(stored));
    flag(is_missing || document.read.contains(&EMPTY), C2);
    flag(is_on_cycle(model, who, own, cache, read), C3);
    flag(is_beside_work(model, who, cache, read), HELD);
    let newest = &mut world.ghost.newest[who];
    for (newest, (_, source)) in newest.iter_mut().zip(read) {
        flag(source.given < *newest, FRESH);
        *newest = source.given.max(*newest);
    }
    let intents = &mut world.ghost.intents[who];
    *intents += 1;
    let is_one_more = who != A && *intents > world.stored[A].given;
    flag(is_one_more, ONCE);
    world.ghost.broken |= broken;
}

fn is_incoherent(model: &Chain, read: &[(Who, Stored)]) -> bool {
    let mut named: BTreeMap<SourceKey, Revision> = BTreeMap::new();
    let mut differs = false;
    for (who, stored) in read {
        let seen = model.seen(*who, stored);
        let own = seen
            .revision
            .iter()
            .map(|revision| (key(*who), revision.clone()));
        let given = seen.gives().into_iter().flat_map(Sources::iter);
        let given = given.map(|(key, revision)| (key.clone(), revision.clone()));
        for (key, revision) in own.chain(given) {
            let first = named.entry(key).or_insert_with(|| revision.clone());
            differs |= *first != revision;
        }
    }
    differs
}

/// Returns true on a cycle: with its edit A is on one, and so is every Runnable between it and D.
fn is_on_cycle(
    model: &Chain,
    who: Who,
    own: &Stored,
    cache: &[Stored],
    read: &[(Who, Stored)],
) -> bool {
    let root = read.iter().find(|(source, _)| *source == A);
    let root = root.map_or(&cache[A], |(_, stored)| stored);
    let root = if who == A { own } else { root };
    model.setup.shape != Shape::Pair && root.looped
}

/// Returns true if any ancestor was at work: a source as it was read, and all further ones as the cache shows
/// them. A suspended Runnable gives nothing new, even if its own sources change.
fn is_beside_work(model: &Chain, who: Who, cache: &[Stored], read: &[(Who, Stored)]) -> bool {
    let seen = |of: Who| {
        let read = read.iter().find(|(it, _)| *it == of);
        read.map_or(&cache[of], |(_, stored)| stored)
    };
    let (mut met, mut next) = (vec![who], Vec::new());
    next.extend(read.iter().map(|(source, _)| *source));
    while let Some(source) = next.pop() {
        if met.contains(&source) {
            continue;
        }
        met.push(source);
        let stored = seen(source);
        if is_at_work(model, source, stored) {
            return true;
        }
        if !stored.suspended {
            next.extend(model.reads(source, stored).iter().map(|(it, _)| *it));
        }
    }
    false
}

/// Returns true if a source, as it was read, had an unfinished run, or another spec than it had run for.
fn is_at_work(model: &Chain, who: Who, source: &Stored) -> bool {
    if source.suspended {
        return false;
    }
    let status = model.kept.stored(source.status);
    let ledger = Ledger::from_status(&status);
    let asked = token(source.token);
    let is_asked = asked.is_some() && asked.as_deref() != ledger.last_answered();
    let own = Document {
        own: model.setup.inputs[usize::from(source.input)],
        ..Document::default()
    };
    let hash = ledger.current.as_ref().map(|run| run.input_hash.clone());
    let has_changed = who == A && !source.looped && hash != Some(own.hash());
    is_asked || has_changed || ledger.runs().any(|(.., result)| result.is_none())
}

/// Judges a move of the ledger that takes effect now. A reader of A itself moves only if A has given other
/// outputs.
pub(super) fn moves(world: &mut World, who: Who, root: Option<u8>) {
    let seen = &mut world.ghost.root[who];
    if root.is_some() && *seen == root {
        world.ghost.broken |= STILL;
    }
    *seen = root;
}

/// C4: returns true if the provenance of the current run, and of the run that gave the outputs, is true.
pub(super) fn tells_the_truth(model: &Chain, world: &World) -> bool {
    world.stored.iter().enumerate().all(|(who, stored)| {
        let status = model.kept.stored(stored.status);
        let provenance = model.kept.provenance_of(stored.provenance);
        let ledger = Ledger::from_status(&status);
        let current = ledger.current.as_ref().and_then(|run| run.uid.clone());
        let from = ledger.outputs_from.as_ref().map(|from| from.uid.clone());
        let said = [
            (current, provenance.of_current(&ledger)),
            (from, provenance.of_outputs()),
        ];
        said.into_iter().all(|(uid, sources)| {
            let run = uid.and_then(|uid| run_of(world, who, &uid));
            run.zip(sources)
                .is_none_or(|(run, sources)| model.is_made_from(who, run.document, sources))
        })
    })
}
