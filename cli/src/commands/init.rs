//! `cartouche init`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use cartouche_authoring::{
    manifests::{Boundary, STANDARD_INPUT},
    objects::DEFAULT_NAMESPACE,
    permissions::Account,
    starter::{self, StarterFile, StarterKind},
    template_test::{
        find,
        perform::{Mode, perform},
    },
};
use clap::Args;

use crate::outcome::Outcome;

/// Write a first template with its Runnable, account and test
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cartouche init hello
  cartouche init build --kind TaskRun -n shop
  cartouche init hello --stdout | kubectl apply -f -

Writes account.yaml (with the role that `cartouche rbac` prints), run-template.yaml and runnable.yaml, in the order
in which `kubectl apply -f` takes them, and a test for `cartouche test`. Then it prints the next steps.")]
pub(crate) struct InitArgs {
    /// Name of the template, the Runnable and the account
    #[arg(default_value = "hello", value_parser = starter::name)]
    name: String,
    /// Kind of the runs
    #[arg(short, long, value_enum, default_value_t, ignore_case = true)]
    kind: StarterKind,
    /// Folder to write to; by default ./NAME; - is like --stdout
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Print the manifests to apply, and write no files
    #[arg(long, conflicts_with = "output")]
    stdout: bool,
    /// Namespace of the Runnable and the account
    #[arg(short, long, value_name = "NAME", default_value = DEFAULT_NAMESPACE, value_parser = starter::name)]
    namespace: String,
    /// Overwrite existing files
    #[arg(long)]
    force: bool,
}

pub(crate) fn execute(args: &InitArgs) -> anyhow::Result<Outcome> {
    let account = Account {
        namespace: args.namespace.clone(),
        name: args.name.clone(),
    };
    let manifests = starter::manifests(args.kind, &account)?;
    let folder = args
        .output
        .clone()
        .unwrap_or_else(|| PathBuf::from(&args.name));
    if args.stdout || folder.as_os_str() == STANDARD_INPUT {
        return Ok(Outcome::good(manifests.map(|file| file.text).join("---\n")));
    }
    let shown = manifests
        .iter()
        .map(|file| folder.join(&file.path))
        .chain([folder.join(starter::TEST)]);
    let shown: Vec<String> = shown
        .map(|path| format!("wrote {}\n", path.display()))
        .collect();
    let files: Vec<StarterFile> = manifests
        .into_iter()
        .chain(starter::test_files(args.kind))
        .collect();
    write(&folder, &files, args.force)?;
    expect(&folder)?;
    Ok(Outcome::good(
        shown.concat() + &next_steps(&folder, &account),
    ))
}

/// Writes all of the files. If one exists, writes none, unless forced.
fn write(folder: &Path, files: &[StarterFile], force: bool) -> anyhow::Result<()> {
    let present = files
        .iter()
        .map(|file| folder.join(&file.path))
        .filter(|path| path.symlink_metadata().is_ok());
    let present: Vec<String> = present.map(|path| path.display().to_string()).collect();
    if !force && !present.is_empty() {
        bail!(
            "there is something already: {}\nhint: -o names another folder; --force writes over it",
            present.join(", ")
        );
    }
    make_folder(folder)?;
    let boundary = Boundary::around(folder)?;
    for file in files {
        let path = folder.join(&file.path);
        let above = path.parent().unwrap_or(folder);
        boundary.check_found(above)?;
        make_folder(above)?;
        boundary.write(&path, &file.text)?;
    }
    Ok(())
}

fn make_folder(folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder)
        .with_context(|| format!("the folder {} cannot be made", folder.display()))
}

/// Writes the expected result of the test, as `cartouche test --update` does.
fn expect(folder: &Path) -> anyhow::Result<()> {
    let own = folder.join(starter::TEST);
    // The template is above the test, and the search for cases begins at the template.
    for case in find::cases(folder)? {
        if case.folder.starts_with(&own) {
            perform(&case, Mode::Update)?;
        }
    }
    Ok(())
}

fn next_steps(folder: &Path, account: &Account) -> String {
    let folder = word(&folder.display().to_string());
    let Account { namespace, name } = account;
    format!(
        "\nNext, without a cluster:\n\
         \x20 cartouche test {folder}\n\
         \x20 cartouche validate {folder}\n\
         \nThen, on a cluster with Cartouche, where the namespace {namespace} is:\n\
         \x20 kubectl apply -f {folder}\n\
         \x20 cartouche wait {name} -n {namespace}\n\
         \x20 cartouche why {name} -n {namespace}\n"
    )
}

/// Quotes a word for a shell, if needed.
fn word(text: &str) -> String {
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || "/._-".contains(character);
    if text.chars().all(is_plain) && !text.starts_with('-') {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
