//! Sinks: the objects that outputs are written to. Decides which of them may be written, and with
//! what. Pure.
//!
//! Outputs of a run are recorded once its sinks hold them, so that readers of the status find them
//! there. A sink that cannot be written holds back no record: it is marked as behind in the status,
//! and is written later. No sink makes a run, or holds one back.

mod content;
mod object;
mod problem;

use std::collections::{BTreeMap, BTreeSet};

use cartouche_crds::{
    OutputSink, OutputsFrom, RunnableStatus, SensitiveOutput, SinkKind, SinkStatus, UnknownFields,
    conditions::{RUN_TEMPLATE_READY, STALLED, find},
};

use crate::{
    category::Category,
    ledger::Ledger,
    messages::reconcile_error::{ReconcileError, Requeue},
    references::{SourceKind, SourceObject},
    trace::SourceKey,
};
pub use content::{RunOutputs, SinkContent, faults, key_of, list_outputs, sensitive_in};
pub use object::{FoundSink, build_object, build_replacement};
pub use problem::{SinkProblem, error, unplaced};

/// Hexadecimal digits of the revision of a sensitive value: enough to compare two values, and too
/// few to find one.
const REVISION: usize = 16;

/// Maximum number of sinks in the status. Only many changes of the Runnable can leave more, if none
/// could be deleted.
const MOST_KNOWN: usize = 16;

/// The sinks in the status, with their error.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sinks {
    /// The objects that outputs were written to.
    pub written: Vec<SinkStatus>,
    /// The places of the values of sensitive outputs.
    pub sensitive: BTreeMap<String, SensitiveOutput>,
    /// The error of the sinks, if there is one.
    pub error: Option<ReconcileError>,
}

impl Sinks {
    /// Returns the last reported state. It stays until the sinks are looked at again.
    #[must_use]
    pub fn from_status(stored: &RunnableStatus) -> Self {
        let failed = Category::OutputSinkFailed.as_str();
        let condition =
            find(stored, RUN_TEMPLATE_READY).filter(|condition| condition.reason == failed);
        let is_stalled = find(stored, STALLED).is_some_and(|condition| condition.reason == failed);
        let requeue = if is_stalled {
            Requeue::OnChange
        } else {
            Requeue::Backoff
        };
        let error = |message| ReconcileError::new(Category::OutputSinkFailed, requeue, message);
        Self {
            written: stored.sinks.clone(),
            sensitive: stored.sensitive_outputs.clone(),
            error: condition.map(|condition| error(condition.message.clone())),
        }
    }

    /// Returns the last write to this object, or `None` if there was none.
    #[must_use]
    pub fn written_to(&self, object: &SourceObject) -> Option<&SinkStatus> {
        self.written
            .iter()
            .find(|it| identify_written(it) == *object)
    }

    /// Returns true if the outputs of this run were written to this object, whatever has kept it
    /// since from being looked at or corrected.
    #[must_use]
    pub fn has_those_of(&self, object: &SourceObject, from: &OutputsFrom) -> bool {
        let written = self.written_to(object);
        written.is_some_and(|it| it.sequence == from.sequence)
    }

    /// Returns true if this object is to be written for these outputs: they are new to it, or it
    /// could not be written or looked at since.
    #[must_use]
    pub fn is_due(&self, object: &SourceObject, from: &OutputsFrom) -> bool {
        let written = self.written_to(object);
        written.is_none_or(|it| it.behind || it.sequence != from.sequence)
    }

    /// Notes that these are going to be written. No sink is made before the status has that note:
    /// an unrecorded one would never be deleted.
    pub fn announce(&mut self, wanted: &[OutputSink]) {
        for object in wanted.iter().map(identify) {
            if self.written_to(&object).is_none() {
                self.note(&object, 0, true);
            }
        }
    }

    /// Returns true if nothing was ever written to this object.
    #[must_use]
    pub fn is_unwritten(&self, object: &SourceObject) -> bool {
        self.written_to(object).is_none_or(|it| it.sequence == 0)
    }

    /// Returns the objects that were written, and that the Runnable does not name any more.
    #[must_use]
    pub fn find_unwanted(&self, wanted: &[OutputSink]) -> Vec<SinkStatus> {
        let is_wanted = |it: &&SinkStatus| {
            !wanted
                .iter()
                .any(|sink| identify(sink) == identify_written(it))
        };
        self.written.iter().filter(is_wanted).cloned().collect()
    }

    /// Notes the state of one object.
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
        // A fixed order, so that a look changes nothing.
        self.written
            .sort_by(|a, b| (a.kind, &a.name).cmp(&(b.kind, &b.name)));
    }

    /// Removes this object.
    pub fn forget(&mut self, object: &SourceObject) {
        self.written.retain(|it| identify_written(it) != *object);
    }
}

