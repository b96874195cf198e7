//! The templates and Runnables that a role is for.

use cartouche_authoring::{
    finding::Finding,
    objects::Objects,
    permissions::{
        Account,
        role_name::{RolePurpose, role_name},
    },
    source::Document,
    template_file,
    validate::{is_subdomain, policy},
};
use cartouche_language::suggestion;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    rc::Rc,
};

use anyhow::{Context as _, anyhow, bail};
use cartouche_crds::Runnable;
use cartouche_protocol::{
    permissions::{self, Need, Target},
    policy::{Asks, Policy},
};
use cartouche_templating::Template;
use kube::ResourceExt as _;

use super::{RbacArgs, parts};
use crate::{
    cluster::{AccessDenied, Cluster, first_line},
    live::runs,
};

/// Template that runs are made of.
pub(super) struct WantedTemplate {
    pub(super) name: String,
    template: Template,
    asks: Asks,
}

impl WantedTemplate {
    /// Returns the needs of its runs. Those of stopping them are included if its own timeout, or that of one of these
    /// Runnables, requires them.
    fn needs(&self, runnables: &[Runnable]) -> Vec<Need> {
        let mut needs = permissions::of_template(&self.name, &self.template);
        let own = |it: &&Runnable| it.spec.run_template_ref.name == self.name;
        let theirs = runnables.iter().filter(own);
        let mut theirs = theirs.map(|it| Asks::of_runnable(&it.spec));
        let of_stop = |asks: Asks| {
            let policy = Policy::as_far_as_usable(&asks, &self.asks);
            permissions::of_stop(&self.name, &self.template, &policy)
        };
        needs.extend(of_stop(Asks::default()).or_else(|| theirs.find_map(of_stop)));
        needs
    }
}

/// Templates by name, and their Runnables.
pub(super) struct RoleScope {
    pub(super) templates: Vec<Rc<WantedTemplate>>,
    pub(super) runnables: Vec<Runnable>,
    /// Templates that the user may not read, with the errors.
    pub(super) unread: BTreeMap<String, Rc<anyhow::Error>>,
    /// First error in the files, if any could not be read.
    pub(super) unreadable: Option<String>,
}

impl RoleScope {
    /// Returns the templates and Runnables in files, and all objects of the files.
    pub(super) fn from_files(args: &RbacArgs) -> anyhow::Result<(Self, Objects)> {
        let objects = Objects::load_rest(&args.files.files)?;
        let runnables = wanted_runnables(args, runnables_in(&objects)?);
        let runnables = objects.or_unreadable(runnables)?;
        let templates = wanted_templates(args, &objects.templates, &runnables);
        let templates = objects.or_unreadable(templates)?;
        let asked = Self {
            templates,
            runnables,
            unread: BTreeMap::new(),
            unreadable: objects.findings.first().map(Finding::one_line),
        };
        Ok((asked, objects))
    }

    /// Returns the templates and Runnables on a cluster. Runnables may be in files.
    pub(super) async fn from_cluster(args: &RbacArgs, cluster: &Cluster) -> anyhow::Result<Self> {
        let runnables = parts::runnables(args, cluster).await?;
        let (mut templates, mut unread) = (Vec::new(), BTreeMap::new());
        for name in names_of(args, &runnables) {
            let read = match cluster.template(&name).await {
                Err(error) if AccessDenied::find(&error).is_some() => {
                    unread.insert(name, Rc::new(error));
                    continue;
                }
                other => other?,
            };
            let Some(found) = read else {
                bail!(
                    "there is no ClusterRunTemplate {name}\n\
                     hint: kubectl get clusterruntemplates lists them; -f reads one from a file"
                );
            };
            let template = Template::compile(&found.spec)
                .map_err(|problems| anyhow!("the template {name} cannot be used: {problems}"))?;
            let asks = Asks::of_template(&found.spec);
            templates.push(Rc::new(WantedTemplate {
                name,
                template,
                asks,
            }));
        }
        Ok(Self {
            templates,
            runnables,
            unread,
            unreadable: None,
        })
    }

    /// Returns the reason why a template or file was not read, or `None`.
    pub(super) fn unread(&self) -> Option<String> {
        let unread = self.unread.values().next().map(|error| first_line(error));
        unread.or_else(|| self.unreadable.clone())
    }

    /// Returns the reason why the role may be incomplete, or `None`.
    pub(super) fn incomplete(&self) -> Option<String> {
        let why = self.unread()?;
        if self.unread.is_empty() {
            return Some(format!(
                "{why}; this is for the other files, and that one may need more"
            ));
        }
        Some(format!(
            "{why}; this is for the kind of the last run and for what the Runnable names; the template may need more"
        ))
    }

