//! The permissions that an account lacks.

use std::fmt::Write as _;

use anyhow::{Context as _, bail};
use cartouche_authoring::{
    permissions::{Account, RoleRule, resource::Resource},
    yaml,
};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::{Api, api::PostParams};
use serde_json::json;

use super::{RbacFormat, RolePart, as_text};
use crate::{
    cluster::{Cluster, within},
    outcome::{FOUND, GOOD, Outcome},
};

/// Permission, and the answer of the API server.
struct CheckedPermission<'a> {
    verb: &'a str,
    resource: &'a Resource,
    /// Namespace; `None` if it is the account's.
    namespace: Option<&'a str>,
    /// Name of the object; `None` for all objects.
    name: Option<&'a str>,
    why: &'a str,
    optional: bool,
    allowed: bool,
}

/// Returns the results for all accounts, one after the other.
pub(super) async fn check_all(
    cluster: &Cluster,
    parts: &[RolePart],
    format: Option<RbacFormat>,
) -> anyhow::Result<Outcome> {
    if let ([_, _, ..], Some(_)) = (parts, format) {
        bail!(
            "--check with --output is for one account, and there are {}\nhint: name one with --namespace and --account",
            parts.len()
        );
    }
    let mut outcome = Outcome::default();
    for part in parts {
        let all = part.asked.incomplete();
        let all = all.map_or("that it needs", |_| "that is known of what it needs");
        let checked = check(cluster, (&part.account, all), &part.rules, format).await?;
        outcome.out.push_str(&checked.out);
        outcome.code = outcome.code.max(checked.code);
    }
    Ok(outcome)
}

/// Checks every verb of every rule, so that all missing permissions are shown at once. `all` is the rest of the
/// sentence that reports success.
async fn check(
    cluster: &Cluster,
    (account, all): (&Account, &str),
    rules: &[RoleRule],
    format: Option<RbacFormat>,
) -> anyhow::Result<Outcome> {
    let mut answers: Vec<CheckedPermission<'_>> = Vec::new();
    for (rule, verb, name) in rules.iter().flat_map(questions) {
        let grants = || {
            let grants = rule.grants.iter();
            grants.filter(|grant| grant.verbs.contains(&verb))
        };
        answers.push(CheckedPermission {
            verb,
            resource: &rule.resource,
            namespace: rule.namespace.as_deref(),
            name,
            why: grants().next().map_or("", |grant| &grant.why),
            optional: grants().all(|grant| grant.optional),
            allowed: may(cluster, account, verb, (rule, name)).await?,
        });
    }
    let is_missing = |answer: &CheckedPermission<'_>| !answer.allowed && !answer.optional;
    Ok(Outcome {
        out: match format {
            None => table((account, all), &answers)?,
            Some(RbacFormat::Yaml) => yaml::text(&as_json(account, &answers))?,
            Some(RbacFormat::Json) => as_text(&as_json(account, &answers)),
        },
        err: String::new(),
        code: if answers.iter().any(is_missing) {
            FOUND
        } else {
            GOOD
        },
        ..Outcome::default()
    })
}

/// Returns each verb of a rule, for each object that it names.
fn questions(rule: &RoleRule) -> Vec<(&RoleRule, &'static str, Option<&str>)> {
    let names = rule.names.iter().map(|name| Some(name.as_str()));
    // A rule without names is about all objects.
    let all = rule.names.is_empty().then_some(None);
    let names: Vec<Option<&str>> = names.chain(all).collect();
    let verbs = rule.verbs().into_iter();
    let of_verb = |verb| names.iter().map(move |name| (rule, verb, *name));
    verbs.flat_map(of_verb).collect()
}

/// Returns true if the API server allows the account to do this.
async fn may(
    cluster: &Cluster,
    account: &Account,
    verb: &str,
    (rule, object): (&RoleRule, Option<&str>),
) -> anyhow::Result<bool> {
    let Account { namespace, name } = account;
    let resource = &rule.resource;
    let asked_in = rule.namespace.as_ref().unwrap_or(namespace);
    let attributes = ResourceAttributes {
        namespace: resource.namespaced.then(|| asked_in.clone()),
        verb: Some(verb.to_owned()),
        group: Some(resource.group.clone()),
        resource: Some(resource.plural.clone()),
        name: object.map(str::to_owned),
        ..ResourceAttributes::default()
    };
    let question = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some(format!("system:serviceaccount:{namespace}:{name}")),
            groups: Some(vec![
                "system:serviceaccounts".to_owned(),
                format!("system:serviceaccounts:{namespace}"),
                "system:authenticated".to_owned(),
            ]),
            resource_attributes: Some(attributes),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    };
    let what = format!("asking what ServiceAccount {namespace}/{name} may do");
    let Some(review) = within(&what, asked(cluster, &question)).await? else {
        bail!(
            "{what}: you may not create subjectaccessreviews.authorization.k8s.io\n\
             hint: the ClusterRole system:auth-delegator allows it; without --check nothing is asked"
        );
    };
    let status = review.status.context("the API server gave no answer")?;
    Ok(status.allowed)
}

/// Returns the review, or `None` if the user may not create one.
async fn asked(
    cluster: &Cluster,
    question: &SubjectAccessReview,
) -> kube::Result<Option<SubjectAccessReview>> {
    let api: Api<SubjectAccessReview> = Api::all(cluster.client.clone());
    match api.create(&PostParams::default(), question).await {
        Err(kube::Error::Api(status)) if status.code == 403 => Ok(None),
        answer => answer.map(Some),
    }
}

fn table(
    (account, all): (&Account, &str),
    answers: &[CheckedPermission<'_>],
) -> anyhow::Result<String> {
    let Account { namespace, name } = account;
    let missing: Vec<&CheckedPermission<'_>> = answers.iter().filter(|it| !it.allowed).collect();
    if missing.is_empty() {
        return Ok(format!(
            "ServiceAccount {namespace}/{name} may do all {all}\n"
        ));
    }
    let mut out = format!("ServiceAccount {namespace}/{name} may not\n");
    for CheckedPermission {
        verb,
        resource,
        namespace: elsewhere,
        name: object,
        why,
        optional,
        ..
    } in missing
    {
        let object = object.map(|name| format!("/{name}")).unwrap_or_default();
        let optional = if *optional { " (optional)" } else { "" };
        let elsewhere = elsewhere.map(|it| format!(" in the namespace {it}"));
        let elsewhere = elsewhere.unwrap_or_default();
        writeln!(
            out,
            "  {verb} {resource}{object}{elsewhere}: {why}{optional}"
        )?;
    }
    out.push_str("Without --check this command prints the role that allows it.\n");
    Ok(out)
}

fn as_json(account: &Account, answers: &[CheckedPermission<'_>]) -> serde_json::Value {
    let answers: Vec<_> = answers
        .iter()
        .map(|it| {
            json!({
                "verb": it.verb, "group": it.resource.group, "resource": it.resource.plural,
                "namespace": it.namespace, "name": it.name,
                "why": it.why, "optional": it.optional, "allowed": it.allowed,
            })
        })
        .collect();
    json!({ "namespace": account.namespace, "account": account.name, "rights": answers })
}
