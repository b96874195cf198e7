//! The end of a state when nothing more happens to it and every worker gets its turn.

use std::sync::PoisonError;

use cartouche_crds::RunResult;
use cartouche_protocol::{
    ledger::Ledger,
    messages::diagnosis::{Failed, Lag, NotReady},
    sources::{Coherence, Edges, Question, Readiness, Source, trace_sources},
    trace::SourceKey,
};

use super::{
    known::{ACCOUNT, key, who},
    model::{Chain, edited},
    mutant::Mutant,
    setup::Left,
    world::{A, C, Hold, Stored, Who, WordId, World},
};
use crate::{cast::token, pool::hashed};

/// Rounds after which a schedule counts as never coming to rest.
const MOST_ROUNDS: usize = 60;
/// Looks at one Runnable in one turn after which they count as never ending.
const MOST_LOOKS: usize = 10;

/// A property that is broken at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// A Runnable has not run for its present inputs, and does not report truly why.
    C5 = 1,
    /// There is no end.
    Restless = 2,
}

/// Order of the turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Order {
    /// Sources first; runs end when nothing else is left to do.
    Forth,
    /// Sources last; runs end as soon as they can.
    Back,
}

impl Chain {
    /// Returns true if no fair schedule ends in this way.
    pub(super) fn rests(&self, world: &World, broken: Broken) -> bool {
        if world.ghost.broken != 0 {
            return true;
        }
        [Order::Forth, Order::Back]
            .into_iter()
            .all(|order| self.played(world, order) & broken as u8 == 0)
    }

    /// Plays a schedule to its end. Rounds that were played before are not played again, so this costs little
    /// more than one round a state.
    fn played(&self, world: &World, order: Order) -> u8 {
        let mut world = world.clone();
        world.left = Left::default();
        let mut rounds = Vec::new();
        let mut verdict = Broken::Restless as u8;
        for _ in 0..MOST_ROUNDS {
            world.forget_the_past();
            world.squeeze();
            let key = hashed(&(&world, order));
            let known = self.verdicts.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = known.get(&key) {
                verdict = *known;
                break;
            }
            drop(known);
            rounds.push(key);
            match self.round(&mut world, order) {
                None => break,
                Some(true) => {}
                Some(false) if !self.is_well(&world) => {
                    verdict = Broken::C5 as u8;
                    break;
                }
                // The user's action comes last, because the condition must ask for it first.
                Some(false) if make_way(&mut world) => {}
                Some(false) => {
                    verdict = 0;
                    break;
                }
            }
        }
        let mut verdicts = self
            .verdicts
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        verdicts.extend(rounds.into_iter().map(|key| (key, verdict)));
        verdict
    }

    /// Plays until nothing is left to do.
    pub(super) fn play(&self, world: &mut World, order: Order) {
        for _ in 0..MOST_ROUNDS {
            if self.round(world, order) != Some(true) {
                break;
            }
        }
    }

    /// Lets every worker look at everything, and ends runs if that changes nothing. Returns true if anything
    /// happened, or `None` if a look never ends.
    fn round(&self, world: &mut World, order: Order) -> Option<bool> {
        let before = world.clone();
        if order == Order::Back {
            self.finish_all(world);
        }
        if !self.look_at_all(world, order) {
            return None;
        }
        world.squeeze();
        let is_same = world.stored == before.stored
            && world.runs == before.runs
            && world.workers == before.workers;
        Some(!is_same || self.finish_all(world))
    }

    /// Lets every worker look at everything. Returns false if a look never ends.
    fn look_at_all(&self, world: &mut World, order: Order) -> bool {
        for index in 0..world.workers.len() {
            self.end_pass(world, index);
            let mut all: Vec<Who> = (0..world.stored.len()).collect();
            if order == Order::Back {
                all.reverse();
            }
            for who in all {
                if !self.look_until_done(world, index, who) {
                    return false;
                }
            }
        }
        true
    }

    fn look_until_done(&self, world: &mut World, index: usize, who: Who) -> bool {
        for _ in 0..MOST_LOOKS {
            let before = world.stored[who];
            world.workers[index].cache.clone_from(&world.stored);
            self.look(world, index, who);
            self.end_pass(world, index);
            if world.stored[who] == before {
                world.workers[index].cache.clone_from(&world.stored);
                return true;
            }
        }
        false
    }

    fn end_pass(&self, world: &mut World, index: usize) {
        while self.read(world, index) {}
        self.write_pass(world, index);
    }