    /// Returns the needs of a template that the user may not read, from the last run of each of its Runnables.
    fn needs_by_ledger(&self, template: &str) -> Vec<Need> {
        let own = self.runnables.iter();
        let own = own.filter(|it| it.spec.run_template_ref.name == template);
        let last = own.filter_map(|it| runs::runs(it).into_iter().next());
        let needs = last.map(|run| permissions::of_kind(template, (&run.api_version, &run.kind)));
        needs.flatten().collect()
    }

    /// Returns the account that the user named, or the only one of the Runnables.
    pub(super) fn account(
        &self,
        args: &RbacArgs,
        present: Option<&str>,
    ) -> anyhow::Result<Account> {
        let named = args.account.iter().cloned();
        let theirs = self
            .runnables
            .iter()
            .map(|it| it.spec.service_account().to_owned());
        let name = only("account", "--account", named, theirs)?;
        refuse_no_name("ServiceAccount", &name)?;
        let named = args.namespaces.iter().cloned();
        let theirs = self.runnables.iter().filter_map(Runnable::namespace);
        let theirs: Vec<String> = theirs.collect();
        let present = present.filter(|_| theirs.is_empty()).map(str::to_owned);
        let namespace = only(
            "namespace",
            "--namespace",
            named,
            theirs.into_iter().chain(present),
        )?;
        refuse_no_name("namespace", &namespace)?;
        Ok(Account { namespace, name })
    }

    pub(super) fn needs(&self) -> anyhow::Result<Vec<Need>> {
        if self.templates.is_empty() && self.unread.is_empty() {
            bail!(
                "which template?\nhint: name a ClusterRunTemplate, a Runnable with -r, or files with -f"
            );
        }
        for wanted in &self.templates {
            refuse_no_name("template", &wanted.name)?;
        }
        for runnable in &self.runnables {
            refuse_no_name("Runnable", &runnable.name_any())?;
        }
        let templates = self.templates.iter();
        let runs = templates.flat_map(|wanted| wanted.needs(&self.runnables));
        let unread = self.unread.keys();
        let runs = runs.chain(unread.flat_map(|name| self.needs_by_ledger(name)));
        let selected = self.runnables.iter().filter_map(|it| {
            let selector = it.spec.selector.as_ref()?;
            Some(permissions::of_selector(&it.name_any(), selector))
        });
        let sourced = self.runnables.iter().flat_map(|it| {
            let sources = it.spec.inputs_from.as_deref().unwrap_or_default();
            let own = it.namespace().unwrap_or_default();
            permissions::of_sources(&own, &it.name_any(), sources)
        });
        let written = self.runnables.iter().flat_map(|it| {
            let sinks = it.spec.write_outputs_to.as_deref().unwrap_or_default();
            permissions::of_sinks(&it.name_any(), sinks)
        });
        let others = sourced.chain(written);
        for need in others.clone() {
            let kind = match &need.target {
                Target::Kind(_, kind) => kind,
                Target::Tagged => "source",
            };
            for name in &need.names {
                refuse_no_name(kind, name)?;
            }
            if let Some(namespace) = &need.namespace {
                refuse_no_name("namespace", namespace)?;
            }
        }
        let needs: Vec<Need> = runs.chain(selected).chain(others).collect();
        match self.unread.values().next() {
            Some(error) if needs.is_empty() => bail!(
                "{error:#}\nhint: `cartouche rbac -f FILE` reads the template from a file, and the Runnable from another one"
            ),
            _ => Ok(needs),
        }
    }

    /// Returns the name of the role for all of this. A Runnable counts only if it has a selector, inputs from other
    /// objects or objects that its outputs go to; otherwise it needs what its template does. In an incomplete role,
    /// each counts.
    pub(super) fn role_name(&self, account: &Account, args: &RbacArgs) -> String {
        let templates: Vec<&str> = self.templates.iter().map(|it| &*it.name).collect();
        let reading = self.runnables.iter();
        let in_part = self.unread().is_some();
        let reading = reading.filter(|it| {
            let spec = &it.spec;
            in_part
                || spec.selector.is_some()
                || spec.inputs_from.is_some()
                || spec.write_outputs_to.is_some()
        });
        let runnables: Vec<&str> = reading
            .filter_map(|it| it.metadata.name.as_deref())
            .collect();
        let purpose = RolePurpose {
            templates: &templates,
            runnables: &runnables,
            resources: &args.resources,
            whole: args.is_for_all(),
            in_part,
        };
        role_name(account, purpose)
    }
}

