//! A worker's knowledge of the Runnables, and the renderings of that.

use std::collections::{BTreeMap, BTreeSet};

use cartouche_protocol::{
    sources::{Coherence, KnownRunnables, Seen, Source, Value, WaitFor},
    trace::{Revision, SourceKey, Sources},
};
use serde_json::json;

use super::{
    model::Chain,
    setup::Shape,
    world::{A, B, C, D, Document, EMPTY, Stored, Who},
};
use crate::cast::token;

/// B's view of A's input: it does not distinguish 1 from 2.
pub(super) const COARSE: [u8; 3] = [0, 1, 1];

/// The account of all of them.
pub(super) const ACCOUNT: &str = "space/default";

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// Returns the key of a Runnable.
#[must_use]
pub fn key(who: Who) -> SourceKey {
    SourceKey::runnable("space", NAMES[who])
}

/// Returns the Runnable with this key.
#[must_use]
pub fn who(key: &SourceKey) -> Option<Who> {
    let (_, name) = key.as_str().rsplit_once('/')?;
    NAMES.iter().position(|it| *it == name)
}

/// Returns the uid of a Runnable.
pub(super) fn owner(who: Who) -> String {
    format!("uid-{}", NAMES[who])
}

/// Returns the outputs of a run of this document.
pub(super) fn outputs(of: Who, document: Document) -> BTreeMap<String, serde_json::Value> {
    let [one, other] = document.read;
    let out = |value: u8| BTreeMap::from([("out".to_owned(), json!(value))]);
    match of {
        A => BTreeMap::from([
            (
                "coarse".to_owned(),
                json!(COARSE[usize::from(document.own)]),
            ),
            ("fine".to_owned(), json!(document.own)),
        ]),
        B | C => out(one),
        _ => out(one.wrapping_mul(8).wrapping_add(other)),
    }
}

/// Returns the revision of outputs.
pub(super) fn revision(outputs: &BTreeMap<String, serde_json::Value>) -> Revision {
    Revision::of_outputs(outputs, &BTreeMap::new())
}

impl Chain {
    /// Returns the sources of a Runnable, and the output of each that it reads.
    pub(super) fn reads(&self, who: Who, own: &Stored) -> &'static [(Who, &'static str)] {
        match (who, self.setup.shape) {
            (A, _) if own.looped => &[(D, "out")],
            (B, _) => &[(A, "coarse")],
            (C, Shape::Line) => &[(B, "out")],
            (C, _) => &[(A, "fine")],
            (D, Shape::Line) => &[(C, "out")],
            (D, _) => &[(B, "out"), (C, "out")],
            _ => &[],
        }
    }

    fn wait_for(&self, who: Who) -> WaitFor {
        if who == D {
            self.setup.wait_for
        } else {
            WaitFor::Settled
        }
    }

    /// Returns a Runnable as a reader sees it.
    pub(super) fn seen(&self, who: Who, stored: &Stored) -> Seen {
        let status = self.kept.stored(stored.status);
        let sources = self.reads(who, stored).iter();
        self.setup.mutant.bend_seen(Seen {
            generation: i64::from(stored.generation),
            suspended: stored.suspended,
            deleting: false,
            coherence: Coherence::Required,
            rerun_token: token(stored.token),
            has_sources: !self.reads(who, stored).is_empty(),
            provenance: (*self.kept.provenance_of(stored.provenance)).clone(),
            revision: status.outputs.as_ref().map(revision),
            behind: BTreeSet::new(),
            reads: sources
                .map(|(source, _)| (key(*source), self.wait_for(who)))
                .collect(),
            objects: BTreeSet::new(),
            account: ACCOUNT.to_owned(),
            status,
        })
    }

    /// Returns all Runnables: these as they were read, the others as they are cached.
    pub(super) fn known(&self, cache: &[Stored], read: &[(Who, Stored)]) -> KnownRunnables {
        let cached = cache.iter().enumerate();
        let mut known: KnownRunnables = cached
            .map(|(who, stored)| (key(who), self.seen(who, stored).into()))
            .collect();
        known.extend(
            read.iter()
                .map(|(who, stored)| (key(*who), self.seen(*who, stored).into())),
        );
        self.setup.mutant.bend_known(known, read)
    }

    /// Returns the sources of a Runnable, with the values that it reads from them.
    pub(super) fn sources(
        &self,
        who: Who,
        own: &Stored,
        known: &KnownRunnables,
    ) -> Vec<(Source, Option<u8>)> {
        let reads = self.reads(who, own).iter();
        reads
            .map(|(source, output)| {
                let key = key(*source);
                let seen = known.get(&key);
                let outputs = seen.and_then(|seen| seen.status.outputs.as_ref());
                let value = outputs.and_then(|outputs| outputs.get(*output)?.as_u64());
                let value = value.and_then(|value| u8::try_from(value).ok());
                let source = self.setup.mutant.bend_source(Source {
                    wait_for: self.wait_for(who),
                    value: value.map_or(Value::Missing, |_| Value::Given),
                    revision: seen.and_then(|seen| seen.revision.clone()),
                    key,
                });
                (source, value)
            })
            .collect()
    }

    /// Returns the rendering of a Runnable's template, or `None` while a value is missing.
    pub(super) fn document(
        &self,
        who: Who,
        own: &Stored,
        sources: &[(Source, Option<u8>)],
    ) -> Option<Document> {
        let mut document = Document::default();
        if who == A {
            document.own = self.setup.inputs[usize::from(own.input)];
        }
        for (place, (source, value)) in document.read.iter_mut().zip(sources) {
            *place = match source.value {
                Value::Given => value.unwrap_or(EMPTY),
                _ => return None,
            };
        }
        // Distinguishes a source that gives 0 from no source at all.
        if who == A && own.looped {
            document.read[1] = 1;
        }
        Some(document)
    }

    /// Returns true if a rendering from just this provenance is the document, as far as it bears on a
    /// document of this Runnable. Untraced sources prove nothing.
    pub(super) fn is_made_from(&self, who: Who, document: Document, sources: &Sources) -> bool {
        let [one, other] = document.read;
        let root = sources.get(&key(A)).and_then(|named| {
            let all = 0..3u8;
            let of = |own: u8| Document {
                own,
                ..Document::default()
            };
            all.into_iter()
                .find(|own| revision(&outputs(A, of(*own))) == *named)
        });
        let by_root = root.is_none_or(|root| {
            let coarse = COARSE[usize::from(root)];
            match (who, self.setup.shape) {
                (A, _) => true,
                (B, _) | (_, Shape::Line) => one == coarse,
                (C, _) => one == root,
                _ => (one, other) == (coarse, root),
            }
        });
        let is_of = |source: Who, value: u8| {
            let given = Document {
                read: [value, 0],
                ..Document::default()
            };
            let given = revision(&outputs(source, given));
            sources
                .get(&key(source))
                .is_none_or(|named| *named == given)
        };
        let by_branches = match (who, self.setup.shape) {
            (C, Shape::Line) => is_of(B, one),
            (D, Shape::Line) => is_of(C, one),
            (D, _) => is_of(B, one) && is_of(C, other),
            _ => true,
        };
        by_root && by_branches
    }
}
