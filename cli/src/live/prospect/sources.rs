//! Inputs from other objects, as the user can read them on a cluster.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use anyhow::anyhow;
use cartouche_authoring::{
    inputs_from::object::{self, Unusable},
    source::Document,
};
use cartouche_crds::{InputSource, Runnable};
use cartouche_protocol::{
    messages::diagnosis::{Diagnosis, Fault},
    references::{self, SourceKind, SourceObject},
    sourced_inputs::{self, NoInputs, SourceRead},
    trace::SourceKey,
};
use cartouche_templating::{Sourced, Template};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{Api, ResourceExt as _, api::ListParams};
use serde_json::{Map, Value, json};

use crate::{
    cluster::{Cluster, within},
    outcome::to_error,
};

/// Inputs, as far as they are known.
#[derive(Clone, Default)]
pub(super) struct InputSources {
    /// Values by the name of the input.
    pub(super) values: BTreeMap<String, Sourced>,
    /// Revisions that the values were read at, as in a status: of traced objects with known revisions.
    pub(super) revisions: BTreeMap<String, String>,
    /// Inputs from Secrets that the user may not read, with the Secrets' names. Their values and the hash are
    /// unknown.
    unread: BTreeMap<String, String>,
    /// Inputs from Secrets that have no uid yet.
    unborn: BTreeSet<String>,
}

impl InputSources {
    /// Returns the Secrets that the hash of the rendered template depends on and that the user may not read.
    pub(super) fn unread_by(&self, template: &Template) -> BTreeSet<String> {
        let unread = self.unread.iter();
        let read = unread.filter(|(input, _)| template.reads_input(input));
        read.map(|(_, secret)| secret.clone()).collect()
    }

    /// Returns a description if the hash depends on the uid of a Secret that is not on the cluster yet.
    pub(super) fn unborn_by(&self, template: &Template) -> Option<String> {
        let reads = self.unborn.iter().any(|input| template.reads_input(input));
        reads.then(|| "a Secret that is not there yet".to_owned())
    }
}

/// Result of reading one object.
enum ReadResult {
    Known(SourceRead),
    /// A Secret in the files that is not on the cluster.
    Unborn(SourceRead),
    /// A Secret that the user may not read.
    Forbidden,
}

/// Reads the objects that a Runnable takes inputs from. `ConfigMaps`, and the data of Secrets, come from the files if
/// these hold them, since they are to be applied.
pub(super) async fn read(
    cluster: &Cluster,
    runnable: &Runnable,
    files: &[Document],
) -> anyhow::Result<InputSources> {
    let sources = runnable.spec.inputs_from.as_deref().unwrap_or_default();
    if sources.is_empty() {
        return Ok(InputSources::default());
    }
    sourced_inputs::check(runnable.spec.inputs.as_ref(), sources).map_err(without)?;
    let (mut reads, mut found) = (BTreeMap::new(), InputSources::default());
    let own = cluster.namespace.as_str();
    let object_of = |source: &InputSource| SourceObject::read_in(own, source);
    let wanted: BTreeSet<SourceObject> = sources.iter().filter_map(object_of).collect();
    for wanted in wanted {
        let keys = references::keys(own, sources, &wanted);
        let of_it = |source: &&InputSource| object_of(source).as_ref() == Some(&wanted);
        let inputs = sources.iter().filter(of_it).map(|it| it.name.clone());
        let read = match read_one(cluster, files, &wanted, &keys).await? {
            ReadResult::Known(read) => read,
            ReadResult::Unborn(read) => {
                found.unborn.extend(inputs);
                read
            }
            ReadResult::Forbidden => {
                let unread = inputs.map(|input| (input, wanted.name.clone()));
                found.unread.extend(unread);
                unknown(&keys)
            }
        };
        reads.insert(wanted, read);
    }
    let taken = sourced_inputs::take_inputs(own, sources, |wanted| reads.get(wanted));
    if !taken.wrong.is_nothing() {
        return Err(without(taken.wrong));
    }
    let is_unknown = |source: &&InputSource| {
        found.unread.contains_key(&source.name) || found.unborn.contains(&source.name)
    };
    let unknown = sources.iter().filter(is_unknown);
    let unknown: BTreeSet<SourceKey> = unknown
        .filter_map(|source| references::source_key(own, source))
        .collect();
    let known = (taken.sources.into_iter()).filter(|it| !unknown.contains(&it.key));
    found.revisions = known
        .filter_map(|it| Some((it.key.to_string(), it.revision?.to_string())))
        .collect();
    found.values = taken.values;
    Ok(found)
}

async fn read_one(
    cluster: &Cluster,
    files: &[Document],
    wanted: &SourceObject,
    keys: &BTreeSet<&str>,
) -> anyhow::Result<ReadResult> {
    if wanted.kind == SourceKind::Runnable {
        // The status in a file is not what will be applied.
        return live_runnable(cluster, wanted, keys).await;
    }
    match (wanted.kind, in_files(cluster, files, wanted)?) {
        (SourceKind::ConfigMap, Some(file)) => {
            let read = object::read(file, wanted.kind, keys);
            Ok(ReadResult::Known(
                read.map_err(|it| unusable(file, wanted, it))?,
            ))
        }
        (SourceKind::ConfigMap, None) => config_map(cluster, &wanted.name).await,
        (SourceKind::Any, _) => any_object(cluster, wanted, keys).await,
        (_, file) => secret(cluster, wanted, keys, file).await,
    }
}

