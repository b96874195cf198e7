//! A Runnable, and the tools that look at it.

use std::{ops::Deref, sync::Arc};

use anyhow::Result;
use cartouche_tests::{
    cluster::{Cluster, Seen},
    control_plane::{ControlPlane, Options},
    controller::{Controller, Settings},
    engines::{ArgoSync, FluxSync, GitOps, Verdict},
    fixture::{Fixture, objects::text},
    kind::{JOB, POD, RUNNABLE, TEMPLATE},
    repository,
};
use kube::{ResourceExt, api::ListParams};
use serde_json::{Value, json};
use tokio::sync::{Mutex, OnceCell};

use super::PATIENCE;
use crate::scene::{DEMO, Optional, end_pod, there};

/// A template of a Job whose pod has the outcome of an input, and its Runnable.
const MANIFESTS: &str = "
apiVersion: carto.run/v1alpha1
kind: ClusterRunTemplate
metadata:
  name: TEMPLATE
spec:
  template:
    apiVersion: batch/v1
    kind: Job
    metadata:
      generateName: $(runnable.metadata.name)$-
      labels: $(runnable.metadata.labels)$
      annotations: $(runnable.metadata.annotations)$
    spec:
      backoffLimit: 0
      template:
        metadata:
          annotations:
            play.carto.run/outcome: $(runnable.spec.inputs.outcome)$
        spec:
          restartPolicy: Never
          containers: [{name: work, image: busybox}]
---
apiVersion: carto.run/v1alpha1
kind: Runnable
metadata:
  name: it
  labels: {example.com/app: shop}
  annotations: {example.com/team: shop}
spec:
  runTemplateRef: {name: TEMPLATE}
  inputs: {outcome: hang}
";

/// A control plane of its own, because its controller is stopped.
static PLANE: OnceCell<Arc<ControlPlane>> = OnceCell::const_new();
/// Its controller; the holder of the lock may stop it.
static CONTROLLER: OnceCell<Mutex<Controller>> = OnceCell::const_new();
static PROGRAM: Optional<GitOps> = OnceCell::const_new();

/// A Runnable `it` in a namespace of its own, and the tools that look at it.
pub(super) struct Tools {
    fixture: Fixture,
    gitops: GitOps,
}

impl Deref for Tools {
    type Target = Fixture;

    fn deref(&self) -> &Fixture {
        &self.fixture
    }
}

impl Tools {
    /// Makes one on the cluster of all tests, whose controller always runs.
    pub(super) async fn beside_others() -> Result<Option<Self>> {
        Self::on(crate::scene::cluster().await?).await
    }

    /// Makes one on a cluster whose controller can be stopped.
    pub(super) async fn alone() -> Result<Option<(Self, &'static Mutex<Controller>)>> {
        let start = || async {
            let plane = ControlPlane::start(DEMO, &Options::full()).await?;
            anyhow::Ok(Arc::new(plane))
        };
        let plane = PLANE.get_or_try_init(start).await?;
        let cluster = Cluster::of(Arc::clone(plane)).await?;
        let start = || async {
            cluster.install_cartouche().await?;
            let controller = Controller::start(DEMO, &cluster, &Settings::default()).await?;
            anyhow::Ok(Mutex::new(controller))
        };
        let controller = CONTROLLER.get_or_try_init(start).await?;
        let tools = Self::on(cluster).await?;
        Ok(tools.map(|tools| (tools, controller)))
    }

    pub(super) async fn on(cluster: Cluster) -> Result<Option<Self>> {
        let build = GitOps::build(&cluster);
        let Some(gitops) = there("the libraries of GitOps tools", &PROGRAM, build).await? else {
            return Ok(None);
        };
        let jobs = [JOB.rights_of_a_runnable()];
        Ok(Some(Self {
            fixture: Fixture::begin(&cluster, "gitops", "default", &jobs, PATIENCE).await?,
            gitops: gitops.on(&cluster),
        }))
    }

    /// Returns the manifests. The template is named after the namespace, because it is cluster-scoped.
    pub(super) fn manifests(&self, outcome: &str) -> String {
        let named = MANIFESTS.replace("TEMPLATE", &self.namespace);
        named.replace("outcome: hang", &format!("outcome: {outcome}"))
    }

    pub(super) async fn apply(&self, outcome: &str) -> Result<()> {
        let manifests = self.manifests(outcome);
        self.cluster.apply_yaml(&self.namespace, &manifests).await?;
        Ok(())
    }

    /// Returns the manifests one by one.
    pub(super) fn objects(&self, outcome: &str) -> Result<Vec<Value>> {
        let mut objects: Vec<Value> = serde_saphyr::from_multiple(&self.manifests(outcome))?;
        for object in &mut objects {
            if object["kind"] == "Runnable" {
                object["metadata"]["namespace"] = json!(self.namespace);
            }
        }
        Ok(objects)
    }