/// Returns the named Runnables, or else those of the templates and of the account.
fn wanted_runnables(args: &RbacArgs, present: Vec<Runnable>) -> anyhow::Result<Vec<Runnable>> {
    let mut wanted = Vec::new();
    for name in &args.runnables {
        if is_file(name) {
            wanted.extend(runnables_in(&Objects::load_all(&[PathBuf::from(name)])?)?);
        } else if let Some(found) = present.iter().find(|it| it.name_any() == *name) {
            wanted.push(found.clone());
        } else {
            bail!("there is no Runnable {name} among these files");
        }
    }
    if args.runnables.is_empty() {
        wanted = present;
        wanted.retain(|it| {
            let (template, account) = (&it.spec.run_template_ref.name, it.spec.service_account());
            (args.templates.is_empty() || args.templates.contains(template))
                && args.account.as_deref().is_none_or(|named| named == account)
        });
    }
    Ok(wanted)
}

/// Returns the templates that are named or that the Runnables name, or else all.
fn wanted_templates(
    args: &RbacArgs,
    present: &[Document],
    runnables: &[Runnable],
) -> anyhow::Result<Vec<Rc<WantedTemplate>>> {
    let mut names = names_of(args, runnables);
    if names.is_empty() {
        names = present.iter().map(|it| it.name().to_owned()).collect();
    }
    let mut templates = Vec::new();
    for name in names {
        let Some(document) = present.iter().find(|it| it.name() == name) else {
            let known = present.iter().map(Document::name);
            let hint = suggestion::hint(&name, "there are", known);
            let hint = hint.map(|hint| format!("\nhint: {hint}"));
            let hint = hint.unwrap_or_default();
            bail!("there is no ClusterRunTemplate {name} among these files{hint}");
        };
        let template = compiled(document)?;
        let asks = policy::asks(document);
        templates.push(Rc::new(WantedTemplate {
            name,
            template,
            asks,
        }));
    }
    Ok(templates)
}

/// Returns the names of templates that the user or the Runnables give, each once.
fn names_of(args: &RbacArgs, runnables: &[Runnable]) -> BTreeSet<String> {
    let theirs = runnables.iter().map(|it| &it.spec.run_template_ref.name);
    args.templates.iter().chain(theirs).cloned().collect()
}

pub(super) fn is_file(name: &str) -> bool {
    Path::new(name).is_file()
}

/// Returns the value that the user named, or the only one of the Runnables.
fn only(
    what: &str,
    option: &str,
    named: impl Iterator<Item = String>,
    theirs: impl Iterator<Item = String>,
) -> anyhow::Result<String> {
    if let Some(named) = named.last() {
        return Ok(named);
    }
    let theirs: Vec<String> = theirs.collect::<BTreeSet<_>>().into_iter().collect();
    match theirs.as_slice() {
        [only] => Ok(only.clone()),
        [] => bail!("which {what}?\nhint: name it with {option}, or give a Runnable that has one"),
        several => bail!(
            "the Runnables have more than one {what}: {}\nhint: name one with {option}, or print the roles of all accounts in all namespaces with --all-namespaces",
            several.join(", ")
        ),
    }
}

/// Refuses names that no object can have: a role holds these names, and such a name in a file is not that of an
/// object.
pub(super) fn refuse_no_name(what: &str, name: &str) -> anyhow::Result<()> {
    if is_subdomain(name, false) {
        return Ok(());
    }
    bail!(
        "{name:?} is not a valid name of a {what}\n\
         hint: names consist of lower-case letters, digits, - and ., and begin and end with a letter or digit"
    )
}

pub(super) fn runnables_in(objects: &Objects) -> anyhow::Result<Vec<Runnable>> {
    let read = |document: &Document| {
        let runnable: Runnable =
            serde_json::from_value(document.value.clone()).with_context(|| {
                format!(
                    "the Runnable {} in {} cannot be read\nhint: cartouche validate says why",
                    document.name(),
                    document.source.name
                )
            })?;
        anyhow::Ok(runnable)
    };
    objects.runnables.iter().map(read).collect()
}

fn compiled(document: &Document) -> anyhow::Result<Template> {
    let name = document.name();
    match template_file::compile(document) {
        Some(Ok(template)) => Ok(template),
        Some(Err(problems)) => bail!("the template {name} cannot be used: {problems}"),
        None => bail!("the template {name} has no spec.template"),
    }
}
