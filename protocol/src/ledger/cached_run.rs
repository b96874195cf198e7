//! Runs as watches and polls have shown them.

use std::{collections::BTreeMap, sync::Arc};

use cartouche_engines::{Health, PodsTell, kinds::Standing};
use serde_json::Value;

use super::{Asked, FetchedRun, Ledger, OutputsRead, RunIdentity, result_of};

/// Run that a watch (or a poll) showed, with what a read of it would say. It was seen with the controller's
/// permissions, so it only triggers reads; its messages are not repeated anywhere.
#[derive(Clone, Debug)]
pub struct CachedRun {
    /// Identity that the object claims.
    pub run: RunIdentity,
    /// True if it was seen to be deleted; this is its last state.
    pub deleted: bool,
    /// Health by the rules in `rules_hash`.
    pub health: Health,
    /// Facts that its pods can give and it does not.
    pub pods_tell: PodsTell,
    /// Sign on the object that it was asked to stop.
    pub asked: Asked,
    /// Standing between its creation and its end.
    pub standing: Standing,
    /// Digest of its outputs.
    pub outputs: OutputsDigest,
    /// Hash of the rules; empty if the run was judged by its kind, because its template was not at hand.
    pub rules_hash: Arc<str>,
    /// `resourceVersion` that it was seen in: a read for its sake need not be of a later one.
    pub version: Option<u64>,
}

/// Compares what two of them say, whatever their versions, and whether or not pods run, which is checked from time
/// to time. The time since which a run works does not count either, once no queue holds it.
impl PartialEq for CachedRun {
    fn eq(&self, other: &Self) -> bool {
        let Self {
            run,
            deleted,
            health,
            pods_tell,
            asked,
            standing,
            outputs,
            rules_hash,
            version: _,
        } = self;
        *run == other.run
            && *deleted == other.deleted
            && *health == other.health
            && of_failure(*pods_tell) == of_failure(other.pods_tell)
            && *asked == other.asked
            && standing.is_queued() == other.standing.is_queued()
            && *outputs == other.outputs
            && *rules_hash == other.rules_hash
    }
}

/// Returns the news of a failure that pods can give, which is worth an immediate look.
fn of_failure(tell: PodsTell) -> Option<PodsTell> {
    let is_one = matches!(tell, PodsTell::WhyItFailed | PodsTell::WhyPodsFail { .. });
    is_one.then_some(tell)
}

/// Outputs in a form that can only be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputsDigest {
    /// No outputs: the run has not succeeded, or its template declares none.
    None,
    /// Digest of all outputs.
    Values(u64),
    /// The outputs could not be taken.
    Unsatisfied,
    /// The outputs are not in the run itself; once read, they do not change.
    Elsewhere,
}

impl OutputsDigest {
    /// Returns the digest of the outputs that were read.
    #[must_use]
    pub fn from_read(read: &OutputsRead) -> Self {
        match read {
            OutputsRead::None => Self::None,
            OutputsRead::Values(values) => Self::Values(digest(values)),
            OutputsRead::Unsatisfied { .. } => Self::Unsatisfied,
            OutputsRead::Elsewhere => Self::Elsewhere,
        }
    }
}

/// Returns a digest of outputs. It never leaves the process.
#[must_use]
pub fn digest(values: &BTreeMap<String, Value>) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    for (name, value) in values {
        name.hash(&mut hasher);
        value.to_string().hash(&mut hasher);
    }
    hasher.finish()
}

impl CachedRun {
    /// Builds the cached run of a fetched one.
    #[must_use]
    pub fn from_fetched(fetched: &FetchedRun) -> Self {
        Self {
            run: fetched.run.clone(),
            deleted: false,
            health: fetched.health.clone(),
            pods_tell: fetched.pods_tell,
            asked: fetched.asked,
            standing: fetched.standing,
            outputs: OutputsDigest::from_read(&fetched.outputs),
            rules_hash: fetched.rules_hash.clone(),
            version: None,
        }
    }

    /// Returns true if it has ended.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        result_of(self.health.verdict).is_some()
    }
}

/// Returns what is left of cached runs when the runs of their kind cannot be listed and their state is unknown.
/// `of_kind` returns true for a run of that kind. Finished runs keep their end, and are read again. An unfinished
/// run was only known to exist: it is read by its name like one that was never seen, so that its end is noticed if
/// it is gone.
#[must_use]
pub fn keep_certain(
    known: Vec<CachedRun>,
    ledger: &Ledger,
    of_kind: impl Fn(&RunIdentity) -> bool,
) -> Vec<CachedRun> {
    let doubt = |mut seen: CachedRun| {
        if seen.deleted || !of_kind(&seen.run) {
            return Some(seen);
        }
        if !seen.is_finished() && ledger.knows(&seen.run.uid) {
            return None;
        }
        seen.rules_hash = "".into();
        Some(seen)
    };
    known.into_iter().filter_map(doubt).collect()
}

#[cfg(test)]
mod tests {
    use cartouche_crds::RunResult;

    use super::keep_certain;
    use crate::{
        decide::{Step, decide, tests::scene::*},
        facts::Facts,
        ledger::{CachedRun, Change, RunIdentity, tests::sample::*},
    };

    fn of_kind(run: &RunIdentity) -> bool {
        (run.api_version.as_str(), run.kind.as_str()) == (API_VERSION, KIND)
    }

    /// A run to be followed, after a failed list.
    fn unlisted(seen: CachedRun) -> Facts {
        let mut facts = with(created(2, "A"), "A").fresh();
        facts.cached_runs = keep_certain(vec![seen], &facts.ledger, of_kind);
        facts
    }

    /// The recorded result of a run that went while lists failed, given what was seen of it before.
    fn recorded(before: CachedRun) -> Option<RunResult> {
        let facts = unlisted(before);
        assert_eq!(decide(&facts), Step::ReadRun(run_name(&name(2))));
        let gone = facts.reading_absent(&name(2));
        written(&gone, Change::Record).current.unwrap().result
    }

    #[test]
    fn an_unfinished_run_that_went_while_nobody_could_list_is_noticed() {
        let before = seen(&running(run(2, "A")));
        assert_eq!(recorded(before), Some(RunResult::Lost));
    }

    #[test]
    fn how_a_run_ended_is_remembered_while_nobody_can_list() {
        let before = seen(&failed(run(2, "A")));
        assert_eq!(recorded(before), Some(RunResult::Failed));
    }

    #[test]
    fn what_another_watch_shows_and_what_no_ledger_knows_is_not_doubted() {
        let facts = with(created(2, "A"), "A");
        let mut elsewhere = seen(&running(run(2, "A")));
        elsewhere.run.kind = "Job".to_owned();
        let mut unknown = seen(&running(other(run(2, "A"))));
        let known = vec![elsewhere.clone(), unknown.clone()];
        unknown.rules_hash = "".into();
        let left = keep_certain(known, &facts.ledger, of_kind);
        assert_eq!(left, [elsewhere, unknown]);
    }
}
