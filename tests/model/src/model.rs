//! The model for stateright: first states, actions, properties.

use stateright::{Model, Property};

use crate::{
    cast::Cast,
    configuration::Configuration,
    decisions::Decisions,
    judge,
    server::Fate,
    settling::{Broken, Verdicts},
    world::{Uid, World},
};

/// A configuration, ready to be explored.
#[derive(Debug)]
pub struct Checked {
    /// The explored configuration.
    pub setup: Configuration,
    /// The controller's decisions.
    pub decisions: Decisions,
    pub(crate) verdicts: Verdicts,
}

/// A possible next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The inputs move on.
    Change,
    /// A worker's cache takes over the Runnable.
    Observe(usize),
    /// A worker's cache takes over the template.
    ObserveTemplate(usize),
    /// A worker's cache of the template goes back.
    TemplateGoesBack(usize),
    /// A worker's watch of runs delivers.
    Hear(usize),
    /// A worker's watch of runs lost events, and lists.
    ListAnew(usize),
    /// A worker proceeds to its next request.
    Act(usize),
    /// The same, and the answer to its write is lost.
    ActUnanswered(usize),
    /// A create on the wire meets its fate.
    Deliver(usize, Fate),
    /// A worker crashes and starts again.
    Crash(usize),
    /// A run ends.
    Finish(Uid, bool),
    /// A user deletes a run.
    Delete(Uid),
    /// A user cancels a run, and it ends at once.
    Cancel(Uid),
    /// The time of the next attempt comes.
    Due,
    /// The timeout of the runs expires.
    Overdue,
    /// The right to create is taken or given.
    Rights,
    /// The ledger is lost.
    Wipe,
    /// A backup is taken.
    BackUp,
    /// The backup is restored.
    Restore,
    /// The time for another controller's report about a missing run is over, for a worker.
    GraceEnds(usize),
    /// The pending change has stayed the same for long enough, for a worker.
    Settle(usize),
    /// Half a minute passes.
    Pause,
    /// More than the minimum age passes.
    Age,
    /// The Runnable is deleted and created.
    Rebirth,
    /// The original controller makes a run.
    OriginalRun,
    /// A foreign object appears under the name that the ledger reserved.
    Stranger,
    /// A forger makes the run of the next number, before or after it is intended.
    Forge {
        /// True for before.
        early: bool,
    },
    /// The Runnable is suspended, or resumed.
    Suspend(bool),
    /// The name of its template is mistyped, or corrected.
    Mistype(bool),
    /// A user approves the run that waits according to the status.
    Approve,
}

impl Checked {
    /// Returns a configuration without any knowledge.
    #[must_use]
    pub fn new(setup: Configuration) -> Self {
        let cast = Cast::new(&setup);
        Self {
            decisions: Decisions::new(cast),
            verdicts: Verdicts::default(),
            setup,
        }
    }

    fn push_worker_actions(&self, world: &World, index: usize, actions: &mut Vec<Action>) {
        let worker = &world.workers[index];
        if worker.cache != Some(world.runnable) {
            actions.push(Action::Observe(index));
        }
        if self.setup.by_template {
            if worker.template != world.runnable.input {
                actions.push(Action::ObserveTemplate(index));
            }
            if self.setup.template_goes_back && worker.template > 0 {
                actions.push(Action::TemplateGoesBack(index));
            }
        }
        if !self.setup.prompt_watch && self.has_news(world, index) {
            actions.push(Action::Hear(index));
        }
        if world.left.gaps > 0 {
            actions.push(Action::ListAnew(index));
        }
        let heard = self.setup.prompt_watch && self.has_news(world, index);
        if worker.pass.is_some() || worker.woken || heard {
            actions.push(Action::Act(index));
            if world.left.losses > 0 {
                actions.push(Action::ActUnanswered(index));
            }
        }
        if worker.memory.missing.is_some_and(|missing| !missing.over) {
            actions.push(Action::GraceEnds(index));
        }
        if worker.memory.due.is_some_and(|due| !due.2) {
            actions.push(Action::Settle(index));
        }
        if world.left.crashes > 0 {
            actions.push(Action::Crash(index));
        }
    }

