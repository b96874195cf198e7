//! Which runs of Cartographer are taken over.

use cartouche_crds::{ClusterRunTemplate, RUNNABLE_NAME_LABEL, Runnable};
use cartouche_protocol::ledger::{Ledger, ListedRun, RunIdentity, rebuild};
use cartouche_templating::{Rendered, Template, contains, label_value};
use kube::{ResourceExt as _, api::ListParams};

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
    let status = runnable.status.as_ref();
    if status.is_some_and(|status| status.current_run.is_some()) {
        return Ok(Remark::new(Level::Same, "Cartouche serves it already"));
    }
    let rendered = match rendered(runnable, template, cluster).await? {
        Ok(rendered) => rendered,
        Err(remark) => return Ok(remark),
    };
    let kind = rendered.kind();
    let (level, text) = match adopted(runnable, &rendered, cluster).await? {
        None => (
            Level::Differs,
            format!("it has no {kind} yet: one run is made"),
        ),
        Some((name, true)) => (
            Level::Same,
            format!("{kind} {name} is taken over, and nothing runs"),
        ),
        Some((name, false)) => (
            Level::Differs,
            format!(
                "{kind} {name} does not look like what is rendered now: one run is made, unless a dry run of the \
                 API server shows that it only wrote values in another way"
            ),
        ),
    };
    Ok(Remark::new(level, text))
}

/// What is rendered now, or what to say where nothing is.
async fn rendered(
    runnable: &Runnable,
    template: &ClusterRunTemplate,
    cluster: &Cluster,
) -> anyhow::Result<Result<Rendered, Remark>> {
    let refused = |level, text: String| Ok(Err(Remark::new(level, text)));
    let Ok(compiled) = Template::compile(&template.spec) else {
        let text = "its template cannot be used, so that nothing runs";
        return refused(Level::Change, text.to_owned());
    };
    let selected = match &runnable.spec.selector {
        None => None,
        Some(selector) => match cluster.selected(selector).await {
            Ok(object) => Some(serde_json::to_value(object)?),
            Err(error) => {
                let text = format!("what it renders is not known: {error:#}");
                return refused(Level::Differs, text);
            }
        },
    };
    let subject = Subject {
        template: &compiled,
        template_name: &template.name_any(),
        runnable: &as_json(runnable)?,
        selected: selected.as_ref(),
    };
    match render::run(&subject) {
        Ok(run) => Ok(Ok(run.rendered)),
        Err(problems) => {
            let first = problems.first().map(ToString::to_string);
            let text = format!("it cannot be rendered: {}", first.unwrap_or_default());
            refused(Level::Change, text)
        }
    }
}

/// The name of the run that becomes the current one, and whether it is what is rendered now.
async fn adopted(
    runnable: &Runnable,
    rendered: &Rendered,
    cluster: &Cluster,
) -> anyhow::Result<Option<(String, bool)>> {
    let (api_version, kind) = (rendered.api_version(), rendered.kind());
    let Some(served) = cluster.served(api_version, kind).await? else {
        return Ok(None);
    };
    let name = runnable.name_any();
    let label = format!("{RUNNABLE_NAME_LABEL}={}", label_value(&name));
    let parameters = ListParams::default().labels(&label);
    let api = cluster.objects(&served);
    let list = within(&format!("listing {kind}"), api.list(&parameters)).await?;
    let mut runs = Vec::new();
    for object in list.items {
        let object = serde_json::to_value(object)?;
        let run = RunIdentity::of(&object);
        runs.extend(run.map(|run| (run, contains(&object, rendered))));
    }
    let listed = runs.iter().map(|(run, matches)| ListedRun {
        run,
        matches: *matches,
    });
    let uid = runnable.uid().unwrap_or_default();
    let ledger = rebuild(
        &Ledger::default(),
        &listed.collect::<Vec<_>>(),
        &uid,
        None,
        None,
    );
    let current = ledger.and_then(|ledger| ledger.current?.uid);
    let adopted = runs
        .into_iter()
        .find(|(run, _)| current.as_ref() == Some(&run.uid));
    Ok(adopted.map(|(run, matches)| (run.name, matches)))
}
