//! Reads of a pass before it continues: renderings, lists, names, the writer of the ledger.

use cartouche_protocol::{facts::LedgerWriter, ledger::RunIdentity};
use k8s_openapi::jiff::SignedDuration;

use crate::{
    cast::{NOW, owner_uid},
    model::Checked,
    mutant::Mutant,
    pool::NameId,
    process::{noted, noted_at},
    worker::give_up,
    world::{Knowledge, Make, Worker, World},
};

impl Checked {
    /// Reads the template, after the Runnable.
    pub(crate) fn render_again(&self, world: &mut World, index: usize) {
        let newest = world.runnable.input;
        let Some(pass) = &mut world.workers[index].pass else {
            return;
        };
        pass.knowledge.consistent = true;
        if self.setup.by_template && self.setup.mutant != Mutant::StaleTemplate {
            pass.knowledge.input = newest;
        }
        self.look_around(world, index);
    }

    /// Lists the runs that the Runnable controls.
    pub(crate) fn list(&self, world: &mut World, index: usize, every_kind: bool) {
        let shown: Vec<_> = world.shown().collect();
        let Some(pass) = &mut world.workers[index].pass else {
            return;
        };
        let (knowledge, cast) = (&mut pass.knowledge, &self.decisions.cast);
        let kind = cast.kind(self.setup.document(knowledge.input));
        let of_kind = |make: &Make| every_kind || cast.kind(make.document) == kind;
        let owner = knowledge.owner;
        let own = shown.into_iter();
        let own = own.filter(|shown| shown.make.owner == owner && of_kind(&shown.make));
        knowledge.listed = Some(own.collect());
        knowledge.listed_every_kind = every_kind;
    }

    /// Reads the last writer of `currentRun`.
    pub(crate) fn read_ledger_writer(&self, world: &mut World, index: usize) {
        let World {
            runnable,
            workers,
            same_second,
            ..
        } = world;
        let Worker { memory, pass, .. } = &mut workers[index];
        let Some(pass) = pass else { return };
        // The worker waits for a later write by others.
        if pass.version != runnable.version {
            give_up(world, index);
            return;
        }
        if runnable.marked {
            pass.knowledge.ledger_writer = Some(LedgerWriter::Another);
            return;
        }
        pass.knowledge.ledger_writer = Some(LedgerWriter::Ours);
        let age = if *same_second && self.setup.mutant != Mutant::NotedAtOnce {
            SignedDuration::ZERO
        } else {
            SignedDuration::from_mins(1)
        };
        let knowledge = &mut pass.knowledge;
        let ahead = self.ahead(knowledge);
        self.decisions.remember(self.setup.mutant, memory, |state| {
            state.looked_up(&noted(runnable), Some(noted_at(runnable.writers) + age));
            state.note_unknown_runs(ahead, Some(NOW));
        });
        knowledge.unknown_runs = memory.unknown_runs.iter().map(|it| it.run).collect();
    }

    /// Returns the runs in the watch that claim to be ahead of the ledger.
    fn ahead(&self, knowledge: &Knowledge) -> Vec<RunIdentity> {
        let ledger = self.decisions.ledger(knowledge.stored);
        let owner = owner_uid(knowledge.owner);
        let shown = knowledge.cached_runs.iter().map(|(shown, _)| shown);
        shown
            .filter_map(|shown| self.decisions.identity(shown))
            .filter(|run| ledger.is_behind(run, &owner))
            .collect()
    }

    /// Asks the server for its form of the document, beside the run of this name.
    pub(crate) fn ask(&self, world: &mut World, index: usize, name: NameId) {
        let live = world.holder(name);
        let Some(pass) = &mut world.workers[index].pass else {
            return;
        };
        let document = self.setup.document(pass.knowledge.input);
        let agrees = live.is_some_and(|live| live.make.document == document);
        pass.knowledge.server_agrees = Some(agrees);
    }
}

/// Reads one name.
pub(crate) fn read(world: &mut World, index: usize, name: NameId) {
    let holder = world.holder(name);
    let Worker { pass, seen, .. } = &mut world.workers[index];
    let Some(pass) = pass else { return };
    let knowledge = &mut pass.knowledge;
    if let Some(shown) = holder {
        // A cached run that is newer than the pass stays as it is.
        let seen = &mut seen[usize::from(shown.uid)];
        let mut known = knowledge.cached_runs.iter();
        let before = known
            .find(|(known, deleted)| known.uid == shown.uid && !deleted)
            .map(|(known, _)| (known.result, false));
        if before.is_some() && seen.cached_run == before {
            seen.cached_run = Some((shown.result, false));
        }
    }
    let at = knowledge.reads.partition_point(|(known, _)| *known < name);
    knowledge.reads.insert(at, (name, holder));
}
