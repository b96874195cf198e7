//! `cartouche suspend` and `cartouche resume`.

use anyhow::bail;
use cartouche_crds::Runnable;
use clap::Args;
use kube::{
    Api, ResourceExt as _,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};

use crate::cluster::{CLIENT, Cluster, ClusterArgs, within};
use crate::commands::many::{self, Deed, ManyArgs, Plan};
use crate::outcome::Outcome;

/// Suspend Runnables, so that they make no new runs
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cartouche suspend shop-build
  cartouche suspend shop-build shop-test --namespace demo
  cartouche suspend --template image-build

Sets spec.suspend. A running run continues, and its outputs still arrive; `cartouche cancel` stops it. Changes made
meanwhile run when the Runnable is resumed. If your manifests are in Git, set spec.suspend there: a GitOps tool may
revert this change. The command asks before it changes more than one Runnable; without a terminal --yes is needed.

Exit code 1 if you say no; 2 if it failed for one or more of them.")]
pub(crate) struct SuspendArgs {
    #[command(flatten)]
    which: ManyArgs,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// Resume Runnables, so that they make new runs
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cartouche resume shop-build
  cartouche resume --all

Removes spec.suspend. If anything has changed since the last run, or a re-run was requested, a run is made
immediately. The command asks before it changes more than one Runnable; without a terminal --yes is needed.

Exit code 1 if you say no; 2 if it failed for one or more of them.")]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    which: ManyArgs,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

pub(crate) async fn suspend(args: &SuspendArgs, cluster: &Cluster) -> anyhow::Result<Outcome> {
    many::perform(&Suspension { wanted: true }, &args.which, cluster).await
}

pub(crate) async fn resume(args: &ResumeArgs, cluster: &Cluster) -> anyhow::Result<Outcome> {
    many::perform(&Suspension { wanted: false }, &args.which, cluster).await
}

/// Change of `spec.suspend`: sets or removes it.
struct Suspension {
    wanted: bool,
}

impl Suspension {
    /// Returns one of two texts, for suspending or resuming.
    fn either(&self, suspend: &'static str, resume: &'static str) -> &'static str {
        if self.wanted { suspend } else { resume }
    }
}

impl Deed for Suspension {
    fn title(&self, runnables: &str) -> String {
        format!("{} {runnables}", self.either("Suspend", "Resume"))
    }

    fn prospect(&self) -> &'static str {
        self.either("would be suspended", "would be resumed")
    }

    fn plan(&self, runnable: &Runnable) -> Plan {
        if runnable.spec.suspend.unwrap_or_default() != self.wanted {
            return Plan::Due;
        }
        let state = self.either("is already suspended", "is not suspended");
        Plan::Nothing(format!("{} {state}\n", runnable.name_any()))
    }

    async fn perform(&self, runnable: &Runnable, cluster: &Cluster) -> anyhow::Result<Outcome> {
        let (api, name): (Api<Runnable>, _) = (cluster.api(), runnable.name_any());
        // An absent field is what a manifest without `suspend` has.
        let value = if self.wanted {
            json!(true)
        } else {
            Value::Null
        };
        let patch = Patch::Merge(json!({
            "metadata": { "uid": runnable.uid() },
            "spec": { "suspend": value },
        }));
        let what = format!("setting spec.suspend of Runnable {name}");
        let parameters = PatchParams::apply(CLIENT);
        let patched = within(&what, api.patch(&name, &parameters, &patch)).await?;
        // A CustomResourceDefinition of an earlier release drops unknown fields and still reports success.
        if patched.spec.suspend.unwrap_or_default() != self.wanted {
            bail!(
                "{name} was not changed: the cluster does not keep spec.suspend\nhint: update its CustomResourceDefinition: kubectl apply \
                 --server-side -f config/crd"
            );
        }
        let done = self.either("is suspended", "is resumed");
        Ok(Outcome::good(format!("{name} {done}\n")))
    }
}
