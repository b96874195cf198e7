//! `cartouche validate`.

use std::{collections::BTreeSet, path::PathBuf};

use anyhow::anyhow;
use cartouche_authoring::{
    finding::{Finding, Severity, report},
    foreign::in_lines,
    objects::{self, Objects, Selected},
    schema::{catalog::Catalog, from_files},
    source::Document,
    validate::{Knowledge, nothing_to_check, validate},
};
use cartouche_language::syntax;
use clap::Args;

use crate::{
    cluster::{self, Cluster, ClusterArgs},
    files::FileArgs,
    outcome::{FOUND, GOOD, Outcome, print_error},
};

/// Value of `--schemas` that stands for the live cluster.
const CLUSTER: &str = "cluster";

/// Check templates, Runnables and profiles without a cluster
#[derive(Args, Debug)]
#[command(after_help = "\
Checks the syntax of every tag and path, the fields of templates and Runnables, the fields and types of the runs,
output paths that no run can have, names, and sizes. For each Runnable it checks that its template can be rendered;
for ClusterRunProfiles it checks everything, including rules that match the same Runnables with the same rank. The
kinds of Kubernetes are known; for others pass their definitions with --schemas, or include them in the files. The
first line has the number of errors and warnings, and of what could not be checked.

Examples:
  cartouche validate examples/job
  cartouche validate template.yaml --schemas crds/
  cartouche validate . --schemas cluster
  cartouche validate . --notes                   list also what could not be checked
  cartouche validate . --output sarif > cartouche.sarif
  cartouche validate . --output github --deny-warnings

Exit code 1 if there are errors (with --deny-warnings, also if there are warnings), 2 if there is nothing to
check.")]
pub(crate) struct ValidateArgs {
    /// Files or folders; - is standard input
    #[arg(required_unless_present = "files")]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) files: FileArgs,
    /// Folder or file with definitions of custom resources, or OpenAPI documents; `cluster` asks the live cluster (a
    /// folder of that name is ./cluster); may be given several times
    #[arg(long, value_name = "PATH")]
    schemas: Vec<PathBuf>,
    /// Context of the kubeconfig, for --schemas cluster
    #[arg(long, value_name = "NAME", requires = "schemas")]
    context: Option<String>,
    /// Kubeconfig file, for --schemas cluster; by default KUBECONFIG or ~/.kube/config
    #[arg(long, value_name = "FILE", requires = "schemas")]
    kubeconfig: Option<PathBuf>,
    /// Format of the findings
    #[arg(short, long, value_enum, default_value_t)]
    output: report::Format,
    /// Treat warnings as errors
    #[arg(long)]
    deny_warnings: bool,
    /// List as text also what could not be checked, instead of counting it
    #[arg(long)]
    notes: bool,
}

/// Adds the schemas of the templates' kinds, as the live cluster serves them.
async fn ask(args: &ValidateArgs, objects: &Objects, catalog: &mut Catalog) -> anyhow::Result<()> {
    let versions: BTreeSet<&str> = objects
        .templates
        .iter()
        .filter_map(|template| {
            template
                .value
                .pointer("/spec/template/apiVersion")?
                .as_str()
        })
        .filter(|version| syntax::tags(version).is_empty() && !version.is_empty())
        .collect();
    if versions.is_empty() {
        return Ok(());
    }
    let place = ClusterArgs {
        context: args.context.clone(),
        kubeconfig: args.kubeconfig.clone(),
        namespace: None,
    };
    let cluster = Cluster::connect(&place).await?;
    for version in versions {
        if let Some(document) = cluster.open_api(version).await? {
            catalog.add_open_api(document);
        }
    }
    Ok(())
}

/// Returns an error of the call. Formats for programs contain it as well.
fn refused(finding: Finding, format: report::Format) -> Outcome {
    let hint = finding.help.as_deref().unwrap_or_default();
    let error = anyhow!("{}\nhint: {hint}", finding.message);
    Outcome {
        out: match format {
            report::Format::Text => String::new(),
            format => report::write(&[finding], format),
        },
        ..Outcome::failed(&error)
    }
}

/// Returns a line for each Runnable that selects exactly one object, which its template was checked with.
fn selections(objects: &Objects) -> String {
    let selection = |runnable: &Document| match objects.selected_by(runnable) {
        Selected::One(one) => {
            let (name, what) = (runnable.name(), objects::describe(one));
            let place = one.place_of(&["metadata", "name"]).describe();
            Some(format!("Runnable {name} selects {what} ({place})\n"))
        }
        Selected::NotAsked | Selected::None | Selected::Many(_) => None,
    };
    objects.runnables.iter().filter_map(selection).collect()
}

pub(crate) fn execute(args: &ValidateArgs) -> anyhow::Result<Outcome> {
    let mut catalog = Catalog::default();
    let objects = Objects::load(&args.paths)?;
    if let Some(finding) = nothing_to_check(&objects, &args.paths) {
        return Ok(refused(finding, args.output));
    }
    for path in &args.schemas {
        if path.as_os_str() == CLUSTER {
            cluster::block_on(ask(args, &objects, &mut catalog))?;
        } else {
            from_files::read(path, &mut catalog)?;
        }
    }
    catalog.add(&objects.others);
    let findings = validate(&objects, &Knowledge::new(catalog));
    let errors = report::count(&findings, Severity::Error);
    let warnings = report::count(&findings, Severity::Warning);
    let failed = errors > 0 || (args.deny_warnings && warnings > 0);
    let counted =
        |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let (templates, runnables) = (objects.templates.len(), objects.runnables.len());
    let (templates, runnables) = (
        counted(templates, "template"),
        counted(runnables, "Runnable"),
    );
    let checked = match objects.profiles.len() {
        0 => format!("{templates} and {runnables}"),
        profiles => format!(
            "{templates}, {runnables} and {}",
            counted(profiles, "profile")
        ),
    };
    let verdict = verdict(args, &checked, &findings);
    let is_for_people = args.output == report::Format::Text;
    let listed = report::write(&select_findings(args, findings), args.output);
    if is_for_people {
        // Printed before all else, also if both go to one terminal.
        print_error(&format!("{verdict}{}", in_lines(&selections(&objects))))?;
    }
    Ok(Outcome {
        out: listed,
        code: if failed { FOUND } else { GOOD },
        ..Outcome::default()
    })
}

/// Returns the first line of the text output.
fn verdict(args: &ValidateArgs, checked: &str, findings: &[Finding]) -> String {
    let found = report::counts(findings);
    let hint = if args.notes {
        ""
    } else {
        ": --notes lists them"
    };
    let notes = report::describe(findings, Severity::Note);
    let notes = notes.map(|notes| format!(" ({notes}{hint})"));
    format!("{checked}: {found}{}\n", notes.unwrap_or_default())
}

/// Returns the findings to list. The text output has notes only with `--notes`.
fn select_findings(args: &ValidateArgs, mut findings: Vec<Finding>) -> Vec<Finding> {
    if args.output == report::Format::Text && !args.notes {
        findings.retain(|finding| finding.severity != Severity::Note);
    }
    findings
}
