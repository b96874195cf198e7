//! Two releases at once, over Runnables in every state: the present one, and a later one that has other
//! hashes, needs definitions of a higher number, has other words, and writes fields that the present one does
//! not know.

mod deeds;
mod fields;
mod held;
mod rest;
mod signs;
mod states;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use anyhow::{Result, ensure};
use cartouche_crds::{SCHEMA, SCHEMA_ANNOTATION};
use cartouche_oracle::Sight;
use cartouche_tests::{
    controller::Controller,
    fixture::objects::{name_of, text},
    kind::{CONFIG_MAP, PROFILE, RUNNABLE, SECRET},
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
    states::{Changes, DONE, HIDDEN, Runs, STATES, Sign, State, TAKEN},
};
use crate::{
    chain::asked,
    engine::{JOB, TRIAL, template},
    restart::Chance,
    scene::Scene,
};

/// Number of Runnables, seconds of changes, seconds until they are at rest, and seconds of rest: one of each
/// state and little time, unless these variables are set.
const RUNNABLES: &str = "RELEASES_RUNNABLES";
const SECONDS: (&str, i64) = ("RELEASES_SECONDS", 15);
const SETTLE: (&str, i64) = ("RELEASES_SETTLE", 0);
const REST: (&str, i64) = ("RELEASES_REST", 35);
/// After this many changes controllers are killed, and nothing changes: 30 runs of a Runnable that only
/// follows others would be a loop.
const MOST_CHANGES: i64 = 25;

/// A Runnable of the play.
struct Player {
    name: String,
    state: &'static State,
    group: usize,
}

impl Player {
    fn is(&self, state: &str) -> bool {
        self.state.name == state
    }

    /// Returns its spec, with runs of this template unless its state has one of its own.
    fn spec(&self, namespace: &str) -> Value {
        let mut spec = (self.state.spec)(self.group);
        spec["inputs"] = (self.state.inputs)(0);
        if self.state.template.is_some() {
            let own = format!("{namespace}-{}", self.state.name);
            spec["runTemplateRef"] = json!({ "name": own });
        }
        spec
    }
}

/// Returns this many Runnables, of each state in turn.
fn players(count: i64) -> Result<Vec<Player>> {
    let player = |number: usize| {
        let (state, group) = (&STATES[number % STATES.len()], number / STATES.len());
        let name = format!("{}-{group}", state.name);
        Player { name, state, group }
    };
    Ok((0..usize::try_from(count)?).map(player).collect())
}

/// Gives the definitions the number of the later release.
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

/// Makes templates, a profile, and a foreign object, as far as the states need them.
async fn prepare(scene: &Scene) -> Result<()> {
    let mut stops = template(TRIAL);
    stops["stop"] = json!({ "mergePatch": { "spec": { "play": "fail" } } });
    for state in &STATES {
        if let Some(change) = state.template {
            let mut own = stops.clone();
            change(&mut own);
            let name = format!("{}-{}", scene.namespace, state.name);
            scene.template_named(&name, own).await?;
        }
    }
    scene.template(stops).await?;
    let pinned = format!("{}-pinned", scene.namespace);
    let colour = json!({ "metadata": { "labels": { "colour": "blue" } } });
    let profile = json!({
        "apiVersion": PROFILE.api_version(), "kind": PROFILE.name, "metadata": { "name": pinned },
        "spec": {
            "rules": [{ "templates": [pinned] }],
            "patches": [{ "apiVersion": TRIAL.api_version(), "kind": TRIAL.name, "patch": colour }],
        },
    });
    let taken = json!({
        "apiVersion": CONFIG_MAP.api_version(), "kind": CONFIG_MAP.name, "metadata": { "name": TAKEN },
    });
    for object in [profile, taken] {
        scene.put(object).await?;
    }
    Ok(())
}

async fn begin(players: &[Player]) -> Result<Scene> {
    let mut scene = Scene::with_servers_of_its_own("releases").await?;
    // No server dies here.
    scene.sight = Sight::Record;
    let writing = ["get", "create", "update", "delete"];
    let rights = [
        TRIAL.rights(&["get", "list", "create", "delete", "patch"]),
        JOB.rights_of_a_runnable(),
        RUNNABLE.rights(&["get"]),
        CONFIG_MAP.rights(&writing),
        SECRET.rights(&writing),
    ];
    scene.cluster.grant(&scene.account, &rights).await?;
    let reading = [TRIAL.rights(&["get", "list"])];
    scene.allow("weak", &reading).await?;
    prepare(&scene).await?;
    raise(&scene).await?;
    for player in players {
        let spec = player.spec(&scene.namespace);
        scene.runnable_with(&player.name, spec).await?;
    }
    Ok(scene)
}

