//! `cartouche rbac`.

mod asked;
mod check;
mod parts;

use std::{collections::HashMap, fmt::Write as _, path::PathBuf};

use anyhow::bail;
use cartouche_authoring::{
    objects::Objects,
    permissions::{
        self, Account, RoleRule, manifest,
        resource::{Resource, group_of, without_cluster},
        role_name,
    },
    schema::catalog::Catalog,
    source::Document,
    yaml,
};
use cartouche_crds::INCOMPLETE_ANNOTATION;
use cartouche_protocol::permissions::Need;
use clap::{Args, ValueEnum};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;
use serde_json::{Value, json};

use crate::{
    cluster::{Cluster, ClusterArgs, within},
    files::FileArgs,
    outcome::{FAILED, FOUND, Outcome},
};
use asked::RoleScope;

/// Print the ServiceAccount and role that a template's runs need
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cartouche rbac build -n shop --account builder | kubectl apply -f -
  cartouche rbac build test -n shop --account builder   one role for two templates
  cartouche rbac -r shop-build -n shop                  for a live Runnable, with what it reads
  cartouche rbac -f examples/selector                   from files, without a cluster
  cartouche rbac -f teams/ -A                           for each account in each namespace of the files
  cartouche rbac -r shop-build -n shop --check          what its account may not do yet

The role allows what the controller does as the ServiceAccount, and no more. Comments say what each verb is for;
optional verbs may be removed. The role names each object that inputs come from, except those that labels find: there
it has list on the kind. With watch on a Secret, the controller sees its changes immediately. A Runnable in another
namespace gets a role of its own there.

A role is for one account. Its name is made of the account and the purpose (cartouche:ACCOUNT:TEMPLATE), so that
applying it removes nothing that another role gives; --name sets another name. Several templates or Runnables share
one role. Without names, all in the files or in a namespace share the role cartouche:ACCOUNT:all, which keeps its name
when you add more: pass everything that the account runs. A single one has a role of its own name. From files, the
Runnables of that account count, with their templates. The ServiceAccount is printed as well, unless it is among the
files or in the cluster.

Exit code 1 if --check finds that a required permission is missing. If you may not read the template of a
Runnable, the role is for the kind of its last run and for what the Runnable names. It then has a name of its own,
which --name cannot change, and the exit code is 2.")]
pub(crate) struct RbacArgs {
    /// Names of `ClusterRunTemplates`, or files with templates and Runnables; with files, names select among them
    pub(crate) templates: Vec<String>,
    #[command(flatten)]
    pub(crate) files: FileArgs,
    /// Runnable whose template, selector, sources and account count: its name, or a file
    #[arg(short, long = "runnable", value_name = "NAME|FILE")]
    runnables: Vec<String>,
    /// ServiceAccount, instead of that of the Runnables
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// Name of the role and its binding, instead of a generated one
    #[arg(long = "name", value_name = "NAME", value_parser = role_name::check_name)]
    role: Option<String>,
    /// Resource of a kind that is unknown, or that a tag decides
    #[arg(long = "resource", value_name = "PLURAL.GROUP")]
    resources: Vec<Resource>,
    /// Ask the cluster what the account may not do yet
    #[arg(long)]
    check: bool,
    /// Format, instead of YAML with comments, or of a table with --check
    #[arg(short, long, value_enum)]
    output: Option<RbacFormat>,
    /// Use the Runnables of all namespaces, or all those in the files: roles for each account of each namespace
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    all_namespaces: bool,
    /// Context of the kubeconfig
    #[arg(long, value_name = "NAME", help_heading = CLUSTER)]
    context: Option<String>,
    /// Kubeconfig file; by default KUBECONFIG or ~/.kube/config
    #[arg(long, value_name = "FILE", help_heading = CLUSTER)]
    kubeconfig: Option<PathBuf>,
    /// Namespace; by default that of the context; may be given several times, for roles in each
    #[arg(short, long = "namespace", id = "namespace", value_name = "NAME", help_heading = CLUSTER)]
    namespaces: Vec<String>,
}

