//! Attempts of a user who has the role `edit` in one namespace and nothing else, on a cluster whose templates
//! do everything that their inputs demand. There are more than two hundred, none of which leaves the
//! namespace, uses the rights of others, or shows what the tenant may not read.

mod attempts;
mod direct;
mod elsewhere;
mod forgeries;

use std::{collections::BTreeMap, fmt::Write as _, path::Path};

use anyhow::{Result, ensure};
use cartouche_tests::{
    cluster::{Account, AuditEvent, AuditLog},
    controller::{Controller, Settings},
    fixture::{Fixture, objects::name_of},
    kind::{CONFIG_MAP, EVENT, Kind, RUNNABLE, SECRET},
};
use kube::{
    Api,
    api::{DynamicObject, PostParams},
};
use serde_json::{Value, json};

use crate::{
    ground::{self, DEMO, condition, is_ready, says, text},
    secrets::base64,
};
use attempts::{Attempt, Outcome};

/// Value in a Secret of the victim, and in one of the tenant's namespace that its account may not read.
pub(crate) const PLANTED: &str = "planted-for-others";

/// Quotas have a status.
const QUOTA: Kind = Kind::new("", "v1", "ResourceQuota", "resourcequotas");

pub(crate) struct Tenant {
    pub(crate) own: Fixture,
    /// A namespace of another tenant.
    pub(crate) others: Fixture,
    /// The account with the role `edit`.
    pub(crate) account: Account,
}

impl Tenant {
    async fn settle() -> Result<Self> {
        let cluster = ground::cluster().await?;
        let runs = [CONFIG_MAP.rights_of_a_runnable()];
        let own = ground::namespace(&cluster, "tenant", &runs).await?;
        let others = ground::namespace(&cluster, "victim", &runs).await?;
        let smiths = [SECRET, QUOTA].map(Kind::rights_of_a_runnable);
        own.allow("smith", &smiths).await?;
        let account = with_role(&own, "person", "edit").await?;
        with_role(&others, "mighty", "admin").await?;
        for (name, template) in attempts::templates() {
            own.template_named(name, template).await?;
        }
        for namespace in [&own, &others] {
            let planted = json!({
                "apiVersion": "v1", "kind": "Secret",
                "metadata": { "name": "own", "labels": { "pick": "me" } },
                "stringData": { "password": PLANTED },
            });
            namespace.put(planted).await?;
        }
        let mut theirs = says("theirs");
        theirs["runTemplateRef"] = json!({ "name": "echo" });
        others.runnable("theirs", theirs).await?;
        Ok(Self {
            own,
            others,
            account,
        })
    }

    /// Returns everything that a tenant must not change: all objects outside its namespace, with every field.
    async fn everything_else(&self) -> Result<BTreeMap<String, Value>> {
        let kinds = "secrets,configmaps,serviceaccounts,runnables,roles,rolebindings,jobs,pods";
        let cluster_kinds = "clusterroles,clusterrolebindings,customresourcedefinitions,namespaces,\
                             clusterruntemplates,mutatingwebhookconfigurations,priorityclasses";
        let mut found = BTreeMap::new();
        for arguments in [
            ["-n", &self.others.namespace, "get", kinds, "-o", "json"].as_slice(),
            &["get", cluster_kinds, "-o", "json"],
        ] {
            let list: Value = serde_json::from_str(&self.own.cluster.kubectl(arguments).await?)?;
            for object in list["items"].as_array().into_iter().flatten() {
                let name = format!("{} {}", object["kind"], object["metadata"]["name"]);
                found.insert(name, lasting(object.clone()));
            }
        }
        Ok(found)
    }

    /// Makes all Runnables as the tenant. Returns the refusals of the API server; those Runnables are done.
    async fn make(&self, attempts: &[Attempt]) -> Result<Vec<Option<String>>> {
        let client = self.own.cluster.client_of(&self.account).await?;
        let kind = RUNNABLE.resource();
        let api = Api::<DynamicObject>::namespaced_with(client, &self.own.namespace, &kind);
        let mut refused = Vec::new();
        for (index, attempt) in attempts.iter().enumerate() {
            let object = self.own.manifest(&format!("t{index}"), attempt.spec());
            let object = serde_json::from_value(object)?;
            refused.push(match api.create(&PostParams::default(), &object).await {
                Ok(_) => None,
                Err(kube::Error::Api(status)) => Some(status.message.clone()),
                Err(error) => return Err(error.into()),
            });
        }
        Ok(refused)
    }

    /// Reports the results of Runnables, once each has an answer for the tenant: a line each, and a second
    /// one for those that reached something.
    async fn by_runnables(&self, attempts: &[Attempt], all: &mut Report) -> Result<Vec<Value>> {
        let refused = self.make(attempts).await?;
        let made = refused.iter().filter(|refusal| refusal.is_none()).count();
        let answered = |it: &Value| {
            let ready = text(&condition(it, "Ready")["status"]);
            ["True", "False"].contains(&ready)
        };
        let what = "an answer to every attempt";
        let runnables = self.own.all_observed(made, what, answered).await?;
        for (index, (attempt, refusal)) in attempts.iter().zip(refused).enumerate() {
            let name = format!("t{index}");
            let runnable = runnables.iter().find(|it| name_of(it) == name);
            let answer = attempt.outcome.judge(runnable, refusal.as_deref());
            let what = format!("{}: {}", attempt.group, attempt.what);
            all.tell(attempt.outcome.word(), &what, answer)?;
        }
        Ok(runnables)
    }