    fn push_wire_actions(&self, world: &World, actions: &mut Vec<Action>) {
        for (index, request) in world.wire.iter().enumerate() {
            actions.push(Action::Deliver(index, Fate::Answered));
            if self.setup.puts_off && request.sender.is_some() {
                actions.push(Action::Deliver(index, Fate::PutOff));
            }
            if world.left.losses > 0 {
                actions.push(Action::Deliver(index, Fate::Dropped));
                if request.sender.is_some() {
                    actions.push(Action::Deliver(index, Fate::AnswerLost));
                    actions.push(Action::Deliver(index, Fate::Delayed));
                }
            }
        }
    }

    fn push_run_actions(&self, world: &World, actions: &mut Vec<Action>) {
        for shown in world.shown() {
            let left = if shown.result.is_none() {
                actions.push(Action::Finish(shown.uid, true));
                if self.setup.fails {
                    actions.push(Action::Finish(shown.uid, false));
                }
                if world.left.cancels > 0 {
                    actions.push(Action::Cancel(shown.uid));
                }
                world.left.unfinished
            } else {
                world.left.finished
            };
            if left > 0 {
                actions.push(Action::Delete(shown.uid));
            }
        }
    }
}

impl Model for Checked {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![self.first_world()]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        if world.ghost.broken != 0 {
            return;
        }
        if usize::from(world.runnable.input) + 1 < self.setup.inputs.len() {
            actions.push(Action::Change);
        }
        for index in 0..world.workers.len() {
            self.push_worker_actions(world, index, actions);
        }
        self.push_wire_actions(world, actions);
        self.push_run_actions(world, actions);
        let left = &world.left;
        let faults = [
            (left.rights > 0, Action::Rights),
            (left.timeouts > 0, Action::Overdue),
            (left.wipes + left.original_writes > 0, Action::Wipe),
            (left.restores > 0 && world.backup.is_none(), Action::BackUp),
            (left.restores > 0 && world.backup.is_some(), Action::Restore),
            (left.rebirths > 0, Action::Rebirth),
            (left.original_runs > 0, Action::OriginalRun),
            (left.strangers > 0, Action::Stranger),
            (left.forgeries > 0, Action::Forge { early: true }),
            (left.forgeries > 0, Action::Forge { early: false }),
            (
                left.suspensions > 0 && !world.runnable.suspended,
                Action::Suspend(true),
            ),
            (world.runnable.suspended, Action::Suspend(false)),
            (
                left.mistypes > 0 && !world.runnable.mistyped,
                Action::Mistype(true),
            ),
            (world.runnable.mistyped, Action::Mistype(false)),
            (left.approvals > 0, Action::Approve),
            (
                self.setup.loses_status() || self.setup.adopts(),
                Action::Pause,
            ),
            (self.setup.time, Action::Age),
            (self.awaits_retry(world), Action::Due),
        ];
        actions.extend(
            faults
                .iter()
                .filter(|(may, _)| *may)
                .map(|(_, fault)| *fault),
        );
    }

    fn next_state(&self, last: &World, action: Action) -> Option<World> {
        let mut world = last.clone();
        self.happen(&mut world, action);
        world.squeeze_versions();
        world.sort_workers();
        (world != *last).then_some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("S1", judge::one_for_each_number),
            Property::always("S2", judge::content_is_as_recorded),
            Property::always("S3", |_, world: &World| world.ghost.broken & judge::S3 == 0),
            Property::always("S4", |_, world: &World| world.ghost.broken & judge::S4 == 0),
            Property::always("S5", |_, world: &World| world.ghost.broken & judge::S5 == 0),
            Property::always("S6", |_, world: &World| world.ghost.broken & judge::S6 == 0),
            Property::always("S7", |_, world: &World| world.ghost.broken & judge::S7 == 0),
            Property::always("S8", |_, world: &World| world.ghost.broken & judge::S8 == 0),
            Property::always("settled", |_, world: &World| {
                world.ghost.broken & judge::SETTLED == 0
            }),
            Property::always("suspended", |_, world: &World| {
                world.ghost.broken & judge::SUSPENDED == 0
            }),
            Property::always("L1", |model: &Self, world| model.settles(world, Broken::L1)),
            Property::always("L2", |model: &Self, world| model.settles(world, Broken::L2)),
            Property::always("comes to rest", |model: &Self, world| {
                model.settles(world, Broken::Restless)
            }),
        ]
    }
}
