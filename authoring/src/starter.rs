//! The files of a first template: the template, its Runnable, its account, and a test of it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use cartouche_crds::ClusterRunTemplate;
use cartouche_templating::Template;

use crate::{
    permissions::{
        self, Account, manifest,
        resource::without_cluster,
        role_name::{RolePurpose, role_name},
    },
    schema::catalog::Catalog,
};

/// Kind of the runs of the first template.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "clap",
    derive(clap::ValueEnum),
    value(rename_all = "PascalCase")
)]
pub enum StarterKind {
    /// A Job of Kubernetes
    #[default]
    #[cfg_attr(feature = "clap", value(alias = "job"))]
    Job,
    /// A `TaskRun` of Tekton
    #[cfg_attr(feature = "clap", value(alias = "taskrun"))]
    TaskRun,
    /// A Workflow of Argo
    #[cfg_attr(feature = "clap", value(alias = "workflow"))]
    Workflow,
}

/// A file to write, below the folder of the template.
pub struct StarterFile {
    /// Path below that folder.
    pub path: PathBuf,
    /// Content.
    pub text: String,
}

/// The folder of the test.
pub const TEST: &str = "tests/it-succeeds";

impl StarterKind {
    fn template(self) -> &'static str {
        match self {
            Self::Job => include_str!("starter/job.yaml"),
            Self::TaskRun => include_str!("starter/taskrun.yaml"),
            Self::Workflow => include_str!("starter/workflow.yaml"),
        }
    }

    /// Returns the status that its engine writes into a run that has succeeded.
    fn success(self) -> &'static str {
        match self {
            Self::Job => include_str!("starter/job-complete.yaml"),
            Self::TaskRun => include_str!("starter/taskrun-succeeded.yaml"),
            Self::Workflow => include_str!("starter/workflow-succeeded.yaml"),
        }
    }

    /// Returns the further manifest that the cluster needs for it.
    fn beside(self) -> Option<&'static str> {
        match self {
            Self::Job | Self::TaskRun => None,
            Self::Workflow => Some(include_str!("starter/workflow-pods.yaml")),
        }
    }
}

/// The file of the template. `kubectl apply -f FOLDER` goes by the names of files: a Runnable whose template, or
/// account, comes after it begins with a Warning.
pub const TEMPLATE_FILE: &str = "run-template.yaml";
/// The file of the Runnable, after both.
pub const RUNNABLE_FILE: &str = "runnable.yaml";

/// Returns the manifests to apply, in the order of their names: account, template and Runnable.
pub fn manifests(kind: StarterKind, account: &Account) -> anyhow::Result<[StarterFile; 3]> {
    let file = |name: &str, text| StarterFile {
        path: PathBuf::from(name),
        text,
    };
    let template = filled(kind.template(), account);
    let runnable = filled(include_str!("starter/runnable.yaml"), account);
    Ok([
        file("account.yaml", accounts(kind, account, &template)?),
        file(TEMPLATE_FILE, template),
        file(RUNNABLE_FILE, runnable),
    ])
}

/// Returns the files that the test plays. `cartouche test --update` writes the expected results.
#[must_use]
pub fn test_files(kind: StarterKind) -> [StarterFile; 2] {
    let file = |name: &str, text: &str| StarterFile {
        path: Path::new(TEST).join(name),
        text: text.to_owned(),
    };
    [
        file("case.yaml", include_str!("starter/case.yaml")),
        file("played/1-succeeded.yaml", kind.success()),
    ]
}

/// Returns the account with the role that the template needs, and the account of the pods if they have one.
fn accounts(kind: StarterKind, account: &Account, template: &str) -> anyhow::Result<String> {
    let read: ClusterRunTemplate =
        serde_saphyr::from_str(template).context("the template is not YAML")?;
    let compiled = Template::compile(&read.spec)
        .map_err(|problems| anyhow!("the template cannot be used: {problems}"))?;
    let needs = cartouche_protocol::permissions::of_template(&account.name, &compiled);
    let catalog = Catalog::default();
    let rules = permissions::rules(&needs, &[], |api_version, kind| {
        without_cluster(&catalog, api_version, kind)
    })?;
    let purpose = RolePurpose {
        templates: &[&account.name],
        ..RolePurpose::default()
    };
    let role = role_name(account, purpose);
    let documents = [
        Some(filled(include_str!("starter/account.yaml"), account)),
        Some(manifest::yaml(&role, account, &rules)?),
        kind.beside().map(|text| filled(text, account)),
    ];
    let documents: Vec<String> = documents.into_iter().flatten().collect();
    Ok(documents.join("---\n"))
}

fn filled(text: &str, account: &Account) -> String {
    text.replace("__NAMESPACE__", &account.namespace)
        .replace("__NAME__", &account.name)
}

/// Checks a name that template, Runnable and account may have.
pub fn name(text: &str) -> Result<String, String> {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let edges = [text.bytes().next(), text.bytes().last()];
    let is_name = edges.into_iter().all(|edge| edge.is_some_and(is_letter))
        && text.bytes().all(|byte| is_letter(byte) || byte == b'-')
        && text.len() <= LONGEST;
    if is_name {
        return Ok(text.to_owned());
    }
    Err(format!(
        "it has small letters, digits and '-' between them, and at most {LONGEST} characters"
    ))
}

/// Runs and accounts are named after it, with something added.
const LONGEST: usize = 40;