    /// Reports the results of requests to the API server itself.
    async fn by_requests(&self, all: &mut Report) -> Result<()> {
        for (what, answer) in direct::attempts(self).await? {
            let answer = if answer.starts_with("403") {
                Ok(answer)
            } else {
                Err(answer)
            };
            all.tell("refused", &format!("direct: {what}"), answer)?;
        }
        Ok(())
    }
}

/// The results of all attempts.
#[derive(Default)]
struct Report {
    count: usize,
    /// A line for each.
    table: String,
    /// Attempts that reached something.
    wrong: Vec<String>,
}

impl Report {
    /// Adds one, under its word if it reached nothing.
    fn tell(&mut self, word: &str, what: &str, answer: Result<String, String>) -> Result<()> {
        self.count += 1;
        match answer {
            Ok(why) => writeln!(self.table, "{word} {what}: {why}")?,
            Err(why) => {
                writeln!(self.table, "REACHED {what}: {why}")?;
                self.wrong.push(format!("{what}: {why}"));
            }
        }
        Ok(())
    }
}

/// Makes an account of a namespace with a role of Kubernetes in it.
async fn with_role(fixture: &Fixture, account: &str, role: &str) -> Result<Account> {
    let account = fixture.allow(account, &[]).await?;
    let namespace = &fixture.namespace;
    let who = format!("--serviceaccount={namespace}:{}", account.name);
    let role = format!("--clusterrole={role}");
    let bind = ["-n", namespace, "create", "rolebinding", "of-the-test"];
    let bind = [&bind[..], &[&role, &who]].concat();
    fixture.cluster.kubectl(&bind).await?;
    Ok(account)
}

#[tokio::test]
async fn two_hundred_attempts_reach_nothing_beyond_the_namespace() -> Result<()> {
    let tenant = Tenant::settle().await?;
    let settings = Settings::with_arguments(&["--log", "debug", "--max-watched-kinds", "20"]);
    let controller = Controller::start(DEMO, &tenant.own.cluster, &settings).await?;
    let what = "to be served";
    tenant
        .others
        .observed(RUNNABLE, "theirs", what, is_ready)
        .await?;
    let (before, audit) = (tenant.everything_else().await?, tenant.own.cluster.audit()?);

    let attempts = attempts::all(&tenant).await?;
    let mut report = Report::default();
    let runnables = tenant.by_runnables(&attempts, &mut report).await?;
    tenant.by_requests(&mut report).await?;
    let Report {
        count,
        table,
        wrong,
    } = report;
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("attempts-of-a-tenant.txt");
    std::fs::write(&file, table)?;
    ensure!(count >= 200, "{count} attempts only");
    ensure!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );

    let after = tenant.everything_else().await?;
    let mut changed = String::new();
    for name in before.keys().chain(after.keys()) {
        let (was, is) = (before.get(name), after.get(name));
        if was != is {
            writeln!(changed, "{name}: {was:?} became {is:?}")?;
        }
    }
    ensure!(changed.is_empty(), "of others:\n{changed}");
    forgeries::look(&tenant, &attempts, &runnables, &audit).await?;
    acted_as_its_own(&tenant, &audit)?;
    shows_nothing(&tenant, &controller, &runnables).await
}

/// Returns an object without the parts that change by themselves: its versions, and the controller's status
/// of a template.
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

/// Checks that the controller acted for the tenant only as accounts of that namespace, and inside it.
fn acted_as_its_own(tenant: &Tenant, audit: &AuditLog) -> Result<()> {
    let own = Controller::account().user();
    let ours = format!("system:serviceaccount:{}:", tenant.own.namespace);
    // The controller continues to serve the victim.
    let victims = format!("system:serviceaccount:{}:runner", tenant.others.namespace);
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
        // The review of an account's rights in its namespace names none; it stores nothing.
        if event.resource().starts_with("selfsubjectrulesreviews") && event.verb == "create" {
            continue;
        }
        let everywhere = event.namespace().is_empty();
        let inside = event.namespace() == tenant.own.namespace;
        // A source may be requested in another namespace, where it is refused.
        let refused = reads && event.code() == 403;
        ensure!(inside || everywhere || theirs || refused, "{}", line());
        let reached = everywhere && event.took_effect() && !event.resource().is_empty();
        ensure!(!reached, "{}", line());
    }
    ensure!(as_accounts > 0, "nothing was done as an account");
    Ok(())
}

/// Checks that nothing that the tenant can read, apart from the Secret itself, has the planted value, neither
/// in plain text nor as a Secret has it.
async fn shows_nothing(
    tenant: &Tenant,
    controller: &Controller,
    runnables: &[Value],
) -> Result<()> {
    let mut written = vec![("Runnables", json!(runnables).to_string())];
    for kind in [EVENT, CONFIG_MAP] {
        let objects = tenant.own.list(kind, "").await?;
        written.push((kind.plural, json!(objects).to_string()));
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
            Self::Unwritten => "not written",
        }
    }

    /// Returns the result of an attempt: `Ok` if it reached nothing.
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
            Self::Unwritten => {
                current["phase"] != "Created" || ready["reason"] != "OutputSinkFailed"
            }
        };
        if reached {
            Err(format!("{said} {}", runnable["status"]))
        } else {
            Ok(said)
        }
    }
}
