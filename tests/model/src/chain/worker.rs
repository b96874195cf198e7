//! A look of a worker at a Runnable, split at its consistent reads and at its write.

use cartouche_protocol::{
    ledger::{Change, Due, Fate, Intent, Ledger, ListedRun, RunIdentity, rebuild},
    sources::{Coherence, Edges, Question, Readiness, Source, readiness, trace_sources},
    trace::Sources,
};

use super::{
    judge,
    known::{ACCOUNT, key, owner},
    model::Chain,
    mutant::Mutant,
    runs::{API_VERSION, KIND, RULES, fetched, identity, run_name, status, trimmed},
    world::{A, Document, Hold, Pass, Run, Stored, Who, Word, World},
};
use crate::{
    cast::{NOW, token},
    pool::{get, hashed, keep},
};

/// Result of a look.
#[derive(Clone, Debug)]
pub enum Next {
    /// The run for the present inputs exists, or this cause holds it back.
    Say(Word),
    /// A run of this document is intended, with this provenance if it is known.
    Intend(Document, Option<Sources>),
    /// The current run is of the present inputs, whose sources have changed.
    MoveOn(Sources),
}

impl Chain {
    /// Decides by the read sources, and by the cache of all others. Earlier decisions are remembered.
    fn decide(&self, who: Who, own: &Stored, cache: &[Stored], read: &[(Who, Stored)]) -> Next {
        let plain = |stored: &Stored| Stored {
            version: 0,
            given: 0,
            ..*stored
        };
        let cached: Vec<Stored> = cache.iter().map(plain).collect();
        let fresh: Vec<Stored> = read.iter().map(|(_, stored)| plain(stored)).collect();
        let id = hashed(&(who, plain(own), cached, fresh));
        keep(&self.decided, id, || {
            self.decide_anew(who, own, cache, read)
        });
        get(&self.decided, id).map_or(Next::Say(None), |next| (*next).clone())
    }

    fn decide_anew(
        &self,
        who: Who,
        own: &Stored,
        cache: &[Stored],
        read: &[(Who, Stored)],
    ) -> Next {
        let (known, of) = (self.known(cache, read), key(who));
        let sources = self.sources(who, own, &known);
        let document = self.document(who, own, &sources);
        let sources: Vec<Source> = sources.into_iter().map(|(source, _)| source).collect();
        let unchecked = self.setup.mutant == Mutant::CoherenceUnchecked;
        let question = Question {
            of: &of,
            account: ACCOUNT,
            sources: &sources,
            known: &known,
            through_sinks: &Edges::new(),
            coherence: if unchecked {
                Coherence::Ignored
            } else {
                Coherence::Required
            },
        };
        let asked = || match readiness(&question) {
            _ if own.suspended => Err(Hold::Suspended),
            Readiness::Ready(sources) => Ok(sources),
            other => Err(Hold::Sources(Box::new(other))),
        };
        let Some(document) = document else {
            return Next::Say(asked().err());
        };
        let ledger = Ledger::from_status(&self.kept.stored(own.status));
        if let Due::New(_) = ledger.due(&document.hash(), token(own.token).as_deref()) {
            return match asked() {
                Ok(sources) => Next::Intend(document, sources),
                Err(hold) => Next::Say(Some(hold)),
            };
        }
        let provenance = self.kept.provenance_of(own.provenance);
        let moved =
            trace_sources(&question)
                .ok()
                .flatten()
                .filter(|sources| match self.setup.mutant {
                    Mutant::NoMovingOn => false,
                    Mutant::AlwaysMoves => true,
                    _ => provenance.moves_on(&ledger, &document.hash(), sources),
                });
        moved.map_or(Next::Say(None), Next::MoveOn)
    }

