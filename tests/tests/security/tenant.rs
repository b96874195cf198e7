//! What somebody can reach who has the role `edit` in one namespace and nothing else, on a cluster
//! whose templates do whatever their inputs say: more than two hundred attempts, none of which leaves
//! the namespace, uses the rights of others, or shows what the tenant may not read.

mod attempts;
mod direct;
mod forgeries;

use std::{collections::BTreeMap, fmt::Write as _};

use anyhow::{Result, ensure};
use cartouche_tests::{
    cluster::{Account, AuditEvent, AuditLog, Cluster, Rights, Seen},
    controller::{Controller, Settings},
};
use kube::api::{DynamicObject, PostParams};
use serde_json::{Value, json};

use crate::{
    ground::{self, DEMO, SOON, apply, condition},
    secrets::base64,
};
use attempts::{Attempt, Outcome};

/// In a Secret of the victim, and in one of the tenant's namespace that its account may not read.
pub(crate) const PLANTED: &str = "planted-for-others";

pub(crate) struct Tenant {
    pub(crate) cluster: Cluster,
    pub(crate) namespace: String,
    pub(crate) victim: String,
    /// Who has the role `edit`.
    pub(crate) account: Account,
}

impl Tenant {
    async fn settle() -> Result<Self> {
        let cluster = ground::cluster().await?;
        let namespace = ground::namespace(&cluster, "tenant").await?;
        let victim = ground::namespace(&cluster, "victim").await?;
        let account = cluster.service_account(&namespace, "person", &[]).await?;
        let rights = ["secrets", "resourcequotas"].map(|it| Rights::of_a_runnable("", it));
        cluster
            .service_account(&namespace, "smith", &rights)
            .await?;
        for (namespace, subject, role) in [
            (&namespace, account.clone(), "edit"),
            (&victim, Account::new(&victim, "mighty"), "admin"),
        ] {
            cluster
                .service_account(namespace, &subject.name, &[])
                .await?;
            let who = format!("--serviceaccount={}:{}", subject.namespace, subject.name);
            let role = format!("--clusterrole={role}");
            let bind = [
                "-n",
                namespace,
                "create",
                "rolebinding",
                "of-the-test",
                &role,
                &who,
            ];
            cluster.kubectl(&bind).await?;
        }
        let secret = |namespace: &str| {
            json!({
                "apiVersion": "v1", "kind": "Secret",
                "metadata": { "name": "own", "namespace": namespace, "labels": { "pick": "me" } },
                "stringData": { "password": PLANTED },
            })
        };
        let mut objects = attempts::templates();
        objects.extend([secret(&namespace), secret(&victim)]);
        objects.push(ground::runnable(
            &victim,
            "theirs",
            "echo",
            &json!({ "say": "theirs" }),
        ));
        apply(&cluster, &objects).await?;
        Ok(Self {
            cluster,
            namespace,
            victim,
            account,
        })
    }

    /// All that a tenant must not change: what is outside its namespace, every field of it.
    async fn others(&self) -> Result<BTreeMap<String, Value>> {
        let kinds = "secrets,configmaps,serviceaccounts,runnables,roles,rolebindings,jobs,pods";
        let cluster_kinds = "clusterroles,clusterrolebindings,customresourcedefinitions,namespaces,\
                             clusterruntemplates,mutatingwebhookconfigurations,priorityclasses";
        let mut found = BTreeMap::new();
        for arguments in [
            ["-n", &self.victim, "get", kinds, "-o", "json"].as_slice(),
            &["get", cluster_kinds, "-o", "json"],
        ] {
            let list: Value = serde_json::from_str(&self.cluster.kubectl(arguments).await?)?;
            for object in list["items"].as_array().into_iter().flatten() {
                let name = format!("{} {}", object["kind"], object["metadata"]["name"]);
                found.insert(name, lasting(object.clone()));
            }
        }
        Ok(found)
    }

