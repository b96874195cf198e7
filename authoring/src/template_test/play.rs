//! The status that the controller would write for a run. The ledger and the conditions are the controller's own code;
//! only the engine is played.

use std::sync::Arc;

use anyhow::Context as _;
use cartouche_crds::RunnableStatus;
use cartouche_engines::{PodsTell, Sensitive, kinds::Standing};
use cartouche_protocol::{
    evaluate::{by_template, outputs},
    facts::{CreateOutcome, Facts, LedgerState, Remembered, Rendering, RunnableFacts, WatchState},
    ledger::{
        Asked, BreakerLimits, Cause, Fate, FetchedRun, Ledger, OutputsRead, PodsSaid, RunIdentity,
    },
    status,
};
use cartouche_templating::Template;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::render::DraftRun;
use crate::template_test::find::merge_patch;

/// Stands for the uid that the run gets from the API server.
const RUN_UID: &str = "00000000-0000-0000-0000-00000000000a";

/// A played run, and the status of its Runnable so far.
pub(crate) struct PlayedRun<'a> {
    template: &'a Template,
    /// The object as it was created.
    object: Value,
    facts: Facts,
}

impl<'a> PlayedRun<'a> {
    /// Begins with a run that its engine has not seen yet.
    pub(crate) fn new(
        template: &'a Template,
        run: &DraftRun,
        runnable: &Value,
    ) -> anyhow::Result<Self> {
        let mut object = run.object.clone();
        merge_patch(
            &mut object,
            &json!({ "metadata": { "uid": RUN_UID, "creationTimestamp": Timestamp::UNIX_EPOCH.to_string() } }),
        );
        let mut facts = facts(template, run, runnable);
        let identity = RunIdentity::from_object(&object).context("the run has no name")?;
        let intent = facts
            .rendering
            .as_ref()
            .map(|rendering| rendering.intent(run.rerun_token.clone(), 1, None))
            .map_err(|problem| anyhow::anyhow!("{problem}"))?;
        let name = identity.name.clone();
        facts.ledger = Ledger::default()
            .intend(intent, |_| name, &Fate::Known, "", facts.now)
            .confirm(&identity)
            .context("the run does not carry its own sequence and hash")?;
        Ok(Self {
            template,
            object,
            facts,
        })
    }

    /// Plays a status that the engine writes, and returns the summary of the Runnable.
    pub(crate) fn play(&mut self, played: &Value) -> anyhow::Result<Value> {
        let mut object = self.object.clone();
        merge_patch(&mut object, played);
        let reading = reading(self.template, &object).context("the played object has no name")?;
        let ledger = self.facts.ledger.clone().record(&reading, self.facts.now);
        self.facts.created = Some(CreateOutcome::Created(Box::new(reading)));
        let status = status::status(&self.facts, &ledger, None);
        self.facts.ledger = ledger;
        self.facts.stored = Arc::new(status.clone());
        Ok(summary(&status))
    }
}

fn facts(template: &Template, run: &DraftRun, runnable: &Value) -> Facts {
    let text = |pointer: &str| {
        let value = runnable.pointer(pointer).and_then(Value::as_str);
        value.unwrap_or_default().to_owned()
    };
    let facts = RunnableFacts {
        namespace: text("/metadata/namespace"),
        name: text("/metadata/name"),
        uid: text("/metadata/uid"),
        generation: 1,
        template: text("/spec/runTemplateRef/name"),
        rerun_token: run.rerun_token.clone(),
        ..RunnableFacts::default()
    };
    let never_served = Remembered {
        ledger_state: LedgerState::NeverServed,
        ..Remembered::default()
    };
    let limits = BreakerLimits { max_runs: i64::MAX };
    Facts {
        now: Some(Timestamp::UNIX_EPOCH),
        rendering: Ok(Rendering {
            consistent: true,
            document: Arc::new(run.rendered.clone()),
            rules_hash: template.rules_hash().into(),
            has_outputs: template.has_outputs(),
            has_health_rule: template.has_health_rule(),
            context: Arc::default(),
            needs_profile: false,
            cause: Cause {
                generation: 1,
                template_uid: String::new(),
                template_generation: 1,
                ancestors: None,
            },
        }),
        watch: WatchState::Synced,
        grace_over: true,
        resource: Some(run.rendered.kind().to_lowercase()),
        ..Facts::first(facts, Arc::default(), never_served, limits)
    }
}

/// Returns what the controller would read in the object. A test writes the termination messages of the pods of a Job
/// into the Job.
fn reading(template: &Template, object: &Value) -> Option<FetchedRun> {
    let (health, outputs) = match by_template(template, object) {
        (health, OutputsRead::Elsewhere) => (health, outputs(template, object)),
        read => read,
    };
    Some(FetchedRun {
        run: RunIdentity::from_object(object)?,
        health,
        outputs,
        // Neither is anything that a test expects.
        sensitive: Sensitive::default(),
        failure: None,
        rules_hash: template.rules_hash().into(),
        matches: false,
        pods_tell: PodsTell::Nothing,
        pods_said: PodsSaid::Nothing,
        controller: None,
        stopped: None,
        version: None,
        asked: Asked::No,
        standing: Standing::FREE,
    })
}

/// Conditions by type, outputs, and the result: without times, which no test can expect.
fn summary(status: &RunnableStatus) -> Value {
    let mut summary = Map::new();
    let conditions: Map<String, Value> = status
        .conditions
        .iter()
        .map(|condition| {
            let mut word = json!({ "status": condition.status, "reason": condition.reason });
            if !condition.message.is_empty() {
                merge_patch(&mut word, &json!({ "message": condition.message }));
            }
            (condition.type_.clone(), word)
        })
        .collect();
    summary.insert("conditions".into(), conditions.into());
    if let Some(outputs) = &status.outputs {
        summary.insert("outputs".into(), json!(outputs));
    }
    let result = status
        .current_run
        .as_ref()
        .and_then(|current| current.result);
    if let Some(result) = result {
        summary.insert("result".into(), json!(result));
    }
    summary.into()
}
