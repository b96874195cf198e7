//! Completion of what is typed, for shells: commands and options as clap knows them, and names of the cluster.
//! Whoever presses the key is not to wait: names that do not come at once are left out, without a word.

mod names;
pub(crate) mod shells;

use std::ffi::OsString;

use clap::{Arg, Command};
use clap_complete::{ArgValueCandidates, CompleteEnv};

use names::What;
use shells::{SHELLS, VARIABLE};

/// Answers a shell that asks what may come next; false if none asks.
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

/// The words that are typed so far, the program first: they come after two dashes.
fn words(arguments: &[OsString]) -> Vec<String> {
    let typed = arguments.iter().skip_while(|word| *word != "--").skip(1);
    typed
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

/// Every argument that names something on the cluster knows what is there.
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
                arg.add(ArgValueCandidates::new(move || names::of(what, &place)))
            }
            None => arg,
        })
    })
}

/// Of a command with two names the first in the alphabet would be offered: the other one only if it is begun.
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

/// Whether it is about what is on a cluster. Others may be given a name that nothing has yet.
fn is_live(command: &Command) -> bool {
    let has = |id| command.get_arguments().any(|arg| arg.get_id() == id);
    has("context") && has("namespace")
}

/// What an argument of a command with a cluster names. Others of such an id take files.
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