    /// Makes all Runnables as the tenant. Those that the API server refuses are done with.
    async fn make(&self, attempts: &[Attempt]) -> Result<Vec<Option<String>>> {
        let client = self.cluster.client_of(&self.account).await?;
        let api = kube::Api::<DynamicObject>::namespaced_with(
            client,
            &self.namespace,
            &attempts::runnables(),
        );
        let mut refused = Vec::new();
        for (index, attempt) in attempts.iter().enumerate() {
            let mut object = ground::runnable(
                &self.namespace,
                &format!("t{index}"),
                attempt.template,
                &attempt.inputs,
            );
            if let Some(account) = &attempt.account {
                object["spec"]["serviceAccountName"] = json!(account);
            }
            if let Some(selector) = &attempt.selector {
                object["spec"]["selector"] = selector.clone();
            }
            let object: DynamicObject = serde_json::from_value(object)?;
            refused.push(match api.create(&PostParams::default(), &object).await {
                Ok(_) => None,
                Err(kube::Error::Api(status)) => Some(status.message.clone()),
                Err(error) => return Err(error.into()),
            });
        }
        Ok(refused)
    }

    /// Waits until every Runnable that was made has an answer for the tenant.
    async fn answers(&self) -> Result<Vec<Value>> {
        self.cluster
            .eventually("an answer to every attempt", SOON, || async {
                let runnables = ground::all(&self.cluster, &self.namespace, "runnables").await?;
                let open: Vec<_> = runnables
                    .iter()
                    .filter(|it| {
                        ["", "Unknown"].contains(
                            &condition(it, "Ready")["status"]
                                .as_str()
                                .unwrap_or_default(),
                        )
                    })
                    .map(|it| format!("{} {}", it["spec"], it["status"]))
                    .collect();
                Ok(if open.is_empty() {
                    Seen::Done(runnables)
                } else {
                    Seen::NotYet(open.join("\n"))
                })
            })
            .await
    }
}

#[tokio::test]
async fn two_hundred_attempts_reach_nothing_beyond_the_namespace() -> Result<()> {
    let tenant = Tenant::settle().await?;
    let settings = Settings::with_arguments(&["--log", "debug", "--max-watched-kinds", "20"]);
    let controller = Controller::start(DEMO, &tenant.cluster, &settings).await?;
    let theirs = || async {
        let found = ground::all(&tenant.cluster, &tenant.victim, "runnables").await?;
        Ok(
            if found
                .iter()
                .all(|it| condition(it, "Ready")["status"] == "True")
            {
                Seen::Done(())
            } else {
                Seen::NotYet(json!(found).to_string())
            },
        )
    };
    tenant
        .cluster
        .eventually("the victim to be served", SOON, theirs)
        .await?;
    let (before, audit) = (tenant.others().await?, tenant.cluster.audit()?);

    let attempts = attempts::all(&tenant).await?;
    let refused = tenant.make(&attempts).await?;
    let runnables = tenant.answers().await?;
    let mut table = String::new();
    let mut wrong = Vec::new();
    for (index, (attempt, refusal)) in attempts.iter().zip(refused).enumerate() {
        let name = format!("t{index}");
        let runnable = runnables
            .iter()
            .find(|it| it["metadata"]["name"] == name.as_str());
        let answer = attempt.outcome.judge(runnable, refusal.as_deref());
        let (word, why) = match &answer {
            Ok(why) => (attempt.outcome.word(), why),
            Err(why) => ("REACHED", why),
        };
        writeln!(table, "{word} {}: {}: {why}", attempt.group, attempt.what)?;
        wrong.extend(
            answer
                .err()
                .map(|why| format!("{}: {}: {why}", attempt.group, attempt.what)),
        );
    }
    let direct = direct::attempts(&tenant).await?;
    for (what, answer) in &direct {
        let word = if answer.starts_with("403") {
            "refused"
        } else {
            "REACHED"
        };
        writeln!(table, "{word} direct: {what}: {answer}")?;
        if word == "REACHED" {
            wrong.push(format!("{what}: {answer}"));
        }
    }
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("attempts-of-a-tenant.txt");
    std::fs::write(&file, table)?;
    let count = attempts.len() + direct.len();
    ensure!(count >= 200, "{count} attempts only");
    ensure!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );

    let after = tenant.others().await?;
    let changed: Vec<_> = before.keys().chain(after.keys()).collect();
    let changed = changed
        .into_iter()
        .filter(|name| before.get(*name) != after.get(*name))
        .map(|name| {
            format!(
                "{name}: {:?} became {:?}",
                before.get(name),
                after.get(name)
            )
        });
    let changed: Vec<_> = changed.collect();
    ensure!(changed.is_empty(), "of others: {}", changed.join("\n"));
    forgeries::look(&tenant, &attempts, &runnables, &audit).await?;
    acted_as_its_own(&tenant, &audit)?;
    shows_nothing(&tenant, &controller, &runnables).await
}

