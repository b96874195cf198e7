//! Completions for shells, and man pages.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, CommandFactory as _, builder::PossibleValuesParser};

use crate::{
    command_line::CommandLine,
    completion::shells::{self, SHELLS},
    outcome::Outcome,
};

/// Generate shell completions
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cartouche completions bash > ~/.cartouche.sh     and in ~/.bashrc: source ~/.cartouche.sh
  cartouche completions fish > ~/.config/fish/completions/cartouche.fish
  cartouche completions kubectl > ~/.local/bin/kubectl_complete-cartouche
  chmod +x ~/.local/bin/kubectl_complete-cartouche

To keep the completions up to date with the command: source <(cartouche completions bash); for zsh likewise, after
compinit. The cluster is asked for names of Runnables, templates, accounts and namespaces, for two seconds at most.
For `kubectl cartouche`, kubectl calls the last file, which has to be in PATH.")]
pub(crate) struct CompletionsArgs {
    /// Shell, or kubectl for its plugin
    #[arg(value_parser = PossibleValuesParser::new(SHELLS.names()))]
    shell: String,
}

/// Write a man page for each command
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cartouche man ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Folder to write to; created if missing
    folder: PathBuf,
}

pub(crate) fn completions(args: &CompletionsArgs) -> anyhow::Result<Outcome> {
    let script = shells::script(&args.shell).context("the shell is not known")??;
    Ok(Outcome::good(
        String::from_utf8(script).context("completions are text")?,
    ))
}

pub(crate) fn pages(args: &ManArgs) -> anyhow::Result<Outcome> {
    let folder = &args.folder;
    std::fs::create_dir_all(folder)
        .with_context(|| format!("the folder {} cannot be made", folder.display()))?;
    clap_mangen::generate_to(CommandLine::command(), folder)
        .with_context(|| format!("man pages cannot be written to {}", folder.display()))?;
    Ok(Outcome::good(format!(
        "man pages are in {}\n",
        folder.display()
    )))
}
