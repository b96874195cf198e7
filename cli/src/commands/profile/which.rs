//! `cartouche profile which`.

use std::fmt::Write as _;

use anyhow::anyhow;
use cartouche_authoring::{foreign::in_one_line, render::profiles::best_rule};
use cartouche_crds::{PROFILE_ANNOTATION, ProfileRequirement, Runnable};
use cartouche_protocol::{
    facts::{RunnableFacts, Unknown, choose_profile, subject},
    ledger::Ledger,
    messages::diagnosis::{Diagnosis, Held, Unchosen},
    profiles::{Labels, Profiles, misses},
};
use clap::Args;
use kube::ResourceExt as _;
use serde::Serialize;

use crate::{
    cluster::{AccessDenied, Cluster, ClusterArgs, first_line, lacks_templates_view},
    format::OutputFormat,
    live::{profiles, selection::plain},
    outcome::{FAILED, FOUND, GOOD, Outcome},
};

/// Show the profile of the next run, and why it is chosen
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cartouche profile which hello
  cartouche profile which hello greet -o json

The rules choose a profile for the first run, and the Runnable keeps it until a refresh: a change of rules, labels or
profiles makes no run and moves no Runnable. The rank of a rule is the sum of 4 if it names the template, 2 if it
selects namespaces and 1 if it selects Runnables.

Exit code 1 if one of them can make no run because no profile can be used; 2 if you may not read profiles or
templates: the command then shows what the status says.")]
pub(crate) struct WhichArgs {
    /// Names of the Runnables
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    /// Format of the output; JSON and YAML are always lists
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// Profile of a Runnable, as far as it is known.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Which {
    name: String,
    namespace: String,
    /// Profile that the Runnable is pinned to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pinned: Option<String>,
    /// Profile of the next run, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<Matching>,
    /// Reason why there is no next run.
    #[serde(skip_serializing_if = "Option::is_none")]
    held: Option<Problem>,
    /// Reasons why no rule matches, profile by profile, if none does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missed: Vec<String>,
    /// True if a profile has to match and none does, so that `missed` is the cause.
    #[serde(skip)]
    is_unmatched: bool,
    /// True if a refresh is requested and not answered yet.
    refresh_asked: bool,
    /// Choice that the rules would make now; `None` if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh: Option<RefreshChoice>,
    /// Reason why the user may not read the profiles or the template; the rest then comes from the status alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_seen: Option<String>,
    /// Current run.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<RunMade>,
}

/// Profile, and its best rule for the Runnable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Matching {
    name: String,
    generation: i64,
    /// Index of the rule, from 0; `None` if no rule matches any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<u8>,
    /// Error in the profile, if it cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    unusable: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Problem {
    message: String,
    to_do: String,
}

/// Choice of a refresh.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
enum RefreshChoice {
    Profile(Matching),
    /// No profile matches, and none is needed.
    None,
    Problem(Problem),
}

/// Run that was made, with the profile from its annotation.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RunMade {
    sequence: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<String>,
}

pub(crate) async fn execute(args: &WhichArgs, cluster: &Cluster) -> anyhow::Result<Outcome> {
    let profiles = profiles::read(cluster).await?;
    let mut all = Vec::new();
    for name in &args.names {
        let runnable = cluster.runnable(plain(name)).await?;
        all.push(explain(&runnable, profiles.as_ref(), cluster).await?);
    }
    let out = args
        .output
        .write(&all, |all| all.iter().map(Which::text).collect())?;
    let is_held = all.iter().any(|which| which.held.is_some());
    let not_seen = all.iter().find_map(|which| which.not_seen.as_ref());
    Ok(Outcome {
        out,
        err: not_seen.map_or_else(String::new, |why| {
            format!("{why}; the rest is from the status\n")
        }),
        code: match not_seen {
            Some(_) => FAILED,
            None if is_held => FOUND,
            None => GOOD,
        },
        ..Outcome::default()
    })
}

/// Returns the reasons why no profile matches where one has to, the nearest profile first. Returns none if the user
/// may not read profiles.
pub(crate) async fn unmatched(runnable: &Runnable, cluster: &Cluster) -> Vec<String> {
    let Ok(profiles) = profiles::read(cluster).await else {
        return Vec::new();
    };
    let which = explain(runnable, profiles.as_ref(), cluster).await;
    let which = which.ok().filter(|which| which.is_unmatched);
    which.map(|which| which.missed).unwrap_or_default()
}

