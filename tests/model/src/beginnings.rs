//! The first state.

use std::collections::BTreeMap;

use cartouche_crds::{CurrentRun, HistoryEntry, RunPhase, RunResult, RunnableStatus};
use cartouche_protocol::ledger::{MAX_HISTORY, RunName};
use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
    jiff::SignedDuration,
};
use serde_json::json;

use crate::{
    cast::{NOW, owner_uid, run_uid},
    configuration::{Before, Release},
    model::Checked,
    pool::NameId,
    process::Memory,
    world::{Cached, Ghost, Make, Request, Run, Worker, World},
};

impl Checked {
    /// Returns the first state.
    pub(crate) fn first_world(&self) -> World {
        let setup = &self.setup;
        let status = self.decisions.pool.status(&self.first_status());
        let copied = setup.before == Before::Copied;
        let mut world = World {
            runnable: Cached {
                version: 0,
                input: 0,
                owner: 0,
                suspended: false,
                mistyped: false,
                approved: None,
                status,
                marked: false,
                noted: copied,
                writers: u8::from(copied),
            },
            runs: Vec::new(),
            wire: Vec::new(),
            workers: (0..setup.workers)
                .map(|worker| {
                    idle(if worker == 0 {
                        setup.beside
                    } else {
                        Release::Present
                    })
                })
                .collect(),
            forbidden: false,
            overdue: false,
            backup: copied.then_some(status),
            same_second: copied,
            left: setup.left,
            ghost: Ghost::default(),
        };
        for old in &setup.old_runs {
            let make = Make {
                rewritten: old.rewritten,
                earlier_version: old.number > 0 && setup.before == Before::EarlierVersion,
                ..self.named(0, old.number, old.document, world.runs.len())
            };
            let mut run = Run::new(make);
            run.result = copied.then_some(true);
            Self::add_run(&mut world, run);
        }
        if setup.original_on_its_way {
            let make = self.named(0, 0, setup.document(0), 100);
            world.wire.push(Request {
                sender: None,
                make,
                endless: false,
            });
        }
        world
    }

    pub(crate) fn named(&self, owner: u8, number: u16, document: u8, random: usize) -> Make {
        let make = Make::of(owner, number, document, NameId::default());
        let name = if number == 0 {
            self.random_name(make, random)
        } else {
            let rendered = &self.decisions.cast.document(document).rendered;
            self.decisions.pool.name(&RunName {
                api_version: rendered.api_version().to_owned(),
                kind: rendered.kind().to_owned(),
                name: rendered.run_name(&owner_uid(owner), i64::from(number)),
            })
        };
        Make { name, ..make }
    }

    fn first_status(&self) -> RunnableStatus {
        let served = RunnableStatus {
            observed_generation: Some(1),
            conditions: vec![Condition {
                type_: "Ready".to_owned(),
                status: "True".to_owned(),
                reason: "Ready".to_owned(),
                message: String::new(),
                last_transition_time: Time(NOW),
                observed_generation: Some(1),
            }],
            outputs: Some(BTreeMap::from([("answer".to_owned(), json!("as it was"))])),
            ..RunnableStatus::default()
        };
        match self.setup.before {
            Before::Nothing => RunnableStatus::default(),
            Before::Original => served,
            Before::EarlierVersion | Before::Copied => RunnableStatus {
                current_run: self.first_current(1, Some(run_uid(0))),
                ..served
            },
            Before::FullHistory => {
                let most = i64::try_from(MAX_HISTORY).unwrap_or_default();
                RunnableStatus {
                    current_run: self.first_current(most + 1, Some(run_uid(0))),
                    history: (1..=most).map(finished).collect::<Vec<_>>().into(),
                    ..served
                }
            }
        }
    }

    /// Returns the current run of an earlier release: the first of the old runs.
    fn first_current(&self, sequence: i64, uid: Option<String>) -> Option<CurrentRun> {
        let old = self.setup.old_runs.first()?;
        let make = Make {
            earlier_version: self.setup.before == Before::EarlierVersion,
            ..self.named(0, old.number, old.document, 0)
        };
        let name = self.decisions.pool.named(make.name);
        Some(CurrentRun {
            sources: None,
            sequence,
            input_hash: self.decisions.cast.hash(&make),
            approved: None,
            rerun_token: None,
            phase: RunPhase::Created,
            attempted: true,
            api_version: name.api_version.clone(),
            kind: name.kind.clone(),
            name: name.name.clone(),
            uid,
            intent_at: Some(Time(NOW)),
            started_at: Some(Time(NOW)),
            finished_at: None,
            result: None,
            rules_hash: None,
            attempt: 1,
            stop: None,
            retry_at: None,
            unknown_fields: cartouche_crds::UnknownFields::default(),
        })
    }
}

fn idle(release: Release) -> Worker {
    Worker {
        release,
        cache: None,
        template: 0,
        seen: Vec::new(),
        complete: 0,
        memory: Memory::default(),
        woken: true,
        pass: None,
    }
}

fn finished(sequence: i64) -> HistoryEntry {
    let long_ago = Some(Time(NOW - SignedDuration::from_hours(24)));
    HistoryEntry {
        sources: None,
        sequence,
        input_hash: "v1:long ago".to_owned(),
        api_version: "example.dev/v1".to_owned(),
        kind: "Task".to_owned(),
        name: format!("run-{sequence}"),
        uid: Some(format!("long-ago-{sequence}")),
        result: Some(RunResult::Succeeded),
        started_at: long_ago.clone(),
        intent_at: None,
        taken_by: None,
        finished_at: long_ago,
        message: String::new(),
        rules_hash: None,
        rerun_token: None,
        unknown: Vec::new(),
        attempt: 1,
        stop: None,
        unknown_fields: cartouche_crds::UnknownFields::default(),
    }
}
