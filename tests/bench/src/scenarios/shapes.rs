//! Cost of each sort of request for the API server: each is sent again and again while nothing else happens
//! and two watches are open, and the allocations that the server reports are divided.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use kube::Client;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{
    api::{self, Meta},
    command_line::Settings,
    kinds::{GRANULAR_GROUP, RunKind, TWIN_GROUP},
    load::SeenRunnable,
    measure::{Latencies, Shape, float},
    reference::ledger::{HASH, line, status},
    site::Site,
};

/// Time of the measurement of the server's own allocations.
const QUIET: Duration = Duration::from_secs(4);

#[derive(Deserialize)]
struct Answer {
    metadata: Meta,
}

/// Form of earlier runs in a status.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// The shipped one: a line each, in a status that is written as a whole.
    Lines,
    /// An object each, in a status that is written field by field.
    Objects,
}

impl Form {
    fn group(self) -> &'static str {
        match self {
            Self::Lines => TWIN_GROUP,
            Self::Objects => GRANULAR_GROUP,
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Lines => "lines",
            Self::Objects => "objects, field by field",
        }
    }
}

/// Measures one sort after another.
struct Measure<'a> {
    site: &'a Site,
    requests: usize,
    /// Bytes that the question itself allocates.
    asking: f64,
    /// Bytes per second that are allocated without any request.
    idle: f64,
    shapes: Vec<Shape>,
}

/// Sends every sort of request this many times.
pub(crate) async fn shapes(settings: &Settings, requests: usize) -> Result<Vec<Shape>> {
    let site = Site::prepare(settings).await?;
    let namespace = site.cluster.namespace("shapes").await?;
    let client = site.client();
    let _watches = watches(&client, &namespace).await?;
    let mut measure = Measure::begin(&site, requests).await?;
    for form in [Form::Lines, Form::Objects] {
        for earlier in [0, 20, 90] {
            measure.statuses(&namespace, form, earlier).await?;
        }
        measure.changes(&namespace, form).await?;
    }
    measure.patches(&namespace).await?;
    measure.runs(&namespace).await?;
    measure.reads(&namespace).await?;
    measure.leases(&namespace).await?;
    Ok(measure.shapes)
}

/// Opens two watches on each of the written resources.
async fn watches(client: &Client, namespace: &str) -> Result<JoinSet<Result<()>>> {
    let mut watches = JoinSet::new();
    let paths = [
        runnables(Form::Lines, namespace),
        runnables(Form::Objects, namespace),
        RunKind::of_references().path(namespace),
    ];
    for path in paths {
        let version = api::version(client, &path).await?;
        for _ in 0..2 {
            let (client, path, version) = (client.clone(), path.clone(), version.clone());
            let ignore = |_, _: SeenRunnable| {};
            watches.spawn(api::watch(client, path, "", version, ignore));
        }
    }
    Ok(watches)
}

fn runnables(form: Form, namespace: &str) -> String {
    format!(
        "/apis/{}/v1alpha1/namespaces/{namespace}/runnables",
        form.group()
    )
}

/// Returns a Runnable as it is made and changed.
fn runnable(form: Form, name: &str, change: usize) -> Value {
    json!({
        "apiVersion": format!("{}/v1alpha1", form.group()),
        "kind": "Runnable",
        "metadata": { "name": name },
        "spec": {
            "runTemplateRef": { "name": "bench" },
            "inputs": { "change": change, "repository": "https://git.example.com/team/application" },
        },
    })
}

/// Returns a status with this many earlier runs, a little different each time.
fn status_of(form: Form, earlier: usize, change: usize) -> Value {
    let run = |number: usize| {
        json!({
            "sequence": number, "inputHash": HASH, "apiVersion": RunKind::api_version(), "kind": "TwinWork",
            "name": format!("work-{number:08}"), "uid": "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
            "startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:00:01Z", "result": "Succeeded",
        })
    };
    let lines: Vec<String> = (1..=earlier).map(|number| line(&run(number))).collect();
    let mut written = status(1, "True", &lines);
    if form == Form::Objects {
        let objects = (1..=earlier).map(|number| {
            let mut run = run(number);
            run["message"] = "all steps have completed".into();
            run
        });
        written["history"] = objects.collect();
    }
    let mut current = run(earlier + change + 1);
    current["phase"] = "Created".into();
    current["attempted"] = true.into();
    written["currentRun"] = current;
    written["outputs"] =
        json!({ "change": change, "digest": "sha256:9f86d081884c7d659a2feaa0c55ad015" });
    written["outputsFrom"] =
        json!({ "sequence": change + 1, "name": "work", "uid": "u", "rulesHash": HASH });
    written
}

