//! Names and metadata that others would believe, and their results: the runs as they were requested, and as
//! they are.

use anyhow::{Context, Result, ensure};
use cartouche_language::name_suffix;
use cartouche_tests::{
    cluster::AuditLog,
    fixture::objects::name_of,
    kind::{CONFIG_MAP, Kind, SECRET},
};
use serde_json::{Value, json};

use super::{
    QUOTA, Tenant,
    attempts::{Attempt, Outcome, attempt, config_map},
};

/// Fields that no create of a run may carry, though the API server might remove them.
const NEVER_SENT: [&str; 4] = [
    "/metadata/finalizers",
    "/metadata/resourceVersion",
    "/metadata/uid",
    "/status",
];

/// Kinds that the accounts of the tenant may make.
const RUNS: [Kind; 3] = [CONFIG_MAP, SECRET, QUOTA];

/// Writer of a part of a run, in forged managed fields. The audit log leaves these out.
const FORGER: &str = "forger";

pub(super) fn names() -> Vec<Attempt> {
    let names = [
        "../secrets/own",
        "own/status",
        "own?dryRun=All",
        "own#x",
        "own%2f..%2fsecrets",
        "OWN",
        "own;x",
        "own\n",
        "own\0",
        ".",
        "..",
        "-",
        " ",
        "ö",
        "a..b",
    ];
    let fixed = names.map(|name| {
        attempt(
            "name",
            format!("{name:?}"),
            "any-data",
            config_map(&json!({ "name": name })),
        )
    });
    let long = format!("{}-", "x".repeat(252));
    let prefix = |prefix: &str, outcome: Outcome| {
        let metadata = json!({ "generateName": prefix });
        Attempt {
            outcome,
            ..attempt(
                "prefix",
                format!("{prefix:.20?}"),
                "any-data",
                config_map(&metadata),
            )
        }
    };
    // The name is shortened to a valid one; the API server refuses some prefixes itself.
    let refused = ["../x-", "x y-", "-", "x\r\n-"].map(|it| prefix(it, Outcome::Refused));
    let odd = ["X-", "x_-", "x.-", "0", &long].map(|it| prefix(it, Outcome::Genuine));
    fixed.into_iter().chain(refused).chain(odd).collect()
}

/// Returns attempts with metadata that others would believe. The run is made without them.
pub(super) fn metadata(tenant: &Tenant) -> Vec<Attempt> {
    let owner = json!([{
        "apiVersion": "v1", "kind": "Namespace", "name": tenant.others.namespace, "uid": "0", "controller": true,
    }]);
    let labels = json!({
        "carto.run/runnable-name": "theirs", "carto.run/runnable-uid": "0", "carto.run/run-sequence": "99",
    });
    let hash = json!({ "carto.run/input-hash": "v1:0" });
    let uid = "00000000-0000-0000-0000-000000000000";
    let past = "2001-01-01T00:00:00Z";
    // As the API server would keep them.
    let managed = json!({
        "manager": FORGER, "operation": "Update", "apiVersion": "v1", "time": past,
        "fieldsType": "FieldsV1", "fieldsV1": { "f:data": { "f:a": {} } },
    });
    let mut attempts: Vec<_> = [
        ("owner", json!({ "ownerReferences": owner })),
        ("finalizer", json!({ "finalizers": ["example.com/never"] })),
        ("labels of another Runnable", json!({ "labels": labels })),
        ("hash of another run", json!({ "annotations": hash })),
        ("uid", json!({ "uid": uid })),
        ("resourceVersion", json!({ "resourceVersion": "1" })),
        ("managed fields", json!({ "managedFields": [managed] })),
        ("creation", json!({ "creationTimestamp": past })),
        ("deletion", json!({ "deletionTimestamp": past })),
    ]
    .into_iter()
    .map(|(what, mut metadata)| {
        metadata["generateName"] = json!("forged-");
        forgery(what, "any-data", config_map(&metadata))
    })
    .collect();
    let status = json!({ "status": { "hard": { "example.com/forged": "7" } } });
    attempts.push(Attempt {
        account: Some("smith".to_owned()),
        ..forgery("status", "any-status", status)
    });
    attempts
}

fn forgery(what: &str, template: &'static str, inputs: Value) -> Attempt {
    Attempt {
        outcome: Outcome::Genuine,
        ..attempt("forged metadata", what, template, inputs)
    }
}