/// An object without what changes though nobody does anything to it: its versions, and what the
/// controller says of a template.
fn lasting(mut object: Value) -> Value {
    for field in ["managedFields", "resourceVersion"] {
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove(field);
        }
    }
    if object["kind"] == "ClusterRunTemplate" {
        object["status"].take();
    }
    object
}

/// What the controller did for the tenant it did as accounts of that namespace, and inside it.
fn acted_as_its_own(tenant: &Tenant, audit: &AuditLog) -> Result<()> {
    let own = Controller::account().user();
    let ours = format!("system:serviceaccount:{}:", tenant.namespace);
    // The controller goes on to serve the victim.
    let victims = format!("system:serviceaccount:{}:runner", tenant.victim);
    let bookkeeping = |event: &AuditEvent| {
        event.acting_as() == own
            && (event.resource().ends_with("/status") || event.resource() == "events")
            && ["update", "create"].contains(&event.verb.as_str())
    };
    let mut as_accounts = 0;
    for event in audit.events()?.iter().filter(|event| event.user() == own) {
        let reads = ["get", "list", "watch"].contains(&event.verb.as_str());
        let line = || {
            format!(
                "{} {} as {}: {}",
                event.verb,
                event.request_uri,
                event.acting_as(),
                event.code()
            )
        };
        if event.acting_as() == own {
            ensure!(reads || bookkeeping(event), "{}", line());
            let secrets = event.resource() == "secrets" && event.took_effect();
            ensure!(!secrets, "{}", line());
            continue;
        }
        as_accounts += 1;
        let theirs = event.acting_as() == victims;
        ensure!(event.acting_as().starts_with(&ours) || theirs, "{}", line());
        let everywhere = event.namespace().is_empty();
        let inside = event.namespace() == tenant.namespace;
        ensure!(inside || everywhere || theirs, "{}", line());
        let reached = everywhere && event.took_effect() && !event.resource().is_empty();
        ensure!(!reached, "{}", line());
    }
    ensure!(as_accounts > 0, "nothing was done as an account");
    Ok(())
}

/// What was planted is in nothing that the tenant can read but the Secret itself, neither as it is nor
/// as a Secret has it.
async fn shows_nothing(
    tenant: &Tenant,
    controller: &Controller,
    runnables: &[Value],
) -> Result<()> {
    let mut written = vec![("Runnables", json!(runnables).to_string())];
    for resource in ["events", "configmaps"] {
        let objects = ground::all(&tenant.cluster, &tenant.namespace, resource).await?;
        written.push((resource, json!(objects).to_string()));
    }
    written.push(("the log", controller.log()?));
    for (place, text) in written {
        for planted in [PLANTED, &base64(PLANTED)] {
            ensure!(!text.contains(planted), "it is in {place}");
        }
    }
    Ok(())
}

impl Outcome {
    fn word(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::WithoutOutputs => "nothing read",
            Self::Genuine => "genuine",
        }
    }

    /// What became of an attempt: `Ok` if it reached nothing.
    fn judge(self, runnable: Option<&Value>, refusal: Option<&str>) -> Result<String, String> {
        let Some(runnable) = runnable else {
            return refusal
                .map(|why| format!("by the API server: {why}"))
                .ok_or_else(|| "it is gone".to_owned());
        };
        let (ready, current) = (
            condition(runnable, "Ready"),
            &runnable["status"]["currentRun"],
        );
        let said = format!("{}: {}", ready["reason"], ready["message"]);
        let reached = match self {
            Self::Refused => ready["status"] != "False" || current["phase"] == "Created",
            Self::WithoutOutputs => {
                current["phase"] != "Created" || !runnable["status"]["outputs"].is_null()
            }
            Self::Genuine => current["phase"] != "Created",
        };
        if reached {
            Err(format!("{said} {}", runnable["status"]))
        } else {
            Ok(said)
        }
    }
}
