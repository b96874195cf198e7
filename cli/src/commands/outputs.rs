//! `cartouche outputs`.

mod variable;

use cartouche_authoring::{foreign::in_one_line, yaml};
use cartouche_language::suggestion;
use std::{
    collections::BTreeMap,
    fmt::{self, Write as _},
};

use anyhow::{anyhow, bail};
use cartouche_crds::{ClusterRunTemplateSpec, RunnableSpec, RunnableStatus};
use cartouche_templating::Template;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::cluster::{Cluster, ClusterArgs};
use crate::{
    live::written,
    outcome::{FOUND, Outcome},
};

/// Print the outputs of a Runnable, for scripts
#[derive(Args, Debug)]
#[command(after_help = "\
Standard error names optional outputs that the run does not give, and sensitive outputs with their Secret and key:
their values are not printed. If you ask for one of these alone, the exit code is 1. With -o env, a name that shells
or the programs that they start read, such as PATH, is an error without a --prefix.

Examples:
  cartouche outputs shop-build
  cartouche outputs shop-build digest
  eval \"$(cartouche outputs shop-build --output env --prefix OUTPUT_)\" && echo \"$OUTPUT_DIGEST\"
  cartouche outputs shop-build -o json | jq .digest")]
pub(crate) struct OutputsArgs {
    /// Name of the Runnable
    name: String,
    /// Print only the value of this output: text as it is, anything else as JSON
    output_name: Option<String>,
    /// Format of all outputs
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputsFormat,
    /// Prefix of every variable, with -o env
    #[arg(long, value_name = "PREFIX", value_parser = variable::prefix)]
    prefix: Option<String>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// Format of outputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum OutputsFormat {
    #[default]
    Yaml,
    Json,
    /// Assignments for a shell, names in upper case
    Env,
}

pub(crate) async fn execute(args: &OutputsArgs, cluster: &Cluster) -> anyhow::Result<Outcome> {
    if args.prefix.is_some() && args.output != OutputsFormat::Env {
        bail!("--prefix is for variables\nhint: use it with -o env");
    }
    let runnable = cluster.runnable(&args.name).await?;
    let status = runnable.status.unwrap_or_default();
    let given = status.outputs.as_ref();
    if let Some(name) = &args.output_name {
        if let Some(value) = given.and_then(|outputs| outputs.get(name)) {
            return Ok(Outcome {
                out: format!("{}\n", plain(value)),
                is_exact: true,
                ..Outcome::default()
            });
        }
        if let Some(remark) = written::sensitive(&status, name) {
            return Ok(Outcome {
                err: format!("{}\n", in_one_line(&remark)),
                code: FOUND,
                ..Outcome::default()
            });
        }
        let lacking = lacking(&runnable.spec, &status, cluster).await;
        return match lacking.iter().find(|lacking| lacking.output == *name) {
            Some(lacking) => Ok(Outcome {
                err: format!("{lacking}\n"),
                code: FOUND,
                ..Outcome::default()
            }),
            None => Err(missing(&args.name, name, &runnable.spec, &status, cluster).await),
        };
    }
    let none = BTreeMap::new();
    let all_are_elsewhere = (!status.sensitive_outputs.is_empty()).then_some(&none);
    let Some(outputs) = given.or(all_are_elsewhere) else {
        let why = cluster.place().command(&format!("why {}", args.name));
        bail!("{} has no outputs yet\nhint: {why}", args.name);
    };
    let out = match args.output {
        OutputsFormat::Yaml => yaml::text(&json!(outputs))?,
        OutputsFormat::Json => format!("{:#}\n", json!(outputs)),
        OutputsFormat::Env => {
            variable::assignments(outputs, args.prefix.as_deref().unwrap_or_default())?
        }
    };
    let mut outcome = Outcome {
        out,
        is_exact: args.output == OutputsFormat::Env,
        ..Outcome::default()
    };
    for remark in written::all_sensitive(&status) {
        let _ = writeln!(outcome.err, "{}", in_one_line(&remark));
    }
    for lacking in lacking(&runnable.spec, &status, cluster).await {
        // Writing to a string cannot fail.
        let _ = writeln!(outcome.err, "{lacking}");
    }
    Ok(outcome)
}

/// Returns the error for an output that does not exist, or not yet.
async fn missing(
    runnable: &str,
    name: &str,
    spec: &RunnableSpec,
    status: &RunnableStatus,
    cluster: &Cluster,
) -> anyhow::Error {
    if let Some(undeclared) = undeclared(name, spec, cluster).await {
        return anyhow!("{runnable} has no output {name}: {undeclared}");
    }
    let known = status.outputs.iter().flat_map(BTreeMap::keys);
    let known = known.chain(status.sensitive_outputs.keys());
    let hint = suggestion::hint(name, "the outputs are", known.map(String::as_str));
    let hint = hint.unwrap_or_else(|| {
        let wait = format!("wait {runnable} --for output={name}");
        format!("wait for it: {}", cluster.place().command(&wait))
    });
    anyhow!("{runnable} has no output {name}\nhint: {hint}")
}