/// Checks everything that was made in the tenant's namespace: each object is the run of one Runnable by name,
/// number, owner and hash, as Cartouche makes it, and each attempt that must make one has.
pub(super) async fn look(
    tenant: &Tenant,
    attempts: &[Attempt],
    runnables: &[Value],
    audit: &AuditLog,
) -> Result<()> {
    let mut made = Vec::new();
    for kind in RUNS {
        made.extend(tenant.own.list(kind, "").await?);
    }
    // These existed before.
    made.retain(|it| !["kube-root-ca.crt", "own"].contains(&name_of(it)));
    for object in &made {
        let owner = &object["metadata"]["ownerReferences"][0]["uid"];
        let runnable = runnables.iter().find(|it| it["metadata"]["uid"] == *owner);
        let runnable = runnable.with_context(|| format!("nobody's: {object}"))?;
        is_genuine(object, runnable).with_context(|| format!("{object} of {runnable}"))?;
    }
    let runs = attempts.iter();
    let wanted = runs.filter(|it| !matches!(it.outcome, Outcome::Refused));
    let (made, wanted) = (made.len(), wanted.count());
    ensure!(made == wanted, "{made} runs for {wanted} attempts");
    let sent = sent(audit, &tenant.own.namespace)?;
    ensure!(sent >= wanted, "{sent} creates for {wanted} runs");
    Ok(())
}

/// Returns the number of creates of runs that were sent in a namespace. None may carry a field that is never
/// sent.
fn sent(audit: &AuditLog, namespace: &str) -> Result<usize> {
    let mut sent = 0;
    for event in audit.in_namespace(namespace)? {
        if event.verb != "create" || RUNS.iter().all(|it| it.audited() != event.resource()) {
            continue;
        }
        let Some(object) = &event.request_object else {
            continue;
        };
        sent += 1;
        for field in NEVER_SENT {
            // The log has an empty status where none was sent.
            let there = object.pointer(field).filter(|it| **it != json!({}));
            ensure!(there.is_none(), "{field} was sent: {object}");
        }
    }
    Ok(sent)
}

/// Checks that a run has everything that Cartouche gives it, and nothing else.
fn is_genuine(object: &Value, runnable: &Value) -> Result<()> {
    let (metadata, current) = (&object["metadata"], &runnable["status"]["currentRun"]);
    let (name, uid) = (&runnable["metadata"]["name"], &runnable["metadata"]["uid"]);
    let owners = json!([{
        "apiVersion": "carto.run/v1alpha1", "kind": "Runnable", "name": name, "uid": uid,
        "controller": true, "blockOwnerDeletion": false,
    }]);
    ensure!(metadata["ownerReferences"] == owners, "its owners");
    ensure!(
        metadata["namespace"] == runnable["metadata"]["namespace"],
        "its namespace"
    );
    for field in ["finalizers", "deletionTimestamp"] {
        ensure!(metadata.get(field).is_none(), "its {field}");
    }
    ensure!(
        !object["status"].to_string().contains("forged"),
        "its status"
    );
    let writers = metadata["managedFields"].as_array();
    let writers = writers.map(|all| all.iter().map(|it| &it["manager"]).collect::<Vec<_>>());
    ensure!(
        writers.is_some_and(|all| !all.is_empty() && all.iter().all(|it| **it != FORGER)),
        "its managed fields"
    );
    ensure!(metadata["uid"] == current["uid"], "its uid");
    // Both are times of the API server in the same format.
    let created = metadata["creationTimestamp"].as_str();
    ensure!(
        created >= runnable["metadata"]["creationTimestamp"].as_str(),
        "its age"
    );
    let labels = json!({
        "carto.run/runnable-name": name,
        "carto.run/runnable-uid": uid,
        "carto.run/run-sequence": "1",
        "carto.run/run-template-name": runnable["spec"]["runTemplateRef"]["name"],
    });
    ensure!(metadata["labels"] == labels, "its labels");
    let hash = &metadata["annotations"]["carto.run/input-hash"];
    ensure!(*hash == current["inputHash"], "its hash");
    let name = name_of(object);
    let suffix = name_suffix(uid.as_str().unwrap_or_default(), 1);
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-".contains(c);
    ensure!(
        name == current["name"].as_str().unwrap_or_default()
            && name.ends_with(&suffix)
            && name.len() <= 52
            && name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.chars().all(is_name),
        "its name"
    );
    Ok(())
}
