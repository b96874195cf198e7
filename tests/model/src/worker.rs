//! A worker: the loop of `controller/src/reconcile.rs`, split at every request and every look at a cache.

use std::time::Duration;

use cartouche_protocol::{
    facts::{LedgerWriter, Remembered},
    ledger::{Change, RunName},
    process_state::StoredStatus,
};

use crate::{
    cast::{run_of, token},
    configuration::Release,
    decisions::{End, Move},
    judge,
    model::Checked,
    mutant::Mutant,
    pool::StatusId,
    process::{CLOCK, Memory, noted},
    reads::read,
    world::{Cached, Knowledge, Make, Outcome, Pass, Request, Shown, Stage, Worker, World},
};

impl Checked {
    /// Takes over the Runnable as it is stored.
    pub(crate) fn observe(&self, world: &mut World, worker: usize) {
        let (shown, worker) = (world.runnable, &mut world.workers[worker]);
        if worker.cache == Some(shown) {
            return;
        }
        worker.cache = Some(shown);
        let version = shown.version.to_string();
        let echo = worker.memory.owner == shown.owner
            && self
                .decisions
                .remember(self.setup.mutant, &mut worker.memory, |state| {
                    state.consume_echo(&version)
                });
        worker.woken |= !echo;
    }

    /// Begins or continues a pass, up to and with its next request.
    pub(crate) fn act(&self, world: &mut World, worker: usize) {
        if world.workers[worker].pass.is_none() && !self.begin(world, worker) {
            return;
        }
        let mut requests = 0;
        while world.workers[worker].pass.is_some() {
            self.note_what_is_due(&mut world.workers[worker]);
            let Some(pass) = &world.workers[worker].pass else {
                break;
            };
            let next = match &pass.stage {
                Stage::Creating => return,
                Stage::Retiring(runs) if runs.is_empty() => {
                    self.tidy(world, worker);
                    world.workers[worker].pass = None;
                    return;
                }
                Stage::Retiring(_) => None,
                Stage::Deciding => Some(self.decisions.next(&self.setup, &pass.knowledge)),
            };
            let free = match next.as_deref() {
                Some(Move::Rest | Move::AwaitWord | Move::LookAfter(_)) => true,
                Some(Move::End(end)) => end.tell.is_none(),
                Some(Move::Write(..) | Move::Create(_) | Move::Stop(_)) | None => false,
                Some(_) => self.setup.coarse,
            };
            if !free && requests > 0 {
                return;
            }
            requests += usize::from(!free);
            match next {
                None => self.retire_one(world, worker),
                Some(next) => self.carry_out(world, worker, &next),
            }
        }
    }

    /// Records whether the pending change has stayed the same.
    fn note_what_is_due(&self, worker: &mut Worker) {
        let Some(pass) = worker.pass.as_mut().filter(|_| self.setup.debounce) else {
            return;
        };
        let knowledge = &mut pass.knowledge;
        let (document, asked) = (
            self.setup.document(knowledge.input),
            self.setup.token(knowledge.spec),
        );
        let document_known = self.decisions.cast.document(document);
        let hashes = document_known.by(knowledge.release).hashes();
        let ledger = self.decisions.ledger(knowledge.stored);
        let is_due = ledger.may_intend(ledger.due(hashes, token(asked).as_deref()));
        let due = (document, asked);
        let known = worker.memory.due.filter(|it| (it.0, it.1) == due);
        worker.memory.due = is_due.then(|| known.unwrap_or((document, asked, false)));
        knowledge.settled = worker.memory.due.is_some_and(|it| it.2);
    }