/// Returns a message if the template declares no such output, so that no run gives it. Returns `None` if it does, or
/// if the user cannot read it.
pub(super) async fn undeclared(
    name: &str,
    spec: &RunnableSpec,
    cluster: &Cluster,
) -> Option<String> {
    let template = &spec.run_template_ref.name;
    let found = cluster.template(template).await.ok().flatten()?;
    let compiled = Template::compile(&found.spec).ok()?;
    let declared: Vec<&str> = compiled.output_names().collect();
    if declared.contains(&name) {
        return None;
    }
    let hint = suggestion::hint(name, "its outputs are", declared.iter().copied());
    let hint = hint.map_or_else(String::new, |hint| format!("\nhint: {hint}"));
    Some(format!(
        "ClusterRunTemplate {template} declares no output {name}{hint}"
    ))
}

/// Optional output that a run does not give.
#[derive(Debug, PartialEq, Eq)]
struct Lacking {
    run: String,
    output: String,
}

impl fmt::Display for Lacking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { run, output } = self;
        write!(f, "run {run} gives no output {output}, which is optional")
    }
}

/// Returns the optional outputs that the run of the present outputs lacks. Returns none if the template cannot be
/// read: a user who may read only Runnables still gets the outputs.
async fn lacking(spec: &RunnableSpec, status: &RunnableStatus, cluster: &Cluster) -> Vec<Lacking> {
    let template = cluster.template(&spec.run_template_ref.name).await;
    let template = template.ok().flatten();
    template.map_or_else(Vec::new, |template| lacking_of(status, &template.spec))
}

/// Returns the same for a given template; none if its output rules are not those by which the outputs were read.
fn lacking_of(status: &RunnableStatus, spec: &ClusterRunTemplateSpec) -> Vec<Lacking> {
    let (Some(outputs), Some(from), Ok(template)) = (
        &status.outputs,
        &status.outputs_from,
        Template::compile(spec),
    ) else {
        return Vec::new();
    };
    if from.rules_hash != template.rules_hash() {
        return Vec::new();
    }
    let lacked = template.optional_outputs();
    let is_given =
        |name: &str| outputs.contains_key(name) || status.sensitive_outputs.contains_key(name);
    let lacked = lacked.filter(|name| !is_given(name));
    let lacking = lacked.map(|name| Lacking {
        run: from.name.clone(),
        output: name.to_owned(),
    });
    lacking.collect()
}

/// Returns a text as it is, anything else as JSON.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a template with the outputs `digest` and `size`, of which these are optional.
    fn template(optional: &[&str]) -> ClusterRunTemplateSpec {
        serde_json::from_value(json!({
            "template": { "apiVersion": "v1", "kind": "Pod", "metadata": { "generateName": "x-" } },
            "outputs": { "digest": ".a", "size": ".b" }, "optionalOutputs": optional,
        }))
        .unwrap()
    }

    /// Returns a status whose outputs were read with that template.
    fn status(outputs: &Value, template: &ClusterRunTemplateSpec) -> RunnableStatus {
        let rules = Template::compile(template).unwrap().rules_hash().to_owned();
        let from = json!({ "sequence": 1, "name": "build-1", "uid": "u", "rulesHash": rules });
        serde_json::from_value(json!({ "outputs": outputs, "outputsFrom": from })).unwrap()
    }

    fn said(status: &RunnableStatus, template: &ClusterRunTemplateSpec) -> Vec<String> {
        let lacking = lacking_of(status, template);
        lacking.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_optional_output_that_the_run_lacks_is_named_with_the_run() {
        let template = template(&["size", "digest"]);
        let status = status(&json!({ "digest": "sha256:1" }), &template);
        assert_eq!(
            said(&status, &template),
            ["run build-1 gives no output size, which is optional"]
        );
    }

    #[test]
    fn a_template_with_other_rules_than_those_of_the_outputs_says_nothing_of_their_run() {
        let status = status(&json!({ "digest": "sha256:1" }), &template(&["size"]));
        assert_eq!(said(&status, &template(&["size", "digest"])), [""; 0]);
    }

    #[test]
    fn before_there_are_outputs_none_is_lacking() {
        assert_eq!(
            said(&RunnableStatus::default(), &template(&["size"])),
            [""; 0]
        );
    }
}
