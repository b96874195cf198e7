//! Objects that outputs are written to: which of them may be written, and with what. Pure.
//!
//! Outputs of a run are recorded where its sinks hold them, so that whoever follows the status finds them there. A sink that
//! cannot be written keeps nothing else from being recorded: it is behind then, which the status says, and is written
//! later. No sink makes a run, or holds one back.

mod content;
mod object;
mod problem;

use std::collections::{BTreeMap, BTreeSet};

use cartouche_crds::{
    OutputSink, OutputsFrom, RunnableStatus, SensitiveOutput, SinkKind, SinkStatus, UnknownFields,
};

use crate::{
    category::Category,
    conditions::{RUN_TEMPLATE_READY, STALLED, find},
    ledger::Ledger,
    reconcile_error::{ReconcileError, Requeue},
    references::{SourceKind, SourceObject},
    trace::SourceKey,
};
pub use content::{Content, Given, declared, faults, key_of, sensitive_in};
pub use object::{FoundSink, created, replaced};
pub use problem::{SinkProblem, error, unplaced};

/// Hexadecimal digits of what stands for a sensitive value: enough to tell two values, and no way to find one.
const REVISION: usize = 16;

/// Sinks that are told of at most. More are left of many changes of the Runnable only if none could be deleted.
const MOST_KNOWN: usize = 16;

/// What the status says of sinks, and what is wrong with them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sinks {
    /// The objects that outputs were written to.
    pub written: Vec<SinkStatus>,
    /// Where the values of sensitive outputs are.
    pub sensitive: BTreeMap<String, SensitiveOutput>,
    /// Why not all of them are as they should be.
    pub error: Option<ReconcileError>,
}

impl Sinks {
    /// What the status said last. It stands until they are looked at again.
    #[must_use]
    pub fn of(stored: &RunnableStatus) -> Self {
        let failed = Category::OutputSinkFailed.as_str();
        let told = find(stored, RUN_TEMPLATE_READY).filter(|told| told.reason == failed);
        let is_stalled = find(stored, STALLED).is_some_and(|told| told.reason == failed);
        let requeue = if is_stalled {
            Requeue::OnChange
        } else {
            Requeue::Backoff
        };
        let error = |message| ReconcileError::new(Category::OutputSinkFailed, requeue, message);
        Self {
            written: stored.sinks.clone(),
            sensitive: stored.sensitive_outputs.clone(),
            error: told.map(|told| error(told.message.clone())),
        }
    }

    /// What was last written to this object.
    #[must_use]
    pub fn written_to(&self, object: &SourceObject) -> Option<&SinkStatus> {
        self.written.iter().find(|it| of_status(it) == *object)
    }

    /// Whether the outputs of this run were written to this object, whatever has kept it since from being looked at or put right.
    #[must_use]
    pub fn has_those_of(&self, object: &SourceObject, from: &OutputsFrom) -> bool {
        let written = self.written_to(object);
        written.is_some_and(|it| it.sequence == from.sequence)
    }

    /// Whether this object is to be written for these outputs: they are new to it, or it could not be written or looked at since.
    #[must_use]
    pub fn is_due(&self, object: &SourceObject, from: &OutputsFrom) -> bool {
        let written = self.written_to(object);
        written.is_none_or(|it| it.behind || it.sequence != from.sequence)
    }

    /// Takes down that these are going to be written. None is made before that is in the status: what is made and recorded
    /// nowhere would never be deleted.
    pub fn announce(&mut self, wanted: &[OutputSink]) {
        for object in wanted.iter().map(of) {
            if self.written_to(&object).is_none() {
                self.note(&object, 0, true);
            }
        }
    }

    /// Whether nothing was ever written to this object.
    #[must_use]
    pub fn is_unwritten(&self, object: &SourceObject) -> bool {
        self.written_to(object).is_none_or(|it| it.sequence == 0)
    }

    /// Objects that were written, and that the Runnable does not name any more.
    #[must_use]
    pub fn dropped(&self, wanted: &[OutputSink]) -> Vec<SinkStatus> {
        let is_wanted = |it: &&SinkStatus| !wanted.iter().any(|sink| of(sink) == of_status(it));
        self.written.iter().filter(is_wanted).cloned().collect()
    }

    /// Takes down what is known of one object.
    pub fn note(&mut self, object: &SourceObject, sequence: i64, behind: bool) {
        self.forget(object);
        self.written.push(SinkStatus {
            kind: kind_of(object.kind),
            name: object.name.clone(),
            sequence,
            behind,
            unknown_fields: UnknownFields::default(),
        });
        if self.written.len() > MOST_KNOWN {
            self.written.remove(0);
        }
        // In an order that says nothing, so that a look changes nothing.
        self.written
            .sort_by(|a, b| (a.kind, &a.name).cmp(&(b.kind, &b.name)));
    }

    /// This object is none of the Runnable's.
    pub fn forget(&mut self, object: &SourceObject) {
        self.written.retain(|it| of_status(it) != *object);
    }
}

