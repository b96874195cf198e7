//! Adoption of runs that Cartographer made.

use std::collections::BTreeMap;

use cartouche_authoring::render::{self, RenderSubject};
use cartouche_crds::{ClusterRunTemplate, RUNNABLE_NAME_LABEL, Runnable};
use cartouche_language::label_value;
use cartouche_protocol::ledger::{Ledger, ListedRun, RunIdentity, rebuild};
use cartouche_templating::{Rendered, Template, contains};
use kube::{ResourceExt as _, api::ListParams};
use serde_json::Value;

use crate::cluster::{Cluster, as_json, within};
use crate::commands::migrate::remarks::{Level, Remark};

/// Returns what happens to the runs of one Runnable.
pub(super) async fn compare(
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
                "{kind} {name} differs from the rendered object: one run is made, unless a dry run shows that the API server only wrote values in another way"
            ),
        ),
    };
    Ok(Remark::new(level, text))
}

/// Returns what is rendered now, or the remark why nothing is.
async fn rendered(
    runnable: &Runnable,
    template: &ClusterRunTemplate,
    cluster: &Cluster,
) -> anyhow::Result<Result<Rendered, Remark>> {
    let refused = |level, text: String| Ok(Err(Remark::new(level, text)));
    let Ok(compiled) = Template::compile(&template.spec) else {
        let text = "its template cannot be used, so nothing runs";
        return refused(Level::Change, text.to_owned());
    };
    let selected = match &runnable.spec.selector {
        None => None,
        Some(selector) => match cluster.select(selector).await {
            Ok(object) => Some(serde_json::to_value(object)?),
            Err(error) => {
                let text = format!("it is unknown what it renders: {error:#}");
                return refused(Level::Unknown, text);
            }
        },
    };
    let subject = RenderSubject {
        template: &compiled,
        template_name: &template.name_any(),
        runnable: &as_json(runnable)?,
        selected: selected.as_ref(),
        // Runnables of Cartographer take no inputs from other objects.
        sourced: &BTreeMap::new(),
        with: None,
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

/// Returns the name of the run that is taken over, and true if it matches what is rendered now.
async fn adopted(
    runnable: &Runnable,
    rendered: &Rendered,
    cluster: &Cluster,
) -> anyhow::Result<Option<(String, bool)>> {
    let (api_version, kind) = (rendered.api_version(), rendered.kind());
    let Some(served) = cluster.find_kind(api_version, kind).await? else {
        return Ok(None);
    };
    let name = runnable.name_any();
    let label = format!("{RUNNABLE_NAME_LABEL}={}", label_value(&name));
    let parameters = ListParams::default().labels(&label);
    let api = cluster.objects(&served);
    let list = within(&format!("listing {kind}"), api.list(&parameters)).await?;
    let objects = list.items.into_iter().map(serde_json::to_value);
    let objects: Vec<Value> = objects.collect::<Result<_, _>>()?;
    let uid = runnable.uid().unwrap_or_default();
    Ok(current(&objects, rendered, &uid))
}

/// Returns the run that becomes the current one of a ledger rebuilt from these objects.
fn current(objects: &[Value], rendered: &Rendered, uid: &str) -> Option<(String, bool)> {
    let runs = objects.iter().filter_map(|object| {
        Some((
            RunIdentity::from_object(object)?,
            contains(object, rendered),
        ))
    });
    let runs: Vec<(RunIdentity, bool)> = runs.collect();
    let listed = runs.iter().map(|(run, matches)| ListedRun {
        run,
        matches: *matches,
    });
    let listed: Vec<ListedRun<'_>> = listed.collect();
    let current = rebuild(&Ledger::default(), &listed, uid, None, None)?.current?;
    let mut runs = runs.into_iter();
    let (run, matches) = runs.find(|(run, _)| current.uid.as_ref() == Some(&run.uid))?;
    Some((run.name, matches))
}

#[cfg(test)]
mod tests {
    use cartouche_templating::Context;
    use serde_json::json;

    use super::*;

    fn rendered() -> Rendered {
        let spec = json!({ "template": {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "x-" },
            "data": { "a": "b" },
        } });
        let template = Template::compile(&serde_json::from_value(spec).unwrap()).unwrap();
        let context = Context::new(&json!({}), None).unwrap();
        template.render(&context).unwrap()
    }

    fn run(name: &str, second: u8, owner: &Value, data: &str) -> Value {
        json!({
            "metadata": {
                "name": name, "uid": name, "creationTimestamp": format!("2026-01-01T00:00:0{second}Z"),
                "ownerReferences": [owner],
            },
            "data": { "a": data },
        })
    }

    #[test]
    fn the_newest_run_that_the_runnable_controls_is_taken_over() {
        let owner = |controller: bool, uid: &str| {
            json!({
                "apiVersion": "carto.run/v1alpha1", "kind": "Runnable", "name": "r", "uid": uid,
                "controller": controller,
            })
        };
        let (ours, mere, other) = (owner(true, "u"), owner(false, "u"), owner(true, "v"));
        let adopted = |objects: &[Value]| current(objects, &rendered(), "u");
        assert_eq!(adopted(&[]), None);
        let mut objects = vec![
            run("old", 1, &ours, "b"),
            run("new", 2, &ours, "c"),
            run("owned-only", 3, &mere, "b"),
            run("of-another", 4, &other, "b"),
        ];
        assert_eq!(adopted(&objects), Some(("new".to_owned(), false)));
        // Of two runs of the same second, the rendered one wins.
        objects.insert(0, run("same-second", 2, &ours, "b"));
        assert_eq!(adopted(&objects), Some(("same-second".to_owned(), true)));
    }
}