impl Scene {
    /// Waits until each has begun, or come to its state.
    async fn all_are(&self, players: &[Player], wanted: impl Fn(&State) -> Sign) -> Result<()> {
        for Player { name, state, .. } in players {
            self.within(Duration::from_mins(3), name, state.name, wanted(state))
                .await?;
        }
        Ok(())
    }

    /// Checks that each is in its state now.
    async fn all_stayed(&self, players: &[Player]) -> Result<()> {
        let mut left = Vec::new();
        for Player { name, state, .. } in players {
            let now = self.now(name).await?;
            if !(state.rests)(&now) {
                left.push(format!("{name}: {:?}", now.status));
            }
        }
        ensure!(left.is_empty(), "{left:#?}");
        Ok(())
    }

    /// Changes the value of each. A Runnable that works until the test ends it changes less often.
    async fn change_all(&self, players: &[Player], value: i64) -> Result<()> {
        let changed = players.iter().filter(|it| match it.state.changes {
            Changes::Always => true,
            Changes::Seldom => value % 5 == 1,
            Changes::Never => false,
        });
        let edits = changed.map(|it| self.change(&it.name, (it.state.inputs)(value)));
        try_join_all(edits).await.map(drop)
    }

    /// Plays changes and kills controllers by turns. Returns the number of changes.
    async fn play(&self, players: &[Player], controllers: &mut [Controller; 2]) -> Result<i64> {
        let (mut chance, begin) = (Chance::new()?, Instant::now());
        let lasts = Duration::from_secs(u64::try_from(asked(SECONDS)?)?);
        let done = players.iter().filter(|it| it.is(DONE));
        let done: Vec<String> = done.map(|it| it.name.clone()).collect();
        let mut value = 0;
        while begin.elapsed() < lasts && value < MOST_CHANGES {
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
        while begin.elapsed() < lasts {
            for controller in controllers.iter_mut() {
                chance.moment(5000).await;
                controller.restart().await?;
            }
        }
        // Both have to make the last one of each.
        self.change_all(players, value + 1).await?;
        self.all_are(players, |it| it.rests).await?;
        self.all_give(&done, value + 1).await?;
        Ok(value)
    }

    /// Returns the statuses that both have written, by Runnable, in their order.
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

    /// Checks that no change ran twice, and that the last one did where it may.
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
            let is_right = match state.runs {
                Runs::These(these) => values == these,
                Runs::Some => is_once && !values.is_empty(),
                Runs::Newest if held.contains(name) => is_once,
                Runs::Newest => is_once && values.last() == Some(&last),
            };
            ensure!(is_right, "{name}: {values:?} of {last}");
        }
        let jobs = self.made_of(JOB)?.len();
        let queued = players.iter().filter(|it| it.is("queued")).count();
        ensure!(jobs == queued, "{jobs} Jobs of {queued} Runnables");
        Ok(made.values().map(Vec::len).sum::<usize>() + jobs)
    }
}

/// Checks that nothing was done for these after they needed what neither release knows.
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
    let one_of_each = i64::try_from(STATES.len())?;
    let players = players(asked((RUNNABLES, one_of_each))?)?;
    let scene = begin(&players).await?;
    let mut controllers = [
        scene.controller(&[]).await?,
        scene.controller_of("later").await?,
    ];
    scene.all_are(&players, |it| it.begins).await?;
    let alone = scene.do_deeds(&players, &mut controllers).await?;
    let begin = Instant::now();
    let changes = scene.play(&players, &mut controllers).await?;
    let took = begin.elapsed().as_secs();
    let rested = rests(&scene, &players).await;
    scene.all_stayed(&players).await?;

    let written = scene.written()?;
    let all = || written.values().flatten();
    let of_later = all().filter(|(_, status)| is_later(status)).count();
    let held = held(&scene, &players).await?;
    let made = scene.each_change_ran_once(&players, &held, changes + 1)?;
    let mut kept = 0;
    for (name, statuses) in &written {
        kept += no_field_was_lost(name, statuses)?;
    }
    println!(
        "{} Runnables of {} states, {changes} changes, each with a kill, {made} runs in {took} s, {} held by a number without a run; {} writes of the \
         present release, {of_later} of the later one; {kept} times the present one kept what the later one had written",
        players.len(),
        STATES.len().min(players.len()),
        held.len(),
        all().count() - of_later,
    );
    ensure!(kept > 0, "the present release had no field to keep");
    were_left_alone(&scene, &alone, &written).await?;
    for (_, status) in all() {
        ensure!(!status.to_string().contains(HIDDEN), "{status:#}");
    }
    for player in players.iter().filter(|it| it.is(DONE)) {
        scene.outputs_only_went_forward(&player.name)?;
    }
    scene.nothing_twice()?;
    rested
}
