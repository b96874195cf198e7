//! Two releases at once, over Runnables in every state: the present one, and a later one that hashes otherwise, needs
//! definitions of a higher number, has other words, and writes fields that the present one does not know.

mod fields;
mod held;
mod rest;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use cartouche_controller::mutants::RELEASE;
use cartouche_crds::{REJECTED_ANNOTATION, Rejection, Runnable, SCHEMA, SCHEMA_ANNOTATION};
use cartouche_oracle::Sight;
use cartouche_tests::{
    controller::{Controller, Settings},
    fixture::objects::{name_of, text},
    kind::RUNNABLE,
};
use futures::future::try_join_all;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tokio::time::Instant;

use self::{
    fields::{is_later, no_field_was_lost},
    held::held,
    rest::rests,
};
use crate::{
    DEMO,
    chain::asked,
    engine::{TRIAL, fails, hangs, succeeds, template},
    restart::Chance,
    scene::Scene,
    sight::{confirmed, failed, is_at, says, status},
};

/// How many Runnables there are, for how many seconds they change, how many pass then before they are at rest, and how
/// many they are at rest: few, unless these variables say how many.
const RUNNABLES: (&str, i64) = ("RELEASES_RUNNABLES", 24);
const SECONDS: (&str, i64) = ("RELEASES_SECONDS", 15);
const SETTLE: (&str, i64) = ("RELEASES_SETTLE", 0);
const REST: (&str, i64) = ("RELEASES_REST", 35);

/// What becomes of a Runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Has outputs and a history.
    Done,
    /// Reads the outputs of another.
    Follows,
    Busy,
    /// Has failed and waits for a further attempt.
    Broken,
    TimedOut,
    Suspended,
    Asked,
    Rejected,
    Settles,
    Refused,
    /// Needs what neither release knows.
    Alone,
}

use State::{
    Alone, Asked, Broken, Busy, Done, Follows, Refused, Rejected, Settles, Suspended, TimedOut,
};

const STATES: [State; 11] = [
    Done, Follows, Busy, Broken, TimedOut, Suspended, Asked, Rejected, Settles, Refused, Alone,
];

impl State {
    /// The name of the Runnable of a group that becomes this.
    fn name(self, group: usize) -> String {
        format!("{self:?}-{group}").to_lowercase()
    }

    fn inputs(self, value: i64) -> Value {
        match self {
            Busy | TimedOut => hangs(value),
            Broken => fails(value),
            Follows => json!({ "play": "succeed" }),
            _ => succeeds(value),
        }
    }

    fn spec(self, group: usize) -> Value {
        let mut spec = json!({ "inputs": self.inputs(0) });
        match self {
            Follows => {
                let from = json!({ "name": Done.name(group), "output": "value" });
                spec["inputsFrom"] = json!([{ "name": "value", "runnableRef": from }]);
            }
            Broken => spec["retry"] = json!({ "backoff": { "initial": "1h", "max": "1h" } }),
            TimedOut => spec["timeout"] = "2s".into(),
            Asked | Rejected => spec["approval"] = "Manual".into(),
            Settles => spec["start"] = json!({ "debounce": "1h" }),
            Refused => spec["serviceAccountName"] = "weak".into(),
            Done | Busy | Suspended | Alone => {}
        }
        spec
    }

    /// Whether a Runnable is what it is to become.
    fn is_reached(self, runnable: &Runnable) -> bool {
        let ready = |status: &str, reason: &str| says(runnable, "Ready", status, reason);
        match self {
            Done => crate::sight::ready(runnable),
            // Held: see there.
            Follows => crate::sight::ready(runnable) || ready("Unknown", "DependencyNotReady"),
            Busy => confirmed(runnable),
            Broken => failed(runnable) || ready("False", "SucceededCondition"),
            TimedOut => crate::sight::result(runnable).is_some(),
            Suspended | Alone => is_at(1)(runnable) && crate::sight::output(runnable) == Some(0),
            Asked => ready("Unknown", "ApprovalRequired"),
            Rejected => ready("False", "Rejected") || ready("Unknown", "ApprovalRequired"),
            Settles => status(runnable).pending.is_some(),
            Refused => crate::sight::refused(runnable),
        }
    }

    /// Whether each change of it is run.
    fn runs(self) -> bool {
        matches!(self, Done | Follows | Busy | Broken | TimedOut)
    }
}

/// A Runnable of the play.
struct Player {
    name: String,
    state: State,
    group: usize,
}

