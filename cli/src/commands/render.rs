//! `cartouche render`.

mod profile;

use std::path::PathBuf;

use anyhow::bail;
use cartouche_authoring::{
    finding::{Finding, Rule, Severity, report},
    inputs_from::{self, AbsentInput, Given},
    objects::{self, DEFAULT_NAMESPACE, Objects, Selected},
    render::{
        DraftRun, PLACEHOLDER_UID, RenderSubject,
        explain::{self, Files, Origin},
        placeholders, prepare,
        profiles::With,
        run,
    },
    source::Document,
    template_file, validate, yaml,
};
use cartouche_protocol::{ledger::Due, profiles::Labels};
use cartouche_templating::Template;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::{
    cluster::{self, Cluster, ClusterArgs},
    files::FileArgs,
    live::prospect::{self, Edited},
    outcome::Outcome,
};

/// Show what the controller would create
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cartouche render examples/job
  cartouche render -t template.yaml -r runnable.yaml --explain
  cartouche render -t template.yaml -r runnable.yaml --selected config-map.yaml -o json
  cartouche render examples/job profiles/ --namespace-labels env=production
  cartouche render examples/job profiles/ --profile gke
  cat runnable.yaml | cartouche render -t template.yaml -r -
  cartouche render examples/job | kubectl create --dry-run=server -f -
  cartouche render --cluster -r hello            the next run of the live Runnable hello
  cartouche render --cluster -r hello -t template.yaml

The uid of the Runnable is 00000000-0000-0000-0000-000000000000 unless the file has one; the name of the run derives
from it. ClusterRunProfiles among the files are chosen by their rules, as on a cluster with these profiles and no
others; --profile uses one without its rules.

Exit code 1 if something cannot be rendered.")]
pub(crate) struct RenderArgs {
    /// Files or folders with templates, Runnables and the objects that they select or take inputs from; - is standard
    /// input
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) files: FileArgs,
    /// File or folder with templates
    #[arg(short, long, value_name = "PATH")]
    template: Vec<PathBuf>,
    /// File or folder with Runnables
    #[arg(short, long, value_name = "PATH")]
    runnable: Vec<PathBuf>,
    /// File with the object that the Runnable selects
    #[arg(short, long, value_name = "PATH")]
    selected: Vec<PathBuf>,
    /// Only the Runnable with this name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Make the runs with this profile of the files, and ignore the rules
    #[arg(long, value_name = "NAME", conflicts_with = "cluster")]
    profile: Option<String>,
    /// Labels of the namespace, for rules that select namespaces; by default those of the Namespace among the files
    #[arg(long, value_name = "KEY=VALUE,...", value_parser = profile::labels, conflicts_with_all = ["cluster", "profile"])]
    namespace_labels: Option<Labels>,
    /// Namespace of Runnables that name none, by default `default`; with --cluster that of the Runnable
    #[arg(short, long)]
    namespace: Option<String>,
    /// Format of the runs
    #[arg(short, long, value_enum, default_value_t)]
    output: RunFormat,
    /// Show where every value comes from
    #[arg(long, conflicts_with = "cluster")]
    explain: bool,
    /// Take Runnable, template and selected object from a cluster; -r names the Runnable, -t may be a file
    #[arg(long, requires = "runnable", conflicts_with_all = ["selected", "paths", "files", "name"])]
    cluster: bool,
    /// Context of the kubeconfig
    #[arg(long, value_name = "NAME", requires = "cluster")]
    context: Option<String>,
    /// Kubeconfig file; by default KUBECONFIG or ~/.kube/config
    #[arg(long, value_name = "FILE", requires = "cluster")]
    kubeconfig: Option<PathBuf>,
}

/// Format of the runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunFormat {
    /// YAML, with comments
    #[default]
    Yaml,
    /// JSON; a List if there are several
    Json,
}

/// Run, with its title and notes.
struct RenderedRun {
    run: DraftRun,
    /// Hash of the inputs; `None` if it is unknown, as a note says.
    hash: Option<String>,
    title: String,
    notes: Vec<String>,
    /// Profile that the run is made with.
    profile: Option<String>,
    origins: Option<Vec<Origin>>,
}