impl<'a> Measure<'a> {
    async fn begin(site: &'a Site, requests: usize) -> Result<Self> {
        // The first answers build what later ones reuse.
        for _ in 0..5 {
            site.allocated().await?;
        }
        let (first, second) = (site.allocated().await?, site.allocated().await?);
        let begin = Instant::now();
        tokio::time::sleep(QUIET).await;
        let third = site.allocated().await?;
        let asking = second - first;
        let idle = (third - second - asking).max(0.0) / begin.elapsed().as_secs_f64();
        Ok(Self {
            site,
            requests,
            asking,
            idle,
            shapes: Vec::new(),
        })
    }

    async fn of(
        &mut self,
        request: String,
        mut send: impl AsyncFnMut(usize) -> Result<()>,
    ) -> Result<()> {
        // Some first, so that caches are warm.
        let warm = self.requests / 10;
        for number in 0..warm {
            send(number).await.with_context(|| request.clone())?;
        }
        let mut latencies = Latencies::default();
        let (cpu, allocated) = (self.site.server_cpu().0, self.site.allocated().await?);
        let begin = Instant::now();
        for number in warm..warm + self.requests {
            let begin = Instant::now();
            send(number).await.with_context(|| request.clone())?;
            latencies.record(begin, Instant::now());
        }
        let seconds = begin.elapsed().as_secs_f64();
        let after = self.site.allocated().await?;
        let spent = self.site.server_cpu().0.zip(cpu);
        let each = float(self.requests as u64);
        let bytes = after - allocated - self.asking - self.idle * seconds;
        self.site
            .progress
            .note(&format!("  {request}: {:.0} KiB", bytes / each / 1024.0));
        self.shapes.push(Shape {
            request,
            requests: self.requests,
            kib: bytes / each / 1024.0,
            cpu: spent.map_or(0.0, |(after, before)| (after - before) / each),
            latency: latencies.quantiles(),
        });
        Ok(())
    }

    /// Makes a Runnable with this many earlier runs.
    async fn made(&self, namespace: &str, form: Form, earlier: usize, name: &str) -> Result<Meta> {
        let client = self.site.client();
        let path = runnables(form, namespace);
        let made: Answer = api::send(&client, "POST", &path, &runnable(form, name, 0)).await?;
        let mut body = runnable(form, name, 0);
        body["metadata"]["resourceVersion"] = made.metadata.resource_version.into();
        body["status"] = status_of(form, earlier, 0);
        let path = format!("{path}/{name}/status");
        let written: Answer = api::send(&client, "PUT", &path, &body).await?;
        Ok(written.metadata)
    }

    async fn statuses(&mut self, namespace: &str, form: Form, earlier: usize) -> Result<()> {
        let name = format!("put-{earlier}");
        let mut version = self
            .made(namespace, form, earlier, &name)
            .await?
            .resource_version;
        let client = self.site.client();
        let path = format!("{}/{name}/status", runnables(form, namespace));
        let title = format!(
            "PUT of a status, {earlier} earlier runs as {}",
            form.title()
        );
        self.of(title, async |number| {
            let mut body = runnable(form, &name, 0);
            body["metadata"]["resourceVersion"] = std::mem::take(&mut version).into();
            body["status"] = status_of(form, earlier, number + 1);
            let written: Answer = api::send(&client, "PUT", &path, &body).await?;
            version = written.metadata.resource_version;
            Ok(())
        })
        .await
    }

    async fn changes(&mut self, namespace: &str, form: Form) -> Result<()> {
        self.made(namespace, form, 20, "changed").await?;
        let client = self.site.client();
        let path = format!("{}/changed", runnables(form, namespace));
        let title = format!("a user's change, 20 earlier runs as {}", form.title());
        self.of(title, async |number| {
            let body = json!({ "spec": { "inputs": { "change": number + 1 } } });
            api::send::<IgnoredAny>(&client, "PATCH", &path, &body).await?;
            Ok(())
        })
        .await
    }

