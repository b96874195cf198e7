//! The name that was probably meant, of those that the user may list.

use cartouche_crds::Runnable;
use cartouche_protocol::reconcile_error::Category;
use cartouche_templating::suggestion;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::{Api, ResourceExt, api::ListParams};

use crate::cluster::{Cluster, within};

/// The template or the account that was probably meant, where this reason says that there is none of its name.
pub(super) async fn name(reason: &str, runnable: &Runnable, cluster: &Cluster) -> Option<String> {
    let (wanted, known): (&str, Vec<String>) = match Category::parse(reason)? {
        Category::RunTemplateNotFound => {
            let all = cluster.templates().await.ok()?;
            let wanted = &runnable.spec.run_template_ref.name;
            (wanted, all.iter().map(ResourceExt::name_any).collect())
        }
        Category::ServiceAccountError => {
            let api: Api<ServiceAccount> = cluster.api();
            let all = ListParams::default();
            let listed = within("listing accounts", api.list_metadata(&all)).await;
            let names = listed
                .ok()?
                .items
                .iter()
                .map(ResourceExt::name_any)
                .collect();
            (runnable.spec.service_account(), names)
        }
        _ => return None,
    };
    let meant = suggestion::nearest(wanted, known.iter().map(String::as_str))?;
    Some(format!("did you mean '{meant}'?"))
}
