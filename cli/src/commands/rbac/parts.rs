//! The accounts that roles are printed for, each with its templates and Runnables.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use anyhow::bail;
use cartouche_authoring::{objects::Objects, permissions::Account};
use cartouche_crds::Runnable;
use kube::ResourceExt;

use super::{
    RbacArgs,
    asked::{RoleScope, is_file, refuse_no_name, runnables_in},
};
use crate::cluster::Cluster;

impl RbacArgs {
    /// Returns true if the user asks for roles of several namespaces.
    pub(super) fn is_for_several(&self) -> bool {
        self.all_namespaces || self.namespaces.len() > 1
    }
}

/// Returns the named Runnables, from the cluster or from files. For several namespaces without names, returns those
/// of the templates and of the account.
pub(super) async fn runnables(args: &RbacArgs, cluster: &Cluster) -> anyhow::Result<Vec<Runnable>> {
    let (files, names): (Vec<&String>, _) = args.runnables.iter().partition(|it| is_file(it));
    let mut found = Vec::new();
    for file in files {
        found.extend(runnables_in(&Objects::load_all(&[PathBuf::from(file)])?)?);
    }
    if !args.is_for_several() {
        for name in names {
            found.push(cluster.runnable(name).await?);
        }
        return Ok(found);
    }
    let mut present = Vec::new();
    if args.all_namespaces {
        present = cluster.runnables(true).await?;
    }
    for namespace in &args.namespaces {
        present.extend(cluster.in_namespace(namespace).runnables(false).await?);
    }
    let known: BTreeSet<String> = present.iter().map(ResourceExt::name_any).collect();
    if let Some(unknown) = names.iter().find(|name| !known.contains(**name)) {
        bail!("there is no Runnable {unknown} in these namespaces");
    }
    present.retain(|it| {
        if names.is_empty() {
            is_meant(args, it)
        } else {
            names.contains(&&it.name_any())
        }
    });
    found.extend(present);
    Ok(found)
}

/// Returns true if the Runnable is of the named templates and account, if any are named.
fn is_meant(args: &RbacArgs, runnable: &Runnable) -> bool {
    let template = &runnable.spec.run_template_ref.name;
    let account = runnable.spec.service_account();
    (args.templates.is_empty() || args.templates.contains(template))
        && args.account.as_deref().is_none_or(|it| it == account)
}

/// Splits the templates and Runnables by account: one account, or those of the named or of all namespaces.
pub(super) fn split(
    asked: RoleScope,
    args: &RbacArgs,
    present: Option<&str>,
) -> anyhow::Result<Vec<(Account, RoleScope)>> {
    if !args.is_for_several() {
        let account = asked.account(args, present)?;
        return Ok(vec![(account, asked)]);
    }
    let mut parts: BTreeMap<(String, String), Vec<Runnable>> = BTreeMap::new();
    for runnable in &asked.runnables {
        let Some(namespace) = runnable.namespace() else {
            bail!(
                "the Runnable {} names no namespace, and you asked for roles of several\n\
                 hint: write metadata.namespace, or name one namespace with --namespace",
                runnable.name_any()
            );
        };
        if args.all_namespaces || args.namespaces.contains(&namespace) {
            let account = args.account.as_deref();
            let account = account.unwrap_or(runnable.spec.service_account());
            let part = parts.entry((namespace, account.to_owned())).or_default();
            part.push(runnable.clone());
        }
    }
    // An account may exist before any Runnable does.
    for namespace in &args.namespaces {
        let has_part = parts.keys().any(|(of, _)| of == namespace);
        if let Some(account) = args.account.as_ref().filter(|_| !has_part) {
            parts.insert((namespace.clone(), account.clone()), Vec::new());
        }
    }
    if parts.is_empty() {
        bail!(
            "there is no Runnable in these namespaces\nhint: a template with --account and --namespace needs none"
        );
    }
    let parts = parts.into_iter().map(|((namespace, name), runnables)| {
        refuse_no_name("ServiceAccount", &name)?;
        refuse_no_name("namespace", &namespace)?;
        Ok((Account { namespace, name }, asked.restrict(args, runnables)))
    });
    parts.collect()
}

impl RoleScope {
    /// Returns the part of these Runnables, with their templates and the named ones.
    fn restrict(&self, args: &RbacArgs, runnables: Vec<Runnable>) -> Self {
        let theirs = runnables.iter().map(|it| &it.spec.run_template_ref.name);
        let names: BTreeSet<&String> = args.templates.iter().chain(theirs).collect();
        let templates = self.templates.iter();
        let templates = templates.filter(|it| names.contains(&it.name)).cloned();
        let unread = self.unread.iter().filter(|(name, _)| names.contains(name));
        let unread = unread.map(|(name, why)| (name.clone(), why.clone()));
        Self {
            templates: templates.collect(),
            unread: unread.collect(),
            unreadable: self.unreadable.clone(),
            runnables,
        }
    }
}