    /// Lets an idle worker look at a Runnable.
    pub(super) fn look(&self, world: &mut World, index: usize, who: Who) {
        let own = world.stored[who];
        world.workers[index].cache[who] = own;
        if self.kept.stored(own.status).current_run.is_none() && self.rebuild(world, who) {
            return;
        }
        let cache = &world.workers[index].cache;
        let reads = self.reads(who, &own).iter();
        let cached: Vec<(Who, Stored)> =
            reads.map(|(source, _)| (*source, cache[*source])).collect();
        let next = self.decide(who, &own, cache, &cached);
        if cached.is_empty() || matches!(next, Next::Say(_)) {
            let cache = cache.clone();
            self.carry_out(world, (who, &own), &cache, &cached, next);
            return;
        }
        let by_cache = self.setup.mutant == Mutant::CachedValue;
        world.workers[index].pass = Some(Pass {
            of: who,
            own,
            read: if by_cache {
                cached.into_iter().map(|(_, stored)| stored).collect()
            } else {
                Vec::new()
            },
        });
        while !self.setup.by_requests && self.read(world, index) {}
    }

    /// Reads the next source consistently. Returns false when all are read.
    pub(super) fn read(&self, world: &mut World, index: usize) -> bool {
        let Some(pass) = &mut world.workers[index].pass else {
            return false;
        };
        let mut reads = self.reads(pass.of, &pass.own).iter();
        let Some((source, _)) = reads.nth(pass.read.len()) else {
            return false;
        };
        pass.read.push(Stored {
            version: 0,
            ..world.stored[*source]
        });
        true
    }

    /// Writes the decision after all reads, unless another worker has written meanwhile.
    pub(super) fn write_pass(&self, world: &mut World, index: usize) {
        let Some(pass) = world.workers[index].pass.take() else {
            return;
        };
        if world.stored[pass.of].version != pass.own.version {
            return;
        }
        let reads = self.reads(pass.of, &pass.own).iter();
        let read: Vec<(Who, Stored)> = reads
            .zip(&pass.read)
            .map(|((source, _), stored)| (*source, *stored))
            .collect();
        let cache = world.workers[index].cache.clone();
        let next = self.decide(pass.of, &pass.own, &cache, &read);
        self.carry_out(world, (pass.of, &pass.own), &cache, &read, next);
    }

    fn carry_out(
        &self,
        world: &mut World,
        (who, own): (Who, &Stored),
        cache: &[Stored],
        read: &[(Who, Stored)],
        next: Next,
    ) {
        let ledger = Ledger::from_status(&self.kept.stored(own.status));
        let seen_root = read.iter().find(|(source, _)| *source == A);
        let seen_root = seen_root.map(|(_, root)| root.given);
        match next {
            Next::Say(said) => self.say(world, who, &ledger, &said),
            Next::MoveOn(sources) => {
                judge::moves(world, who, seen_root);
                self.write(world, who, (&ledger, Change::MoveOn), Some(&sources), &None);
            }
            Next::Intend(document, sources) => {
                judge::intent(self, world, (who, own), cache, read, document);
                world.ghost.root[who] = seen_root;
                let after = Self::intended(world, who, own, document, ledger);
                self.write(
                    world,
                    who,
                    (&after, Change::Intent),
                    sources.as_ref(),
                    &None,
                );
            }
        }
    }

    /// Returns the ledger with the intent, and with the run that is made at once.
    fn intended(
        world: &mut World,
        who: Who,
        own: &Stored,
        document: Document,
        ledger: Ledger,
    ) -> Ledger {
        let asked = token(own.token);
        let intent = Intent {
            profile: None,
            input_hash: document.hash(),
            approved: None,
            rerun_token: asked,
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            rules_hash: RULES.to_owned(),
            attempt: 1,
        };
        let name = |number| run_name(who, number);
        let after = ledger.intend(intent, name, &Fate::Known, "", Some(NOW));
        let number = after.current.as_ref().map_or(0, |run| run.sequence);
        let run = Run {
            of: who,
            number: u8::try_from(number).unwrap_or(u8::MAX),
            document,
            token: own.token,
            result: None,
        };
        world.runs.push(run);
        world.runs.sort_unstable();
        after.confirm(&identity(&run)).unwrap_or(after)
    }