/// Whether a sensitive output is of the run that the others are of: a Secret that could not be written yet has that of an earlier one.
#[must_use]
pub fn is_written(status: &RunnableStatus, of: &SensitiveOutput) -> bool {
    let from = status.outputs_from.as_ref().map(|from| from.sequence);
    let mut sinks = status.sinks.iter();
    sinks.any(|sink| {
        sink.kind == SinkKind::Secret && sink.name == of.name && Some(sink.sequence) == from
    })
}

/// The object that a sink is.
#[must_use]
pub fn of(sink: &OutputSink) -> SourceObject {
    SourceObject::known(source_kind(sink.kind), &sink.name)
}

/// The objects that outputs of a Runnable in this namespace are written to, each as a whole.
#[must_use]
pub fn written_by(namespace: &str, wanted: &[OutputSink]) -> BTreeSet<SourceKey> {
    let objects = wanted.iter().map(of);
    objects.filter_map(|it| it.as_sink(namespace)).collect()
}

/// Those of these objects that hold outputs of the Runnable, by its status. A spec alone is a claim: it may name an object that is
/// another's.
#[must_use]
pub fn held_by(
    namespace: &str,
    wanted: &[OutputSink],
    written: &[SinkStatus],
) -> BTreeSet<SourceKey> {
    let is_held = |object: &SourceObject| {
        let mut written = written.iter();
        written.any(|it| it.sequence > 0 && !it.behind && of_status(it) == *object)
    };
    let objects = wanted.iter().map(of).filter(is_held);
    objects.filter_map(|it| it.as_sink(namespace)).collect()
}

/// The object that was written.
#[must_use]
pub fn of_status(written: &SinkStatus) -> SourceObject {
    SourceObject::known(source_kind(written.kind), &written.name)
}

fn source_kind(kind: SinkKind) -> SourceKind {
    match kind {
        SinkKind::Secret => SourceKind::Secret,
        SinkKind::ConfigMap => SourceKind::ConfigMap,
    }
}

fn kind_of(kind: SourceKind) -> SinkKind {
    match kind {
        SourceKind::Secret => SinkKind::Secret,
        _ => SinkKind::ConfigMap,
    }
}

/// What stands for a sensitive value in the status.
#[must_use]
pub fn revision(uid: &str, key: &str, value: &[u8]) -> String {
    let mut mark = cartouche_templating::secret_mark(uid, key, value);
    mark.truncate(REVISION);
    mark
}

/// Who has the name of a sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Holder {
    /// Nobody.
    Nobody,
    /// A sink of this very Runnable, with the outputs of the run of this number; 0 where it does not say.
    Ours(i64),
    /// Somebody else's object, or a run.
    Another,
}

/// What is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Wanted {
    /// The number of the run that the outputs are of.
    pub sequence: i64,
    /// The highest number that the ledger has given, which was read consistently after the sink, or is read so before it is
    /// written.
    pub known: i64,
    /// Whether the sink has all of it, and nothing else.
    pub is_held: bool,
    /// Whether a sink that is ahead has been that for so long that nobody is about to record the run whose number it has, and that run has
    /// given no outputs.
    pub is_waited_out: bool,
}

impl Wanted {
    /// What a ledger has written to a sink.
    #[must_use]
    pub fn of(ledger: &Ledger, from: &OutputsFrom, is_held: bool) -> Self {
        Self {
            sequence: from.sequence,
            known: ledger.next_sequence().saturating_sub(1),
            is_held,
            is_waited_out: false,
        }
    }
}

/// What becomes of a sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It is made.
    Create,
    /// It is replaced, on the condition that it is as it was read.
    Replace,
    /// The same of one that has the number of a run which the ledger has never given, or which has given nothing: the ledger was put
    /// back, or somebody has changed the sink.
    Overwrite(i64),
    /// It is as it should be.
    Leave,
    /// It has the outputs of a run that is newer, and that the ledger knows: somebody is about to record them. It does not go
    /// back.
    Newer(i64),
    /// It is not touched.
    NotOurs,
}

/// Whether a sink may be written. Whoever writes it has read the ledger consistently after the sink, and found it as he knows it;
/// and writes on the condition that the sink is as it was read.
#[must_use]
pub fn may_write(holder: Holder, wanted: Wanted) -> Verdict {
    match holder {
        Holder::Nobody => Verdict::Create,
        Holder::Another => Verdict::NotOurs,
        Holder::Ours(has) if has > wanted.known => Verdict::Overwrite(has),
        Holder::Ours(has) if has > wanted.sequence && wanted.is_waited_out => {
            Verdict::Overwrite(has)
        }
        Holder::Ours(has) if has > wanted.sequence => Verdict::Newer(has),
        Holder::Ours(has) if has == wanted.sequence && wanted.is_held => Verdict::Leave,
        Holder::Ours(_) => Verdict::Replace,
    }
}

#[cfg(test)]
mod tests;
