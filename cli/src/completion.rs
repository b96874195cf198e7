//! Shell completion: commands and options from clap, and names from the cluster. The user does not wait: names that
//! arrive too late are left out silently.

mod names;
pub(crate) mod shells;

use std::ffi::OsString;

use clap::{Arg, Command};
use clap_complete::{ArgValueCandidates, CompleteEnv};

use names::What;
use shells::{SHELLS, VARIABLE};

/// Answers a shell that asks for candidates; returns false if no shell asks.
pub(crate) fn answer(
    arguments: &[OsString],
    command: impl Fn() -> Command,
) -> clap::error::Result<bool> {
    let asked = words(arguments);
    let folder = std::env::current_dir().ok();
    CompleteEnv::with_factory(|| with_names(command(), &asked))
        .var(VARIABLE)
        .shells(SHELLS)
        .try_complete(arguments.iter().cloned(), folder.as_deref())
}

/// Returns the words typed so far, the program first. They follow `--`.
fn words(arguments: &[OsString]) -> Vec<String> {
    let typed = arguments.iter().skip_while(|word| *word != "--").skip(1);
    typed
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

/// Adds the names on the cluster to every argument that takes one.
fn with_names(command: Command, words: &[String]) -> Command {
    let place = names::place(words);
    command.mut_subcommands(|subcommand| {
        let subcommand = without_other_names(subcommand, words);
        if !is_live(&subcommand) {
            return subcommand;
        }
        subcommand.mut_args(|arg| match meant_by(&arg) {
            Some(what) => {
                let place = place.clone();
                arg.add(ArgValueCandidates::new(move || {
                    names::complete(what, &place)
                }))
            }
            None => arg,
        })
    })
}

/// Hides a command's alias unless the user has begun to type it: clap would offer only the alphabetically first of
/// the two names.
fn without_other_names(command: Command, words: &[String]) -> Command {
    let is_begun = |name: &str| {
        words
            .iter()
            .any(|word| !word.is_empty() && name.starts_with(&**word))
    };
    if command.get_all_aliases().any(is_begun) {
        return command;
    }
    command.visible_alias(None)
}

/// Returns true if the command is about objects on a cluster. Others may take names that do not exist yet.
fn is_live(command: &Command) -> bool {
    let has = |id| command.get_arguments().any(|arg| arg.get_id() == id);
    has("context") && has("namespace")
}

/// Returns the kind of object that an argument names, for a command with a cluster. Other arguments of these ids take
/// files.
fn meant_by(arg: &Arg) -> Option<What> {
    let values = arg.get_value_names().unwrap_or_default();
    let is_name = arg.is_positional() || values.iter().any(|value| value == "NAME");
    match arg.get_id().as_str() {
        "name" | "names" if arg.is_positional() => Some(What::Runnables),
        "runnables" => Some(What::Runnables),
        "template" | "templates" if is_name => Some(What::Templates),
        "namespace" => Some(What::Namespaces),
        "account" => Some(What::Accounts),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
