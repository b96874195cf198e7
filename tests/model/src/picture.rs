//! Counter-examples for readers.

use std::fmt::Write as _;

use cartouche_crds::{CurrentRun, HistoryEntry};
use stateright::Model;

use crate::{
    explore::CounterExample,
    model::Checked,
    pool::StatusId,
    world::{Worker, World},
};

/// Returns every step of a counter-example, with the state that it leads to.
#[must_use]
pub fn story(model: &Checked, example: &CounterExample) -> String {
    let mut text = String::new();
    let Some(mut world) = model.init_states().pop() else {
        return text;
    };
    for action in &example.actions {
        // Writing into a String cannot fail.
        let _ = writeln!(text, "  {action:?}");
        let Some(next) = model.next_state(&world, *action) else {
            break;
        };
        world = next;
        text.push_str(&picture(model, &world));
    }
    text
}

fn picture(model: &Checked, world: &World) -> String {
    let runnable = &world.runnable;
    let mut text = format!(
        "      version {}, input {}, suspended {}, mistyped {}, approved {:?}: {}\n",
        runnable.version,
        runnable.input,
        runnable.suspended,
        runnable.mistyped,
        runnable.approved,
        ledger(model, runnable.status)
    );
    for (uid, run) in world.runs.iter().enumerate() {
        let make = &run.make;
        let _ = writeln!(
            text,
            "      run {uid}: of {}, number {}, document {}, {:?}, {:?}",
            make.owner, make.number, make.document, run.result, run.presence
        );
    }
    for request in &world.wire {
        let make = &request.make;
        let _ = writeln!(
            text,
            "      on the wire: number {}, document {}",
            make.number, make.document
        );
    }
    for worker in &world.workers {
        text.push_str(&worker_picture(model, worker));
    }
    text
}

fn worker_picture(model: &Checked, worker: &Worker) -> String {
    let mut text = String::new();
    if let Some(cached) = &worker.cache {
        let status = ledger(model, cached.status);
        let _ = writeln!(
            text,
            "      worker: cache of version {}, input {}: {status}",
            cached.version, cached.input
        );
    }
    if let Some(pass) = &worker.pass {
        let knowledge = &pass.knowledge;
        let _ = writeln!(
            text,
            "        pass of version {}, {:?}: {}; create: {:?}, reads: {:?}",
            pass.version,
            pass.stage,
            ledger(model, knowledge.stored),
            knowledge.created,
            knowledge
                .reads
                .iter()
                .map(|(_, read)| read.map(|shown| shown.uid))
                .collect::<Vec<_>>()
        );
    }
    text
}

fn ledger(model: &Checked, status: StatusId) -> String {
    let status = model.decisions.pool.stored(status);
    let current = status.current_run.as_ref().map(current);
    let history: Vec<String> = status.history.iter().rev().take(3).map(earlier).collect();
    let outputs = status.outputs_from.as_ref().map(|from| from.sequence);
    format!(
        "{} after [{}], outputs of {outputs:?}",
        current.unwrap_or_default(),
        history.join(", ")
    )
}

fn current(run: &CurrentRun) -> String {
    let attempted = if run.attempted { "" } else { ", never sent" };
    let hash = run.input_hash.get(..6).unwrap_or_default();
    format!(
        "{} {hash} {:?}{attempted} {:?} {:?}",
        run.sequence, run.phase, run.uid, run.result
    )
}

fn earlier(run: &HistoryEntry) -> String {
    let hash = run.input_hash.get(..6).unwrap_or_default();
    format!("{} {hash} {:?} {:?}", run.sequence, run.uid, run.result)
}
