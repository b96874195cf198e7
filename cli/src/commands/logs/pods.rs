//! The pods of a run. Any pod may have the run's label: only pods that the run or its objects own count.

use std::collections::BTreeSet;

use anyhow::{anyhow, bail};
use cartouche_authoring::permissions::resource::group_of;
use cartouche_engines::{
    Maker,
    kinds::{self, PodsOf},
};
use k8s_openapi::{api::core::v1::Pod, apimachinery::pkg::apis::meta::v1::OwnerReference};
use kube::{
    Api, ResourceExt,
    api::{ListParams, PartialObjectMeta},
    core::DynamicObject,
};

use crate::{
    cluster::{Cluster, within},
    live::runs::LedgerRun,
};

/// Returns the pods that a run made, of the first `most`; none for a run without a known object.
pub(crate) async fn pods(
    run: &LedgerRun,
    most: Option<u32>,
    cluster: &Cluster,
) -> anyhow::Result<Vec<Pod>> {
    let api: Api<Pod> = cluster.api();
    let known = kinds::find_kind(&run.api_version, &run.kind).map(|known| known.pods);
    let (Some(PodsOf::Itself | PodsOf::Labelled(_)), uid) = (known, run.uid.as_deref()) else {
        bail!(
            "it is not known how to find the pods of a {} of {}",
            run.kind,
            run.api_version
        );
    };
    let Some(uid) = uid else {
        return Ok(Vec::new());
    };
    let Some(PodsOf::Labelled(label)) = known else {
        let pod = within(&format!("reading Pod {}", run.name), api.get_opt(&run.name)).await?;
        let pod = pod.filter(|pod| pod.metadata.uid.as_deref() == Some(uid));
        return Ok(pod.into_iter().collect());
    };
    let parameters = ListParams {
        limit: most,
        ..ListParams::default().labels(&format!("{label}={}", run.name))
    };
    let listed = within("listing the pods of the run", api.list(&parameters)).await?;
    let run = Maker::new(&run.api_version, &run.kind, uid);
    let mut makers = between(&listed.items, &run, &parameters, cluster).await;
    makers.insert(run);
    let mut own = Vec::new();
    for pod in listed {
        let value = serde_json::to_value(&pod)?;
        if makers.iter().any(|maker| maker.has_created(&value)) {
            own.push(pod);
        }
    }
    Ok(own)
}

/// Returns the owners between the run and its pods, such as the `TaskRuns` of a `PipelineRun`. Owners of a kind that
/// cannot be listed are taken on trust.
async fn between(
    pods: &[Pod],
    run: &Maker,
    of_run: &ListParams,
    cluster: &Cluster,
) -> BTreeSet<Maker> {
    let is_between = |owner: &&OwnerReference| {
        owner.uid != run.uid
            && owner.kind != run.kind
            && group_of(&owner.api_version) == group_of(&run.api_version)
    };
    let owners = pods.iter().flat_map(ResourceExt::owner_references);
    let owners: Vec<&OwnerReference> = owners.filter(is_between).collect();
    let kind = |owner: &&OwnerReference| (owner.api_version.clone(), owner.kind.clone());
    let mut makers = BTreeSet::new();
    for of_kind in owners.iter().map(kind).collect::<BTreeSet<_>>() {
        let uids = if let Ok(made) = fetch_uids(&of_kind, run, of_run, cluster).await {
            made
        } else {
            let named = owners.iter().filter(|owner| kind(owner) == of_kind);
            named.map(|owner| owner.uid.clone()).collect()
        };
        let (api_version, kind) = &of_kind;
        makers.extend(uids.iter().map(|uid| Maker::new(api_version, kind, uid)));
    }
    makers
}

/// Returns the uids of the objects of a kind that a run has made.
async fn fetch_uids(
    (api_version, kind): &(String, String),
    run: &Maker,
    of_run: &ListParams,
    cluster: &Cluster,
) -> anyhow::Result<Vec<String>> {
    let served = cluster.find_kind(api_version, kind).await?;
    let served = served.ok_or_else(|| anyhow!("there is no kind {kind} of {api_version}"))?;
    let api = cluster.objects(&served);
    let what = format!("listing {kind}s of the run");
    let listed = within(&what, api.list_metadata(of_run)).await?.items;
    let is_own = |object: &&PartialObjectMeta<DynamicObject>| {
        run.has_created(&serde_json::json!({ "metadata": object.metadata }))
    };
    let own = listed.iter().filter(is_own);
    Ok(own.filter_map(ResourceExt::uid).collect())
}
