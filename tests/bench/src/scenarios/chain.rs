//! Chains of Runnables: each link takes an output of the previous one, by a selector or by a reference.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use futures::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json};

use crate::{
    api::{self, Happening, Item, Meta},
    command_line::Settings,
    kinds::RunKind,
    load::{Field, Plan, SeenRun},
    measure::{Chained, Latencies, Subject, float},
    phase::{cpu_seconds, plan_for},
    requests,
    site::Site,
};

/// Links of a chain.
const LINKS: usize = 5;
/// Changes of each head, one after another.
const CHANGES: u64 = 20;
/// Requests of the load that are under way at once.
const AT_ONCE: usize = 16;
/// Time without any further output after which no more are awaited.
const PATIENCE: Duration = Duration::from_mins(1);

/// Way in which a link takes the output of the previous one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Selector,
    Reference,
}

/// The outputs of the links, by name, and the runs.
#[derive(Default)]
struct Seen {
    outputs: HashMap<String, u64>,
    runs: HashSet<String>,
}

/// A Runnable, as far as it is read.
#[derive(Clone, Deserialize)]
struct Link {
    metadata: Meta,
    #[serde(default)]
    status: LinkStatus,
}

#[derive(Clone, Default, Deserialize)]
struct LinkStatus {
    #[serde(default)]
    outputs: LinkOutputs,
}

#[derive(Clone, Default, Deserialize)]
struct LinkOutputs {
    #[serde(default)]
    change: Option<u64>,
}

impl Item for Link {
    fn meta(&self) -> &Meta {
        &self.metadata
    }
}

/// Measures both ways, each on a cluster of its own.
pub(crate) async fn both(settings: &Settings, chains: usize) -> Result<Vec<Chained>> {
    Ok(vec![
        chained(settings, chains, Way::Selector).await?,
        chained(settings, chains, Way::Reference).await?,
    ])
}

async fn chained(settings: &Settings, chains: usize, way: Way) -> Result<Chained> {
    let site = Site::prepare(settings).await?;
    let controller = site.run(Subject::Controller, settings).await?;
    let plan = plan_for(&site, chains * LINKS, settings.keep.into()).await?;
    prepare(&site, &plan, way).await?;
    let field = Field::new(site.client(), plan.clone()).await?;
    field.adopt();
    let seen = observe(&site, &plan).await?;
    let step = site
        .progress
        .step(format!("the first runs of {chains} chains of {LINKS}"));
    let links = (0..chains * LINKS).map(|index| (index, link(&plan, index, way)));
    let create = |(_, object): (usize, Value)| {
        let (client, path) = (site.client(), plan.path());
        async move { api::send::<IgnoredAny>(&client, "POST", &path, &object).await }
    };
    send_all(links.map(create)).await?;
    all_have(&seen, chains, 0).await?;
    step.done();

    let audit = site.cluster.audit().ok();
    let before = seen
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .runs
        .len();
    let cpu = cpu_seconds(controller.process)?;
    let step = site
        .progress
        .step(format!("{CHANGES} changes of each head"));
    let (begin, mut latencies) = (Instant::now(), Latencies::default());
    for change in 1..=CHANGES {
        let sent = Instant::now();
        let heads = (0..chains).map(|chain| {
            let path = format!("{}/{}", plan.path(), crate::load::name(chain * LINKS));
            let (client, body) = (
                site.client(),
                json!({ "spec": { "inputs": { "change": change } } }),
            );
            async move { api::send::<IgnoredAny>(&client, "PATCH", &path, &body).await }
        });
        send_all(heads).await?;
        all_have(&seen, chains, change).await?;
        latencies.record(sent, Instant::now());
    }
    let seconds = begin.elapsed().as_secs_f64();
    step.done();
    controller.runs()?;
    let spent = cpu_seconds(controller.process)? - cpu;
    let runs = seen
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .runs
        .len()
        - before;
    Ok(Chained {
        way: match way {
            Way::Selector => "selectors",
            Way::Reference => "runnableRef",
        }
        .to_owned(),
        chains,
        links: LINKS,
        changes: CHANGES * chains as u64,
        runs,
        seconds,
        change_to_last_output: latencies.quantiles(),
        cpu_ms_per_run: spent * 1000.0 / float(runs.max(1) as u64),
        requests: match &audit {
            Some(log) => requests::counted(log, &controller.user, &plan.namespace, runs)?,
            None => Vec::new(),
        },
    })
}