    /// Ends all runs. Returns true if any run was still under way.
    fn finish_all(&self, world: &mut World) -> bool {
        let mut any = false;
        while let Some(at_work) = world.runs.iter().position(|run| run.result.is_none()) {
            self.finish(world, at_work, true);
            any = true;
        }
        any
    }

    fn is_well(&self, world: &World) -> bool {
        (0..world.stored.len()).all(|who| {
            let said = self.kept.word_of(world.stored[who].word);
            match said {
                None => self.has_run(world, who),
                Some(hold) => !self.has_run(world, who) && self.is_true(world, who, &hold),
            }
        })
    }

    /// C5: returns true if the Runnable has run for its present inputs and has their provenance, if the
    /// sources are of one revision each.
    fn has_run(&self, world: &World, who: Who) -> bool {
        let own = &world.stored[who];
        let known = self.known(&world.stored, &[]);
        let sources = self.sources(who, own, &known);
        let document = self.document(who, own, &sources);
        let ledger = Ledger::from_status(&self.kept.stored(own.status));
        let (Some(document), Some(current)) = (document, &ledger.current) else {
            return false;
        };
        let asked = token(own.token);
        let is_answered = asked.is_none() || asked.as_deref() == ledger.last_answered();
        let sources: Vec<Source> = sources.into_iter().map(|(source, _)| source).collect();
        let stems_from = trace_sources(&Question {
            of: &key(who),
            account: ACCOUNT,
            sources: &sources,
            known: &known,
            through_sinks: &Edges::new(),
            coherence: Coherence::Required,
        });
        let provenance = self.kept.provenance_of(own.provenance);
        let is_told = stems_from.is_err()
            || self.setup.mutant == Mutant::NoMovingOn
            || stems_from.is_ok_and(|it| {
                it.is_none_or(|it| !provenance.moves_on(&ledger, &document.hash(), &it))
            });
        let ended = current.result.is_some();
        current.input_hash == document.hash() && is_answered && ended && is_told
    }

    /// Returns true if the condition names a true cause: then another Runnable has a cause of its own, or
    /// only a user or a change of the input can help.
    fn is_true(&self, world: &World, own: Who, hold: &Hold) -> bool {
        let Hold::Sources(readiness) = hold else {
            return world.stored[own].suspended;
        };
        match &**readiness {
            Readiness::NotReady(it, why) => who(it).is_some_and(|it| {
                let source = &world.stored[it];
                match why {
                    NotReady::Missing => self.lacks_outputs(source),
                    NotReady::Suspended => source.suspended,
                    _ => source.word != WordId::default(),
                }
            }),
            Readiness::Failed(Failed::Source(source)) => self.has_failed(world, source),
            Readiness::Failed(Failed::Incoherent { who, why, .. }) => {
                let have_failed = || who.iter().all(|it| self.has_failed(world, it));
                *why == Lag::GaveNothing && !who.is_empty() && have_failed()
            }
            Readiness::Cycle(way) => world.stored[A].looped && way.contains(&key(own)),
            Readiness::Ready(_) | Readiness::Error(_) => false,
        }
    }

    /// Returns true if the Runnable has no outputs, and reports why or its run has failed.
    fn lacks_outputs(&self, source: &Stored) -> bool {
        let status = self.kept.stored(source.status);
        let current = status.current_run.as_ref();
        let has_failed = current.is_some_and(|run| run.result == Some(RunResult::Failed));
        let says_why = source.word != WordId::default();
        status.outputs.is_none() && (has_failed || says_why)
    }

    fn has_failed(&self, world: &World, source: &SourceKey) -> bool {
        let source = who(source).map(|who| &world.stored[who]);
        let status = source.map(|source| self.kept.stored(source.status));
        let current = status.and_then(|status| status.current_run.clone());
        current.is_some_and(|run| run.result == Some(RunResult::Failed))
    }
}

/// Performs the action that a condition asks the user for: resumes C, or takes the edit of A back. Returns
/// true if there was anything to do.
fn make_way(world: &mut World) -> bool {
    let suspended = world.stored.get_mut(C).filter(|it| it.suspended);
    if let Some(suspended) = suspended {
        edited(suspended, |own| own.suspended = false);
        return true;
    }
    let looped = &mut world.stored[A];
    if looped.looped {
        edited(looped, |own| own.looped = false);
        return true;
    }
    false
}