    /// Writes this word into the status unless it is there already.
    fn say(&self, world: &mut World, who: Who, ledger: &Ledger, said: &Word) {
        let stored = &world.stored[who];
        let status = self.kept.stored(stored.status);
        let is_told = status.observed_generation == Some(i64::from(stored.generation));
        if !is_told || stored.word != self.kept.word(said) {
            self.write(world, who, (ledger, Change::Record), None, said);
        }
    }

    /// Writes a status of the present generation.
    fn write(
        &self,
        world: &mut World,
        who: Who,
        written: (&Ledger, Change),
        read: Option<&Sources>,
        said: &Word,
    ) {
        let generation = Some(i64::from(world.stored[who].generation));
        self.put(world, who, written, read, said, generation);
    }

    fn put(
        &self,
        world: &mut World,
        who: Who,
        (ledger, change): (&Ledger, Change),
        read: Option<&Sources>,
        said: &Word,
        observed: Option<i64>,
    ) {
        let stored = &mut world.stored[who];
        let before = Ledger::from_status(&self.kept.stored(stored.status));
        let provenance = self.kept.provenance_of(stored.provenance);
        let provenance = provenance.after(&before, (ledger, change), read);
        let mutant = self.setup.mutant;
        let provenance = mutant.bend_provenance(&before, ledger, provenance);
        if ledger.outputs != before.outputs && ledger.outputs.is_some() {
            stored.given += 1;
        }
        stored.status = self.kept.status(&status(ledger, said, observed));
        stored.provenance = self.kept.provenance(&provenance);
        stored.word = self.kept.word(said);
        stored.version += 1;
    }

    /// Ends a run and records its end; the observer does not matter.
    pub(super) fn finish(&self, world: &mut World, index: usize, succeeds: bool) {
        let run = &mut world.runs[index];
        run.result = Some(succeeds);
        let (who, ended) = (run.of, *run);
        let stored = &world.stored[who];
        let status = self.kept.stored(stored.status);
        let ledger = Ledger::from_status(&status);
        if ledger.current.is_none() {
            return;
        }
        let after = trimmed(ledger.record(&fetched(&ended), Some(NOW)));
        let said = self.kept.word_of(stored.word);
        let observed = status.observed_generation;
        self.put(world, who, (&after, Change::Record), None, &said, observed);
        let known: Vec<String> = after
            .runs()
            .filter_map(|(_, uid, _)| uid.map(str::to_owned))
            .collect();
        let counts =
            |run: &Run| run.of != who || run.result.is_none() || known.contains(&identity(run).uid);
        world.runs.retain(counts);
    }

    /// Rebuilds a lost ledger from the existing runs. The new status has no generation, because no worker has
    /// compared it with the spec yet. Returns false without any run.
    fn rebuild(&self, world: &mut World, who: Who) -> bool {
        let own: Vec<Run> = world
            .runs
            .iter()
            .copied()
            .filter(|run| run.of == who)
            .collect();
        let runs: Vec<RunIdentity> = own.iter().map(identity).collect();
        let listed: Vec<ListedRun<'_>> = runs
            .iter()
            .map(|run| ListedRun {
                run,
                matches: false,
            })
            .collect();
        let asked = token(world.stored[who].token);
        let lost = Ledger::default();
        let rebuilt = rebuild(&lost, &listed, &owner(who), asked.as_deref(), Some(NOW));
        let Some(mut ledger) = rebuilt else {
            return false;
        };
        for run in own.iter().rev().filter(|run| run.result.is_some()) {
            ledger = ledger.record(&fetched(run), Some(NOW));
        }
        let rebuilt = (&trimmed(ledger), Change::Rebuild);
        self.put(world, who, rebuilt, None, &None, None);
        true
    }
}