async fn send_all<F: Future<Output = kube::Result<IgnoredAny>>>(
    requests: impl Iterator<Item = F>,
) -> Result<()> {
    let requests = stream::iter(requests).buffer_unordered(AT_ONCE);
    let sent = requests.try_for_each(|_| std::future::ready(Ok(())));
    Ok(sent.await?)
}

/// Makes the template of the links, and grants the rights that their account needs.
async fn prepare(site: &Site, plan: &Plan, way: Way) -> Result<()> {
    let mut template = RunKind::number(0).template("link", "first");
    if way == Way::Selector {
        template["spec"]["template"]["spec"]["change"] =
            "$(selected.status.outputs.change)$".into();
        template["spec"]["template"]["spec"]["message"] =
            "change $(selected.status.outputs.change)$".into();
    }
    let client = site.client();
    let path = "/apis/carto.run/v1alpha1/clusterruntemplates";
    api::ensure(&client, path, &template).await?;
    let rbac = format!(
        "/apis/rbac.authorization.k8s.io/v1/namespaces/{}",
        plan.namespace
    );
    let role = json!({
        "metadata": { "name": "chain" },
        "rules": [{ "apiGroups": ["carto.run"], "resources": ["runnables"], "verbs": ["get", "list"] }],
    });
    api::ensure(&client, &format!("{rbac}/roles"), &role).await?;
    let binding = json!({
        "metadata": { "name": "chain" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "chain" },
        "subjects": [{ "kind": "ServiceAccount", "name": "default", "namespace": plan.namespace }],
    });
    api::ensure(&client, &format!("{rbac}/rolebindings"), &binding).await
}

/// Returns the n-th Runnable: the head of a chain, or the link after the previous one.
fn link(plan: &Plan, index: usize, way: Way) -> Value {
    let mut object = plan.runnable(index);
    object["metadata"]["labels"] = json!({ "link": crate::load::name(index) });
    if index.is_multiple_of(LINKS) {
        return object;
    }
    let before = crate::load::name(index - 1);
    object["spec"]["runTemplateRef"]["name"] = "link".into();
    match way {
        Way::Selector => {
            object["spec"]["selector"] = json!({
                "resource": { "apiVersion": "carto.run/v1alpha1", "kind": "Runnable" },
                "matchingLabels": { "link": before },
            });
        }
        Way::Reference => {
            if let Some(inputs) = object["spec"]["inputs"].as_object_mut() {
                inputs.remove("change");
            }
            let source =
                json!({ "name": "change", "runnableRef": { "name": before, "output": "change" } });
            object["spec"]["inputsFrom"] = json!([source]);
        }
    }
    object
}

/// Observes the outputs of the links, and their runs.
async fn observe(site: &Site, plan: &Plan) -> Result<Arc<Mutex<Seen>>> {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let client = site.client();
    let version = api::version(&client, &plan.path()).await?;
    let shown = seen.clone();
    let show = move |_, link: Link| {
        if let Some(change) = link.status.outputs.change {
            let mut seen = shown.lock().unwrap_or_else(PoisonError::into_inner);
            seen.outputs.insert(link.metadata.name, change);
        }
    };
    tokio::spawn(api::watch(client.clone(), plan.path(), "", version, show));
    let path = RunKind::number(0).path(&plan.namespace);
    let version = api::version(&client, &path).await?;
    let shown = seen.clone();
    let show = move |happening, run: SeenRun| {
        if happening == Happening::There {
            let mut seen = shown.lock().unwrap_or_else(PoisonError::into_inner);
            seen.runs.insert(run.uid().to_owned());
        }
    };
    tokio::spawn(api::watch(client, path, "", version, show));
    Ok(seen)
}

/// Waits until the last link of each chain gives this change.
async fn all_have(seen: &Mutex<Seen>, chains: usize, change: u64) -> Result<()> {
    let lasts: Vec<String> = (1..=chains)
        .map(|chain| crate::load::name(chain * LINKS - 1))
        .collect();
    let (mut before, mut last) = (0, Instant::now());
    loop {
        let done = {
            let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            lasts
                .iter()
                .filter(|name| seen.outputs.get(*name) == Some(&change))
                .count()
        };
        if done == chains {
            return Ok(());
        }
        if done > before {
            (before, last) = (done, Instant::now());
        }
        if last.elapsed() > PATIENCE {
            bail!("only {done} of {chains} chains give change {change} at their end");
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
