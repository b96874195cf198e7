//! The history of the store, as events for the oracle.

use std::sync::Arc;

use cartouche_crds::{APPROVED_ANNOTATION, PROFILE_REFRESH_ANNOTATION};
use cartouche_oracle::{Actor, Event, Object, Past, Run, Runnable, Sight, Verb};
use serde_json::json;

use super::{number, status, text, uid};
use crate::{
    discovery::Resource,
    original::ORIGINAL,
    people::is_person,
    plan::Plan,
    retries::most_attempts,
    store::{BEGINNING, Change, Happened, Store},
    strangers::{STRANGER, is_of_others},
};

/// Returns the judged history.
pub(super) fn past(store: &Store, plan: &Plan) -> Past {
    let most = most_attempts(plan.retries.as_ref());
    let mut past = Past::new(Sight::Whole).with_most_attempts(most);
    if plan.overlap.is_some() {
        past = past.without_overlap();
    }
    if plan.asked.is_some() {
        past = past.with_approval();
    }
    let mut stops = store.told().iter().peekable();
    // Runs of the other tenants never start, and the policies of the plan do not apply to them.
    let of_the_plan = |change: &&Change| !is_of_others(&change.key.namespace);
    for change in store.log().iter().filter(of_the_plan) {
        while let Some(told) = stops.next_if(|told| told.version < change.version) {
            past.tell_stop(&told.uid);
        }
        if let Some(event) = event(change) {
            past.tell(event);
        }
    }
    stops.for_each(|told| past.tell_stop(&told.uid));
    past
}

fn event(change: &Change) -> Option<Event> {
    let (object, resource) = (&*change.object, change.key.resource);
    let event = |actor, object| {
        Some(Event {
            at: change.version,
            second: Some(change.at.as_secs().cast_signed()),
            actor,
            verb: match change.happened {
                Happened::Created => Verb::Created,
                Happened::Changed => Verb::Changed,
                Happened::Deleted => Verb::Deleted,
            },
            object,
        })
    };
    match resource {
        Resource::Runnables => {
            let (uid, status) = (uid(object).to_owned(), Arc::new(status(object)));
            let actor = writer(&change.actor);
            let annotation = |key: &str| {
                let text = object["metadata"]["annotations"][key].as_str();
                text.map(str::to_owned)
            };
            let told = event(
                actor,
                Object::Runnable(Runnable {
                    uid,
                    approved: annotation(APPROVED_ANNOTATION),
                    refresh: annotation(PROFILE_REFRESH_ANNOTATION),
                    status,
                }),
            )?;
            let second = Some(change.clock);
            Some(Event { second, ..told })
        }
        Resource::Templates => {
            let name = change.key.name.clone();
            let kind = text(object, "/spec/template/kind").to_owned();
            event(writer(&change.actor), Object::Template { name, kind })
        }
        _ if resource.is_run() => {
            let run = Run {
                kind: resource.kind().to_owned(),
                content: Some(object["spec"].to_string()),
                answer: Some(json!(text(object, "/status/answer"))),
                ..Run::of(object)
            };
            let created = run.created.map(|created| created - BEGINNING);
            let told = event(actor(change), Object::Run(run))?;
            // The runs of the original are older than the simulation.
            let second = if number(object).is_none() && told.verb == Verb::Created {
                created
            } else {
                told.second
            };
            Some(Event { second, ..told })
        }
        _ => None,
    }
}

fn writer(actor: &str) -> Actor {
    match actor {
        ORIGINAL => Actor::Original,
        STRANGER => Actor::Stranger,
        _ if is_person(actor) => Actor::Person,
        _ => Actor::Controller,
    }
}

/// Returns the actor of a change to an object that is a run, or looks like one.
fn actor(change: &Change) -> Actor {
    if change.actor == STRANGER {
        return Actor::Stranger;
    }
    match change.happened {
        Happened::Created if number(&change.object).is_some() => Actor::Controller,
        Happened::Created => Actor::Original,
        // As the account of its Runnable: by retention.
        Happened::Deleted if change.actor.contains(" as ") => Actor::Controller,
        Happened::Changed | Happened::Deleted => Actor::Person,
    }
}
