//! Which runs of Cartographer are taken over.

use anyhow::Context as _;
use cartouche_crds::{ClusterRunTemplate, RUNNABLE_NAME_LABEL, Runnable};
use cartouche_templating::{Template, contains, label_value};
use kube::{
    Api, ResourceExt as _,
    api::{DynamicObject, ListParams},
};
use serde_json::Value;

use crate::commands::migrate::remarks::{Level, Remark};
use crate::{
    cluster::{Cluster, as_json, within},
    render::{self, Subject},
};

/// What becomes of the runs of one Runnable.
pub(super) async fn of(
    runnable: &Runnable,
    template: &ClusterRunTemplate,
    cluster: &Cluster,
) -> anyhow::Result<Remark> {
    let served = runnable
        .status
        .as_ref()
        .is_some_and(|status| status.current_run.is_some());
    if served {
        return Ok(Remark::new(Level::Same, "Cartouche serves it already"));
    }
    let Ok(compiled) = Template::compile(&template.spec) else {
        return Ok(Remark::new(
            Level::Change,
            "its template cannot be used, so that nothing runs",
        ));
    };
    let selected = match &runnable.spec.selector {
        None => None,
        Some(selector) => match cluster.selected(selector).await {
            Ok(object) => Some(serde_json::to_value(object)?),
            Err(error) => {
                return Ok(Remark::new(
                    Level::Differs,
                    format!("what it renders is not known: {error:#}"),
                ));
            }
        },
    };
    let value = as_json(runnable)?;
    let subject = Subject {
        template: &compiled,
        template_name: &template.name_any(),
        runnable: &value,
        selected: selected.as_ref(),
    };
    let run = match render::run(&subject) {
        Ok(run) => run,
        Err(problems) => {
            let text = problems
                .first()
                .map(ToString::to_string)
                .unwrap_or_default();
            return Ok(Remark::new(
                Level::Change,
                format!("it cannot be rendered: {text}"),
            ));
        }
    };
    let (api_version, kind) = (run.rendered.api_version(), run.rendered.kind());
    let newest = newest(runnable, api_version, kind, cluster).await?;
    let Some(object) = newest else {
        return Ok(Remark::new(
            Level::Differs,
            format!("it has no {kind} yet: one run is made"),
        ));
    };
    let name = object.pointer("/metadata/name").and_then(Value::as_str);
    let name = name.unwrap_or_default();
    Ok(if contains(&object, &run.rendered) {
        let text = format!("{kind} {name} is taken over, and nothing runs");
        Remark::new(Level::Same, text)
    } else {
        let text = format!(
            "{kind} {name} does not look like what is rendered now: one run is made, unless a dry run of the \
             API server shows that it only wrote values in another way"
        );
        Remark::new(Level::Differs, text)
    })
}

/// The newest object that the Runnable owns.
async fn newest(
    runnable: &Runnable,
    api_version: &str,
    kind: &str,
    cluster: &Cluster,
) -> anyhow::Result<Option<Value>> {
    let Some(served) = cluster.served(api_version, kind).await? else {
        return Ok(None);
    };
    let api: Api<DynamicObject> =
        Api::namespaced_with(cluster.client.clone(), &cluster.namespace, &served.resource);
    let label = format!(
        "{RUNNABLE_NAME_LABEL}={}",
        label_value(&runnable.name_any())
    );
    let found = within(
        &format!("listing {kind}"),
        api.list(&ListParams::default().labels(&label)),
    )
    .await?;
    let uid = runnable.uid();
    let ours = found.items.into_iter().filter(|object| {
        object
            .owner_references()
            .iter()
            .any(|owner| Some(&owner.uid) == uid.as_ref())
    });
    let newest = ours.max_by_key(|object| object.creation_timestamp().map(|time| time.0));
    newest
        .map(|object| serde_json::to_value(object).context("the run cannot be read"))
        .transpose()
}
