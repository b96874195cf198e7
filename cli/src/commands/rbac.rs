//! `cartouche rbac`.

mod asked;
mod check;

use std::{collections::HashMap, path::PathBuf};

use anyhow::bail;
use cartouche_protocol::permissions::Need;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::{
    cluster::{Cluster, ClusterArgs},
    outcome::{FAILED, FOUND, Outcome},
    permissions::{
        self, Account, Rule, manifest,
        resource::{Resource, group_of, without_cluster},
        role_name,
    },
    schema::catalog::Catalog,
    yaml,
};
use asked::Asked;

/// The annotation of a role that may lack something, with why: JSON has no comments.
const INCOMPLETE: &str = "carto.run/incomplete";

/// Print the role that a ServiceAccount needs for the runs of a template
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cartouche rbac build -n shop --account builder | kubectl apply -f -
  cartouche rbac build test -n shop --account builder   one role for two templates
  cartouche rbac -r shop-build -n shop                  for a live Runnable, with what it reads
  cartouche rbac -f examples/selector                   of files, without a cluster
  cartouche rbac -r shop-build -n shop --check          what its account may not do yet

The role holds what the controller asks for as the ServiceAccount, and no more; comments say what
each verb is for. What is optional may be taken out. Of ConfigMaps, Secrets and Runnables that inputs
come from it names each one; watch on a Secret has a change of it seen at once, and for a Runnable of
another namespace there is a role of its own there. A role is for one account, and has a name of its
own, made of the account and of what it is for (cartouche:ACCOUNT:TEMPLATE), so that applying it
takes away nothing that another role gives; --name gives it another. Of files, the Runnables of
that account count, with their templates.

Exit code 1 if --check finds that something is not allowed that is not optional. If you may not read the template of a
Runnable, the role is for the kind of its last run and for what the Runnable names, has a name of its own,
which --name cannot change, and the exit code is 2.")]
pub(crate) struct RbacArgs {
    /// `ClusterRunTemplates`; with -f, those among the files that count, if not all
    templates: Vec<String>,
    /// File or folder with templates and Runnables, instead of a cluster; - is standard input
    #[arg(short, long = "file", value_name = "PATH")]
    files: Vec<PathBuf>,
    /// Runnable whose template, selector, sources and account count: its name, or a file
    #[arg(short, long = "runnable", value_name = "NAME|FILE")]
    runnables: Vec<String>,
    /// The ServiceAccount, instead of that of the Runnables
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// Name of the role and of its binding, instead of one of its own
    #[arg(long = "name", value_name = "NAME", value_parser = role_name::given)]
    role: Option<String>,
    /// Resource of a kind that is not known, or that a tag decides
    #[arg(long = "resource", value_name = "PLURAL.GROUP")]
    resources: Vec<Resource>,
    /// Ask the cluster what the account may not do yet
    #[arg(long)]
    check: bool,
    /// Format, instead of YAML with comments, or of a table with --check
    #[arg(short, long, value_enum)]
    output: Option<RbacFormat>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// How a role, or what an account may do, is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RbacFormat {
    Yaml,
    Json,
}

impl RbacArgs {
    /// Whether the work is done without a cluster.
    pub(crate) fn is_offline(&self) -> bool {
        !self.files.is_empty() && !self.check
    }
}

/// The role for what is in files; no cluster is asked.
pub(crate) fn from_files(args: &RbacArgs) -> anyhow::Result<Outcome> {
    let (asked, others) = Asked::from_files(args)?;
    let account = asked.account(args, None)?;
    let mut catalog = Catalog::default();
    catalog.add(&others);
    let rules = permissions::rules(&asked.needs()?, &args.resources, |api_version, kind| {
        without_cluster(&catalog, api_version, kind)
    })?;
    printed(args, &asked, &account, &rules)
}

pub(crate) async fn execute(args: &RbacArgs, cluster: &Cluster) -> anyhow::Result<Outcome> {
    let asked = if args.files.is_empty() {
        Asked::from_cluster(args, cluster).await?
    } else {
        Asked::from_files(args)?.0
    };
    let account = asked.account(args, Some(&cluster.namespace))?;
    let needs = asked.needs()?;
    let served = served(cluster, &needs).await?;
    let rules = permissions::rules(&needs, &args.resources, |api_version, kind| {
        let kind = (api_version.to_owned(), kind.to_owned());
        served.get(&kind).cloned()
    })?;
    let mut outcome = if args.check {
        let all = asked
            .incomplete()
            .map_or("that it needs", |_| "that is known of what it needs");
        check::check(cluster, (&account, all), &rules, args.output).await?
    } else {
        printed(args, &asked, &account, &rules)?
    };
    if let Some(incomplete) = asked.incomplete() {
        outcome.err = format!("{incomplete}\n");
        // What is missing is found, whatever else there may be.
        if outcome.code != FOUND {
            outcome.code = FAILED;
        }
    }
    Ok(outcome)
}

/// The resources of the kinds that the cluster serves.
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
        if let Some(found) = cluster.served(api_version, kind).await? {
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

fn printed(
    args: &RbacArgs,
    asked: &Asked,
    account: &Account,
    rules: &[Rule],
) -> anyhow::Result<Outcome> {
    // The role that has the name may be a complete one.
    if let (Some(name), Some(why)) = (&args.role, asked.unread()) {
        bail!(
            "{why}: the role {name} would lack what the template asks for\n\
             hint: leave out --name, or read the template and the Runnable from files, with -f"
        );
    }
    let name = args.role.clone();
    let name = name.unwrap_or_else(|| asked.role_name(account, &args.resources));
    // It is handed on without what is said beside it.
    let incomplete = asked.incomplete();
    Ok(Outcome::good(match args.output {
        None | Some(RbacFormat::Yaml) => {
            let comment = incomplete.map(|why| yaml::comment(&why));
            comment.unwrap_or_default() + &manifest::yaml(&name, account, rules)?
        }
        Some(RbacFormat::Json) => {
            let mut list = manifest::json(&name, account, rules);
            if let Some(why) = incomplete {
                annotate_roles(&mut list, &why);
            }
            as_text(&list)
        }
    }))
}

/// Says at each role of a List, and at no binding, why it may lack something.
fn annotate_roles(list: &mut Value, why: &str) {
    let items = list["items"].as_array_mut();
    for role in items.into_iter().flatten() {
        if role["rules"].is_array() {
            role["metadata"]["annotations"] = json!({ INCOMPLETE: why });
        }
    }
}

fn as_text(value: &Value) -> String {
    format!("{value:#}\n")
}