    /// Begins a pass. Returns false when the cache is older than the worker's own last write.
    fn begin(&self, world: &mut World, index: usize) -> bool {
        if self.setup.prompt_watch {
            self.hear(world, index);
        }
        let worker = &mut world.workers[index];
        let Some(cached) = worker.cache else {
            return false;
        };
        worker.woken = false;
        if worker.memory.owner != cached.owner {
            worker.memory = Memory {
                owner: cached.owner,
                kinds: worker.memory.kinds,
                ..Memory::default()
            };
        }
        let (mutant, version) = (self.setup.mutant, cached.version.to_string());
        let stored = self.decisions.pool.stored(cached.status);
        let begun = self
            .decisions
            .remember(mutant, &mut worker.memory, |state| {
                let stored = StoredStatus {
                    status: &stored,
                    resource_version: &version,
                    managed_fields: &noted(&cached),
                };
                let stored = mutant.bend_stored(state, stored);
                (!state.detect_stale_cache(Some(&version))).then(|| state.begin(stored, CLOCK))
            });
        let Some(begun) = begun else {
            return false;
        };
        let release = worker.release;
        let input = if self.setup.by_template {
            worker.template
        } else {
            cached.input
        };
        worker.pass = Some(Pass {
            version: cached.version,
            knowledge: Knowledge {
                release,
                overdue: world.overdue,
                told: worker.memory.told.clone(),
                ..known_at_first(&cached, input, &begun, worker.memory.unconfirmed)
            },
            stage: Stage::Deciding,
            prompt: true,
            has_written: false,
        });
        self.look_around(world, index);
        true
    }

    fn carry_out(&self, world: &mut World, index: usize, next: &Move) {
        match next {
            Move::RenderAgain => self.render_again(world, index),
            Move::List { every_kind } => self.list(world, index, *every_kind),
            Move::Read(name) => read(world, index, *name),
            Move::ReadLedgerWriter => self.read_ledger_writer(world, index),
            Move::Ask(name) => self.ask(world, index, *name),
            Move::Create(make) => Self::create(world, index, *make),
            Move::Stop(run) => self.stop(world, index, *run),
            Move::Write(status, change) => self.write(world, index, *status, *change),
            Move::End(end) => self.end(world, index, end),
            Move::Rest => give_up(world, index),
            Move::AwaitWord => self.await_word(world, index),
            Move::Probe => learn(world, index, |knowledge| knowledge.probed = true),
            Move::LookAfter(problem) => {
                learn(world, index, |knowledge| knowledge.stuck = Some(*problem));
            }
        }
    }

    fn create(world: &mut World, index: usize, make: Make) {
        let Some(mut pass) = world.workers[index].pass.take() else {
            return;
        };
        // A ledger that this pass did not write is read once more.
        let fresh = pass.has_written || pass.version == world.runnable.version;
        if !fresh || pass.has_written && !pass.prompt {
            world.workers[index].woken = true;
            return;
        }
        judge::create(world, &pass.knowledge);
        Self::send(world, index, make);
        pass.stage = Stage::Creating;
        world.workers[index].pass = Some(pass);
    }

    fn send(world: &mut World, index: usize, make: Make) {
        world.wire.push(Request {
            sender: u8::try_from(index).ok(),
            make,
            endless: false,
        });
        world.wire.sort_unstable();
    }

    /// Acts on the answer as `write.rs` does.
    fn write(&self, world: &mut World, index: usize, status: StatusId, change: Change) {
        let intended = matches!(change, Change::Intent | Change::Renumber);
        let unwritten = self.setup.mutant == Mutant::NoIntent && intended;
        if !unwritten && !self.put(world, index, status, Some(change)) {
            give_up(world, index);
            return;
        }
        let worker = &mut world.workers[index];
        let ledger = self.decisions.ledger(status);
        self.decisions
            .remember(self.setup.mutant, &mut worker.memory, |state| {
                state.wrote_ledger(&ledger, change, CLOCK);
            });
        if let Some(pass) = &mut worker.pass {
            let before = self.decisions.pool.stored(pass.knowledge.stored);
            let unsent = before
                .current_run
                .as_ref()
                .is_some_and(|run| !run.attempted);
            pass.knowledge.stored = status;
            pass.knowledge.only_attempt = intended || change == Change::Attempt && unsent;
            let writer = pass.knowledge.ledger_writer;
            pass.knowledge.ledger_writer = writer.map(|_| LedgerWriter::Ours);
            if intended {
                pass.knowledge.created = None;
                pass.knowledge.reads.clear();
                pass.knowledge.listed = None;
            }
        }
        self.look_around(world, index);
        if self.setup.mutant == Mutant::ConfirmSkipped && change == Change::Intent {
            self.send_unconfirmed(world, index);
        }
    }