/// Heading of the options about the cluster in the help of every command.
const CLUSTER: &str = "Cluster";

/// Format of a role, or of the result of `--check`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RbacFormat {
    Yaml,
    Json,
}

impl RbacArgs {
    /// Returns true if no cluster is needed.
    pub(crate) fn is_offline(&self) -> bool {
        !self.files.is_empty() && !self.check
    }

    /// Returns true if no Runnable or template is named, so that all those of an account count.
    pub(crate) fn is_for_all(&self) -> bool {
        self.runnables.is_empty() && self.templates.is_empty()
    }

    /// Returns the cluster, and the first of the given namespaces.
    pub(crate) fn cluster(&self) -> ClusterArgs {
        ClusterArgs {
            context: self.context.clone(),
            kubeconfig: self.kubeconfig.clone(),
            namespace: self.namespaces.first().cloned(),
        }
    }
}

/// Prints the roles for objects in files, without a cluster.
pub(crate) fn from_files(args: &RbacArgs) -> anyhow::Result<Outcome> {
    let (asked, objects) = RoleScope::from_files(args)?;
    let outcome = objects.or_unreadable(of_objects(args, asked, &objects))?;
    Ok(outcome.with_unreadable(&objects))
}

fn of_objects(args: &RbacArgs, asked: RoleScope, objects: &Objects) -> anyhow::Result<Outcome> {
    let mut catalog = Catalog::default();
    catalog.add(&objects.others);
    let mut printed = Vec::new();
    for (account, asked) in parts::split(asked, args, None)? {
        let rules = permissions::rules(&asked.needs()?, &args.resources, |api_version, kind| {
            without_cluster(&catalog, api_version, kind)
        })?;
        let mut others = objects.others.iter();
        let is_there = others.any(|other| is_account(other, &account));
        let part = RolePart {
            // The account `default` is in every namespace.
            needs_account: !is_there && account.name != DEFAULT_ACCOUNT,
            account,
            asked,
            rules,
        };
        printed.push(part);
    }
    Ok(Outcome::good(all_printed(args, &printed)?))
}

/// Account, with its rules and what they are for.
struct RolePart {
    account: Account,
    /// True if the account may be missing, so that it is printed as well.
    needs_account: bool,
    asked: RoleScope,
    rules: Vec<RoleRule>,
}

/// Account that the API server makes in each namespace.
const DEFAULT_ACCOUNT: &str = "default";

/// Returns true if the document is this account.
fn is_account(document: &Document, account: &Account) -> bool {
    (document.api_version(), document.kind()) == ("v1", "ServiceAccount")
        && document.name() == account.name
        && ["", account.namespace.as_str()].contains(&document.namespace())
}

pub(crate) async fn execute(args: &RbacArgs, cluster: &Cluster) -> anyhow::Result<Outcome> {
    let asked = if args.files.is_empty() {
        RoleScope::from_cluster(args, cluster).await?
    } else {
        RoleScope::from_files(args)?.0
    };
    let mut found = Vec::new();
    for (account, asked) in parts::split(asked, args, Some(&cluster.namespace))? {
        let needs = asked.needs()?;
        let served = served(cluster, &needs).await?;
        let rules = permissions::rules(&needs, &args.resources, |api_version, kind| {
            let kind = (api_version.to_owned(), kind.to_owned());
            served.get(&kind).cloned()
        })?;
        found.push(RolePart {
            needs_account: !args.check && is_missing(cluster, &account).await,
            account,
            asked,
            rules,
        });
    }
    let mut outcome = if args.check {
        check::check_all(cluster, &found, args.output).await?
    } else {
        Outcome::good(all_printed(args, &found)?)
    };
    for incomplete in found.iter().filter_map(|part| part.asked.incomplete()) {
        let _ = writeln!(outcome.err, "{incomplete}");
        // Missing permissions take precedence over unread templates.
        if outcome.code != FOUND {
            outcome.code = FAILED;
        }
    }
    Ok(outcome)
}