    /// Returns the application and the Kustomization of the manifests. No two tests share one: the template
    /// is cluster-scoped, so a sync of the same application elsewhere would prune it.
    pub(super) fn application(&self) -> &str {
        &self.namespace
    }

    /// Returns the effect of Argo CD on the namespace if Git has these objects.
    pub(super) async fn argo_cd_sync(&self, tracking: &str, objects: &[Value]) -> Result<ArgoSync> {
        let (application, namespace) = (self.application(), &self.namespace);
        let sync = self
            .gitops
            .argo_cd_sync(tracking, application, namespace, objects);
        sync.await
    }

    /// Returns the effect of Flux on the namespace if Git has these objects.
    pub(super) async fn flux_sync(
        &self,
        inventory: &[String],
        objects: &[Value],
    ) -> Result<FluxSync> {
        let (name, namespace) = (self.application(), &self.namespace);
        self.gitops
            .flux_sync(name, namespace, inventory, objects)
            .await
    }

    /// Waits until there are this many Jobs.
    pub(super) async fn runs(&self, count: usize) -> Result<()> {
        self.eventually(&format!("{count} Jobs"), || async {
            let there = self.list(JOB, "").await?.len();
            Ok(if there == count {
                Seen::Done(())
            } else {
                Seen::NotYet(format!("{there} Jobs"))
            })
        })
        .await
    }

    /// Returns the verdicts of both tools on an object.
    pub(super) async fn say(&self, object: &Value) -> Result<(Verdict, Verdict)> {
        let script = match text(&object["kind"]) {
            "Runnable" => "config/argocd/runnable.lua",
            _ => "config/argocd/cluster-run-template.lua",
        };
        let script = repository().join(script);
        Ok((
            self.gitops.kstatus(object).await?,
            self.gitops.argo_cd(&script, object).await?,
        ))
    }

    pub(super) async fn runnable(&self) -> Result<Value> {
        self.get(RUNNABLE, "it").await
    }

    pub(super) async fn template(&self) -> Result<Value> {
        self.get(TEMPLATE, &self.namespace).await
    }

    /// Checks the present verdicts on an object that does not change.
    pub(super) async fn now(&self, object: &Value, kstatus: &str, argo_cd: &str) -> Result<()> {
        let (flux, argo) = self.say(object).await?;
        assert_eq!(
            (&*flux.status, &*argo.status),
            (kstatus, argo_cd),
            "{flux:?} {argo:?} {object:#}"
        );
        Ok(())
    }

    /// Waits until they have these verdicts on the Runnable, and returns the message of kstatus.
    pub(super) async fn soon(&self, kstatus: &str, argo_cd: &str) -> Result<String> {
        self.eventually(&format!("{kstatus} and {argo_cd}"), || async {
            let object = self.runnable().await?;
            let (flux, argo) = self.say(&object).await?;
            Ok(if flux.status == kstatus && argo.status == argo_cd {
                Seen::Done(flux.message)
            } else {
                Seen::NotYet(format!("{flux:?} {argo:?} {object:#}"))
            })
        })
        .await
    }

    /// Waits until both report that the run is at work, and the engine has a pod for it.
    pub(super) async fn at_work(&self) -> Result<()> {
        self.running_pod().await?;
        self.soon("InProgress", "Progressing").await.map(drop)
    }

    pub(super) async fn change(&self, spec: Value) -> Result<()> {
        self.patch("it", json!({ "spec": spec })).await
    }

    /// Runs `kubectl wait --for=condition=Ready`, for at most this long.
    pub(super) async fn wait(&self, timeout: &str) -> Result<String> {
        let timeout = format!("--timeout={timeout}");
        let wait = ["wait", "--for=condition=Ready", "runnable/it", &timeout];
        let arguments = [&["-n", &self.namespace], &wait[..]].concat();
        let waited = self.cluster.kubectl(&arguments).await;
        match (&waited, self.runnable().await) {
            (Err(error), Ok(it)) => Err(anyhow::anyhow!("{error:#}: {it:#}")),
            _ => waited,
        }
    }

    /// Returns the name of the pod that runs.
    pub(super) async fn running_pod(&self) -> Result<String> {
        let running = ListParams::default().fields("status.phase=Running");
        self.eventually("a pod to run", || async {
            let pods = self.api(POD).list(&running).await?;
            Ok(match pods.items.first() {
                Some(pod) => Seen::Done(pod.name_any()),
                None => Seen::NotYet("no pod runs".to_owned()),
            })
        })
        .await
    }

    /// Lets the pod that hangs succeed.
    pub(super) async fn let_succeed(&self) -> Result<()> {
        end_pod(self, &self.running_pod().await?, "succeed").await
    }
}