/// Returns true if a sensitive output is of the same run as the others: a Secret that could not be
/// written yet has that of an earlier run.
#[must_use]
pub fn is_written(status: &RunnableStatus, of: &SensitiveOutput) -> bool {
    let from = status.outputs_from.as_ref().map(|from| from.sequence);
    let mut sinks = status.sinks.iter();
    sinks.any(|sink| {
        sink.kind == SinkKind::Secret && sink.name == of.name && Some(sink.sequence) == from
    })
}

/// Returns the object of a sink.
#[must_use]
pub fn identify(sink: &OutputSink) -> SourceObject {
    SourceObject::in_own_namespace(source_kind(sink.kind), &sink.name)
}

/// Returns the whole objects that outputs of a Runnable in this namespace are written to.
#[must_use]
pub fn written_by(namespace: &str, wanted: &[OutputSink]) -> BTreeSet<SourceKey> {
    let objects = wanted.iter().map(identify);
    objects.filter_map(|it| it.as_sink(namespace)).collect()
}

/// Returns those of these objects that hold outputs of the Runnable, by its status. A spec alone is
/// a claim: it may name another's object.
#[must_use]
pub fn held_by(
    namespace: &str,
    wanted: &[OutputSink],
    written: &[SinkStatus],
) -> BTreeSet<SourceKey> {
    let is_held = |object: &SourceObject| {
        let mut written = written.iter();
        written.any(|it| it.sequence > 0 && !it.behind && identify_written(it) == *object)
    };
    let objects = wanted.iter().map(identify).filter(is_held);
    objects.filter_map(|it| it.as_sink(namespace)).collect()
}

/// Returns the object that was written.
#[must_use]
pub fn identify_written(written: &SinkStatus) -> SourceObject {
    SourceObject::in_own_namespace(source_kind(written.kind), &written.name)
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

/// Returns the revision of a sensitive value, which the status shows in its place.
#[must_use]
pub fn revision(uid: &str, key: &str, value: &[u8]) -> String {
    let mut mark = cartouche_templating::secret_mark(uid, key, value);
    mark.truncate(REVISION);
    mark
}

/// The owner of the object with a sink's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SinkOwner {
    /// There is no such object.
    Absent,
    /// A sink of this Runnable, with the outputs of the run of this number; 0 if it has no number.
    Ours(i64),
    /// Another's object, or a run.
    Another,
}

/// The content to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Wanted {
    /// The number of the run that gave the outputs.
    pub sequence: i64,
    /// The highest number that the ledger has given. It was read consistently after the sink, or is
    /// so before the sink is written.
    pub known: i64,
    /// True if the sink has all of it, and nothing else.
    pub is_held: bool,
    /// True if a sink has been ahead for so long that no controller is about to record the run
    /// whose number it has, and that run has given no outputs.
    pub is_waited_out: bool,
}

impl Wanted {
    /// Returns the content that a ledger writes to a sink.
    #[must_use]
    pub fn new(ledger: &Ledger, from: &OutputsFrom, is_held: bool) -> Self {
        Self {
            sequence: from.sequence,
            known: ledger.next_sequence().saturating_sub(1),
            is_held,
            is_waited_out: false,
        }
    }
}

/// The decision about a sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SinkVerdict {
    /// Create it.
    Create,
    /// Replace it, on the condition that it is as it was read.
    Replace,
    /// Replace it in the same way, although it has the number of a run that the ledger has never
    /// given, or that has given nothing: the ledger was put back, or another client has changed the
    /// sink.
    Overwrite(i64),
    /// Leave it: it is up to date.
    Leave,
    /// Leave it: it has the outputs of a newer run that the ledger knows and that a controller is
    /// about to record. It does not go back.
    Newer(i64),
    /// Leave it: it is not ours.
    NotOurs,
}

/// Decides if a sink may be written. The writer has read the ledger consistently after the sink,
/// and found it as it knows it. It writes on the condition that the sink is as it was read.
#[must_use]
pub fn may_write(holder: SinkOwner, wanted: Wanted) -> SinkVerdict {
    match holder {
        SinkOwner::Absent => SinkVerdict::Create,
        SinkOwner::Another => SinkVerdict::NotOurs,
        SinkOwner::Ours(has) if has > wanted.known => SinkVerdict::Overwrite(has),
        SinkOwner::Ours(has) if has > wanted.sequence && wanted.is_waited_out => {
            SinkVerdict::Overwrite(has)
        }
        SinkOwner::Ours(has) if has > wanted.sequence => SinkVerdict::Newer(has),
        SinkOwner::Ours(has) if has == wanted.sequence && wanted.is_held => SinkVerdict::Leave,
        SinkOwner::Ours(_) => SinkVerdict::Replace,
    }
}

#[cfg(test)]
mod tests;
