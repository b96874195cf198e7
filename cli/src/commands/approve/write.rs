//! Writes of an approval or a rejection to the Runnable.

use anyhow::{anyhow, bail};
use cartouche_crds::{APPROVED_ANNOTATION, Approval, REJECTED_ANNOTATION, Rejection, Runnable};
use kube::{
    Api, ResourceExt as _,
    api::{Patch, PatchParams},
    core::Status,
};
use serde_json::{Value, json};

use crate::{
    cluster::{CLIENT, Cluster, within},
    live::place::Place,
};

/// Resource that stands for the right to approve: the cluster's policy refuses users who may not update it.
const RIGHT: &str = "runnables/approval";

/// Approves the run of the Runnable as it was read: an edit in between is a conflict. It removes an earlier
/// rejection.
pub(super) async fn approve(
    runnable: &Runnable,
    approval: &Approval,
    cluster: &Cluster,
) -> anyhow::Result<()> {
    let mut annotations = json!({ APPROVED_ANNOTATION: approval.to_string() });
    if runnable.annotations().contains_key(REJECTED_ANNOTATION) {
        annotations[REJECTED_ANNOTATION] = Value::Null;
    }
    let what = format!("approving run {} of", approval.sequence);
    write(runnable, &annotations, &what, cluster).await
}

/// Rejects the run that the status asks about, of the Runnable as it was read. It removes an approval of the same
/// run, which would count again if someone deleted the rejection.
pub(super) async fn reject(
    runnable: &Runnable,
    (approval, rejection): (&Approval, &Rejection),
    cluster: &Cluster,
) -> anyhow::Result<()> {
    let mut annotations = json!({ REJECTED_ANNOTATION: rejection.annotation() });
    let given = runnable.annotations().get(APPROVED_ANNOTATION);
    if given == Some(&rejection.approval) {
        annotations[APPROVED_ANNOTATION] = Value::Null;
    }
    let what = format!("rejecting run {} of", approval.sequence);
    write(runnable, &annotations, &what, cluster).await
}

async fn write(
    runnable: &Runnable,
    annotations: &Value,
    what: &str,
    cluster: &Cluster,
) -> anyhow::Result<()> {
    let (api, name): (Api<Runnable>, _) = (cluster.api(), runnable.name_any());
    let Some(version) = runnable.resource_version() else {
        bail!(
            "Runnable {name} has no resourceVersion, so the command would not notice a change in the meantime"
        );
    };
    let patch = Patch::Merge(json!({ "metadata": {
        "resourceVersion": version,
        "annotations": annotations,
    } }));
    let what = format!("{what} {name}");
    let parameters = PatchParams::apply(CLIENT);
    let patched = async {
        match api.patch(&name, &parameters, &patch).await {
            Err(kube::Error::Api(status)) if matches!(status.code, 403 | 409 | 422) => {
                Ok(Err(status))
            }
            other => other.map(Ok),
        }
    };
    match within(&what, patched).await? {
        Ok(_) => Ok(()),
        Err(status) => Err(refusal(&what, &status, &name, &cluster.place())),
    }
}

/// Explains the API server's refusal of the write, with what to do.
fn refusal(what: &str, status: &Status, name: &str, place: &Place) -> anyhow::Error {
    let said = &status.message;
    if status.code == 409 {
        let again = place.command(&format!("approve {name}"));
        return anyhow!(
            "{name} has changed in the meantime: nothing is approved\nhint: repeat `{again}`"
        );
    }
    if said.contains(RIGHT) {
        return anyhow!(
            "{what}: {said}\nhint: ask for the permission `update` on `{RIGHT}` in this namespace, which lets you approve"
        );
    }
    if said.contains(" cannot patch ") {
        return anyhow!(
            "{what}: {said}\nhint: ask for the permissions `patch` on `runnables` and `update` on `{RIGHT}` in this namespace"
        );
    }
    anyhow!("{what}: {said}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(code: u16, message: &str) -> String {
        let status: Status = serde_json::from_value(json!({
            "kind": "Status", "status": "Failure", "code": code, "reason": "R", "message": message,
        }))
        .unwrap();
        let place = Place::new("shop", "demo");
        refusal("approving run 4 of hello", &status, "hello", &place).to_string()
    }

    #[test]
    fn who_may_not_approve_is_told_which_right_to_ask_for() {
        let denied = "runnables.carto.run \"hello\" is forbidden: ValidatingAdmissionPolicy 'approval' with binding 'approval' denied request: bob may not update on runnables/approval";
        for code in [403, 422] {
            let told = told(code, denied);
            assert!(told.contains("bob may not"), "{told}");
            assert!(
                told.contains("\nhint: ask for the permission `update` on `runnables/approval`"),
                "{told}"
            );
        }
        let forbidden = "runnables.carto.run \"hello\" is forbidden: User \"bob\" cannot patch resource \"runnables\" in API group \"carto.run\" in the namespace \"shop\"";
        let told = told(403, forbidden);
        assert!(
            told.contains("`patch` on `runnables` and `update` on `runnables/approval`"),
            "{told}"
        );
    }

    #[test]
    fn an_edit_in_between_is_no_approval_and_asks_for_another_look() {
        let told = told(
            409,
            "the object has been modified; please apply your changes",
        );
        assert_eq!(
            told,
            "hello has changed in the meantime: nothing is approved\n\
             hint: repeat `cartouche approve hello -n shop`"
        );
    }

    #[test]
    fn another_refusal_is_told_as_it_is() {
        let told = told(422, "metadata.annotations: Too long");
        assert_eq!(
            told,
            "approving run 4 of hello: metadata.annotations: Too long"
        );
    }
}