pub(crate) fn execute(args: &RenderArgs) -> anyhow::Result<Outcome> {
    if args.cluster {
        return cluster::block_on(live(args));
    }
    let paths = [&args.paths, &args.template, &args.runnable];
    let paths: Vec<PathBuf> = paths.into_iter().flatten().cloned().collect();
    if paths.is_empty() {
        bail!("nothing to render\nhint: name files or folders, or use -t and -r");
    }
    let mut objects = Objects::load(&paths)?;
    objects.add_selected(&args.selected)?;
    let mut findings = objects.findings.clone();
    let wanted = |runnable: &&Document| {
        args.name
            .as_deref()
            .is_none_or(|name| runnable.name() == name)
    };
    let runnables: Vec<&Document> = objects.runnables.iter().filter(wanted).collect();
    if runnables.is_empty() && findings.is_empty() {
        bail!(
            "there is no Runnable among these files\nhint: a Runnable says which template to use, and with which inputs"
        );
    }
    let read = objects.templates.iter().chain(&objects.profiles);
    let read = read.chain(runnables.iter().copied());
    let warnings: Vec<Finding> = read.flat_map(validate::keys::warnings).collect();
    findings.extend(validate::profiles_alone(&objects));
    profile::check_name(args.profile.as_deref(), &objects)?;
    let mut shown = Vec::new();
    for runnable in runnables {
        match render(args, &objects, runnable) {
            Ok(run) => shown.push(run),
            Err(found) => findings.extend(found),
        }
    }
    let out = match args.output {
        RunFormat::Yaml => as_yaml(&shown)?,
        RunFormat::Json => as_json(&shown),
    };
    let code = u8::from(!findings.is_empty());
    findings.extend(warnings);
    let findings = report::in_order(findings);
    Ok(Outcome {
        out,
        err: report::write(&findings, report::Format::Text),
        code,
        ..Outcome::default()
    })
}

/// Renders the next runs of live Runnables.
async fn live(args: &RenderArgs) -> anyhow::Result<Outcome> {
    let cluster = ClusterArgs {
        context: args.context.clone(),
        kubeconfig: args.kubeconfig.clone(),
        namespace: args.namespace.clone(),
    };
    let cluster = Cluster::connect(&cluster).await?;
    let edited = Edited {
        template: args.template.first().cloned(),
        runnable: None,
    };
    let mut shown = Vec::new();
    for name in &args.runnable {
        let name = name.to_string_lossy();
        let prospect = Box::pin(prospect::of_named(&cluster, &name, &edited)).await?;
        let what = match prospect.due {
            Some(Due::New(_)) => "would be the next run",
            Some(_) => "is the present run",
            None => "would be the next run, if it is not the present one",
        };
        shown.push(RenderedRun {
            title: format!(
                "run {} of Runnable {}/{name}: {what}",
                prospect.sequence, cluster.namespace
            ),
            notes: prospect
                .unknown_hash()
                .into_iter()
                .chain(prospect.unknown_profile.clone())
                .collect(),
            profile: prospect
                .profile
                .as_ref()
                .map(|version| version.name.clone()),
            hash: prospect.input_hash().map(str::to_owned),
            origins: None,
            run: prospect.run,
        });
    }
    Ok(Outcome::good(match args.output {
        RunFormat::Yaml => as_yaml(&shown)?,
        RunFormat::Json => as_json(&shown),
    }))
}

fn render(
    args: &RenderArgs,
    objects: &Objects,
    runnable: &Document,
) -> Result<RenderedRun, Vec<Finding>> {
    let Some(document) = objects.template_of(runnable) else {
        // The template may be in a file that could not be read, which is an error already.
        if !objects.is_whole() {
            return Err(Vec::new());
        }
        let mut finding = objects.missing_template(runnable);
        finding.severity = Severity::Error;
        return Err(vec![finding]);
    };
    let template = compiled(document)?;
    let selected = selected(args, objects, runnable)?;
    let given = read_given(objects, runnable)?;
    let namespace = match runnable.namespace() {
        "" => args.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE),
        namespace => namespace,
    };
    let value = prepare(&runnable.value, namespace);
    let profile = profile::choose(args, objects, (runnable, namespace), document)?;
    let with = match &profile {
        None => None,
        // Errors in the profile are reported with the profile.
        Some(known) => Some(With::from_profile(known, None).map_err(|_| Vec::new())?),
    };
    let subject = RenderSubject {
        with,
        template: &template,
        template_name: document.name(),
        runnable: &value,
        selected: selected.map(|selected| &selected.value),
        sourced: &given.values,
    };
    let seen = given.complete(runnable);
    let written = profile.as_ref();
    let written = written.and_then(|known| objects.profile(&known.version.name));
    let run = run(&subject).map_err(|problems| {
        let found = problems.iter();
        let found = found.map(|problem| validate::for_runnable(document, written, &seen, problem));
        found.collect::<Vec<_>>()
    })?;
    let files = Files {
        template: document,
        runnable,
        selected,
        profile: written,
        sourced: &given.written,
    };
    let mut notes = notes(&subject, &value, document);
    notes.extend(given.absent.iter().map(AbsentInput::left_out));
    let selects_without_uid =
        selected.is_some_and(inputs_from::object::lacks_uid) && run.rendered.is_keyed();
    if given.lacks_uid && run.rendered.has_secrets() || selects_without_uid {
        notes.push(OF_PLACEHOLDER_SECRET.to_owned());
    }
    Ok(RenderedRun {
        title: format!(
            "run 1 of Runnable {namespace}/{} by ClusterRunTemplate {}",
            runnable.name(),
            document.name()
        ),
        notes,
        profile: profile.as_ref().map(|known| known.version.name.clone()),
        hash: Some(run.rendered.input_hash().to_owned()),
        origins: args
            .explain
            .then(|| explain::origins(&files, &subject, &run)),
        run,
    })
}

