//! Access to a cluster, as the user of the current context.

mod answers;
mod denied;

use cartouche_language::{suggestion, wrong_label};

use anyhow::{Context as _, anyhow};
use cartouche_crds::{ClusterRunTemplate, Runnable, Selector};
use clap::Args;
use k8s_openapi::{
    ClusterResourceScope, NamespaceResourceScope, api::authentication::v1::SelfSubjectReview,
};
use kube::{
    Api, Client, Config, Resource, ResourceExt,
    api::{ApiResource, DynamicObject, ListParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
    core::GroupVersionKind,
    discovery::{self, Scope},
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::live::{
    place::Place,
    selection::{SelectionArgs, plain},
};

use answers::{DEADLINE, late, no_cluster, no_kubeconfig, nothing_inferred, own};
pub(crate) use answers::{explain_error, within};
pub(crate) use denied::{AccessDenied, TEMPLATES_VIEW, first_line, lacks_templates_view, split};

/// Field manager of the command's writes.
pub(crate) const CLIENT: &str = "cartouche-cli";

/// Options that choose the cluster and the namespace.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ClusterArgs {
    /// Context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// Kubeconfig file; by default KUBECONFIG or ~/.kube/config
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<std::path::PathBuf>,
    /// Namespace; by default that of the context
    #[arg(short, long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
}

/// Connection to a cluster, with the chosen namespace.
#[derive(Clone)]
pub(crate) struct Cluster {
    pub(crate) client: Client,
    pub(crate) namespace: String,
    config: Config,
}

/// Kind that the cluster serves.
pub(crate) struct ServedKind {
    pub(crate) resource: ApiResource,
    pub(crate) namespaced: bool,
}

impl Cluster {
    pub(crate) async fn connect(args: &ClusterArgs) -> anyhow::Result<Self> {
        let options = KubeConfigOptions {
            context: args.context.clone(),
            ..KubeConfigOptions::default()
        };
        let mut config = match &args.kubeconfig {
            Some(path) => {
                let kubeconfig =
                    Kubeconfig::read_from(path).map_err(|error| no_kubeconfig(path, &error))?;
                Config::from_custom_kubeconfig(kubeconfig, &options)
                    .await
                    .map_err(|error| no_cluster(&error))?
            }
            None if args.context.is_some() => Config::from_kubeconfig(&options)
                .await
                .map_err(|error| no_cluster(&error))?,
            None => Config::infer().await.map_err(nothing_inferred)?,
        };
        // A repeated create would make a second object.
        config.default_retry = false;
        Ok(Self {
            namespace: args
                .namespace
                .clone()
                .unwrap_or_else(|| config.default_namespace.clone()),
            client: Client::try_from(config.clone()).context("the kubeconfig cannot be used")?,
            config,
        })
    }

    /// Returns the same cluster with another namespace.
    pub(crate) fn in_namespace(&self, namespace: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            ..self.clone()
        }
    }

    /// Returns the same cluster, impersonating a ServiceAccount.
    pub(crate) fn as_account(&self, namespace: &str, account: &str) -> anyhow::Result<Self> {
        let mut config = self.config.clone();
        config.auth_info.impersonate = Some(format!("system:serviceaccount:{namespace}:{account}"));
        Ok(Self {
            client: Client::try_from(config.clone()).context("the kubeconfig cannot be used")?,
            namespace: self.namespace.clone(),
            config,
        })
    }

    /// Returns the namespace that hints with commands refer to.
    pub(crate) fn place(&self) -> Place {
        Place::new(&self.namespace, &self.config.default_namespace)
    }

    pub(crate) fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Returns a Runnable by its name; an error suggests similar names.
    pub(crate) async fn runnable(&self, name: &str) -> anyhow::Result<Runnable> {
        let name = plain(name);
        if let Some(found) = self.runnable_if_any(name).await? {
            return Ok(found);
        }
        let others = self.runnables(false).await.unwrap_or_default();
        let names: Vec<String> = others.iter().map(ResourceExt::name_any).collect();
        let hint = suggestion::hint(name, "the Runnables are", names.iter().map(String::as_str))
            .unwrap_or_else(|| {
                "`cartouche get --all-namespaces` shows those of all namespaces".to_owned()
            });
        Err(anyhow!(
            "there is no Runnable {name} in the namespace {}\nhint: {hint}",
            self.namespace
        ))
    }

    /// Returns a Runnable by its name, or `None` if there is none.
    pub(crate) async fn runnable_if_any(&self, name: &str) -> anyhow::Result<Option<Runnable>> {
        own(&format!("reading Runnable {name}"), &self.api(), name).await
    }

    /// Returns a Runnable of any namespace: `None` if the user may not read it, `Some(None)` if there is none.
    pub(crate) async fn visible_runnable(
        &self,
        namespace: &str,
        name: &str,
    ) -> anyhow::Result<Option<Option<Runnable>>> {
        let api: Api<Runnable> = self.in_namespace(namespace).api();
        let got = async {
            match api.get_opt(name).await {
                Err(kube::Error::Api(status)) if status.code == 403 => Ok(None),
                other => other.map(Some),
            }
        };
        within(&format!("reading Runnable {namespace}/{name}"), got).await
    }

    pub(crate) async fn runnables(&self, everywhere: bool) -> anyhow::Result<Vec<Runnable>> {
        self.runnables_with(None, everywhere).await
    }

    /// Returns the selected Runnables, in the namespace or in all.
    pub(crate) async fn selected_runnables(
        &self,
        selection: &SelectionArgs,
        everywhere: bool,
    ) -> anyhow::Result<Vec<Runnable>> {
        let labels = selection.selector.as_deref();
        let mut found = self.runnables_with(labels, everywhere).await?;
        found.retain(|runnable| selection.picks(runnable));
        Ok(found)
    }

    /// Returns the Runnables with these labels, written as for kubectl, in the namespace or in all.
    pub(crate) async fn runnables_with(
        &self,
        labels: Option<&str>,
        everywhere: bool,
    ) -> anyhow::Result<Vec<Runnable>> {
        let api = self.runnable_api(everywhere);
        let parameters = ListParams {
            label_selector: labels.map(str::to_owned),
            ..ListParams::default()
        };
        let list = within("listing Runnables", api.list(&parameters)).await?;
        Ok(list.items)
    }

    /// Reads a Runnable again; returns `None` if it is gone or no longer selected.
    pub(crate) async fn still_selected(
        &self,
        selection: &SelectionArgs,
        name: &str,
    ) -> anyhow::Result<Option<Runnable>> {
        let api: Api<Runnable> = self.api();
        let what = format!("reading Runnable {name} again");
        let found = match &selection.selector {
            None => within(&what, api.get_opt(name)).await?,
            Some(labels) => {
                let field = format!("metadata.name={name}");
                let parameters = ListParams::default().labels(labels).fields(&field);
                within(&what, api.list(&parameters)).await?.items.pop()
            }
        };
        Ok(found.filter(|runnable| selection.picks(runnable)))
    }

    /// Returns the API of the Runnables of the namespace, or of all.
    pub(crate) fn runnable_api(&self, everywhere: bool) -> Api<Runnable> {
        if everywhere {
            Api::all(self.client.clone())
        } else {
            self.api()
        }
    }

    pub(crate) async fn template(&self, name: &str) -> anyhow::Result<Option<ClusterRunTemplate>> {
        let api: Api<ClusterRunTemplate> = self.cluster_api();
        let what = format!("reading ClusterRunTemplate {name}");
        own(&what, &api, name).await
    }

    /// Returns all templates.
    pub(crate) async fn templates(&self) -> anyhow::Result<Vec<ClusterRunTemplate>> {
        let api: Api<ClusterRunTemplate> = self.cluster_api();
        let listed = within("listing the templates", api.list(&ListParams::default())).await?;
        Ok(listed.items)
    }

    pub(crate) fn cluster_api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = ClusterResourceScope, DynamicType = ()>,
    {
        Api::all(self.client.clone())
    }

    /// Returns the user name that the API server reports for the user, or `None` if it reports none.
    pub(crate) async fn user(&self) -> Option<String> {
        let api: Api<SelfSubjectReview> = self.cluster_api();
        let (parameters, question) = (PostParams::default(), SelfSubjectReview::default());
        let asked = api.create(&parameters, &question);
        let review = within("asking who I am", asked).await.ok()?;
        review.status?.user_info?.username
    }

    /// Returns the OpenAPI document of an API version, or `None` if the cluster does not serve it.
    pub(crate) async fn open_api(&self, api_version: &str) -> anyhow::Result<Option<Value>> {
        let path = match api_version.split_once('/') {
            Some((group, version)) => format!("/openapi/v3/apis/{group}/{version}"),
            None => format!("/openapi/v3/api/{api_version}"),
        };
        let what = format!("reading the schemas of {api_version}");
        let Ok(request) = http::Request::get(path).body(Vec::new()) else {
            return Ok(None);
        };
        let asked = tokio::time::timeout(DEADLINE, self.client.request::<Value>(request)).await;
        match asked.with_context(|| late(&what))? {
            Ok(document) => Ok(Some(document)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(explain_error(&what, error)),
        }
    }

    /// Returns the resource and scope of a kind, or `None` if the cluster does not serve it.
    pub(crate) async fn find_kind(
        &self,
        api_version: &str,
        kind: &str,
    ) -> anyhow::Result<Option<ServedKind>> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let name = GroupVersionKind::gvk(group, version, kind);
        let what = format!("looking up {kind} of {api_version}");
        let found =
            tokio::time::timeout(DEADLINE, discovery::pinned_kind(&self.client, &name)).await;
        match found.with_context(|| late(&what))? {
            Ok((resource, capabilities)) => Ok(Some(ServedKind {
                resource,
                namespaced: capabilities.scope == Scope::Namespaced,
            })),
            Err(kube::Error::Discovery(_)) => Ok(None),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(explain_error(&what, error)),
        }
    }

    /// Returns an object of any kind in the namespace, or `None` if the object or its kind does not exist.
    pub(crate) async fn object(
        &self,
        api_version: &str,
        kind: &str,
        name: &str,
    ) -> anyhow::Result<Option<DynamicObject>> {
        let Some(served) = self.find_kind(api_version, kind).await? else {
            return Ok(None);
        };
        let api = self.objects(&served);
        within(&format!("reading {kind} {name}"), api.get_opt(name)).await
    }

    /// Returns the API of a kind's objects, in the namespace if the kind is namespaced.
    pub(crate) fn objects(&self, served: &ServedKind) -> Api<DynamicObject> {
        let (client, resource) = (self.client.clone(), &served.resource);
        if served.namespaced {
            Api::namespaced_with(client, &self.namespace, resource)
        } else {
            Api::all_with(client, resource)
        }
    }

    /// Returns the object that a selector picks; none or several are an error.
    pub(crate) async fn select(&self, selector: &Selector) -> anyhow::Result<DynamicObject> {
        let api_version = selector.resource.api_version.as_deref().unwrap_or_default();
        let kind = selector.resource.kind.as_deref().unwrap_or_default();
        let Some(served) = self.find_kind(api_version, kind).await? else {
            return Err(anyhow!(
                "the cluster has no kind {kind} of {api_version}, which the Runnable selects"
            ));
        };
        if let Some(wrong) = wrong_label(&selector.matching_labels) {
            return Err(anyhow!("{wrong}"));
        }
        let labels = wanted_labels(selector).join(",");
        let parameters = ListParams::default().labels(&labels).limit(2);
        let api = self.objects(&served);
        let what = format!("listing {kind} for the selector");
        let mut found = within(&what, api.list(&parameters)).await?.items;
        match (found.pop(), found.len()) {
            (Some(mut one), 0) => {
                one.types = Some(kube::api::TypeMeta {
                    api_version: api_version.to_owned(),
                    kind: kind.to_owned(),
                });
                Ok(one)
            }
            (None, _) => Err(anyhow!("the selector of the Runnable matches no {kind}")),
            (Some(_), _) => Err(anyhow!(
                "the selector of the Runnable matches more than one object of kind {kind}"
            )),
        }
    }
}

/// Returns the labels that a selector requires, as `key=value`.
pub(crate) fn wanted_labels(selector: &Selector) -> Vec<String> {
    let labels = selector.matching_labels.iter();
    labels
        .map(|(key, value)| format!("{key}={value}"))
        .collect()
}

/// Returns an object as JSON, with the `apiVersion` and `kind` that lists leave out.
pub(crate) fn as_json<K: Resource<DynamicType = ()> + serde::Serialize + DeserializeOwned>(
    object: &K,
) -> anyhow::Result<Value> {
    let mut json = serde_json::to_value(object)?;
    if let Some(fields) = json.as_object_mut() {
        fields.insert("apiVersion".to_owned(), K::api_version(&()).into());
        fields.insert("kind".to_owned(), K::kind(&()).into());
    }
    Ok(json)
}

/// Runs work that talks to a cluster, on this thread.
pub(crate) fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the process cannot talk to a network")?;
    runtime.block_on(work)
}

#[cfg(test)]
mod tests;