/// Returns a Secret without known values: a user who may not read it still gets the document, without a hash.
fn unknown(keys: &BTreeSet<&str>) -> SourceRead {
    let keys = keys.iter();
    SourceRead::Secret(keys.map(|key| ((*key).to_owned(), String::new())).collect())
}

fn without(
    NoInputs {
        faults, missing, ..
    }: NoInputs,
) -> anyhow::Error {
    let all: Vec<Fault> = faults.into_iter().chain(missing).collect();
    to_error(&Diagnosis::Sources(all))
}

fn in_files<'a>(
    cluster: &Cluster,
    files: &'a [Document],
    wanted: &SourceObject,
) -> anyhow::Result<Option<&'a Document>> {
    match object::find(files, &cluster.namespace, wanted).as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        several => Err(anyhow!(
            "there are {} of {wanted} among these files\nhint: cartouche validate says where",
            several.len()
        )),
    }
}

fn unusable(file: &Document, wanted: &SourceObject, unusable: Unusable) -> anyhow::Error {
    let (what, cure) = unusable.explain();
    anyhow!(
        "{}: {wanted} has a value {what}\nhint: {cure}",
        file.source.name
    )
}

async fn config_map(cluster: &Cluster, name: &str) -> anyhow::Result<ReadResult> {
    let api: Api<ConfigMap> = cluster.api();
    let found = within(&format!("reading ConfigMap {name}"), api.get_opt(name)).await?;
    let read = found.map_or(SourceRead::Absent, |map| {
        let binary = map.binary_data.into_iter().flatten();
        let binary: Map<String, Value> = binary.map(|(key, _)| (key, Value::Null)).collect();
        SourceRead::ConfigMap(Arc::new(json!({ "data": map.data, "binaryData": binary })))
    });
    Ok(ReadResult::Known(read))
}

async fn live_runnable(
    cluster: &Cluster,
    wanted: &SourceObject,
    keys: &BTreeSet<&str>,
) -> anyhow::Result<ReadResult> {
    let cluster = cluster.in_namespace(wanted.namespace_in(&cluster.namespace));
    let found = cluster.runnable_if_any(&wanted.name).await?;
    let read = found.map_or(SourceRead::Absent, |it| SourceRead::runnable(&it, keys));
    Ok(ReadResult::Known(read))
}

/// Reads the object from the cluster only: inputs mostly come from its status, which a file does not give.
async fn any_object(
    cluster: &Cluster,
    wanted: &SourceObject,
    keys: &BTreeSet<&str>,
) -> anyhow::Result<ReadResult> {
    let cluster = cluster.in_namespace(wanted.namespace_in(&cluster.namespace));
    let (api_version, kind) = wanted.type_meta();
    let Some(served) = cluster.find_kind(api_version, kind).await? else {
        return Ok(ReadResult::Known(SourceRead::Absent));
    };
    let (api, what) = (cluster.objects(&served), format!("reading {wanted}"));
    let found = match wanted.selector() {
        None => Vec::from_iter(within(&what, api.get_opt(&wanted.name)).await?),
        Some(selector) => {
            let parameters = ListParams::default().labels(&selector).limit(2);
            within(&what, api.list(&parameters)).await?.items
        }
    };
    Ok(ReadResult::Known(match found.as_slice() {
        [] => SourceRead::Absent,
        [one] => SourceRead::object(&serde_json::to_value(one)?, keys),
        several => SourceRead::Several(several.iter().map(kube::ResourceExt::name_any).collect()),
    }))
}

async fn secret(
    cluster: &Cluster,
    wanted: &SourceObject,
    keys: &BTreeSet<&str>,
    file: Option<&Document>,
) -> anyhow::Result<ReadResult> {
    let (api, name): (Api<Secret>, _) = (cluster.api(), wanted.name.as_str());
    let got = async {
        match api.get_opt(name).await {
            Err(kube::Error::Api(status)) if status.code == 403 => Ok(None),
            other => other.map(Some),
        }
    };
    let Some(live) = within(&format!("reading Secret {name}"), got).await? else {
        return Ok(ReadResult::Forbidden);
    };
    let of_file = |file: &Document, uid: Option<&str>| {
        object::secret(file, uid, keys).map_err(|it| unusable(file, wanted, it))
    };
    match (live, file) {
        (None, None) => Ok(ReadResult::Known(SourceRead::Absent)),
        (None, Some(file)) => Ok(ReadResult::Unborn(of_file(file, None)?)),
        (Some(live), Some(file)) => Ok(ReadResult::Known(of_file(file, live.uid().as_deref())?)),
        (Some(live), None) => {
            let metadata = serde_json::to_value(&live.metadata)?;
            let data = live.data.unwrap_or_default();
            let values = data.iter().filter(|(key, _)| keys.contains(key.as_str()));
            let values = values.map(|(key, value)| (key.as_str(), value.0.as_slice()));
            Ok(ReadResult::Known(SourceRead::secret(&metadata, values)))
        }
    }
}