/// Note on a hash that includes a Secret without a uid.
const OF_PLACEHOLDER_SECRET: &str =
    "the template reads a Secret whose uid is not in its file, so the hash on a cluster differs";

/// Returns the inputs from other objects, without optional ones that are missing; or the errors, and findings for
/// required ones that are missing.
fn read_given(objects: &Objects, runnable: &Document) -> Result<Given, Vec<Finding>> {
    let mut given = inputs_from::read_given(objects, runnable);
    let mut wrong = std::mem::take(&mut given.findings);
    wrong.retain(|finding| finding.severity == Severity::Error);
    let missing = given.absent.iter().filter(|absent| !absent.optional);
    wrong.extend(missing.map(|absent| absent.finding(runnable)));
    if wrong.is_empty() {
        Ok(given)
    } else {
        Err(wrong)
    }
}

fn compiled(document: &Document) -> Result<Template, Vec<Finding>> {
    match template_file::compile(document) {
        Some(Ok(template)) => Ok(template),
        Some(Err(problems)) => {
            let findings = problems
                .iter()
                .map(|problem| validate::for_every_runnable(document, problem));
            Err(findings.collect())
        }
        None => {
            let message = format!(
                "ClusterRunTemplate {} has no spec.template",
                document.name()
            );
            let finding = Finding::error(Rule::Template, message);
            Err(vec![finding.at_document(document)])
        }
    }
}

fn notes(subject: &RenderSubject<'_>, runnable: &Value, template: &Document) -> Vec<String> {
    let mut notes = Vec::new();
    let spec = template.value.get("spec").cloned();
    let spec = spec.and_then(|spec| serde_json::from_value(spec).ok());
    if runnable.pointer("/metadata/uid").and_then(Value::as_str) == Some(PLACEHOLDER_UID) {
        notes.push("the uid is a placeholder, and the end of the name follows from it".to_owned());
        let read = placeholders::read(subject, spec.as_ref());
        notes.extend(
            read.map(|read| format!("the template reads {read}: on a cluster the hash is another")),
        );
    }
    notes
}

/// Returns the object that the Runnable selects. If no object matches, the error says why for each.
fn selected<'a>(
    args: &RenderArgs,
    objects: &'a Objects,
    runnable: &Document,
) -> Result<Option<&'a Document>, Vec<Finding>> {
    match objects.selected_by(runnable) {
        Selected::NotAsked => Ok(None),
        Selected::One(one) => Ok(Some(one)),
        Selected::Many(found) => Err(vec![objects::several_selected(runnable, &found)]),
        Selected::None => {
            let message = "no object among these files matches the selector";
            let help = if args.selected.is_empty() {
                "give it with --selected"
            } else {
                "correct the labels, or the selector"
            };
            let mut finding = Finding::error(Rule::Selector, message)
                .at(objects::selector_place(runnable))
                .help(help);
            let others = objects.not_selected(runnable).into_iter();
            let why = others.map(|(it, why)| format!("not {}: {why}", objects::describe(it)));
            finding.notes = why.collect();
            Err(vec![finding])
        }
    }
}

fn as_yaml(shown: &[RenderedRun]) -> anyhow::Result<String> {
    let mut out = String::new();
    for (index, shown) in shown.iter().enumerate() {
        if index > 0 {
            out.push_str("---\n");
        }
        let hash = shown.hash.iter().map(|hash| format!("input hash {hash}"));
        let profile = shown.profile.iter();
        let profile = profile.map(|profile| format!("made with ClusterRunProfile {profile}"));
        let comments = [shown.title.clone()].into_iter().chain(hash).chain(profile);
        for comment in comments.chain(shown.notes.iter().cloned()) {
            out.push_str(&yaml::comment(&comment));
        }
        out.push_str(&yaml::text(&shown.run.object)?);
        if let Some(origins) = &shown.origins {
            out.push_str(&explain::as_comments(origins, shown.profile.as_deref()));
        }
    }
    Ok(out)
}

fn as_json(shown: &[RenderedRun]) -> String {
    let entry = |shown: &RenderedRun| match &shown.origins {
        None => shown.run.object.clone(),
        Some(origins) => json!({
            "inputHash": shown.hash,
            "run": shown.run.object,
            "values": explain::as_json(origins),
        }),
    };
    let entries: Vec<Value> = shown.iter().map(entry).collect();
    let explained = shown.iter().any(|shown| shown.origins.is_some());
    let value = match entries.as_slice() {
        [] => return String::new(),
        [one] => one.clone(),
        _ if explained => json!(entries),
        _ => json!({ "apiVersion": "v1", "kind": "List", "items": entries }),
    };
    format!("{value:#}\n")
}
