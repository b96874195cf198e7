//! Counter-examples for readers.

use std::fmt::Write as _;

use stateright::Model;

use super::{
    known::key,
    model::{Action, Chain},
    world::{Stored, Who, World},
};
use crate::explore::CounterExample;

/// Returns every step of a counter-example, with the state that it leads to.
#[must_use]
pub fn story(model: &Chain, example: &CounterExample<Action>) -> String {
    let mut text = String::new();
    let Some(mut world) = model.init_states().pop() else {
        return text;
    };
    text.push_str(&picture(model, &world));
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

fn picture(model: &Chain, world: &World) -> String {
    let mut text = String::new();
    for (who, stored) in world.stored.iter().enumerate() {
        text.push_str(&line(model, who, stored));
    }
    for worker in &world.workers {
        let old = (0..world.stored.len()).filter(|who| worker.cache[*who] != world.stored[*who]);
        let pass = worker.pass.as_ref().map(|pass| key(pass.of).to_string());
        let _ = writeln!(
            text,
            "      worker: looks at {pass:?}, behind in {:?}",
            old.map(|who| key(who).to_string()).collect::<Vec<_>>()
        );
    }
    text
}

fn line(model: &Chain, who: Who, stored: &Stored) -> String {
    let status = model.kept.stored(stored.status);
    let provenance = model.kept.provenance_of(stored.provenance);
    let runs: Vec<String> = status
        .current_run
        .iter()
        .map(|run| format!("{} {} {:?}", run.sequence, run.input_hash, run.result))
        .chain(
            status
                .history
                .iter()
                .rev()
                .map(|run| format!("{} {} {:?}", run.sequence, run.input_hash, run.result)),
        )
        .collect();
    let from = status.outputs_from.as_ref().map(|from| from.sequence);
    format!(
        "      {} generation {} of {:?}: {}; outputs of {from:?}: {:?}\n        {:?}\n        says {:?}\n",
        key(who),
        stored.generation,
        status.observed_generation,
        runs.join(", "),
        status.outputs,
        provenance,
        model.kept.word_of(stored.word)
    )
}