async fn explain(
    runnable: &Runnable,
    profiles: Option<&Profiles>,
    cluster: &Cluster,
) -> anyhow::Result<Which> {
    let ledger = runnable
        .status
        .as_ref()
        .map(Ledger::from_status)
        .unwrap_or_default();
    let template = cluster.template(&runnable.spec.run_template_ref.name).await;
    let mut which = match (profiles, template) {
        (_, Err(error)) if AccessDenied::find(&error).is_some() => {
            by_status(runnable, &ledger, first_line(&error))
        }
        (None, _) => by_status(
            runnable,
            &ledger,
            lacks_templates_view("listing ClusterRunProfiles"),
        ),
        (Some(profiles), template) => {
            let template = template?;
            let needed = template.as_ref().and_then(|it| it.spec.profile);
            let is_required = needed == Some(ProfileRequirement::Required);
            let mut which = explain_choice(runnable, profiles, is_required, &ledger)?;
            if template.is_none() {
                let name = runnable.spec.run_template_ref.name.clone();
                which.held = Some(Problem::from_diagnosis(&Diagnosis::TemplateMissing(name)));
            }
            which
        }
    };
    if let Some(current) = &ledger.current {
        let found = cluster
            .object(&current.api_version, &current.kind, &current.name)
            .await;
        // A user who may not read runs still gets the rest.
        let object = found.ok().flatten();
        let object = object.filter(|object| object.uid() == current.uid);
        which.run = object.map(|object| RunMade {
            sequence: current.sequence,
            profile: object.annotations().get(PROFILE_ANNOTATION).cloned(),
        });
    }
    Ok(which)
}

fn explain_choice(
    runnable: &Runnable,
    profiles: &Profiles,
    is_required: bool,
    ledger: &Ledger,
) -> anyhow::Result<Which> {
    let facts = RunnableFacts::from_runnable(runnable);
    let none = Labels::new();
    let labels = profiles.namespace_labels.as_deref().unwrap_or(&none);
    let subject = subject(&facts, labels, is_required);
    let matching = |name: &str| {
        let known = profiles.get(name)?;
        let best = best_rule(&known.spec, &subject);
        Some(Matching {
            name: name.to_owned(),
            generation: known.version.generation,
            rule: best.map(|(at, _)| at),
            rank: best.map(|(_, rank)| rank.points()),
            unusable: known.compiled.as_ref().err().map(ToString::to_string),
        })
    };
    let mut is_unmatched = false;
    let (profile, mut held) = match choose_profile(&facts, profiles, is_required, ledger) {
        Ok(chosen) => (
            chosen.pinned.and_then(|pinned| matching(&pinned.name)),
            None,
        ),
        Err(Unknown::Held(held)) => {
            is_unmatched = matches!(held, Held::Unchosen(Unchosen::NoneMatches(_)));
            (
                None,
                Some(Problem::from_diagnosis(&Diagnosis::Profile(held))),
            )
        }
        Err(Unknown::Namespace) => return Err(no_namespace(&facts.namespace)),
    };
    // A refresh chooses as for a Runnable that was never pinned.
    let refresh = match choose_profile(&facts, profiles, is_required, &Ledger::default()) {
        Ok(chosen) => match chosen.pinned.and_then(|pinned| matching(&pinned.name)) {
            Some(matching) => RefreshChoice::Profile(matching),
            None => RefreshChoice::None,
        },
        Err(Unknown::Held(held)) => {
            RefreshChoice::Problem(Problem::from_diagnosis(&Diagnosis::Profile(held)))
        }
        Err(Unknown::Namespace) => return Err(no_namespace(&facts.namespace)),
    };
    let missed = if profile.is_none() {
        misses(&profiles.candidates(), &subject)
    } else {
        Vec::new()
    };
    if let Some(held) = held.as_mut().filter(|_| is_unmatched) {
        // The cure of the condition refers to this command.
        let template = subject.template;
        held.to_do = format!("add such a rule to a profile: {{templates: [{template}]}}");
    }
    Ok(Which {
        profile,
        held,
        is_unmatched,
        missed,
        refresh: Some(refresh),
        ..pinned(&facts, ledger)
    })
}