    async fn patches(&mut self, namespace: &str) -> Result<()> {
        self.made(namespace, Form::Lines, 20, "patched").await?;
        let client = self.site.client();
        let path = format!("{}/patched/status", runnables(Form::Lines, namespace));
        self.of("merge patch of that status".to_owned(), async |number| {
            let body = json!({ "status": status_of(Form::Lines, 20, number + 1) });
            api::send::<IgnoredAny>(&client, "PATCH", &path, &body).await?;
            Ok(())
        })
        .await?;
        self.of("JSON patch of that status".to_owned(), async |number| {
            let status = status_of(Form::Lines, 20, number + 1);
            let body = json!([{ "op": "replace", "path": "/status", "value": status }]);
            let content = "application/json-patch+json";
            api::send_typed::<IgnoredAny>(&client, "PATCH", &path, &body, content).await?;
            Ok(())
        })
        .await?;
        let title = "server-side apply of that status".to_owned();
        self.of(title, async |number| {
            let mut body = runnable(Form::Lines, "patched", 0);
            body["status"] = status_of(Form::Lines, 20, number + 1);
            let path = format!("{path}?fieldManager=shapes&force=true");
            let content = "application/apply-patch+yaml";
            api::send_typed::<IgnoredAny>(&client, "PATCH", &path, &body, content).await?;
            Ok(())
        })
        .await
    }

    async fn runs(&mut self, namespace: &str) -> Result<()> {
        let client = self.site.client();
        let kind = RunKind::of_references();
        let path = kind.path(namespace);
        let account = format!("system:serviceaccount:{namespace}:default");
        self.of("create of a run, as the account".to_owned(), async |number| {
            let run = json!({
                "apiVersion": RunKind::api_version(), "kind": kind.kind,
                "metadata": {
                    "name": format!("run-{number}"),
                    "labels": { "carto.run/runnable-name": "x", "carto.run/runnable-uid": "u", "carto.run/run-sequence": "1" },
                    "annotations": { "carto.run/input-hash": HASH },
                },
                "spec": { "change": number, "message": "a change", "mark": "shapes" },
            });
            api::send_as::<IgnoredAny>(&client, "POST", &path, &run, Some(&account)).await?;
            Ok(())
        })
        .await?;
        let path = format!("{path}/run-0");
        let run: Answer = api::send(&client, "GET", &path, &Value::Null).await?;
        let seen = format!("{path}?resourceVersion={}", run.metadata.resource_version);
        for (title, path) in [("", path), (", with the version that was seen", seen)] {
            let title = format!("GET of a run, as the account{title}");
            self.of(title, async |_| {
                api::send_as::<IgnoredAny>(&client, "GET", &path, &Value::Null, Some(&account))
                    .await?;
                Ok(())
            })
            .await?;
        }
        Ok(())
    }

    async fn reads(&mut self, namespace: &str) -> Result<()> {
        let client = self.site.client();
        let runnable = format!("{}/put-20", runnables(Form::Lines, namespace));
        let template = "/apis/carto.run/v1alpha1/clusterruntemplates/bench".to_owned();
        let reads = [
            ("GET of a Runnable, 20 earlier runs", runnable),
            ("GET of a template", template),
        ];
        for (title, path) in reads {
            self.of(title.to_owned(), async |_| {
                api::send::<IgnoredAny>(&client, "GET", &path, &Value::Null).await?;
                Ok(())
            })
            .await?;
        }
        Ok(())
    }

    async fn leases(&mut self, namespace: &str) -> Result<()> {
        let client = self.site.client();
        let path = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases");
        let lease = |number: usize, version: String| {
            json!({
                "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                "metadata": { "name": "lease", "resourceVersion": version },
                "spec": { "holderIdentity": number.to_string() },
            })
        };
        let made: Answer = api::send(&client, "POST", &path, &lease(0, String::new())).await?;
        let mut version = made.metadata.resource_version;
        let path = format!("{path}/lease");
        self.of("PUT of a Lease".to_owned(), async |number| {
            let body = lease(number + 1, std::mem::take(&mut version));
            let written: Answer = api::send(&client, "PUT", &path, &body).await?;
            version = written.metadata.resource_version;
            Ok(())
        })
        .await
    }
}