/// Returns true if the account certainly does not exist. An account that may exist is not printed: applying it bare
/// could remove its fields, such as pull secrets.
async fn is_missing(cluster: &Cluster, account: &Account) -> bool {
    let api: Api<ServiceAccount> = cluster.in_namespace(&account.namespace).api();
    let found = within("reading the ServiceAccount", api.get_opt(&account.name)).await;
    matches!(found, Ok(None))
}

/// Returns the resources of the kinds that the cluster serves.
async fn served(
    cluster: &Cluster,
    needs: &[Need],
) -> anyhow::Result<HashMap<(String, String), Resource>> {
    let mut served = HashMap::new();
    for (api_version, kind) in permissions::kinds_of(needs) {
        let name = (api_version.to_owned(), kind.to_owned());
        if served.contains_key(&name) {
            continue;
        }
        if let Some(found) = cluster.find_kind(api_version, kind).await? {
            let resource = Resource {
                group: group_of(api_version).to_owned(),
                plural: found.resource.plural,
                namespaced: found.namespaced,
            };
            served.insert(name, resource);
        }
    }
    Ok(served)
}

/// Returns all roles, one after the other, or as one List.
fn all_printed(args: &RbacArgs, parts: &[RolePart]) -> anyhow::Result<String> {
    if let [first, .., _] = parts
        && let Some(name) = &args.role
    {
        let Account {
            namespace,
            name: account,
        } = &first.account;
        bail!(
            "--name is for the role of one account, and there are {}, such as {namespace}/{account}\n\
             hint: leave out --name {name}, or name one with --namespace and --account",
            parts.len()
        );
    }
    if args.output == Some(RbacFormat::Json) {
        let mut items = Vec::new();
        for part in parts {
            items.extend(json_items(args, part)?);
        }
        return Ok(as_text(
            &json!({ "apiVersion": "v1", "kind": "List", "items": items }),
        ));
    }
    let documents: anyhow::Result<Vec<String>> =
        parts.iter().map(|part| yaml_text(args, part)).collect();
    Ok(documents?.join("---\n"))
}

/// Returns the name of the role of an account.
fn name_of(args: &RbacArgs, part: &RolePart) -> anyhow::Result<String> {
    // An existing role of this name may be a complete one.
    if let (Some(name), Some(why)) = (&args.role, part.asked.unread()) {
        bail!(
            "{why}: the role {name} would lack permissions that the template needs\n\
             hint: leave out --name, or read the template and the Runnable from files, with -f"
        );
    }
    let name = args.role.clone();
    Ok(name.unwrap_or_else(|| part.asked.role_name(&part.account, args)))
}

fn yaml_text(args: &RbacArgs, part: &RolePart) -> anyhow::Result<String> {
    let name = name_of(args, part)?;
    // The reason goes into the text: users pass the manifest on without standard error.
    let incomplete = part.asked.incomplete();
    let comment = incomplete.map(|why| yaml::comment(&why));
    let mut text = comment.unwrap_or_default();
    text.push_str(&manifest::yaml(&name, &part.account, &part.rules)?);
    if part.needs_account {
        text.push_str("---\n");
        text.push_str(&manifest::account_yaml(&part.account)?);
    }
    Ok(text)
}

fn json_items(args: &RbacArgs, part: &RolePart) -> anyhow::Result<Vec<Value>> {
    let name = name_of(args, part)?;
    let mut roles = manifest::json(&name, &part.account, &part.rules);
    if let Some(why) = part.asked.incomplete() {
        annotate_roles(&mut roles, &why);
    }
    let account = part.needs_account.then(|| manifest::account(&part.account));
    Ok(roles.into_iter().chain(account).collect())
}

/// Annotates each role, but no binding, with the reason why it may be incomplete: JSON has no comments.
fn annotate_roles(items: &mut [Value], why: &str) {
    for role in items {
        if role["rules"].is_array() {
            role["metadata"]["annotations"] = json!({ INCOMPLETE_ANNOTATION: why });
        }
    }
}

fn as_text(value: &Value) -> String {
    format!("{value:#}\n")
}