/// Returns what the status says, without the profiles.
fn by_status(runnable: &Runnable, ledger: &Ledger, why: String) -> Which {
    Which {
        not_seen: Some(why),
        ..pinned(&RunnableFacts::from_runnable(runnable), ledger)
    }
}

/// Returns the pinned profile, and whether a refresh is requested.
fn pinned(facts: &RunnableFacts, ledger: &Ledger) -> Which {
    let pinned = ledger.profile.as_deref();
    let requested = facts.profile_refresh.as_deref();
    Which {
        name: facts.name.clone(),
        namespace: facts.namespace.clone(),
        pinned: pinned.map(|pinned| pinned.name.clone()),
        profile: None,
        held: None,
        is_unmatched: false,
        missed: Vec::new(),
        refresh_asked: requested.is_some()
            && pinned.is_some_and(|pinned| pinned.refresh_token.as_deref() != requested),
        refresh: None,
        not_seen: None,
        run: None,
    }
}

fn no_namespace(namespace: &str) -> anyhow::Error {
    anyhow!(
        "you may not read the namespace {namespace}, and rules of profiles select its labels\nhint: ask for the permission to get namespaces"
    )
}

impl Problem {
    fn from_diagnosis(why: &Diagnosis) -> Self {
        Self {
            message: why.to_string(),
            to_do: why.cure(),
        }
    }
}

impl Matching {
    /// Returns the rule that matches, in words.
    fn by(&self) -> String {
        match (self.rule, self.rank) {
            (Some(rule), Some(rank)) => format!("by rules[{rule}], of rank {rank}"),
            _ => "none of its rules matches any more".to_owned(),
        }
    }
}

impl Which {
    fn text(&self) -> String {
        let name = &self.name;
        let mut out = match (&self.profile, &self.held) {
            _ if self.not_seen.is_some() => match &self.pinned {
                Some(pinned) => format!("{name}: {}: pinned\n", in_one_line(pinned)),
                None => format!("{name}: pinned to no profile\n"),
            },
            (_, Some(held)) => {
                format!(
                    "{name}: no run is made: {}\n  to do: {}\n",
                    in_one_line(&held.message),
                    in_one_line(&held.to_do)
                )
            }
            (None, None) => format!("{name}: no profile: none matches, and none is needed\n"),
            (Some(profile), None) => {
                let how = match &self.pinned {
                    Some(pinned) if *pinned == profile.name => "pinned",
                    Some(_) => "newly chosen",
                    None => "chosen, and pinned with the next run",
                };
                let (of, by) = (&profile.name, profile.by());
                let generation = profile.generation;
                format!("{name}: {of}, generation {generation}: {how} ({by})\n")
            }
        };
        for missed in &self.missed {
            let _ = writeln!(out, "  not {}", in_one_line(missed));
        }
        if let Some(unusable) = self.profile.as_ref().and_then(|it| it.unusable.as_ref()) {
            let _ = writeln!(out, "  it cannot be used: {}", in_one_line(unusable));
        }
        if let Some(RunMade { sequence, profile }) = &self.run {
            let with = profile.as_deref().unwrap_or("no profile");
            let _ = writeln!(out, "  run {sequence} was made with {}", in_one_line(with));
        }
        if self.refresh_asked {
            out.push_str("  a refresh is requested\n");
        }
        if let Some(refresh) = self.refresh.as_ref().filter(|_| self.pinned.is_some()) {
            let _ = writeln!(out, "  {}", self.after(refresh));
        }
        out
    }

    fn after(&self, refresh: &RefreshChoice) -> String {
        match refresh {
            RefreshChoice::Profile(matching) if Some(&matching.name) == self.pinned.as_ref() => {
                "a refresh would choose the same".to_owned()
            }
            RefreshChoice::Profile(matching) => {
                format!(
                    "a refresh would choose {} ({})",
                    matching.name,
                    matching.by()
                )
            }
            RefreshChoice::None => "a refresh would change nothing: none matches".to_owned(),
            RefreshChoice::Problem(problem) => {
                format!("a refresh would change nothing: {}", problem.message)
            }
        }
    }
}
