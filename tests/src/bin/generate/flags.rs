//! `docs/reference/flags.md`: the table of the controller's flags.

use cartouche_controller::flags::Flags;
use clap::{Arg, CommandFactory};

use crate::page::{Block, Table};

/// Returns the only block of the page.
pub(super) fn blocks() -> Vec<Block> {
    let mut table = Table::new(&["flag", "variable", "default", "meaning"]);
    for flag in Flags::command().get_arguments() {
        // Help and version have no variable.
        let (Some(long), Some(variable)) = (flag.get_long(), flag.get_env()) else {
            continue;
        };
        let default = flag.get_default_values().first();
        table.add([
            format!("`--{long}{}`", value(flag)),
            format!("`{}`", variable.to_string_lossy()),
            default.map_or_else(String::new, |it| format!("`{}`", it.to_string_lossy())),
            meaning(flag),
        ]);
    }
    vec![Block {
        name: "flags",
        content: table.text(),
    }]
}

/// Returns the value in the form of a usage line.
fn value(flag: &Arg) -> String {
    let names = flag.get_value_names().unwrap_or_default();
    if flag.get_action().takes_values() {
        let names: Vec<_> = names.iter().map(|name| format!(" <{name}>")).collect();
        names.concat()
    } else {
        String::new()
    }
}

/// Returns the help text of a flag without its line breaks.
pub(super) fn help(flag: &Arg) -> String {
    let help = flag.get_long_help().or_else(|| flag.get_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    help.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the help text, with the possible values.
fn meaning(flag: &Arg) -> String {
    let help = help(flag);
    if !flag.get_action().takes_values() {
        return help;
    }
    let values = flag.get_possible_values().into_iter().map(|it| {
        let help = it.get_help().map(ToString::to_string).unwrap_or_default();
        format!(". `{}`: {}", it.get_name(), help.trim_end_matches('.'))
    });
    help.trim_end_matches('.').to_owned() + &values.collect::<String>()
}