fn players(count: i64) -> Result<Vec<Player>> {
    let player = |number: usize| {
        let (state, group) = (STATES[number % STATES.len()], number / STATES.len());
        let name = state.name(group);
        Player { name, state, group }
    };
    Ok((0..usize::try_from(count)?).map(player).collect())
}

/// The definitions bear the number of the later release.
async fn raise(scene: &Scene) -> Result<()> {
    let definitions = scene.cluster.all::<CustomResourceDefinition>();
    for plural in ["runnables", "clusterruntemplates", "clusterrunprofiles"] {
        let number = json!({ SCHEMA_ANNOTATION: (SCHEMA + 1).to_string() });
        let raised = Patch::Merge(json!({ "metadata": { "annotations": number } }));
        let (name, params) = (format!("{plural}.carto.run"), PatchParams::default());
        definitions.patch(&name, &params, &raised).await?;
    }
    Ok(())
}

async fn later(scene: &Scene) -> Result<Controller> {
    let mut settings = Settings::with_arguments(&["--namespace", &scene.namespace]);
    settings.environment = vec![(RELEASE.to_owned(), "later".to_owned())];
    Controller::start(DEMO, &scene.cluster, &settings).await
}

async fn begin(players: &[Player]) -> Result<Scene> {
    let mut scene = Scene::with_servers_of_its_own("releases").await?;
    // No server dies here.
    scene.sight = Sight::Record;
    let reading = ["get", "list"];
    let rights = [
        TRIAL.rights(&["get", "list", "create", "delete", "patch"]),
        RUNNABLE.rights(&["get"]),
    ];
    scene.cluster.grant(&scene.account, &rights).await?;
    scene.allow("weak", &[TRIAL.rights(&reading)]).await?;
    let mut stops = template(TRIAL);
    stops["stop"] = json!({ "mergePatch": { "spec": { "play": "fail" } } });
    scene.template(stops).await?;
    raise(&scene).await?;
    for player in players {
        let spec = player.state.spec(player.group);
        scene.runnable_with(&player.name, spec).await?;
    }
    Ok(scene)
}

impl Scene {
    async fn all_reach(&self, players: &[Player]) -> Result<()> {
        for Player { name, state, .. } in players {
            let what = format!("{state:?}");
            let at_most = Duration::from_mins(3);
            self.within(at_most, name, &what, |it| state.is_reached(it))
                .await?;
        }
        Ok(())
    }

    /// What only follows a beginning: suspended, rejected, and in need of another release.
    async fn hold(&self, players: &[Player]) -> Result<BTreeMap<String, Value>> {
        let mut alone = BTreeMap::new();
        for Player { name, state, .. } in players {
            match state {
                Suspended => {
                    let suspended = json!({ "spec": { "suspend": true } });
                    self.patch(name, suspended).await?;
                }
                Rejected => {
                    let pending = status(&self.now(name).await?).pending;
                    let approval = pending.and_then(|it| it.approval).context("not asked")?;
                    let rejection = Rejection {
                        approval,
                        ..Rejection::default()
                    };
                    let no = json!({ REJECTED_ANNOTATION: rejection.annotation() });
                    self.patch(name, json!({ "metadata": { "annotations": no } }))
                        .await?;
                }
                Alone => {
                    self.edit_status(name, |status| status["needs"] = json!(["ticks"]))
                        .await?;
                    alone.insert(name.clone(), self.get(RUNNABLE, name).await?);
                }
                _ => {}
            }
        }
        Ok(alone)
    }

    /// Each has another value; what works until the test ends it has one more seldom.
    async fn change_all(&self, players: &[Player], value: i64) -> Result<()> {
        let changed = players
            .iter()
            .filter(|it| it.state != Follows && (it.state != Busy || value % 5 == 1));
        let edits = changed.map(|it| self.change(&it.name, it.state.inputs(value)));
        try_join_all(edits).await.map(drop)
    }

    /// Changes come and controllers are killed by turns; how many of each.
    async fn play(&self, players: &[Player], controllers: &mut [Controller; 2]) -> Result<i64> {
        let (mut chance, begin) = (Chance::new()?, Instant::now());
        let lasts = Duration::from_secs(u64::try_from(asked(SECONDS)?)?);
        let done = players.iter().filter(|it| it.state == Done);
        let done: Vec<String> = done.map(|it| it.name.clone()).collect();
        let mut value = 0;
        while begin.elapsed() < lasts {
            value += 1;
            let changing = self.change_all(players, value);
            let killing = async {
                chance.moment(1000).await;
                controllers[usize::from(value % 2 == 0)].restart().await
            };
            tokio::try_join!(changing, killing)?;
            // Every third is followed by the next before it has come to the end.
            if value % 3 > 0 {
                self.all_give(&done, value).await?;
            }
        }
        // Both have to make the last one of each.
        self.change_all(players, value + 1).await?;
        self.all_reach(players).await?;
        self.all_give(&done, value + 1).await?;
        Ok(value)
    }