    /// Sends the create in the mutant that takes the intent for the confirmation, and looks no further.
    fn send_unconfirmed(&self, world: &mut World, index: usize) {
        let Some(pass) = world.workers[index].pass.take() else {
            return;
        };
        let stored = self.decisions.pool.stored(pass.knowledge.stored);
        if let Some(current) = &stored.current_run {
            let name = RunName::from_current(current);
            let make = Make {
                owner: pass.knowledge.owner,
                number: u16::try_from(current.sequence).unwrap_or_default(),
                document: self.setup.document(pass.knowledge.input),
                token: self.setup.token(pass.knowledge.spec),
                ..Make::of(0, 0, 0, self.decisions.pool.name(&name))
            };
            Self::send(world, index, make);
        }
    }

    fn end(&self, world: &mut World, index: usize, end: &End) {
        let told = end
            .tell
            .is_none_or(|status| self.put(world, index, status, None));
        let worker = &mut world.workers[index];
        worker.woken |= end.again || !told;
        if told && end.settled {
            self.remember_comparison(world, index);
        }
        let worker = &mut world.workers[index];
        if let Some(pass) = &mut worker.pass {
            let retire = if told { end.retire.clone() } else { Vec::new() };
            pass.stage = Stage::Retiring(retire);
            if let Some(status) = end.tell.filter(|_| told) {
                pass.knowledge.stored = status;
            }
        }
    }
}

impl Checked {
    /// Remembers that the current run is missing: only time, or another controller, reveals more.
    fn await_word(&self, world: &mut World, index: usize) {
        let worker = &mut world.workers[index];
        let Some(pass) = worker.pass.take() else {
            return;
        };
        let ledger = self.decisions.ledger(pass.knowledge.stored);
        self.decisions
            .remember(self.setup.mutant, &mut worker.memory, |state| {
                state.note_missing(&ledger, Duration::ZERO, CLOCK);
            });
    }

    /// Remembers that all existing runs were compared with the ledger.
    fn remember_comparison(&self, world: &mut World, index: usize) {
        let worker = &mut world.workers[index];
        let Some(pass) = &worker.pass else {
            return;
        };
        if !pass.knowledge.listed_every_kind {
            return;
        }
        let ledger = self.decisions.ledger(pass.knowledge.stored);
        self.decisions
            .remember(self.setup.mutant, &mut worker.memory, |state| {
                state.record_comparison(&ledger);
            });
    }
}

/// Ends a pass that would have to wait; the next one begins with the state of then.
pub(crate) fn give_up(world: &mut World, index: usize) {
    world.workers[index].pass = None;
    world.workers[index].woken = true;
}

fn learn(world: &mut World, index: usize, learn: impl FnOnce(&mut Knowledge)) {
    if let Some(pass) = &mut world.workers[index].pass {
        learn(&mut pass.knowledge);
    }
}

/// Returns the knowledge of a pass before it has looked around.
fn known_at_first(
    cached: &Cached,
    input: u8,
    begun: &Remembered,
    unconfirmed: Option<Shown>,
) -> Knowledge {
    let made_before = begun.created.as_ref().and(unconfirmed);
    Knowledge {
        release: Release::Present,
        owner: cached.owner,
        suspended: cached.suspended,
        mistyped: cached.mistyped,
        approved: cached.approved,
        spec: cached.input,
        input,
        consistent: false,
        stored: cached.status,
        watched: false,
        cached_runs: Vec::new(),
        complete: 0,
        existing: Vec::new(),
        ledger_state: begun.ledger_state,
        reached_sequence: begun.reached_sequence,
        unobserved_run: None,
        grace_over: false,
        unknown_runs: begun
            .unknown_runs
            .iter()
            .filter_map(|uid| run_of(uid))
            .collect(),
        other_writer: begun.other_writer,
        ledger_writer: None,
        probed: false,
        listed: None,
        listed_every_kind: false,
        reads: Vec::new(),
        server_agrees: None,
        created: made_before.map(Outcome::MadeBefore),
        only_attempt: false,
        stuck: None,
        overdue: false,
        told: Vec::new(),
        settled: false,
    }
}