    /// The statuses that both have written, by Runnable, in their order.
    fn written(&self) -> Result<BTreeMap<String, Vec<(u64, Value)>>> {
        let controller = Controller::account().user();
        let written = self.chronicle.events(|event| {
            let is_status = event.resource() == format!("{}/status", RUNNABLE.audited());
            let ours = is_status && event.user() == controller && event.took_effect();
            let object = event.response_object.as_ref().filter(|_| ours)?;
            let version = text(&object["metadata"]["resourceVersion"]).parse().ok()?;
            Some((
                name_of(object).to_owned(),
                version,
                object["status"].clone(),
            ))
        })?;
        let mut by_name = BTreeMap::<_, Vec<_>>::new();
        for (name, version, status) in written {
            by_name.entry(name).or_default().push((version, status));
        }
        for statuses in by_name.values_mut() {
            statuses.sort_by_key(|(version, _)| *version);
        }
        Ok(by_name)
    }

    /// No change ran twice, and the last one did where it may.
    fn each_change_ran_once(
        &self,
        players: &[Player],
        held: &BTreeSet<String>,
        last: i64,
    ) -> Result<usize> {
        let made = self.all_made()?;
        for Player { name, state, .. } in players {
            let values = made.get(name).cloned().unwrap_or_default();
            let is_once = values.is_sorted_by(|one, other| one < other);
            ensure!(is_once, "{name}: {values:?}");
            match state {
                Busy => ensure!(!values.is_empty(), "{name} never ran"),
                _ if held.contains(name) => {}
                _ if state.runs() => ensure!(values.last() == Some(&last), "{name}: {values:?}"),
                Suspended | Alone => ensure!(values == [0], "{name}: {values:?}"),
                _ => ensure!(values.is_empty(), "{name}: {values:?}"),
            }
        }
        Ok(made.values().map(Vec::len).sum())
    }
}

/// Nothing was done for these since they need what neither release knows.
async fn were_left_alone(
    scene: &Scene,
    alone: &BTreeMap<String, Value>,
    written: &BTreeMap<String, Vec<(u64, Value)>>,
) -> Result<()> {
    for (name, before) in alone {
        let status = &scene.get(RUNNABLE, name).await?["status"];
        ensure!(*status == before["status"], "{name}: {status:#}");
        let since: u64 = text(&before["metadata"]["resourceVersion"]).parse()?;
        let mut versions = written.get(name).into_iter().flatten();
        ensure!(versions.all(|(version, _)| *version <= since), "{name}");
    }
    Ok(())
}

#[tokio::test]
async fn two_releases_at_once_run_each_change_once_and_keep_what_the_other_has_written()
-> Result<()> {
    let players = players(asked(RUNNABLES)?)?;
    let scene = begin(&players).await?;
    let mut controllers = [scene.controller(&[]).await?, later(&scene).await?];
    scene.all_reach(&players).await?;
    let alone = scene.hold(&players).await?;
    let begin = Instant::now();
    let kills = scene.play(&players, &mut controllers).await?;
    let took = begin.elapsed().as_secs();
    let rested = rests(&scene, &players).await;

    let written = scene.written()?;
    let all = || written.values().flatten();
    let of_later = all().filter(|(_, status)| is_later(status)).count();
    let held = held(&scene, &players).await?;
    let made = scene.each_change_ran_once(&players, &held, kills + 1)?;
    let mut kept = 0;
    for (name, statuses) in &written {
        kept += no_field_was_lost(name, statuses)?;
    }
    println!(
        "{} Runnables, {kills} changes and kills, {made} runs in {took} s, {} held by a number without a run; {} writes of the present \
         release, {of_later} of the later one; {kept} times the present one kept what the later one had written",
        players.len(),
        held.len(),
        all().count() - of_later,
    );
    ensure!(kept > 0, "the present release had no field to keep");
    were_left_alone(&scene, &alone, &written).await?;
    for player in players.iter().filter(|it| it.state == Done) {
        scene.outputs_only_went_forward(&player.name)?;
    }
    scene.nothing_twice()?;
    rested
}
